"""What the plots of an `Explanation` share: panels for outputs, and the words on their axes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pkex._util.indexing import Axis, select
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import (
    LETTERS,
    WIDE,
    at_least,
    literal,
    room_below,
    room_for,
    short,
    wrapped,
    write_title,
)
from pkex.output.plots.theme import Theme
from pkex.output.text import counted_rest, leaves_out, most_important

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.explanation import Explanation

__all__ = [
    "MAX_PANELS",
    "ExplanationDisplay",
    "Output",
    "about_class",
    "axis_of_values",
    "one_column",
    "shown_features",
    "zero_line",
]

Output = str | int | Sequence[str | int] | None

MAX_PANELS = 6  # outputs that fit into one figure
_LETTER, _BESIDE, _BELOW = 0.075, 0.9, 0.6  # in inches: a letter, what stands around axes
_TITLE = 0.83  # size of the letters of words on axes, in those of titles


class ExplanationDisplay(Display):
    """An `Explanation` drawn, in one panel for each output.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : list of matplotlib Axes
        All panels.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0], [1.0]], [[1.0, 2.0], [-1.0, 0.5]], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0], [1.0]]).plot.beeswarm()
    >>> [ax.get_title(loc="left") for ax in display.axes_]
    ['y0', 'y1']
    """

    result: Explanation
    axes_: list[Axes]
    _kind = ""  # the name of the plot, for messages
    _width, _height, _lane = 6.6, 1.15, 0.32  # in inches, of a panel and of each lane in it
    _extra = 0  # lanes besides features
    _before: tuple[str, ...] = ()  # arguments that a call cannot do without

    def _draw_panels(
        self, rows: Explanation, ax: Axes | None, output: Output, max_display: int = 1
    ) -> Self:
        """Draw these rows of the result, in one panel for each output."""
        at_least(max_display, "max_display", 1)
        if len(rows) == 0:
            raise ValueError("the explanation has no rows, so there is nothing to draw.")
        self._rows, self._max_display = rows, max_display
        panels = self._outputs(output)
        if ax is not None and len(panels) > 1:
            names = rows.outputs
            raise ValueError(
                f"one ax has room for one of the {len(panels)} outputs; choose it, e.g. "
                f"{self._call('ax')}, output={names[0]!r}), or leave out ax."
            )
        several = len(panels) > 1
        self._letters = WIDE if ax is None and not several else LETTERS
        if ax is None:
            lanes = min(len(panels[0].players), max_display) + self._extra
            width, height = self._width, self._height + self._lane * lanes
            across = 2 if len(panels) == 4 else min(len(panels), 3)
            width = 0.74 * width if several else width + room_for(rows.feature_names)
            self.axes_ = self._grid(len(panels), across, width, height)
        else:
            self.axes_ = [ax]
        self._draws_in(self.axes_[0])
        try:
            for one, panel in zip(panels, self.axes_, strict=True):
                self._draw(one, panel)
                self._write(one, panel, several)
            self._finish()
        except Exception:
            self._discard()
            raise
        return self

    def _write(self, one: Explanation, ax: Axes, several: bool) -> None:
        """Write the title, and fit the words on the axes to the room that they have."""
        width, height = self._size(ax)
        title = self._title()
        for axis, room in ((ax.xaxis, width), (ax.yaxis, height)):
            said = axis.get_label_text()
            if several:  # narrow, so that words need two lines
                said = said.replace(" (", "\n(")
            lines = (wrapped(line, room) for line in said.split("\n"))
            axis.set_label_text(literal("\n".join(lines)))
        room_below(ax)
        if several:
            write_title(ax, short(one.outputs[0], WIDE))
            if title:
                style: dict[str, Any] = {"fontsize": "medium", "color": Theme.of(ax)(palette.INK)}
                self.figure_.suptitle(literal(title), x=0.01, ha="left", **style)
        elif title:
            write_title(ax, wrapped(title, _TITLE * width))

    def _size(self, ax: Axes) -> tuple[float, float]:
        """Return how wide and high axes are in inches, about, before any layout."""
        figure = ax.figure.figure
        if not self._own:
            extent = ax.get_window_extent()
            return extent.width / figure.dpi, extent.height / figure.dpi
        spec, (width, height) = ax.get_subplotspec(), figure.get_size_inches()
        down, across = (1, 1) if spec is None else spec.get_gridspec().get_geometry()
        names = max((len(label.get_text()) for label in ax.get_yticklabels()), default=0)
        return width / across - _BESIDE - _LETTER * names, height / down - _BELOW

    def _call(self, argument: str) -> str:
        """Return the beginning of a call that draws this, for messages."""
        before = "".join(f"{argument}, " for argument in self._before)
        return f"plot.{self._kind}({before}{argument}"

    @abstractmethod
    def _draw(self, one: Explanation, ax: Axes) -> None:
        """Draw one output."""

    def _finish(self) -> None:
        """Draw what all panels have in common, such as what their colours mean."""

    def _title(self) -> str:
        """Return what is written above the plot."""
        return ""

    def _outputs(self, output: Output) -> list[Explanation]:
        """Return the explanations of the outputs to draw, one for each panel."""
        rows = self._rows
        if rows.values.ndim == 2:
            return [rows.select_output(output if output is None else _only(output), self._kind)]
        chosen = rows if output is None else rows[:, :, output]
        if chosen.values.ndim == 2:
            return [chosen]
        count = chosen.values.shape[2]
        if count > MAX_PANELS:
            raise ValueError(
                f"{count} outputs do not fit into one figure; choose up to {MAX_PANELS}, e.g. "
                f"{self._call(f'output={list(rows.outputs[:2])!r}')})."
            )
        return [chosen[:, :, k] for k in range(count)]


def _only(output: Output) -> str | int | None:
    """Return the output that a list of one names."""
    if isinstance(output, str | int) or output is None:
        return output
    [name] = output
    return name


def shown_features(
    one: Explanation, max_display: int
) -> tuple[NDArray[np.intp], list[str], Floats]:
    """Return the features to draw, and for each lane its name and its value in every row.

    Where values add up and some are not shown, their sum is one more lane, the last.
    """
    shown = most_important(np.abs(one.values).mean(axis=0), max_display)
    others = leaves_out(one, shown)
    if others:
        shown = shown[: max(1, max_display - 1)]
    names, table = [one.feature_names[i] for i in shown], one.values[:, shown]
    if others and one.efficient:
        names.append(counted_rest(one, len(shown)))
        rest = one.predictions - one.base_values - table.sum(axis=1)
        table = np.column_stack([table, rest])
    return shown, names, table


def axis_of_values(one: Explanation) -> str:
    """Return what values are: of which index, and for a classifier which class they speak for."""
    name = "Shapley value" if one.index == "SV" else f"{one.index} value"
    return about_class(one, name, "+", "\N{MINUS SIGN}")


def about_class(one: Explanation, noun: str, plus: str, minus: str) -> str:
    """Return a noun, of which output it is, and for a classifier what its signs speak for."""
    if one.sides is None:
        return f"{noun} of {short(one.outputs[0])}" if one.outputs else noun
    yes, no = (None if name is None else _class(name) for name in one.sides[0])
    against = f"against {yes}" if no is None else f"for {no}"
    return f"{noun} ({plus} for {yes}, {minus} {against})"


def _class(name: str) -> str:
    """Return a class by its name; as a class where the name is a number, as "for 0" says little."""
    return f"class {name}" if name.lstrip("-").replace(".", "", 1).isdigit() else short(name)


def one_column(one: Explanation, feature: str | int, kind: str) -> int:
    """Return the number of a feature that has a raw value to draw."""
    axis = Axis("feature", len(one.players), one.feature_names)
    places = select(feature, [axis])[0]
    if len(places) != 1:
        raise IndexError(f"a {kind} is of one feature; got {brief(feature)}.")
    place = int(places[0])
    if len(one.players[place]) > 1:
        raise ValueError(
            f"{one.feature_names[place]!r} is a group of {len(one.players[place])} columns and has "
            "no single value to draw; choose a feature of one column."
        )
    return place


def zero_line(ax: Axes, theme: Theme, *, vertical: bool = True) -> None:
    """Draw the line where values are 0."""
    line = ax.axvline if vertical else ax.axhline
    line(0.0, color=theme(palette.MISSING), linewidth=0.9, zorder=1)
