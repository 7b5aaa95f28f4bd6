"""`mmd` and `hsic`: which columns make two samples differ, and which a target depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._floats import usual_errors
from pkex._random import RandomState, generator
from pkex._validation import brief, is_index, tolerance
from pkex.attribution import Attribution
from pkex.estimate import BlockMean, ColumnTests
from pkex.games.players import Groups, players_of
from pkex.games.threads import check_n_jobs
from pkex.kernels import Categorical, Kernel
from pkex.kernels.algebra import Term, has_neutral_removal
from pkex.kernels.heuristic import NAMES, Heuristic
from pkex.rules import FULL_PRECISION
from pkex.tables.frames import Table, as_table, codes, stacked
from pkex.weights import HSICWeights, MMDWeights, Weights

__all__ = ["hsic", "mmd", "mmd_of_tables"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_TARGET_KERNELS = (*NAMES, "categorical")
_ESTIMATORS = ("unbiased", "biased")
_REMOVALS = ("marginal", "neutral")
_TESTED = 0.1  # the p-value by labels up to which a column is also tested by itself
_CHECKED = 50  # rows on which a kernel is checked to be symmetric


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
        Number of permutations of the rows for p-values; see Notes.
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
    column. Of more than 1536 rows, a few at a time, drawn at random within a sample, are permuted
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

    With `columns` false only the statistic is tested, not the columns.
    """
    _choice(estimator, "estimator", _ESTIMATORS)
    table = stacked(first, second, titles)
    fewest = 1 if estimator == "biased" else 2
    for sample, name in zip((first, second), titles, strict=True):
        _enough_rows(len(sample), name, fewest, "to compare its rows with each other")
    random = generator(random_state)
    made = [
        (rows, MMDWeights(n, len(rows) - n, estimator == "biased"))
        for rows, n in _mmd_blocks(len(first), len(second), block_size, random)
    ]
    return _attribution(
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
        As in `mmd`; y is permuted where `mmd` permutes labels.

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
    _choice(estimator, "estimator", _ESTIMATORS)
    table, target = as_table(X, "X"), as_table(y, "y", prefix="y", vector=True)
    if len(table) != len(target):
        raise ValueError(
            f"X has {len(table)} rows and y has {len(target)}; y needs one entry for each row of X."
        )
    fewest = 4 if estimator == "unbiased" else 2
    _enough_rows(len(table), "X", fewest, f"for the {estimator} estimator")
    numbers = codes(target)
    _not_constant(numbers, "y is constant: nothing can depend on it.")
    random = generator(random_state)
    kernel_of_y = _target_kernel(target_kernel, target, numbers)
    made = [
        (rows, HSICWeights(numbers[rows], kernel_of_y, estimator == "biased"))
        for rows in _hsic_blocks(len(table), fewest, block_size, random)
    ]
    return _attribution(
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


def _attribution(
    table: Table,
    kernel: Kernel | str | None,
    blocks: Sequence[tuple[Indices, Weights]],
    n_permutations: int,
    random: np.random.Generator,
    *,
    removal: str,
    groups: Groups | None,
    tol: float | None,
    n_jobs: int | None,
    progress: bool,
    columns: bool,
    statistic: str,
    estimator: str,
    block_size: int | None,
    samples: tuple[NDArray[Any], NDArray[Any]],
    sample_names: tuple[str, ...],
    target_kernel: Kernel | None = None,
) -> Attribution:
    """Return the attribution of the mean over the blocks."""
    _choice(removal, "removal", _REMOVALS)
    _count(n_permutations, "n_permutations", 0)
    check_n_jobs(n_jobs)
    numbers = codes(table)
    _not_constant(numbers, "all columns are constant: there is nothing to attribute.")
    players, names = players_of(groups, table.names)
    chosen, alone = _resolve_kernel(kernel, table, numbers, players, removal)
    source = BlockMean(
        numbers,
        chosen.terms(numbers.shape[1]),
        alone,
        players,
        tuple(blocks),
        removal == "marginal",
        tolerance(tol, FULL_PRECISION),
        n_jobs,
    )
    found = source.estimate(n_permutations, random, progress, alone=columns)
    several = len(blocks) > 1
    attribution = Attribution(
        statistic=statistic,
        estimator=estimator,
        removal=removal,
        values=found.values,
        null_values=found.null_values if n_permutations else None,
        standard_error=found.standard_error if several else None,
        standard_errors=found.standard_errors if several else None,
        feature_names=names,
        column_names=table.names,
        categorical=table.categorical,
        players=players,
        kernel=chosen,
        target_kernel=target_kernel,
        block_size=block_size,
        rounding=found.rounding,
        residual=found.residual,
        rule=found.rules[0],
        rules=found.rules,
        samples=samples,
        sample_names=sample_names,
        _source=source,
        _alone=found.alone,
        _column_tests=None,
    )
    if not (n_permutations and columns and removal == "marginal"):
        return attribution
    return replace(
        attribution, _column_tests=_column_tests(attribution, source, n_permutations, random)
    )


def _column_tests(
    found: Attribution, source: BlockMean, n_permutations: int, random: np.random.Generator
) -> ColumnTests:
    """Test the columns by themselves that labels do not clear."""
    assert found.p_values is not None
    wanted = np.flatnonzero(found.p_values <= _TESTED).tolist()
    return source.test_columns(wanted, n_permutations, random)


def _resolve_kernel(
    kernel: Kernel | str | None,
    table: Table,
    numbers: Floats,
    players: Sequence[Sequence[int]],
    removal: str,
) -> tuple[Kernel, tuple[Term, ...]]:
    """Return the kernel, and terms whose factors are the kernels of the players by themselves.

    These are the same for a kernel that is given; the median heuristic makes a player by itself
    wider.
    """
    if isinstance(kernel, Kernel):
        _check_kernel(kernel, numbers, "the data")
        if removal == "neutral" and not has_neutral_removal(kernel):
            raise ValueError(
                f"{brief(kernel)} has a linear part, which has no value without a column; choose a "
                "kernel that is 1 for equal values, such as RBF, or removal='marginal'."
            )
        return kernel, kernel.terms(numbers.shape[1])
    heuristic = _heuristic(kernel, "kernel", table, numbers)
    return heuristic.kernel, (heuristic.alone(players),)


def _heuristic(kernel: str | None, name: str, table: Table, numbers: Floats) -> Heuristic:
    if kernel is not None:
        known = _TARGET_KERNELS if name == "target_kernel" else NAMES
        _choice(kernel, name, known, "a kernel of pkex.kernels")
    return Heuristic(numbers, table.categorical, kernel != "median")


def _check_kernel(kernel: Kernel, numbers: Floats, name: str) -> None:
    """Refuse a kernel that does not fit the data, or, if it is of the user's own, is no kernel."""
    kernel.terms(numbers.shape[1])  # refuses columns that are not there
    kernel.check(numbers, name)
    matrix = kernel(numbers[:_CHECKED])
    if np.isfinite(matrix).all() and not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise ValueError(
            f"{brief(kernel)} is not symmetric: k(x, z) and k(z, x) differ on the rows of {name}, "
            "so the statistic would depend on the order of the rows."
        )


def _target_kernel(kernel: Kernel | str | None, target: Table, numbers: Floats) -> Kernel:
    if isinstance(kernel, Kernel):
        _check_kernel(kernel, numbers, "y")
        return kernel
    if kernel == "categorical" or (kernel is None and all(target.categorical)):
        return Categorical()
    return _heuristic(kernel, "target_kernel", target, numbers).kernel


def _mmd_blocks(
    n: int, m: int, block_size: int | None, random: np.random.Generator
) -> list[tuple[Indices, int]]:
    """Return the rows of each block, with how many of them, which come first, are of X."""
    if block_size is None:
        return [(np.arange(n + m), n)]
    _count(block_size, "block_size", 4)
    n_blocks = max(1, min(-(-(n + m) // block_size), min(n, m) // 2))
    x = np.array_split(random.permutation(n), n_blocks)
    z = np.array_split(n + random.permutation(m), n_blocks)
    return [(np.concatenate([a, b]), len(a)) for a, b in zip(x, z, strict=True)]


def _hsic_blocks(
    n: int, fewest: int, block_size: int | None, random: np.random.Generator
) -> list[Indices]:
    if block_size is None:
        return [np.arange(n)]
    _count(block_size, "block_size", fewest)
    n_blocks = max(1, min(-(-n // block_size), n // fewest))
    return np.array_split(random.permutation(n), n_blocks)


def _count(value: Any, name: str, least: int) -> int:
    if not is_index(value) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {brief(value)}.")
    return int(value)


def _choice(value: object, name: str, options: tuple[str, ...], other: str = "") -> None:
    if not isinstance(value, str) or value not in options:
        *known, last = [*map(repr, options), *([other] if other else [])]
        raise ValueError(f"{name} must be {', '.join(known)} or {last}; got {brief(value)}.")


def _enough_rows(found: int, name: str, needed: int, purpose: str) -> None:
    if found < needed:
        rows = "1 row" if found == 1 else f"{found} rows"
        raise ValueError(f"{name} has {rows}; at least {needed} are needed {purpose}.")


def _not_constant(numbers: Floats, message: str) -> None:
    if (numbers == numbers[0]).all():
        raise ValueError(message)
