"""``pkex drift`` and ``pkex depend``: whether two tables differ, what a column depends on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pkex
from pkex._words import counted
from pkex.cli import _forecast, _session, _tables
from pkex.cli._groups import groups_from
from pkex.cli._session import SHOWN, Session, aligned, bar, cell, grid
from pkex.tables.files import Dialect, FileTable
from pkex.weights import UNITS

__all__ = ["Test", "depend", "drift"]

_DRIFT = 1  # exit code


@dataclass(frozen=True)
class Test:
    """How a statistic is computed and tested."""

    columns: tuple[str, ...] = ()
    groups: Path | None = None
    kernel: str = "median-per-column"
    removal: str = "marginal"
    estimator: str = "unbiased"
    permutations: int = 999
    block_size: int | None = None
    seed: int = 0
    n_jobs: int = -1
    drop_missing: bool = False

    def options(self, dialect: Dialect, session: Session) -> dict[str, Any]:
        """Return the arguments that mmd and hsic share."""
        return {
            "kernel": self.kernel,
            "removal": self.removal,
            "estimator": self.estimator,
            "groups": groups_from(self.groups, dialect),
            "n_permutations": self.permutations,
            "block_size": self.block_size,
            "random_state": self.seed,
            "n_jobs": self.n_jobs,
            "progress": session.progress,
        }

    def facts(self) -> dict[str, Any]:
        """Return what the summary says about it."""
        return {
            "kernel": self.kernel,
            "removal": self.removal,
            "permutations": self.permutations,
            "block_size": self.block_size,
            "seed": self.seed,
        }


def drift(
    reference: Path, current: Path, alpha: float, test: Test, dialect: Dialect, session: Session
) -> int:
    """Compare two tables, and return 1 when they differ at the level `alpha`, else 0."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"--alpha must lie between 0 and 1, got {alpha:g}.")
    needed = math.ceil(1.0 / alpha) - 1
    if test.permutations < needed:
        raise ValueError(
            f"{test.permutations} permutations never give a p-value of {alpha:g}: pass "
            f"--permutations {needed} or more."
        )
    before = _usable(_tables.read(reference, dialect), test.columns)
    after = _tables.read(current, dialect).take(before.names)
    unlike = [name for name in before.names if before.kinds[name] != after.kinds[name]]
    if unlike:
        name = unlike[0]
        raise ValueError(
            f"column {name} is {before.kinds[name]} in {reference} but {after.kinds[name]} in "
            f"{current}: pass --categorical {name} to read it as text in both."
        )
    before = _tables.complete(before, test.drop_missing)
    after = _tables.complete(after, test.drop_missing)
    for table in (before, after):
        _check_rows(table, 2, "to compare tables")
        _tables.check_numbers(table)
    session.describe(before)
    session.describe(after)
    options = test.options(dialect, session)
    frames = (before.frame, after.frame)
    _announce(pkex.mmd, frames, test, options, session, units=UNITS)
    with session.noting_warnings():
        result = pkex.mmd(*frames, **options)
    found = result.p_value is not None and result.p_value <= alpha
    verdict = "drift" if found else "no drift"
    title = f"{verdict}: MMD² = {result.total:.4g}, {_tested(result, alpha)}"
    session.finish(
        "drift",
        {
            "reference": _session.table_facts(before),
            "current": _session.table_facts(after),
        },
        {"drift": found, "alpha": alpha, **test.facts(), **_facts(result)},
        _values(result),
        _grid(title, result, len(result.values)),
        result,
        details={"Reference": str(reference), "Current": str(current)},
        sample_names=("reference", "current"),
        alpha=alpha,
    )
    return _DRIFT if found else 0


