"""One codec for all results: a file is a header and arrays, made piece by piece.

A piece knows some fields of a result: it writes them to the header or to arrays, and reads them
back. The codec of a class is its name, its version and its pieces; it never sees the class but
through the function that makes a result of the fields. A field that is None may be missing from a
file, as it is from files that were written before there was such a field.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.files import write_atomically
from pkex._util.validation import brief
from pkex.games.rules import Rule
from pkex.kernels.data import Described, from_data
from pkex.output.files import header as entry
from pkex.output.files.archive import Arrays, read_arrays, write_arrays

__all__ = [
    "ABOUT",
    "ROWS",
    "CellTable",
    "Codec",
    "Content",
    "Entries",
    "FloatArrays",
    "Header",
    "Kernels",
    "Piece",
    "Rules",
]

Header = dict[str, Any]
LoadedResult = TypeVar("LoadedResult")


class Content(NamedTuple):
    """What a file holds: a header of small things, and arrays."""

    header: Header
    arrays: Arrays


class Piece(Protocol):
    """Some fields of a result, and how they are written."""

    def pack(self, result: Any, content: Content) -> None:
        """Write the fields of a result."""

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Add the fields that are there to `fields`, which holds those of the pieces before."""


class Entries:
    """Fields of a result or of what it is about that are entries of the header, with readers."""

    def __init__(self, **readers: entry.Reader) -> None:
        self.readers = readers

    def pack(self, result: Any, content: Content) -> None:
        """Write each as JSON."""
        for name in self.readers:
            owner = result.about if hasattr(result.about, name) else result
            content.header[name] = entry.to_json(getattr(owner, name), name)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read each; one that is not there reads as null."""
        fields |= entry.read_entries(content.header, self.readers)


@dataclass(frozen=True)
class FloatArrays:
    """Fields that are arrays of floats; those that are `optional` may be None.

    Those that are `finite` are refused where an entry is not a number; with `gaps` it may be NaN.
    """

    names: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    finite: bool = False
    gaps: bool = False

    def pack(self, result: Any, content: Content) -> None:
        """Write those that are there."""
        for name in (*self.names, *self.optional):
            array = getattr(result, name)
            if array is not None:
                content.arrays[name] = np.asarray(array)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read those that are there."""
        for name in (*self.names, *self.optional):
            if name not in content.arrays and name in self.optional:
                fields[name] = None
                continue
            fields[name] = array = content.arrays[name].astype(np.float64)
            if self.finite and not (np.isfinite(array) | (self.gaps & np.isnan(array))).all():
                raise ValueError(f"{name} has an entry that is not a number")


@dataclass(frozen=True)
class Kernels:
    """The field `kernels`: as data, and as text for readers of files before version 2."""

    def pack(self, result: Any, content: Content) -> None:
        """Write the kernels, where they are known."""
        if result.kernels is not None:
            content.header["kernel"] = "; ".join(map(repr, result.kernels))
            content.header["kernels"] = entry.to_json(result.kernels)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read the kernels, or their text as a description."""
        readers = {
            "kernel": entry.optional(entry.as_text),
            "kernels": entry.optional(entry.each(from_data)),
        }
        text, kernels = entry.read_entries(content.header, readers).values()
        described = None if text is None else (Described(text),)
        fields["kernels"] = described if kernels is None else kernels


_RULE: dict[str, entry.Reader] = {
    "family": entry.as_text,
    "max_players": entry.as_count,
    "max_lam": entry.as_number,
    "any_factors": entry.as_flag,
    "relative_error": entry.as_number,
}


@dataclass(frozen=True)
class Rules:
    """The field `rules`, the one with the largest proven error first."""

    optional: bool = False

    def pack(self, result: Any, content: Content) -> None:
        """Write the rules, where there are some."""
        entries = []
        for i, rule in enumerate(result.rules):
            entries.append({name: entry.to_json(getattr(rule, name)) for name in _RULE})
            content.arrays[f"rule_{i}_nodes"] = rule.nodes
            content.arrays[f"rule_{i}_weights"] = rule.weights
        if entries:
            content.header.update(rules=entries, n_rules=len(entries), rule=0)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read the rules; `rule` is the place of the first, which others may follow twice."""
        header, arrays = content
        if self.optional and "rules" not in header:
            fields["rules"] = ()
            return
        rules = [
            _read_rule(data, arrays[f"rule_{i}_nodes"], arrays[f"rule_{i}_weights"])
            for i, data in enumerate(entry.require_type(header["rules"], list, "a list"))
        ]
        worst = rules[entry.as_count(header["rule"])]
        others = rules[: entry.as_count(header["n_rules"])]
        fields["rules"] = (worst, *(rule for rule in others if rule is not worst))


