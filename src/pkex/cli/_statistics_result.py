"""What ``pkex drift`` and ``pkex depend`` say of a statistic: facts, values, a table."""

from __future__ import annotations

from typing import Any, cast

import pkex
from pkex._util.words import counted
from pkex.cli._grid import SHOWN, bar, cell, grid
from pkex.cli._summary import ShareFacts
from pkex.output.text import aligned

__all__ = ["shares", "shares_grid", "values_frame"]


def shares(result: pkex.Attribution) -> list[ShareFacts]:
    """Return what the summary says about each feature, of what the result knows about it."""
    frame = result.to_frame()
    columns = {
        name: [result.column_names[j] for j in player]
        for name, player in zip(result.feature_names, result.players, strict=True)
    }
    shares = []
    for name, line in zip(frame.index, frame.to_dict("records"), strict=True):
        known = {"name": name, "columns": columns[name]} | line
        share = {key: known[key] for key in ShareFacts.__annotations__ if key in known}
        shares.append(cast(ShareFacts, share))
    return shares


def values_frame(result: pkex.Attribution) -> Any:
    return result.to_frame().rename_axis("feature").reset_index()


def shares_grid(result: pkex.Attribution, count: int) -> list[Any]:
    """Return the verdict, a table of the largest shares, and what to know before reading them."""
    frame = result.to_frame()
    largest = float(frame["value"].abs().max())
    tested = "p_value" in frame
    heads = [
        "feature",
        "share",
        "",
        *(["p"] if tested else []),
        "alone",
        *(["p"] if tested else []),
    ]
    lines = []
    shown = frame[: min(count, SHOWN)]
    texts = zip(aligned(shown["value"]), aligned(shown["alone"]), strict=True)
    for (share, alone), (name, line) in zip(texts, shown.iterrows(), strict=True):
        cells = [name, share, bar(line["value"], largest)]
        if tested:
            cells += [f"{line['p_holm']:.3g}", alone, f"{line['p_alone_holm']:.3g}"]
        else:
            cells.append(alone)
        lines.append(cells)
    title, *said = result.sentences(result.alpha)
    found = grid(title, heads, lines, len(frame), said)
    how = f"p-values by {result.n_permutations} permutations"
    if len(frame) > 1:
        how += f", those of features adjusted by Holm for {counted(len(frame), 'feature')}"
    for text in [
        result.absent,
        *([how] if tested else []),
        *result.remarks(),
    ]:
        found.append(cell(text, "dim"))
    return found