def depend(
    data: Path, target: str, top: str | None, test: Test, dialect: Dialect, session: Session
) -> int:
    """Rank the columns of a table by their share in the dependence on a target."""
    table = _tables.read(data, dialect)
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
    options = test.options(dialect, session)
    _announce(_hsic_of(target), (complete.take([*X.names, target]).frame,), test, options, session)
    with session.noting_warnings():
        result = pkex.hsic(X.frame, complete.frame[target], **options)
    count = _top(top, len(result.values))
    frame = _values(result)
    frame["selected"] = np.arange(len(frame)) < count
    title = f"dependence on {target}: HSIC = {result.total:.4g}, {_tested(result)}"
    session.finish(
        "depend",
        {"data": _session.table_facts(complete)},
        {
            "target": target,
            "selected": list(frame["feature"][:count]),
            **test.facts(),
            **_facts(result),
        },
        frame,
        _grid(title, result, count),
        result,
        details={"Table": str(data), "Target": target},
        sample_names=("columns", target),
    )
    return 0


def _hsic_of(target: str) -> Callable[..., object]:
    return lambda frame, **options: pkex.hsic(frame.drop(columns=target), frame[target], **options)


def _announce(
    statistic: Callable[..., object],
    frames: Sequence[Any],
    test: Test,
    options: Mapping[str, Any],
    session: Session,
    units: int | None = None,
) -> None:
    """Say how long the work will take if that is long, judged by samples of the rows."""
    if session.quiet or session.as_json:
        return
    total = sum(map(len, frames))

    def run(n_rows: int, permutations: int) -> object:
        counts = [min(len(frame), max(4, n_rows * len(frame) // total)) for frame in frames]
        samples = [
            frame.sample(count, random_state=test.seed)
            for frame, count in zip(frames, counts, strict=True)
        ]
        changed = {"n_permutations": permutations, "block_size": None, "progress": False}
        return statistic(*samples, **{**options, **changed})

    rates = _forecast.measure(run, total, test.block_size, test.permutations, units)
    sentence = rates and _forecast.advice(rates, total, test.block_size)
    if sentence:
        session.note(sentence)


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


def _tested(result: pkex.Attribution, alpha: float | None = None) -> str:
    if result.p_value is None:
        return "not tested"
    level = "" if alpha is None else f" at level {alpha:g}"
    return f"p = {result.p_value:.3g}{level} ({result.n_permutations} permutations)"


def _facts(result: pkex.Attribution) -> dict[str, Any]:
    """Return what the summary says about a result."""
    frame = result.to_frame().drop(columns="p_bh", errors="ignore")  # one correction, Holm's
    columns = {
        name: [result.column_names[j] for j in player]
        for name, player in zip(result.feature_names, result.players, strict=True)
    }
    return {
        "statistic": result.statistic,
        "estimator": result.estimator,
        "absent": result.absent,
        "total": result.total,
        "p_value": result.p_value,
        "test_rows": result.n_test_rows,
        "remarks": result.remarks(),
        "features": [
            {"name": name, "columns": columns[name], **line}
            for name, line in zip(frame.index, frame.to_dict("records"), strict=True)
        ],
        "rule": _session.rule_facts(result),
        "residual": result.residual,
    }


def _values(result: pkex.Attribution) -> Any:
    return result.to_frame().rename_axis("feature").reset_index()


def _grid(title: str, result: pkex.Attribution, count: int) -> list[Any]:
    frame = result.to_frame()
    largest = float(frame["value"].abs().max())
    tested = "p_value" in frame
    heads = [
        "feature",
        "share",
        "",
        *(["p"] if tested else []),
        "alone",
        *(["p"] if tested else []),
    ]
    lines = []
    shown = frame[: min(count, SHOWN)]
    texts = zip(aligned(shown["value"]), aligned(shown["alone"]), strict=True)
    for (share, alone), (name, line) in zip(texts, shown.iterrows(), strict=True):
        cells = [name, share, bar(line["value"], largest)]
        if tested:
            cells += [f"{line['p_holm']:.3g}", alone, f"{line['p_alone_holm']:.3g}"]
        else:
            cells.append(alone)
        lines.append(cells)
    found = grid(title, heads, lines, len(frame))
    correction = [f"p-values of features are adjusted by Holm for {counted(len(frame), 'feature')}"]
    for text in [
        result.absent,
        *(correction if tested and len(frame) > 1 else []),
        *result.remarks(),
    ]:
        found.append(cell(text, "dim"))
    return found
