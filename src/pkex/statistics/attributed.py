"""What `mmd` and `hsic` share: from a table, a kernel and pair weights to an attribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index, tolerance
from pkex.games.backend import game_class
from pkex.games.players import Groups, parse_groups
from pkex.games.rules import FULL_PRECISION
from pkex.games.threads import check_n_jobs
from pkex.kernels import Kernel
from pkex.kernels.algebra import has_neutral_removal
from pkex.kernels.heuristic import NAMES, Heuristic, check_widths
from pkex.kernels.normal_form import Term
from pkex.kernels.sizes import check_sizes, size_limits
from pkex.results.about import About
from pkex.results.attribution import Attribution, describe_removal
from pkex.statistics.block_mean import BlockMean, Part
from pkex.tables.frames import Table, codes

__all__ = [
    "ESTIMATORS",
    "attributed",
    "check_choice",
    "check_count",
    "check_kernel",
    "check_rows",
    "check_varies",
    "heuristic_of",
]


_TARGET_KERNELS = (*NAMES, "categorical")
ESTIMATORS = ("unbiased", "biased")
_REMOVALS = ("marginal", "neutral")
_TESTED = 0.1  # the p-value by labels up to which a column is also tested by itself
_CHECKED = 50  # rows on which a kernel is checked to be symmetric


def attributed(
    table: Table,
    kernel: Kernel | str | None,
    blocks: Sequence[Part],
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
    check_choice(removal, "removal", _REMOVALS)
    check_count(n_permutations, "n_permutations", 0)
    check_n_jobs(n_jobs)
    numbers = codes(table)
    check_varies(numbers, "all columns are constant: there is nothing to attribute.")
    players, names = parse_groups(groups, table.names)
    tol = tolerance(tol, FULL_PRECISION)
    chosen, by_itself = _resolve_kernel(kernel, table, numbers, players, removal, tol)
    source = BlockMean(
        numbers,
        chosen.terms(numbers.shape[1], tol),
        by_itself,
        players,
        tuple(blocks),
        removal == "marginal",
        tol,
        n_jobs,
    )
    backend = game_class()  # once for the call
    found = source.estimate(n_permutations, random, progress, backend=backend)
    several = len(blocks) > 1
    alone = found.alone
    about = About(
        names,
        table.names,
        players,
        removal=removal,
        absent=describe_removal(removal, target_kernel is None, block_size is not None),
        kernels=(chosen,),
    )
    first, second = samples
    attribution = Attribution(
        about,
        statistic,
        found.values,
        found.rounding,
        (len(first), len(second)) if target_kernel is None else (len(first),),
        found.null_values if n_permutations else None,
        alone_values=None if alone is None else alone.values,
        alone_null_values=None if alone is None else alone.null_values,
        alone_rounding=None if alone is None else alone.rounding,
        standard_error=found.standard_error if several else None,
        standard_errors=found.standard_errors if several else None,
        target_kernel=target_kernel,
        estimator=estimator,
        block_size=block_size,
        residual=found.residual,
        rules=found.rules,
        categorical=table.categorical,
        samples=samples,
        sample_names=sample_names,
        error=found.error,
        source=source,
    )
    if not (n_permutations and columns and removal == "marginal"):
        return attribution
    assert attribution.p_values is not None
    # those that labels do not clear
    wanted = np.flatnonzero(attribution.p_values <= _TESTED).tolist()
    tests = source.test_columns(wanted, n_permutations, random, backend=backend)
    return replace(attribution, test_p_values=tests.p_values, n_test_rows=tests.n_rows)


def _resolve_kernel(
    kernel: Kernel | str | None,
    table: Table,
    numbers: Floats,
    players: Sequence[Sequence[int]],
    removal: str,
    tol: float | None,
) -> tuple[Kernel, tuple[Term, ...]]:
    """Return the kernel, and terms whose factors are the kernels of the players by themselves.

    These are the same for a kernel that is given; the median heuristic makes a player by itself
    wider.
    """
    if isinstance(kernel, Kernel):
        check_kernel(kernel, numbers, "the data", table.names)
        if removal == "neutral" and not has_neutral_removal(kernel):
            raise ValueError(
                f"{brief(kernel)} has a linear part, which has no value without a column; choose a "
                "kernel that is 1 for equal values, such as RBF, or removal='marginal'."
            )
        return kernel, kernel.terms(numbers.shape[1], tol)
    heuristic = heuristic_of(kernel, "kernel", table, numbers)
    return heuristic.kernel, (heuristic.alone(players),)


def heuristic_of(kernel: str | None, name: str, table: Table, numbers: Floats) -> Heuristic:
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
    kernel.check(numbers, name)
    check_sizes(numbers, size_limits(kernel, numbers), name, names)
    matrix = kernel(numbers[:_CHECKED])
    if np.isfinite(matrix).all() and not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise ValueError(
            f"{brief(kernel)} is not symmetric: k(x, z) and k(z, x) differ on the rows of {name}, "
            "so the statistic would depend on the order of the rows."
        )


def check_count(value: Any, name: str, least: int) -> int:
    """Refuse what is no integer, or a small one."""
    if not is_index(value) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {brief(value)}.")
    return int(value)


def check_choice(value: object, name: str, options: tuple[str, ...], other: str = "") -> None:
    """Refuse what is none of some names."""
    if not isinstance(value, str) or value not in options:
        *known, last = [*map(repr, options), *([other] if other else [])]
        raise ValueError(f"{name} must be {', '.join(known)} or {last}; got {brief(value)}.")


def check_rows(found: int, name: str, needed: int, purpose: str) -> None:
    """Refuse a sample of too few rows."""
    if found < needed:
        rows = "1 row" if found == 1 else f"{found} rows"
        raise ValueError(f"{name} has {rows}; at least {needed} are needed {purpose}.")


def check_varies(numbers: Floats, message: str) -> None:
    """Refuse a table whose rows are all equal."""
    if (numbers == numbers[0]).all():
        raise ValueError(message)
