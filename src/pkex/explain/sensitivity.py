"""`sensitivity`: which inputs drive the output of a kernel machine over their whole range.

Sobol indices and Shapley effects of a kernel expansion are sums over pairs of its atoms
(`pkex.games.variances`). Nothing is sampled: a table gives the marginals by its rows, a
distribution by the nodes of a rule, of which there are so many that twice as many change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState, as_generator
from pkex._util.types import Floats
from pkex._util.validation import (
    brief,
    check_n_jobs,
    column_names,
    default_names,
    is_index,
    refuse_dask,
)
from pkex._util.words import pluralise
from pkex.errors import PrecisionWarning
from pkex.explain.fitted import read_model
from pkex.explain.posterior_draws import check_drawable, draw_indices
from pkex.explain.problem import Problem
from pkex.games.atoms import Atoms
from pkex.games.backend import game_class
from pkex.games.blas import single_blas
from pkex.games.layout import as_column_major
from pkex.games.moments import AtomFactors
from pkex.games.plan import Plan
from pkex.games.players import Groups, parse_groups
from pkex.games.variances import VarianceSums, sum_variances
from pkex.kernels.bounded import restrict_to_box
from pkex.kernels.normal_form import bound_gap
from pkex.models.inputs import Inputs, bundle_inputs, from_distributions, from_table, names_in
from pkex.models.noise import EIGHT_ROUNDINGS, FEW_DIGITS
from pkex.models.preparation import prepare_groups
from pkex.models.products import MIXTURE_ERROR
from pkex.models.ranges import categorical_columns, notes_on
from pkex.models.sums import with_names
from pkex.readers.reading import warn_user
from pkex.results.about import About
from pkex.results.sensitivity import Sensitivity
from pkex.tables.dependence import Dependence

__all__ = ["sensitivity"]


_NODES = (32, 1024)  # of a rule for a distribution, at first and at most
_SETTLED = 1e-9  # change of an index at which more nodes are not needed
_CONSTANT = 2.0**-40  # of the mean square: a standard deviation below is that of a constant


@default_errstate
def sensitivity(
    model: Any,
    X: ArrayLike | Mapping[Any, Any],
    *,
    sample_weight: ArrayLike | None = None,
    groups: Groups | None = None,
    order: int = 1,
    outputs: str | None = None,
    task: float | None = None,
    n_draws: int = 0,
    random_state: RandomState = None,
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
        A table gives each column the distribution of its entries; a data frame gives its names to
        a model that was fitted without any. In a mapping every column, by name or number, has a
        range (low, high), a frozen distribution of `scipy.stats`, a sample (a list or array of
        more than two values), or a number, at which it is fixed. Ranges and distributions are
        integrated by a rule; `Sensitivity.error_bound` has what that may cost. The names of a
        mapping for a model without names are those of its columns, in the order of the mapping.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows of a table; equal by default.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that are one input. Of a table they stay together, row by row, so that they may
        depend on each other.
    order : {1, 2}, default 1
        With 2 the indices of all pairs of inputs are computed as well.
    outputs : {"classes", "ovo", "log-odds"}, optional
        What to analyse of a classifier, or the name of an objective, as in `Explainer`.
    task : number, optional
        The task at which a process of several tasks is analysed, as in `Explainer`.
    n_draws : int, default 0
        Of a Gaussian process: how many functions are drawn from its posterior for credible
        intervals of the indices, such as 199. See `Sensitivity.draws` and `Sensitivity.interval`.
        The hyperparameters are taken as known; of a fully Bayesian model or an ensemble each draw
        takes one sample. Kernels may be sums and products of RBF, Matern, rational quadratic,
        Laplacian, Cauchy and constant kernels.
    random_state : int, Generator, RandomState or None
        Seed of the draws.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores.

    Returns
    -------
    Sensitivity
        The indices of every input, with their error bound.

    Raises
    ------
    ValueError
        Among others when a column of categories, or one that the model rounds to integers, has a
        range or a continuous distribution.
    UnsupportedModelError
        When `n_draws` is positive and the model has no posterior, or its kernel no random features.

    See Also
    --------
    pkex.Sensitivity : The result.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import SVR
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> result = pkex.sensitivity(SVR(C=50.0).fit(X, y), X)
    >>> result.feature_names[result.ranking[0]]
    's5'
    >>> float(result.shapley.sum().round(9))
    1.0
    """
    check_n_jobs(n_jobs)
    refuse_dask(X, "X")
    if order not in (1, 2) or isinstance(order, bool):
        raise ValueError(f"order must be 1 or 2, got {brief(order)}.")
    if not is_index(n_draws) or n_draws < 0:
        raise ValueError(f"n_draws must be a non-negative integer, got {brief(n_draws)}.")
    random = as_generator(random_state)
    fitted = read_model(model, outputs, task)
    known = fitted.expansion.feature_names
    names = names_in(fitted.expansion, X) if isinstance(X, Mapping) else column_names(X)
    expansion = with_names(fitted.expansion, names)
    feature_groups, feature_names = parse_groups(groups, expansion.feature_names)
    problem = Problem(fitted._replace(expansion=expansion), feature_groups, feature_names)
    if n_draws:
        check_drawable(problem)
    facts: dict[str, Any] = {}
    if isinstance(X, Mapping):
        if sample_weight is not None:
            raise ValueError(
                "sample_weight needs a table of rows, but X has distributions; leave out "
                "sample_weight."
            )
        has_names = known != default_names("x", len(known))
        sums, inputs, error = _refine_nodes(problem, X, order, n_jobs, has_names)
        facts["input_notes"] = notes_on(expansion, inputs.rows)
        if names is not None:
            order_note = "named in the order of the mapping as the model has no names"
            inputs = replace(inputs, description=f"{inputs.description}, {order_note}")
    else:
        inputs = from_table(expansion, X, sample_weight)
        sums, missed = _sum_variance(problem, inputs, order, n_jobs)
        counted_rows = np.flatnonzero(inputs.weights)
        categorical = categorical_columns(expansion)
        facts["dependence"] = Dependence(inputs.table, counted_rows, categorical)
        problem.check_predictions(X)
        error = _mixture_error(sums, missed)
    facts["inputs"] = inputs.description
    if n_draws:
        facts |= draw_indices(problem, inputs, order, int(n_draws), random, n_jobs)
    return _assemble(problem, sums, error, facts)


