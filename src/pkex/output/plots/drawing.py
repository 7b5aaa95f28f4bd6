"""What displays are drawn with: axes and their theme, and the columns of data.

Axes that were given keep to their cell of the figure: what stands beside them takes its room from
them, unless a layout engine makes room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.types import Floats
from pkex.output import palette
from pkex.output.columns import Boxes, Points, Shares, describe_column
from pkex.output.plots.labels import LETTER, MINUS, entry, letters_in, literal, shorten, wrap_label
from pkex.output.plots.theme import Theme
from pkex.output.spread import BOXES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.attribution import Attribution
else:
    Axes = Any  # of an extra, which annotations alone do not need

Key = str | int | None  # of a feature or an output: its name or number

__all__ = ["THIN", "Axes", "Canvas", "Key", "draw_columns", "jitter"]

_NUMBER = 0.48  # width in inches of a number below an axis, with some room
_LINE = 0.19  # height in inches of a line of a legend
_NOTE = 9.0  # size of letters
_THICK, _PAD = 0.13, 0.12  # of a colour bar, in inches
_LENGTH = 0.92  # of a colour bar, of the height of the axes
_GOLDEN = 0.618034  # the golden ratio, whose multiples leave even gaps
THIN: dict[str, Any] = {"linewidths": 0.8, "alpha": 0.5, "zorder": 2}  # lines behind points


class Canvas:
    """Axes that a plot draws in, with the looks of a report.

    Parameters
    ----------
    ax : matplotlib Axes
    new_figure : bool
        Whether their figure was made for the plot, so that there is room around them.

    Attributes
    ----------
    theme : Theme
        The shades that suit the background.
    """

    def __init__(self, ax: Axes, *, new_figure: bool) -> None:
        self.ax, self.new_figure, self.theme = ax, new_figure, Theme.of(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the axes, in inches."""
        extent, dpi = self.ax.get_window_extent(), self.ax.figure.figure.dpi
        return extent.width / dpi, extent.height / dpi

    def frame(self, grid: str = "both") -> None:
        """Draw a pale grid along some axes, no frame, and quiet numbers."""
        ax = self.ax
        ax.spines[:].set_visible(False)
        ax.grid(False)
        if grid:
            ax.grid(axis=grid, color=self.theme.grid(ax), linewidth=0.9)  # type: ignore[arg-type]
        ax.set_axisbelow(True)
        self._quiet(ax)

    def _quiet(self, ax: Axes) -> None:
        """Write numbers and words of axes small, without ticks."""
        style: dict[str, Any] = {"color": self.theme(palette.NEUTRAL), "fontsize": "small"}
        ax.tick_params(length=0, labelsize="small", labelcolor=style["color"])
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set(**style)
            axis.get_offset_text().set(**style)

    def lanes(self, names: Sequence[str], letters: int) -> None:
        """Make lanes below each other, the first on top, with names on the left."""
        self.frame("x")
        self.name_lanes(names, letters)
        self.ax.set_ylim(len(names) - 0.5, -0.5)
        self.ax.tick_params(axis="y", labelsize=9.5, labelcolor=self.theme(palette.INK))
        room = self._width_beside(min(letters, max(map(len, names), default=0)))
        self.ax.locator_params(axis="x", nbins=int(np.clip(room / _NUMBER, 2, 6)))

    def name_lanes(self, names: Sequence[str], letters: int) -> None:
        """Write names on the left, cut to so many letters."""
        self.ax.set_yticks(
            np.arange(len(names)), [literal(shorten(name, letters)) for name in names]
        )

    def _width_beside(self, letters: int) -> float:
        """Return how many inches axes are wide, of which a layout takes the room of names."""
        has_engine = self.ax.figure.figure.get_layout_engine() is not None
        return self.size[0] - (LETTER * letters if has_engine else 0.0)

    def title(self, title: str) -> None:
        """Write a title above the axes, flush left."""
        ink = self.theme(palette.INK)
        self.ax.set_title(literal(title), loc="left", fontsize="medium", color=ink)

    def label_below(self, label: str, note: str = "") -> None:
        """Write what lies along the axis, and below it a note on the plot, in lines that fit."""
        longest = max((len(name.get_text()) for name in self.ax.get_yticklabels()), default=0)
        lines = wrap_label(note, self._width_beside(longest))
        self.ax.set_xlabel(f"{label}\n{lines}" if note else label)
        self.make_room_below()

    def bars(self, places: Any, widths: Any, height: float, **style: Any) -> None:
        """Draw bars without edges, which some styles draw by default."""
        self.ax.barh(places, widths, height, linewidth=0, **style)

    def whiskers(self, ends: Any, places: Any, sizes: Any) -> None:
        """Draw an interval of these sizes on both sides of the ends of bars; none of size 0."""
        lengths = np.where(np.asarray(sizes) > 0.0, sizes, np.nan)
        style: dict[str, Any] = {"ecolor": self.theme(palette.INK), "elinewidth": 1.3, "zorder": 4}
        self.ax.errorbar(ends, places, xerr=lengths, fmt="none", capsize=2.5, **style)

    def intervals(self, low: Any, high: Any, centres: Any, places: Any) -> None:
        """Draw intervals as whiskers, with a dot in each."""
        middle = 0.5 * (np.asarray(low) + high)
        self.whiskers(middle, places, middle - low)
        style: dict[str, Any] = {
            "color": self.theme(palette.INK),
            "markerfacecolor": self.theme(palette.PAGE),
        }
        self.ax.plot(centres, places, "o", markersize=4.5, zorder=5, **style)

    def line_at(self, value: float = 0.0, *, vertical: bool = True, zorder: float = 1) -> None:
        """Draw the line where values are 0, or another value."""
        line = self.ax.axvline if vertical else self.ax.axhline
        line(value, color=self.theme(palette.MISSING), linewidth=0.9, zorder=zorder)

    def mark_rows(self, places: Floats, weights: Floats | None = None) -> None:
        """Draw where rows are, as a low histogram along the bottom."""
        bins = int(np.clip(2 * len(places) ** (1 / 3), 6, 40))
        counts, edges = np.histogram(places, bins, weights=weights)
        style: dict[str, Any] = {"color": self.theme(palette.BAND), "alpha": 0.55, "zorder": 0.5}
        style["transform"] = self.ax.get_xaxis_transform()
        self.ax.stairs(0.1 * counts / counts.max(), edges, fill=True, **style)

    def annotate(self, notes: Sequence[str]) -> None:
        """Write a note beside the right end of each lane, flush right.

        In given axes that have no cell to make room in, they stand inside.
        """
        points = _NOTE * (0.6 * max(map(len, notes), default=0) + 0.8)  # width of the notes
        share = min(0.5, points / (self.size[0] * 72.0))
        beside = self.new_figure or self._make_room(share)
        if not beside:
            low, high = self.ax.get_xlim()
            self.ax.set_xlim(low, low + (high - low) / (1.0 - share))
        style: dict[str, Any] = {"fontsize": _NOTE, "color": self.theme(palette.NEUTRAL)}
        style |= {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        offset = (points if beside else 0.0, 0.0)
        for place, note in enumerate(notes):
            text = note.replace("-", MINUS)
            self.ax.annotate(text, (1.0, place), offset, ha="right", va="center", **style)

    def colour_bar(self, mappable: Any, label: str = "", **options: Any) -> Any:
        """Draw what colours mean, on the right; return the bar.

        In a new figure it belongs to the axes, so that every layout engine makes room for it, and
        ``plt.tight_layout()`` may follow; beside given axes it takes its room from them.

        Parameters
        ----------
        mappable : matplotlib ScalarMappable
        label : str, optional
        **options
            Of ``Figure.colorbar``.
        """
        width, height = self.size
        if self.new_figure:
            bounds = (1.0 + _PAD / width, 0.5 * (1.0 - _LENGTH), _THICK / width, _LENGTH)
            options["cax"] = self.ax.inset_axes(bounds)
        else:
            options |= {"ax": self.ax, "aspect": 32, "pad": 0.02, "shrink": _LENGTH}
        bar: Any = self.ax.figure.colorbar(mappable, **options)
        bar.outline.set_visible(False)
        self._quiet(bar.ax)
        bar.set_label(literal(wrap_label(label, _LENGTH * height)))
        return bar

    def make_room_below(self) -> None:
        """Make room for all lines of the words below given axes.

        A figure has room for one line below its lowest axes.
        """
        lines = self.ax.get_xlabel().count("\n")
        if lines:
            self._make_room(min(0.5, _LINE * lines / self.size[1]), below=True)

    def _make_room(self, share: float, *, below: bool = False) -> bool:
        """Make given axes smaller by a share where no layout engine does; tell if there is room."""
        engine = self.ax.figure.figure.get_layout_engine()
        if engine is not None and type(engine).__name__ != "PlaceHolderLayoutEngine":
            return True
        spec, shares = self.ax.get_subplotspec(), [1.0 - share, share]
        if spec is None:
            return False
        if below:
            cells = spec.subgridspec(2, 1, height_ratios=shares, hspace=0.0)
        else:
            cells = spec.subgridspec(1, 2, width_ratios=shares, wspace=0.0)
        self.ax.set_subplotspec(cells[0])
        self.ax.set_in_layout(True)
        return True

    def legend(self, across: int = 3) -> None:
        """Write what the colours mean: below a new figure, else where there is most room.

        Inside the axes it would hide bars that are as long as the axes are wide. There are as many
        columns as fit, and names are cut to the width that there is.
        """
        ax, figure = self.ax, self.ax.figure
        handles, labels = ax.get_legend_handles_labels()
        room = (figure if self.new_figure else ax).get_window_extent().width
        letters = letters_in(room / figure.figure.dpi, 6)
        names = (label.replace(r"\$", "$").lstrip() for label in labels)  # as they were
        labels = [entry(shorten(name, letters)) for name in names]
        if not self.new_figure:
            ax.legend(handles, labels, loc="best", **self.legend_style())
            return
        for columns in range(across, 0, -1):
            style: dict[str, Any] = self.legend_style() | {"loc": "outside lower center"}
            legend = figure.legend(handles, labels, ncols=columns, **style)
            if columns == 1 or legend.get_window_extent().width < 0.97 * room:
                break
            legend.remove()
        width, height = figure.figure.get_size_inches()
        lines = -(-len(labels) // columns)
        figure.figure.set_size_inches(width, height + _LINE * max(0, lines - 2))

    def legend_style(self) -> dict[str, Any]:
        """Return how a legend looks: small letters on the page, without a frame."""
        return {"frameon": False, "fontsize": "small", "labelcolor": self.theme(palette.INK)}


def jitter(count: int) -> Floats:
    """Return how far so many points lie beside their place, in -0.5 to 0.5: always the same."""
    return np.mod(_GOLDEN * np.arange(float(count)), 1.0) - 0.5


def draw_columns(attribution: Attribution, columns: list[int], axes: list[Axes]) -> None:
    """Draw one column in each of the axes; the first with shares has the legend.

    The first with boxes says what these are.
    """
    has_legend, boxes = False, BOXES
    target = attribution.sample_names[0]
    for column, ax in zip(columns, axes, strict=True):
        data, title = describe_column(attribution, column), attribution.column_names[column]
        canvas, note = Canvas(ax, new_figure=False), ""
        canvas.frame("x")
        if isinstance(data, Shares):
            _draw_shares(canvas, data)
            if not has_legend:
                style = canvas.legend_style() | {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
                ax.legend(handlelength=1.0, ncols=3, borderaxespad=0.0, **style)
            has_legend = True
        elif isinstance(data, Points):
            _draw_points(canvas, data)
            ax.set_ylabel(literal(shorten(target)))
        else:
            _draw_boxes(canvas, data)
            title = f"{target} by {title}"
            note, boxes = boxes, ""
        beyond = getattr(data, "beyond", 0.0)
        outer = f" ({100.0 * beyond:.2g} % beyond, in the outer bins)" if beyond > 0.02 else ""
        canvas.label_below(literal(shorten(title)) + outer, note)
        ax.locator_params(axis="x", nbins=4)


def _draw_shares(canvas: Canvas, data: Shares) -> None:
    """Draw histograms as outlines, or categories as bars side by side, in shares of the rows."""
    ax, height = canvas.ax, 0.8 / len(data.series)
    for k, (name, shares) in enumerate(zip(data.series, data.shares, strict=True)):
        colour, label = canvas.theme.series(k), entry(name)
        if data.edges is not None:
            ax.stairs(shares, data.edges, fill=True, color=colour, alpha=0.15)
            ax.stairs(shares, data.edges, color=colour, linewidth=1.6, label=label)
        else:
            places = np.arange(len(shares)) + (k - 0.5 * (len(data.series) - 1)) * height
            canvas.bars(places, 100.0 * shares, height, color=colour, label=label)
    if data.edges is not None:
        ax.set_yticks([])
        ax.set_ylim(bottom=0.0)
    else:
        _name_categories(canvas, data.categories)
        ax.xaxis.set_major_formatter("{x:g} %")


def _draw_points(canvas: Canvas, data: Points) -> None:
    ax, theme = canvas.ax, canvas.theme
    size = float(np.clip(2000.0 / len(data.x), 3.0, 12.0))
    ax.grid(axis="y", color=theme.grid(ax))
    ax.scatter(data.x, data.y, s=size, color=theme.series(0), alpha=0.5, linewidth=0)


def _draw_boxes(canvas: Canvas, data: Boxes) -> None:
    """Draw the middle half of the rows as a box, nine tenths as a line, and the median."""
    ax, theme = canvas.ax, canvas.theme
    for place, (low, first, middle, third, high) in enumerate(data.quantiles):
        ax.hlines(place, low, high, color=theme(palette.NEUTRAL), linewidth=1.0)
        canvas.bars(place, third - first, 0.55, left=first, color=theme.series(0), alpha=0.6)
        ax.vlines(middle, place - 0.275, place + 0.275, color=theme(palette.INK), linewidth=1.6)
    _name_categories(canvas, data.categories)


def _name_categories(canvas: Canvas, categories: Sequence[str]) -> None:
    canvas.name_lanes(categories, 20)
    canvas.ax.invert_yaxis()  # the first on top