def _read_rule(data: Any, nodes: NDArray[Any], weights: NDArray[Any]) -> Rule:
    if nodes.ndim != 1 or nodes.shape != weights.shape:
        raise ValueError(f"a rule has nodes of shape {nodes.shape}, weights of {weights.shape}")
    nodes.flags.writeable = weights.flags.writeable = False
    return Rule(nodes=nodes, weights=weights, **entry.read_entries(data, _RULE))


@dataclass(frozen=True)
class CellTable:
    """The field `data`, or another: an array of numbers, or rows of cells in the header."""

    optional: bool = False
    name: str = "data"

    def pack(self, result: Any, content: Content) -> None:
        """Write the table, where there is one."""
        data = getattr(result, self.name)
        if data is None:
            return
        if data.dtype.kind == "f":
            content.arrays[self.name] = data
            return
        rows = data if data.dtype.kind == "M" else data.astype(object)  # dates of numpy stay dates
        places = [f"column {name!r} of the data" for name in result.column_names]
        content.header[self.name] = [list(map(entry.to_json, row, places)) for row in rows]

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read the table."""
        if self.name in content.header:
            rows = content.header[self.name]
            fields[self.name] = _read_cells(rows, len(fields["column_names"]))
        elif self.name in content.arrays or not self.optional:
            fields[self.name] = content.arrays[self.name]


def _read_cells(rows: Any, n_columns: int) -> NDArray[Any]:
    cells = entry.each(entry.as_cells)(rows)
    for i, row in enumerate(cells):
        if len(row) != n_columns:
            raise ValueError(f"row {i} has {len(row)} cells for {n_columns} columns")
    table = np.empty((len(cells), n_columns), dtype=object)
    for i, row in enumerate(cells):
        table[i] = row
    return table


def _as_side(value: Any) -> tuple[str, str | None]:
    """Return the classes that positive and negative values push towards."""
    positive, negative = entry.require_type(value, list, "a list")
    return entry.as_text(positive), entry.optional(entry.as_text)(negative)


ABOUT = Entries(
    feature_names=entry.as_names,
    column_names=entry.as_names,
    feature_groups=entry.as_players,
    output_names=entry.optional(entry.as_names),
    removal=entry.optional(entry.as_text),
    background_info=entry.optional(entry.as_text),
    index=lambda value: "SV" if value is None else entry.as_text(value),
    efficient=lambda value: value is None or entry.as_flag(value),
    quantity=entry.optional(entry.as_text),
    classes=entry.optional(entry.as_names),
    output_classes=entry.optional(entry.each(_as_side)),
    output_kind=entry.optional(entry.as_text),
    complete=lambda value: value is None or entry.as_flag(value),
    conditional_model=entry.optional(entry.as_text),
    blocks=entry.optional(entry.each(entry.as_names)),
    dependence_notes=lambda value: () if value is None else entry.as_names(value),
    model_notes=lambda value: () if value is None else entry.as_names(value),
    hierarchy=entry.optional(entry.as_hierarchy),
    background_dependence=entry.optional(entry.as_dependence),
)
"""What `About` holds but for kernels, which are a piece of their own."""

ROWS = Entries(
    predicted_class=entry.optional(lambda value: np.array(entry.as_cells(value))),
    row_index=entry.optional(entry.as_index),
)
"""What is known of each row besides numbers."""


@dataclass(frozen=True)
class Codec:
    """How results of one class are written to files and read.

    Attributes
    ----------
    name : str
        The class, e.g. "Explanation".
    version : int
        The newest version of its files that is known, which is written.
    pieces : tuple of Piece
    upgrade : callable, optional
        Brings the header of an older file to what the newest has.
    """

    name: str
    version: int
    pieces: tuple[Piece, ...]
    upgrade: Callable[[Header], None] | None = None

    def pack(self, result: Any) -> Arrays:
        """Return the arrays of a file, the first of which is the header."""
        content = Content({"format": f"pkex.{self.name}", "version": self.version}, {})
        for piece in self.pieces:
            piece.pack(result, content)
        document = json.dumps(content.header, allow_nan=False).encode()
        return {"header": np.frombuffer(document, dtype=np.uint8), **content.arrays}

    def save(self, result: Any, path: str | os.PathLike[str]) -> None:
        """Write a result to `path`, whole or not at all."""
        arrays = self.pack(result)
        write_atomically(path, lambda file: write_arrays(file, arrays), "name.npz")

    def load(
        self, path: str | os.PathLike[str], make: Callable[[dict[str, Any]], LoadedResult]
    ) -> LoadedResult:
        """Return what `make` makes of the fields in `path`."""
        source, saved_by = Path(path), f"{self.name}.save"
        if source.exists() and not source.is_file():
            what = "directory" if source.is_dir() else "device or pipe"
            raise ValueError(f"{path} is a {what}, not a file saved by {saved_by}.")
        with source.open("rb") as file:
            try:
                content = self._read(file)
            except Exception as error:  # zipfile and json raise many kinds
                raise ValueError(
                    f"{path} is damaged or was not written by {saved_by} ({_reason(error)})."
                ) from error
        if content.header["version"] > self.version:
            raise ValueError(
                f"{path} has format version {brief(content.header['version'])}, but this pkex "
                f"reads up to {self.version}; update pkex to read it."
            )
        fields: dict[str, Any] = {}
        try:
            if content.header["version"] < self.version:
                content = _rename_entries(content)
            if self.upgrade is not None:
                self.upgrade(content.header)
            for piece in self.pieces:
                piece.unpack(content, fields)
            return make(fields)
        except Exception as error:
            raise ValueError(
                f"{path} is damaged: its parts do not fit together ({_reason(error)})."
            ) from error

    def _read(self, file: BinaryIO) -> Content:
        arrays = read_arrays(file, f"those of {self.name}.save")
        header = entry.require_type(json.loads(arrays.pop("header").tobytes()), dict, "the header")
        name = header["format"]
        if name != f"pkex.{self.name}" or entry.as_count(header["version"]) < 1:
            raise ValueError(f"its format is {brief(name)}")
        return Content(header, arrays)


_RENAMED = {  # names of fields in files of earlier versions
    "players": "feature_groups",
    "absent": "background_info",
    "sides": "output_classes",
    "number": "output_kind",
    "residual": "additivity_error",
    "error": "error_bound",
    "predicted": "predicted_class",
    "row_labels": "row_index",
    "whole": "explained",
    "statistic": "statistic_name",
    "total": "statistic",
    "alone": "univariate_values",
    "alone_null_values": "univariate_null_values",
    "alone_rounding": "univariate_rounding",
}


def _rename_entries(content: Content) -> Content:
    """Return what a file of an earlier version holds, under the names of today."""
    header, arrays = (
        {_RENAMED.get(name, name): value for name, value in part.items()} for part in content
    )
    if header.get("removal") == "marginal":
        header["removal"] = "product-of-marginals"
    return Content(header, arrays)


def _reason(error: Exception) -> str:
    """Return in a few words what is wrong."""
    if isinstance(error, KeyError):
        return f"it lacks {brief(error.args[0]) if error.args else 'a part'}"
    return str(error) or type(error).__name__
