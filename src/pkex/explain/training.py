"""The training rows behind a model: what leaving one out changes, or what each adds.

With the matrix ``A = K + noise`` of the training points, the coefficients of a Gaussian process or
of kernel ridge regression are ``alpha = A^-1 (y - intercept)``. Without row i they are

    alpha - alpha_i / [A^-1]_ii  A^-1[:, i],

with 0 in place i. So each row of the training table, a *line*, changes the weights of the points by
a gain times a column, and all that is linear in the weights by the same: predictions, base values,
Shapley values. A support vector machine has no such matrix; there line i adds its coefficient times
the kernel, a column with a single 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky
from scipy.spatial import cKDTree

from pkex._util.floats import UNIT
from pkex._util.sparse import to_dense
from pkex._util.types import Floats, Indices
from pkex._util.validation import as_floats
from pkex._util.words import pluralise
from pkex.errors import PrecisionWarning, UnsupportedModelError
from pkex.explain.problem import Problem
from pkex.games.points import WeightedPoints
from pkex.models.expansion import KernelExpansion
from pkex.models.noise import FEW_DIGITS
from pkex.models.posterior import invert_cholesky
from pkex.readers.reading import warn_user

__all__ = ["LeftOut", "Terms", "Training", "has_left_out", "read_training"]

LEFT_OUT, REPRESENTER = "leave-one-out", "representer"

_SAME = 1e-6  # what rows and targets may differ by, relative to a column's largest or its spread
_NOISE = 1e-8  # columns that are smaller than this part of the largest may be rounding
_WEIGHTS_OF_1 = (
    "Sample weights are taken as 1: the model keeps none. Pass y_train to check, or sample_weight"
)
_STEP = 256  # rows of a kernel matrix evaluated at once


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What leaving out each line changes of one part.

    Attributes
    ----------
    games, part
        The games and the expansion of the part, and its `number` among the parts.
    gains : array of shape (n_lines, n_outputs)
        ``alpha_i / [A^-1]_ii``: the residuals of the lines when they are left out.
    targets : array of shape (n_lines, n_outputs)
        ``A alpha``: the targets without intercept and prior mean.
    rounding : array of shape (n_outputs,)
        What the targets may be off by.
    inverse : array of shape (n_lines, n_lines)
    scales : array of shape (n_outputs,), or None
        Of a Gaussian process: the units of its variances.
    """

    number: int
    games: WeightedPoints
    part: KernelExpansion
    gains: Floats
    targets: Floats
    rounding: Floats
    inverse: Floats
    scales: Floats | None

    def kernel_sums(self, kernel: Floats) -> Floats:
        """Return the kernel of rows with the points, summed with the column of each line."""
        sums: Floats = kernel @ self.inverse
        return sums

    def columns(self, lines: Indices) -> Floats:
        """Return the columns of some lines, of shape (..., n_points)."""
        return self.inverse.T[lines]  # which is symmetric, and has its columns in one piece

    def variances(self, sums: Floats) -> Floats:
        """Return by how much variances grow, from what `kernel_sums` returned."""
        assert self.scales is not None
        return (sums * sums / np.diagonal(self.inverse))[..., None] * self.scales


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of each line in one part: `first` is the point of each line, or -1."""

    number: int
    games: WeightedPoints
    part: KernelExpansion
    gains: Floats
    first: Indices

    def kernel_sums(self, kernel: Floats) -> Floats:
        """Return the kernel of rows with the point of each line."""
        return np.where(self.first >= 0, kernel[:, self.first], 0.0)

    def columns(self, lines: Indices) -> Floats:
        """Return the columns of some lines, of shape (..., n_points)."""
        points: Indices = np.arange(len(self.part.alpha))
        columns: Floats = (self.first[lines][..., None] == points).astype(np.float64)
        return columns


class Training(NamedTuple):
    """The lines of the training table that a model keeps, and what they do in each of its parts.

    Attributes
    ----------
    kind : str
        "leave-one-out" or "representer".
    parts : sequence of LeftOut or of Terms
    n_lines : int
    noun : str
        What the lines are: "training points", "support vectors", "training rows".
    data : array of shape (n_lines, n_columns), or None
        As the user knows them; None where only prepared rows are known.
    targets : array of shape (n_lines,) or (n_lines, n_outputs), or None
    labels : index or None
        Of a frame.
    notes : tuple of str
        What is assumed of the training.
    """

    kind: str
    parts: Sequence[Any]
    n_lines: int
    noun: str
    data: NDArray[Any] | None
    targets: NDArray[Any] | None
    labels: Any
    notes: tuple[str, ...] = ()


class _Given(NamedTuple):
    """The training table as it came: prepared rows of each part, data and labels."""

    parts: list[Floats] | None
    data: NDArray[Any] | None
    labels: Any


def has_left_out(problem: Problem) -> bool:
    """Tell whether the fit of a model without one of its rows has a closed form."""
    parts = problem.expansion.parts
    return all(
        (part.posterior is not None and part.posterior.regression) or part.ridge is not None
        for part in parts
    )


def read_training(problem: Problem, X_train: Any, y_train: Any, sample_weight: Any) -> Training:
    """Return what the training rows do in a model; see `Explainer.influence`."""
    given = _Given(None, None, None)
    if X_train is not None:
        prepared = problem.prepare(X_train, name="X_train")
        given = _Given(prepared.parts, prepared.data, prepared.labels)
    if has_left_out(problem):
        return _read_left_out(problem, given, y_train, sample_weight)
    if sample_weight is not None:
        raise ValueError(
            "sample_weight is for kernel ridge regression, which does not keep it; the weights of "
            "this model are in its coefficients. Omit sample_weight."
        )
    return _read_terms(problem, given, y_train)


def _read_left_out(problem: Problem, given: _Given, y_train: Any, sample_weight: Any) -> Training:
    every = list(enumerate(problem.expansion.parts))
    fitted = [(at, part) for at, part in every if not _is_known(part)]
    first = fitted[0][1]
    n_lines = first.shape[0]
    for at, part in fitted:
        if given.parts is not None:
            _check_rows(given.parts[at], part.points)
        elif part.shape != first.shape or not np.array_equal(part.points, first.points):
            raise ValueError(
                "the outputs of this model have different training points, or prepare them "
                "differently. Pass X_train, the table that all of them were fitted on."
            )
    ridged = any(part.ridge is not None for _, part in fitted)
    weights = _check_weights(sample_weight, n_lines, ridged)
    systems = [
        system for at, part in fitted for system in _systems(problem.games[at], at, part, weights)
    ]
    targets = np.sum([system.targets for system in systems], axis=0)
    rows = first.points  # a known part, a prior mean, follows the process that it belongs to
    for at, part in every:
        targets = targets + (part.intercepts if not _is_known(part) else 0.0)
        if _is_known(part):
            targets = targets + part.evaluate(rows).reshape(targets.shape)
        rows = rows if _is_known(part) else problem.expansion.parts[at].points
    if problem.base_value.ndim == 0:
        targets = targets[:, 0]
    unweighted = ridged and sample_weight is None
    if y_train is not None:
        rounding = np.sum([system.rounding for system in systems], axis=0)
        targets = _check_targets(y_train, targets, rounding, unweighted)
    notes = (_WEIGHTS_OF_1,) if unweighted and y_train is None else ()
    data = given.data
    if given.parts is None and first.preparation is None:
        data = first.points
    return Training(LEFT_OUT, systems, n_lines, _noun(first), data, targets, given.labels, notes)


def _is_known(part: KernelExpansion) -> bool:
    """Tell whether a part has no training rows: a prior mean."""
    return part.posterior is not None and not part.posterior.scales.any()


def _systems(
    games: WeightedPoints, number: int, part: KernelExpansion, weights: Floats | None
) -> list[LeftOut]:
    """Return what leaving out rows changes of a part: once for each ridge of its outputs."""
    if part.posterior is not None:
        posterior = part.posterior
        return [_system(games, number, part, posterior.cholesky, part.alpha, posterior.scales)]
    assert part.ridge is not None
    systems, kernel = [], _lower_gram(part)
    for ridge in np.unique(part.ridge):
        matrix = kernel.copy()
        matrix[np.diag_indices(len(matrix))] += ridge if weights is None else ridge / weights
        try:
            factor = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raise UnsupportedModelError(
                f"the kernel matrix of the training points plus alpha={ridge:g} is singular up to "
                "rounding, so the effect of leaving out a row has no digits. Fit the model with a "
                "larger alpha."
            ) from None
        alpha = np.where(part.ridge == ridge, part.alpha, 0.0)
        systems.append(_system(games, number, part, factor, alpha, None))
    return systems


def _lower_gram(part: KernelExpansion) -> Floats:
    """Return the kernel matrix of the points; above the diagonal blocks it may be 0."""
    if part.sparse_points is not None:
        return part.gram(part.sparse_points)
    points = part.points
    matrix = np.zeros((len(points), len(points)))
    for start in range(0, len(points), _STEP):
        stop = min(start + _STEP, len(points))
        matrix[start:stop, :stop] = part.kernel.matrix(points[start:stop], points[:stop])
    return matrix


def _system(
    games: WeightedPoints,
    number: int,
    part: KernelExpansion,
    factor: Floats,
    alpha: Floats,
    scales: Floats | None,
) -> LeftOut:
    inverse = invert_cholesky(factor)
    # the trace of A and the Frobenius norm of its inverse are at least their largest eigenvalues
    size = float(np.vdot(factor, factor)) * float(np.linalg.norm(inverse))
    digits = -math.log10(UNIT * size)
    if digits < FEW_DIGITS:
        count = max(0, math.floor(digits))
        warn_user(
            "the kernel matrix of this model is badly conditioned: the effect of leaving out a row "
            f"has about {pluralise(count, 'correct digit')}. More noise (alpha, or a WhiteKernel), "
            "a shorter length scale or no duplicate rows give more.",
            PrecisionWarning,
        )
    gains = alpha / np.diagonal(inverse)[:, None]
    targets = factor @ (factor.T @ alpha)
    largest = np.einsum("ij,ij->i", factor, factor).max()  # of the diagonal of A
    rounding = 8.0 * UNIT * largest * np.abs(alpha).sum(axis=0)
    return LeftOut(number, games, part, gains, targets, rounding, inverse, scales)


def _read_terms(problem: Problem, given: _Given, y_train: Any) -> Training:
    parts = problem.expansion.parts
    for part in parts:
        if not _points_are_data(part):
            raise UnsupportedModelError(
                "the points of this model are not training rows (inducing points, a weight vector, "
                "or points of another kind), so it does not say which rows a prediction comes "
                "from. Gaussian processes, kernel ridge regression and support vector machines do."
            )
    data, targets = given.data, None
    if given.parts is None:
        if y_train is not None:
            raise ValueError("y_train needs X_train: this model keeps some of the rows only.")
        first = parts[0].preparation
        if any(_transform(part) != _transform(parts[0]) for part in parts):
            raise ValueError(
                "the outputs of this model prepare rows differently, so its points cannot be "
                "compared. Pass X_train, the table that it was fitted on."
            )
        points = np.concatenate([part.points for part in parts])
        lines = _distinct(points)
        tables = [points[lines]] * len(parts)
        data = points[lines] if first is None else None
    else:
        tables = given.parts
    n_lines = len(tables[0])
    if y_train is not None:
        targets = np.asarray(y_train)
        if targets.shape[:1] != (n_lines,) or targets.ndim > 2:
            raise ValueError(f"y_train has shape {targets.shape}, but X_train {n_lines} rows.")
    terms = []
    for number, (part, table) in enumerate(zip(parts, tables, strict=True)):
        places = _find_rows(table, part.points)
        gains, first_points = np.zeros((n_lines, part.n_outputs)), np.full(n_lines, -1)
        np.add.at(gains, places, part.alpha)
        first_points[places[::-1]] = np.arange(len(places))[::-1]
        terms.append(Terms(number, problem.games[number], part, gains, first_points))
    noun = _noun(parts[0]) if given.parts is None else "training rows"
    return Training(REPRESENTER, terms, n_lines, noun, data, targets, given.labels)


def _transform(part: KernelExpansion) -> Any:
    return None if part.preparation is None else part.preparation.transform


def _noun(part: KernelExpansion) -> str:
    return "points" if part.background is None else part.background.kind


def _points_are_data(part: KernelExpansion) -> bool:
    """Tell whether points are rows that the model has seen: once, or once for each output."""
    if part.background is None:
        return False
    rows, points = part.background.rows, part.kept_points
    if rows is points:
        return True
    copies = points.shape[0] // rows.shape[0]
    return np.array_equal(np.tile(to_dense(rows), (copies, 1)), part.points)


def _as_keys(rows: Floats) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(rows) + 0.0]  # -0 is 0


def _distinct(rows: Floats) -> Indices:
    """Return the places of rows that are not there before, in order."""
    places: dict[bytes, int] = {}
    for place, key in enumerate(_as_keys(rows)):
        places.setdefault(key, place)
    return np.array(list(places.values()), dtype=np.intp)


def _find_rows(table: Floats, points: Floats) -> Indices:
    """Return the first row of the table that each point is, up to rounding; raise without one."""
    keys: dict[bytes, int] = {}
    for place, key in enumerate(_as_keys(table)):
        keys.setdefault(key, place)
    places = np.array([keys.get(key, -1) for key in _as_keys(points)], dtype=np.intp)
    missing = np.flatnonzero(places < 0)
    if len(missing):  # a step of the pipeline rounds differently from when it was fitted
        scale = _scales(points)
        distances, nearest = cKDTree(table / scale).query(points[missing] / scale, p=math.inf)
        absent = np.count_nonzero(distances > _SAME)
        if absent:
            raise ValueError(
                f"X_train is not the table that the model was fitted on: "
                f"{absent} of the {len(points)} points of the model are "
                "not among its rows. Pass the training table as it was passed to fit."
            )
        places[missing] = nearest
    return places


def _scales(points: Floats) -> Floats:
    """Return the largest number of each column; that of a column of rounding is larger.

    A step such as PCA has such columns where others are linearly dependent.
    """
    largest = np.abs(points).max(axis=0)
    scales: Floats = np.maximum(largest, _NOISE * largest.max())
    return np.where(scales > 0.0, scales, 1.0)


def _check_rows(rows: Floats, points: Floats) -> None:
    """Raise where prepared rows are not the training points, in their order."""
    if len(rows) != len(points):
        raise ValueError(
            f"X_train has {pluralise(len(rows), 'row')}, but the model was fitted on "
            f"{len(points)}. Pass the training table as it was passed to fit."
        )
    wrong = np.abs(rows - points) > _SAME * _scales(points)
    if wrong.any():
        raise ValueError(
            f"X_train is not the table that the model was fitted on: row "
            f"{int(np.argwhere(wrong)[0][0])} differs from the training point of the model. Pass "
            "the training table as it was passed to fit, in its order."
        )


def _check_weights(sample_weight: Any, n_lines: int, ridged: bool) -> Floats | None:
    if sample_weight is None:
        return None
    if not ridged:
        raise ValueError(
            "sample_weight is for kernel ridge regression, which does not keep it; this model "
            "knows the noise of its rows. Omit sample_weight."
        )
    weights = as_floats(sample_weight, "sample_weight")
    weights = np.broadcast_to(weights, (n_lines,)) if weights.ndim == 0 else weights
    if weights.shape != (n_lines,) or not (weights > 0.0).all():
        raise ValueError(
            f"sample_weight must have a positive number for each of the {n_lines} training rows; "
            f"got shape {weights.shape}, smallest {weights.min(initial=math.inf):g}. Rows of "
            "weight 0 have no effect: fit without them."
        )
    return weights


def _check_targets(y_train: Any, targets: Floats, rounding: Floats, maybe_weighted: bool) -> Floats:
    """Return the given targets; raise where the coefficients come from other ones."""
    given = as_floats(y_train, "y_train")
    given = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    if given.shape != targets.shape:
        raise ValueError(f"y_train must have shape {targets.shape}, got {given.shape}.")
    dtype = np.asarray(y_train).dtype
    unit = np.finfo(dtype).eps if dtype.kind == "f" else 2.0 * UNIT  # more in single precision
    allowed = _SAME * np.ptp(given, axis=0) + 8.0 * unit * np.abs(given).max(axis=0)
    wrong = np.abs(given - targets) > allowed + (rounding if given.ndim == 2 else rounding[0])
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        column = int(np.argmax(np.atleast_1d(wrong[row])))
        advice = (
            "If it was fitted with sample weights, pass sample_weight. " if maybe_weighted else ""
        )
        raise ValueError(
            f"y_train is not the target that the model was fitted to: row {row} has "
            f"{np.ravel(given[row])[column]:.10g}, and the coefficients of the model say "
            f"{np.ravel(targets[row])[column]:.10g}. {advice}Pass the target as it was passed to "
            "fit."
        )
    return given
