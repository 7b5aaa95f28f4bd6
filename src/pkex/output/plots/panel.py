"""What the plots of an `Explanation` share: panels for outputs, and the words on their axes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from pkex._util.extras import import_optional
from pkex._util.types import Floats
from pkex._util.validation import check_count
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Canvas, Key
from pkex.output.plots.labels import LETTERS, MINUS, WIDE, literal, room_for, shorten, wrap_label
from pkex.output.plots.shades import FeatureValues
from pkex.output.spread import others_std, others_words
from pkex.output.text import leaves_out, name_rest, rank_by_size, value_name
from pkex.tables.dates import day_text

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
else:
    Explanation = Any  # results import their plots

__all__ = ["MAX_PANELS", "Explanation", "ExplanationDisplay", "Lanes", "Output", "select_outputs"]

Output = Key | Sequence[str | int]

MAX_PANELS = 6  # outputs that fit into one figure
_LETTER, _BESIDE, _BELOW = 0.075, 0.9, 0.6  # in inches: a letter, what stands around axes
_NOUN = 20  # letters of what the output is called
_DAYS = 3.0  # from which on the time of day says little
_TITLE = 0.83  # size of the letters of words on axes, in those of titles


class ExplanationDisplay(Display):
    """An `Explanation` drawn, in one panel for each output.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The first panel.
    axes_ : list of matplotlib.axes.Axes
        All panels.
    figure_ : matplotlib.figure.Figure
        The figure of the panels.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0], [1.0]], [[1.0, 2.0], [-1.0, 0.5]], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f)([[0.0], [1.0]]).plot.beeswarm()
    >>> [ax.get_title(loc="left") for ax in display.axes_]
    ['y0', 'y1']
    """

    result: Explanation
    _kind = ""  # the name of the plot, for messages
    _width, _height, _lane = 6.6, 1.15, 0.32  # in inches, of a panel and of each lane in it
    _extra = 0  # lanes besides features
    _before = ""  # arguments that a call cannot do without

    def _draw_panels(
        self, rows: Explanation, ax: Axes | None, output: Output, max_display: int = 1
    ) -> Self:
        """Draw these rows of the result, in one panel for each output."""
        check_count(max_display, "max_display", 1)
        self._check_rows()
        self._rows, self._max_display = rows, max_display
        panels = self._outputs(output)
        count, several = len(panels), len(panels) > 1
        if ax is not None and several:
            raise ValueError(
                f"one ax has room for one of the {count} outputs; choose it, e.g. plot."
                f"{self._kind}({self._before}ax, output={rows.output_names[0]!r}), or omit ax."
            )
        self._letters = WIDE if ax is None and not several else LETTERS
        self._across = 2 if count == 4 else min(count, 3)
        lanes = min(len(panels[0].feature_groups), max_display) + self._extra
        width = 0.74 * self._width if several else self._width + room_for(rows.feature_names)
        height = self._height + self._lane * lanes
        self._panels = self._canvases(ax, count, self._across, width, height)
        try:
            for one, canvas in zip(panels, self._panels, strict=True):
                self._draw(one, canvas)
                self._write(one, canvas, several)
            self._finish()
        except Exception:
            if self._new_figure:
                import_optional("matplotlib.pyplot", "pkex[plots]").close(self.figure_)
            raise
        return self

    def _write(self, one: Explanation, canvas: Canvas, several: bool) -> None:
        """Write the title, and fit the words on the axes to the room that they have."""
        ax, title, (width, height) = canvas.ax, self._title(), self._size(canvas)
        for axis, room in ((ax.xaxis, width), (ax.yaxis, height)):
            words = axis.get_label_text()
            if several:  # narrow, so that words need two lines
                words = words.replace(" (", "\n(")
            axis.set_label_text(literal("\n".join(wrap_label(w, room) for w in words.split("\n"))))
        canvas.make_room_below()
        if several:
            canvas.title(shorten(one.output_names[0], WIDE))
        elif title:
            canvas.title(wrap_label(title, _TITLE * width))
        if several and title:
            style: dict[str, Any] = {"fontsize": "medium", "color": canvas.theme(palette.INK)}
            self.figure_.suptitle(literal(title), x=0.01, ha="left", **style)

    def _size(self, canvas: Canvas) -> tuple[float, float]:
        """Return how wide and high axes are in inches, about, before any layout."""
        if not self._new_figure:
            return canvas.size
        (width, height), down = self.figure_.get_size_inches(), -(-len(self.axes_) // self._across)
        names = max((len(label.get_text()) for label in canvas.ax.get_yticklabels()), default=0)
        return width / self._across - _BESIDE - _LETTER * names, height / down - _BELOW

    @abstractmethod
    def _draw(self, one: Explanation, canvas: Canvas) -> None:
        """Draw one output."""

    def _finish(self) -> None:
        """Draw what all panels have in common, such as what their colours mean."""

    def _label_of_values(self, one: Explanation) -> str:
        """Return what values are: of which index, and which class they push towards."""
        return _about_class(one, value_name(one))

    def _label_of_output(self, one: Explanation) -> str:
        """Return what values add up to, and which class its sign decides for."""
        return _about_class(one, self._noun_of_output(one))

    def _noun_of_output(self, one: Explanation) -> str:
        """Return what values add up to, in a word or two."""
        noun = one.quantity or one.output_kind or "prediction"
        return noun if one.quantity or len(noun) <= _NOUN else "output"

    def _check_adds_up(self) -> None:
        """Refuse values that do not lead from the base value to the prediction."""
        if not self.result.efficient:
            raise ValueError(
                f"values of the index {self.result.index} do not add up to the prediction, so they "
                "have no waterfall; draw plot.bar() or plot.beeswarm()."
            )
        if not self.result.complete:
            raise ValueError(
                "the explanation holds a selection of the features, which does not add up to the "
                "prediction; draw the waterfall before selecting."
            )

    def _draw_ramp(self, title: str, cells: FeatureValues | None = None) -> None:
        """Draw the ramp of colours beside the first line of panels.

        It has numbers or dates, or the words low and high.
        """
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        known = cells is not None and cells.ends[0] < cells.ends[1]
        ends = cells.ends if cells is not None and known else (0.0, 1.0)
        canvas = self._panels[self._across - 1]
        mappable = ScalarMappable(Normalize(*ends), canvas.theme.ramp())
        bar = canvas.colour_bar(mappable, shorten(title, WIDE))
        if cells is None or not known:
            bar.set_ticks(ends, labels=["low", "high"])
        elif cells.dated:
            only_days = ends[1] - ends[0] > _DAYS
            bar.set_ticks(ends, labels=[day_text(round(end) if only_days else end) for end in ends])

    def _title(self) -> str:
        """Return what is written above the plot."""
        return ""

    def _outputs(self, output: Output) -> list[Explanation]:
        """Return the explanations of the outputs to draw, one for each panel."""
        rows, chosen = self._rows, select_outputs(self._rows, output, self._kind)
        if chosen.values.ndim == 2:
            return [chosen]
        count = chosen.values.shape[2]
        if count > MAX_PANELS:
            raise ValueError(
                f"{count} outputs do not fit into one figure; choose up to {MAX_PANELS}, e.g. "
                f"plot.{self._kind}({self._before}output={list(rows.output_names[:2])!r})."
            )
        return [chosen[:, :, k] for k in range(count)]


def select_outputs(rows: Explanation, output: Output, caller: str) -> Explanation:
    """Return the explanation of chosen outputs."""
    if rows.values.ndim == 2:
        return rows.select_output(cast("Key", output), caller)
    return rows if output is None else rows[:, :, output]


class Lanes(NamedTuple):
    """What the lanes of a plot show: features, and where values add up the sum of all others.

    Attributes
    ----------
    features : array of int
        The features, the most important first; the sum of others has one more lane.
    names : list of str
        What each lane is called.
    values : array of shape (n_rows, n_lanes)
    stds : array of shape (n_rows, n_lanes) or None
        Posterior standard deviations, NaN for a sum whose is not known.
    unknown : str
        Words on such a sum, if there is one.
    """

    features: NDArray[np.intp]
    names: list[str]
    values: Floats
    stds: Floats | None
    unknown: str

    @classmethod
    def of(cls, one: Explanation, max_display: int) -> Lanes:
        """Return the lanes of the most important features."""
        shown = rank_by_size(np.abs(one.values).mean(axis=0), max_display)
        others = leaves_out(one, shown)
        if others:
            shown = shown[: max(1, max_display - 1)]
        names, values, unknown = [one.feature_names[i] for i in shown], one.values[:, shown], ""
        stds = None if one.std is None else one.std[:, shown]
        if others and one.efficient:
            names.append(name_rest(one, len(shown)))
            rest = one.predictions - one.base_values - values.sum(axis=1)
            values = np.column_stack([values, rest])
            rest_stds = others_std(one, shown)
            if stds is not None and rest_stds is not None:
                stds = np.column_stack([stds, rest_stds])
            elif stds is not None:
                stds, unknown = np.insert(stds, len(shown), np.nan, axis=1), others_words(one)
        return cls(shown, names, values, stds, unknown)


def _about_class(one: Explanation, noun: str) -> str:
    """Return a noun, of which output it is, and for a classifier what its signs push towards."""
    if one.output_classes is None:
        return f"{noun} of {shorten(one.output_names[0])}" if one.output_names else noun
    yes, no = (None if name is None else _class(name) for name in one.output_classes[0])
    other = f"away from {yes}" if no is None else f"towards {no}"
    return f"{noun} (+ towards {yes}, {MINUS} {other})"


def _class(name: str) -> str:
    """Return a class by its name, after the word "class" where the name is a number."""
    return f"class {name}" if name.lstrip("-").replace(".", "", 1).isdigit() else shorten(name)
