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

from pkex._util.extras import import_optional
from pkex.output import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["Theme", "style"]

_STEPS = 256
_VISIBLE = 0.06  # how far a colour must be from another to be seen
_COLOURS = {
    palette.PAGE: ("axes.facecolor", "figure.facecolor", "savefig.facecolor"),
    palette.MISSING: ("axes.edgecolor", "xtick.color", "ytick.color"),
    palette.NEUTRAL: ("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"),
    palette.INK: ("axes.titlecolor", "legend.labelcolor", "text.color"),
    palette.GRID: ("grid.color",),
}
_SETTINGS = {
    **dict.fromkeys(("axes.labelsize", "legend.fontsize"), "small"),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), "small"),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow", "figure.constrained_layout.use"), True),
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "font.size": 9.5,
}


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
        colors = import_optional("matplotlib.colors", "pkex[plots]")
        for patch in (ax.patch, ax.figure.figure.patch):
            *colour, alpha = colors.to_rgba(patch.get_facecolor())
            if alpha > 0.5 and patch.get_visible():
                return cls(bool(_luminance(colour) < 0.4))
        text = import_optional("matplotlib", "pkex[plots]").rcParams["text.color"]
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
        colors = import_optional("matplotlib.colors", "pkex[plots]")
        *behind, alpha = colors.to_rgba(ax.get_facecolor())
        pale = self(palette.GRID)
        apart = np.abs(np.subtract(colors.to_rgb(pale), behind)).max()
        return self(palette.PAGE) if apart < _VISIBLE and alpha > 0.5 else pale

    def ramp(self) -> Colormap:
        """Return the colours of feature values from low to high, and of missing ones."""
        return self._between(palette.LOWERS, palette.MIDDLE, palette.RAISES)

    def diverging(self) -> Colormap:
        """Return the colours of values below and above 0, which has the colour of the page."""
        return self._between(palette.LOWERS, palette.PAGE, palette.RAISES)

    def rising(self) -> Colormap:
        """Return the colours of fractions from 0, which has the colour of the page."""
        return self._between(palette.PAGE, palette.RAISES)

    def _between(self, *shades: palette.Shade) -> Colormap:
        colors = import_optional("matplotlib.colors", "pkex[plots]")
        colours = [self(shade) for shade in shades]
        ramp: Colormap = colors.LinearSegmentedColormap.from_list("pkex", colours, _STEPS)
        return ramp.with_extremes(bad=self(palette.MISSING))


def style(*, dark: bool = False) -> AbstractContextManager[None]:
    """Return a context in which figures that you draw yourself look as those of pkex.

    Parameters
    ----------
    dark : bool, default False
        Whether to draw on a dark page.

    Returns
    -------
    context manager
        Sets matplotlib's parameters, and resets them at its end.

    See Also
    --------
    matplotlib.rc_context : What it returns.

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> import pkex.plots
    >>> with pkex.plots.style():
    ...     figure, ax = plt.subplots()
    >>> ax.spines["top"].get_visible()
    False
    """
    matplotlib, theme = import_optional("matplotlib", "pkex[plots]"), Theme(dark)
    colours = {name: theme(shade) for shade, names in _COLOURS.items() for name in names}
    cycle = matplotlib.cycler(color=[theme(shade) for shade in palette.SERIES])
    settings = {**colours, **_SETTINGS, "axes.prop_cycle": cycle}
    context: AbstractContextManager[None] = matplotlib.rc_context(settings)
    return context


def _luminance(colour: Any) -> float:
    return float(np.dot(colour, (0.2126, 0.7152, 0.0722)))
