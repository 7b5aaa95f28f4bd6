"""The importance of features in parts of the rows, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import number_text
from pkex._util.indexing import Axis, select
from pkex._util.validation import brief, is_index
from pkex._util.words import counted
from pkex.output import palette
from pkex.output.columns import categories, day_text
from pkex.output.plots.drawing import (
    WIDE,
    bars,
    entry,
    explain_colours,
    lanes,
    of_all,
    short,
    whiskers,
)
from pkex.output.plots.panel import ExplanationDisplay, Output
from pkex.output.plots.shades import as_numbers
from pkex.output.spread import error_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.explanation import Explanation

__all__ = ["CohortsDisplay", "cohorts_of"]

Mask = NDArray[np.bool_]


class CohortsDisplay(ExplanationDisplay):
    """Mean absolute values in cohorts of rows, made by ``explanation.plot.bar(cohorts=...)``.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)(np.arange(8.0).reshape(4, 2))
    >>> display = explanation.plot.bar(cohorts=[True, True, False, False])
    >>> [entry.get_text() for entry in display.figure_.legends[0].get_texts()]
    ['chosen (2 rows)', 'others (2 rows)']
    """

    _kind = "bar"

    def plot(
        self, cohorts: Any, ax: Axes | None = None, *, max_display: int = 20, output: Output = None
    ) -> CohortsDisplay:
        """Draw the importance of features in each cohort; see `ExplanationPlots.bar`."""
        self.cohorts = cohorts_of(self.result, cohorts)
        self._lane = 0.16 + 0.11 * len(self.cohorts)
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, ax: Axes) -> None:
        order = one.importance().order[: self._max_display]
        theme = lanes(ax, [one.feature_names[i] for i in order], self._letters)
        height, note = 0.8 / len(self.cohorts), ""
        for k, (name, mask) in enumerate(self.cohorts.items()):
            found = one[mask].importance()
            places = np.arange(len(order)) + (k - 0.5 * (len(self.cohorts) - 1)) * height
            label = entry(f"{short(name, WIDE)} ({counted(int(mask.sum()), 'row')})")
            ends = found.values[order]
            bars(ax, places, ends, 0.9 * height, color=theme.series(k), label=label, zorder=2)
            errors = found.standard_errors[order]
            if not np.isnan(errors).any():
                whiskers(ax, list(ends), list(places), errors)
                note = f"\nwhiskers: {error_words('the rows of each cohort', found.has_std)}"
        ax.set_xlabel(of_all("mean |value|", len(order), len(one.feature_names)) + note)
        ax.set_xlim(left=0.0)

    def _finish(self) -> None:
        explain_colours(self.ax_, own=self._own, across=2 if len(self.axes_) == 1 else 3)


def cohorts_of(explanation: Explanation, by: Any) -> dict[str, Mask]:
    """Return the rows of each cohort, by its name.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)(np.arange(8.0)[:, None])
    >>> {name: int(rows.sum()) for name, rows in cohorts_of(explanation, "x0").items()}
    {'x0 < 3.5': 4, 'x0 ≥ 3.5': 4}
    """
    if isinstance(by, Mapping):
        found = {str(name): _mask(explanation, mask, f"cohort {name}") for name, mask in by.items()}
    elif isinstance(by, str) or is_index(by):
        axis = Axis("column", len(explanation.column_names), explanation.column_names)
        [column] = select(by, [axis])[0]
        found = _by_cells(explanation.data[:, column], explanation.column_names[column])
    else:
        cells = np.asarray(by)
        if cells.ndim != 1 or len(cells) != len(explanation):
            raise ValueError(
                f"cohorts must be a column, one entry for each of the {len(explanation)} rows, or "
                f"a mapping of names to masks; got {brief(by)}."
            )
        if cells.dtype.kind == "b":
            found = {"chosen": cells, "others": ~cells}
        else:
            found = _by_cells(cells, "")
    found = {name: mask for name, mask in found.items() if mask.any()}
    if not 1 < len(found) <= len(palette.SERIES):
        raise ValueError(
            f"cohorts must be 2 to {len(palette.SERIES)} sets of rows that are not empty; got "
            f"{len(found)}."
        )
    return found


def _mask(explanation: Explanation, mask: Any, name: str) -> Mask:
    rows = select(mask, [Axis("row", len(explanation))])[0]
    if not isinstance(mask, slice) and np.ndim(mask) == 0:
        raise ValueError(f"{name} must be a mask or a list of rows; got {brief(mask)}.")
    chosen = np.zeros(len(explanation), dtype=bool)
    chosen[rows] = True
    return chosen


def _by_cells(cells: NDArray[Any], name: str) -> dict[str, Mask]:
    """Return the rows of each category, or the halves of many numbers or dates, and the missing."""
    limit, start = len(palette.SERIES), f"{name} = " if name else ""
    numbers, dated = as_numbers(cells)
    if numbers is not None and len(np.unique(numbers[~np.isnan(numbers)])) > limit:
        found = _halves(numbers, f"{name} " if name else "", dated)
        return found | {f"{start}missing": np.isnan(numbers)}
    codes, names = categories(cells, limit)
    return {f"{start}{category}": codes == k for k, category in enumerate(names)}


def _halves(numbers: NDArray[np.float64], start: str, dated: bool) -> dict[str, Mask]:
    """Return the rows of the lower and of the upper half of what is known."""
    known = numbers[~np.isnan(numbers)]
    middle = float(np.median(known))
    if not (known < middle).any():  # more than half have the smallest
        middle = float(np.min(known[known > middle]))
    at = day_text(middle) if dated else number_text(middle)
    return {f"{start}< {at}": numbers < middle, f"{start}≥ {at}": numbers >= middle}
