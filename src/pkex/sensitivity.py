"""`sensitivity`: which inputs drive the output of a kernel machine over their whole range."""

from __future__ import annotations

import math
import os
import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._floats import usual_errors
from pkex._validation import brief, first_rows
from pkex.errors import PrecisionWarning
from pkex.games.atoms import Atoms
from pkex.games.engine import reduced
from pkex.games.layout import by_column
from pkex.games.moments import Bundles, VarianceGame, VarianceSums
from pkex.games.plan import Plan
from pkex.games.players import Groups, players_of
from pkex.games.threads import check_n_jobs
from pkex.models.classes import CHOICES, check_choice
from pkex.models.expansion import KernelExpansion
from pkex.models.inputs import Inputs, from_distributions, from_table
from pkex.readers import Given, read
from pkex.readers.reading import check_agreement, outside

__all__ = ["Sensitivity", "sensitivity"]

Floats = NDArray[np.float64]
Players = tuple[tuple[int, ...], ...]

_NODES = (32, 1024)  # of a rule for a distribution, at first and at most
_SETTLED = 1e-9  # change of an index at which more nodes are not needed
_EIGHT_ROUNDINGS = 8.0 * 2.0**-53
_CONSTANT = 2.0**-40  # of the mean square: a standard deviation below is that of a constant
_FEW_DIGITS = 4.0
_CHECKED = 5  # rows whose prediction is compared with the model's own


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Shares of each input in the variance of a model's output."""

    first_order: Floats
    total_order: Floats
    shapley: Floats
    second_order: Floats | None
    variance: Floats
    mean: Floats
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    players: Players
    output_names: tuple[str, ...] | None
    inputs: str
    error: float
    rows_variance: Floats | None = None


@usual_errors
def sensitivity(
    model: Any,
    X: ArrayLike | Mapping[Any, Any],
    *,
    sample_weight: ArrayLike | None = None,
    groups: Groups | None = None,
    order: int = 1,
    outputs: str | None = None,
    n_jobs: int | None = -1,
) -> Sensitivity:
    """Return how much of the variance of a model's output comes from each input."""
    check_n_jobs(n_jobs)
    if order not in (1, 2) or isinstance(order, bool):
        raise ValueError(f"order must be 1 or 2, got {brief(order)}.")
    expansion, own, own_tol = _read(model, outputs)
    players, names = players_of(groups, expansion.feature_names)
    by_distribution = isinstance(X, Mapping) and not hasattr(X, "columns")
    rows_variance = None
    if by_distribution:
        if sample_weight is not None:
            raise ValueError("sample_weight goes with a table; distributions have their own.")
        sums, inputs, off = _refined(expansion, players, X, order, n_jobs)
    else:
        inputs = from_table(expansion, X, sample_weight)
        sums, off = _sums(expansion, players, inputs, order, n_jobs), 0.0
        rows_variance = _variance_over_rows(expansion, inputs)
        if own is not None and expansion.preparation is not None:
            few = first_rows(X, _CHECKED)
            check_agreement(expansion, expansion.predict(few), own(few), own_tol)
    return _shares(sums, expansion, players, names, inputs, off, rows_variance)


def _read(model: Any, outputs: str | None) -> tuple[KernelExpansion, Any, float]:
    if isinstance(model, KernelExpansion):
        check_choice(outputs, (), model)
        return model, None, 0.0
    check_choice(outputs, CHOICES, model)
    reading = read(model, Given(outputs=outputs))
    check_choice(outputs, reading.choices, model)
    return reading.expansion, reading.own, reading.tol


def _sums(
    expansion: KernelExpansion, players: Players, inputs: Inputs, order: int, n_jobs: int | None
) -> VarianceSums:
    """Return what the variance is made of, for some inputs."""
    columns_of = [(j,) for player in players for j in player] if inputs.by_column else players
    owners = [i for i, player in enumerate(players) for _ in player]
    shares = np.repeat(inputs.weights.reshape(-1, 1), len(players), axis=1)
    if inputs.by_column:
        shares = inputs.weights[:, [j for (j,) in columns_of]]
    else:
        owners = list(range(len(players)))
    bundles = Bundles(np.ascontiguousarray(shares), np.array(owners), len(players))
    parts, weights = [], []
    for part in expansion.parts:
        made_from: dict[int, list[int]] = defaultdict(list)
        n_columns = part.points.shape[1]
        origins = range(n_columns) if part.preparation is None else part.preparation.origins
        for column, origin in enumerate(origins):
            made_from[origin].append(column)
        inside = tuple(tuple(j for i in columns for j in made_from[i]) for columns in columns_of)
        plan = Plan.of(part.kernel.terms(n_columns), inside, general=True)
        atoms = Atoms(plan, by_column(part.points))
        parts.append((atoms, by_column(part.prepare(inputs.table))))
        weights.append(atoms.spread(part.alpha))
    game = VarianceGame(parts, np.concatenate(weights), bundles, pairs=order == 2)
    found: VarianceSums = reduced(game, n_jobs=n_jobs)
    offset = np.sum([part.offsets for part in expansion.parts], axis=0)
    return found._replace(mean=found.mean + offset)


def _refined(
    expansion: KernelExpansion, players: Players, X: Any, order: int, n_jobs: int | None
) -> tuple[VarianceSums, Inputs, float]:
    """Return the sums for distributions, with so many nodes that twice as many change nothing."""
    size, most = _NODES
    before: VarianceSums | None = None
    while True:
        inputs = from_distributions(expansion, X, size)
        sums = _sums(expansion, players, inputs, order, n_jobs)
        if before is not None:
            off = _change(before, sums)
            if off <= _SETTLED or 2 * size > most:
                return sums, inputs, off
        before, size = sums, 2 * size


def _change(before: VarianceSums, after: VarianceSums) -> float:
    scale = np.where(after.variance > 0.0, after.variance, 1.0)
    changes = [
        float(np.max(np.abs(new - old) / scale, initial=0.0))
        for old, new in zip(before[:3] + before[4:5], after[:3] + after[4:5], strict=True)
    ]
    return max(changes)


def _variance_over_rows(expansion: KernelExpansion, inputs: Inputs) -> Floats:
    found = np.zeros((len(inputs.weights), expansion.n_outputs))
    for part in expansion.parts:
        rows = part.prepare(inputs.table)
        step = max(1, 2**21 // len(part.points))
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            found[some] += part.kernel(rows[some], part.points) @ part.alpha
    mean = inputs.weights @ found
    variance: Floats = inputs.weights @ (found - mean) ** 2
    return variance


def _shares(
    sums: VarianceSums,
    expansion: KernelExpansion,
    players: Players,
    names: tuple[str, ...],
    inputs: Inputs,
    off: float,
    rows_variance: Floats | None,
) -> Sensitivity:
    noise = _EIGHT_ROUNDINGS * sums.magnitudes
    varies = sums.variance > np.maximum(noise, (_CONSTANT * np.abs(sums.mean)) ** 2)
    if not varies.any():
        raise ValueError("the model does not vary over these inputs")
    scale = np.where(varies, sums.variance, np.nan)
    one = expansion.parts[0].coefficients.ndim == 1

    def shape(array: Floats) -> Floats:
        return array[..., 0] if one else array
    digits = float(np.log10(scale / noise)[varies].min())
    return Sensitivity(shape(sums.first/scale), shape(sums.total/scale), shape(sums.shapley/scale),
        None if sums.pairs is None else shape(sums.pairs/scale), shape(sums.variance), shape(sums.mean), names,
        expansion.feature_names, players, expansion.output_names, inputs.said, off + 10**-digits)
