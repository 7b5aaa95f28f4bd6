"""What docstrings of displays have in common, said once.

`fill_docstrings` completes the docstring of a display and of its ``plot``: parameters that many
plots take, what is returned, and where to read on. A docstring names shared parameters in one
entry, with the words "As for every plot."; an example of the class is one of its ``plot`` as well.
"""

from __future__ import annotations

import inspect
import re

__all__ = ["fill_docstrings"]

_SHARED = {
    "ax": "matplotlib.axes.Axes, optional\n    Axes to draw in; a new figure by default.",
    "max_display": "int, default {default}\n    Largest number of features to show.",
    "row": "int, optional\n    Row to draw, with signs; by default the means of absolute values.\n"
    "    A single row, such as that of a statistic, is always drawn with signs.",
    "output": "str or int, optional\n    Output to draw, by name or number; needed when there are "
    "several.",
}
_OUTPUTS = (
    "str, int or sequence of these, optional\n    Outputs to draw, by name or number; all by "
    "default, in a panel each."
)
_ENTRY = re.compile(r"^(\w+(?:, \w+)*)\n    As for every plot\.$", re.MULTILINE)


def fill_docstrings(display: type) -> None:
    """Complete the docstrings of a class of displays and of its ``plot``."""
    bases = (inspect.get_annotations(base).get("result") for base in display.__mro__)
    result = next((name for name in bases if name is not None), "Result")
    also = f"See Also\n--------\n{result}.plot : All plots of the result.\n"
    head, title, examples = inspect.cleandoc(display.__doc__ or "").partition("Examples\n")
    if not title:
        return
    summary, heading, attributes = head.partition("Attributes\n")
    parameters = f"Parameters\n----------\nresult : {result}\n    The result to draw.\n\n"
    display.__doc__ = f"{summary}{parameters}{heading}{attributes}{also}\n{title}{examples}\n"
    plot = vars(display).get("plot")
    if plot is None:
        return
    shared = _SHARED | ({"output": _OUTPUTS} if result == "Explanation" else {})
    defaults = inspect.signature(plot).parameters

    def expand(entry: re.Match[str]) -> str:
        names = entry[1].split(", ")
        return "\n".join(
            f"{name} : {shared[name].format(default=defaults[name].default)}" for name in names
        )

    text = _ENTRY.sub(expand, inspect.cleandoc(plot.__doc__ or ""))
    if "Returns\n---" not in text:
        returned = f"{display.__name__}\n    The display, with ``ax_`` and ``figure_``."
        text += f"\n\nReturns\n-------\n{returned}"
    plot.__doc__ = f"{text}\n\n{also}\n{title}{examples}\n"
