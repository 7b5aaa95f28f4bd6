"""What of a result goes into a file, and how it comes back.

Every result has a codec, made of pieces: arrays as such, the rest in a header. `codec` has the
pieces and reads and writes all results, `archive` the arrays of a file safely, `header` the small
things in it.
"""

__all__: list[str] = []
