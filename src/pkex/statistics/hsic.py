"""`hsic`: which columns a target depends on."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState, as_generator
from pkex._util.types import Indices
from pkex._util.validation import check_count
from pkex.games.players import Groups
from pkex.kernels import Categorical, Kernel
from pkex.results.attribution import Attribution
from pkex.statistics.attribution import (
    attribute_statistic,
    check_kernel,
    check_rows,
    check_varies,
    choose_heuristic,
)
from pkex.statistics.block_mean import Part
from pkex.statistics.missing import Encoded, encode
from pkex.statistics.options import Options, document
from pkex.statistics.target_weights import HSICWeights
from pkex.tables.frames import as_table, drop_missing

__all__ = ["hsic"]


@document
@default_errstate
def hsic(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | str | None = None,
    target_kernel: Kernel | str | None = None,
    removal: str = "product-of-marginals",
    estimator: str = "unbiased",
    groups: Groups | None = None,
    hierarchy: Any = None,
    missing: str = "separate",
    n_permutations: int = 0,
    block_size: int | None = None,
    tol: float | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Attribution:
    """Attribute the dependence of a target on the columns, their HSIC, to the columns.

    The Hilbert-Schmidt independence criterion is 0 when target and columns are independent and
    positive otherwise. The contributions are the exact Shapley values of the columns and sum to
    it. With the roles exchanged, ``hsic(Y, X)``, the same dependence is attributed to the columns
    of Y.

    Parameters
    ----------
    X : data frame or array of shape (n_rows, n_columns)
        The columns, as in `mmd`.
    y : series, data frame or array of shape (n_rows,) or (n_rows, n_targets)
        Numbers, or categories (text, categories and booleans).
    kernel : Kernel or {"median-per-column", "median"}, optional
        The kernel of X, as in `mmd`.
    target_kernel : Kernel or {"median-per-column", "median", "categorical"}, optional
        The kernel of y. By default a target of categories has the kernel that is 1 for equal ones
        and 0 for others, and one of numbers an RBF with the median heuristic. "categorical" treats
        numbers as categories: use it for class labels 0, 1, 2, ...
    removal : {"product-of-marginals", "neutral"}
        How a column is removed, as in `mmd`. By default its kernel factor becomes its mean over
        all pairs of different rows. A column which is independent of the others and the target
        jointly then contributes 0 up to sampling noise.
    estimator : {"unbiased", "biased"}
        The unbiased one is that of Song et al. (2012), which needs four rows; the biased one is
        ``tr(K H L H) / (n - 1)^2``, as in the paper, which gives irrelevant columns a contribution
        of order 1/n.
    $groups
    $hierarchy
    $missing
    $n_permutations
    $block_size
    $tol
    $random_state
    $n_jobs
    $progress

    Returns
    -------
    Attribution
        The statistic with the contribution of every column, and p-values if permutations were
        asked for.

    See Also
    --------
    mmd : Attribute the difference of two samples to the columns.
    HSICSelector : Select columns by HSIC in a pipeline of scikit-learn.

    Notes
    -----
    P-values are those of `mmd`; the target is permuted where `mmd` permutes labels. Of more than
    1024 rows with few classes, a few of one class are permuted together.

    Examples
    --------
    >>> import numpy as np
    >>> import pkex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X[:, 2] ** 2 + 0.1 * rng.normal(size=100)
    >>> attribution = pkex.hsic(X, y, n_permutations=199, random_state=0)
    >>> attribution.feature_names[attribution.contributions.argmax()], attribution.p_value
    ('x2', 0.005)
    """
    options = Options(
        kernel=kernel,
        removal=removal,
        estimator=estimator,
        groups=groups,
        hierarchy=hierarchy,
        missing=missing,
        n_permutations=n_permutations,
        block_size=block_size,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    table = as_table(X, "X", missing=missing != "refuse")
    target = as_table(y, "y", prefix="y", vector=True, missing=missing == "drop")
    if len(table) != len(target):
        raise ValueError(
            f"X has {len(table)} rows and y has {len(target)}; y needs one entry for each row of X."
        )
    if missing == "drop":
        table, target = drop_missing([table, target], ["X", "y"])
    is_biased = estimator == "biased"
    fewest = 2 if is_biased else 4
    check_rows((len(table),), ("X",), fewest, f"for the {estimator} estimator")
    data = encode(target, [range(len(target.names))])
    numbers = data.numbers
    check_varies(numbers, "y is constant: nothing can depend on it.")
    random = as_generator(random_state)
    kernel_of_y = _choose_target_kernel(target_kernel, data)
    blocks = [
        Part(rows, HSICWeights(numbers[rows], kernel_of_y, is_biased))
        for rows in _cut_rows(len(table), fewest, block_size, random)
    ]
    return attribute_statistic(
        table,
        blocks,
        random,
        options,
        statistic="HSIC",
        samples=(table.cells, target.cells),
        sample_names=target.names,
        target_kernel=kernel_of_y,
    )


def _choose_target_kernel(kernel: Kernel | str | None, target: Encoded) -> Kernel:
    if isinstance(kernel, Kernel):
        check_kernel(kernel, target.numbers, "y", target.names)
        return kernel
    if kernel == "categorical" or (kernel is None and all(target.categorical)):
        return Categorical()
    return choose_heuristic(kernel, "target_kernel", target).kernel


def _cut_rows(
    n: int, fewest: int, block_size: int | None, random: np.random.Generator
) -> list[Indices]:
    if block_size is None:
        return [np.arange(n)]
    check_count(block_size, "block_size", fewest)
    n_blocks = max(1, min(-(-n // block_size), n // fewest))
    return np.array_split(random.permutation(n), n_blocks)
