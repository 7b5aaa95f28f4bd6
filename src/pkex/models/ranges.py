"""Ranges of inputs that cannot be meant, and those that are worth a note.

A column of categories has no values between its codes, and neither has a column that the model
rounds: a range or a continuous distribution of it is refused. The model was fitted neither far
beyond its data nor to categories that it has never seen: both are noted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex._util.words import join_names
from pkex.kernels.columns import Categorical
from pkex.kernels.tabulated import Tabulated
from pkex.models.expansion import KernelExpansion
from pkex.models.grids import column_cells, replace_column

__all__ = ["binned_columns", "categorical_columns", "notes_on", "refuse_range"]


_SOME = 100  # values that show whether a column has bins
_BEYOND = 10.0  # times the width of the data


def categorical_columns(expansion: KernelExpansion) -> tuple[int, ...]:
    """Return the input columns that hold categories.

    The kernel compares them for equality, or they are encoded as several columns of 0 and 1.
    """
    return tuple(sorted({origin for part in expansion.parts for origin in _categories(part)}))


def binned_columns(expansion: KernelExpansion, table: Any) -> set[int]:
    """Return those columns of categories that are numbers in bins, such as KBinsDiscretizer has.

    Values between those of the table must have codes as well, and each code one interval.
    """
    columns = set(categorical_columns(expansion))
    for part in expansion.parts:
        for column, block in _categories(part).items():
            if not _has_bins(part, table, column, block):
                columns.discard(column)
    return columns


def _has_bins(part: KernelExpansion, table: Any, column: int, block: list[int]) -> bool:
    cells = column_cells(table, column)
    if len(block) == 1 or cells.dtype == object or np.isnan(cells).all():
        return False
    values = np.unique(cells[~np.isnan(cells)])
    values = values[np.linspace(0, len(values) - 1, min(len(values), _SOME)).astype(np.intp)]
    values = np.sort(np.append(values, (values[1:] + values[:-1]) / 2.0))
    try:
        codes = part.prepare(replace_column(table, column, values), "the values between")[:, block]
    except (TypeError, ValueError):  # an encoder does not know them
        return False
    n_changes = int((codes[1:] != codes[:-1]).any(axis=1).sum())
    return bool(codes.any(axis=1).all()) and n_changes + 1 == len(np.unique(codes, axis=0))


def refuse_range(expansion: KernelExpansion, table: Any, column: int, given: object) -> None:
    """Refuse what is continuous for a column of categories, or for one that the model rounds."""
    name = expansion.feature_names[column]
    for part in expansion.parts:
        block = _categories(part).get(column)
        if block is not None and not _is_binned(part, table, block):
            codes = np.unique(part.points[:, block[0]]) if len(block) == 1 else None
            raise ValueError(
                f"the column {name!r} holds categories, which have no values between them, but it "
                f"has {brief(given)}; {_instead(codes)}."
            )
        if _is_rounded(part, table, column):
            entries = np.round(_entries(table, column))
            low, high = int(entries.min()), int(entries.max())
            raise ValueError(
                f"the model rounds the column {name!r} to integers, but it has {brief(given)}; use "
                f"scipy.stats.randint({low}, {high + 1}) or a sample of values."
            )


def notes_on(expansion: KernelExpansion, rows: list[Floats]) -> tuple[str, ...]:
    """Return what to know of prepared rows, for each part, that are nodes of distributions."""
    far: dict[str, None] = {}
    unseen: dict[str, None] = {}
    for part, values in zip(expansion.parts, rows, strict=True):
        if part.background is None or hasattr(part.background.rows, "toarray"):
            continue
        data, categories = part.background.rows, _categories(part)
        for origin, block in _blocks(part).items():
            name = part.feature_names[origin]
            if origin in categories:
                known = {tuple(row) for row in data[:, block].tolist()}
                if not {tuple(row) for row in values[:, block].tolist()} <= known:
                    unseen[name] = None
                continue
            low, high = data[:, block].min(axis=0), data[:, block].max(axis=0)
            lowest = np.minimum(low, values[:, block].min(axis=0))
            highest = np.maximum(high, values[:, block].max(axis=0))
            if ((high > low) & (highest - lowest >= _BEYOND * (high - low))).any():
                far[name] = None
    notes = []
    if far:
        notes.append(
            f"Ranges are ten times as wide as the data of the model, or wider "
            f"({join_names(list(far))}): it extrapolates there"
        )
    if unseen:
        notes.append(
            f"The model has never seen some of the categories ({join_names(list(unseen))})"
        )
    return tuple(notes)


def _blocks(part: KernelExpansion) -> dict[int, list[int]]:
    """Return the prepared columns of each input column."""
    n_columns = part.shape[1]
    origins = range(n_columns) if part.preparation is None else part.preparation.origins
    blocks: dict[int, list[int]] = {}
    for column, origin in enumerate(origins):
        blocks.setdefault(origin, []).append(column)
    return blocks


def _categories(part: KernelExpansion) -> dict[int, list[int]]:
    """Return the prepared columns of each input column that holds categories."""
    n_columns = part.shape[1]
    compared: set[int] = set()
    for term in part.form.terms:
        for leaf in term.leaves:
            if isinstance(leaf, Categorical | Tabulated):
                compared.update(range(n_columns) if leaf.columns is None else leaf.columns)
    categories = {}
    for origin, block in _blocks(part).items():
        encoded = len(block) > 1 and bool(np.isin(part.points[:, block], (0.0, 1.0)).all())
        if encoded or compared.intersection(block):
            categories[origin] = block
    return categories


def _is_binned(part: KernelExpansion, table: Any, block: list[int]) -> bool:
    """Tell whether several columns of 0 and 1 are made of numbers between bounds."""
    if len(block) == 1 or part.preparation is None:
        return False
    try:
        bins = np.asarray(part.preparation.transform(table), np.float64)[:, block]
    except (TypeError, ValueError):  # an encoder does not know the numbers
        return False
    return bool(bins.any(axis=1).all())


def _instead(codes: Floats | None) -> str:
    """Say what a column of such codes may have."""
    if codes is None:
        return "use a sample, a list of more than two of its values"
    first, count = float(codes[0]), len(codes)
    if first.is_integer() and np.array_equal(codes, first + np.arange(count)):
        return f"use scipy.stats.randint({first:.0f}, {first + count:.0f}) or a sample of values"
    return f"use a sample of its values {brief([float(code) for code in codes])}"


def _is_rounded(part: KernelExpansion, table: Any, column: int) -> bool:
    """Tell whether nothing changes when the entries of a column are rounded, but by integers."""
    block = _blocks(part).get(column, [])
    if part.preparation is None or len(block) != 1:
        return False
    low, high = _ends(table, column)
    tables = [_with(table, column, change) for change in (None, np.round, low, high)]
    try:
        with np.errstate(all="ignore"):
            every = [np.asarray(part.preparation.transform(one), np.float64) for one in tables]
    except (TypeError, ValueError):  # an integer may be out of the domain of a transform
        return False
    as_it_is, rounded, lowest, highest = (one[:, block] for one in every)
    return np.array_equal(as_it_is, rounded) and not np.array_equal(lowest, highest)


def _ends(table: Any, column: int) -> tuple[float, float]:
    """Return the integers around the entries of a column."""
    entries = _entries(table, column)
    return float(np.floor(entries.min())), float(np.ceil(entries.max()))


def _entries(table: Any, column: int) -> Floats:
    cells = table.iloc[:, column] if hasattr(table, "iloc") else table[:, column]
    return np.asarray(cells, dtype=np.float64)


def _with(table: Any, column: int, change: Any) -> Any:
    """Return the table with a function of a column in its place, or one number."""
    if change is None:
        return table
    entries = _entries(table, column)
    new = change(entries) if callable(change) else np.full_like(entries, change)
    if hasattr(table, "iloc"):
        return table.assign(**{table.columns[column]: new})
    copied = table.copy()
    copied[:, column] = new
    return copied
