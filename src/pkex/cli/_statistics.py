"""``pkex drift`` and ``pkex depend``: whether two tables differ, what a column depends on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

import pkex
from pkex._util.p_values import enough_permutations
from pkex._util.words import counted
from pkex.cli import _forecast, _interactions, _sample, _tables
from pkex.cli._column_notes import about_columns, about_dropped, about_target
from pkex.cli._groups import groups_from
from pkex.cli._session import Session
from pkex.cli._statistics_result import shares, shares_grid, values_frame
from pkex.cli._summary import (
    FORMAT,
    VERSION,
    DependInputs,
    DependResult,
    DependSummary,
    DriftInputs,
    DriftResult,
    DriftSummary,
    StatisticFacts,
    rule_facts,
    table_facts,
)
from pkex.results.interactions import Interactions
from pkex.results.totals import PairTotals
from pkex.statistics.pair_weights import UNITS
from pkex.tables.files import Dialect, FileTable

__all__ = ["Test", "depend", "drift"]

_DRIFT = 1  # exit code


@dataclass(frozen=True)
class Test:
    """How a statistic is computed and tested."""

    columns: tuple[str, ...] = ()
    groups: Path | None = None
    kernel: Literal["median-per-column", "median"] = "median-per-column"
    removal: Literal["marginal", "neutral"] = "marginal"
    estimator: Literal["unbiased", "biased"] = "unbiased"
    permutations: int | None = None  # as many as the columns need
    block_size: int | None = None
    seed: int = 0
    n_jobs: int = -1
    drop_missing: bool = False
    sample: str | None = None
    interactions: bool = False


class Statistic(Protocol):
    """The statistic of some rows: of one frame for each table."""

    def __call__(
        self, frames: Sequence[Any], *, permutations: int, block_size: int | None, progress: bool
    ) -> pkex.Attribution:
        """Return the statistic with so many permutations, over blocks of so many rows."""
        ...


def drift(
    reference: Path, current: Path, alpha: float, test: Test, dialect: Dialect, session: Session
) -> int:
    """Compare two tables, and return 1 when they differ at the level `alpha`, else 0."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"--alpha must lie between 0 and 1, got {alpha:g}.")
    needed = math.ceil(1.0 / alpha) - 1
    most = enough_permutations(1, alpha) if test.permutations is None else test.permutations
    if most < needed:
        raise ValueError(
            f"{most} permutations never give a p-value of {alpha:g}: pass "
            f"--permutations {needed} or more."
        )
    size = _sample.sample_size(test.sample, test.block_size)

    def rows_of(path: Path, columns: Sequence[str], number: int) -> FileTable:
        drop, seed = test.drop_missing, test.seed
        return _sample.read(path, dialect, columns, drop, size, seed, session, number)

    before = _usable(rows_of(reference, test.columns, 0), test.columns)
    after = rows_of(current, before.names, 1).take(before.names)
    unlike = [name for name in before.names if before.kinds[name] != after.kinds[name]]
    if unlike:
        name = unlike[0]
        raise ValueError(
            f"column {name} is {before.kinds[name]} in {reference} but {after.kinds[name]} in "
            f"{current}: if it holds numbers, look for a cell that is none, such as '?', or pass "
            f"--decimal; if it holds codes, pass --categorical {name} to read both as text."
        )
    before = _tables.complete(before, test.drop_missing)
    after = _tables.complete(after, test.drop_missing)
    for table in (before, after):
        _check_rows(table, 2, "to compare tables")
        _tables.check_numbers(table)
    session.describe(before)
    session.describe(after)
    session.note_all(about_columns(before, after, codes=dialect.categorical))
    session.note_all(about_dropped(before, after))
    groups = groups_from(test.groups, dialect)
    test = _with_permutations(test, len(before.names), alpha)

    def statistic(
        frames: Sequence[Any], *, permutations: int, block_size: int | None, progress: bool
    ) -> pkex.Attribution:
        return pkex.mmd(
            frames[0],
            frames[1],
            kernel=test.kernel,
            removal=test.removal,
            estimator=test.estimator,
            groups=groups,
            n_permutations=permutations,
            block_size=block_size,
            random_state=test.seed,
            n_jobs=test.n_jobs,
            progress=progress,
        )

    result = _computed(statistic, (before.frame, after.frame), test, session, units=UNITS)
    result = replace(result, alpha=alpha)
    assert result.p_value is not None  # there are permutations
    assert result.p_statistic is not None
    found = bool(result.detected())
    summary = DriftSummary(
        format=FORMAT,
        version=VERSION,
        pkex=pkex.__version__,
        command="drift",
        inputs=DriftInputs(reference=table_facts(before), current=table_facts(after)),
        result=DriftResult(
            drift=found,
            permutations=result.n_permutations,
            statistic="MMD^2",
            p_value=result.p_value,
            p_statistic=result.p_statistic,
            **_facts(result, test, size),
        ),
        notes=session.notes,
    )

    together = _together(result, test, summary, session)

    def report(path: Path) -> None:
        from pkex.output.report import write

        details = {"Reference": str(reference), "Current": str(current)}
        names = ("reference", "current")
        write(result, path, details=details, sample_names=names, interactions=together)

    lines = shares_grid(result, len(result.values))
    _finish(session, summary, values_frame(result), lines, report, together)
    return _DRIFT if found else 0


