"""``pkex explain``: Shapley values of the rows of a table, for a model from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

import pkex
from pkex._words import class_name, counted, listed
from pkex.cli import _interactions, _models, _tables
from pkex.cli._grid import SHOWN, bar, cell, grid
from pkex.cli._groups import groups_from
from pkex.cli._session import Session
from pkex.cli._summary import (
    FORMAT,
    VERSION,
    ClassFacts,
    ExplainInputs,
    ExplainResult,
    ExplainSummary,
    FeatureFacts,
    OutputFacts,
    rule_facts,
    table_facts,
)
from pkex.interactions import Interactions
from pkex.models.classes import apart, elsewhere, meaning
from pkex.output.text import OUTPUTS, aligned, notes
from pkex.tables.cells import cell_text
from pkex.tables.files import Dialect, FileTable

__all__ = ["Request", "expected", "explain", "group_numbers", "is_ours"]


# columns of the file of values
_ADDED = ("row", "output", "base_value", "prediction", "predicted_class")


@dataclass(frozen=True)
class Request:
    """What is to be explained, and how."""

    model: Path
    data: Path
    background: Path | None = None
    background_rows: str | None = None
    removal: str | None = None
    rows: str | None = None
    columns: tuple[str, ...] = ()
    groups: Path | None = None
    outputs: str | None = None
    output: str | None = None
    id: str | None = None
    tol: float | None = None
    n_jobs: int = -1
    drop_missing: bool = False
    keep_missing: bool = False
    trust: bool = False
    trusted_types: tuple[str, ...] = ()
    interactions: bool = False


def explain(request: Request, dialect: Dialect, session: Session) -> int:
    """Explain the rows, write and print the result, and return the exit code."""
    if request.removal == "interventional" and request.background is None:
        raise ValueError(
            "--removal interventional takes absent features from other rows: pass --background "
            "FILE."
        )
    with session.noting_warnings():
        model = _models.load(request.model, request.trust, request.trusted_types)
        explanation, data, background, together = _explained(model, request, dialect, session)
    if request.output is not None:
        every, explanation = explanation.outputs, _one_output(explanation, request.output)
        if together is not None:
            number = every.index(explanation.outputs[0])
            together = _interactions.like(together, explanation, number)
    kind = class_name(model)
    summary = ExplainSummary(
        format=FORMAT,
        version=VERSION,
        pkex=pkex.__version__,
        command="explain",
        inputs=ExplainInputs(
            model={"path": str(request.model), "class": kind},
            data=table_facts(data),
            background=None if background is None else table_facts(background),
        ),
        result=_result(explanation),
        notes=session.notes,
    )
    if together is not None:
        summary["result"]["interactions"] = _interactions.facts(together)

    def report(path: Path) -> None:
        from pkex.report import write

        details = {"Model": f"{request.model} ({kind})", "Table": str(request.data)}
        write(explanation, path, details=details, interactions=together)

    single = len(explanation) == 1 and explanation.values.ndim == 2
    lines = _row_grid(explanation) if single else _importance_grid(explanation)
    session.finish(
        summary,
        values_frame(explanation, data.frame.index.to_numpy()),
        lines if together is None else lines + _interactions.shown(together),
        report,
        None if together is None else _interactions.writer(together, session.table_format),
    )
    return 0


def _explained(
    model: Any, request: Request, dialect: Dialect, session: Session
) -> tuple[pkex.Explanation, FileTable, FileTable | None, Interactions | None]:
    """Return the explanation, the table it explains, that of the background, and interactions."""
    import pandas

    names, count = expected(model)
    chosen, own = request.columns, request.id
    if own is not None and own in (*(names or ()), *chosen):
        raise ValueError(
            f"the model takes the column {own}, so that it cannot name the rows: --id is kept out "
            "of the model."
        )
    labels: list[Any] = []  # of the rows of the data, before some are dropped

    def prepared(path: Path, rows: str | None, row_names: str | None = None) -> FileTable:
        table = _tables.read(path, dialect, row_names)
        table = table if rows is None else _tables.chosen_rows(table, rows)
        if row_names is not None:
            labels.append(table.frame[row_names])
        if own is not None and own in table.names:
            table = table.without(own)
        table = _tables.for_model(table, names, count, chosen)
        if not request.keep_missing:
            advice = "--keep-missing if the model has an imputer, "
            table = _tables.complete(table, request.drop_missing, advice)
        session.describe(table)
        return table

    if names is not None and chosen:
        raise ValueError("the model knows the names of its columns: leave out --columns.")
    data = prepared(request.data, request.rows, own)
    background = None
    if request.background is not None:
        background = prepared(request.background, request.background_rows)
    elif request.background_rows is not None:
        raise ValueError("--background-rows were given without --background.")

    def rows_of(table: FileTable) -> Any:
        return table.frame if names is not None else table.frame.to_numpy()

    groups = group_numbers(groups_from(request.groups, dialect), names, data)
    try:
        explainer = pkex.Explainer(
            model,
            None if background is None else rows_of(background),
            removal=request.removal,
            outputs=request.outputs,
            groups=groups,
            tol=request.tol,
            n_jobs=request.n_jobs,
        )
        explanation = explainer(rows_of(data), progress=session.progress)
        together = None
        if request.interactions:
            together = explainer.interactions(rows_of(data), progress=session.progress)
    except (TypeError, ValueError) as error:
        if is_ours(error):
            raise
        raise ValueError(
            f"the model cannot take the columns as they were read ({error}); --categorical reads "
            "numbers as text, and --decimal , reads decimal commas."
        ) from error
    if names is None:
        explanation = _named(explanation, data.names)
    index = data.frame.index  # numbers in the file
    if labels:
        index = pandas.Index(labels[0].loc[index], name=own)
    explanation = replace(explanation, row_labels=index)
    if together is not None:
        together = _interactions.like(together, explanation, None)
    return explanation, data, background, together


def is_ours(error: Exception) -> bool:
    """Tell whether pkex raised the error, rather than a step of the model."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith("pkex.")


