"""``pkex dependence``: which features a target depends on; and what `pkex drift` shares with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import pkex
from pkex._util.p_values import choose_n_permutations
from pkex._util.progress import LONG
from pkex._util.words import format_duration, pluralise
from pkex.cli import _summary
from pkex.cli._input_facts import table_facts
from pkex.cli._options import DependenceOptions, FileOptions, Output, StatisticOptions, split_names
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

__all__ = ["SAMPLE", "StatisticRun", "advice", "check_level", "dependence", "values_frame"]

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
    run = StatisticRun(testing, dialect, session)
    table = run.read_rows(asked.data, needed)
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

    result = run.compute(hsic, (complete.frame,))
    count = _top(asked.top, len(result.values))
    frame = values_frame(result)
    frame["selected"] = np.arange(len(frame)) < count
    facts = _summary.DependenceResult(
        target=target,
        selected=list(frame["feature"][:count]),
        statistic_name="HSIC",
        p_value=result.p_value,
        p_statistic=result.p_statistic,
        **run.facts(result),
    )
    inputs = _summary.DependenceInputs(data=table_facts(complete))
    details = {"Table": str(asked.data), "Target": target}
    report = {"details": details, "sample_names": ("columns", target)}
    run.finish("dependence", inputs, facts, frame, result, count, **report)
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


@dataclass(frozen=True)
class StatisticRun:
    """A statistic as the options ask for it, from reading its rows to writing its result."""

    options: StatisticOptions
    dialect: Dialect
    session: Session

    def read_rows(self, path: Path, columns: Sequence[str], number: int = 0) -> FileTable:
        """Return the rows of a table, or a random sample; tables of a command have numbers."""
        size, seed, how = sample_size(self.options), self.options.seed, self.options.missing
        excluded, seeds = split_names(self.options.exclude), (seed, number)
        table = selection.read_sample(path, self.dialect, columns, size, seeds, how, excluded)
        if len(table.frame) < table.total:
            self.session.note(
                f"{path}: random sample of {size} of {table.total} rows (seed {seed}). --sample N "
                "uses more, --sample all uses all rows, and --block-size N averages over random "
                "blocks of all rows, with standard errors."
            )
        return table

    def compute(
        self,
        statistic: Statistic,
        frames: Sequence[Any],
        alpha: float = 0.05,
        units: int | None = None,
    ) -> pkex.Attribution:
        """Return the statistic of some frames; say before how long it takes where that is long.

        Permutations are as many as the level `alpha` needs unless a number is asked for; at most so
        many `units` are permuted.
        """
        asked, total, permutations = self.options, sum(map(len, frames)), self.options.permutations
        if permutations is None:
            permutations = choose_n_permutations(1, alpha)
        same = ("kernel", "removal", "estimator", "block_size", "missing", "n_jobs")
        options = {name: getattr(asked, name) for name in same} | {
            "groups": read_groups(asked.groups, self.dialect),
            "n_permutations": permutations,
            "random_state": asked.seed,
        }

        def run(n_rows: int, permutations: int) -> object:
            counts = [min(len(frame), max(4, n_rows * len(frame) // total)) for frame in frames]
            samples = [
                frame.sample(count, random_state=asked.seed)
                for frame, count in zip(frames, counts, strict=True)
            ]
            fewer = {"n_permutations": permutations, "block_size": None}
            return statistic(*samples, **options | fewer)

        if self.session.talks:
            rates = measure_rates(run, total, asked.block_size, permutations, units)
            sentence = None if rates is None else advice(rates, total, asked.block_size)
            self.session.note(*[sentence] if sentence else [])
        with self.session.noting_warnings():
            return statistic(*frames, **options, progress=self.session.progress)

    def facts(self, result: pkex.Attribution) -> _summary.StatisticFacts:
        """Return the part of the summary that commands of statistics share."""
        assert result.error_bound is not None  # it was just computed
        asked = self.options
        return _summary.StatisticFacts(
            kernel=asked.kernel,
            removal=asked.removal,
            block_size=asked.block_size,
            sample=sample_size(asked),
            seed=asked.seed,
            estimator=asked.estimator,
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

    def finish(
        self,
        command: str,
        inputs: Any,
        facts: Any,
        values: Any,
        result: pkex.Attribution,
        count: int,
        **report: Any,
    ) -> None:
        """Write and print the result with interactions if asked for, and `count` features."""
        grid, pairs = contribution_grid(result, count), []
        if self.options.interactions:
            interactions = result.interactions(progress=self.session.progress)
            pairs = [Pairs(interactions, interactions.totals())]
        self.session.finish(command, inputs, facts, values, grid, result, pairs, **report)


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
