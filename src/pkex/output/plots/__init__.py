"""Plots of results, in matplotlib: ``result.plot`` and the displays that it returns.

A plot is one class, a `display.Display`: it takes the result, and its method ``plot`` has the
parameters of the plot, says what they mean, and draws. `accessors` is what ``result.plot`` is: it
lists the plots of each result and imports their modules when they are first asked for.

Displays draw in a `drawing.Canvas`: axes, with the shades that `theme` chooses and names that
`labels` makes fit. `panel` has what those of an `Explanation` share: one set of axes for each
output, and the words on the axes. Each display looks as the plot of a report that shows the same:
features in lanes, the most important on top, colours of `pkex.output.palette`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

__all__: list[str] = []

if TYPE_CHECKING:
    from pkex.output.plots import bars as bars
    from pkex.output.plots import beeswarm as beeswarm
    from pkex.output.plots import change as change
    from pkex.output.plots import cohorts as cohorts
    from pkex.output.plots import comparison as comparison
    from pkex.output.plots import dependence as dependence
    from pkex.output.plots import effects as effects
    from pkex.output.plots import gradients as gradients
    from pkex.output.plots import heatmap as heatmap
    from pkex.output.plots import influence as influence
    from pkex.output.plots import interactions as interactions
    from pkex.output.plots import leave_one_out as leave_one_out
    from pkex.output.plots import panel as panel
    from pkex.output.plots import sensitivity as sensitivity
    from pkex.output.plots import waterfall as waterfall
else:

    def __getattr__(name: str) -> object:
        """Import a module of this package when it is first asked for."""
        if find_spec(f"{__name__}.{name}") is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")
