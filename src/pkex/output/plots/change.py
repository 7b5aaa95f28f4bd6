"""A `Change` drawn with matplotlib: the values of each feature before and after, as boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Key
from pkex.output.plots.labels import entry
from pkex.output.text import align_numbers
from pkex.output.view.change import difference

if TYPE_CHECKING:
    from pkex.results.change import Change

__all__ = ["ChangeDisplay"]

_BOX = "box: IQR, whiskers: 5 to 95 %, point: mean"
_SIDE = 0.19  # of a box from the middle of its lane


class ChangeDisplay(Display):
    """The values of each feature in both tables, made by ``change.plot()``.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    result: Change

    def plot(self, ax: Axes | None = None, *, max_display: int = 12, output: Key = None) -> Self:
        """Draw the Shapley values of each feature before and after, one above the other.

        Beside each feature is its contribution, the difference of the two means. A star marks the
        features whose values changed significantly.

        Parameters
        ----------
        ax, max_display, output
            As for every plot.
        """
        change = self.result
        if output is None and len(change.output_names) - change.has_loss == 1:
            output = 0  # beside which there are losses alone
        number = change.output_number(output, "plot")
        count = len(change.feature_names)
        shown, names = self._largest(change.ranking, max_display)
        canvas = self._lanes(ax, names, 6.4, max(2.4, 1.6 + 0.46 * len(shown)))
        sides = (
            (change.quantiles_before, change.means_before),
            (change.quantiles_after, change.means_after),
        )
        canvas.line_at(0.0)
        for k, (quantiles, means) in enumerate(sides):
            spread = quantiles.reshape(5, count, -1)[:, shown, number]
            places = np.arange(len(shown)) + (2 * k - 1) * _SIDE
            colour = canvas.theme.series(k)
            style: dict[str, Any] = {"color": colour, "linewidth": 1.2, "zorder": 2}
            canvas.ax.hlines(places, spread[0], spread[4], **style)
            widths = spread[3] - spread[1]
            canvas.bars(places, widths, 0.26, left=spread[1], color=(colour, 0.45), zorder=3)
            points = means.reshape(count, -1)[shown, number]
            marks: dict[str, Any] = {"color": colour, "markersize": 5.5, "zorder": 4}
            marks |= {"markeredgecolor": canvas.theme(palette.PAGE), "markeredgewidth": 0.7}
            canvas.ax.plot(points, places, "o", label=entry(change.sample_names[k]), **marks)
        losses = change.has_loss and number == len(change.output_names) - 1
        label = "Shapley value of the squared error" if losses else "Shapley value"
        label += f" ({len(shown)} of {count} features)" if len(shown) < count else ""
        star = f"; *\u00a0p\u00a0<=\u00a0{change.alpha:g}" if change.n_permutations else ""
        canvas.label_below(label, f"{_BOX}{star}")
        title = difference(change, number, tested=False).rstrip(".")
        canvas.title(title.replace(", difference", "\ndifference"))  # which would be cut off
        canvas.annotate(self._notes(shown, number))
        canvas.legend()
        return self

    def _notes(self, shown: Any, number: int) -> list[str]:
        """Return the contributions, with a star where values changed significantly."""
        change = self.result
        texts = align_numbers(
            change.differences.reshape(len(change.feature_names), -1)[shown, number]
        )
        if change.p_features is None:
            return texts
        smallest = change.p_features.reshape(2, len(change.feature_names), -1).min(axis=0)
        stars = smallest[shown, number] <= change.alpha
        return [f"{text}{'*' if star else ' '}" for text, star in zip(texts, stars, strict=True)]
