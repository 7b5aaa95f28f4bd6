"""Colours of raw values: a ramp for numbers, a colour each for categories.

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
from pkex.output.columns import categories, day_text, days
from pkex.output.plots.colour_bar import draw_colour_bar
from pkex.output.plots.drawing import WIDE, short
from pkex.output.plots.theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.explanation import Explanation

__all__ = ["Raw", "as_numbers", "low_to_high", "raw_values"]

_DAYS = 3.0  # from which on the time of day says little


@dataclass(frozen=True, eq=False)
class Raw:
    """The raw values of a feature, as a plot has them.

    Attributes
    ----------
    numbers : array of shape (n_rows,)
        Places on an axis: the numbers, NaN where they are missing, or codes of categories.
    categories : tuple of str
        Empty for numbers.
    ends : tuple of two floats
        Where the ramp of colours begins and ends.
    dated : bool
        Whether the numbers are days since 1970.
    """

    numbers: Floats
    categories: tuple[str, ...]
    ends: tuple[float, float]
    dated: bool = False

    def colours(self, theme: Theme) -> Any:
        """Return the colour of each row."""
        if self.categories:
            return [theme.series(int(code)) for code in self.numbers]
        low, high = self.ends
        shares = np.full(len(self.numbers), 0.5)
        if high > low:
            shares = np.clip((self.numbers - low) / (high - low), 0.0, 1.0)
        return theme.ramp()(np.where(np.isnan(self.numbers), np.nan, shares))


def as_numbers(cells: NDArray[Any]) -> tuple[Floats | None, bool]:
    """Return numbers, NaN where they are missing, and whether they are days since 1970.

    Dates become such days; where some cells are texts, there are no numbers but None.

    Examples
    --------
    >>> as_numbers(np.array([1, None], dtype=object))
    (array([ 1., nan]), False)
    """
    dates = days(cells)
    if dates is not None:
        return dates, True
    if not all(is_number(cell) or is_missing(cell) for cell in cells):
        return None, False
    return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells]), False


def raw_values(one: Explanation, feature: int, places: int = len(palette.SERIES)) -> Raw | None:
    """Return the raw values of a feature; None for a group of columns, which has no single one.

    Of more categories than there are `places`, the rare ones are joined.
    """
    columns = one.players[feature]
    if len(columns) > 1:
        return None
    cells = one.data[:, columns[0]]
    numbers, dated = as_numbers(cells)
    if numbers is None:
        codes, names = categories(cells, places)
        return Raw(codes.astype(np.float64), tuple(names), (0.0, len(names) - 1.0))
    known = numbers[~np.isnan(numbers)]
    low, high = np.quantile(known, [0.05, 0.95]) if known.size else (0.0, 0.0)
    if not low < high and known.size:
        low, high = known.min(), known.max()
    return Raw(numbers, (), (float(low), float(high)), dated)


def low_to_high(axes: list[Axes], title: str, raw: Raw | None = None, *, own: bool) -> None:
    """Draw the ramp beside the axes, with numbers or dates, or the words low and high."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    known = raw is not None and raw.ends[0] < raw.ends[1]
    ends = raw.ends if raw is not None and known else (0.0, 1.0)
    mappable = ScalarMappable(Normalize(*ends), Theme.of(axes[0]).ramp())
    bar = draw_colour_bar(axes, mappable, short(title, WIDE), own=own)
    if raw is None or not known:
        bar.set_ticks(ends, labels=["low", "high"])
    elif raw.dated:
        whole = ends[1] - ends[0] > _DAYS
        bar.set_ticks(ends, labels=[day_text(round(end) if whole else end) for end in ends])
