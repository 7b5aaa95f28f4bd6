"""Interactions of a table that is explained in parts: means by running sums, and a sample.

The values of all pairs of all rows are rows x features x features numbers, which nobody reads. What
is said of them are means over the rows; they are added up from slices of a part that take little
memory. Plots have the interactions of a sample of the rows, fewer where there are many features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import pkex
from pkex._util.files import write_atomically
from pkex.output.files.archive import write_arrays
from pkex.results.totals import PairTotals

if TYPE_CHECKING:
    from pkex.cli._table_explainer import TableExplainer
    from pkex.results.interactions import Interactions
    from pkex.tables.files import FileTable
    from pkex.tables.parts import Parts

__all__ = ["PartPairs"]

_CELLS = 2**20  # values of pairs at once: 8 MiB
_SAMPLE = 2**23  # values of pairs in a sample: 64 MiB


@dataclass(frozen=True, eq=False)
class PartPairs:
    """The interactions of a part, or of several.

    Attributes
    ----------
    totals : PairTotals
    sample : Interactions
        Of the rows that were drawn; of one row where none was.
    drawn : bool
        Whether it was drawn.
    """

    totals: PairTotals
    sample: Interactions
    drawn: bool

    @classmethod
    def of(
        cls,
        explainer: TableExplainer,
        table: FileTable,
        explanation: pkex.Explanation,
        drawn: NDArray[np.intp],
    ) -> PartPairs:
        """Return those of the rows of a table; `drawn` are numbers of rows for plots."""
        _, n_features, *outputs = explanation.values.shape
        cells = n_features**2 * math.prod(outputs)  # of a row
        most, step = max(1, _SAMPLE // cells), max(1, _CELLS // cells)
        if len(drawn) > most:  # of all parts
            drawn = np.random.default_rng(0).choice(drawn, most, replace=False)
        places = np.flatnonzero(np.isin(table.frame.index.to_numpy(), drawn))

        def of_rows(rows: Any) -> Interactions:
            some = replace(table, frame=table.frame.iloc[rows])
            return explainer.interactions(some, explanation[rows])

        slices = [slice(start, start + step) for start in range(0, len(explanation), step)]
        totals = reduce(PairTotals.plus, (PairTotals.of(of_rows(rows)) for rows in slices))
        return cls(totals, of_rows(places if places.size else [0]), bool(places.size))

    def files(self) -> dict[str, Callable[[Path], object]]:
        """Return what writes the sums and the sample, by the endings of their names."""
        return {"pairs.npz": self._save_totals, "sample.npz": self.sample.save}

    def _save_totals(self, path: Path) -> None:
        facts = vars(self.totals) | {"drawn": self.drawn}
        arrays = {name: np.asarray(value) for name, value in facts.items()}
        write_atomically(path, lambda file: write_arrays(file, arrays), path.name)

    @classmethod
    def load(cls, parts: Parts, number: int) -> PartPairs:
        """Return what `files` wrote of a part."""
        with np.load(parts.path(number, "pairs.npz")) as file:
            n_rows, error = int(file["n_rows"]), float(file["error"])
            totals = PairTotals(n_rows, file["sizes"], file["means"], error)
            sample = pkex.Interactions.load(parts.path(number, "sample.npz"))
            return cls(totals, sample, bool(file["drawn"]))

    @classmethod
    def join(cls, parts: Iterator[PartPairs]) -> PartPairs:
        """Return those of all parts, of which one after the other is read."""
        first = next(parts)
        totals, samples = first.totals, [first.sample] if first.drawn else []
        for part in parts:
            totals = totals.plus(part.totals)
            samples += [part.sample] if part.drawn else []
        sample = pkex.Interactions.concat(samples or [first.sample])
        return cls(totals, sample, bool(samples))
