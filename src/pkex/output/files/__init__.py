"""What of a result goes into a file, and how it comes back.

Every result has a module with its format, and `save`, `load` and `pack`: arrays as such, the rest
in a header, made of `pieces` where several have the same. `archive` reads and writes such files
safely, `header` the small things in them, and `kernel_data` turns kernels into data and back.
"""

__all__: list[str] = []
