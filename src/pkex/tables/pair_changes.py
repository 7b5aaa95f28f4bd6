"""How the dependence of two columns differs between two tables: a correlation, from and to.

Numbers have Spearman's rank correlation, categories Cramer's V, and a number and a category the
correlation ratio of the ranks, as in `pkex.tables.dependence`. Rows where one of the two cells is
missing are left out. Differences are compared after Fisher's transformation.

As sentences about columns, these describe what a test has detected; they are not tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.cells import is_missing
from pkex._util.types import Cells
from pkex.tables.dependence import codes_of, cramers_v, unit_ranks

__all__ = ["PairChange", "largest_pair_change"]


_SPEARMAN, _CRAMER, _RATIO = "correlation", "Cramér's V", "correlation ratio"
_CLOSEST = 0.9999  # to 1, where Fisher's transformation ends
_VARIANCE = 1.06  # of the transformed rank correlation, times n - 3 (Fieller et al., 1957)
_FEWEST = 10  # rows


@dataclass(frozen=True)
class PairChange:
    """How the dependence of two columns differs between two tables.

    Attributes
    ----------
    columns : tuple of two str
        The columns.
    measure : str
        "correlation" (Spearman's), "Cramér's V" or "correlation ratio".
    reference, current : float
        It, in each of the tables.
    """

    columns: tuple[str, ...]
    measure: str
    reference: float
    current: float

    kind = "pair"

    @property
    def headline(self) -> str:
        """The change in a few words, after the name of the first column."""
        return f"{self.measure} with {self.columns[1]} {self.reference:.2f} to {self.current:.2f}"

    @property
    def sentence(self) -> str:
        """The change in a sentence."""
        numbers = f"from {self.reference:.2f} to {self.current:.2f}"
        return f"{self.columns[0]} and {self.columns[1]}: {self.measure} {numbers}."

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain data, for JSON."""
        return {
            "columns": list(self.columns),
            "kind": self.kind,
            "headline": self.headline,
            "sentence": self.sentence,
            "reference": {"measure": self.measure, "value": self.reference},
            "current": {"measure": self.measure, "value": self.current},
        }


def largest_pair_change(
    column: int,
    others: Sequence[int],
    before: Cells,
    after: Cells,
    names: Sequence[str],
    categorical: Sequence[bool],
) -> PairChange | None:
    """Return the clearest change of the dependence of a column on one of some others.

    None where no difference is significant at 1 % after Bonferroni's adjustment for the others.

    Examples
    --------
    >>> import numpy as np
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 200))
    >>> before, after = np.column_stack([x, x + noise]), np.column_stack([x, noise])
    >>> print(largest_pair_change(0, [1], before, after, ["a", "b"], [False] * 2).sentence)
    a and b: correlation from 0.67 to -0.11.
    """
    from scipy.special import ndtri

    best: tuple[float, PairChange] | None = None
    for other in others:
        pair = [column, other]
        kinds = categorical[column], categorical[other]
        strengths, spread = [], 0.0
        for table in (before, after):
            cells = _complete(table[:, pair])
            if len(cells) < _FEWEST:
                break
            strengths.append(_strength(cells, kinds))
            spread += _VARIANCE / (len(cells) - 3.0)
        if len(strengths) < 2:
            continue
        first, second = (math.atanh(max(-_CLOSEST, min(_CLOSEST, r))) for r in strengths)
        size = abs(second - first) / math.sqrt(spread)
        if best is None or size > best[0]:
            measure = (_SPEARMAN, _RATIO, _CRAMER)[sum(kinds)]
            best = size, PairChange((names[column], names[other]), measure, *strengths)
    clear = -float(ndtri(0.005 / max(1, len(others))))
    return best[1] if best is not None and best[0] >= clear else None


def _complete(cells: Cells) -> Cells:
    """Return the rows without missing cells."""
    known = [not (is_missing(a) or is_missing(b)) for a, b in cells.tolist()]
    complete: Cells = cells[np.array(known, dtype=bool)]
    return complete


def _strength(cells: Cells, categorical: tuple[bool, bool]) -> float:
    """Return how much two complete columns depend on each other; 0 where one is constant."""
    codes = [
        codes_of(column)[0] for column, is_one in zip(cells.T, categorical, strict=True) if is_one
    ]
    numbers = [column for column, is_one in zip(cells.T, categorical, strict=True) if not is_one]
    ranks = [unit_ranks(column.astype(np.float64)) for column in numbers]
    if len(codes) == 2:
        return cramers_v(*codes)[0]
    if len(ranks) == 2:
        return float(ranks[0] @ ranks[1])
    sums = np.bincount(codes[0], weights=ranks[0])
    return float(np.sqrt((sums * sums / np.bincount(codes[0])).sum()))
