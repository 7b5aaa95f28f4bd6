"""``pkex dependence``: which features a target depends on; and what `pkex drift` shares with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import pkex
from pkex._util.p_values import choose_n_permutations
from pkex._util.progress import LONG
from pkex._util.words import format_duration, pluralise
from pkex.cli import _summary
from pkex.cli._input_facts import table_facts
from pkex.cli._options import (
    DependenceOptions,
    FileOptions,
    Output,
    StatisticOptions,
    split_names,
)
from pkex.cli._pairs import Pairs
from pkex.cli._session import Session
from pkex.output.terminal import LINES, bars, draw
from pkex.output.view import View, more
from pkex.output.view import attribution as view
from pkex.statistics.duration import Rates, measure_rates
from pkex.tables import selection
from pkex.tables.column_notes import note_columns, note_dates, note_target
from pkex.tables.files import Dialect, FileTable
from pkex.tables.groups import read_groups

__all__ = [
    "SAMPLE",
    "advice",
    "check_level",
    "compute",
    "contribution_grid",
    "dependence",
    "pairs_of",
    "read_rows",
    "sample_size",
    "statistic_facts",
    "statistic_options",
    "values_frame",
]

SAMPLE = 10_000  # rows of a table that are taken by default
_SENTENCES = 10  # about columns, in the terminal
_BLOCK = 2000  # rows of a block that is proposed for long tables

Statistic = Callable[..., pkex.Attribution]  # of frames, with the options of `pkex.mmd`


def dependence(
    asked: DependenceOptions, testing: StatisticOptions, reading: FileOptions, output: Output
) -> int:
    """Rank the features by their contributions to the dependence of a target."""
    dialect, session = reading.dialect(), Session(**vars(output))
    target, columns = asked.target, split_names(testing.columns)
    needed = (*columns, target) if columns else ()
    excluded = split_names(testing.exclude)
    if target in excluded:
        raise ValueError(f"{target} is the target: leave it out of --exclude.")
    table = read_rows(asked.data, dialect, needed, testing, session)
    kind = table.take([target]).kinds[target]
    if kind == "other":
        raise ValueError(f"the target {target} is neither numeric nor categorical.")
    if target in columns:
        raise ValueError(f"{target} is the target: leave it out of --columns.")
    usable = selection.take_usable(table, needed, excluded)
    if testing.missing == "separate" and usable.frame[target].isna().any():
        raise ValueError(
            f"the target {target} of {asked.data} has missing values: pass --missing drop to leave "
            "these rows out, or fill them first."
        )
    complete = selection.handle_missing(usable, testing.missing)
    X = complete.take([name for name in complete.names if name != target])
    if not X.names:
        raise ValueError(f"{asked.data} has no column besides the target {target}.")
    selection.check_rows(complete, "to measure dependence")
    if complete.frame[target].nunique() == 1:
        raise ValueError(f"the target {target} is constant: it cannot depend on a feature.")
    _top(asked.top, len(X.names))  # refused now rather than after the work
    session.describe(complete)
    session.note(f"target: {target} ({kind}).", *note_dates(complete))
    session.note(*note_columns(X, codes=dialect.categorical))
    session.note(*note_target(complete, target))

    def hsic(frame: Any, **options: Any) -> pkex.Attribution:
        return pkex.hsic(frame.drop(columns=target), frame[target], **options)

    options = statistic_options(testing, dialect)
    result = compute(hsic, (complete.frame,), options, testing, session)
    count = _top(asked.top, len(result.values))
    frame = values_frame(result)
    frame["selected"] = np.arange(len(frame)) < count
    facts = _summary.DependenceResult(
        target=target,
        selected=list(frame["feature"][:count]),
        statistic_name="HSIC",
        p_value=result.p_value,
        p_statistic=result.p_statistic,
        **statistic_facts(result, testing),
    )
    inputs = _summary.DependenceInputs(data=table_facts(complete))
    grid, pairs = contribution_grid(result, count), pairs_of(result, testing, session)
    details = {"Table": str(asked.data), "Target": target}
    report = {"details": details, "sample_names": ("columns", target)}
    session.finish("dependence", inputs, facts, frame, grid, result, pairs, **report)
    return 0


def sample_size(testing: StatisticOptions) -> int | None:
    """Return how many rows of a table to take at most; None for all.

    Blocks take all rows, as their means cost no more than in proportion to these.

    Examples
    --------
    >>> sample_size(StatisticOptions()), sample_size(StatisticOptions(block_size=2000))
    (10000, None)
    """
    text = testing.sample
    if text is None:
        return SAMPLE if testing.block_size is None else None
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 2:
        raise ValueError(f"--sample {text!r} cannot be read: give a number of rows, or all.")
    return int(text)


def check_level(alpha: float, permutations: int | None) -> None:
    """Refuse a significance level that is not one, or that the permutations cannot reach."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"--alpha must lie between 0 and 1, got {alpha:g}.")
    needed = math.ceil(1.0 / alpha) - 1
    most = choose_n_permutations(1, alpha) if permutations is None else permutations
    if most < needed:
        raise ValueError(
            f"{most} permutations cannot reach a p-value of {alpha:g}: pass "
            f"--permutations {needed} or more."
        )


def read_rows(
    path: Path,
    dialect: Dialect,
    columns: Sequence[str],
    testing: StatisticOptions,
    session: Session,
    number: int = 0,
) -> FileTable:
    """Return the rows of a file to compute a statistic of, and say so when they are a sample."""
    size, seed = sample_size(testing), testing.seed
    excluded = split_names(testing.exclude)
    how = testing.missing
    table = selection.read_sample(path, dialect, columns, size, (seed, number), how, excluded)
    if len(table.frame) < table.total:
        session.note(
            f"{path}: random sample of {size} of {table.total} rows (seed {seed}). --sample N uses "
            "more, --sample all uses all rows, and --block-size N averages over random blocks of "
            "all rows, with standard errors."
        )
    return table


