"""What plots return, by the conventions of scikit-learn's displays.

A display is made from a result; its `plot` draws in the axes that are given or in a new figure of
pyplot, and returns the display, which has `ax_` and `figure_`. `pkex.output.plots.accessors` has
the calls that users make.
"""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pkex._util.extras import optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Display"]


_OURS: WeakSet[Figure] = WeakSet()  # figures that were made for displays


class Display:
    """What a plot returns: the axes and the figure that were drawn in.

    The figure is one of pyplot, so that ``plt.show()`` shows it in a script. In a notebook the last
    line of a cell shows it, and closes it, so that it is not shown again at the end of the cell;
    this does not depend on pyplot's interactive mode, which other libraries switch off.

    Parameters
    ----------
    result : Explanation, Importance, Attribution, Interactions or Sensitivity
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot()
    >>> display
    <BeeswarmDisplay in ax_ of figure_>
    >>> display.figure_ is display.ax_.figure
    True
    """

    ax_: Axes
    figure_: Figure
    _own = False  # whether the figure was made for the display

    def __init__(self, result: Any) -> None:
        self.result = result

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in ax_ of figure_>"

    def _axes(self, ax: Axes | None, width: float, height: float) -> Axes:
        """Return the axes to draw in: those given, or of a new figure of so many inches."""
        if ax is None:
            ax = self._figure(width, height).subplots()
        self._draws_in(ax)
        return ax

    def _grid(
        self, count: int, across: int, width: float, height: float, around: Sequence[float] = (0, 0)
    ) -> list[Axes]:
        """Return so many axes of a new figure, `across` in a line, each of so many inches."""
        down = -(-count // across)
        figure = self._figure(around[0] + width * across, around[1] + height * down)
        grid = list(figure.subplots(down, across, squeeze=False).flat)
        for spare in grid[count:]:
            spare.remove()
        return grid[:count]

    def _draws_in(self, ax: Axes) -> None:
        self.ax_ = ax
        self.figure_ = ax.figure.figure  # the whole, also from a part of it

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the figure for a notebook, which shows it where pyplot then does not."""
        said = {"text/plain": repr(self)}
        pyplot = optional("matplotlib.pyplot", "pkex[plots]")
        if not self._own or hasattr(self.figure_.canvas.manager, "window"):
            return said, {}  # shown with the rest of its figure, or in a window
        _show_earlier(self.figure_)
        drawn = BytesIO()
        self.figure_.savefig(drawn, format="png", dpi=2.0 * self.figure_.dpi)
        width, height = (round(side * self.figure_.dpi) for side in self.figure_.get_size_inches())
        pyplot.close(self.figure_)
        image = {"image/png": b64encode(drawn.getvalue()).decode()}
        return said | image, {"image/png": {"width": width, "height": height}}

    def _figure(self, width: float, height: float) -> Any:
        """Return a new figure of pyplot; one without a background would not suit dark pages."""
        pyplot = optional("matplotlib.pyplot", "pkex[plots]")
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.09, h_pad=0.09)
        if figure.patch.get_alpha() == 0.0 or figure.get_facecolor()[3] == 0.0:
            figure.patch.set_alpha(1.0)
        self._own = True
        _OURS.add(figure)
        return figure

    def _discard(self) -> None:
        """Close a figure of our own in which drawing failed."""
        if self._own:
            optional("matplotlib.pyplot", "pkex[plots]").close(self.figure_)


def _show_earlier(figure: Figure) -> None:
    """Show what was drawn before this figure in a cell, which would be shown at its end, after it.

    Only where pyplot shows figures at the end of a cell; there none is left from other cells.
    """
    pyplot = optional("matplotlib.pyplot", "pkex[plots]")
    if "inline" not in pyplot.get_backend().lower():
        return
    from IPython import display
    from matplotlib._pylab_helpers import Gcf

    page: Any = display
    known = [one for one in _OURS if one.canvas.manager is not None and one is not figure]
    for earlier in sorted(known, key=_number):
        still_open = earlier.canvas.manager in Gcf.get_all_fig_managers()
        if still_open and _number(earlier) < _number(figure):
            page.display(earlier)
            pyplot.close(earlier)


def _number(figure: Figure) -> int:
    """Return the number of a figure of pyplot, which counts them."""
    return 0 if figure.canvas.manager is None else int(figure.canvas.manager.num)
