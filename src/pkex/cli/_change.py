"""``pkex change``: why the predictions of a model differ between two datasets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import pkex
from pkex._util.types import Floats
from pkex._util.words import pluralise
from pkex.cli._change_facts import ChangeInputs, ChangeOutputFacts, ChangeResult
from pkex.cli._input_facts import table_facts
from pkex.cli._loaded_model import LoadedModel
from pkex.cli._options import ChangeOptions, FileOptions, Output
from pkex.cli._session import Session
from pkex.cli._statistics import check_level
from pkex.cli._summary import feature_facts
from pkex.output.terminal import LINES, bars, draw
from pkex.output.view import OUTPUTS, View, more
from pkex.output.view.change import change_remarks, change_tables, column_notes, sentences
from pkex.tables import selection
from pkex.tables.column_notes import note_dropped_rows
from pkex.tables.files import Dialect, FileTable

__all__ = ["change"]

_CHANGE = 1  # exit code


def change(options: ChangeOptions, reading: FileOptions, output: Output) -> int:
    """Compare the predictions, and return 1 when a change is detected, else 0."""
    dialect, session = reading.dialect(), Session(**vars(output))
    check_level(options.alpha, options.permutations)
    with session.noting_warnings():
        model = LoadedModel(options, dialect)
        read = [_read(model, path, options, dialect) for path in (options.before, options.after)]
        (before, y_before), (after, y_after) = read
        for table in (before, after):
            session.describe(table)
        session.note(*model.note_order(before), *note_dropped_rows(before, after))
        background = None
        if options.background is not None:
            background = model.take_columns(selection.read_table(options.background, dialect))
            background = selection.handle_missing(background, options.missing)
            session.describe(background)
        result = _compute(model, before, after, background, session, y_before, y_after)
    inputs = ChangeInputs(
        model=model.facts,
        before=table_facts(before),
        after=table_facts(after),
        background=None if background is None else table_facts(background),
    )
    facts, details = _facts(result, options), model.details(Before=options.before)
    details |= {"After": str(options.after)}
    session.finish("change", inputs, facts, _values(result), _grid(result), result, details=details)
    return _CHANGE if result.detected() else 0


def _read(
    model: LoadedModel, path: Any, options: ChangeOptions, dialect: Dialect
) -> tuple[FileTable, Floats | None]:
    """Return the columns of a dataset that the model takes, and the target."""
    table, target = selection.read_table(path, dialect), options.target
    if target is None:
        table = selection.handle_missing(model.take_columns(table), options.missing)
        return _check_rows(table), None
    if table.take([target]).kinds[target] != "numeric":
        raise ValueError(f"the target {target} of {path} is not numeric.")
    columns = model.take_columns(table.without(target))
    whole = selection.handle_missing(table.take([*columns.names, target]), options.missing)
    return _check_rows(whole.without(target)), whole.frame[target].to_numpy(dtype=float)


def _check_rows(table: FileTable) -> FileTable:
    """Return the table, or raise where it has too few rows."""
    if len(table.frame) < 2:
        count = pluralise(len(table.frame), "row")
        raise ValueError(f"{table.path} has {count}; at least 2 are needed to compare datasets.")
    return table


def _compute(
    model: LoadedModel,
    before: FileTable,
    after: FileTable,
    background: FileTable | None,
    session: Session,
    y_before: Floats | None,
    y_after: Floats | None,
) -> pkex.Change:
    """Return the change, with the names of the table where the model has none."""
    options = model.options
    assert isinstance(options, ChangeOptions)
    kind: dict[str, Any] = {"groups": model.groups(before), "outputs": options.outputs}
    kind["n_jobs"] = options.n_jobs
    explained = model.model
    with model.explaining_errors():
        if background is not None:
            removal = None if y_before is None else "product-of-marginals"
            explained = pkex.Explainer(
                explained, model.take_rows(background), removal=removal, **kind
            )
            kind = {}
        result = pkex.change(
            explained,
            model.take_rows(before),
            model.take_rows(after),
            y_before=y_before,
            y_after=y_after,
            n_permutations=options.permutations,
            random_state=options.seed,
            alpha=options.alpha,
            progress=session.progress,
            **kind,
        )
    return model.name_columns(result, before)


def _facts(result: pkex.Change, options: ChangeOptions) -> ChangeResult:
    """Return the result as the summary has it."""
    assert result.p_value is not None  # there are permutations
    assert result.p_features is not None
    assert result.p_totals is not None
    assert result.error_bound is not None
    means, distributions = result.p_totals.reshape(2, -1)
    sides = (result.totals_before, result.totals_after, result.bases_before, result.bases_after)
    before, after, base_before, base_after = (np.reshape(side, -1) for side in sides)
    outputs = [
        ChangeOutputFacts(
            name=name,
            before=float(before[k]),
            after=float(after[k]),
            difference=float(after[k] - before[k]),
            base_difference=float(base_after[k] - base_before[k]),
            p_mean=float(means[k]),
            p_distribution=float(distributions[k]),
            significant=list(result.significant(output=k)),
        )
        for k, name in enumerate(result.output_names or (None,))
    ]
    return ChangeResult(
        change=bool(result.detected()),
        p_value=result.p_value,
        alpha=result.alpha,
        n_permutations=result.n_permutations,
        seed=options.seed,
        target=options.target,
        removal=result.removal,
        background_info=str(result.background_info),
        outputs=outputs,
        features=feature_facts(
            result,
            before=result.means_before,
            after=result.means_after,
            contribution=result.differences,
            distance=result.distances,
            p_mean=result.p_features[0],
            p_distribution=result.p_features[1],
        ),
        notes=column_notes(result, result.alpha) + change_remarks(result, result.alpha),
        additivity_error=result.additivity_error,
        error_bound=result.error_bound,
    )


def _values(result: pkex.Change) -> Any:
    """Return the frame as it is written, a line for each output and feature."""
    frame = result.to_frame()
    if frame.columns.nlevels == 1:
        return frame.reset_index()
    names = frame.index
    lines = frame.stack("output", future_stack=True).reset_index()
    order = [(output, name) for output in result.output_names for name in names]
    lines = lines.set_index(["output", "feature"]).loc[order].reset_index()
    return lines.rename_axis(columns=None)


def _grid(result: pkex.Change) -> list[Any]:
    """Return the verdict and the features that changed most, for the terminal."""
    tables = change_tables(result, LINES)[:OUTPUTS]
    if len(tables) == 1:
        shown = result.differences[result.ranking[:LINES]]
        drawn = bars(shown, float(np.abs(result.differences).max()))
        *head, mean, distribution = tables[0].columns
        tables = [replace(tables[0], columns=[*head, drawn, mean, distribution])]
    title, *others = sentences(result, result.alpha)
    shown_view = View(
        title,
        others,
        tables=tables,
        more=more(len(result.feature_names) - LINES, "feature"),
        remarks=[f"background: {result.background_info}", *change_remarks(result, result.alpha)],
    )
    return draw(shown_view, len(result.output_names) or 1, "--out has all")
