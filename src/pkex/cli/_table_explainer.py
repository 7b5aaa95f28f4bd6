"""Rows of tables explained by a model from a file, as the options of ``pkex explain`` ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pandas

import pkex
from pkex._util.words import join_names
from pkex.cli._explain_result import importance_grid, result_facts, row_grid
from pkex.cli._input_facts import TableFacts, table_facts
from pkex.cli._loaded_model import LoadedModel
from pkex.cli._options import ExplainOptions
from pkex.cli._session import Addition, Session
from pkex.cli._summary import ExplainInputs
from pkex.results.interactions import Interactions
from pkex.results.totals import Totals
from pkex.tables import selection
from pkex.tables.files import Dialect, FileTable

__all__ = ["KEEP", "TableExplainer"]

OfRows = TypeVar("OfRows", Interactions, "pkex.Influence")

KEEP = "--missing keep if the model has an imputer, "  # for sentences about missing values


class TableExplainer:
    """A model and what is asked of it: tables are made ready for it, and rows explained."""

    def __init__(self, options: ExplainOptions, dialect: Dialect, session: Session) -> None:
        self.options, self.dialect, self.session = options, dialect, session
        self.model = LoadedModel(options, dialect)
        if options.id in (self.model.names or self.model.columns):
            raise ValueError(
                f"the column {options.id} is a feature of the model, so it cannot be the row names "
                "of --id."
            )
        if options.background is None and options.background_rows is not None:
            raise ValueError("--background-rows needs --background.")
        self.background: FileTable | None = None
        self._explainer: pkex.Explainer | None = None

    def ready(self, table: FileTable) -> tuple[FileTable, Any]:
        """Return the columns that the model takes, and the column that names the rows."""
        labels = None
        if self.options.id is not None and self.options.id in table.names:
            labels, table = table.frame[self.options.id], table.without(self.options.id)
        table = self.model.take_columns(table)
        self.session.note(*self.model.note_order(table))
        return table, labels

    def complete(self, table: FileTable) -> FileTable:
        """Return the table without rows that have missing values, unless the model takes them."""
        return selection.handle_missing(table, self.options.missing, KEEP)

    def explain(self, data: FileTable, labels: Any, progress: bool = False) -> pkex.Explanation:
        """Return the explanation of some rows, named as the table names them."""
        explainer = self.explainer(data)
        with self.model.explaining_errors():
            explanation: pkex.Explanation = explainer(self.model.take_rows(data), progress=progress)
        explanation = self.model.name_columns(explanation, data)
        index = data.frame.index  # numbers in the file
        if labels is not None:
            index = pandas.Index(labels.loc[index], name=self.options.id)
        explanation = replace(explanation, row_index=index)
        if self.options.output is not None:
            explanation = _one_output(explanation, self.options.output)
        return explanation

    def interactions(
        self, data: FileTable, explanation: pkex.Explanation, progress: bool = False
    ) -> Interactions:
        """Return the interactions of the rows of an explanation, with its names and outputs."""
        with self.model.explaining_errors():
            rows = self.model.take_rows(data)
            interactions = self.explainer(data).interactions(rows, progress=progress)
        return self._as_explained(interactions, explanation)

    def influence(self, data: FileTable, explanation: pkex.Explanation, top: int) -> pkex.Influence:
        """Return the training rows behind the rows of an explanation, with its names."""
        with self.model.explaining_errors():
            influence = self.explainer(data).influence(self.model.take_rows(data), top=top)
        return self._as_explained(influence, explanation)

    def _as_explained(self, result: OfRows, explanation: pkex.Explanation) -> OfRows:
        """Return a result of the same rows with the names and the output of an explanation."""
        named = result.with_names(explanation.feature_names, explanation.column_names)
        named = replace(named, row_index=explanation.row_index)
        if self.options.output is None:
            return named
        return named.select_output(explanation.output_names[0], "--output")

    def explainer(self, data: FileTable) -> pkex.Explainer:
        """Return the explainer, made once, for tables with the columns of `data`."""
        if self._explainer is not None:
            return self._explainer
        options, background = self.options, None
        if options.background is not None:
            path, rows = options.background, options.background_rows
            stream = None if rows is None else selection.open_long_table(path, self.dialect)
            table = selection.choose_rows(stream or selection.read_table(path, self.dialect), rows)
            self.background = self.complete(self.ready(table)[0])
            self.session.describe(self.background)
            background = self.model.take_rows(self.background)
        groups = self.model.groups(data)
        with self.model.explaining_errors():
            self._explainer = pkex.Explainer(
                self.model.model,
                background,
                removal=options.removal,
                conditional_model=options.conditional_model,
                outputs=options.outputs,
                groups=groups,
                hierarchy=self.model.hierarchy(options.hierarchy, data),
                tol=options.tol,
                n_jobs=options.n_jobs,
            )
        return self._explainer

    def finish(
        self,
        data: TableFacts,
        values: Any,
        explanation: pkex.Explanation,
        totals: Totals,
        additions: Sequence[Addition],
    ) -> None:
        """Write and print the result; what is shown may be of a sample of the rows of `totals`."""
        inputs = ExplainInputs(
            model=self.model.facts,
            data=data,
            background=None if self.background is None else table_facts(self.background),
        )
        single = totals.n_rows == 1 and explanation.values.ndim == 2
        grid = (row_grid if single else importance_grid)(explanation, totals)
        facts = result_facts(explanation, totals)
        report = {"details": self.model.details(Table=self.options.data), "totals": totals}
        self.session.finish(
            "explain", inputs, facts, values, grid, explanation, additions, **report
        )


def _one_output(explanation: pkex.Explanation, text: str) -> pkex.Explanation:
    outputs = explanation.output_names
    if not outputs:
        raise ValueError("the model has one output without a name: leave out --output.")
    number = int(text) if text.isdecimal() and text not in outputs else None
    if text not in outputs and (number is None or number >= len(outputs)):
        raise ValueError(f"there is no output {text!r}; the outputs are {join_names(outputs)}.")
    if explanation.values.ndim == 2:
        return explanation
    return explanation[:, :, text if number is None else number]
