"""`Interactions` as text, as a table in a notebook, as a data frame, and for shapiq."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import optional
from pkex._util.validation import brief, is_index
from pkex._util.words import counted
from pkex.output.html import cell, line, name_cell, page, small

if TYPE_CHECKING:
    from pkex.results.interactions import Interaction, Interactions

__all__ = ["frame", "headline", "html", "notes", "text", "to_shapiq"]

_LINES = 8  # of text
_ROWS = 20  # of a table
_SIZE = "mean |value|"


def headline(found: Interactions) -> str:
    """Return what they are, their size and how exact they are, in one line."""
    parts = [found.index + (f" of order {found.max_order}" if found.subsets is None else "")]
    if found.whole == "prediction":
        parts.append(counted(len(found), "row"))
    else:
        parts.append(f"{found.whole} = {float(found.predictions[0]):.4g}")
    parts.append(counted(len(found.feature_names), "player"))
    if found.subsets is not None:
        parts.append(counted(len(found.subsets), "chosen subset"))
    if len(found.outputs) > 1:
        parts.append(counted(len(found.outputs), "output"))
    parts.append(f"{found.removal} removal")
    if found.error is not None:
        parts.append(f"error <= {found.error.max(initial=0.0):.2g}")
    if not np.isnan(found.residual):
        parts.append(f"residual {found.residual:.1e}")
    return f"Interactions({', '.join(parts)})"


def notes(found: Interactions) -> list[str]:
    """Return what an absent feature is, and whether values add up."""
    noun = "features" if found.whole == "prediction" else "columns"
    said = [] if found.absent is None else [f"absent {noun}: {found.absent}"]
    if not found.efficient:
        whole = "prediction" if found.whole == "prediction" else "statistic"
        said.append(f"{found.index} values do not add up to the {whole}")
    if len(found.outputs) > 1:
        said.append(f"{_SIZE}: summed over {counted(len(found.outputs), 'output')}")
    return said


def text(found: Interactions) -> str:
    """Return the headline and the largest interactions."""
    lines = [headline(found), *(f"  {note}" for note in notes(found))]
    top, titles = found.top(_LINES), _titles(found)
    width = max((len(_joined(entry)) for entry in top), default=0)
    rows = [("", titles), *((_joined(entry), _numbers(entry, titles)) for entry in top)]
    for name, cells in rows if top else []:
        lines.append("  " + f"{name:<{width}}" + "".join(f"  {one:>12}" for one in cells))
    return "\n".join(lines)


def _numbers(entry: Interaction, titles: list[str]) -> list[str]:
    return [f"{entry.size:.4g}" if title == _SIZE else f"{entry.mean:+.4g}" for title in titles]


def html(found: Interactions) -> str:
    """Return a table of the largest interactions, tinted by their size."""
    top = found.top(_ROWS)
    scale = max((abs(entry.size) for entry in top), default=0.0) or 1.0
    titles = _titles(found)
    lines = []
    for entry in top:
        strength = entry.size / scale
        signed = float(np.copysign(strength, entry.mean))
        cells = [
            cell(number, strength=strength if title == _SIZE else signed)
            for title, number in zip(titles, _numbers(entry, titles), strict=True)
        ]
        lines.append("".join([name_cell(_joined(entry)), *cells]))
    total = sum(values.shape[1] for size, _, values in found.by_order() if size > 1)
    more = total - len(top)
    below = line(f"and {more} more; see top() and to_frame()" if more > 0 else "")
    return page(headline(found), small(notes(found)), ["players", *titles], lines, below)


def _titles(found: Interactions) -> list[str]:
    """Return the titles of the numbers: of a single row the mean is the value.

    A mean over several outputs would say nothing: for classes it is often 0.
    """
    if len(found.outputs) > 1:
        return [_SIZE]
    return ["value"] if len(found) == 1 else [_SIZE, "mean"]


def _joined(entry: Interaction) -> str:
    return " & ".join(entry.players)


def frame(found: Interactions, output: str | int | None, totals: bool) -> Any:
    """See `Interactions.to_frame`."""
    pandas = optional("pandas", "pandas")
    names, blocks = [], []
    for _, subset, values in found.by_order():
        names += [found.name_of(subset(place)) for place in range(values.shape[1])]
        blocks.append(values)
    ends = ("base_value", "prediction") if totals else ()
    clash = set(names).intersection(ends)
    if clash:
        raise ValueError(
            f"a feature is named {clash.pop()!r}, as a column that to_frame adds; use "
            "to_frame(totals=False)."
        )
    table = np.concatenate(blocks, axis=1)
    if totals:
        shape = (len(found), 1, table.shape[2])
        both = [found.base_values.reshape(shape), found.predictions.reshape(shape)]
        table = np.concatenate([table, *both], axis=1)
    columns: Any = [*names, *ends]
    index = found.row_labels
    if found.whole != "prediction":
        index = [found.whole]
    if output is not None or table.shape[2] == 1:
        number = found.output_number(output, "to_frame")
        return pandas.DataFrame(table[:, :, number], columns=columns, index=index)
    columns = pandas.MultiIndex.from_product([found.outputs, columns], names=["output", "players"])
    flat = np.moveaxis(table, 2, 1).reshape(len(found), -1)
    return pandas.DataFrame(flat, columns=columns, index=index)


def to_shapiq(found: Interactions, row: int, output: str | int | None) -> Any:
    """See `Interactions.to_shapiq`."""
    shapiq = optional("shapiq", "pkex[shapiq]")
    if not is_index(row) or not -len(found) <= row < len(found):
        raise IndexError(
            f"to_shapiq takes the number of one of {counted(len(found), 'row')}, got {brief(row)}."
        )
    number = found.output_number(output, "to_shapiq")
    base = float(found.base_values.reshape(len(found), -1)[row, number])
    values: dict[tuple[int, ...], float] = {(): base}
    for _, subset, table in found.by_order():
        each = enumerate(table[row, :, number].tolist())
        values |= {subset(place): value for place, value in each}
    return shapiq.InteractionValues(
        values=values,
        index=found.index,
        min_order=0,
        max_order=max(map(len, values)),
        n_players=len(found.feature_names),
        estimated=False,
        baseline_value=base,
    )
