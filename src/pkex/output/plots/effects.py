"""`Effects` drawn: a panel for each feature, with curve, ICE, band and where the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pkex._util.cells import format_cell, is_missing
from pkex._util.types import Floats
from pkex._util.validation import check_count
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Canvas, Key
from pkex.output.plots.labels import literal, shorten

if TYPE_CHECKING:
    from pkex.results.effects import Effects

__all__ = ["EffectsDisplay"]

_LINES = 50  # individual curves
_NAMES = 12  # categories whose names fit
_LABELS = {"ale": "accumulated local effect", "individual": "prediction"}


class EffectsDisplay(Display):
    """Curves and surfaces of effects, made by ``effects.plot()``.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The first panel.
    axes_ : list of matplotlib.axes.Axes
        All panels.
    figure_ : matplotlib.figure.Figure
        The figure of the panels.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> effects = pkex.Explainer(f, [[0.0, 0.0], [1.0, 2.0], [0.0, 1.0]]).effects("x1")
    >>> effects.plot().ax_.get_ylabel()
    'partial dependence'
    """

    result: Effects

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_display: int = 6,
        output: Key = None,
        n_lines: int = _LINES,
    ) -> Self:
        """Draw a panel for each effect; those of single features share the vertical axis.

        The line is the average curve, its band two posterior standard deviations, thin lines are
        individual curves of background rows, and the histogram below shows where the rows are. A
        pair is a surface of colours with points where the rows are.

        Parameters
        ----------
        ax, max_display, output
            As for every plot.
        n_lines : int, default 50
            Largest number of individual curves, evenly spaced among the background rows.
        """
        check_count(max_display, "max_display", 1)
        check_count(n_lines, "n_lines", 1)
        effects = self.result.select_output(output, "plot")
        count = min(len(effects), max_display)
        if ax is not None and len(effects) > 1:
            raise ValueError(
                f"one ax has room for one of {len(effects)} effects; select it, as in "
                f"effects[{' & '.join(effects.features[0])!r}].plot(ax), or omit ax."
            )
        across = 2 if count == 4 else min(count, 3)
        one = (5.6, 3.8) if count == 1 else (3.5, 2.9)
        canvases = self._canvases(ax, count, across, *one)
        self._lines, self._effects = n_lines, effects
        single = [k for k in range(count) if len(effects.features[k]) == 1]
        ends = _ends(effects, single, n_lines)
        for k, canvas in enumerate(canvases):
            panel = canvas.ax
            if k in single:
                self._draw_curve(k, canvas)
                panel.set_ylim(*ends)
                if k % across == 0 or k == single[0]:
                    panel.set_ylabel(literal(self._label()))
                elif len(single) == count:
                    panel.tick_params(labelleft=False)
            else:
                self._draw_surface(k, canvas)
        if effects.output_names and np.ndim(self.result.mean):
            canvases[0].title(effects.output_names[0])
        return self

    def _label(self) -> str:
        effects = self._effects
        if effects.response == "probability":
            return "probability" if effects.kind == "individual" else "mean probability"
        label = _LABELS.get(effects.kind, "partial dependence")
        return f"{label} ± 2 std" if effects.std is not None else label

    def _draw_curve(self, k: int, canvas: Canvas) -> None:
        effects, ax, theme = self._effects, canvas.ax, canvas.theme
        canvas.frame()
        grid, name = effects.grid[k], effects.features[k][0]
        x, order = np.arange(len(grid), dtype=float), np.arange(len(grid))
        apart = grid.dtype == object or grid.ndim > 1
        if not apart:
            x = np.asarray(grid, dtype=float)
        elif grid.ndim > 1:  # joint values have no order of their own
            curves = effects.average or effects.individual
            assert curves is not None
            order = np.argsort(curves[k].reshape(-1, len(grid)).mean(axis=0), kind="stable")
        if effects.individual is not None:
            some = _some(len(effects.weights), self._lines)
            lines = effects.individual[k][some][:, order]
            style: dict[str, Any] = {"color": theme.series(0), "linewidth": 0.6, "zorder": 2}
            ax.plot(x, lines.T, alpha=0.3 if effects.average is not None else 0.5, **style)
        if effects.average is not None:
            colour = theme(palette.INK if effects.individual is not None else palette.SERIES[0])
            self._draw_average(k, canvas, x, order, colour, line=not apart or grid.ndim > 1)
        if grid.dtype == object and grid.ndim == 1:
            _name_places(ax, grid)
        elif grid.ndim > 1:
            ax.set_xticks([])
            name = f"{name} ({len(grid)} joint values, sorted)"
        else:
            _draw_rows(canvas, effects.data[k], x, effects.weights)
            ax.locator_params(axis="x", nbins=5)
        ax.set_xlabel(literal(shorten(name, 40)))

    def _draw_average(
        self, k: int, canvas: Canvas, x: Floats, order: Any, colour: str, *, line: bool
    ) -> None:
        """Draw a line, or points where places are categories, with the band."""
        effects, ax = self._effects, canvas.ax
        assert effects.average is not None
        curve = effects.average[k][order]
        style: dict[str, Any] = {"color": colour, "zorder": 4}
        band = None if effects.std is None else 2.0 * effects.std[k][order]
        if line and len(x) > 1:  # a single place is a point
            ax.plot(x, curve, linewidth=2.0, **style)
            if band is not None:
                ax.fill_between(x, curve - band, curve + band, color=colour, alpha=0.18, lw=0)
            return
        ax.plot(x, curve, "o", markersize=5.5, **style)
        if band is not None:
            ax.errorbar(x, curve, yerr=band, fmt="none", capsize=2.5, ecolor=colour, zorder=3)

    def _draw_surface(self, k: int, canvas: Canvas) -> None:
        """Draw the average of a pair as colours; contours are its standard deviation."""
        effects, ax, theme = self._effects, canvas.ax, canvas.theme
        if effects.average is None:
            raise ValueError("a pair is drawn by its average; pass kind='both' or 'average'.")
        canvas.frame("")
        axes = [_places(axis) for axis in effects.grid[k]]
        surface = effects.average[k].T
        edges = [_cell_edges(axis) for axis in axes]
        mesh = ax.pcolormesh(*edges, surface, cmap=theme.ramp(), rasterized=True)
        smooth = all(len(axis) > 2 for axis in axes)
        if effects.std is not None and smooth:
            style: dict[str, Any] = {"colors": theme(palette.INK), "linewidths": 0.6, "alpha": 0.6}
            lines = ax.contour(*axes, effects.std[k].T, levels=4, **style)
            ax.clabel(lines, fontsize=7)
        data = effects.data[k]
        if data.dtype != object and data.shape[1] == 2:
            low, high = (np.array([end(axis) for axis in axes]) for end in (np.min, np.max))
            inside = ((data >= low) & (data <= high)).all(axis=1)
            some = _some(int(inside.sum()), 200)
            x, y = data[inside][some].T
            ax.scatter(x, y, s=3, color=theme(palette.INK), alpha=0.4, lw=0)
        for k_axis, axis in enumerate((ax.xaxis, ax.yaxis)):
            axis.set_label_text(literal(shorten(effects.features[k][k_axis], 40)))
            grid = effects.grid[k][k_axis]
            if grid.ndim > 1:
                axis.set_ticks([])
            elif grid.dtype == object:
                _name_places(ax, grid, "xy"[k_axis])
        if all(axis.ndim == 1 and axis.dtype != object for axis in effects.grid[k]):
            ax.locator_params(nbins=5)
        label = "mean probability" if effects.response == "probability" else "partial dependence"
        lines_note = "; lines: std" if effects.std is not None and smooth else ""
        canvas.colour_bar(mesh, f"{label}{lines_note}")


def _places(axis: Any) -> Floats:
    """Return numbers along an axis: the places, or the order of categories."""
    plain = axis.ndim == 1 and axis.dtype != object
    return np.asarray(axis, dtype=float) if plain else np.arange(len(axis), dtype=float)


def _cell_edges(places: Floats) -> Floats:
    """Return the edges of cells around places, halfway between them; a single one is 1 wide."""
    if len(places) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    middle = (places[1:] + places[:-1]) / 2.0
    return np.concatenate([2.0 * places[:1] - middle[:1], middle, 2.0 * places[-1:] - middle[-1:]])


def _some(count: int, most: int) -> Any:
    """Return evenly spaced numbers, so many at most."""
    return np.unique(np.linspace(0, max(0, count - 1), min(count, most)).astype(np.intp))


def _ends(effects: Effects, single: list[int], n_lines: int) -> tuple[float, float]:
    """Return the ends of the vertical axis that all curves share."""
    values = []
    for k in single:
        if effects.individual is not None:
            values.append(effects.individual[k][_some(len(effects.weights), n_lines)].ravel())
        if effects.average is not None:
            band = 0.0 if effects.std is None else 2.0 * effects.std[k]
            values += [(effects.average[k] - band).ravel(), (effects.average[k] + band).ravel()]
    if not values:
        return 0.0, 1.0
    low, high = (float(end([end(each) for each in values])) for end in (np.min, np.max))
    width = (high - low) or abs(high) or 1.0
    return low - 0.12 * width, high + 0.06 * width


def _name_places(ax: Axes, grid: Any, axis: str = "x") -> None:
    """Name categories along an axis, at an angle, or their number where there are many."""
    names = [literal(shorten(format_cell(cell), 14)) for cell in grid]
    step = -(-len(names) // _NAMES)
    style: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    places = np.arange(len(names))[::step]
    if axis == "x":
        ax.set_xticks(places, names[::step], **(style if max(map(len, names)) > 4 else {}))
        ax.set_xlim(-0.5, len(names) - 0.5)
        ax.grid(visible=False, axis="x")
    else:
        ax.set_yticks(places, names[::step])


def _draw_rows(canvas: Canvas, data: Any, x: Floats, weights: Floats) -> None:
    """Draw where the background rows are, as a low histogram along the bottom."""
    known = np.array([not is_missing(cell) for cell in data.tolist()])
    inside = known & (data >= x[0]) & (data <= x[-1])
    if inside.sum() < 2 or not x[0] < x[-1]:
        return
    canvas.mark_rows(data[inside].astype(float), weights[inside])