def depend(
    data: Path, target: str, top: str | None, test: Test, dialect: Dialect, session: Session
) -> int:
    """Rank the columns of a table by their share in the dependence on a target."""
    size = _sample.sample_size(test.sample, test.block_size)
    needed = (*test.columns, target) if test.columns else ()
    table = _sample.read(data, dialect, needed, test.drop_missing, size, test.seed, session)
    y = table.take([target])
    if table.kinds[target] == "other":
        raise ValueError(f"the target {target} is neither numeric nor categorical.")
    if target in test.columns:
        raise ValueError(f"{target} is the target, so that it cannot be one of the --columns.")
    chosen = _usable(table, (*test.columns, target) if test.columns else ())
    complete = _tables.complete(chosen, test.drop_missing)
    X = complete.take([name for name in complete.names if name != target])
    if not X.names:
        raise ValueError(f"{data} has no column besides the target {target}.")
    _check_rows(complete, 2, "to measure dependence")
    _tables.check_numbers(complete)
    if complete.frame[target].nunique() == 1:
        raise ValueError(f"the target {target} is constant: nothing can depend on it.")
    _top(top, len(X.names))  # refused now rather than after the work
    session.describe(complete)
    session.note(f"target: {target} ({y.kinds[target]}).")
    session.note_all(about_columns(X, codes=dialect.categorical))
    session.note_all(about_target(complete, target))
    groups = groups_from(test.groups, dialect)
    test = _with_permutations(test, len(X.names))

    def statistic(
        frames: Sequence[Any], *, permutations: int, block_size: int | None, progress: bool
    ) -> pkex.Attribution:
        [frame] = frames
        return pkex.hsic(
            frame.drop(columns=target),
            frame[target],
            kernel=test.kernel,
            removal=test.removal,
            estimator=test.estimator,
            groups=groups,
            n_permutations=permutations,
            block_size=block_size,
            random_state=test.seed,
            n_jobs=test.n_jobs,
            progress=progress,
        )

    result = _computed(statistic, (complete.frame,), test, session)
    count = _top(top, len(result.values))
    frame = values_frame(result)
    frame["selected"] = np.arange(len(frame)) < count
    summary = DependSummary(
        format=FORMAT,
        version=VERSION,
        pkex=pkex.__version__,
        command="depend",
        inputs=DependInputs(data=table_facts(complete)),
        result=DependResult(
            target=target,
            selected=list(frame["feature"][:count]),
            permutations=result.n_permutations,
            statistic="HSIC",
            p_value=result.p_value,
            p_statistic=result.p_statistic,
            **_facts(result, test, size),
        ),
        notes=session.notes,
    )

    together = _together(result, test, summary, session)

    def report(path: Path) -> None:
        from pkex.output.report import write

        details = {"Table": str(data), "Target": target}
        names = ("columns", target)
        write(result, path, details=details, sample_names=names, interactions=together)

    _finish(session, summary, frame, shares_grid(result, count), report, together)
    return 0


