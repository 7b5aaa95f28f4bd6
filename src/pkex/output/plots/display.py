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

from pkex._util.extras import import_optional
from pkex._util.indexing import Axis, select
from pkex._util.types import Indices
from pkex._util.validation import brief, check_count
from pkex.output.plots.docstrings import fill_docstrings
from pkex.output.plots.drawing import Axes, Canvas
from pkex.output.plots.labels import LETTERS, WIDE, room_for

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    result : result of pkex
        What to draw, such as an `Explanation`.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes.
    figure_ : matplotlib.figure.Figure
        The figure of the axes.

    See Also
    --------
    Explanation.plot : Plots of an explanation.
    Attribution.plot : Plots of MMD and HSIC.
    Interactions.plot : Plots of interactions.
    Sensitivity.plot : Plots of Sobol indices.
    Change.plot : Plots of a change between two tables.

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
    axes_: list[Axes]  # of displays with panels
    figure_: Figure
    _new_figure = False  # whether the figure was made for the display

    def __init_subclass__(cls) -> None:
        fill_docstrings(cls)

    def __init__(self, result: Any) -> None:
        self.result = result

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in ax_ of figure_>"

    def _check_rows(self) -> None:
        """Refuse a result from which no row was selected."""
        if not len(self.result):
            raise ValueError("there are no rows, so there is nothing to draw.")

    def _position(self, key: str | int, noun: str, kind: str) -> int:
        """Return the position of the one row or feature that a plot of this kind is of."""
        names = self.result.feature_names
        features = Axis("feature", len(names), names)
        [places] = select(key, [features if noun == "feature" else Axis(noun, len(self.result))])
        if len(places) != 1:
            raise IndexError(f"a {kind} shows one {noun}; got {brief(key)}.")
        return int(places[0])

    def _largest(self, order: Indices, max_display: int) -> tuple[Indices, list[str]]:
        """Return the features to show of all in their order, and their names."""
        check_count(max_display, "max_display", 1)
        shown = order[:max_display]
        return shown, [self.result.feature_names[i] for i in shown]

    def _canvas(self, ax: Axes | None, width: float, height: float) -> Canvas:
        """Return what to draw in: given axes, or those of a new figure of so many inches."""
        self._draw_in(self._figure(width, height).subplots() if ax is None else ax)
        return Canvas(self.ax_, new_figure=self._new_figure)

    def _lanes(self, ax: Axes | None, names: Sequence[str], width: float, height: float) -> Canvas:
        """Return the same with a lane for each name; a new figure is wider for long names."""
        canvas = self._canvas(ax, width + room_for(names), height)
        canvas.lanes(names, WIDE if self._new_figure else LETTERS)
        return canvas

    def _canvases(
        self, ax: Axes | None, count: int, across: int, width: float, height: float, *around: float
    ) -> list[Canvas]:
        """Return what to draw panels in: given axes, which are one, or those of a new figure.

        There are `across` in a line, each of so many inches, with `around` beside and below all.
        """
        if ax is None:
            down = -(-count // across)
            beside, below = around or (0.0, 0.0)
            figure = self._figure(beside + width * across, below + height * down)
            grid = list(figure.subplots(down, across, squeeze=False).flat)
            for spare in grid[count:]:
                spare.remove()
            self.axes_ = grid[:count]
        else:
            self.axes_ = [ax]
        self._draw_in(self.axes_[0])
        return [Canvas(panel, new_figure=self._new_figure) for panel in self.axes_]

    def _draw_in(self, ax: Axes) -> None:
        self.ax_ = ax
        self.figure_ = ax.figure.figure  # the figure, also from a part of it

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the figure for a notebook, which shows it where pyplot then does not."""
        data, figure = {"text/plain": repr(self)}, self.figure_
        pyplot = import_optional("matplotlib.pyplot", "pkex[plots]")
        if not self._new_figure or hasattr(figure.canvas.manager, "window"):
            return data, {}  # shown with the rest of its figure, or in a window
        _show_earlier(figure)
        image = BytesIO()
        figure.savefig(image, format="png", dpi=2.0 * figure.dpi)
        width, height = (round(side * figure.dpi) for side in figure.get_size_inches())
        pyplot.close(figure)
        data["image/png"] = b64encode(image.getvalue()).decode()
        return data, {"image/png": {"width": width, "height": height}}

    def _figure(self, width: float, height: float) -> Any:
        """Return a new figure of pyplot; one without a background would not suit dark pages."""
        pyplot = import_optional("matplotlib.pyplot", "pkex[plots]")
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.09, h_pad=0.09)
        if figure.patch.get_alpha() == 0.0 or figure.get_facecolor()[3] == 0.0:
            figure.patch.set_alpha(1.0)
        self._new_figure = True
        _OURS.add(figure)
        return figure


def _show_earlier(figure: Figure) -> None:
    """Show what was drawn before this figure in a cell, which would be shown at its end, after it.

    Only where pyplot shows figures at the end of a cell; there none is left from other cells.
    """
    pyplot = import_optional("matplotlib.pyplot", "pkex[plots]")
    if "inline" not in pyplot.get_backend().lower():
        return
    from matplotlib._pylab_helpers import Gcf

    page = import_optional("IPython.display", "ipython")
    latest = getattr(figure.canvas.manager, "num", 0)  # pyplot counts its figures
    for number, manager in sorted(Gcf.figs.items()):
        if number < latest and manager.canvas.figure in _OURS:
            page.display(manager.canvas.figure)
            pyplot.close(manager.canvas.figure)
