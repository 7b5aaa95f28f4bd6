"""`mmd`: which columns two samples differ in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState, as_generator
from pkex._util.types import Indices
from pkex._util.validation import check_count
from pkex.games.backend import game_class
from pkex.games.players import Groups, parse_groups
from pkex.kernels import Kernel
from pkex.results.attribution import Attribution
from pkex.results.family import verdict_of
from pkex.statistics.attribution import attribute_statistic, check_rows, make_source
from pkex.statistics.block_mean import Part
from pkex.statistics.options import Options, document
from pkex.statistics.pair_weights import MMDWeights
from pkex.tables.frames import (
    Table,
    as_table,
    changed_categories,
    drop_missing,
    stack_tables,
)

__all__ = ["Compared", "attribute_mmd", "compare_tables", "mmd", "p_value_of"]


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
    missing: str = "separate",
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
        categorical columns. Dates and durations are numbers of days.
    kernel : Kernel or {"median-per-column", "median"}, optional
        A kernel of `pkex.kernels`, for categorical columns over their codes; or the median
        heuristic on both samples together. "median-per-column", the default, has one length scale
        per column, and the units of columns do not matter. "median" has one for all columns, as in
        the paper. Categorical columns then have a `Categorical` factor, wide enough that they
        count about as much as the others; by itself such a column is tested as by chi-squared.
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
    hsic : Attribute the dependence of a target on the columns.
    MMDDrift : The same comparison with kept reference data, as an estimator of scikit-learn.

    Notes
    -----
    A p-value is ``(k + 1) / (B + 1)``, where k of the B permutations give a statistic at least as
    large, so it is never 0 and the test is exact. Labels of rows are permuted: the p-value of the
    statistic, and the univariate one of a column, are for the hypothesis that nothing changed, or
    nothing in that column. Of more than 1024 rows, a few at a time, drawn at random within a
    sample, are permuted together, and of a sample that is much larger than the other one only some
    rows are exchanged; both are exact as well and save time.

    ``p_value``, the p-value of the verdict, is that of one test of a small family: the difference
    of all columns together under several kernels (RBFs of several widths, a Laplacian kernel, the
    energy distance), and the column that differs most by itself. With a kernel that is given, it is
    that kernel and the columns. `Attribution.detected_by` says which member speaks most clearly.
    Contributions are those of the statistic under the kernel of `kernel`.

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
        missing=missing,
        n_permutations=n_permutations,
        block_size=block_size,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    allowed = missing != "refuse"
    first, second = as_table(X, "X", missing=allowed), as_table(Z, "Z", missing=allowed)
    return attribute_mmd(compare_tables(first, second, options, ("X", "Z")), options)


class Compared(NamedTuple):
    """Two samples, ready to be compared."""

    table: Table
    """Both, one above the other."""
    samples: tuple[Table, Table]
    blocks: list[Part]
    titles: tuple[str, str]
    """What messages and plots call the samples."""
    random: np.random.Generator


def compare_tables(
    first: Table, second: Table, options: Options, titles: tuple[str, str]
) -> Compared:
    """Return both samples with the weights of their pairs; check that they can be compared."""
    if options.missing == "drop":
        [first], [second] = (
            drop_missing([table], [title])
            for table, title in zip((first, second), titles, strict=True)
        )
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
    samples = [replace(each, categorical=table.categorical) for each in (first, second)]
    return Compared(table, (samples[0], samples[1]), blocks, titles, random)


def attribute_mmd(compared: Compared, options: Options) -> Attribution:
    """Do the work of `mmd`."""
    first, second = compared.samples
    return attribute_statistic(
        compared.table,
        compared.blocks,
        compared.random,
        options,
        statistic="MMD^2",
        samples=(first.cells, second.cells),
        sample_names=compared.titles,
        categories=changed_categories(first, second) if any(first.categorical) else ({}, {}),
    )


def p_value_of(compared: Compared, options: Options) -> float:
    """Return the p-value that `attribute_mmd` gives, without any contribution."""
    feature_groups, _ = parse_groups(options.groups, compared.table.names)
    source, _ = make_source(compared.table, compared.blocks, options, feature_groups)
    tests = source.test_labels(options.n_permutations, compared.random, backend=game_class())
    assert tests.joint is not None
    return verdict_of(tests.joint, source.members.names, tests.univariate).p_value


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