def _sum_variance(
    problem: Problem, inputs: Inputs, order: int, n_jobs: int | None
) -> tuple[VarianceSums, Floats]:
    """Return what the variance is made of, for some inputs, and what the function is off by.

    An order of 0 leaves out the Shapley effects.
    """
    expansion, feature_groups = problem.model.expansion, problem.feature_groups
    backend = game_class()  # once for the call
    columns_of, bundles = bundle_inputs(inputs, feature_groups)
    parts, weights = [], []
    missed = np.zeros(expansion.n_outputs)  # what a sum of products may lack of the function
    intercept = np.sum([part.intercept for part in expansion.parts], axis=0)
    for part, rows in zip(expansion.parts, inputs.rows, strict=True):
        alpha, (_, n_columns) = part.alpha, part.shape
        inside = prepare_groups(part, columns_of)
        kernel = restrict_to_box(part.kernel, rows, part.points, MIXTURE_ERROR)
        terms = kernel.terms(n_columns, MIXTURE_ERROR)
        missed += bound_gap(terms, rows, part.points) * np.abs(alpha).sum(axis=0)
        columns, points = as_column_major(rows), as_column_major(part.points)
        atoms = Atoms(Plan.of(terms, inside, general=True), points, backend)
        parts.append((atoms, columns))
        weights.append(atoms.spread(alpha))
    every = AtomFactors(parts, np.concatenate(weights), bundles)
    with single_blas():  # which would have threads beside those of the engine
        sums = sum_variances(every, pairs=order == 2, shapley=order > 0, n_jobs=n_jobs)
    return sums._replace(mean=sums.mean + intercept), missed


