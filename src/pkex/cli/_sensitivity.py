"""``pkex sensitivity``: which inputs drive a model's output over the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import pkex
from pkex._util.words import class_name
from pkex.cli import _models, _tables
from pkex.cli._explain import expected, group_numbers, is_ours
from pkex.cli._groups import groups_from
from pkex.cli._session import Session
from pkex.cli._summary import (
    FORMAT,
    VERSION,
    IndexFacts,
    SensitivityInputs,
    SensitivityResult,
    SensitivitySummary,
    VarianceFacts,
    table_facts,
)
from pkex.output.terminal import LINES, bars, draw
from pkex.output.view import OUTPUTS, View, more
from pkex.output.view.features import sensitivity_remarks, sensitivity_tables
from pkex.tables.files import Dialect, FileTable

__all__ = ["SensitivityRequest", "sensitivity"]

_KINDS = ("first_order", "shapley", "total_order")


@dataclass(frozen=True)
class SensitivityRequest:
    """What is to be analysed, and how."""

    model: Path
    data: Path
    order: int = 1
    columns: tuple[str, ...] = ()
    groups: Path | None = None
    outputs: str | None = None
    n_jobs: int = -1
    drop_missing: bool = False
    trust: bool = False
    trusted_types: tuple[str, ...] = ()


def sensitivity(request: SensitivityRequest, dialect: Dialect, session: Session) -> int:
    """Find the indices, write and print the result, and return the exit code."""
    with session.noting_warnings():
        model = _models.load(request.model, request.trust, request.trusted_types)
        found, data = _found(model, request, dialect, session)
    kind = class_name(model)
    summary = SensitivitySummary(
        format=FORMAT,
        version=VERSION,
        pkex=pkex.__version__,
        command="sensitivity",
        inputs=SensitivityInputs(
            model={"path": str(request.model), "class": kind}, data=table_facts(data)
        ),
        result=_result(found),
        notes=session.notes,
    )

    def report(path: Path) -> None:
        from pkex.output.report import write

        details = {"Model": f"{request.model} ({kind})", "Table": str(request.data)}
        write(found, path, details=details)

    session.finish(summary, _values(found), _grid(found), report)
    return 0


def _found(
    model: Any, request: SensitivityRequest, dialect: Dialect, session: Session
) -> tuple[pkex.Sensitivity, FileTable]:
    """Return the indices, and the table that the inputs range over."""
    names, count = expected(model)
    if names is not None and request.columns:
        raise ValueError("the model knows the names of its columns: leave out --columns.")
    table = _tables.for_model(_tables.read(request.data, dialect), names, count, request.columns)
    table = _tables.complete(table, request.drop_missing)
    session.describe(table)
    session.note_all(_tables.about_order(table, names, request.columns))
    groups = group_numbers(groups_from(request.groups, dialect), names, table)
    rows = table.frame if names is not None else table.frame.to_numpy()
    try:
        found = pkex.sensitivity(
            model,
            rows,
            groups=groups,
            order=request.order,
            outputs=request.outputs,
            n_jobs=request.n_jobs,
        )
    except (TypeError, ValueError) as error:
        if is_ours(error):
            raise
        raise ValueError(
            f"the model cannot take the columns as they were read ({error}); --categorical reads "
            "numbers as text, and --decimal , reads decimal commas."
        ) from error
    unnamed = tuple(f"x{i}" for i in range(len(table.names)))
    if names is None and found.column_names == unnamed:
        titles = tuple(
            table.names[own[0]] if title == unnamed[own[0]] else title
            for title, own in zip(found.feature_names, found.players, strict=True)
        )
        found = found.with_names(titles, table.names)
    return found, table


def _result(found: pkex.Sensitivity) -> SensitivityResult:
    outputs = found.outputs or (None,)
    variances, means = (np.reshape(part, -1) for part in (found.variance, found.mean))
    tables = {kind: _by_output(found, kind) for kind in _KINDS}
    return SensitivityResult(
        inputs=found.inputs,
        outputs=[
            VarianceFacts(name=name, variance=float(variance), mean=float(mean))
            for name, variance, mean in zip(outputs, variances, means, strict=True)
        ],
        features=[
            IndexFacts(
                name=found.feature_names[i],
                columns=[found.column_names[j] for j in found.players[i]],
                first_order=tables["first_order"][i].tolist(),
                shapley=tables["shapley"][i].tolist(),
                total_order=tables["total_order"][i].tolist(),
            )
            for i in found.order
        ],
        remarks=sensitivity_remarks(found),
        error=found.error,
    )


def _by_output(found: pkex.Sensitivity, kind: str) -> Any:
    return getattr(found, kind).reshape(len(found.players), -1)


def _values(found: pkex.Sensitivity) -> Any:
    """Return the indices as they are written, a line for each output and input.

    With ``order=2`` the lines of pairs follow, in which the input is two names.
    """
    import pandas

    lines = []
    for k, output in enumerate(found.outputs or (None,)):
        first = {} if output is None else {"output": output}
        tables = {kind: _by_output(found, kind)[:, k] for kind in _KINDS}
        for i in found.order:
            shares = {kind: table[i] for kind, table in tables.items()}
            lines.append(first | {"feature": found.feature_names[i], "with": ""} | shares)
        if found.second_order is None:
            continue
        pairs = found.second_order.reshape(*found.second_order.shape[:2], -1)[..., k]
        for i, j in zip(*np.triu_indices(len(pairs), 1), strict=True):
            pair = {"feature": found.feature_names[i], "with": found.feature_names[j]}
            lines.append(first | pair | {"second_order": pairs[i, j]})
    frame = pandas.DataFrame(lines)
    return frame if found.second_order is not None else frame.drop(columns="with")


def _grid(found: pkex.Sensitivity) -> list[Any]:
    names = found.outputs or ("",)
    tables = sensitivity_tables(
        found, names[:OUTPUTS], LINES, ("alone", "Shapley", "total"), ".4f", "feature"
    )
    if len(tables) == 1:
        shapley = _by_output(found, "shapley")
        drawn = bars(shapley[found.order[:LINES], 0], float(np.nanmax(shapley)))
        tables = [replace(tables[0], columns=[*tables[0].columns, drawn])]
    variances = np.reshape(found.variance, -1)[:OUTPUTS]
    variance = ", ".join(f"{float(part):.4g}" for part in variances)
    inputs = f"inputs: {found.inputs}, independent of each other"
    pair = [] if found.second_order is None else [_largest_pair(found)]
    view = View(
        f"shares of the variance {variance}{', ...' if len(names) > OUTPUTS else ''}",
        tables=tables,
        more=more(len(found.players) - LINES, "feature"),
        remarks=[inputs, *pair, *sensitivity_remarks(found)],
    )
    return draw(view, len(names), "--out has all")


def _largest_pair(found: pkex.Sensitivity) -> str:
    assert found.second_order is not None
    pairs = found.second_order.reshape(*found.second_order.shape[:2], -1)[..., 0]
    if len(pairs) < 2:
        return "a single input has no pairs"
    i, j = np.unravel_index(np.nanargmax(pairs), pairs.shape)
    names = found.feature_names
    return f"largest pair: {names[i]} with {names[j]}, {pairs[i, j]:.4f} of the variance"
