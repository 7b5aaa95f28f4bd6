"""What ``pkex drift`` and ``pkex depend`` say of a statistic: facts, values, a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pkex
from pkex._util.words import counted
from pkex.cli._summary import ShareFacts
from pkex.output.terminal import LINES, bars, draw
from pkex.output.text import aligned
from pkex.output.view import View, more
from pkex.output.view import attribution as view

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
    """Return the verdict, the largest shares, and what to know before reading them."""
    n_features, count = len(result.values), min(count, LINES)
    table = view.shares(result, count, aligned, ".3g", True)
    share, *others = table.columns
    drawn = bars(result.values[result.order[:count]], abs(result.values).max())
    how = f"p-values by {result.n_permutations} permutations"
    if n_features > 1:
        how += f", those of features adjusted by Holm for {counted(n_features, 'feature')}"
    title, *said = result.sentences(result.alpha)
    shown = View(
        title,
        said,
        tables=[replace(table, columns=[share, drawn, *others])],
        more=more(n_features - count, "feature"),
        remarks=[result.absent, *[how][: result.p_values is not None], *result.remarks()],
    )
    return draw(shown)
