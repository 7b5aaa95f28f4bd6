"""Colours of raw values: a ramp for numbers, a colour each for categories.

Outliers take the colours of the ends of the ramp, which lie at the 5 % and 95 % quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex.output import palette
from pkex.output.columns import categories
from pkex.output.displays.colour_bar import draw_colour_bar
from pkex.output.drawing import WIDE, short
from pkex.output.theme import Theme
from pkex.tables.cells import is_missing, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.explanation import Explanation

__all__ = ["Raw", "low_to_high", "raw_values"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Raw:
    """The raw values of a feature, as a picture has them.

    Attributes
    ----------
    numbers : array of shape (n_rows,)
        Places on an axis: the numbers, NaN where they are missing, or codes of categories.
    categories : tuple of str
        Empty for numbers; at most as many as there are colours.
    ends : tuple of two floats
        Where the ramp of colours begins and ends.
    """

    numbers: Floats
    categories: tuple[str, ...]
    ends: tuple[float, float]

    def colours(self, theme: Theme) -> Any:
        """Return the colour of each row."""
        if self.categories:
            return [theme.series(int(code)) for code in self.numbers]
        low, high = self.ends
        shares = np.full(len(self.numbers), 0.5)
        if high > low:
            shares = np.clip((self.numbers - low) / (high - low), 0.0, 1.0)
        return theme.ramp()(np.where(np.isnan(self.numbers), np.nan, shares))


def raw_values(one: Explanation, feature: int) -> Raw | None:
    """Return the raw values of a feature; None for a group of columns, which has no single one."""
    columns = one.players[feature]
    if len(columns) > 1:
        return None
    cells = one.data[:, columns[0]]
    if not all(is_number(cell) or is_missing(cell) for cell in cells):
        codes, names = categories(cells, len(palette.SERIES))
        return Raw(codes.astype(np.float64), tuple(names), (0.0, len(names) - 1.0))
    numbers = np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
    known = numbers[~np.isnan(numbers)]
    low, high = np.quantile(known, [0.05, 0.95]) if known.size else (0.0, 0.0)
    if not low < high and known.size:
        low, high = known.min(), known.max()
    return Raw(numbers, (), (float(low), float(high)))


def low_to_high(
    axes: list[Axes], title: str, ends: tuple[float, float] | None = None, *, own: bool
) -> None:
    """Draw the ramp beside the axes, with numbers at its ends or the words low and high."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    theme = Theme.of(axes[0])
    mappable = ScalarMappable(Normalize(*(ends or (0.0, 1.0))), theme.ramp())
    bar = draw_colour_bar(axes, mappable, short(title, WIDE), own=own)
    if ends is None:
        bar.set_ticks([0.0, 1.0], labels=["low", "high"])
