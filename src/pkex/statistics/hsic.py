"""`hsic`: which columns a target depends on."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkex._util.floats import usual_errors
from pkex._util.random import RandomState, generator
from pkex._util.types import Floats, Indices
from pkex.games.players import Groups
from pkex.kernels import Categorical, Kernel
from pkex.results.attribution import Attribution
from pkex.statistics.attributed import (
    ESTIMATORS,
    attributed,
    check_choice,
    check_count,
    check_kernel,
    check_rows,
    check_varies,
    heuristic_of,
)
from pkex.statistics.block_mean import Part
from pkex.statistics.pair_weights import HSICWeights
from pkex.tables.frames import Table, as_table, codes

__all__ = ["hsic"]


@usual_errors
def hsic(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | str | None = None,
    target_kernel: Kernel | str | None = None,
    removal: str = "marginal",
    estimator: str = "unbiased",
    groups: Groups | None = None,
    n_permutations: int = 0,
    block_size: int | None = None,
    tol: float | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Attribution:
    """Attribute the dependence of a target on the columns, their HSIC, to the columns.

    The Hilbert-Schmidt independence criterion is 0 when target and columns are independent and
    positive otherwise; the values are the exact Shapley values of the columns and sum to it. With
    the roles exchanged, ``hsic(Y, X)``, the same dependence is attributed to the columns of Y.

    Parameters
    ----------
    X : data frame or array of shape (n_rows, n_columns)
        As in `mmd`.
    y : series, data frame or array of shape (n_rows,) or (n_rows, n_targets)
        Numbers, or categories (text, categories and booleans).
    kernel : Kernel or {"median-per-column", "median"}, optional
        The kernel of X, as in `mmd`.
    target_kernel : Kernel or {"median-per-column", "median", "categorical"}, optional
        The kernel of y. By default a target of categories has the kernel that is 1 for equal ones
        and 0 for others, and one of numbers an RBF with the median heuristic. "categorical" treats
        numbers as categories: use it for class labels 0, 1, 2, ...
    removal : {"marginal", "neutral"}
        As in `mmd`: by default an absent column has its mean factor over all pairs of different
        rows, so that one which is independent of the others and the target jointly has a share of
        0 but for chance.
    estimator : {"unbiased", "biased"}
        The unbiased one is that of Song et al. (2012), which needs four rows; the biased one is
        ``tr(K H L H) / (n - 1)^2``, as in the paper, which gives irrelevant columns a share of
        order 1/n.
    groups, n_permutations, block_size, tol, random_state, n_jobs, progress
        As in `mmd`; y is permuted where `mmd` permutes labels. Of more than 1024 rows with few
        classes, a few of one class are permuted together.

    Returns
    -------
    Attribution

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X[:, 2] ** 2 + 0.1 * rng.normal(size=100)
    >>> attribution = pkex.hsic(X, y, n_permutations=199, random_state=0)
    >>> attribution.feature_names[attribution.values.argmax()], attribution.p_value
    ('x2', 0.005)
    """
    check_choice(estimator, "estimator", ESTIMATORS)
    table, target = as_table(X, "X"), as_table(y, "y", prefix="y", vector=True)
    if len(table) != len(target):
        raise ValueError(
            f"X has {len(table)} rows and y has {len(target)}; y needs one entry for each row of X."
        )
    fewest = 4 if estimator == "unbiased" else 2
    check_rows(len(table), "X", fewest, f"for the {estimator} estimator")
    numbers = codes(target)
    check_varies(numbers, "y is constant: nothing can depend on it.")
    random = generator(random_state)
    kernel_of_y = _target_kernel(target_kernel, target, numbers)
    made = [
        Part(rows, HSICWeights(numbers[rows], kernel_of_y, estimator == "biased"))
        for rows in _hsic_blocks(len(table), fewest, block_size, random)
    ]
    return attributed(
        table,
        kernel,
        made,
        n_permutations,
        random,
        removal=removal,
        groups=groups,
        tol=tol,
        n_jobs=n_jobs,
        progress=progress,
        columns=True,
        statistic="HSIC",
        estimator=estimator,
        block_size=block_size,
        samples=(table.cells, target.cells),
        sample_names=target.names,
        target_kernel=kernel_of_y,
    )


def _target_kernel(kernel: Kernel | str | None, target: Table, numbers: Floats) -> Kernel:
    if isinstance(kernel, Kernel):
        check_kernel(kernel, numbers, "y", target.names)
        return kernel
    if kernel == "categorical" or (kernel is None and all(target.categorical)):
        return Categorical()
    return heuristic_of(kernel, "target_kernel", target, numbers).kernel


def _hsic_blocks(
    n: int, fewest: int, block_size: int | None, random: np.random.Generator
) -> list[Indices]:
    if block_size is None:
        return [np.arange(n)]
    check_count(block_size, "block_size", fewest)
    n_blocks = max(1, min(-(-n // block_size), n // fewest))
    return np.array_split(random.permutation(n), n_blocks)