def _facts(result: pkex.Attribution, test: Test, size: int | None) -> StatisticFacts:
    """Return what the summaries of both statistics say."""
    assert result.error is not None  # it was just computed
    return StatisticFacts(
        kernel=test.kernel,
        removal=test.removal,
        block_size=test.block_size,
        sample=size,
        seed=test.seed,
        estimator=test.estimator,
        absent=result.absent,
        total=result.total,
        test_rows=result.n_test_rows,
        alpha=result.alpha,
        significant=list(result.significant()),
        remarks=result.remarks(),
        features=shares(result),
        rule=rule_facts(result.rule),
        residual=result.residual,
        error=result.error,
    )


def _with_permutations(test: Test, n_columns: int, alpha: float = 0.05) -> Test:
    """Return the test with so many permutations that a column can be found, if none were asked."""
    if test.permutations is not None:
        return test
    return replace(test, permutations=enough_permutations(n_columns, alpha))


def _together(
    result: pkex.Attribution, test: Test, summary: DriftSummary | DependSummary, session: Session
) -> Interactions | None:
    """Return the interactions, if they are asked for, and put them into the summary."""
    if not test.interactions:
        return None
    found = result.interactions(progress=session.progress)
    summary["result"]["interactions"] = _interactions.facts(found, PairTotals.of(found))
    return found


def _finish(
    session: Session,
    summary: DriftSummary | DependSummary,
    values: Any,
    lines: list[Any],
    report: Callable[[Path], None],
    together: Interactions | None,
) -> None:
    """Write and print, with interactions where there are some."""
    if together is None:
        session.finish(summary, values, lines, report)
        return
    totals = PairTotals.of(together)
    more = _interactions.writer(together, totals, session.table_format)
    session.finish(summary, values, lines + _interactions.shown(together, totals), report, more)


def _computed(
    statistic: Statistic,
    frames: Sequence[Any],
    test: Test,
    session: Session,
    units: int | None = None,
) -> pkex.Attribution:
    """Return the statistic of all rows; say before how long that will take, if it is long."""
    assert test.permutations is not None
    if not (session.quiet or session.as_json):
        sentence = _forecast_of(statistic, frames, test, units)
        if sentence:
            session.note(sentence)
    with session.noting_warnings():
        return statistic(
            frames,
            permutations=test.permutations,
            block_size=test.block_size,
            progress=session.progress,
        )


def _forecast_of(
    statistic: Statistic, frames: Sequence[Any], test: Test, units: int | None
) -> str | None:
    """Return how long the work will take if that is long, judged by samples of the rows."""
    total = sum(map(len, frames))
    assert test.permutations is not None

    def run(n_rows: int, permutations: int) -> object:
        counts = [min(len(frame), max(4, n_rows * len(frame) // total)) for frame in frames]
        samples = [
            frame.sample(count, random_state=test.seed)
            for frame, count in zip(frames, counts, strict=True)
        ]
        return statistic(samples, permutations=permutations, block_size=None, progress=False)

    rates = _forecast.measure(run, total, test.block_size, test.permutations, units)
    return None if rates is None else _forecast.advice(rates, total, test.block_size)


def _usable(table: FileTable, columns: Sequence[str]) -> FileTable:
    """Return the table with the columns asked for, or all that are numeric or categorical."""
    if columns:
        table = table.take(columns)
        other = table.of_kind("other")
        if other:
            raise ValueError(
                f"column {other[0]} of {table.path} is neither numeric nor categorical: leave it "
                "out, or pass it to --categorical."
            )
        return table
    usable = [name for name in table.names if table.kinds[name] != "other"]
    if not usable:
        raise ValueError(f"{table.path} has no numeric or categorical column.")
    return table.take(usable)


def _check_rows(table: FileTable, needed: int, purpose: str) -> None:
    count = len(table.frame)
    if count < needed:
        left = " without missing values" if table.dropped else ""
        raise ValueError(
            f"{table.path} has {counted(count, 'row')}{left}; at least {needed} are needed "
            f"{purpose}."
        )


def _top(text: str | None, count: int) -> int:
    """Return how many of `count` features ``20%`` or ``5`` are; a share is rounded up."""
    if text is None:
        return count
    digits = text.strip().removesuffix("%")
    try:
        number = float(digits) if "%" in text else int(digits)
    except ValueError:
        number = math.nan
    limit = 100 if "%" in text else count
    if not 0 < number <= limit:
        raise ValueError(
            f"--top {text!r} cannot be read: give a count from 1 to {count}, or a share such as "
            "20%."
        )
    return math.ceil(number * count / 100.0 - 1e-9) if "%" in text else int(number)
