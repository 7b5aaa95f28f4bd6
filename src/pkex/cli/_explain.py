"""``pkex explain``: Shapley values of the rows of a table, for a model from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import pkex
from pkex._cells import cell_text
from pkex._display import notes
from pkex.cli import _models, _session, _tables
from pkex.cli._groups import groups_from
from pkex.cli._session import SHOWN, Session, aligned, bar, cell, grid
from pkex.cli._tables import Dialect, Table, counted, listed

__all__ = ["Request", "explain"]

_ADDED = ("row", "output", "base_value", "prediction")  # columns of the file of values


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
    output: str | None = None
    tol: float | None = None
    n_jobs: int = -1
    drop_missing: bool = False
    keep_missing: bool = False
    trust: bool = False
    trusted_types: tuple[str, ...] = ()


def explain(request: Request, dialect: Dialect, session: Session) -> int:
    """Explain the rows, write and print the result, and return the exit code."""
    if request.removal == "interventional" and request.background is None:
        raise ValueError(
            "--removal interventional takes absent features from other rows: pass --background "
            "FILE."
        )
    with session.noting_warnings():
        model = _models.load(request.model, request.trust, request.trusted_types)
        explanation, tables = _explained(model, request, dialect, session)
    if request.output is not None:
        explanation = _one_output(explanation, request.output)
    data = tables["data"]
    assert data is not None
    inputs = {
        "model": {"path": str(request.model), "class": _class_name(model)},
        **{name: table and _session.table_facts(table) for name, table in tables.items()},
    }
    numbers = data.frame.index.to_numpy()
    single = len(explanation) == 1 and explanation.values.ndim == 2
    session.finish(
        "explain",
        inputs,
        _result(explanation),
        values_frame(explanation, numbers),
        _row_grid(explanation, numbers[0]) if single else _importance_grid(explanation),
        explanation,
        details={"Model": f"{request.model} ({_class_name(model)})", "Table": str(request.data)},
        row_numbers=numbers,
    )
    return 0


def _explained(
    model: Any, request: Request, dialect: Dialect, session: Session
) -> tuple[pkex.Explanation, dict[str, Table | None]]:
    names, count = _expected(model)
    chosen = request.columns

    def prepared(path: Path, rows: str | None) -> Table:
        table = _tables.read(path, dialect)
        table = table if rows is None else table.rows(rows)
        if names is not None:
            table = table.take(names)
        else:
            table = table.take(chosen) if chosen else table
            if count is not None and len(table.names) != count:
                raise ValueError(
                    f"the model was fitted without names of columns and takes {count}, but {path} "
                    f"has {len(table.names)}, {listed(table.names)}: choose {count} of them with "
                    "--columns, in the order of the model."
                )
        if not request.keep_missing:
            advice = "--keep-missing if the model has an imputer, "
            table = table.complete(request.drop_missing, advice)
        session.describe(table)
        return table

    if names is not None and chosen:
        raise ValueError("the model knows the names of its columns: leave out --columns.")
    data = prepared(request.data, request.rows)
    background = None
    if request.background is not None:
        background = prepared(request.background, request.background_rows)
    elif request.background_rows is not None:
        raise ValueError("--background-rows were given without --background.")

    def rows_of(table: Table) -> Any:
        return table.frame if names is not None else table.frame.to_numpy()

    groups = groups_from(request.groups, dialect)
    if groups is not None and names is None:
        groups = {
            group: [_index(column, data) for column in columns] for group, columns in groups.items()
        }
    try:
        explainer = pkex.Explainer(
            model,
            None if background is None else rows_of(background),
            removal=request.removal,
            groups=groups,
            tol=request.tol,
            n_jobs=request.n_jobs,
        )
        explanation = explainer(rows_of(data), progress=session.progress)
    except (TypeError, ValueError) as error:
        if _is_ours(error):
            raise
        raise ValueError(
            f"the model cannot take the columns as they were read ({error}); --categorical reads "
            "numbers as text, and --decimal , reads decimal commas."
        ) from error
    if names is None:
        explanation = _named(explanation, data.names)
    return explanation, {"data": data, "background": background}


def _is_ours(error: Exception) -> bool:
    """Tell whether pkex raised the error, rather than a step of the model."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith("pkex.")


