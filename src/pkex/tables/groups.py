"""Groups of columns from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pkex._util.words import join_names
from pkex.tables.files import Dialect, read_file
from pkex.tables.selection import handle_missing, read_any

__all__ = ["read_groups"]


class _Pairs(list[tuple[str, Any]]):
    """The names and values of a JSON object, of which a dict would keep the last of equal names."""


def read_groups(path: Path | None, dialect: Dialect) -> dict[str, list[str | int]] | None:
    """Return the groups of a JSON file ``{"group": ["column", ...]}`` or a CSV of two columns."""
    if path is None:
        return None
    if path.suffix.lower() == ".json":
        try:
            groups = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_Pairs)
        except FileNotFoundError:
            raise ValueError(f"there is no file {path}.") from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not JSON ({error}).") from error
        if not isinstance(groups, _Pairs) or not all(isinstance(g, list) for _, g in groups):
            raise ValueError(
                f'{path} must map groups to lists of columns, as in {{"blood": ["s1", "s2"]}}.'
            )
        names = [name for name, _ in groups]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"{path} has the group {join_names(twice)} more than once: put all its columns in "
                "one list."
            )
        return dict(groups)
    table = read_any(path, replace(dialect, categorical=("column", "group")), read_file)
    if sorted(table.names) != ["column", "group"]:
        raise ValueError(
            f"{path} must have two columns, column and group; it has {join_names(table.names)}."
        )
    frame = handle_missing(table, "refuse").frame
    return {
        str(group): list(columns) for group, columns in frame.groupby("group", sort=False)["column"]
    }
