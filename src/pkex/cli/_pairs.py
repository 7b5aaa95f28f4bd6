"""What ``--interactions`` adds to a command: a table, two files, an entry of the summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pkex._util.lazy import lazy
from pkex.cli._summary import InteractionFacts, PairFacts
from pkex.output.terminal import LINES, bars, cell, draw
from pkex.output.view import OUTPUTS, Column, TableView, View, more
from pkex.output.view.features import largest_pairs
from pkex.results.interactions import Interactions
from pkex.results.totals import PairTotals

__all__ = ["Pairs"]


class Pairs:
    """Interactions, and means of all pairs: over these rows, or over all that they are from."""

    def __init__(self, interactions: Interactions, totals: PairTotals) -> None:
        self.interactions, self.totals = interactions, totals

    @lazy
    def order(self) -> tuple[Any, Any]:
        """The two features of each pair, the largest pair first; by the sum over outputs."""
        pairs = largest_pairs(self.totals.sizes.sum(axis=2))
        first, second = np.reshape(pairs, (-1, 2)).astype(np.intp).T
        return first, second

    @property
    def names(self) -> list[tuple[str, str]]:
        """The names of the two features of each pair."""
        names = self.interactions.feature_names
        return [(names[i], names[j]) for i, j in zip(*self.order, strict=True)]

    def __iter__(self) -> Iterator[tuple[tuple[str, str], Any, Any]]:
        """Yield the names of each pair, and for each output its mean size and its mean."""
        sizes, means = self.totals.sizes[self.order], self.totals.means[self.order]
        return zip(self.names, sizes, means, strict=True)

    def facts(self) -> InteractionFacts:
        """Return the entry of the summary: all pairs, largest first."""
        pairs = [
            PairFacts(first=first, second=second, mean_abs=size.tolist(), mean=mean.tolist())
            for (first, second), size, mean in self
        ]
        return InteractionFacts(index=self.interactions.index, pairs=pairs)

    def grid(self) -> list[Any]:
        """Return the largest pairs as a table for the terminal."""
        outputs, single = self.interactions.output_names or ("",), self.totals.n_rows == 1
        index = self.interactions.index
        names = [" & ".join(pair) for pair in self.names[:LINES]]
        sizes = self.totals.sizes[self.order][:LINES]
        means = self.totals.means[self.order][:LINES]
        tables = []
        for k, output in enumerate(outputs[:OUTPUTS]):
            before = f"{output} " if len(outputs) > 1 else ""
            values = [f"{mean:+.4g}" for mean in means[:, k]]
            columns = [Column(f"{before}{index}", values)]
            if not single:
                cells = [f"{size:.4g}" for size in sizes[:, k]]
                columns = [Column(f"{before}mean |{index}|", cells), Column("mean", values)]
            if len(outputs) == 1:
                largest = float(self.totals.sizes.max(initial=0.0))
                columns.append(bars((means if single else sizes)[:, 0], largest))
            tables.append(TableView("pair", names, columns))
        view = View(
            f"Shapley interactions of pairs of features ({index})",
            tables=tables,
            more=more(len(self.names) - LINES, "pair"),
        )
        return [cell(""), *draw(view, len(outputs))]

    def frame(self) -> Any:
        """Return a line for each pair and output, the largest pairs first."""
        import pandas

        lines = []
        for (first, second), size, mean in self:
            for k, output in enumerate(self.interactions.output_names or ("",)):
                line = {"first": first, "second": second}
                line |= {"output": output} if self.interactions.output_names else {}
                lines.append(line | {"mean_abs": size[k], "mean": mean[k]})
        return pandas.DataFrame(lines)
