"""`mmd`: which columns two samples differ in."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState, as_generator
from pkex._util.types import Indices
from pkex.games.players import Groups
from pkex.kernels import Kernel
from pkex.results.attribution import Attribution
from pkex.statistics.attribution import attribute_statistic, check_rows
from pkex.statistics.block_mean import Part
from pkex.statistics.options import Options, check_count, document
from pkex.statistics.pair_weights import MMDWeights
from pkex.tables.frames import Table, as_table, stack_tables

__all__ = ["attribute_mmd", "mmd"]


@document
@default_errstate
def mmd(
    X: Any,
    Z: Any,
    *,
    kernel: Kernel | str | None = None,
    removal: str = "product-of-marginals",
    estimator: str = "unbiased",
    groups: Groups | None = None,
    hierarchy: Any = None,
    n_permutations: int = 0,
    block_size: int | None = None,
    tol: float | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Attribution:
    """Attribute the difference of two samples, their squared MMD, to the columns.

    The maximum mean discrepancy is 0 when both samples come from one distribution and positive
    otherwise. The contributions are the exact Shapley values of the columns and sum to it.

    Parameters
    ----------
    X, Z : data frame or array of shape (n_rows, n_columns)
        The samples, with the same columns. Text, categories and booleans in a data frame are
        categorical columns.
    kernel : Kernel or {"median-per-column", "median"}, optional
        A kernel of `pkex.kernels`, for categorical columns over their codes; or the median
        heuristic on both samples together. "median-per-column", the default, has one length scale
        per column, and the units of columns do not matter. "median" has one for all columns, as in
        the paper. Categorical columns then have a `Categorical` factor, wide enough that they
        count about as much as the others.
    removal : {"product-of-marginals", "neutral"}
        How a column is removed. "product-of-marginals", the default: its kernel factor becomes the
        mean of its factors over all pairs of different rows of both samples. A column which has
        the same distribution in both, and is independent of the others in both, then contributes 0
        up to sampling noise. "neutral" (PKeX-Shapley): its kernel factor becomes 1, and a column
        that did not change contributes a negative number when others did. The statistic and its
        p-value are the same.
    estimator : {"unbiased", "biased"}
        The unbiased one leaves out pairs of a row with itself and may be negative; the biased one
        may not.
    $groups
    $hierarchy
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
    hsic : Attribute the dependence of a target on the columns.
    MMDDrift : The same comparison with kept reference data, as an estimator of scikit-learn.

    Notes
    -----
    A p-value is ``(k + 1) / (B + 1)``, where k of the B permutations give a statistic at least as
    large, so it is never 0 and the test is exact. Labels of rows are permuted: the p-value of the
    statistic, and the univariate one of a column, are for the hypothesis that nothing changed, or
    nothing in that column. Of more than 1024 rows, a few at a time, drawn at random within a
    sample, are permuted together, which is exact as well and saves time.

    The contribution of a column that did not change is not 0 by labels when others did change. So
    the p-value of a contribution is the larger one of two: by labels, and by permuting that column
    alone over all rows, which is exact for a column that has the same distribution in both samples
    and is independent of the others in both, whatever those do. The second test is left out where
    the first is above 0.1, stops early when the answer is clear, and of more than 2000 rows looks
    at 1500 (`Attribution.n_test_rows`). Under neutral removal p-values are by labels alone.

    Examples
    --------
    >>> import numpy as np
    >>> import pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(100, 3)), rng.normal(size=(120, 3))
    >>> Z[:, 1] += 1.0
    >>> attribution = pkex.mmd(X, Z, n_permutations=199, random_state=0)
    >>> attribution.p_value, attribution.p_values[1]
    (0.005, np.float64(0.005))
    >>> bool(abs(attribution.contributions.sum() - attribution.statistic) < 1e-15)
    True
    """
    options = Options(
        kernel=kernel,
        removal=removal,
        estimator=estimator,
        groups=groups,
        hierarchy=hierarchy,
        n_permutations=n_permutations,
        block_size=block_size,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    return attribute_mmd(as_table(X, "X"), as_table(Z, "Z"), options, titles=("X", "Z"))


def attribute_mmd(
    first: Table,
    second: Table,
    options: Options,
    *,
    titles: tuple[str, str],
    test_columns: bool = True,
) -> Attribution:
    """Do the work of `mmd`; messages and plots call the samples by `titles`.

    Without `test_columns` columns are not permuted alone, so that their shares are not tested.
    """
    table = stack_tables(first, second, titles)
    n, m = len(first.cells), len(second.cells)
    is_biased = options.estimator == "biased"
    fewest = 1 if is_biased else 2
    check_rows((n, m), titles, fewest, "to compare its rows with each other")
    random = as_generator(options.random_state)
    blocks = [
        Part(rows, MMDWeights(size, len(rows) - size, is_biased))
        for rows, size in _cut_samples(n, m, options.block_size, random)
    ]
    return attribute_statistic(
        table,
        blocks,
        random,
        options,
        statistic="MMD^2",
        samples=(first.cells, second.cells),
        sample_names=titles,
        test_columns=test_columns,
    )


def _cut_samples(
    n: int, m: int, block_size: int | None, random: np.random.Generator
) -> list[tuple[Indices, int]]:
    """Return the rows of each block, with how many of them, which come first, are of X."""
    if block_size is None:
        return [(np.arange(n + m), n)]
    check_count(block_size, "block_size", 4)
    n_blocks = max(1, min(-(-(n + m) // block_size), min(n, m) // 2))
    x = np.array_split(random.permutation(n), n_blocks)
    z = np.array_split(n + random.permutation(m), n_blocks)
    return [(np.concatenate([a, b]), len(a)) for a, b in zip(x, z, strict=True)]
