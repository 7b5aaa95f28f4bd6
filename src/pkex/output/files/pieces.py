"""What files of several results have in common: kernels, classes, tables of text, rules, arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex.games.rules import Rule
from pkex.output.files.archive import Arrays, Header
from pkex.output.files.header import (
    Reader,
    as_cells,
    as_count,
    as_flag,
    as_number,
    as_text,
    fields_of,
    maybe,
    to_json,
    typed,
)
from pkex.output.files.kernel_data import from_data

if TYPE_CHECKING:
    from pkex.kernels import Kernel

__all__ = [
    "fits",
    "floats",
    "kernels_from_data",
    "one_of",
    "rules_from_data",
    "rules_to_data",
    "sides_from_data",
    "table",
    "table_to_json",
]


def kernels_from_data(value: Any) -> tuple[Kernel, ...]:
    """Return kernels."""
    return tuple(map(from_data, typed(value, list, "a list")))


def sides_from_data(value: Any) -> tuple[tuple[str, str | None], ...]:
    """Return the classes that values speak for and against."""
    pairs = [typed(pair, list, "a list") for pair in typed(value, list, "a list")]
    return tuple((as_text(first), maybe(as_text)(second)) for first, second in pairs)


def one_of(*known: str) -> Reader:
    """Return a reader of some texts."""

    def read(value: Any) -> str:
        if as_text(value) not in known:
            raise ValueError(f"{value!r} stands where {' or '.join(known)} should")
        return str(value)

    return read


def table_to_json(data: NDArray[Any], names: Sequence[str]) -> list[list[Any]]:
    """Return the rows of a table that has text or dates, as the header has them."""
    rows = data if data.dtype.kind == "M" else data.astype(object)  # dates of numpy stay dates
    return [
        [
            to_json(cell, f"column {name!r} of the data")
            for cell, name in zip(row, names, strict=True)
        ]
        for row in rows
    ]


def table(rows: Any, n_columns: int) -> NDArray[Any]:
    """Return the rows of a table that has text."""
    cells = [as_cells(row) for row in typed(rows, list, "a list")]
    for i, row in enumerate(cells):
        if len(row) != n_columns:
            raise ValueError(f"row {i} has {len(row)} cells for {n_columns} columns")
    table = np.empty((len(cells), n_columns), dtype=object)
    for i, row in enumerate(cells):
        table[i] = row
    return table


_RULE: dict[str, Reader] = {
    "family": as_text,
    "max_players": as_count,
    "max_lam": as_number,
    "any_factors": as_flag,
    "relative_error": as_number,
}


def rules_to_data(rules: Sequence[Rule], worst: Rule) -> tuple[Header, Arrays]:
    """Return rules as entries of the header and arrays; `worst` is the one of the largest bound."""
    every = list(dict.fromkeys((*rules, worst)))
    arrays: Arrays = {}
    for i, rule in enumerate(every):
        arrays[f"rule_{i}_nodes"], arrays[f"rule_{i}_weights"] = rule.nodes, rule.weights
    header = {
        "rules": [{name: to_json(getattr(rule, name)) for name in _RULE} for rule in every],
        "n_rules": len(rules),
        "rule": every.index(worst),
    }
    return header, arrays


def rules_from_data(header: Header, arrays: Arrays) -> dict[str, Any]:
    """Return the rules, and the one of the largest bound."""
    rules = tuple(
        _rule(entry, arrays[f"rule_{i}_nodes"], arrays[f"rule_{i}_weights"])
        for i, entry in enumerate(typed(header["rules"], list, "a list"))
    )
    n_rules = as_count(header["n_rules"])
    return {"rule": rules[as_count(header["rule"])], "rules": rules[:n_rules]}


def _rule(entry: dict[str, Any], nodes: NDArray[Any], weights: NDArray[Any]) -> Rule:
    if nodes.ndim != 1 or nodes.shape != weights.shape:
        raise ValueError(f"a rule has nodes of shape {nodes.shape}, weights of {weights.shape}")
    nodes.flags.writeable = weights.flags.writeable = False
    return Rule(nodes=nodes, weights=weights, **fields_of(entry, _RULE))


def floats(
    arrays: Arrays, name: str, shape: tuple[int, ...], *, missing: bool = False
) -> NDArray[np.float64]:
    """Return an array of this shape; NaN is refused unless entries may be missing."""
    array = arrays[name].astype(np.float64)
    fits(name, array.shape, shape)
    if not (np.isfinite(array) | (missing & np.isnan(array))).all():
        raise ValueError(f"{name} holds what is no number")
    return array


def fits(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if found != expected:
        raise ValueError(f"{name} has the shape {found}, not {expected}")
