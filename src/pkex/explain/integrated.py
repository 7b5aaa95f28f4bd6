"""Integrated gradients of some rows, averaged over baselines, as an `Explanation`.

The baselines are the background rows with their weights. The gradient is integrated along the
straight path from each baseline to the row, in `pkex.kernels.paths`. Steps in front of a model that
are affine, column by column, keep the path straight, and the slope of a step cancels: what is
integrated in prepared columns is what would be integrated in those of the input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import first_rows
from pkex.errors import AdditivityError, UnsupportedModelError
from pkex.explain.conditional import refuse_conditional
from pkex.explain.gradients import part_slopes
from pkex.explain.problem import Problem
from pkex.explain.values import predict_later
from pkex.games.blas import single_blas
from pkex.games.blocks import balance, even_step, rectangle
from pkex.games.gauss import gauss_legendre
from pkex.games.points import Background
from pkex.games.rules import Rule
from pkex.games.threads import run_in_order
from pkex.kernels.path_rules import PathSums
from pkex.kernels.paths import PathPiece, integrate_paths, split_kernel
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import prepare_groups
from pkex.results.explanation import Explanation

__all__ = ["explain_integrated_gradients"]

_PAIRS = 2**14  # of rows and points, whose integrals fit into a cache
_ROWS = 8  # at least in a block, as points are moved to each baseline for all of them
_ENTRIES = 2**20  # of a kernel matrix that are held at once
_CHECKED = 5  # rows whose rise is compared with the kernel itself
_AGREE = 1e-9  # of the sizes of the kernels


def explain_integrated_gradients(problem: Problem, X: Any, n_jobs: int | None) -> Explanation:
    """Return what `Explainer.integrated_gradients` does."""
    refuse_conditional(problem, "integrated gradients", "their baselines are background rows")
    if problem.removal == "neutral":
        raise ValueError(
            "integrated gradients need baselines, and neutral removal has none. Pass background "
            "rows, Explainer(model, X_train[:100]), or leave out removal='neutral'."
        )
    prepared = problem.prepare(X)
    n_rows, n_outputs = len(prepared.parts[0]), problem.expansion.n_outputs
    values = np.zeros((n_rows, len(problem.feature_groups), n_outputs))
    rises, errors = np.zeros((n_rows, n_outputs)), np.zeros((n_rows, n_outputs))
    base, counts = np.zeros(n_outputs), []
    families: set[str] = set()
    for part, rows, games in zip(
        problem.expansion.parts, prepared.parts, problem.games, strict=True
    ):
        _refuse_bent(part, prepared.table)
        background = games.background
        assert background is not None  # as removal is not neutral
        pieces = split_kernel(part.kernel, part.shape[1])
        sums = _integrate_part(part, pieces, rows, background, n_jobs)
        at_base = _mean_kernel(part, background)
        _check_rises(part, rows, at_base, sums.rises)
        for place, columns in enumerate(prepare_groups(part, problem.feature_groups)):
            values[:, place] += sums.values[:, list(columns)].sum(axis=1)
        rises += sums.rises
        errors += sums.errors
        base += at_base @ part.alpha + part.intercepts
        families.update(piece.family for piece in pieces)
        counts.append(len(background.weights))
    problem.check_predictions(prepared.rows)
    missed = np.abs(values.sum(axis=1) - rises)
    sizes = np.abs(values).sum(axis=1)
    if not (missed <= errors + 1e-12 * sizes).all():
        raise AdditivityError(
            f"integrated gradients miss the prediction minus that of the baselines by "
            f"{missed.max():.2g}, where {errors.max():.2g} is allowed: an error of pkex or of a "
            "kernel, whose derivative may not be that of its factors."
        )
    errors += missed + problem.intercept_error
    shape = (n_rows, *problem.intercept.shape)
    base_values = np.broadcast_to(base, (n_rows, n_outputs)).reshape(shape).copy()
    about = replace(
        problem.about_rows(prepared.rows),
        removal=None,
        background_info=_describe(problem, counts),
        index="IG",
        efficient=True,
    )
    return Explanation(
        about,
        values=values.reshape(*values.shape[:2], *shape[1:]),
        base_values=base_values,
        data=prepared.data,
        rules=tuple(_rule(family) for family in sorted(families)) or (_rule("constant model"),),
        additivity_error=float(missed.max(initial=0.0)),
        predictions=base_values + values.sum(axis=1).reshape(shape),
        error_bound=errors.reshape(shape),
        predicted_class=predict_later(problem, prepared),
        row_index=prepared.labels,
    )


def _refuse_bent(part: KernelExpansion, table: Any) -> None:
    """Raise where a step in front of the model is not affine, so that it bends the path."""
    bent = part_slopes(part, first_rows(table, 1)).bent
    if bent:
        raise UnsupportedModelError(
            f"{bent[0]} in front of the model is not affine, and it bends the straight path of "
            "integrated gradients. Transform the rows first and explain the last step of the "
            "pipeline, whose columns are the transformed ones, or use Shapley values."
        )


def _integrate_part(
    part: KernelExpansion,
    pieces: Sequence[PathPiece],
    rows: Floats,
    background: Background,
    n_jobs: int | None,
) -> PathSums:
    """Return the sums of all rows, averaged over the baselines."""
    used = part.alpha.any(axis=1)
    points, alpha = part.points[used], part.alpha[used]
    step = even_step(len(rows), balance(len(rows), max(_ROWS, _PAIRS // max(1, len(points)))))
    blocks = [some for some, _ in rectangle(len(rows), 1, step)]
    run = partial(_integrate_block, pieces, rows, points, alpha, background)
    with single_blas():
        every = list(run_in_order(run, blocks, n_jobs))
    return PathSums(*(np.concatenate(arrays) for arrays in zip(*every, strict=True)))


def _integrate_block(
    pieces: Sequence[PathPiece],
    rows: Floats,
    points: Floats,
    alpha: Floats,
    background: Background,
    some: slice,
) -> PathSums:
    x, n_outputs = rows[some], alpha.shape[1]
    shapes = ((*x.shape, n_outputs), (len(x), n_outputs), (len(x), n_outputs))
    total = PathSums(*map(np.zeros, shapes))
    for baseline, weight in zip(background.rows, background.weights, strict=True):
        for piece in pieces:
            sums = integrate_paths(piece, x, baseline, points, weight * piece.factor * alpha)
            for array, part in zip(total, sums, strict=True):
                array += part
    return total


def _mean_kernel(part: KernelExpansion, background: Background) -> Floats:
    """Return the kernel between the baselines and each point, averaged over the baselines."""
    mean, step = np.zeros(part.shape[0]), max(1, _ENTRIES // part.shape[0])
    for start in range(0, len(background.weights), step):
        some = slice(start, start + step)
        mean += background.weights[some] @ part.gram(background.rows[some])
    return mean


def _check_rises(part: KernelExpansion, rows: Floats, at_base: Floats, rises: Floats) -> None:
    """Compare the rises of some rows with those of the kernel itself."""
    at_rows = part.gram(rows[:_CHECKED])
    sizes = (np.abs(at_rows) + np.abs(at_base)) @ np.abs(part.alpha)
    if not (np.abs(rises[:_CHECKED] - (at_rows - at_base) @ part.alpha) <= _AGREE * sizes).all():
        raise AdditivityError(
            "the path integrals end at another prediction than the kernel gives: an error of pkex "
            "or of a kernel."
        )


def _describe(problem: Problem, counts: Sequence[int]) -> str:
    """Return what serves as baselines, in words."""
    info = problem.background_info or ""
    what = info.split(", features treated")[0].removesuffix(" (interventional)")
    if len(set(counts)) > 1 or not what:
        return "the points of each part as baselines"
    return f"{what} as {'baseline' if counts[0] == 1 else 'baselines'}"


def _rule(family: str) -> Rule:
    """Return a rule that says how paths were integrated, with the nodes of short paths."""
    nodes, weights = gauss_legendre(8)
    return Rule(family, nodes, weights, 2**62, math.inf, True, 0.0)
