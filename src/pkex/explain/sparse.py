"""How sparse rows are explained: the part of `pkex.explain` that knows sparse tables.

A model that was fitted on sparse rows keeps its points sparse, and what it says of sparse rows is
a `SparseExplanation`. Nothing here is used by models of dense points.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.sparse import as_csr
from pkex._util.types import Floats
from pkex.games.plan import Plan
from pkex.games.sparse_points import SparseGameSums, SparsePoints
from pkex.games.stored import split_rows
from pkex.models.noise import Noise
from pkex.models.preparation import prepare_groups
from pkex.models.sums import add_base_values
from pkex.readers.reading import without_name_warning
from pkex.results.sparse import SparseExplanation
from pkex.tables.token_spans import Analyzed

if TYPE_CHECKING:
    from pkex.explain.problem import PreparedRows, Problem

__all__ = ["SparseGames", "explain_sparse_rows"]


class SparseGames:
    """The games of a problem whose model `stays_sparse`, with the noise of their sums."""

    def __init__(self, problem: Problem) -> None:
        self.expansion, tol = problem.expansion, problem.tol
        self.parts = []
        for part, rows in zip(self.expansion.parts, problem.backgrounds, strict=True):
            plan = Plan.of(
                part.kernel.terms(part.shape[1], tol),
                prepare_groups(part, problem.feature_groups),
                tol,
                measure=problem.semivalue,
                general=rows is not None,
                apart=False,
            )
            self.parts.append(SparsePoints(plan, part.sparse_points, part.alpha, rows))
            _ = self.parts[-1].bases  # now, rather than in the first call

    @lazy
    def noise(self) -> Noise:
        """What rounding may hide."""
        pairs = [(part.scenarios, part.z) for part in self.parts]
        return Noise(self.expansion, [z if s is None else s.rows for s, z in pairs])

    @lazy
    def base_value(self) -> Floats:
        """The value of the empty coalition in these games, shape () or (n_outputs,)."""
        return add_base_values(self.expansion, self.parts)

    def sum_parts(self, prepared: list[Any], n_jobs: int | None, progress: bool) -> SparseGameSums:
        """Return the sums of prepared tables, over all parts."""
        pairs = list(zip(self.parts, map(split_rows, prepared), strict=True))
        stored = [[part.owners.of(row) for row in rows] for part, rows in pairs]
        features = stored[0]
        if len(stored) > 1:  # a row may have an entry in the columns of one part alone
            features = [np.unique(np.concatenate(each)) for each in zip(*stored, strict=True)]
        options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
        return reduce(add, [part.explain(rows, features, **options) for part, rows in pairs])


def explain_sparse_rows(
    problem: Problem, prepared: PreparedRows, n_jobs: int | None, progress: bool
) -> SparseExplanation:
    """Return the explanation of sparse rows, of a problem that has games of them."""
    games, rows = problem.sparse_games, prepared.rows
    assert games is not None
    sums = games.sum_parts(prepared.parts, n_jobs, progress)
    base = games.base_value
    arrays = problem.check_and_assemble(prepared, sums, sums.check(), sums.error, base, games.noise)
    values = _as_csr(sums, len(problem.feature_groups))
    preparation = problem.expansion.preparation
    vectorizer = None if preparation is None else preparation.texts
    classes = problem.model.classes
    predict = None if classes is None else classes.predict
    predicted = None if predict is None else np.asarray(without_name_warning(predict)(rows))
    return SparseExplanation(
        problem.about,
        values=values if base.ndim else values[0],
        rest=sums.rest.reshape(-1, *base.shape),
        data=as_csr(prepared.table, "X"),
        predicted_class=predicted,
        row_index=prepared.labels,
        texts=None if vectorizer is None else tuple(rows),
        spans=None if vectorizer is None else Analyzed(vectorizer, problem.about.column_names),
        **arrays,
    )


def _as_csr(sums: SparseGameSums, n_features: int) -> tuple[Any, ...]:
    """Return the values of each output."""
    from scipy.sparse import csr_array

    shape = (len(sums.rest), n_features)
    places = sums.players, sums.starts
    return tuple(csr_array((column, *places), shape=shape) for column in sums.values.T.copy())
