"""Derivatives of what a model predicts by its input columns, with their uncertainty.

The derivative of ``sum_i alpha_i k(x, x_i)`` is that of the kernel, contracted with the
coefficients; a step in front of the model adds the derivative of what it does to its column. The
gradient of a Gaussian process is a Gaussian process with the covariance

    d^2 k(x, z) / dx_j dz_l - J_j' (K + noise)^-1 J_l    at z = x,     J_j = d k(x, x_i) / dx_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError
from pkex.explain.posterior import check_digits, require_posteriors
from pkex.explain.problem import Problem
from pkex.explain.sample_means import SampleMeans
from pkex.games.blas import single_blas
from pkex.games.blocks import balance, even_step, rectangle
from pkex.games.threads import run_in_order
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import Slopes
from pkex.results.gradients import Gradients

__all__ = ["column_places", "explain_gradients", "part_slopes"]

_ENTRIES = 2**18  # derivatives of pairs that are held at once


class _RowBlock(NamedTuple):
    """Some rows: derivatives by prepared columns, variances by columns, and what these lose."""

    values: Floats
    variances: Floats
    lost: Floats


def explain_gradients(problem: Problem, X: Any, return_std: bool, n_jobs: int | None) -> Gradients:
    """Return what `Explainer.gradients` does."""
    if return_std:
        require_posteriors(problem, "return_std")
    prepared = problem.prepare(X)
    n_columns, n_rows = len(problem.expansion.feature_names), len(prepared.parts[0])
    shape = (n_rows, n_columns, problem.expansion.n_outputs)
    values, variances, lost = np.zeros(shape), np.zeros(shape), np.zeros((n_rows, shape[2]))
    means = SampleMeans()
    for part, rows in zip(problem.expansion.parts, prepared.parts, strict=True):
        slopes = part_slopes(part, prepared.table)
        _refuse_steps(part, slopes)
        scales = part.posterior.scales if return_std and part.posterior is not None else None
        uncertain = scales is not None and bool(scales.any())
        blocks = _differentiate(part, rows, slopes, uncertain, n_jobs)
        gradient = np.concatenate([block.values for block in blocks])
        _refuse_kinks(part, gradient)
        gradient *= slopes.values[:, :, None]
        _add_columns(values, column_places(part), gradient)
        if scales is not None:
            share = np.zeros(shape)
            _add_columns(share, column_places(part), gradient)
            means.add(part.posterior, share)
        if uncertain:
            spread = np.concatenate([block.variances for block in blocks])
            variances += spread[:, :, None] * scales
            lost += np.concatenate([block.lost for block in blocks])[:, None] * scales
    variances += means.covariance(full=False)
    check_digits("standard deviations of the gradients", variances.max(axis=1), lost)
    problem.check_predictions(prepared.rows)
    about = problem.about_rows(prepared.rows)
    singles = tuple((column,) for column in range(n_columns))
    about = replace(
        about,
        feature_names=about.column_names,
        feature_groups=singles,
        removal=None,
        background_info=None,
        index="gradient",
        efficient=False,
    )
    std = np.sqrt(np.maximum(variances, 0.0)) if return_std else None
    if problem.intercept.ndim == 0:
        values, std = values[:, :, 0], None if std is None else std[:, :, 0]
    return Gradients(about, values, prepared.data, std, row_index=prepared.labels)


def part_slopes(part: KernelExpansion, table: Any) -> Slopes:
    """Return the derivatives of prepared columns, or raise where a step has none."""
    if part.preparation is None:
        return Slopes(np.ones((1, part.shape[1])))
    if part.preparation.slopes is None:
        raise UnsupportedModelError(
            "this model rounds or transforms its columns by a step whose derivative pkex does not "
            "know. Shapley values need none: explainer(X)."
        )
    if not hasattr(table, "shape"):
        cells = np.asarray(table)
        table = cells if cells.dtype.kind in "fiub" else np.asarray(table, dtype=object)
    return part.preparation.slopes(table)


def column_places(part: KernelExpansion) -> Sequence[int]:
    """Return the input column of each prepared column."""
    return range(part.shape[1]) if part.preparation is None else part.preparation.origins


def _differentiate(
    part: KernelExpansion, rows: Floats, slopes: Slopes, uncertain: bool, n_jobs: int | None
) -> list[_RowBlock]:
    """Return the blocks of all rows, in order."""
    step = even_step(len(rows), balance(len(rows), max(1, _ENTRIES // part.points.size)))
    blocks = [some for some, _ in rectangle(len(rows), 1, step)]
    factors = np.broadcast_to(slopes.values, rows.shape)
    run = partial(_differentiate_block, part, rows, factors, uncertain)
    with single_blas():
        return list(run_in_order(run, blocks, n_jobs))


def _differentiate_block(
    part: KernelExpansion, rows: Floats, factors: Floats, uncertain: bool, some: slice
) -> _RowBlock:
    """Return the derivatives of some rows, and variances where they are wanted."""
    x, alpha, z = rows[some], part.alpha, part.points
    n_columns = len(part.feature_names)
    if not uncertain:
        used = alpha.any(axis=1)  # a point that does not count has no kinks
        z, alpha = z[used], alpha[used]
    values = np.zeros((len(x), alpha.shape[1], x.shape[1]))
    jacobian = np.zeros((len(x), n_columns, len(z) if uncertain else 0))
    places = list(column_places(part))
    step = max(1, _ENTRIES // max(1, x.size))
    for start in range(0, len(z), step):
        points = slice(start, start + step)
        slopes = part.kernel.gradient(x[:, None, :], z[None, points]).slopes
        values += alpha[points].T @ slopes
        if uncertain:
            by_column = np.moveaxis(slopes * factors[some, None], 2, 1)
            _add_columns(jacobian[..., points], places, by_column)
    variances, lost = np.zeros((len(x), n_columns)), np.zeros(len(x))
    if uncertain:
        posterior = part.posterior
        assert posterior is not None
        white = posterior.whiten(jacobian.reshape(-1, len(z)).T)
        prior = part.kernel.jet(x).mixed * factors[some, :, None] * factors[some, None, :]
        prior *= np.equal.outer(places, places)  # columns made from one column vary together
        _add_columns(variances, places, prior.sum(axis=2))
        lost = posterior.bound_rounding(white).reshape(len(x), -1).max(axis=1)
        lost = UNIT * (variances.max(axis=1) + lost)
        variances -= (white * posterior.weigh(white)).sum(axis=0).reshape(len(x), -1)
    return _RowBlock(np.moveaxis(values, 1, 2), variances, lost)


def _add_columns(total: Floats, places: Sequence[int], values: Floats) -> None:
    """Add prepared columns to the input columns that they are made from, in place."""
    for prepared, column in enumerate(places):
        total[:, column] += values[:, prepared]


def _refuse_steps(part: KernelExpansion, slopes: Slopes) -> None:
    """Raise where a value is missing, or where a step in front of the model is too steep."""
    wrong = ~np.isfinite(slopes.values)
    if not wrong.any():
        return
    row, column = np.argwhere(wrong)[0]
    name = part.feature_names[column_places(part)[column]]
    if np.isnan(slopes.values[row, column]):
        raise ValueError(
            f"row {row} has no value in {name!r}, and a missing value has no derivative; leave out "
            "that row, or impute before the model."
        )
    raise ValueError(
        f"a step in front of the model has no finite derivative at row {row} in {name!r}; leave "
        "out that row."
    )


def _refuse_kinks(part: KernelExpansion, values: Floats) -> None:
    """Raise where a kernel has no derivative."""
    wrong = np.isnan(values).any(axis=2)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        name = part.feature_names[column_places(part)[column]]
        raise ValueError(
            f"the prediction has no derivative at row {row} by {name!r}: the row has the value of "
            "a training point there, where the kernel has a kink. Move the row a little, or use a "
            "kernel without kinks, such as RBF or Matern with nu = 1.5."
        )
