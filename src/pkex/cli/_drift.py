"""``pkex drift``: drift between two datasets, or between a saved reference and a dataset."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pkex
from pkex.cli import _summary
from pkex.cli._column_facts import change_facts
from pkex.cli._input_facts import table_facts
from pkex.cli._monitoring import Monitor
from pkex.cli._options import DriftOptions, FileOptions, Output, StatisticOptions, split_names
from pkex.cli._session import Session
from pkex.cli._statistics import StatisticRun, check_level, values_frame
from pkex.output.view.changes import describe_changes, headline
from pkex.statistics.pair_weights import UNITS
from pkex.tables import selection
from pkex.tables.column_notes import note_columns, note_dates, note_dropped_rows
from pkex.tables.dates import SINCE
from pkex.tables.files import FileTable
from pkex.tables.kinds import Kind

__all__ = ["drift"]

_DRIFT = 1  # exit code
_FIXED = ("columns", "exclude", "groups", "kernel", "removal", "estimator", "block_size", "missing")


def drift(
    tables: DriftOptions, testing: StatisticOptions, reading: FileOptions, output: Output
) -> int:
    """Compare two datasets, and return 1 when drift is detected, else 0."""
    dialect, session = reading.dialect(), Session(**vars(output))
    alpha, monitor = tables.alpha, Monitor(tables)
    check_level(alpha, testing.permutations)
    run = StatisticRun(testing, dialect, session)
    saved = _load(tables.reference, testing)
    if saved is None:
        columns = split_names(testing.columns)
        before = run.read_rows(tables.reference, columns)
        before = selection.take_usable(before, columns, split_names(testing.exclude))
    else:
        before, testing = _saved_table(saved, tables.reference), _saved_options(saved, testing)
        run = replace(run, options=testing)
    after = run.read_rows(tables.current, before.names, 1)
    after = selection.with_dates(after.take(before.names))
    _check_kinds(before, after)
    before, after = (selection.handle_missing(one, testing.missing) for one in (before, after))
    for table in (before, after):
        selection.check_rows(table, "to compare datasets")
        session.describe(table)
    session.note(*note_columns(before, after, codes=dialect.categorical))
    session.note(*note_dates(before), *note_dropped_rows(before, after))
    if saved is None:
        result = run.compute(pkex.mmd, (before.frame, after.frame), alpha, UNITS)
        result = replace(result, alpha=alpha)
    else:
        with session.noting_warnings():
            result = saved.explain(after.frame, alpha=alpha, progress=session.progress)
    return _finish(run, result, (before, after), monitor)


def _finish(
    run: StatisticRun,
    result: pkex.Attribution,
    tables: tuple[FileTable, FileTable],
    monitor: Monitor,
) -> int:
    """Write and print the result, and return the exit code."""
    assert result.p_value is not None  # there are permutations
    assert result.p_statistic is not None
    detected, alpha = bool(result.detected()), result.alpha
    changes = describe_changes(result, alpha)
    verdict = headline(result, alpha, changes)
    facts = _summary.DriftResult(
        drift=detected,
        headline=verdict,
        statistic_name="MMD^2",
        p_value=result.p_value,
        p_statistic=result.p_statistic,
        changes=[change_facts(change) for change in changes],
        **run.facts(result),
    )
    before, after = map(table_facts, tables)
    inputs = _summary.DriftInputs(reference=before, current=after)
    details = {"Reference": before["path"], "Current": after["path"]}
    report = {"details": details, "sample_names": ("reference", "current")}
    count = len(result.values)
    run.finish("drift", inputs, facts, values_frame(result), result, count, **report)
    monitor.report(inputs, facts, verdict)
    run.session.log_result(f"{verdict}, p = {result.p_value:.3g} (alpha = {alpha:g}).", detected)
    return _DRIFT if detected else 0


def _check_kinds(before: FileTable, after: FileTable) -> None:
    """Refuse columns of different kinds; one without any value goes with every kind."""
    for name in before.names:
        kinds = before.kinds[name], after.kinds[name]
        empty = any(table.frame[name].isna().all() for table in (before, after))
        if kinds[0] != kinds[1] and not empty:
            raise ValueError(
                f"column {name} is {kinds[0]} in {before.path} but {kinds[1]} in {after.path}: if "
                "it holds numbers, look for a cell that is not one, such as '?', or pass "
                f"--decimal; if it holds codes, pass --categorical {name} to read both as text."
            )


def _load(path: Path, testing: StatisticOptions) -> pkex.MMDDrift | None:
    """Return the reference that `MMDDrift.save` wrote; None for a file that is a table."""
    if path.suffix != ".npz" or not path.is_file():
        return None
    given = [
        one.name.replace("_", "-")
        for one in fields(testing)
        if one.name in _FIXED and getattr(testing, one.name) != one.default
    ]
    if given:
        raise ValueError(
            f"{path} is a saved reference, which has its own --{given[0]}: leave the option out, "
            "or pass the dataset itself as the reference."
        )
    saved: pkex.MMDDrift = pkex.MMDDrift.load(path)
    if not hasattr(saved, "feature_names_in_"):
        raise ValueError(
            f"{path} is a saved reference without names of columns: fit it with a data frame."
        )
    count = saved.n_permutations if testing.permutations is None else testing.permutations
    saved.set_params(n_permutations=count, random_state=testing.seed, n_jobs=testing.n_jobs)
    return saved


def _saved_table(saved: pkex.MMDDrift, path: Path) -> FileTable:
    """Return the rows of a saved reference as a table."""
    import pandas

    names = [str(name) for name in saved.feature_names_in_]
    units = saved.units_ or (None,) * len(names)
    kinds: dict[str, Kind] = {}
    for name, is_categorical, unit in zip(names, saved.categorical_, units, strict=True):
        kinds[name] = "categorical" if is_categorical else "date" if unit == SINCE else "numeric"
    frame = pandas.DataFrame(saved.reference_, columns=names).infer_objects()
    return FileTable(path, frame, kinds, len(frame))


def _saved_options(saved: pkex.MMDDrift, testing: StatisticOptions) -> StatisticOptions:
    """Return the options with what a saved reference was made with."""
    same: dict[str, Any] = {name: getattr(saved, name) for name in _FIXED[4:]}
    is_named = saved.kernel is None or isinstance(saved.kernel, str)
    same["kernel"] = (saved.kernel or "median-per-column") if is_named else "custom"
    return replace(testing, **same)
