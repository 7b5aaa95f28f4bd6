"""The model that options name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkex._util.words import class_name
from pkex.cli._input_facts import ModelFacts
from pkex.cli._options import ModelOptions, split_names
from pkex.cli._session import Session
from pkex.readers.model_files import load_model
from pkex.readers.table_model import TableModel
from pkex.tables import selection
from pkex.tables.files import Dialect, FileTable
from pkex.tables.groups import read_groups, read_hierarchy

__all__ = ["LoadedModel"]


class LoadedModel(TableModel):
    """The model that options name, from its file."""

    def __init__(self, options: ModelOptions, dialect: Dialect) -> None:
        self.options, self.dialect = options, dialect
        model = load_model(options.model, options.trust, options.trust_type or ())
        super().__init__(model, split_names(options.columns))

    @property
    def facts(self) -> ModelFacts:
        """The model as the summary has it."""
        return {"path": str(self.options.model), "class": class_name(self.model)}

    def details(self, **tables: Path) -> dict[str, str]:
        """Return the model and its tables as the report has them."""
        model = f"{self.options.model} ({class_name(self.model)})"
        return {"Model": model, **{title: str(path) for title, path in tables.items()}}

    def read_table(self, path: Path, session: Session) -> FileTable:
        """Return the columns of the model in a table, as the options have missing values handled.

        The session describes the table and notes what is remarkable about it.
        """
        table = self.take_columns(selection.read_table(path, self.dialect))
        table = selection.handle_missing(table, self.options.missing)
        session.describe(table)
        session.note(*self.note_order(table))
        return table

    def groups(self, table: FileTable) -> Any:
        """Return the groups of ``--groups``."""
        return self.number_groups(read_groups(self.options.groups, self.dialect), table)

    def hierarchy(self, path: Path | None, table: FileTable) -> Any:
        """Return the hierarchy of ``--hierarchy``, by the names that the model has for columns."""
        return self.name_members(read_hierarchy(path), table)
