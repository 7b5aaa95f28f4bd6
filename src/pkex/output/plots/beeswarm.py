"""Every value of every row as a point, in a lane for each feature."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pkex._util.types import Floats
from pkex.output import palette
from pkex.output.plots.drawing import THIN, Axes, Canvas
from pkex.output.plots.labels import literal, shorten
from pkex.output.plots.panel import Explanation, ExplanationDisplay, Lanes, Output
from pkex.output.plots.shades import feature_values
from pkex.output.plots.theme import Theme
from pkex.output.spread import POSTERIOR

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
    _ramp = False  # whether some features are numbers

    def plot(self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None) -> Self:
        """Draw every Shapley value as a point, in lanes of features, coloured by feature value.

        Numbers go from blue to red; categories have a colour each, named below the feature; feature
        groups are grey. Posterior standard deviations, where the explanation has them, are
        lines of up to ten rows; of more, medians are written, below the feature where there is
        room.

        Parameters
        ----------
        ax, max_display, output
            As for every plot.
        """
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        ax, theme, lanes = canvas.ax, canvas.theme, Lanes.of(one, self._max_display)
        canvas.lanes(lanes.names, self._letters)
        canvas.line_at(0.0)
        few, stds, note = len(one) <= _FEW, lanes.stds, ""
        if stds is not None:
            where, what = ("lines", "") if few else ("below each name", ", median over rows")
            note = f"\n{where}: {POSTERIOR}{what}{lanes.unknown}"
            if not few and not self._new_figure and canvas.size[1] / len(lanes.names) < _HIGH:
                median = np.median(stds[:, : len(lanes.features)])
                note, stds = f"\nposterior standard deviation: median {median:.2g}", None
        reach = np.nan_to_num(stds) if few and stds is not None else 0.0
        low, high = min(0.0, (lanes.values - reach).min()), max(0.0, (lanes.values + reach).max())
        low, high = (low, high) if low < high else (-1.0, 1.0)
        room = 0.03 * (high - low)
        ax.set_xlim(low - room, high + room)
        bins = max(20.0, canvas.size[0] * 72.0 / _STEP) / (high - low)
        for place, values in enumerate(lanes.values.T):
            feature: Any = lanes.features[place] if place < len(lanes.features) else None
            single = feature is not None and len(one.feature_groups[feature]) == 1
            cells = feature_values(one, feature) if single else None
            colours: Any = theme(palette.MISSING) if cells is None else cells.colours(theme)
            swarm, words = place + _swarm(values * bins), []
            std = None if stds is None or np.isnan(stds[:, place]).all() else stds[:, place]
            if std is not None and few:
                swarm = place + _ranks(values)
                ax.hlines(swarm, values - std, values + std, colours, **THIN)
            elif std is not None:
                words.append((f"± {np.median(std):.2g}", theme(palette.NEUTRAL)))
            size = 9.0 if len(values) > 400 else 14.0
            ax.scatter(values, swarm, s=size, c=colours, linewidth=0, zorder=3)
            if cells is not None:
                words += _categories(cells.categories, theme)
                self._ramp |= not cells.categories
            if words:
                _write_below(ax, place, words)
        ax.set_xlabel(self._label_of_values(one) + note)

    def _finish(self) -> None:
        if self._ramp:
            self._draw_ramp("feature value")


def _swarm(places: Floats) -> Floats:
    """Return how far each point lies from the middle of its lane; wider where there are more."""
    bins = np.round(places).astype(np.int64)
    order = np.argsort(bins, kind="stable")
    _, starts, counts = np.unique(bins[order], return_index=True, return_counts=True)
    rank = np.empty(len(bins), dtype=np.int64)
    rank[order] = np.arange(len(bins)) - np.repeat(starts, counts)
    gap = min(_GAP, 2.0 * _HALF / max(1, counts.max(initial=1)))
    shifts: Floats = np.where(rank % 2 == 1, gap, -gap) * ((rank + 1) // 2)
    return shifts


def _ranks(values: Floats) -> Floats:
    """Return how far each point lies from the middle of its lane, where each has its own height."""
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    gap = min(_GAP, 2.0 * _HALF / len(values))
    return gap * np.asarray(rank - 0.5 * (len(values) - 1), dtype=np.float64)


def _categories(names: tuple[str, ...], theme: Theme) -> list[tuple[str, str]]:
    """Return the categories of a lane with their colours, cut so that all of them fit."""
    letters = _SHORT
    while letters > _LEAST and sum(min(len(name), letters) for name in names) > _WORDS:
        letters -= 1
    return [(shorten(name, letters), theme.series(k)) for k, name in enumerate(names)]


def _write_below(ax: Axes, place: int, texts: list[tuple[str, str]]) -> None:
    """Write texts in their colours below the name of a lane."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea

    words = [TextArea(literal(text), textprops={"color": c, "fontsize": 7.5}) for text, c in texts]
    style: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "boxcoords": "offset points"}
    style |= {"xybox": (-4.0, -10.0), "box_alignment": (1.0, 0.5), "frameon": False, "pad": 0.0}
    packed = HPacker(children=list(words), pad=0.0, sep=5.0)
    ax.add_artist(AnnotationBbox(packed, (0.0, place), **style))
