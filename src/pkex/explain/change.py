"""`change`: why predictions, or errors, differ between two tables.

With one background for all rows, the Shapley values of a row add up to its prediction less a
constant. So the difference of the mean predictions of two tables is the sum of the differences of
the mean values. With targets the same holds for the squared errors of the rows, whose base values
``(y - base value)^2`` differ as well: that part no feature explains.

Which of these differences are beyond chance is tested by permuting the labels "before" and "after".
That is exact if the values of a row do not depend on the table that it is in: neither by the
background nor by the model, which knows the rows that it was fitted on. `check_rows` looks
for rows of the tables among both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState, as_generator
from pkex._util.types import Floats
from pkex._util.words import SQUARED_ERROR
from pkex.explain.compared_tables import (
    check_explainer,
    check_rows,
    check_table,
    check_tables,
    check_targets,
    check_test,
    pool_rows,
)
from pkex.explain.explainer import Explainer
from pkex.explain.label_tests import LabelTests, compare_columns
from pkex.games.players import Groups
from pkex.results.about import About
from pkex.results.change import Change
from pkex.results.explanation import Explanation

__all__ = ["change"]

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@default_errstate
def change(
    explainer: Any,
    before: Any,
    after: Any,
    *,
    y_before: ArrayLike | None = None,
    y_after: ArrayLike | None = None,
    n_permutations: int = 999,
    random_state: RandomState = None,
    alpha: float = 0.05,
    groups: Groups | None = None,
    outputs: str | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Change:
    """Attribute the difference of a model's predictions between two tables to features.

    The contribution of a feature is the difference of its mean Shapley values; contributions add up
    to the difference of the mean predictions. With targets the difference of the mean squared
    errors is attributed as well, by the values of `Explainer.loss`; see Notes for the tests.

    Parameters
    ----------
    explainer : Explainer, or anything that it takes
        With a fitted model, rows of both tables together serve as background: all of them, or 100
        at random. Removal is interventional; with targets it is the product of marginals, as
        losses take 100 times as long otherwise. With an explainer it is its background and
        removal; the background should have rows of neither table, or of both alike.
    before, after : arrays or data frames of shape (n_rows, n_columns)
        The tables. The model should have been fitted on other rows.
    y_before, y_after : arrays of shape (n_rows,), optional
        Targets of their rows; both or none.
    n_permutations : int, default 999
        Number of permutations of the labels; 0 for no test.
    random_state : int, Generator, RandomState or None
        For permutations, and for the choice of background rows where there are more than 100.
    alpha : float, default 0.05
        The significance level of the verdict.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that are explained as one feature, as in `Explainer`. Not with an explainer, which
        has them already.
    outputs : {"classes", "ovo", "log-odds"}, optional
        What to explain of a classifier, as in `Explainer`. Not with an explainer.
    n_jobs : int or None, default -1
        Number of threads as in joblib. An explainer has its own.
    progress : bool, default False
        Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

    Returns
    -------
    Change
        The differences, the contributions of features, and p-values.

    Raises
    ------
    ValueError
        Among others with targets when one of the tables holds training rows: errors on these are
        smaller than on others, so the test would always find a change.

    See Also
    --------
    pkex.Change : The result.
    pkex.mmd : Compares two tables without a model.
    pkex.Explainer : Explains the rows of one table.

    Notes
    -----
    Each feature has two tests: of the difference of its mean values, and of the distribution of its
    values by the energy distance, as changes of both signs cancel in a mean. The mean prediction is
    tested in the same way, and with targets the loss and the base loss. All tests of all outputs
    are one family. Their p-values are adjusted by step-down maxima of the statistics, standardised
    over all labellings, the observed one included; so the smallest possible p-value is
    ``1 / (n_permutations + 1)`` for any number of features. `Change.p_value` is the smallest one.

    The test is exact for the hypothesis that all rows come from one distribution, if neither
    background nor model depends on which table a row is in. A note says so where rows of one table
    alone are found among background or training rows.

    A contribution can change although the column did not: a feature that interacts with it did, or
    its dependence on others. `pkex.mmd` says which columns changed.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> from sklearn.svm import SVR
    >>> X = np.random.default_rng(0).normal(size=(260, 3))
    >>> model = SVR(C=10.0).fit(X[:60], X[:60, 0] - X[:60, 1])
    >>> before, after = X[60:160], X[160:] + [0.7, 0.0, 0.0]
    >>> change = pkex.change(model, before, after, random_state=0)
    >>> change.significant()
    ('x0',)
    >>> bool(abs(change.contributions.sum() - change.prediction) < 1e-12)
    True
    """
    tables = (before, after)
    counts = [check_table(X, name) for X, name in zip(tables, ("before", "after"), strict=True)]
    n_permutations, alpha = check_test(n_permutations, alpha)
    targets = check_targets((y_before, y_after), counts)
    generator = as_generator(random_state)
    pooled = not isinstance(explainer, Explainer)
    if pooled:
        removal = "product-of-marginals" if targets else "interventional"
        options: Any = {"groups": groups, "outputs": outputs, "n_jobs": n_jobs}
        background = pool_rows(before, after, counts, generator)
        try:
            explainer = Explainer(explainer, background, removal=removal, **options)
        except ValueError:
            check_tables(explainer, tables)  # whose message names the table
            raise
    elif groups is not None or outputs is not None:
        raise ValueError("groups and outputs are those of the explainer: leave them out.")
    check_explainer(explainer, tables, has_targets=bool(targets))
    notes = check_rows(explainer.problem, tables, pooled=pooled, has_targets=bool(targets))
    parts = [[explainer(X, progress=progress) for X in tables]]
    if targets:
        parts.append(
            [explainer.loss(X, y, progress=progress) for X, y in zip(tables, targets, strict=True)]
        )
    about = _describe(parts)
    columns, slack = _stack_columns(parts)
    tests = compare_columns(columns, counts[0], n_permutations, generator, slack)
    fields = _summarise(parts) | _arrange(tests, len(about.feature_names))
    return Change(
        about,
        **fields,
        n_rows=tuple(counts),
        n_permutations=n_permutations,
        alpha=alpha,
        input_notes=tuple(notes),
    )


def _describe(parts: Sequence[Sequence[Explanation]]) -> About:
    """Return what the result is about: the outputs of the model, and the losses."""
    [explanation, _], *losses = parts
    about = explanation.about
    if not losses:
        return about
    names = explanation.output_names or ("prediction",)
    return replace(about, output_names=(*names, SQUARED_ERROR), output_classes=None)


def _with_outputs(array: Floats, axes: int) -> Floats:
    """Return an array with an axis for outputs at the end."""
    return array if array.ndim == axes else array[..., None]


def _stack_columns(parts: Sequence[Sequence[Explanation]]) -> tuple[Floats, Floats]:
    """Return what is tested of all rows: of each output its features, prediction and base value.

    The second array has differences up to which numbers of a column are equal.
    """
    columns, slack = [], []
    for pair in parts:
        values = np.concatenate([_with_outputs(one.values, 3) for one in pair])
        rows = [
            np.concatenate([_with_outputs(getattr(one, name), 2) for one in pair])
            for name in ("predictions", "base_values", "error_bound")
        ]
        predictions, bases, errors = rows
        block = np.concatenate([values, predictions[:, None], bases[:, None]], axis=1)
        columns.append(np.moveaxis(block, 2, 1))
        slack.append(np.repeat(errors.max(axis=0), block.shape[1]))
    table = np.concatenate(columns, axis=1)
    return table.reshape(len(table), -1), np.concatenate(slack)


def _arrange(tests: LabelTests, n_features: int) -> dict[str, Any]:
    """Return distances and p-values by feature and output."""

    def by_output(array: Floats) -> Floats:
        shaped = np.moveaxis(array.reshape(*array.shape[:-1], -1, n_features + 2), -2, -1)
        return shaped[..., 0] if shaped.shape[-1] == 1 else shaped

    fields: dict[str, Any] = {"distances": by_output(tests.distances)[:n_features]}
    if tests.p_values is not None:
        p_values = by_output(tests.p_values)
        fields["p_features"] = p_values[:, :n_features]
        fields["p_totals"], fields["p_bases"] = p_values[:, n_features], p_values[:, n_features + 1]
    return fields


def _summarise(parts: Sequence[Sequence[Explanation]]) -> dict[str, Any]:
    """Return means and quantiles of both tables, and how exact they are."""
    fields: dict[str, Any] = {}
    for k, name in enumerate(("before", "after")):
        each = [pair[k] for pair in parts]
        values = np.concatenate([_with_outputs(one.values, 3) for one in each], axis=2)
        totals = np.concatenate([_with_outputs(one.predictions, 2) for one in each], axis=1)
        bases = np.concatenate([_with_outputs(one.base_values, 2) for one in each], axis=1)
        arrays = {
            f"means_{name}": values.mean(axis=0),
            f"quantiles_{name}": np.quantile(values, _QUANTILES, axis=0),
            f"totals_{name}": totals.mean(axis=0),
            f"bases_{name}": bases.mean(axis=0),
        }
        fields |= {
            key: array[..., 0] if array.shape[-1] == 1 else array for key, array in arrays.items()
        }
    every = [one for pair in parts for one in pair]
    fields["additivity_error"] = float(max(one.additivity_error for one in every))
    fields["error_bound"] = float(max(np.max(np.asarray(one.error_bound)) for one in every))
    return fields
