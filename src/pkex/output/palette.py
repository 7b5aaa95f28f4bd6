"""One palette for plots, reports and tables in notebooks, after Okabe and Ito (2008).

People who are colour-blind can tell these colours apart. Each has a shade for light pages and one
for dark pages; `pkex.output.plots.theme` chooses between them for matplotlib, style sheets for the
rest.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "BAND",
    "GRID",
    "INK",
    "LOWERS",
    "MIDDLE",
    "MISSING",
    "NEUTRAL",
    "PAGE",
    "RAISES",
    "SERIES",
    "Shade",
    "css",
]


class Shade(NamedTuple):
    """A colour on light pages and on dark ones."""

    light: str
    dark: str

    def tint(self, strength: float) -> str:
        """Return the light shade as CSS has it, transparent but for `strength`.

        Examples
        --------
        >>> RAISES.tint(0.25)
        'rgba(213, 94, 0, 0.25)'
        """
        parts = (int(self.light[at : at + 2], 16) for at in (1, 3, 5))
        return f"rgba({', '.join(map(str, parts))}, {strength:.2f})"


_BLUE = Shade("#0072b2", "#56b4e9")
_VERMILION = Shade("#d55e00", "#f58a3c")
_GREEN = Shade("#009e73", "#3cc79f")
_PURPLE = Shade("#cc79a7", "#dd9cc1")
_SKY = Shade("#56b4e9", "#a6d8f5")
_ORANGE = Shade("#e69f00", "#f0c040")

RAISES, LOWERS = _VERMILION, _BLUE  # values above and below 0
SERIES = (_BLUE, _VERMILION, _GREEN, _PURPLE, _SKY, _ORANGE)  # samples and classes
BAND = Shade("#cfd5de", "#414a58")  # where chance lies
NEUTRAL = Shade("#555f6b", "#a4adba")  # words beside a plot
PAGE = Shade("#ffffff", "#171b22")
INK = Shade("#191c22", "#e9ebef")  # words, marks
GRID = Shade("#eceef2", "#2a303a")
MIDDLE = Shade("#a39bab", "#9b93a5")  # between low and high, which are LOWERS and RAISES
MISSING = Shade("#7d8694", "#8b94a3")  # what has no value; the line at 0


def css() -> str:
    """Return the palette as variables of a style sheet.

    Examples
    --------
    >>> css().splitlines()[1]
    '  --up: light-dark(#d55e00, #f58a3c);'
    """
    named = {"up": RAISES, "down": LOWERS, "band": BAND, "low": LOWERS, "high": RAISES}
    named |= {"card": PAGE, "ink": INK, "muted": NEUTRAL, "grid": GRID}
    named |= {"mid": MIDDLE, "none": MISSING}
    named |= {f"c{k}": shade for k, shade in enumerate(SERIES)}
    lines = (f"  --{name}: light-dark({light}, {dark});" for name, (light, dark) in named.items())
    return "\n".join([":root {", *lines, "}", ""])
