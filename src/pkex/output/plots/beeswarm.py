"""Every value of every row as a point, in a lane for each feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex.output import palette
from pkex.output.plots.drawing import THIN, lanes, literal, short
from pkex.output.plots.panel import ExplanationDisplay, axis_of_values, shown_features, zero_line
from pkex.output.plots.shades import low_to_high, raw_values
from pkex.output.spread import POSTERIOR, others_std, others_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.panel import Output
    from pkex.output.plots.theme import Theme
    from pkex.results.explanation import Explanation

__all__ = ["BeeswarmDisplay"]

_STEP = 2.4  # points on paper that a bin of the swarm is wide
_GAP = 0.1  # of a lane, between neighbours in a bin
_HALF = 0.42  # of a lane
_FEW = 10  # rows whose standard deviations are drawn
_HIGH = 0.3  # inches of a lane that has room for two lines of words
_WORDS, _SHORT, _LEAST = 44, 12, 5  # letters of all categories of a lane, and of each of them


class BeeswarmDisplay(ExplanationDisplay):
    """Every value as a point, made by ``explanation.plot.beeswarm()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot.beeswarm()
    >>> display.ax_.get_xlabel()
    'Shapley value'
    """

    _kind = "beeswarm"
    _width, _height, _lane = 7.0, 1.1, 0.36
    _ramp = False  # whether there are numbers among the raw values

    def plot(
        self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> BeeswarmDisplay:
        """Draw every value as a point, in a line for each feature, coloured by its raw value.

        Numbers go from blue to red; categories have a colour each, named below the feature; groups
        of columns are grey. Posterior standard deviations, where the explanation has them, are
        lines of up to ten rows; of more, medians are written, below the feature where there is
        room.

        Parameters
        ----------
        ax, max_display, output
            As for every plot; see `ExplanationPlots`.

        Returns
        -------
        BeeswarmDisplay
        """
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, ax: Axes) -> None:
        shown, names, table = shown_features(one, self._max_display)
        theme = lanes(ax, names, self._letters)
        others = len(names) - len(shown)
        lines = list(table.T)
        raws = [*(raw_values(one, int(i)) for i in shown), *[None] * others]
        zero_line(ax, theme)
        stds, note = _spreads(one, shown, others > 0)
        few = len(one) <= _FEW
        lane = ax.get_window_extent().height / ax.figure.figure.dpi / len(lines)
        if one.std is not None and not few and not self._own and lane < _HIGH:
            median = np.median(one.std[:, shown])
            stds = [None] * len(lines)
            note = f"\nposterior standard deviation: median {median:.2g}"
        reach = [std if few and std is not None else 0.0 for std in stds]
        sides = [
            line + sign * std for line, std in zip(lines, reach, strict=True) for sign in (-1, 1)
        ]
        low, high = (f(np.concatenate([*sides, [0.0]])) for f in (np.min, np.max))
        low, high = (low, high) if low < high else (-1.0, 1.0)
        room = 0.03 * (high - low)
        ax.set_xlim(low - room, high + room)
        width = ax.get_window_extent().width / ax.figure.figure.dpi * 72.0
        bins = max(20.0, width / _STEP) / (high - low)
        for place, (values, raw, std) in enumerate(zip(lines, raws, stds, strict=True)):
            colours: Any = theme(palette.MISSING) if raw is None else raw.colours(theme)
            size = 9.0 if len(values) > 400 else 14.0
            swarm, words = place + _swarm(values * bins), []
            if std is not None and few:
                swarm = place + _ranks(values)
                ax.hlines(swarm, values - std, values + std, colours, **THIN)
            elif std is not None:
                words.append((f"± {np.median(std):.2g}", theme(palette.NEUTRAL)))
            ax.scatter(values, swarm, s=size, c=colours, linewidth=0, zorder=3)
            if raw is not None:
                words += _categories(raw.categories, theme)
            if words:
                _write_below(ax, place, words)
        ax.set_xlabel(axis_of_values(one) + note)
        self._ramp |= any(raw is not None and not raw.categories for raw in raws)

    def _finish(self) -> None:
        if self._ramp:
            low_to_high(self.axes_, "raw value", own=self._own)


def _swarm(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each point lies from the middle of its lane; wider where there are more."""
    bins = np.round(places).astype(np.int64)
    order = np.argsort(bins, kind="stable")
    _, starts, counts = np.unique(bins[order], return_index=True, return_counts=True)
    rank = np.empty(len(bins), dtype=np.int64)
    rank[order] = np.arange(len(bins)) - np.repeat(starts, counts)
    gap = min(_GAP, 2.0 * _HALF / max(1, counts.max(initial=1)))
    shifts: NDArray[np.float64] = np.where(rank % 2 == 1, gap, -gap) * ((rank + 1) // 2)
    return shifts


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each point lies from the middle of its lane, where each has its own height."""
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    gap = min(_GAP, 2.0 * _HALF / len(values))
    return gap * np.asarray(rank - 0.5 * (len(values) - 1), dtype=np.float64)


def _spreads(
    one: Explanation, shown: NDArray[np.intp], others: bool
) -> tuple[list[NDArray[np.float64] | None], str]:
    """Return the standard deviations of every lane, where they are known, and what names them."""
    if one.std is None:
        return [None] * (len(shown) + others), ""
    stds: list[NDArray[np.float64] | None] = [one.std[:, i] for i in shown]
    said = f"lines: {POSTERIOR}"
    if len(one) > _FEW:
        said = f"below each name: {POSTERIOR}, median over rows"
    if others:
        stds.append(others_std(one, shown))
        said += others_words(one) if stds[-1] is None else ""
    return stds, f"\n{said}"


def _categories(names: tuple[str, ...], theme: Theme) -> list[tuple[str, str]]:
    """Return the categories of a lane with their colours, cut so that all of them fit."""
    letters = _SHORT
    while letters > _LEAST and sum(min(len(name), letters) for name in names) > _WORDS:
        letters -= 1
    return [(short(name, letters), theme.series(k)) for k, name in enumerate(names)]


def _write_below(ax: Axes, place: int, texts: list[tuple[str, str]]) -> None:
    """Write texts in their colours below the name of a lane."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea

    words = [
        TextArea(literal(text), textprops={"color": colour, "fontsize": 7.5})
        for text, colour in texts
    ]
    box = AnnotationBbox(
        HPacker(children=list(words), pad=0.0, sep=5.0),
        (0.0, place),
        xybox=(-4.0, -10.0),
        xycoords=("axes fraction", "data"),
        boxcoords="offset points",
        box_alignment=(1.0, 0.5),
        frameon=False,
        pad=0.0,
    )
    ax.add_artist(box)
