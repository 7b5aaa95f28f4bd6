"""Interactions of a table that is explained in parts: means by running sums, and a sample.

The values of all pairs of all rows are rows x players x players numbers, which nobody reads. What
is said of them are means over the rows; they are added up from slices of a part that take little
memory. Pictures have the interactions of a sample of the rows, fewer where there are many players.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import pkex
from pkex._util.files import write_whole
from pkex.games.sums import sort_rules
from pkex.output.files.archive import write_arrays
from pkex.results.totals import PairTotals

if TYPE_CHECKING:
    from pkex.cli._explain import Work
    from pkex.results.interactions import Interactions
    from pkex.tables.files import FileTable

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
        work: Work,
        table: FileTable,
        explanation: pkex.Explanation,
        drawn: NDArray[np.intp],
    ) -> PartPairs:
        """Return those of the rows of a table; `drawn` are numbers of rows for pictures."""
        cells = _cells(explanation)
        step, totals = max(1, _CELLS // cells), None
        places = _places(table, drawn, max(1, _SAMPLE // cells))

        def of_rows(some: Any) -> Interactions:
            rows = replace(table, frame=table.frame.iloc[some])
            found = work.interactions(rows, explanation[some])
            assert found is not None  # they were asked for
            return found

        for start in range(0, len(explanation), step):
            found = PairTotals.of(of_rows(slice(start, start + step)))
            totals = found if totals is None else totals.plus(found)
        assert totals is not None  # there are rows
        return cls(totals, of_rows(places if places.size else [0]), bool(places.size))

    def save(self, path: Path, sample: Path) -> None:
        """Write the sums and the sample."""
        self.sample.save(sample)
        totals = self.totals
        arrays: dict[str, Any] = {
            "rows": np.array(totals.n_rows),
            "sizes": totals.sizes,
            "means": totals.means,
            "error": np.array(np.nan if totals.error is None else totals.error),
            "drawn": np.array(self.drawn),
        }
        write_whole(path, lambda file: write_arrays(file, arrays), path.name)

    @classmethod
    def load(cls, path: Path, sample: Path) -> PartPairs:
        """Return what `save` wrote."""
        with np.load(path) as file:
            error = float(file["error"])
            totals = PairTotals(
                int(file["rows"]),
                file["sizes"],
                file["means"],
                None if np.isnan(error) else error,
            )
            return cls(totals, pkex.Interactions.load(sample), bool(file["drawn"]))

    @classmethod
    def joined(cls, parts: Iterable[PartPairs]) -> PartPairs:
        """Return those of all parts."""
        totals, spare, samples = None, None, []
        for part in parts:
            totals = part.totals if totals is None else totals.plus(part.totals)
            spare = spare or part.sample
            samples += [part.sample] if part.drawn else []
        assert totals is not None  # there are parts
        assert spare is not None
        return cls(totals, _concat(samples) if samples else spare, bool(samples))


def _places(table: FileTable, drawn: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return where in the table rows stand that were drawn, of all parts at most so many."""
    if len(drawn) > most:
        drawn = np.random.default_rng(0).choice(drawn, most, replace=False)
    return np.flatnonzero(np.isin(table.frame.index.to_numpy(), drawn))


def _cells(explanation: pkex.Explanation) -> int:
    """Return how many values the pairs of a row have."""
    _, n_players, *outputs = explanation.values.shape
    return int(n_players**2 * np.prod(outputs, initial=1, dtype=int))


def _concat(parts: list[Interactions]) -> Interactions:
    """Return interactions of the rows of all."""
    first = parts[0]
    if len(parts) == 1:
        return first
    arrays: dict[str, Any] = {}
    for name in ("main", "pairs", "base_values", "predictions", "error", "data"):
        found = [getattr(part, name) for part in parts]
        arrays[name] = None if found[0] is None else np.concatenate(found)
    return replace(
        first,
        **arrays,
        residual=float(np.max([part.residual for part in parts])),
        rules=sort_rules({rule for part in parts for rule in part.rules}),
        row_labels=first.row_labels.append([part.row_labels for part in parts[1:]]),
    )