def _refine_nodes(
    problem: Problem, X: Any, order: int, n_jobs: int | None, has_names: bool
) -> tuple[VarianceSums, Inputs, float]:
    """Return the sums for distributions, with so many nodes that twice as many change nothing."""
    size, most = _NODES
    before: VarianceSums | None = None
    while True:
        inputs = from_distributions(problem.model.expansion, X, size, has_names=has_names)
        # the first sums are never the last, so they have no more than is compared
        sums, missed = _sum_variance(problem, inputs, 0 if before is None else order, n_jobs)
        if before is not None:
            difference = _largest_difference(before, sums)
            if difference <= _SETTLED or 2 * size > most:
                return sums, inputs, difference + _mixture_error(sums, missed)
        before, size = sums, 2 * size


def _mixture_error(sums: VarianceSums, missed: Floats) -> float:
    """Return what an index may be off by where the function is, by at most `missed` everywhere.

    Every index is ``|P f|^2 / |f|^2`` of the centred function, in the norm of the standard
    deviation: P is a sum of orthogonal projections, one for each set of inputs, times numbers
    between 0 and 1. So for ``f = g + e`` with ``|e| <= r |g|``, and an index ``u^2`` of g, it is
    between ``((u - r) / (1 + r))^2`` and ``((u + r) / (1 - r))^2``. As u is at most 1, it is off by
    at most ``4 r / (1 - r)^2``; and indices lie in [0, 1].
    """
    varies = sums.variance > 0.0
    r = np.minimum(missed[varies] / np.sqrt(sums.variance[varies]), 0.5)
    return float(np.minimum(1.0, 4.0 * r / (1.0 - r) ** 2).max(initial=0.0))


def _largest_difference(before: VarianceSums, after: VarianceSums) -> float:
    """Return the largest change of an index or the variance, in units of the variance.

    Of Shapley effects and pairs of inputs neither is looked at: their parts are parts of the total
    order, in which they count fully.
    """
    scale = np.where(after.variance > 0.0, after.variance, 1.0)
    every = [(sums.first, sums.total, sums.variance) for sums in (before, after)]
    changes = [np.abs(new - old) / scale for old, new in zip(*every, strict=True)]
    return max(float(change.max(initial=0.0)) for change in changes)


def _assemble(
    problem: Problem, sums: VarianceSums, error: float, facts: dict[str, Any]
) -> Sensitivity:
    """Return the indices as shares of the variance, and what they may be off by."""
    noise = EIGHT_ROUNDINGS * sums.magnitudes
    varies = sums.variance > np.maximum(noise, (_CONSTANT * np.abs(sums.mean)) ** 2)
    if not varies.any():
        raise ValueError(
            "the model does not vary over these inputs by more than rounding errors, so there is "
            "no variance to attribute. Check the ranges of X, and whether the model's "
            "coefficients are huge."
        )
    scale = np.where(varies, sums.variance, np.nan)
    digits = float(np.log10(scale / noise)[varies].min())
    if digits < FEW_DIGITS:
        warn_user(
            "the coefficients of this model are so large that rounding errors are visible: about "
            f"{pluralise(math.floor(digits), 'digit')} of the indices are correct. More "
            "regularisation (such as alpha of a Gaussian process), a narrower kernel or removing "
            "duplicate rows makes the coefficients smaller.",
            PrecisionWarning,
        )
    arrays: dict[str, Any] = {
        "first_order": sums.first / scale,
        "total_order": sums.total / scale,
        "shapley": sums.shapley / scale,
        "variance": np.where(varies, sums.variance, 0.0),
        "mean": sums.mean,
    }
    if sums.pairs is not None:
        arrays["second_order"] = sums.pairs / scale
    if len(scale) == 1:  # one output has no axis
        arrays = {name: array[..., 0] for name, array in arrays.items()}
    expansion, classes = problem.model.expansion, problem.model.classes
    about = About(
        problem.feature_names,
        expansion.feature_names,
        problem.feature_groups,
        expansion.output_names,
        output_kind=None if classes is None else classes.output_kind,
    )
    return Sensitivity(about, **arrays, error_bound=error + 10.0**-digits, **facts)
