"""``pkex explain``: Shapley values of the rows of a table, for a model from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pkex
from pkex._util.words import class_name, listed
from pkex.cli import _interactions, _models, _tables
from pkex.cli._explain_result import importance_grid, result_facts, row_grid, values_frame
from pkex.cli._groups import groups_from
from pkex.cli._session import Session
from pkex.cli._summary import (
    FORMAT,
    VERSION,
    ExplainInputs,
    ExplainSummary,
    table_facts,
)
from pkex.results.interactions import Interactions
from pkex.results.totals import PairTotals, Totals
from pkex.tables.files import Dialect, FileTable
from pkex.tables.streams import FileStream

__all__ = [
    "KEEP",
    "ExplainRequest",
    "Work",
    "expected",
    "explain",
    "group_numbers",
    "is_ours",
]

KEEP = "--keep-missing if the model has an imputer, "  # for sentences about missing values


@dataclass(frozen=True)
class ExplainRequest:
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
    resume: bool = False
    part_rows: int | None = None
    interactions: bool = False


def explain(request: ExplainRequest, dialect: Dialect, session: Session) -> int:
    """Explain the rows, write and print the result, and return the exit code."""
    if request.removal == "interventional" and request.background is None:
        raise ValueError(
            "--removal interventional takes absent features from other rows: pass --background "
            "FILE."
        )
    if request.resume and session.out is None:
        raise ValueError("--resume goes on with what an interrupted run left: pass its --out DIR.")
    with session.noting_warnings():
        model = _models.load(request.model, request.trust, request.trusted_types)
        work = Work(model, request, dialect, session)
        stream = _tables.long_table(request.data, dialect, request.id, request.part_rows)
    if stream is not None:
        from pkex.cli import _stream

        with session.noting_warnings():
            is_long = _stream.is_long(stream, work)
        if is_long:
            return _stream.explain(stream, work)
    with session.noting_warnings():
        explanation, data = work.whole(stream)
        together = work.interactions(data, explanation, session.progress)
    if request.resume:
        session.say(f"{request.data} is explained in one piece, so there was nothing to resume.")
    totals, kind, background = Totals.of(explanation), class_name(model), work.background
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
        result=result_facts(explanation, totals),
        notes=session.notes,
    )
    if together is not None:
        totals = replace(totals, pairs=PairTotals.of(together))
    values = values_frame(explanation, data.frame.index.to_numpy())
    work.finish(summary, values, explanation, totals, together)
    return 0


class Work:
    """A model and what is asked of it: tables are made ready for it, and rows explained."""

    def __init__(
        self, model: Any, request: ExplainRequest, dialect: Dialect, session: Session
    ) -> None:
        self.model, self.request, self.dialect, self.session = model, request, dialect, session
        self.names, self.count = expected(model)
        chosen, own = request.columns, request.id
        if own is not None and own in (*(self.names or ()), *chosen):
            raise ValueError(
                f"the model takes the column {own}, so that it cannot name the rows: --id is kept "
                "out of the model."
            )
        if self.names is not None and chosen:
            raise ValueError("the model knows the names of its columns: leave out --columns.")
        if request.background is None and request.background_rows is not None:
            raise ValueError("--background-rows were given without --background.")
        self.background: FileTable | None = None
        self._explainer: pkex.Explainer | None = None
        self._outputs: tuple[str, ...] = ()

    def whole(self, stream: FileStream | None) -> tuple[pkex.Explanation, FileTable]:
        """Return the explanation of the table at once, and the table; `stream` has it if long."""
        request = self.request
        if stream is None:
            table = _tables.read(request.data, self.dialect, request.id)
            table = table if request.rows is None else _tables.chosen_rows(table, request.rows)
        else:
            table = _tables.picked_rows(stream, request.rows)
        data, labels = self.ready(table)
        data = self.complete(data)
        self.session.describe(data)
        return self.explained(data, labels, self.session.progress), data

    def ready(self, table: FileTable) -> tuple[FileTable, Any]:
        """Return the columns that the model takes, and the column that names the rows."""
        own, labels = self.request.id, None
        if own is not None and own in table.names:
            labels, table = table.frame[own], table.without(own)
        return self._columns_of(table), labels

    def _columns_of(self, table: FileTable) -> FileTable:
        """Return the columns of the model; say which ones where it does not know their names."""
        found = _tables.for_model(table, self.names, self.count, self.request.columns)
        self.session.note_all(_tables.about_order(found, self.names, self.request.columns))
        return found

    def complete(self, table: FileTable) -> FileTable:
        """Return the table without rows that have missing values, unless the model takes them."""
        if self.request.keep_missing:
            return table
        return _tables.complete(table, self.request.drop_missing, KEEP)

    def explained(self, data: FileTable, labels: Any, progress: bool = False) -> pkex.Explanation:
        """Return the explanation of some rows, named as the table names them."""
        import pandas

        explainer = self.explainer(data)
        try:
            explanation: pkex.Explanation = explainer(self._rows(data), progress=progress)
        except (TypeError, ValueError) as error:
            if is_ours(error):
                raise
            raise _cannot_take(error) from error
        if self.names is None:
            explanation = _named(explanation, data.names)
        index = data.frame.index  # numbers in the file
        if labels is not None:
            index = pandas.Index(labels.loc[index], name=self.request.id)
        explanation = replace(explanation, row_labels=index)
        self._outputs = explanation.outputs
        if self.request.output is not None:
            explanation = _one_output(explanation, self.request.output)
        return explanation

    def interactions(
        self, data: FileTable, explanation: pkex.Explanation, progress: bool = False
    ) -> Interactions | None:
        """Return the interactions of the rows of an explanation, if they are asked for."""
        if not self.request.interactions:
            return None
        try:
            found = self.explainer(data).interactions(self._rows(data), progress=progress)
        except (TypeError, ValueError) as error:
            if is_ours(error):
                raise
            raise _cannot_take(error) from error
        chosen = self.request.output is not None
        number = self._outputs.index(explanation.outputs[0]) if chosen else None
        return _interactions.like(found, explanation, number)

    def explainer(self, data: FileTable) -> pkex.Explainer:
        """Return the explainer, made once, for tables with the columns of `data`."""
        if self._explainer is not None:
            return self._explainer
        request = self.request
        if request.background is not None:
            table = _tables.read_chosen(request.background, self.dialect, request.background_rows)
            self.background = self.complete(self.ready(table)[0])
            self.session.describe(self.background)
        groups = group_numbers(groups_from(request.groups, self.dialect), self.names, data)
        try:
            self._explainer = pkex.Explainer(
                self.model,
                None if self.background is None else self._rows(self.background),
                removal=request.removal,
                outputs=request.outputs,
                groups=groups,
                tol=request.tol,
                n_jobs=request.n_jobs,
            )
        except (TypeError, ValueError) as error:
            if is_ours(error):
                raise
            raise _cannot_take(error) from error
        return self._explainer

    def finish(
        self,
        summary: ExplainSummary,
        values: Any,
        explanation: pkex.Explanation,
        totals: Totals,
        together: Interactions | None,
    ) -> None:
        """Write and print the result; what is shown may be of a sample of the rows of `totals`."""
        request, session = self.request, self.session
        single = totals.n_rows == 1 and explanation.values.ndim == 2
        lines = (row_grid if single else importance_grid)(explanation, totals)
        more = None
        if together is not None:
            assert totals.pairs is not None
            summary["result"]["interactions"] = _interactions.facts(together, totals.pairs)
            lines = lines + _interactions.shown(together, totals.pairs)
            more = _interactions.writer(together, totals.pairs, session.table_format)

        def report(path: Path) -> None:
            from pkex.output.report import write

            model = f"{request.model} ({class_name(self.model)})"
            details = {"Model": model, "Table": str(request.data)}
            write(explanation, path, details=details, totals=totals, interactions=together)

        session.finish(summary, values, lines, report, more)

    def _rows(self, table: FileTable) -> Any:
        return table.frame if self.names is not None else table.frame.to_numpy()


def _cannot_take(error: Exception) -> ValueError:
    """Return the sentence about an error of a step of the model."""
    return ValueError(
        f"the model cannot take the columns as they were read ({error}); --categorical reads "
        "numbers as text, and --decimal , reads decimal commas."
    )


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
    return explanation.with_names(titles, names)


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
