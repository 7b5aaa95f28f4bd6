"""`sensitivity`: which inputs drive the output of a kernel machine over their whole range.

Sobol indices and Shapley effects of a kernel expansion are sums over pairs of its atoms
(`pkex.games.moments`). Nothing is sampled: a table gives the marginals by its rows, a distribution
by the nodes of a rule, of which there are so many that twice as many change nothing.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.floats import usual_errors
from pkex._util.types import Floats, Players
from pkex._util.validation import brief, first_rows
from pkex.errors import PrecisionWarning
from pkex.games.atoms import Atoms
from pkex.games.engine import run_reduction
from pkex.games.layout import as_column_major
from pkex.games.moments import Bundles, VarianceGame, VarianceSums
from pkex.games.plan import Plan
from pkex.games.players import Groups, parse_groups
from pkex.games.threads import check_n_jobs
from pkex.models.classes import CHOICES, check_choice
from pkex.models.expansion import KernelExpansion
from pkex.models.inputs import Inputs, from_distributions, from_table
from pkex.readers import Given, read
from pkex.readers.reading import check_agreement, outside
from pkex.results.sensitivity import Sensitivity

__all__ = ["sensitivity"]


_NODES = (32, 1024)  # of a rule for a distribution, at first and at most
_MIXTURE = 1e-7  # accepted error of a kernel that is a sum of products up to an error
_SETTLED = 1e-9  # change of an index at which more nodes are not needed
_EIGHT_ROUNDINGS = 8.0 * 2.0**-53
_CONSTANT = 2.0**-40  # of the mean square: a standard deviation below is that of a constant
_FEW_DIGITS = 4.0
_CHECKED = 5  # rows whose prediction is compared with the model's own


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
    """Return how much of the variance of a model's output comes from each input.

    The inputs are taken as independent: each column, or group of columns, has its distribution in
    `X`, whatever the others are. Where columns of the data depend on each other, that looks at
    combinations which do not occur; put such columns into one group.

    Parameters
    ----------
    model : fitted estimator or KernelExpansion
        Anything that `Explainer` takes.
    X : table of shape (n_rows, n_columns), or mapping of column to distribution
        A table gives each column the distribution of its entries. In a mapping every column, by
        name or number, has a range (low, high) or a frozen distribution of `scipy.stats`, which is
        integrated by a rule; `Sensitivity.error` has what that may cost.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows of a table; equal by default.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that act as one input. Of a table they stay together, row by row, so that they may
        depend on each other.
    order : {1, 2}, default 1
        With 2 the shares of all pairs of inputs are found as well.
    outputs : {"classes", "pairs"}, optional
        What to analyse of a classifier of three classes or more, as in `Explainer`.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> import pkex
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import SVR
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = pkex.sensitivity(SVR(C=50.0).fit(X, y), X)
    >>> found.feature_names[found.order[0]]
    's5'
    >>> float(found.shapley.sum().round(9))
    1.0
    """
    check_n_jobs(n_jobs)
    if order not in (1, 2) or isinstance(order, bool):
        raise ValueError(f"order must be 1 or 2, got {brief(order)}.")
    expansion, own, own_tol, number = _read(model, outputs)
    players, names = parse_groups(groups, expansion.feature_names)
    rows_variance = None
    if isinstance(X, Mapping):
        if sample_weight is not None:
            raise ValueError("sample_weight goes with a table; distributions have their own.")
        sums, inputs, off = _refined(expansion, players, X, order, n_jobs)
    else:
        inputs = from_table(expansion, X, sample_weight)
        sums, short = _sums(expansion, players, inputs, order, n_jobs)
        off = _of_mixture(sums, short)
        rows_variance = _variance_over_rows(expansion, inputs)
        if own is not None and expansion.preparation is not None:
            few = first_rows(X, _CHECKED)
            check_agreement(expansion, expansion.predict(few), own(few), own_tol)
    found = _shares(sums, expansion, players, names, inputs, off, rows_variance)
    return replace(found, number=number)


def _read(model: Any, outputs: str | None) -> tuple[KernelExpansion, Any, float, str | None]:
    """Return the model, its own prediction with a tolerance, and what that is of a classifier."""
    if isinstance(model, KernelExpansion):
        check_choice(outputs, (), model)
        return model, None, 0.0, None
    check_choice(outputs, CHOICES, model)
    reading = read(model, Given(outputs=outputs))
    check_choice(outputs, reading.choices, model)
    number = None if reading.classes is None else reading.classes.number
    return reading.expansion, reading.own, reading.tol, number


def _sums(
    expansion: KernelExpansion, players: Players, inputs: Inputs, order: int, n_jobs: int | None
) -> tuple[VarianceSums, Floats]:
    """Return what the variance is made of, for some inputs, and what the function is off by."""
    columns_of = [(j,) for player in players for j in player] if inputs.by_column else players
    owners = [i for i, player in enumerate(players) for _ in player]
    shares = np.repeat(inputs.weights.reshape(-1, 1), len(players), axis=1)
    if inputs.by_column:
        shares = inputs.weights[:, [j for (j,) in columns_of]]
    else:
        owners = list(range(len(players)))
    bundles = Bundles(np.ascontiguousarray(shares), np.array(owners), len(players))
    parts, weights = [], []
    short = np.zeros(expansion.n_outputs)  # what a sum of products may lack of the function
    for part in expansion.parts:
        made_from: dict[int, list[int]] = defaultdict(list)
        n_columns = part.points.shape[1]
        origins = range(n_columns) if part.preparation is None else part.preparation.origins
        for column, origin in enumerate(origins):
            made_from[origin].append(column)
        inside = tuple(tuple(j for i in columns for j in made_from[i]) for columns in columns_of)
        terms = part.kernel.terms(n_columns, _MIXTURE)
        short += sum(term.error for term in terms) * np.abs(part.alpha).sum(axis=0)
        plan = Plan.of(terms, inside, general=True)
        atoms = Atoms(plan, as_column_major(part.points))
        parts.append((atoms, as_column_major(part.prepare(inputs.table))))
        weights.append(atoms.spread(part.alpha))
    game = VarianceGame(parts, np.concatenate(weights), bundles, pairs=order == 2)
    found: VarianceSums = run_reduction(game, n_jobs=n_jobs)
    offset = np.sum([part.offsets for part in expansion.parts], axis=0)
    return found._replace(mean=found.mean + offset), short


def _refined(
    expansion: KernelExpansion, players: Players, X: Any, order: int, n_jobs: int | None
) -> tuple[VarianceSums, Inputs, float]:
    """Return the sums for distributions, with so many nodes that twice as many change nothing."""
    size, most = _NODES
    before: VarianceSums | None = None
    while True:
        inputs = from_distributions(expansion, X, size)
        sums, short = _sums(expansion, players, inputs, order, n_jobs)
        if before is not None:
            off = _change(before, sums)
            if off <= _SETTLED or 2 * size > most:
                return sums, inputs, off + _of_mixture(sums, short)
        before, size = sums, 2 * size


def _of_mixture(sums: VarianceSums, short: Floats) -> float:
    """Return what an index may be off by where the function is, by at most `short` everywhere.

    The standard deviation of every conditional mean moves by that at most, hence a variance by ``2
    short sd + short^2``; an index is a difference of two of them, divided by a third.
    """
    there = sums.variance > 0.0
    ratio = short[there] / np.sqrt(sums.variance[there])
    return float((6.0 * ratio + 3.0 * ratio * ratio).max(initial=0.0))


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
    """Return the indices as shares of the variance, and what they may be off by."""
    noise = _EIGHT_ROUNDINGS * sums.magnitudes
    varies = sums.variance > np.maximum(noise, (_CONSTANT * np.abs(sums.mean)) ** 2)
    if not varies.any():
        raise ValueError(
            "the model does not vary over these inputs by more than rounding, so that there is no "
            "variance to share. Check the ranges of X, and whether the model's coefficients are "
            "huge."
        )
    scale = np.where(varies, sums.variance, np.nan)
    digits = float(np.log10(scale / noise)[varies].min())
    if digits < _FEW_DIGITS:
        count = math.floor(digits)
        warnings.warn(
            "the coefficients of this model are so large that rounding shows: about "
            f"{count} digit{'s' * (count != 1)} of the shares are left. More regularisation (alpha "
            "of a Gaussian process, say), a narrower kernel or no duplicate rows make the "
            "coefficients smaller.",
            PrecisionWarning,
            stacklevel=outside(),
        )
    several = expansion.n_outputs > 1

    def shaped(array: Floats) -> Any:
        return array if several else array[..., 0]

    return Sensitivity(
        first_order=shaped(sums.first / scale),
        total_order=shaped(sums.total / scale),
        shapley=shaped(sums.shapley / scale),
        second_order=None if sums.pairs is None else shaped(sums.pairs / scale),
        variance=shaped(np.where(varies, sums.variance, 0.0)),
        mean=shaped(sums.mean),
        feature_names=names,
        column_names=expansion.feature_names,
        players=players,
        output_names=expansion.output_names,
        inputs=inputs.said,
        error=off + 10.0**-digits,
        rows_variance=None if rows_variance is None else shaped(rows_variance),
    )
