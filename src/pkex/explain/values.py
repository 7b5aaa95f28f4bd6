"""From a problem to the `Explanation` of some rows: prepare, sum, check, assemble.

The sums are made in `pkex.games.points`, those of sparse rows in `pkex.games.sparse_points`.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any

from pkex._util.floats import default_errstate
from pkex.explain.problem import PreparedRows, Problem
from pkex.explain.unsupported import refuse_hierarchy
from pkex.games.sums import GameSums
from pkex.readers.reading import without_name_warning
from pkex.results.explanation import Explanation

__all__ = ["explain_rows", "predict_later"]


@default_errstate
def explain_rows(
    problem: Problem,
    X: Any,
    *,
    return_std: bool = False,
    return_cov: bool = False,
    n_jobs: int | None,
    progress: bool = False,
) -> Any:
    """Return the explanation of `Explainer.__call__`."""
    uncertain = return_std or return_cov
    if uncertain:
        from pkex.explain.posterior import check_posteriors, spread_of_values

        asked = "return_std" if return_std else "return_cov"
        check_posteriors(problem, asked)
        refuse_hierarchy(problem, asked)
    prepared = problem.prepare(X, sparse=not uncertain)
    if prepared.sparse:
        from pkex.explain.sparse import explain_sparse_rows

        return explain_sparse_rows(problem, prepared, n_jobs, progress)
    pairs = list(zip(problem.games, prepared.parts, strict=True))
    by_part = [games.explain(x, n_jobs=n_jobs, progress=progress) for games, x in pairs]
    sums: GameSums = reduce(add, by_part)
    residual = sums.check()  # before what an overflow would make of errors
    error = reduce(add, [games.error(s, x) for (games, x), s in zip(pairs, by_part, strict=True)])
    base = problem.base_value
    arrays = problem.check_and_assemble(prepared, sums, residual, error, base, problem.noise)
    if uncertain:
        arrays |= spread_of_values(
            problem, prepared, full=return_cov, n_jobs=n_jobs, progress=progress
        )
    return Explanation(
        problem.about_rows(prepared.rows),
        values=sums.values if base.ndim else sums.values[:, :, 0],
        data=prepared.data,
        predicted_class=predict_later(problem, prepared),
        row_index=prepared.labels,
        **arrays,
    )


def predict_later(problem: Problem, prepared: PreparedRows) -> Any:
    """Return a function that asks a classifier for the classes of the rows."""
    classes, rows = problem.model.classes, prepared.rows
    if classes is None or classes.predict is None:
        return None
    if not prepared.transformed:
        rows = prepared.parts[0]  # a copy, which nobody changes
    elif hasattr(rows, "copy"):  # what has none cannot be changed
        rows = rows.copy()
    return partial(default_errstate(without_name_warning(classes.predict)), rows)