def _expected(model: Any) -> tuple[list[str] | None, int | None]:
    """Return the names of the columns that the model was fitted with, or their number."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(map(str, names)), getattr(model, "n_features_in_", None)


def _index(column: str | int, table: Table) -> int:
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


def _class_name(model: Any) -> str:
    """Return the class of a model; of a pipeline, the classes of its steps."""
    steps = getattr(model, "steps", None)
    names = [type(step).__name__ for _, step in steps] if steps else []
    return type(model).__name__ + (f"({', '.join(names)})" if names else "")


def _result(explanation: pkex.Explanation) -> dict[str, Any]:
    importance = explanation.importance()
    outputs = explanation.outputs or (None,)
    shape = (len(importance.feature_names), len(outputs))
    tables = (importance.values, importance.standard_errors, importance.centred)
    means, errors, centred = (table.reshape(shape) for table in tables)
    base_values = explanation.base_values[0].reshape(-1)
    return {
        "removal": explanation.removal,
        "absent": explanation.absent,
        "caution": explanation.caution,
        "outputs": [
            {"name": name, "base_value": base}
            for name, base in zip(outputs, base_values, strict=True)
        ],
        "features": [
            {
                "name": importance.feature_names[i],
                "columns": [explanation.column_names[j] for j in explanation.players[i]],
                "importance": means[i],
                "standard_error": errors[i],
                "centred": centred[i],
            }
            for i in importance.order
        ],
        "rule": _session.rule_facts(explanation),
        "residual": explanation.residual,
    }


def values_frame(explanation: pkex.Explanation, numbers: Any) -> Any:
    """Return the values as they are written: one line for each row and output."""
    import pandas

    names = explanation.feature_names
    taken = [name for name in _ADDED if name in names]
    if taken:
        raise ValueError(
            f"a feature is named {taken[0]!r}, as a column that the file of values has besides: "
            f'give it another name with --groups, e.g. {{"my_{taken[0]}": ["{taken[0]}"]}}.'
        )
    values, base, predictions = explanation._with_output_axis()
    n_rows, n_features, n_outputs = values.shape
    columns: dict[str, Any] = {"row": np.repeat(numbers, n_outputs)}
    if explanation.outputs:
        columns["output"] = np.tile(np.array(explanation.outputs, dtype=object), n_rows)
    flat = np.moveaxis(values, 2, 1).reshape(n_rows * n_outputs, n_features)
    columns |= dict(zip(names, flat.T, strict=True))
    columns |= {"base_value": base.ravel(), "prediction": predictions.ravel()}
    return pandas.DataFrame(columns)


def _row_grid(explanation: pkex.Explanation, number: int) -> list[Any]:
    """Return one row as a sum: the features with their data and values."""
    phi, order = explanation.values[0], explanation.importance().order[:SHOWN]
    title = (
        f"row {number}: prediction {explanation.predictions[0]:.6g} = base value "
        f"{explanation.base_values[0]:.6g} + values ({explanation.removal} removal)"
    )
    lines = [
        [explanation.feature_names[i], _raw(explanation, i), text, bar(phi[i], abs(phi).max())]
        for i, text in zip(order, aligned(phi[order]), strict=True)
    ]
    shown = grid(title, ["feature", "data", "value", ""], lines, len(phi))
    return shown + [cell(note, "dim") for note in notes(explanation)]


def _importance_grid(explanation: pkex.Explanation) -> list[Any]:
    """Return the importance of the features, for each output."""
    importance = explanation.importance()
    outputs = importance.output_names or ("mean |value|",)
    means = importance.values.reshape(-1, len(outputs))
    errors = importance.standard_errors.reshape(means.shape)
    centred = importance.centred.reshape(means.shape)
    rows = counted(len(explanation), "row")
    title = f"mean |value| over {rows} ({explanation.removal} removal)"
    extra = ("centred",) if importance.neutral else ()
    heads = ["feature", *(head for name in outputs for head in (name, "", *extra))]
    lines = []
    for i in importance.order[:SHOWN]:
        cells = []
        for mean, error, alone in zip(means[i], errors[i], centred[i], strict=True):
            cells += [f"{mean:.4g}", _error(error), *[f"{alone:.4g}" for _ in extra]]
        lines.append([importance.feature_names[i], *cells])
        if len(outputs) == 1:
            lines[-1].append(bar(means[i, 0], means.max()))
    shown = grid(title, heads + [""] * (len(outputs) == 1), lines, len(means))
    return shown + [cell(note, "dim") for note in notes(explanation)]


def _error(error: float) -> str:
    return "" if np.isnan(error) else f"± {error:.2g}"


def _raw(explanation: pkex.Explanation, player: int) -> str:
    return listed([cell_text(explanation.data[0, j]) for j in explanation.players[player][:4]])
