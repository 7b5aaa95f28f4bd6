"""The inputs of a command as summary.json has them: tables and models."""

from __future__ import annotations

from typing import Annotated, TypedDict

from pkex.tables.files import FileTable
from pkex.tables.kinds import Kind

__all__ = ["Columns", "Count", "ModelFacts", "NotNegative", "TableFacts", "table_facts"]

Count = Annotated[int, ("minimum", 0)]
NotNegative = Annotated[float, ("minimum", 0)]
Columns = Annotated[list[str], ("minItems", 1)]


class TableFacts(TypedDict):
    """A table that was read."""

    path: str
    rows: Annotated[int, ("minimum", 1), "Rows used."]
    rows_in_file: Annotated[int, ("minimum", 1), "Rows in the file."]
    rows_dropped: Annotated[Count, "Rows with missing values, dropped by --missing drop."]
    columns: Annotated[dict[str, Kind], "Columns used, in order, with their kinds."]
    ignored: Annotated[list[str], "Columns of the file that were not used."]


ModelFacts = TypedDict("ModelFacts", {"path": str, "class": str})


def table_facts(table: FileTable, n_rows: int | None = None) -> TableFacts:
    """Return the entry of a table."""
    return TableFacts(
        path=str(table.path),
        rows=len(table.frame) if n_rows is None else n_rows,
        rows_in_file=table.total,
        rows_dropped=table.dropped,
        columns={name: table.kinds[name] for name in table.names},
        ignored=list(table.ignored),
    )
