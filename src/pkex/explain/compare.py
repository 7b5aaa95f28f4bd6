"""`compare`: why a Gaussian process prefers a candidate to an incumbent, or is uncertain about it.

With the incumbent as the single background row, the value of a coalition S is that of the row
with the features in S of the candidate and all others of the incumbent: baseline Shapley values.
Of a draw f from the posterior they add up to ``f(candidate) - f(incumbent)``. Their means are the
values of the posterior mean and their covariances follow from the posterior, both exactly. The
posterior variance of such a row is a sum of products as well, so its values are exact, too. A
standard deviation, and with it an upper confidence bound, is not: the root of a sum of products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.extras import import_optional
from pkex._util.floats import default_errstate
from pkex._util.sparse import is_sparse
from pkex._util.validation import refuse_dask, refuse_masked
from pkex._util.words import pluralise
from pkex.explain.explainer import Explainer
from pkex.explain.posterior import check_posteriors
from pkex.games.players import Groups
from pkex.results.comparison import Comparison, equal_cells

__all__ = ["compare"]

_NAMES = "incumbent", "candidate"


@default_errstate
def compare(
    model: Any,
    candidate: Any,
    incumbent: Any,
    *,
    groups: Groups | None = None,
    outputs: str | None = None,
    task: float | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Comparison:
    """Attribute mean and variance of a Gaussian process at a candidate, from an incumbent.

    For the question of Bayesian optimisation: why this candidate? The values of the mean say which
    features make it better or worse than the incumbent, each with its posterior standard deviation.
    Those of the variance say in which features the model knows less about the candidate.

    Parameters
    ----------
    model : fitted estimator or KernelExpansion
        A Gaussian process that `Explainer` takes; also a mixture of samples, or an ensemble.
    candidate, incumbent : array of shape (n_columns,), table of one row, or mapping
        The two rows, with columns as `Explainer` takes them. A mapping has a value for each column,
        by name. Features that are equal in both are fixed, and have values of 0.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that are explained as one feature, as in `Explainer`.
    outputs : str, optional
        Which outputs to compare, such as an objective by name, as in `Explainer`.
    task : number, optional
        The task at which a process of several tasks is compared, as in `Explainer`.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores.
    progress : bool, default False
        Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

    Returns
    -------
    Comparison
        The values of mean and variance, side by side.

    Raises
    ------
    ValueError
        Among others when both rows are equal in every column.
    UnsupportedModelError
        When the model has no posterior.

    See Also
    --------
    pkex.Comparison : The result.
    pkex.Explainer.explain_variance : Explains the variance with another background.
    pkex.change : Compares the predictions for two tables.

    Notes
    -----
    These are baseline Shapley values: a removed feature has its value in the incumbent. Mean
    and variance are those of the latent function, without observation noise, which is the same in
    both rows. A mixture has the mean of the variances of its samples, and the variance of their
    means. Fixed parameters change nothing for any coalition, so their values are exactly 0.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.random.default_rng(0).uniform(size=(30, 3))
    >>> y = np.sin(3.0 * X[:, 0]) + X[:, 1]
    >>> kernel = RBF([0.5, 1.0, 3.0])
    >>> model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    >>> comparison = pkex.compare(model, candidate=[0.5, 1.5, 0.2], incumbent=[0.4, 0.8, 0.2])
    >>> comparison
    Comparison(3 features, 1 fixed)
      incumbent 1.747 ± 0.058, candidate 1.966 ± 0.32: difference +0.2191 ± 0.32
      ± 1 posterior standard deviation
          incumbent  candidate             mean  variance
      x1        0.8        1.5  +0.1693 ± 0.31   +0.09507
      x0        0.4        0.5  +0.0498 ± 0.053  +0.00499
      x2        0.2        0.2    fixed             fixed
    """
    if isinstance(model, Explainer):
        raise TypeError(
            "compare takes a model, got an Explainer, whose background would not be used: the "
            "incumbent is the background. Pass the model that the explainer was made of."
        )
    rows = {
        name: _as_row(row, name) for name, row in zip(_NAMES, (incumbent, candidate), strict=True)
    }
    background, row = rows.values()
    try:
        explainer = Explainer(
            model, background, groups=groups, outputs=outputs, task=task, n_jobs=n_jobs
        )
    except (TypeError, ValueError):
        explainer = Explainer(model, outputs=outputs, task=task)
        explainer.problem.prepare(background, name=_NAMES[0])  # whose message names the row
        raise
    problem = explainer.problem
    check_posteriors(problem, "compare")
    data = np.concatenate([problem.prepare(one, name=name).data for name, one in rows.items()])
    if all(equal_cells(*cells) for cells in data.T):
        raise ValueError(
            "candidate and incumbent are equal in every column, so there is nothing to compare."
        )
    mean = explainer(row, return_cov=True, progress=progress)
    variance = explainer.explain_variance(row, observation_noise=False, progress=progress)
    assert mean.cov is not None  # it was asked for
    assert mean.error_bound is not None
    assert variance.error_bound is not None
    comparison = Comparison(
        replace(mean.about, background_info="the incumbent", background_dependence=None),
        values=mean.values[0],
        cov=mean.cov[0],
        variance_values=variance.values[0],
        predictions=np.concatenate([mean.base_values, mean.predictions]),
        variances=np.concatenate([variance.base_values, variance.predictions]),
        error_bound=mean.error_bound[0],
        variance_error_bound=variance.error_bound[0],
        data=data,
    )
    return _with_zeros(comparison)


def _as_row(row: Any, name: str) -> Any:
    """Return a table of one row, or raise where there are several."""
    refuse_dask(row, name)
    if is_sparse(row):
        raise TypeError(f"{name} is sparse; pass a dense row, e.g. {name}.toarray().")
    if isinstance(row, Mapping):
        return import_optional("pandas", "pandas").DataFrame([dict(row)])
    if hasattr(row, "iloc") and np.ndim(row) == 1:  # a row of a frame
        return row.to_frame().T.infer_objects()
    row = row.detach().cpu().numpy() if hasattr(row, "detach") else row
    refuse_masked(row, name)
    if isinstance(row, list | tuple | np.ndarray):
        cells = _as_cells(row)
        row = cells[None] if cells.ndim == 1 else cells
    shape: tuple[int, ...] = getattr(row, "shape", ())
    if len(shape) == 2 and shape[0] != 1:
        raise ValueError(
            f"{name} has {pluralise(shape[0], 'row')}; compare takes one. Pass a single row, such "
            f"as {name}[:1], and call compare for each {name}."
        )
    return row


def _as_cells(row: Any) -> NDArray[Any]:
    """Return an array, of objects where text or sequences are among numbers."""
    try:
        cells = np.asarray(row)
    except ValueError:  # sequences of several lengths, which are refused as entries
        return np.asarray(row, dtype=object)
    return np.asarray(row, dtype=object) if cells.dtype.kind in "US" else cells


def _with_zeros(comparison: Comparison) -> Comparison:
    """Return the comparison with values of exactly 0 for what is fixed, which rounding may miss."""
    names = comparison.feature_names
    places = [names.index(name) for name in comparison.fixed]
    arrays = {
        name: getattr(comparison, name).copy() for name in ("values", "cov", "variance_values")
    }
    for array in arrays.values():
        array[places] = 0.0
    arrays["cov"][:, places] = 0.0
    return replace(comparison, **arrays)
