"""What ``--interactions`` adds to a command: a table, two files, an entry of the summary.

What is said of all rows comes from their totals: the interactions may be those of a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pkex.cli._summary import InteractionFacts, PairFacts
from pkex.output.terminal import LINES, bars, cell, draw
from pkex.output.view import OUTPUTS, Column, TableView, View, more
from pkex.results.explanation import Explanation
from pkex.results.interactions import Interactions
from pkex.results.totals import PairTotals

__all__ = ["facts", "like", "shown", "writer"]


def like(found: Interactions, explanation: Explanation, output: int | None) -> Interactions:
    """Return interactions with the names of an explanation and, if one is chosen, of one output."""
    named = replace(
        found.with_names(explanation.feature_names, explanation.column_names),
        row_labels=explanation.row_labels,
    )
    return named if output is None else named.select_output(output, "--output")


def facts(found: Interactions, totals: PairTotals) -> InteractionFacts:
    """Return what the summary says: all pairs, the largest first."""
    sizes, means = totals.sizes, totals.means
    return InteractionFacts(
        index=found.index,
        pairs=[
            PairFacts(
                first=found.feature_names[i],
                second=found.feature_names[j],
                size=sizes[i, j].tolist(),
                mean=means[i, j].tolist(),
            )
            for i, j in _order(sizes)
        ],
    )


def shown(found: Interactions, totals: PairTotals) -> list[Any]:
    """Return the largest pairs as a table for the terminal."""
    names, single = found.outputs or ("",), totals.n_rows == 1
    outputs, order = names[:OUTPUTS], _order(totals.sizes)
    first, second = np.array(order[:LINES], dtype=np.intp).reshape(-1, 2).T
    sizes, means = totals.sizes[first, second], totals.means[first, second]
    pairs = [f"{found.feature_names[i]} & {found.feature_names[j]}" for i, j in order[:LINES]]
    tables = []
    for k, name in enumerate(outputs):
        before = f"{name} " if len(outputs) > 1 else ""
        values = [f"{mean:+.4g}" for mean in means[:, k]]
        columns = [Column(f"{before}value", values)]
        if not single:
            cells = [f"{size:.4g}" for size in sizes[:, k]]
            columns = [Column(f"{before}mean |value|", cells), Column("mean", values)]
        if len(outputs) == 1:
            largest = float(totals.sizes.max(initial=0.0))
            columns.append(bars((means if single else sizes)[:, 0], largest))
        tables.append(TableView("pair", pairs, columns))
    view = View(
        f"which features act together ({found.index} of pairs)",
        tables=tables,
        more=more(len(order) - LINES, "pair"),
    )
    return [cell(""), *draw(view, len(names))]


def writer(
    found: Interactions, totals: PairTotals, table_format: str
) -> Callable[[Path], Sequence[str]]:
    """Return what writes the means of all pairs as a table, and everything for `load`."""

    def write(folder: Path) -> Sequence[str]:
        frame, name = _frame(found, totals), f"interactions.{table_format}"
        if table_format == "parquet":
            frame.to_parquet(folder / name, index=False)
        else:
            frame.to_csv(folder / name, index=False)
        found.save(folder / "interactions.npz")
        return [name, "interactions.npz"]

    return write


def _frame(found: Interactions, totals: PairTotals) -> Any:
    """Return a line for each pair and output, the largest pairs first."""
    import pandas

    sizes, means = totals.sizes, totals.means
    lines = []
    for i, j in _order(sizes):
        for k, output in enumerate(found.outputs or ("",)):
            line = {"first": found.feature_names[i], "second": found.feature_names[j]}
            line |= {"output": output} if found.outputs else {}
            lines.append(line | {"mean_abs": sizes[i, j, k], "mean": means[i, j, k]})
    return pandas.DataFrame(lines)


def _order(sizes: Any) -> list[tuple[int, int]]:
    """Return all pairs, the largest first; by the sum over outputs."""
    first, second = np.triu_indices(len(sizes), 1)
    order = np.argsort(-sizes[first, second].sum(axis=1), kind="stable")
    return [(int(first[place]), int(second[place])) for place in order]
