"""Training rows: which of them stand behind a prediction, and behind each Shapley value.

`pkex.explain.training` has the gain and the column of each training row. The values of all rows
cost two matrix products; the split over features is that of an explanation whose sets of weights
are the columns, for the rows that are wanted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pkex._util.types import Floats, Indices
from pkex._util.validation import is_index
from pkex.errors import UnsupportedModelError
from pkex.explain.problem import PreparedRows, Problem
from pkex.explain.training import Training, has_left_out, read_training
from pkex.games.blocks import even_step
from pkex.results.influence import Influence
from pkex.results.leave_one_out import LeaveOneOut

__all__ = ["explain_influence", "leave_one_out"]

_ENTRIES = 2**21  # of weights, or of values of training rows, held at once: 16 MiB
_LARGEST = 2**30  # bytes of `feature_values`


def explain_influence(
    problem: Problem,
    X: Any,
    X_train: Any,
    y_train: Any,
    sample_weight: Any,
    top: int | None,
    n_jobs: int | None,
) -> Influence:
    """Return the influence of `Explainer.influence`."""
    if top is not None and (not is_index(top) or top < 1):
        raise ValueError(
            f"top must be a number of training rows, at least 1, or None; got {top!r}."
        )
    prepared = problem.prepare(X)
    training = read_training(problem, X_train, y_train, sample_weight)
    n_rows, n_outputs = len(prepared.parts[0]), problem.expansion.n_outputs
    count = training.n_lines if top is None else min(int(top), training.n_lines)
    _check_size(n_rows, count, len(problem.feature_groups), n_outputs)
    problem.check_predictions(prepared.rows)
    widest = max(len(part.alpha) for part in problem.expansion.parts)
    entries = max(training.n_lines * n_outputs, widest * (count if top is not None else 1))
    step = even_step(n_rows, max(1, _ENTRIES // entries))
    blocks = [slice(start, start + step) for start in range(0, n_rows, step)]
    pieces = [_explain_block(problem, prepared, training, some, top, n_jobs) for some in blocks]
    arrays: dict[str, Any] = {
        name: None if pieces[0][name] is None else np.concatenate([piece[name] for piece in pieces])
        for name in pieces[0]
    }
    gaps = arrays["values"] - arrays["base_values"] - arrays["feature_values"].sum(axis=2)
    if problem.base_value.ndim == 0:
        arrays = {
            name: array if array is None or name == "train_rows" else array[..., 0]
            for name, array in arrays.items()
        }
    return Influence(
        problem.about_rows(prepared.rows),
        **arrays,
        kind=training.kind,
        train_noun=training.noun,
        n_train=training.n_lines,
        additivity_error=float(np.abs(gaps).max()) if problem.semivalue.efficient else math.nan,
        data=prepared.data,
        row_index=prepared.labels,
        train_data=training.data,
        train_targets=training.targets,
        train_index=training.labels,
        input_notes=training.notes,
    )


def _check_size(n_rows: int, count: int, n_features: int, n_outputs: int) -> None:
    """Raise where the split over features would be too large to hold."""
    size = 8 * n_rows * count * n_features * n_outputs
    if size > _LARGEST:
        shape = " x ".join(map(str, (n_rows, count, n_features, n_outputs)))
        raise ValueError(
            f"rows x training rows x features x outputs are {shape} numbers, {size / 1e9:.1f} GB, "
            f"and influence holds at most {_LARGEST / 1e9:.1f} GB. Pass top=10 for the most "
            "influential training rows of each row, or fewer rows at a time."
        )


def _explain_block(
    problem: Problem,
    prepared: PreparedRows,
    training: Training,
    some: slice,
    top: int | None,
    n_jobs: int | None,
) -> dict[str, Any]:
    """Return the arrays of some rows, with an axis of outputs."""
    rows = [part[some] for part in prepared.parts]
    predictions: Any = 0.0
    values: Any = 0.0
    variance: Floats | None = None
    kernels = [part.gram(x) for part, x in zip(problem.expansion.parts, rows, strict=True)]
    for part, kernel in zip(problem.expansion.parts, kernels, strict=True):
        predictions = predictions + kernel @ part.alpha + part.intercepts
    for each in training.parts:
        sums = each.kernel_sums(kernels[each.number])
        values = values + sums[:, :, None] * each.gains
        if getattr(each, "scales", None) is not None:
            more = each.variances(sums)
            variance = more if variance is None else variance + more
    lines = _pick_most_influential(np.asarray(values), top)
    splits: Any = 0.0
    bases: Any = 0.0
    for each in training.parts:
        split, base = _split(each, rows[each.number], lines, top is None, n_jobs)
        gains = each.gains[lines]  # (rows, lines, outputs)
        splits = splits + split[..., None] * gains[:, :, None, :]
        bases = bases + base[..., None] * gains
    chosen = lines[:, :, None]
    return {
        "values": np.take_along_axis(np.asarray(values), chosen, axis=1),
        "variance": None if variance is None else np.take_along_axis(variance, chosen, axis=1),
        "feature_values": splits,
        "base_values": bases,
        "train_rows": lines,
        "predictions": predictions,
    }


def _pick_most_influential(values: Floats, top: int | None) -> Indices:
    """Return the lines of each row, shape (rows, lines): all, or the largest values first."""
    n_rows, n_lines, _ = values.shape
    if top is None:
        return np.broadcast_to(np.arange(n_lines), (n_rows, n_lines))
    order = np.argsort(-np.abs(values).sum(axis=2), axis=1, kind="stable")
    return order[:, : min(int(top), n_lines)]


def _split(
    each: Any, rows: Floats, lines: Indices, shared: bool, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """Return the values of the columns of some lines, (rows, lines, features), and their bases."""
    columns = each.columns(lines[0] if shared else lines)  # the same lines for all rows, or not
    weights = np.ascontiguousarray(np.swapaxes(columns, -1, -2))
    sums = each.games.with_weights(weights).explain(rows, n_jobs=n_jobs)
    sums.check("prediction minus base value")
    bases = np.broadcast_to(sums.bases, lines.shape)
    return np.moveaxis(sums.values, 1, 2), bases


def leave_one_out(problem: Problem, X_train: Any, y_train: Any, sample_weight: Any) -> LeaveOneOut:
    """Return the result of `Explainer.leave_one_out`."""
    if not has_left_out(problem):
        raise UnsupportedModelError(
            "leave_one_out needs a Gaussian process or kernel ridge regression, whose fit without "
            "a row has a closed form; that of this model has none. explainer.influence(X) has the "
            "term of each training row in a prediction."
        )
    training = read_training(problem, X_train, y_train, sample_weight)
    residuals = np.sum([each.gains for each in training.parts], axis=0)
    assert training.targets is not None
    std = _leave_out_std(training)
    if problem.base_value.ndim == 0:
        residuals = residuals[:, 0]
        std = None if std is None else std[:, 0]
    log_density = None
    if std is not None:
        log_density = -0.5 * (residuals / std) ** 2 - np.log(std) - 0.5 * math.log(2.0 * math.pi)
    return LeaveOneOut(
        problem.about,
        predictions=training.targets - residuals,
        residuals=residuals,
        targets=training.targets,
        std=std,
        log_density=log_density,
        data=training.data,
        row_index=training.labels,
        input_notes=training.notes,
    )


def _leave_out_std(training: Training) -> Floats | None:
    """Return the standard deviations of left out observations, where each output is one process."""
    if any(each.scales is None for each in training.parts):
        return None
    used = np.array([each.gains.any(axis=0) | (each.scales > 0.0) for each in training.parts])
    if (used.sum(axis=0) > 1).any():
        return None
    variances = [each.scales / np.diagonal(each.inverse)[:, None] for each in training.parts]
    std: Floats = np.sqrt(np.sum(variances, axis=0))
    return std
