"""The importance of features in parts of the rows, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import format_number
from pkex._util.indexing import Axis, select
from pkex._util.validation import brief, is_index
from pkex._util.words import pluralise
from pkex.output import palette
from pkex.output.columns import categories
from pkex.output.plots.drawing import Axes, Canvas
from pkex.output.plots.labels import WIDE, entry, of_all, shorten
from pkex.output.plots.panel import Explanation, ExplanationDisplay, Output
from pkex.output.plots.shades import as_numbers
from pkex.output.spread import importance_words
from pkex.output.text import value_name
from pkex.tables.dates import day_text

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
    ) -> Self:
        """Draw the importance of features in each cohort.

        Parameters
        ----------
        cohorts : str, int, array or mapping
            Sets of rows to compare, as in ``explanation.plot.bar``.
        ax, max_display, output
            As for every plot.
        """
        self.cohorts = cohorts_of(self.result, cohorts)
        self._lane = 0.16 + 0.11 * len(self.cohorts)
        return self._draw_panels(self.result, ax, output, max_display)

    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        order = one.importance().ranking[: self._max_display]
        canvas.lanes([one.feature_names[i] for i in order], self._letters)
        height, note = 0.8 / len(self.cohorts), ""
        for k, (name, mask) in enumerate(self.cohorts.items()):
            importance = one[mask].importance()
            values, errors = importance.values[order], importance.standard_errors[order]
            places = np.arange(len(order)) + (k - 0.5 * (len(self.cohorts) - 1)) * height
            label = entry(f"{shorten(name, WIDE)} ({pluralise(int(mask.sum()), 'row')})")
            style = {"color": canvas.theme.series(k), "label": label, "zorder": 2}
            canvas.bars(places, values, 0.9 * height, **style)
            if not np.isnan(errors).any():
                canvas.whiskers(values, places, errors)
                note = f"\nwhiskers: {importance_words(importance, 'the rows of each cohort')}"
        label = of_all(f"mean |{value_name(one)}|", len(order), len(one.feature_names))
        canvas.ax.set_xlabel(label + note)
        canvas.ax.set_xlim(left=0.0)

    def _finish(self) -> None:
        self._panels[0].legend(2 if len(self.axes_) == 1 else 3)


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
    names, count = explanation.column_names, len(explanation)
    if isinstance(by, Mapping):
        masks = {str(name): _mask(rows, count, f"cohort {name}") for name, rows in by.items()}
    elif isinstance(by, str) or is_index(by):
        [column] = select(by, [Axis("column", len(names), names)])[0]
        masks = _by_cells(explanation.data[:, column], names[column])
    else:
        cells = np.asarray(by)
        if cells.ndim != 1 or len(cells) != count:
            raise ValueError(
                f"cohorts must be a column, one entry for each of the {count} rows, or "
                f"a mapping of names to masks; got {brief(by)}."
            )
        is_mask = cells.dtype.kind == "b"
        masks = {"chosen": cells, "others": ~cells} if is_mask else _by_cells(cells, "")
    masks = {name: mask for name, mask in masks.items() if mask.any()}
    if not 1 < len(masks) <= len(palette.SERIES):
        raise ValueError(
            f"cohorts must be 2 to {len(palette.SERIES)} sets of rows that are not empty; got "
            f"{len(masks)}."
        )
    return masks


def _mask(chosen: Any, count: int, name: str) -> Mask:
    [rows] = select(chosen, [Axis("row", count)])
    if not isinstance(chosen, slice) and np.ndim(chosen) == 0:
        raise ValueError(f"{name} must be a mask or a list of rows; got {brief(chosen)}.")
    return np.isin(np.arange(count), rows)


def _by_cells(cells: NDArray[Any], name: str) -> dict[str, Mask]:
    """Return the rows of each category, or the halves of many numbers or dates, and the missing."""
    limit, start = len(palette.SERIES), f"{name} = " if name else ""
    numbers, dated = as_numbers(cells)
    known = np.empty(0) if numbers is None else numbers[~np.isnan(numbers)]
    if numbers is None or len(np.unique(known)) <= limit:
        codes, names = categories(cells, limit)
        return {f"{start}{category}": codes == k for k, category in enumerate(names)}
    middle = float(np.median(known))
    if not (known < middle).any():  # more than half have the smallest
        middle = float(np.min(known[known > middle]))
    at, missing = day_text(middle) if dated else format_number(middle), f"{start}missing"
    lower, upper = (f"{name} {sign} {at}" if name else f"{sign} {at}" for sign in "<≥")
    return {lower: numbers < middle, upper: numbers >= middle, missing: np.isnan(numbers)}
