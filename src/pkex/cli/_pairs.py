"""What ``--interactions`` adds to a command: a table, two files, an entry of the summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.cli._summary import InteractionFacts, PairFacts
from pkex.output.terminal import LINES, bars, cell, draw
from pkex.output.view import OUTPUTS, Column, TableView, View, more
from pkex.output.view.features import largest_pairs
from pkex.results.interactions import Interactions
from pkex.results.totals import PairTotals

__all__ = ["Pairs"]


@dataclass(frozen=True)
class Pairs:
    """Interactions, and means of all pairs: over these rows, or over all that they are from.

    An `Addition` to a command.
    """

    name: ClassVar[str] = "interactions"
    result: Interactions
    totals: PairTotals

    @lazy
    def lines(self) -> list[tuple[str, str, Floats, Floats]]:
        """The names of each pair, and for each output its mean size and its mean, largest first."""
        names, totals = self.result.feature_names, self.totals
        pairs = largest_pairs(totals.sizes.sum(axis=2))  # by the sum over outputs
        return [(names[i], names[j], totals.sizes[i, j], totals.means[i, j]) for i, j in pairs]

    def facts(self) -> InteractionFacts:
        """Return the entry of the summary: all pairs, largest first."""
        pairs = [
            PairFacts(first=first, second=second, mean_abs=size.tolist(), mean=mean.tolist())
            for first, second, size, mean in self.lines
        ]
        return InteractionFacts(index=self.result.index, pairs=pairs)

    def grid(self) -> list[Any]:
        """Return the largest pairs as a table for the terminal."""
        outputs, single = self.result.output_names or ("",), self.totals.n_rows == 1
        index, lines, tables = self.result.index, self.lines[:LINES], []
        names = [f"{first} & {second}" for first, second, *_ in lines]
        for k, output in enumerate(outputs[:OUTPUTS]):
            before = f"{output} " if len(outputs) > 1 else ""
            values = [f"{mean[k]:+.4g}" for *_, mean in lines]
            columns = [Column(f"{before}{index}", values)]
            if not single:
                cells = [f"{size[k]:.4g}" for _, _, size, _ in lines]
                columns = [Column(f"{before}mean |{index}|", cells), Column("mean", values)]
            if len(outputs) == 1:
                largest = float(self.totals.sizes.max(initial=0.0))
                shown = [float(mean[0] if single else size[0]) for _, _, size, mean in lines]
                columns.append(bars(shown, largest))
            tables.append(TableView("pair", names, columns))
        view = View(
            f"Shapley interactions of pairs of features ({index})",
            tables=tables,
            more=more(len(self.lines) - LINES, "pair"),
        )
        return [cell(""), *draw(view, len(outputs))]

    def frame(self) -> Any:
        """Return a line for each pair and output, the largest pairs first."""
        import pandas

        lines = []
        for first, second, size, mean in self.lines:
            for k, output in enumerate(self.result.output_names or ("",)):
                line = {"first": first, "second": second}
                line |= {"output": output} if self.result.output_names else {}
                lines.append(line | {"mean_abs": size[k], "mean": mean[k]})
        return pandas.DataFrame(lines)
