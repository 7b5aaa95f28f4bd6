"""What `mmd` and `hsic` share: from a table, a kernel and pair weights to an attribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.p_values import permutation_p
from pkex._util.types import Floats, Players
from pkex._util.validation import brief
from pkex.games.backend import game_class
from pkex.games.hierarchy import Hierarchy
from pkex.games.hierarchy_input import check_hierarchy, parse_hierarchy
from pkex.games.measures import Shapley
from pkex.games.plan import Plan
from pkex.games.players import parse_groups
from pkex.kernels import Kernel
from pkex.kernels.heuristic import NAMES, Heuristic, check_widths
from pkex.kernels.normal_form import Term
from pkex.kernels.sizes import check_sizes, size_limits
from pkex.results.about import About
from pkex.results.attribution import Attribution, describe_removal
from pkex.statistics.block_mean import BlockMean, Part
from pkex.statistics.options import Options, check_choice
from pkex.tables.dependence import Dependence
from pkex.tables.frames import Table, codes

__all__ = [
    "attribute_statistic",
    "check_kernel",
    "check_rows",
    "check_varies",
    "choose_heuristic",
]


_TARGET_KERNELS = (*NAMES, "categorical")
_TESTED = 0.1  # the p-value by labels up to which a column is also tested by itself
_LARGE = 2**23  # pairs of all features take some milliseconds; 32 permutations count as one
_CHECKED = 50  # rows on which a kernel is checked to be symmetric


def attribute_statistic(
    table: Table,
    blocks: Sequence[Part],
    random: np.random.Generator,
    options: Options,
    *,
    statistic: str,
    samples: tuple[NDArray[Any], NDArray[Any]],
    sample_names: tuple[str, ...],
    target_kernel: Kernel | None = None,
    test_columns: bool = True,
) -> Attribution:
    """Return the attribution of the mean over the blocks."""
    numbers = codes(table)
    feature_groups, names = parse_groups(options.groups, table.names)
    hierarchy = _choose_hierarchy(options, table, numbers, feature_groups, names)
    measure = Shapley() if hierarchy is None or hierarchy.is_flat else hierarchy
    check_varies(numbers, "all columns are constant: there is nothing to attribute.")
    kernel, univariate_terms = _choose_kernel(options, table, numbers, feature_groups)
    n_permutations, is_marginal = options.n_permutations, options.removal == "product-of-marginals"
    terms = kernel.terms(numbers.shape[1], options.tol)
    work = len(terms) * len(feature_groups) * sum(len(rows) ** 2 for rows, _ in blocks)
    work *= 1 + n_permutations // 32
    source = BlockMean(
        numbers,
        Plan.of(
            terms, feature_groups, options.tol, measure=measure, apart=False, general=is_marginal
        ),
        Plan.of(univariate_terms, feature_groups, options.tol, apart=False),
        tuple(blocks),
        options.n_jobs if work >= _LARGE else 1,
    )
    backend = game_class()  # once for the call
    estimate = source.estimate(n_permutations, random, options.progress, backend=backend)
    facts: dict[str, Any] = {}
    if len(blocks) > 1:
        facts["standard_error"] = estimate.standard_error
        facts["standard_errors"] = estimate.standard_errors
    if estimate.univariate is not None:
        facts["univariate_values"] = estimate.univariate.values
        facts["univariate_null_values"] = estimate.univariate.null_values
        facts["univariate_rounding"] = estimate.univariate.rounding
    if n_permutations:
        facts["null_values"] = estimate.null_values
    if n_permutations and test_columns and is_marginal:
        by_labels = permutation_p(estimate.values, estimate.null_values, estimate.rounding)
        wanted = np.flatnonzero(by_labels <= _TESTED).tolist()  # those that labels do not clear
        tests = source.test_columns(
            wanted, n_permutations, random, backend=backend, removed=estimate.removed
        )
        facts["test_p_values"], facts["n_test_rows"] = tests.p_values, tests.n_rows
    two_samples, in_blocks = target_kernel is None, options.block_size is not None
    about = About(
        names,
        table.names,
        feature_groups,
        removal=options.removal,
        background_info=describe_removal(options.removal, two_samples, in_blocks),
        kernels=(kernel,),
        index=measure.index,
        hierarchy=hierarchy,
    )
    n_rows = tuple(map(len, samples))
    return Attribution(
        about,
        statistic,
        estimate.values,
        estimate.rounding,
        n_rows if two_samples else n_rows[:1],
        target_kernel=target_kernel,
        estimator=options.estimator,
        block_size=options.block_size,
        additivity_error=estimate.residual,
        rules=estimate.rules,
        categorical=table.categorical,
        samples=samples,
        sample_names=sample_names,
        error_bound=estimate.error,
        source=source,
        **facts,
    )


def _choose_hierarchy(
    options: Options, table: Table, numbers: Floats, groups: Players, names: Sequence[str]
) -> Hierarchy | None:
    """Return the hierarchy of the features that is asked for."""
    hierarchy = options.hierarchy
    if hierarchy is None:
        return None
    check_hierarchy(hierarchy)
    if isinstance(hierarchy, str):
        categorical = [j for j, is_one in enumerate(table.categorical) if is_one]
        hierarchy = Dependence(numbers, None, categorical).linkage(groups)
    return parse_hierarchy(hierarchy, names)


def _choose_kernel(
    options: Options, table: Table, numbers: Floats, feature_groups: Sequence[Sequence[int]]
) -> tuple[Kernel, tuple[Term, ...]]:
    """Return the kernel, and terms whose factors are the kernels of the features by themselves.

    These are the same for a kernel that is given; the median heuristic makes a feature by itself
    wider.
    """
    kernel = options.kernel
    if isinstance(kernel, Kernel):
        check_kernel(kernel, numbers, "the data", table.names)
        if options.removal == "neutral" and not kernel.has_neutral_removal:
            raise ValueError(
                f"{brief(kernel)} has a dot-product part, which neutral removal does not support; "
                "choose a kernel that is 1 for equal values, such as RBF, or "
                "removal='product-of-marginals'."
            )
        return kernel, kernel.terms(numbers.shape[1], options.tol)
    heuristic = choose_heuristic(kernel, "kernel", table, numbers)
    return heuristic.kernel, (heuristic.univariate_term(feature_groups),)


def choose_heuristic(kernel: str | None, name: str, table: Table, numbers: Floats) -> Heuristic:
    """Return the heuristic that a name, or none, asks for."""
    if kernel is not None:
        known = _TARGET_KERNELS if name == "target_kernel" else NAMES
        check_choice(kernel, name, known, "a kernel of pkex.kernels")
    data = "y" if name == "target_kernel" else "the data"
    check_widths(numbers, data, table.names)
    return Heuristic(numbers, table.categorical, kernel != "median")


def check_kernel(kernel: Kernel, numbers: Floats, name: str, names: Sequence[str]) -> None:
    """Refuse a kernel that does not fit the data, or, if it is of the user's own, is no kernel."""
    kernel.terms(numbers.shape[1])  # refuses columns that are not there
    form = kernel.normal_form(numbers.shape[1])
    form.check(numbers, name)
    check_sizes(numbers, size_limits(form, numbers), name, names)
    matrix = kernel(numbers[:_CHECKED])
    if np.isfinite(matrix).all() and not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise ValueError(
            f"{brief(kernel)} is not symmetric: k(x, z) and k(z, x) differ on the rows of {name}, "
            "so the statistic would depend on the order of the rows."
        )


def check_rows(counts: Sequence[int], names: Sequence[str], needed: int, purpose: str) -> None:
    """Refuse samples of too few rows."""
    for count, name in zip(counts, names, strict=True):
        if count < needed:
            rows = "1 row" if count == 1 else f"{count} rows"
            raise ValueError(f"{name} has {rows}; at least {needed} are needed {purpose}.")


def check_varies(numbers: Floats, message: str) -> None:
    """Refuse a table whose rows are all equal."""
    if (numbers == numbers[0]).all():
        raise ValueError(message)
