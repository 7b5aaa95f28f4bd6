"""Two tables that `change` compares: checks, a background of both, and rows the model knows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pkex._util.sparse import is_sparse
from pkex._util.types import Floats
from pkex._util.validation import (
    as_floats,
    brief,
    check_count,
    check_number,
    column_names,
    refuse_dask,
)
from pkex._util.words import pluralise
from pkex.errors import UnsupportedModelError
from pkex.explain.explainer import Explainer
from pkex.explain.loss import check_loss
from pkex.explain.problem import Problem

__all__ = [
    "check_explainer",
    "check_rows",
    "check_table",
    "check_tables",
    "check_targets",
    "check_test",
    "pool_rows",
]

BACKGROUND_ROWS = 100  # of both tables, where none are given
_CHANCE = 3.0  # standard deviations that the rows of a table among others may differ by


def check_table(X: Any, name: str) -> int:
    """Return the number of rows, or raise for what is not a table of at least two rows."""
    refuse_dask(X, name)
    if is_sparse(X):
        raise TypeError(f"{name} is sparse; pass a dense table, e.g. {name}.toarray().")
    shape = getattr(X, "shape", None) or np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"{name} must be two-dimensional (rows, columns), got shape {shape}.")
    if shape[0] < 2:
        raise ValueError(
            f"{name} has {pluralise(shape[0], 'row')}; two tables of at least 2 rows are compared. "
            "To explain a single row, call the explainer."
        )
    return int(shape[0])


def check_tables(model: Any, tables: Sequence[Any]) -> None:
    """Raise where a table has other columns than the model, or numbers that are not finite."""
    problem = Explainer(model).problem
    for X, name in zip(tables, ("before", "after"), strict=True):
        problem.prepare(X, name=name)


def check_test(n_permutations: Any, alpha: Any) -> tuple[int, float]:
    """Return the number of permutations and the significance level, or raise."""
    count = check_count(n_permutations, "n_permutations", 0)
    level = check_number(alpha, "alpha")
    if not 0.0 < level < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    return count, level


def check_targets(targets: Sequence[Any], counts: Sequence[int]) -> list[Floats]:
    """Return the targets of both tables, or none."""
    if all(y is None for y in targets):
        return []
    checked = []
    for y, count, name in zip(targets, counts, ("before", "after"), strict=True):
        if y is None:
            raise ValueError(f"y_{name} is missing: pass the targets of both tables, or of none.")
        numbers = as_floats(y, f"y_{name}")
        if numbers.shape != (count,):
            raise ValueError(
                f"y_{name} must be {count} numbers, one for each row of {name}; got shape "
                f"{numbers.shape}."
            )
        checked.append(numbers)
    return checked


def check_explainer(explainer: Explainer, tables: Sequence[Any], *, has_targets: bool) -> None:
    """Refuse values that do not add up, and columns that are not the same in both tables."""
    if has_targets:
        check_loss(explainer.problem, "change with y_before and y_after")
        if explainer.expansion.n_outputs > 1:
            raise UnsupportedModelError(
                "change compares the errors of a model with one output, and this one has "
                f"{explainer.expansion.n_outputs}: leave y_before and y_after out."
            )
    if not explainer.semivalue.efficient:
        raise ValueError(
            f"values of the index {explainer.index} do not add up to predictions, so they do not "
            'explain a difference of predictions; use an explainer with index="SV".'
        )
    first, second = (column_names(X) for X in tables)
    known = explainer.expansion.feature_names
    if first is not None and second is not None and first != second and not {*known} <= {*first}:
        raise ValueError(
            f"the columns of before are {brief(list(first))}, those of after {brief(list(second))},"
            " and the model has no names to find them by: pass both in the order of the model."
        )


def pool_rows(
    before: Any, after: Any, counts: Sequence[int], generator: np.random.Generator
) -> Any:
    """Return the rows of both tables, or as many at random as serve as background.

    The choice does not look at the labels, so permuting these stays exact.
    """
    total = sum(counts)
    chosen = np.arange(total)
    if total > BACKGROUND_ROWS:
        chosen = np.sort(generator.choice(total, BACKGROUND_ROWS, replace=False))
    places = (chosen[chosen < counts[0]], chosen[chosen >= counts[0]] - counts[0])
    names = [column_names(X) for X in (before, after)]
    if None not in names:
        shared = [name for name in names[0] or () if name in (names[1] or ())]
        frames = [nw.from_native(X, eager_only=True) for X in (before, after)]
        parts = [frame.select(shared)[rows] for frame, rows in zip(frames, places, strict=True)]
        return _concat(parts).to_native()
    arrays = [np.asarray(X) for X in (before, after)]
    if arrays[0].shape[1] != arrays[1].shape[1]:
        raise ValueError(
            f"before has {pluralise(arrays[0].shape[1], 'column')}, after {arrays[1].shape[1]}: "
            "pass tables with the same columns."
        )
    return np.concatenate([array[rows] for array, rows in zip(arrays, places, strict=True)])


def _concat(parts: Sequence[nw.DataFrame[Any]]) -> nw.DataFrame[Any]:
    """Return two frames one below the other; numbers of two types become floats."""
    kinds = [part.implementation for part in parts]
    if kinds[0] is not kinds[1]:
        raise TypeError(
            f"before is a data frame of {kinds[0].value}, after one of {kinds[1].value}: pass two "
            "of one library."
        )
    schemas = [part.schema for part in parts]
    mixed = [
        nw.col(name).cast(nw.Float64())
        for name, kind in schemas[0].items()
        if kind != schemas[1][name] and kind.is_numeric() and schemas[1][name].is_numeric()
    ]
    return nw.concat([part.with_columns(mixed) if mixed else part for part in parts])


def check_rows(
    problem: Problem, tables: Sequence[Any], *, pooled: bool, has_targets: bool
) -> list[str]:
    """Return notes where rows of one table serve as background or were training rows.

    For losses training rows of one table are an error.
    """
    parts = problem.expansion.parts
    prepared = [
        problem.prepare(X, name=name).parts
        for X, name in zip(tables, ("before", "after"), strict=True)
    ]
    trained = [part.points if part.background is None else part.background.rows for part in parts]
    notes = []
    uneven = _uneven_rows(trained, prepared)
    if uneven and has_targets:
        raise ValueError(
            f"{uneven} are training rows of the model. Errors on training rows are smaller than on "
            "others, so the test of the losses would always find a change: pass rows that the "
            "model was not fitted on, or leave y_before and y_after out."
        )
    if uneven:
        notes.append(
            f"{uneven} are training rows, so the test is not exact: compare rows that the model "
            "was not fitted on"
        )
    used = [games.background for games in problem.games]
    if not pooled and all(one is not None for one in used):
        uneven = _uneven_rows([one.rows for one in used if one is not None], prepared)
        if uneven:
            notes.append(
                f"{uneven} serve as background, so the test is not exact: take a background of "
                "other rows, or of rows of both tables"
            )
    return notes


def _uneven_rows(others: Sequence[Any], tables: Sequence[Sequence[Any]]) -> str:
    """Return how many rows of the tables are among others; empty where it is as many of both.

    As many up to sampling noise: if labels are exchangeable, the number in one table is
    hypergeometric.
    Rows of few different values are equal to others by chance, and more often in one table where
    the tables differ. These also repeat within a table, so rows that repeat are not counted, and
    the others only where they are more.
    """
    hits, single = [], []
    for parts in tables:
        same = [_is_among(rows, other) for rows, other in zip(parts, others, strict=True)]
        hits.append(np.any(same, axis=0))
        single.append(_occur_once(parts))
    counts = [int((hit & once).sum()) for hit, once in zip(hits, single, strict=True)]
    sizes = [int(once.sum()) for once in single]
    count, total = sum(counts), sum(sizes)
    if count <= sum(map(len, hits)) - total:
        return ""
    variance = count * (total - count) * sizes[0] * sizes[1] / (total**2 * max(total - 1, 1))
    if abs(counts[0] - count * sizes[0] / total) <= _CHANCE * math.sqrt(variance):
        return ""
    counted = [
        f"{hit.sum()} of {len(hit)} rows of {name}"
        for hit, name in zip(hits, ("before", "after"), strict=True)
    ]
    return " and ".join(counted)


def _occur_once(parts: Sequence[Any]) -> NDArray[np.bool_]:
    """Return for each row of a table whether no other row is equal to it."""
    keys = [b"".join(row) for row in zip(*(_row_keys(rows) for rows in parts), strict=True)]
    times = Counter(keys)
    return np.array([times[key] == 1 for key in keys])


def _row_keys(rows: Any) -> list[bytes]:
    """Return rows as bytes, which are equal where the numbers are: -0.0 becomes 0.0."""
    return [row.tobytes() for row in np.ascontiguousarray(rows, dtype=np.float64) + 0.0]


def _is_among(rows: Any, others: Any) -> NDArray[np.bool_]:
    """Return for each row whether it is equal to one of the others."""
    if is_sparse(others):
        return np.zeros(len(rows), dtype=bool)
    known = {*_row_keys(others)}
    return np.array([key in known for key in _row_keys(rows)])
