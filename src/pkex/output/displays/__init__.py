"""The pictures of an `Explanation`, and of a `Sensitivity`, in matplotlib, one display a file.

`panel` has what they share: one set of axes for each output, and the words on the axes. Each
display looks as the picture of a report that shows the same: features in lanes, the most important
on top, colours of `pkex.output.palette`.
"""

__all__: list[str] = []
