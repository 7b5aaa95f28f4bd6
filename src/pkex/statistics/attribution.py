"""What `mmd` and `hsic` share: from a table, a kernel and pair weights to an attribution."""

from __future__ import annotations

import math
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
from pkex.games.protocols import Measure
from pkex.kernels import Kernel
from pkex.kernels.heuristic import NAMES, Heuristic
from pkex.kernels.normal_form import Term
from pkex.kernels.sizes import check_sizes, check_widths, size_limits
from pkex.results.about import About
from pkex.results.attribution import Attribution, describe_removal
from pkex.statistics.block_mean import BlockMean, Part
from pkex.statistics.family import GivenKernel, Members, SeveralKernels
from pkex.statistics.label_sums import PermutedStatistics
from pkex.statistics.missing import Encoded, encode
from pkex.statistics.options import Options, check_choice
from pkex.tables.dependence import Dependence
from pkex.tables.frames import Table, codes

__all__ = [
    "attribute_statistic",
    "check_kernel",
    "check_rows",
    "check_varies",
    "choose_heuristic",
    "joint_facts",
    "make_source",
]

Categories = dict[str, tuple[str, ...]]


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
    categories: tuple[Categories, Categories] = ({}, {}),
) -> Attribution:
    """Return the attribution of the mean over the blocks."""
    feature_groups, names = parse_groups(options.groups, table.names)
    hierarchy = _choose_hierarchy(options, table, feature_groups, names)
    measure = Shapley() if hierarchy is None or hierarchy.is_flat else hierarchy
    source, kernel = make_source(table, blocks, options, feature_groups, measure)
    n_permutations, is_marginal = options.n_permutations, options.removal == "product-of-marginals"
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
    if estimate.joint is not None:
        facts |= joint_facts(source, estimate.joint)
    if n_permutations:
        facts["null_values"] = estimate.null_values
    if n_permutations and is_marginal:
        by_labels = permutation_p(estimate.values, estimate.null_values, estimate.rounding)
        order = np.argsort(by_labels, kind="stable")  # tests of the first take longest
        wanted = order[by_labels[order] <= _TESTED].tolist()  # those that labels do not clear
        # Holm multiplies by the number of features: as many as it takes for one of them
        most = max(n_permutations, math.ceil(len(names) / options.alpha))
        tests = source.test_columns(wanted, most, random, backend=backend, whole=estimate.source)
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
        new_categories=categories[0],
        lost_categories=categories[1],
        column_units=table.units,
        error_bound=estimate.error,
        source=source,
        **facts,
    )


def _choose_hierarchy(
    options: Options, table: Table, groups: Players, names: Sequence[str]
) -> Hierarchy | None:
    """Return the hierarchy of the features that is asked for."""
    hierarchy = options.hierarchy
    if hierarchy is None:
        return None
    check_hierarchy(hierarchy)
    if isinstance(hierarchy, str):
        categorical = [j for j, is_one in enumerate(table.categorical) if is_one]
        hierarchy = Dependence(codes(table), None, categorical).linkage(groups)
    return parse_hierarchy(hierarchy, names)


def make_source(
    table: Table,
    blocks: Sequence[Part],
    options: Options,
    feature_groups: Players,
    measure: Measure | None = None,
) -> tuple[BlockMean, Kernel]:
    """Return what the statistic of a table is computed from, and its kernel."""
    data = encode(table, feature_groups)
    check_varies(data.numbers, "all columns are constant: there is nothing to attribute.")
    kernel, univariate_terms, members = _choose_kernel(options, table, data)
    general = options.removal == "product-of-marginals"
    terms = kernel.terms(data.numbers.shape[1], options.tol)
    work = len(terms) * len(feature_groups) * sum(len(rows) ** 2 for rows, _ in blocks)
    work *= 1 + options.n_permutations // 32
    semivalue = Shapley() if measure is None else measure
    columns = data.feature_groups, options.tol
    source = BlockMean(
        data.numbers,
        Plan.of(terms, *columns, measure=semivalue, apart=False, general=general),
        Plan.of(univariate_terms, *columns, apart=False),
        tuple(blocks),
        members,
        options.n_jobs if work >= _LARGE else 1,
    )
    return source, kernel


def joint_facts(source: BlockMean, joint: PermutedStatistics) -> dict[str, Any]:
    """Return what a result holds of the members of the family."""
    return {
        "member_names": source.members.names,
        "member_values": joint.values,
        "member_null_values": joint.null_values,
        "member_rounding": joint.rounding,
    }


def _choose_kernel(
    options: Options, table: Table, data: Encoded
) -> tuple[Kernel, tuple[Term, ...], Members]:
    """Return the kernel, terms for the features by themselves, and the members of the family.

    The factors of the terms are the kernels of the features by themselves. These are the same for a
    kernel that is given; the median heuristic makes a feature by itself wider.
    """
    kernel, numbers = options.kernel, data.numbers
    if isinstance(kernel, Kernel):
        if data.observed is not None:
            raise ValueError(
                f"there are missing cells, and {brief(kernel)} says nothing about these; pass "
                "missing='drop', or leave the kernel to the median heuristic."
            )
        check_kernel(kernel, numbers, "the data", table.names)
        if options.removal == "neutral" and not kernel.has_neutral_removal:
            raise ValueError(
                f"{brief(kernel)} has a dot-product part, which neutral removal does not support; "
                "choose a kernel that is 1 for equal values, such as RBF, or "
                "removal='product-of-marginals'."
            )
        return kernel, kernel.terms(numbers.shape[1], options.tol), GivenKernel(kernel)
    heuristic = choose_heuristic(kernel, "kernel", data)
    term = heuristic.univariate_term(data.feature_groups)
    return heuristic.kernel, (term,), SeveralKernels.of(heuristic, data.observed)


def choose_heuristic(kernel: str | None, name: str, data: Encoded) -> Heuristic:
    """Return the heuristic that a name, or none, asks for."""
    if kernel is not None:
        known = _TARGET_KERNELS if name == "target_kernel" else NAMES
        check_choice(kernel, name, known, "a kernel of pkex.kernels")
    title = "y" if name == "target_kernel" else "the data"
    check_widths(data.numbers, title, data.names)
    return Heuristic(data.numbers, data.categorical, kernel != "median", observed=data.observed)


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
