"""Groups of columns from a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pkex._util.words import join_names
from pkex.tables.files import Dialect, read_file
from pkex.tables.selection import handle_missing, read_any

__all__ = ["is_correlation", "read_groups", "read_hierarchy"]


class _Pairs(list[tuple[str, Any]]):
    """The names and values of a JSON object, of which a dict would keep the last of equal names."""


CORRELATION = "correlation"


def is_correlation(path: Path | None) -> bool:
    """Return whether a hierarchy is to be found by clustering, and not in a file."""
    return path is not None and str(path) == CORRELATION and not path.exists()


def read_hierarchy(path: Path | None) -> Any:
    """Return the nested groups of a JSON file, or what stands for clustering."""
    if path is None or is_correlation(path):
        return None if path is None else CORRELATION
    groups = _load_json(path)
    if not isinstance(groups, _Pairs | list):
        raise ValueError(
            f'{path} must hold nested groups of features, as in {{"blood": ["s1", "s2"]}}.'
        )
    return _as_nested(groups, path)


def _as_nested(value: Any, path: Path) -> Any:
    if isinstance(value, _Pairs):
        _refuse_twice(value, path)
        return {name: _as_nested(one, path) for name, one in value}
    return [_as_nested(one, path) for one in value] if isinstance(value, list) else value


def _load_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_Pairs)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error}).") from error


def _refuse_twice(groups: _Pairs, path: Path) -> None:
    names = [name for name, _ in groups]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"{path} has the group {join_names(twice)} more than once: put all its columns in "
            "one list."
        )


def read_groups(path: Path | None, dialect: Dialect) -> dict[str, list[str | int]] | None:
    """Return the groups of a JSON file ``{"group": ["column", ...]}`` or a CSV of two columns."""
    if path is None:
        return None
    if path.suffix.lower() == ".json":
        groups = _load_json(path)
        if not isinstance(groups, _Pairs) or not all(isinstance(g, list) for _, g in groups):
            raise ValueError(
                f'{path} must map groups to lists of columns, as in {{"blood": ["s1", "s2"]}}.'
            )
        _refuse_twice(groups, path)
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
