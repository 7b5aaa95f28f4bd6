"""`mmd`: which columns two samples differ in."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkex._util.floats import usual_errors
from pkex._util.random import RandomState, generator
from pkex._util.types import Indices
from pkex.games.players import Groups
from pkex.kernels import Kernel
from pkex.results.attribution import Attribution
from pkex.statistics.attributed import (
    ESTIMATORS,
    attributed,
    check_choice,
    check_count,
    check_rows,
)
from pkex.statistics.block_mean import Part
from pkex.statistics.pair_weights import MMDWeights
from pkex.tables.frames import Table, as_table, stacked

__all__ = ["mmd", "mmd_of_tables"]


@usual_errors
def mmd(
    X: Any,
    Z: Any,
    *,
    kernel: Kernel | str | None = None,
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
    """Attribute the difference of two samples, their squared MMD, to the columns.

    The maximum mean discrepancy is 0 when both samples come from one distribution and positive
    otherwise; the values are the exact Shapley values of the columns and sum to it.

    Parameters
    ----------
    X, Z : data frame or array of shape (n_rows, n_columns)
        The samples, with the same columns. Text, categories and booleans in a data frame are
        categorical columns.
    kernel : Kernel or {"median-per-column", "median"}, optional
        A kernel of `pkex.kernels`, for categorical columns over their codes; or the median
        heuristic on both samples together, for one length scale per column (the default), so that
        the units of columns do not matter, or one for all columns, as in the paper. Categorical
        columns then have a `Categorical` factor, wide enough that they count about as much as the
        others.
    removal : {"marginal", "neutral"}
        What it means that a column is absent. "marginal", the default: its kernel factor is the
        mean of its factors over all pairs of different rows of both samples, so that a column
        which has the same distribution in both, and is independent of the others in both, has a
        share of 0 but for chance. "neutral", the paper's: its factor becomes 1, and a column that
        did not change has a negative share when others did. The statistic and its p-value are the
        same.
    estimator : {"unbiased", "biased"}
        The unbiased one leaves out pairs of a row with itself and may be negative; the biased one
        may not.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that act as one player, as in `Explainer`.
    n_permutations : int, default 0
        Number of permutations of the rows for p-values; see Notes. To find one of k columns at
        5 % they should be 40 k: adjusted by Holm, none is below ``k / (n_permutations + 1)``.
    block_size : int, optional
        Cut both samples at random into disjoint blocks of about this many rows together, and
        return the mean over the blocks with its standard error. For samples beyond about 20 000
        rows, as the time grows with the square of their size.
    tol : float, optional
        Accepted relative error per pair; full double precision by default.
    random_state : int, Generator, RandomState or None
        For permutations and blocks. Values without them do not depend on chance.
    n_jobs : int or None, default -1
        Number of threads as in joblib.
    progress : bool, default False
        Whether to show a progress bar on long runs; needs tqdm.

    Returns
    -------
    Attribution

    Notes
    -----
    A p-value is ``(k + 1) / (B + 1)``, where k of the B permutations give a statistic at least as
    large, so it is never 0 and the test is exact. Labels of rows are permuted: the p-value of the
    statistic, and of a column `alone`, is for the hypothesis that nothing changed, or not in that
    column. Of more than 1024 rows, a few at a time, drawn at random within a sample, are permuted
    together, which is exact as well and saves time.

    The share of a column that did not change is not 0 by labels when others did change. So the
    p-value of a share is the larger one of two: by labels, and by permuting that column alone over
    all rows, which is exact for a column that has the same distribution in both samples and is
    independent of the others in both, whatever those do. The second test is left out where the
    first is above 0.1, stops early when the answer is clear, and of more than 2000 rows looks at
    1500 (`Attribution.n_test_rows`). Under neutral removal p-values are by labels alone.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(100, 3)), rng.normal(size=(120, 3))
    >>> Z[:, 1] += 1.0
    >>> attribution = pkex.mmd(X, Z, n_permutations=199, random_state=0)
    >>> attribution.p_value, attribution.p_values[1]
    (0.005, np.float64(0.005))
    >>> bool(abs(attribution.values.sum() - attribution.total) < 1e-15)
    True
    """
    return mmd_of_tables(
        as_table(X, "X"),
        as_table(Z, "Z"),
        titles=("X", "Z"),
        kernel=kernel,
        removal=removal,
        estimator=estimator,
        groups=groups,
        n_permutations=n_permutations,
        block_size=block_size,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


@usual_errors
def mmd_of_tables(
    first: Table,
    second: Table,
    *,
    titles: tuple[str, str],
    kernel: Kernel | str | None = None,
    removal: str = "marginal",
    estimator: str = "unbiased",
    groups: Groups | None = None,
    n_permutations: int = 0,
    block_size: int | None = None,
    tol: float | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = -1,
    progress: bool = False,
    columns: bool = True,
) -> Attribution:
    """Do the work of `mmd`; messages and plots call the samples by `titles`.

    With `columns` false columns are not permuted alone, so that their shares are not tested.
    """
    check_choice(estimator, "estimator", ESTIMATORS)
    table = stacked(first, second, titles)
    fewest = 1 if estimator == "biased" else 2
    for sample, name in zip((first, second), titles, strict=True):
        check_rows(len(sample), name, fewest, "to compare its rows with each other")
    random = generator(random_state)
    made = [
        Part(rows, MMDWeights(n, len(rows) - n, estimator == "biased"))
        for rows, n in _mmd_blocks(len(first), len(second), block_size, random)
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
        columns=columns,
        statistic="MMD^2",
        estimator=estimator,
        block_size=block_size,
        samples=(first.cells, second.cells),
        sample_names=titles,
    )


def _mmd_blocks(
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
