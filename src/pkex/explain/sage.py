"""`sage`: Shapley values of the mean squared error, exact for each row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState
from pkex._util.types import TableLike
from pkex._util.validation import check_n_jobs, refuse_dask
from pkex.explain.explainer import Explainer
from pkex.explain.loss import as_targets, check_loss, explain_loss
from pkex.explain.samples import draw_rows, take_rows
from pkex.games.players import Groups
from pkex.results.importance import Importance

__all__ = ["sage"]


@default_errstate
def sage(
    model: Any,
    X: TableLike,
    y: ArrayLike,
    *,
    background: TableLike | None = None,
    background_weights: ArrayLike | None = None,
    groups: Groups | None = None,
    max_samples: int | float = 1.0,
    random_state: RandomState = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Importance:
    """Return SAGE values: how much each feature reduces the mean squared error.

    They are means over rows of the exact values of `Explainer.loss` with the product of marginals,
    with their sign turned: they sum to the mean squared error without any feature minus that of the
    model. Removed features are drawn independently of each other. Nothing is sampled.

    Parameters
    ----------
    model : fitted estimator or KernelExpansion
        A regression model that `Explainer` takes.
    X : table of shape (n_rows, n_columns)
        Rows to score the model on, best not those that it was fitted on.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Their targets.
    background : table of shape (n_background, n_columns), optional
        Rows that removed features are averaged over; all rows of `X` by default.
    background_weights : array of shape (n_background,), optional
        Weights of the background rows, positive; equal by default.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that are removed together, such as correlated ones.
    max_samples : int or float, default 1.0
        Number of rows, or part of them, to draw and explain; all by default.
    random_state : int, Generator, RandomState or None
        Draws the rows where not all are explained; nothing else is random.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores.
    progress : bool, default False
        Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

    Returns
    -------
    Importance
        The SAGE values, which may be negative, with standard errors over the rows.

    Raises
    ------
    UnsupportedModelError
        When the model is a classifier; `permutation_importance` takes those.

    Warns
    -----
    PerformanceWarning
        Once the first rows show that all of them take longer than a minute.

    See Also
    --------
    pkex.Explainer.loss : The values of each row.
    pkex.permutation_importance : The increase of any mean loss when a feature is shuffled.
    pkex.Importance : The result.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import SVR
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SVR(C=50.0).fit(X[:100], y[:100])
    >>> importance = pkex.sage(model, X[100:150], y[100:150])
    >>> importance.feature_names[importance.ranking[0]]
    's5'
    """
    check_n_jobs(n_jobs)
    refuse_dask(X, "X")
    refuse_dask(background, "background")
    make = partial(Explainer, model, removal="product-of-marginals", groups=groups)
    try:
        given = X if background is None else background
        problem = make(given, background_weights=background_weights).problem
    except (TypeError, ValueError):
        if background is None:
            make(None).problem.prepare(X)  # whose message is about X
        raise
    check_loss(problem, "sage")
    prepared = problem.prepare(X)
    rows, n_all = prepared.rows, len(prepared.parts[0])
    targets = as_targets(y, n_all, problem.base_value.shape)
    chosen = draw_rows(n_all, max_samples, random_state)
    if chosen is not None:
        rows, targets = take_rows(rows, chosen), targets[chosen]
    losses = explain_loss(problem, rows, targets, n_jobs, progress)
    values, n_rows = 0.0 - losses.values.mean(axis=0), len(losses)  # 0, not -0
    errors = np.full(values.shape, np.nan)
    if n_rows > 1:
        errors = losses.values.std(axis=0, ddof=1) / np.sqrt(n_rows)
    return Importance(
        replace(losses.about, quantity=None),
        values,
        errors,
        values,
        n_rows,
        meaning="SAGE value (mean squared error)",
    )
