"""Colours of feature values: a ramp for numbers, a colour each for categories.

Dates count as numbers. Outliers take the colours of the ends of the ramp, which lie at the 5 % and
95 % quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import is_missing, is_number
from pkex._util.types import Floats
from pkex.output import palette
from pkex.output.columns import categories
from pkex.output.plots.theme import Theme
from pkex.tables.dates import days_of_cells

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = ["FeatureValues", "as_numbers", "feature_cells", "feature_values", "ramp_positions"]


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """The values of a feature in the data, as a plot has them.

    Attributes
    ----------
    numbers : array of shape (n_rows,)
        Places on an axis: the numbers, NaN where they are missing, or codes of categories.
    categories : tuple of str
        Empty for numbers.
    dated : bool
        Whether the numbers are days since 1970.
    """

    numbers: Floats
    categories: tuple[str, ...] = ()
    dated: bool = False

    @property
    def levels(self) -> Floats:
        """The different numbers."""
        return np.unique(self.numbers[~np.isnan(self.numbers)])

    @property
    def ends(self) -> tuple[float, float]:
        """Where the ramp of colours begins and ends."""
        known = self.numbers[~np.isnan(self.numbers)]
        low, high = np.quantile(known, [0.05, 0.95]) if known.size else (0.0, 0.0)
        if not low < high and known.size:
            low, high = known.min(), known.max()
        return float(low), float(high)

    def colours(self, theme: Theme) -> Any:
        """Return the colour of each row."""
        if self.categories:
            return [theme.series(int(code)) for code in self.numbers]
        return theme.ramp()(ramp_positions(self.numbers, *self.ends))


def ramp_positions(numbers: Floats, low: float, high: float) -> Floats:
    """Return where numbers lie on a ramp of colours from low to high; NaN where they are NaN."""
    if high > low:
        return np.clip((numbers - low) / (high - low), 0.0, 1.0)
    return np.where(np.isnan(numbers), np.nan, 0.5)


def as_numbers(cells: NDArray[Any]) -> tuple[Floats | None, bool]:
    """Return numbers, NaN where they are missing, and whether they are days since 1970.

    Dates become such days; where some cells are texts, there are no numbers but None.

    Examples
    --------
    >>> as_numbers(np.array([1, None], dtype=object))
    (array([ 1., nan]), False)
    """
    dates = days_of_cells(cells)
    if dates is not None:
        return dates, True
    if not all(is_number(cell) or is_missing(cell) for cell in cells):
        return None, False
    return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells]), False


def feature_cells(result: Any, feature: int) -> Any:
    """Return the cells of a feature; refuse a group of columns, which has no single one."""
    columns = result.feature_groups[feature]
    if len(columns) > 1:
        raise ValueError(
            f"{result.feature_names[feature]!r} is a group of {len(columns)} columns and has no "
            "single value to draw; choose a feature of one column."
        )
    return result.data[:, columns[0]]


def feature_values(
    result: Explanation, feature: int, places: int = len(palette.SERIES)
) -> FeatureValues:
    """Return the values of a feature of one column.

    Of more categories than there are `places`, the rare ones are joined.
    """
    cells = feature_cells(result, feature)
    numbers, dated = as_numbers(cells)
    if numbers is None:
        codes, names = categories(cells, places)
        return FeatureValues(codes.astype(np.float64), tuple(names))
    return FeatureValues(numbers, dated=dated)
