"""A fitted model and the tables that it takes: by names of columns, or by their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any, Protocol, Self, TypeVar

from pkex._util.words import join_names
from pkex.tables.files import FileTable

__all__ = ["TableModel"]


class _Named(Protocol):
    """A result that knows the names of its columns."""

    @property
    def column_names(self) -> tuple[str, ...]: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def feature_groups(self) -> tuple[tuple[int, ...], ...]: ...
    def with_names(self, feature_names: Sequence[str], column_names: Sequence[str]) -> Self: ...


Result = TypeVar("Result", bound=_Named)


class TableModel:
    """A model that knows the names of its columns, or takes so many of them.

    Parameters
    ----------
    model : object
    columns : sequence of str
        Columns of tables in the order of a model that knows no names; all if it is empty.
    """

    def __init__(self, model: Any, columns: Sequence[str]) -> None:
        self.model, self.columns = model, columns
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else list(map(str, names))
        if self.names is not None and columns:
            raise ValueError("the model was fitted with column names: leave out --columns.")

    def take_columns(self, table: FileTable) -> FileTable:
        """Return the columns of a table that the model takes."""
        if self.names is not None:
            return table.take(self.names)
        table = table.take(self.columns) if self.columns else table
        count = getattr(self.model, "n_features_in_", None)
        if count is not None and len(table.names) != count:
            raise ValueError(
                f"the model was fitted without column names and takes {count} columns, but "
                f"{table.path} has {len(table.names)}, {join_names(table.names)}: choose {count} "
                "of them with --columns, in the order of the model."
            )
        return table

    def note_order(self, table: FileTable) -> Iterator[str]:
        """Yield a note where the model takes columns by their order alone, which nobody gave."""
        if self.names is None and not self.columns:
            yield (
                "the model was fitted without column names and takes the columns in the order of "
                f"the file: {join_names(table.names)}; --columns sets another order."
            )

    def take_rows(self, table: FileTable) -> Any:
        """Return the rows as the model takes them."""
        return table.frame if self.names is not None else table.frame.to_numpy()

    def number_groups(
        self, groups: Mapping[str, Sequence[str | int]] | None, table: FileTable
    ) -> Mapping[str, Sequence[str | int]] | None:
        """Return groups of columns, by numbers where the model knows no names."""
        if groups is None or self.names is not None:
            return groups

        def number(column: str | int) -> int:
            if not isinstance(column, str):
                return column
            table.take([column])
            return table.names.index(column)

        return {group: list(map(number, columns)) for group, columns in groups.items()}

    def name_members(self, nested: Any, table: FileTable) -> Any:
        """Return nested groups of features, by x0 and so on where the model knows no names."""
        if self.names is not None:
            return nested
        if isinstance(nested, dict):
            return {name: self.name_members(one, table) for name, one in nested.items()}
        if isinstance(nested, list):
            return [self.name_members(one, table) for one in nested]
        return f"x{table.names.index(nested)}" if nested in table.names else nested

    def name_columns(self, result: Result, table: FileTable) -> Result:
        """Return the result of a model without names in those of the table."""
        unnamed = tuple(f"x{i}" for i in range(len(table.names)))
        if self.names is not None or result.column_names != unnamed:
            return result  # it has names, or combined features
        titles = tuple(
            table.names[columns[0]] if title == unnamed[columns[0]] else title
            for title, columns in zip(result.feature_names, result.feature_groups, strict=True)
        )
        return result.with_names(titles, table.names)

    @contextmanager
    def explaining_errors(self) -> Iterator[None]:
        """Say what to do about columns that a step of the model cannot take."""
        try:
            yield
        except (TypeError, ValueError) as error:
            *_, (frame, _) = walk_tb(error.__traceback__)
            if frame.f_globals["__name__"].startswith("pkex."):  # not raised by the model
                raise
            raise ValueError(
                f"the model does not accept the columns as they were read ({error}); --categorical "
                "reads numbers as text, and --decimal , reads decimal commas."
            ) from error
