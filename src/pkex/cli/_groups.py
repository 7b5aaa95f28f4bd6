"""Groups of columns from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from pkex.cli import _tables
from pkex.cli._tables import Dialect, listed

__all__ = ["groups_from"]


def groups_from(path: Path | None, dialect: Dialect) -> dict[str, list[str | int]] | None:
    """Return the groups of a JSON file ``{"group": ["column", ...]}`` or a CSV of two columns."""
    if path is None:
        return None
    if path.suffix.lower() == ".json":
        try:
            groups = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ValueError(f"there is no file {path}.") from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not JSON ({error}).") from error
        if not isinstance(groups, dict) or not all(isinstance(g, list) for g in groups.values()):
            raise ValueError(
                f'{path} must map groups to lists of columns, as in {{"blood": ["s1", "s2"]}}.'
            )
        return groups
    table = _tables.read_any(path, replace(dialect, categorical=("column", "group")))
    if sorted(table.names) != ["column", "group"]:
        raise ValueError(
            f"{path} must have two columns, column and group; it has {listed(table.names)}."
        )
    frame = table.complete(drop=False).frame
    return {
        str(group): list(columns) for group, columns in frame.groupby("group", sort=False)["column"]
    }