def statistic_facts(result: pkex.Attribution, testing: StatisticOptions) -> _summary.StatisticFacts:
    """Return the entries that the summaries of both statistics have."""
    assert result.error_bound is not None  # it was just computed
    return _summary.StatisticFacts(
        kernel=testing.kernel,
        removal=testing.removal,
        block_size=testing.block_size,
        sample=sample_size(testing),
        seed=testing.seed,
        estimator=testing.estimator,
        background_info=str(result.background_info),
        statistic=result.statistic,
        n_permutations=result.n_permutations,
        n_test_rows=result.n_test_rows,
        alpha=result.alpha,
        significant=list(result.significant()),
        notes=result.remarks(),
        features=_contributions(result),
        rule=_summary.rule_facts(result.rule),
        additivity_error=result.additivity_error,
        error_bound=result.error_bound,
    )


def _contributions(result: pkex.Attribution) -> list[Any]:
    """Return the entries of the features."""
    lines = result.to_frame().to_dict("records")
    pairs = zip(_summary.feature_facts(result), lines, strict=True)
    known = [entry | line for entry, line in pairs]
    names = _summary.ContributionFacts.__annotations__
    return [{name: entry[name] for name in names if name in entry} for entry in known]


def values_frame(result: pkex.Attribution) -> Any:
    return result.to_frame().rename_axis("feature").reset_index()


def contribution_grid(result: pkex.Attribution, count: int) -> list[Any]:
    """Return the verdict, the largest contributions and notes on them."""
    n_features, count = len(result.values), min(count, LINES)
    table = view.contributions(result, count, True)
    contribution, *others = table.columns
    drawn = bars(result.values[result.ranking[:count]], abs(result.values).max())
    how = f"p-values by {result.n_permutations} permutations"
    if n_features > 1:
        how += f", those of features adjusted for {pluralise(n_features, 'feature')}"
    title, *sentences = view.verdict(result, result.alpha, _SENTENCES) or result.sentences(
        result.alpha
    )
    shown = View(
        title,
        sentences,
        tables=[replace(table, columns=[contribution, drawn, *others])],
        more=more(n_features - count, "feature"),
        remarks=[
            f"background: {result.background_info}",
            *[how][: result.p_values is not None],
            *result.remarks(),
        ],
    )
    return draw(shown)


def statistic_options(
    testing: StatisticOptions, dialect: Dialect, alpha: float = 0.05
) -> dict[str, Any]:
    """Return the options of a statistic; if none is asked, permutations as the level needs them."""
    permutations = testing.permutations
    if permutations is None:
        permutations = choose_n_permutations(1, alpha)
    same = ("kernel", "removal", "estimator", "block_size", "missing")
    return {name: getattr(testing, name) for name in same} | {
        "groups": read_groups(testing.groups, dialect),
        "n_permutations": permutations,
        "random_state": testing.seed,
        "n_jobs": testing.n_jobs,
    }


def pairs_of(result: pkex.Attribution, testing: StatisticOptions, session: Session) -> list[Pairs]:
    """Return the interactions, if they are asked for."""
    if not testing.interactions:
        return []
    interactions = result.interactions(progress=session.progress)
    return [Pairs(interactions, interactions.totals())]


def compute(
    statistic: Statistic,
    frames: Sequence[Any],
    options: dict[str, Any],
    testing: StatisticOptions,
    session: Session,
    units: int | None = None,
) -> pkex.Attribution:
    """Return the statistic of all rows; say before how long that will take, if it is long."""
    total = sum(map(len, frames))

    def run(n_rows: int, permutations: int) -> object:
        counts = [min(len(frame), max(4, n_rows * len(frame) // total)) for frame in frames]
        samples = [
            frame.sample(count, random_state=testing.seed)
            for frame, count in zip(frames, counts, strict=True)
        ]
        fewer = {"n_permutations": permutations, "block_size": None}
        return statistic(*samples, **options | fewer)

    if session.talks:
        permutations, block_size = options["n_permutations"], testing.block_size
        rates = measure_rates(run, total, block_size, permutations, units)
        sentence = None if rates is None else advice(rates, total, block_size)
        session.note(*[sentence] if sentence else [])
    with session.noting_warnings():
        return statistic(*frames, **options, progress=session.progress)


def advice(rates: Rates, n_rows: int, block_size: int | None) -> str | None:
    """Return a sentence on how long it takes and what to do; None when that is not long."""
    seconds = rates.seconds(n_rows, block_size)
    if seconds < LONG:
        return None
    sentence = f"This will take about {format_duration(seconds)}"
    in_blocks = rates.seconds(n_rows, _BLOCK)
    if in_blocks <= seconds / 2.0:
        return f"{sentence}: --block-size {_BLOCK} would take about {format_duration(in_blocks)}."
    if rates.tested > rates.pair:
        return f"{sentence}: fewer --permutations or a smaller --block-size take less."
    return f"{sentence}: a smaller --block-size takes less."


def _top(text: str | None, count: int) -> int:
    """Return how many of `count` features ``20%`` or ``5`` are; a percentage is rounded up."""
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
            f"--top {text!r} cannot be read: give a number from 1 to {count}, or a percentage such "
            "as 20%."
        )
    return math.ceil(number * count / 100.0 - 1e-9) if "%" in text else int(number)
