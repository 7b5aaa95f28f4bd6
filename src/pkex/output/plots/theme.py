"""The shades and the style of a plot that matplotlib draws.

A plot takes the shades that suit its background: the light ones on white, the dark ones in
axes of ``plt.style.use("dark_background")`` and other dark styles. `style` gives figures that are
drawn by hand the same looks.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import optional
from pkex.output import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["Theme", "style"]

_STEPS = 256
_SEEN = 0.06  # how far a colour must be from another to be seen


@dataclass(frozen=True)
class Theme:
    """Which shade of each colour to take.

    Examples
    --------
    >>> Theme(dark=False)(palette.RAISES), Theme(dark=True)(palette.RAISES)
    ('#d55e00', '#f58a3c')
    """

    dark: bool

    @classmethod
    def of(cls, ax: Axes) -> Theme:
        """Return the theme that suits what is behind the axes."""
        colors = optional("matplotlib.colors", "pkex[plots]")
        for patch in (ax.patch, ax.figure.figure.patch):
            *colour, alpha = colors.to_rgba(patch.get_facecolor())
            if alpha > 0.5 and patch.get_visible():
                return cls(bool(_luminance(colour) < 0.4))
        text = optional("matplotlib", "pkex[plots]").rcParams["text.color"]
        return cls(bool(_luminance(colors.to_rgb(text)) > 0.6))

    def __call__(self, shade: palette.Shade) -> str:
        """Return the shade of a colour."""
        return shade.dark if self.dark else shade.light

    def series(self, k: int) -> str:
        """Return the colour of a sample, class or cohort."""
        return self(palette.SERIES[k % len(palette.SERIES)])

    def signed(self, value: float) -> str:
        """Return the colour of a value, by its sign."""
        return self(palette.RAISES if value >= 0.0 else palette.LOWERS)

    def grid(self, ax: Axes) -> str:
        """Return the colour of a grid, which is seen on the page and on pages nearly as pale."""
        colors = optional("matplotlib.colors", "pkex[plots]")
        *behind, alpha = colors.to_rgba(ax.get_facecolor())
        pale = self(palette.GRID)
        apart = np.abs(np.subtract(colors.to_rgb(pale), behind)).max()
        return self(palette.PAGE) if apart < _SEEN and alpha > 0.5 else pale

    def ramp(self) -> Colormap:
        """Return the colours of raw values from low to high, and of missing ones."""
        return self._between(palette.LOWERS, palette.MIDDLE, palette.RAISES)

    def diverging(self) -> Colormap:
        """Return the colours of values below and above 0, which has the colour of the page."""
        return self._between(palette.LOWERS, palette.PAGE, palette.RAISES)

    def rising(self) -> Colormap:
        """Return the colours of shares from 0, which has the colour of the page; NaN is pale."""
        made = self._between(palette.PAGE, palette.RAISES)
        return made.with_extremes(bad=self(palette.GRID))

    def _between(self, *shades: palette.Shade) -> Colormap:
        colors = optional("matplotlib.colors", "pkex[plots]")
        made: Any = colors.LinearSegmentedColormap.from_list(
            "pkex", list(map(self, shades)), _STEPS
        )
        return made.with_extremes(bad=self(palette.MISSING))  # type: ignore[no-any-return]


def style(*, dark: bool = False) -> AbstractContextManager[None]:
    """Return a context in which figures that you draw yourself look as those of pkex.

    Parameters
    ----------
    dark : bool, default False
        Whether to draw on a dark page.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> import pkex.plots
    >>> with pkex.plots.style():
    ...     figure, ax = plt.subplots()
    >>> ax.spines["top"].get_visible()
    False
    """
    matplotlib, theme = optional("matplotlib", "pkex[plots]"), Theme(dark)
    cycler = optional("cycler", "pkex[plots]").cycler
    ink, muted = theme(palette.INK), theme(palette.NEUTRAL)
    context: AbstractContextManager[None] = matplotlib.rc_context(
        {
            "axes.prop_cycle": cycler(color=[theme(shade) for shade in palette.SERIES]),
            "axes.facecolor": theme(palette.PAGE),
            "axes.edgecolor": theme(palette.MISSING),
            "axes.labelcolor": muted,
            "axes.titlecolor": ink,
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "axes.labelsize": "small",
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.facecolor": theme(palette.PAGE),
            "savefig.facecolor": theme(palette.PAGE),
            "figure.constrained_layout.use": True,
            "font.size": 9.5,
            "grid.color": theme(palette.GRID),
            "legend.frameon": False,
            "legend.fontsize": "small",
            "legend.labelcolor": ink,
            "text.color": ink,
            "xtick.color": theme(palette.MISSING),
            "ytick.color": theme(palette.MISSING),
            "xtick.labelcolor": muted,
            "ytick.labelcolor": muted,
            "xtick.labelsize": "small",
            "ytick.labelsize": "small",
        }
    )
    return context


def _luminance(colour: Any) -> float:
    return float(np.dot(colour, (0.2126, 0.7152, 0.0722)))
