"""What displays are drawn with: lanes for features, the columns of data, names that fit.

Names are those of users, so whatever is written into a plot passes through `literal`, and what
stands in a legend through `entry`. Axes that were given keep to their cell of the figure: what
stands beside them takes its room from them, unless a layout engine makes room.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.output import palette
from pkex.output.columns import Boxes, Points, Shares, picture
from pkex.output.plots.theme import Theme
from pkex.output.spread import BOXES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.attribution import Attribution

__all__ = [
    "LETTERS",
    "MINUS",
    "THIN",
    "WIDE",
    "annotated",
    "aside",
    "at_least",
    "bars",
    "draw_columns",
    "entry",
    "explain_colours",
    "framed",
    "label_below",
    "lanes",
    "legend_style",
    "literal",
    "of_all",
    "room_below",
    "room_for",
    "short",
    "whiskers",
    "wrapped",
    "write_title",
]

LETTERS, WIDE = 24, 48  # of a name, beside other panels and in a figure of its own
_LETTER = 0.078  # width in inches
_SMALL = 0.067  # width in inches of a letter of the words on axes
_NUMBER = 0.48  # width in inches of a number below an axis, with some room
_LINE = 0.19  # height in inches of a line of a legend
_NARROW = 14  # letters that fit everywhere
_NOTE = 9.0  # size of letters
_GOLDEN = 0.618034  # the golden ratio, whose multiples leave even gaps
MINUS = "\N{MINUS SIGN}"
THIN: dict[str, Any] = {"linewidths": 0.8, "alpha": 0.5, "zorder": 2}  # lines behind points


def framed(ax: Axes, grid: str = "both") -> Theme:
    """Give axes the looks of a report: a pale grid, no frame, quiet numbers; return the theme."""
    theme = Theme.of(ax)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.grid(False)
    if grid:
        ax.grid(axis=grid, color=theme.grid(ax), linewidth=0.9)  # type: ignore[arg-type]
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelsize="small", labelcolor=theme(palette.NEUTRAL))
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(theme(palette.NEUTRAL))
        axis.label.set_fontsize("small")
        axis.get_offset_text().set(color=theme(palette.NEUTRAL), fontsize="small")
    return theme


def lanes(ax: Axes, names: Sequence[str], letters: int = LETTERS) -> Theme:
    """Make lanes below each other, the first on top, with names on the left; return the theme."""
    theme = framed(ax, "x")
    ax.set_yticks(np.arange(len(names)), [literal(short(name, letters)) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", labelsize=9.5, labelcolor=theme(palette.INK))
    longest = min(letters, max(map(len, names), default=0))
    ax.locator_params(axis="x", nbins=_bins(ax, _LETTER * longest))
    return theme


def _bins(ax: Axes, names: float) -> int:
    """Return how many numbers fit below axes."""
    return int(np.clip(_width(ax, names) / _NUMBER, 2, 6))


def _width(ax: Axes, names: float) -> float:
    """Return how many inches axes are wide, of which a layout takes the room of the names."""
    width = float(ax.get_window_extent().width / ax.figure.figure.dpi)
    return width - (names if ax.figure.figure.get_layout_engine() is not None else 0.0)


def label_below(ax: Axes, label: str, note: str = "") -> None:
    """Write what lies along the axis, and below it a note on what is drawn, in lines that fit."""
    longest = max((len(name.get_text()) for name in ax.get_yticklabels()), default=0)
    lines = wrapped(note, _width(ax, _LETTER * longest))
    ax.set_xlabel(f"{label}\n{lines}" if note else label)
    room_below(ax)


def room_for(names: Sequence[str]) -> float:
    """Return by how many inches a figure must be wider for the longest of these names."""
    return _LETTER * max(0, min(WIDE, max(map(len, names), default=0)) - LETTERS)


def literal(text: str) -> str:
    r"""Return a text that matplotlib shows as it is; it reads what is between dollars as formulas.

    Examples
    --------
    >>> print(literal("$0-$50k"))
    \$0-\$50k
    """
    return text.replace("$", r"\$")


def entry(name: str) -> str:
    """Return a name as an entry of a legend, which leaves out those that begin with "_"."""
    return literal(f" {name}" if name.startswith("_") else name)


def wrapped(text: str, inches: float) -> str:
    """Return the words on an axis in lines of so many inches, broken at a bracket first.

    Examples
    --------
    >>> print(wrapped("Shapley value (+ for large ones, - for small ones)", 2.0))
    Shapley value
    (+ for large ones, - for
    small ones)
    """
    letters = max(_NARROW, int(inches / _SMALL))
    if len(text) <= letters:
        return text
    head, bracket, tail = text.partition(" (")
    parts = [head, f"({tail}"] if bracket else [head]
    return "\n".join(line for part in parts for line in wrap(part, letters, break_long_words=False))


def write_title(ax: Axes, title: str) -> None:
    """Write a title above axes, flush left."""
    colour = Theme.of(ax)(palette.INK)
    ax.set_title(literal(title), loc="left", fontsize="medium", color=colour)


def aside(count: int) -> Floats:
    """Return how far so many points lie beside their place, in -0.5 to 0.5: always the same."""
    return np.mod(_GOLDEN * np.arange(float(count)), 1.0) - 0.5


def bars(ax: Axes, places: Any, widths: Any, height: float, **style: Any) -> None:
    """Draw bars without edges, which some styles draw by default."""
    ax.barh(places, widths, height, linewidth=0, **style)


def of_all(title: str, shown: int, count: int) -> str:
    """Return the title of an axis, and how many of all features there are, if not all."""
    return title if shown >= count else f"{title} (the {shown} largest of {count})"


def annotated(ax: Axes, notes: Sequence[str], *, own: bool) -> None:
    """Write a note beside the right end of each lane, flush right.

    In axes that are not ours and have no cell to make room in, they stand inside.
    """
    points = _NOTE * (0.6 * max(map(len, notes), default=0) + 0.8)  # width of the notes
    beside = own or _makes_room(ax, points)
    if not beside:
        low, high = ax.get_xlim()
        ax.set_xlim(low, low + (high - low) / (1.0 - _share(ax, points)))
    for place, note in enumerate(notes):
        ax.annotate(
            note.replace("-", MINUS),
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(points if beside else 0.0, 0.0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=_NOTE,
            color=Theme.of(ax)(palette.NEUTRAL),
        )


def _makes_room(ax: Axes, points: float) -> bool:
    """Make room on the right of given axes: a layout engine does it, else they get narrower."""
    spec = ax.get_subplotspec()
    if _has_layout(ax):
        return True
    if spec is None:
        return False
    share = _share(ax, points)
    ax.set_subplotspec(spec.subgridspec(1, 2, width_ratios=[1.0 - share, share], wspace=0.0)[0])
    ax.set_in_layout(True)
    return True


def room_below(ax: Axes) -> None:
    """Make room for all lines of the words below given axes: a layout does it, else they get lower.

    A figure has room for one line below its lowest axes.
    """
    spec, lines = ax.get_subplotspec(), ax.get_xlabel().count("\n")
    if not lines or spec is None or _has_layout(ax):
        return
    height = ax.get_window_extent().height / ax.figure.figure.dpi
    share = min(0.5, _LINE * lines / height)
    ax.set_subplotspec(spec.subgridspec(2, 1, height_ratios=[1.0 - share, share], hspace=0.0)[0])
    ax.set_in_layout(True)


def _has_layout(ax: Axes) -> bool:
    """Tell whether a layout engine makes room for what stands beside axes."""
    engine = ax.figure.figure.get_layout_engine()
    return engine is not None and type(engine).__name__ != "PlaceHolderLayoutEngine"


def _share(ax: Axes, points: float) -> float:
    """Return which share of the width of axes so many points are, half at most."""
    return min(0.5, points / (ax.get_window_extent().width / ax.figure.figure.dpi * 72.0))


def whiskers(ax: Axes, ends: Sequence[float], places: Sequence[float], sizes: object) -> None:
    """Draw an interval of these sizes on both sides of the ends of bars; none of size 0."""
    seen = np.asarray(sizes, dtype=np.float64)
    ax.errorbar(
        ends,
        places,
        xerr=np.where(seen > 0.0, seen, np.nan),
        fmt="none",
        ecolor=Theme.of(ax)(palette.INK),
        elinewidth=1.3,
        capsize=2.5,
        zorder=4,
    )


def draw_columns(attribution: Attribution, columns: list[int], axes: list[Axes]) -> None:
    """Draw one column in each of the axes; the first with shares has the legend.

    The first with boxes says what these are.
    """
    legend, boxes = True, BOXES
    for column, ax in zip(columns, axes, strict=True):
        drawn, title = picture(attribution, column), attribution.column_names[column]
        theme, said = framed(ax, "x"), ""
        if isinstance(drawn, Shares):
            _draw_shares(ax, drawn, theme)
            if legend:
                _legend_above(ax)
            legend = False
        elif isinstance(drawn, Points):
            _draw_points(ax, drawn, theme)
            ax.set_ylabel(literal(short(attribution.sample_names[0])))
        else:
            _draw_boxes(ax, drawn, theme)
            title = f"{attribution.sample_names[0]} by {title}"
            said, boxes = boxes, ""
        beyond = getattr(drawn, "beyond", 0.0)
        note = f" ({100.0 * beyond:.2g} % beyond, in the outer bins)" if beyond > 0.02 else ""
        label_below(ax, literal(short(title)) + note, said)
        ax.locator_params(axis="x", nbins=4)


def explain_colours(ax: Axes, *, own: bool, across: int = 3) -> None:
    """Write what the colours stand for: below a figure of our own, else where there is most room.

    Inside the axes it would hide bars that are as long as the axes are wide. There are as many
    columns as fit, and names are cut to the width that there is.
    """
    style = legend_style(ax)
    handles, labels = ax.get_legend_handles_labels()
    room = (ax.figure if own else ax).get_window_extent().width
    letters = max(_NARROW, int(room / ax.figure.figure.dpi / _SMALL) - 6)
    labels = [entry(_cut(label, letters)) for label in labels]
    if not own:
        ax.legend(handles, labels, loc="best", **style)
        return
    for columns in range(across, 0, -1):
        placed: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
        legend = ax.figure.legend(handles, labels, **placed, **style)
        if columns == 1 or legend.get_window_extent().width < 0.97 * room:
            break
        legend.remove()
    width, height = ax.figure.figure.get_size_inches()
    lines = -(-len(labels) // columns)
    ax.figure.figure.set_size_inches(width, height + _LINE * max(0, lines - 2))


def _cut(label: str, letters: int) -> str:
    """Return an entry of a legend as the name that it was, cut."""
    return short(label.replace(r"\$", "$").lstrip(), letters)


def legend_style(ax: Axes) -> dict[str, Any]:
    """Return how a legend looks: small letters on the page, without a frame."""
    return {"frameon": False, "fontsize": "small", "labelcolor": Theme.of(ax)(palette.INK)}


def _legend_above(ax: Axes) -> None:
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
    ax.legend(handlelength=1.0, ncols=3, borderaxespad=0.0, **place, **legend_style(ax))


def _draw_shares(ax: Axes, drawn: Shares, theme: Theme) -> None:
    """Draw histograms as outlines, or categories as bars side by side, in shares of the rows."""
    if drawn.edges is not None:
        for k, (name, shares) in enumerate(zip(drawn.series, drawn.shares, strict=True)):
            ax.stairs(shares, drawn.edges, fill=True, color=theme.series(k), alpha=0.15)
            ax.stairs(shares, drawn.edges, color=theme.series(k), linewidth=1.6, label=entry(name))
        ax.set_yticks([])
        ax.set_ylim(bottom=0.0)
        return
    places, height = np.arange(len(drawn.categories)), 0.8 / len(drawn.series)
    for k, (name, shares) in enumerate(zip(drawn.series, drawn.shares, strict=True)):
        at = places + (k - 0.5 * (len(drawn.series) - 1)) * height
        bars(ax, at, 100.0 * shares, height, color=theme.series(k), label=entry(name))
    _name_categories(ax, drawn.categories)
    ax.xaxis.set_major_formatter("{x:g} %")


def _draw_points(ax: Axes, drawn: Points, theme: Theme) -> None:
    size = float(np.clip(2000.0 / len(drawn.x), 3.0, 12.0))
    ax.grid(axis="y", color=theme.grid(ax))
    ax.scatter(drawn.x, drawn.y, s=size, color=theme.series(0), alpha=0.5, linewidth=0)


def _draw_boxes(ax: Axes, drawn: Boxes, theme: Theme) -> None:
    """Draw the middle half of the rows as a box, nine tenths as a line, and the median."""
    for place, (low, first, middle, third, high) in enumerate(drawn.quantiles):
        ax.hlines(place, low, high, color=theme(palette.NEUTRAL), linewidth=1.0)
        bars(ax, place, third - first, 0.55, left=first, color=theme.series(0), alpha=0.6)
        ax.vlines(middle, place - 0.275, place + 0.275, color=theme(palette.INK), linewidth=1.6)
    _name_categories(ax, drawn.categories)


def _name_categories(ax: Axes, categories: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(categories)), [literal(short(name, 20)) for name in categories])
    ax.invert_yaxis()  # the first on top


def at_least(value: object, name: str, least: int) -> None:
    """Refuse what is no integer of at least `least`."""
    if not is_index(value) or cast("int", value) < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {brief(value)}.")


def short(name: str, length: int = LETTERS) -> str:
    """Return a name that fits beside a plot: its beginning and its end, which tell names apart.

    Examples
    --------
    >>> short("the mean of measurement 16 of station 2")
    'the mean of…f station 2'
    """
    if len(name) <= length:
        return name
    head = length // 2
    return f"{name[:head].rstrip()}…{name[head + 1 - length :].lstrip()}"