def expected(model: Any) -> tuple[list[str] | None, int | None]:
    """Return the names of the columns that the model was fitted with, or their number."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(map(str, names)), getattr(model, "n_features_in_", None)


def group_numbers(groups: Any, names: Sequence[str] | None, table: FileTable) -> Any:
    """Return groups by numbers of columns for a model that does not know their names."""
    if groups is None or names is not None:
        return groups
    return {group: [_index(column, table) for column in own] for group, own in groups.items()}


def _index(column: str | int, table: FileTable) -> int:
    if isinstance(column, str):
        table.take([column])
        return table.names.index(column)
    return column


def _named(explanation: pkex.Explanation, names: Sequence[str]) -> pkex.Explanation:
    """Return the explanation of a model without names in those of the table."""
    unnamed = tuple(f"x{i}" for i in range(len(names)))
    if explanation.column_names != unnamed:
        return explanation  # columns were mixed before they were explained
    titles = tuple(
        names[columns[0]] if title == unnamed[columns[0]] else title
        for title, columns in zip(explanation.feature_names, explanation.players, strict=True)
    )
    return replace(explanation, feature_names=titles, column_names=tuple(names))


def _one_output(explanation: pkex.Explanation, text: str) -> pkex.Explanation:
    outputs = explanation.outputs
    if not outputs:
        raise ValueError("the model has one output without a name: leave out --output.")
    number = int(text) if text.isdecimal() and text not in outputs else None
    if text not in outputs and (number is None or number >= len(outputs)):
        raise ValueError(f"there is no output {text!r}; the outputs are {listed(outputs)}.")
    if explanation.values.ndim == 2:
        return explanation
    return explanation[:, :, text if number is None else number]


def _result(explanation: pkex.Explanation) -> ExplainResult:
    """Return what the summary says about the result."""
    assert explanation.absent is not None  # as it is not of an old file
    assert explanation.error is not None
    importance = explanation.importance()
    outputs = explanation.outputs or (None,)
    shape = (len(importance.feature_names), len(outputs))
    tables = (importance.values, importance.standard_errors, importance.centred)
    means, errors, centred = (table.reshape(shape) for table in tables)
    base_values = explanation.base_values[0].reshape(-1)
    sides = explanation.sides or ((None, None),) * len(outputs)
    return ExplainResult(
        removal=cast(Literal["marginal", "interventional", "neutral"], explanation.removal),
        absent=explanation.absent,
        caution=explanation.caution,
        outputs=[
            OutputFacts(name=name, base_value=float(base), positive=yes, negative=no)
            for name, base, (yes, no) in zip(outputs, base_values, sides, strict=True)
        ],
        classes=_classes(explanation),
        features=[
            FeatureFacts(
                name=importance.feature_names[i],
                columns=[explanation.column_names[j] for j in explanation.players[i]],
                importance=means[i].tolist(),
                standard_error=errors[i].tolist(),
                centred=centred[i].tolist(),
            )
            for i in importance.order
        ],
        rule=rule_facts(explanation.rule),
        residual=explanation.residual,
        error=float(explanation.error.max(initial=0.0)),
    )


def _classes(explanation: pkex.Explanation) -> ClassFacts | None:
    """Return what the summary says about classes: how often each is predicted."""
    if explanation.classes is None or explanation.predicted is None:
        return None
    assert explanation.number is not None
    return ClassFacts(
        number=explanation.number,
        predicted=_counts(explanation),
        elsewhere=_apart(explanation),
    )


def _counts(explanation: pkex.Explanation) -> dict[str, int]:
    """Return how many rows have each predicted class, in the order of the classes."""
    assert explanation.predicted is not None
    found = [str(label) for label in explanation.predicted]
    labels = dict.fromkeys((*(explanation.classes or ()), *found))
    return {label: found.count(label) for label in labels}


def _apart(explanation: pkex.Explanation) -> int:
    """Return how many rows have their largest output in another class than the predicted one."""
    other = elsewhere(explanation)
    return 0 if other is None else sum(most is not None for most in other)


def values_frame(explanation: pkex.Explanation, numbers: Any) -> Any:
    """Return the values as they are written: one line for each row and output."""
    import pandas

    values, base, predictions = explanation._with_output_axis()
    n_rows, n_features, n_outputs = values.shape
    first: dict[str, Any] = {"row": np.repeat(numbers, n_outputs)}
    last: dict[str, Any] = {"base_value": base.ravel(), "prediction": predictions.ravel()}
    if explanation.outputs:
        first["output"] = np.tile(np.array(explanation.outputs, dtype=object), n_rows)
    if explanation.predicted is not None:
        last["predicted_class"] = np.repeat(explanation.predicted, n_outputs)
    names = explanation.feature_names
    taken = [name for name in _ADDED if name in names]
    if taken:
        raise ValueError(
            f"a feature is named {taken[0]!r}, as a column that the file of values has besides: "
            f'give it another name with --groups, e.g. {{"my_{taken[0]}": ["{taken[0]}"]}}.'
        )
    own = None if explanation.row_labels is None else explanation.row_labels.name
    if own is not None:
        if own in (*names, *_ADDED[1:]):
            raise ValueError(
                f"the column {own!r} of --id is named like a feature or a column that the file of "
                "values has besides: give it another name in the table."
            )
        first = {own: np.repeat(explanation.row_labels.to_numpy(), n_outputs)} | {
            name: column for name, column in first.items() if name != own
        }
    flat = np.moveaxis(values, 2, 1).reshape(n_rows * n_outputs, n_features)
    return pandas.DataFrame(first | dict(zip(names, flat.T, strict=True)) | last)


def _said(explanation: pkex.Explanation) -> list[str]:
    """Return lines about classes: what the number is, and what is predicted."""
    said = meaning(explanation)
    if said is None or explanation.predicted is None:
        return []
    lines = [said]
    other = elsewhere(explanation)
    if len(explanation) > 1:
        told = [f"{count} {label}" for label, count in _counts(explanation).items() if count]
        lines.append(f"predicted: {listed(told)}")
        if _apart(explanation):
            lines.append(apart(_apart(explanation), len(explanation)))
    elif explanation.values.ndim == 3:
        most = None if other is None else other[0]
        largest = f", largest output {most}" if most is not None else ""
        name = explanation.row_names[0]
        lines.append(f"row {name}: predicted {explanation.predicted[0]}{largest}")
    return lines


def _row_grid(explanation: pkex.Explanation) -> list[Any]:
    """Return one row as a sum: the features with their data and values."""
    phi, order = explanation.values[0], explanation.importance().order[:SHOWN]
    noun, own = "prediction", ""
    if explanation.predicted is not None:
        noun, own = explanation.outputs[0], f" (predicted {explanation.predicted[0]})"
    title = (
        f"row {explanation.row_names[0]}{own}: {noun} {explanation.predictions[0]:.6g} = base "
        f"value {explanation.base_values[0]:.6g} + values ({explanation.removal} removal)"
    )
    lines = [
        [explanation.feature_names[i], _raw(explanation, i), text, bar(phi[i], abs(phi).max())]
        for i, text in zip(order, aligned(phi[order]), strict=True)
    ]
    shown = grid(title, ["feature", "data", "value", ""], lines, len(phi), _said(explanation))
    return shown + [cell(note, "dim") for note in notes(explanation)]


def _importance_grid(explanation: pkex.Explanation) -> list[Any]:
    """Return the importance of the features, for the first outputs."""
    importance = explanation.importance()
    names = importance.output_names or ("mean |value|",)
    shape = (len(importance.feature_names), len(names))
    tables = (importance.values, importance.standard_errors, importance.centred)
    means, errors, centred = (table.reshape(shape)[:, :OUTPUTS] for table in tables)
    rows = counted(len(explanation), "row")
    title = f"mean |value| over {rows} ({explanation.removal} removal)"
    extra = ("centred",) if importance.neutral else ()
    heads, places = ["feature"], []
    for name in names[:OUTPUTS]:
        places.append(range(len(heads), len(heads) + 2 + len(extra)))
        heads += [name, "", *extra]
    lines = []
    for i in importance.order[:SHOWN]:
        cells = []
        for mean, error, alone in zip(means[i], errors[i], centred[i], strict=True):
            cells += [f"{mean:.4g}", _error(error), *[f"{alone:.4g}" for _ in extra]]
        lines.append([importance.feature_names[i], *cells])
        if len(names) == 1:
            lines[-1].append(bar(means[i, 0], means.max()))
    heads += [""] * (len(names) == 1)
    shown = grid(
        title,
        heads,
        lines,
        len(means),
        _said(explanation),
        outputs=places if len(names) > 1 else (),
        n_outputs=len(names),
    )
    return shown + [cell(note, "dim") for note in notes(explanation)]


def _error(error: float) -> str:
    return "" if np.isnan(error) else f"± {error:.2g}"


def _raw(explanation: pkex.Explanation, player: int) -> str:
    return listed([cell_text(explanation.data[0, j]) for j in explanation.players[player][:4]])
