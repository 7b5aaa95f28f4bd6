"""One codec for all results: a file is a header and arrays, made piece by piece.

A piece knows some fields of a result: it writes them to the header or to arrays, and reads them
back. The codec of a class is its format and its pieces; it never sees the class but through the
function that makes a result of the fields. A field that is None may be missing from a file, as it
is from files that were written before there was such a field.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from pkex.games.rules import Rule
from pkex.output.files.archive import Arrays, Format, Header
from pkex.output.files.header import (
    Reader,
    as_cells,
    as_flag,
    as_index,
    as_names,
    as_players,
    as_text,
    fields_of,
    maybe,
    to_json,
)
from pkex.output.files.kernel_data import Described, from_data, to_data
from pkex.output.files.pieces import (
    kernels_from_data,
    rules_from_data,
    rules_to_data,
    sides_from_data,
    table,
    table_to_json,
)

__all__ = [
    "ABOUT",
    "ROWS",
    "CellTable",
    "Codec",
    "Content",
    "Entries",
    "FloatArrays",
    "KernelEntries",
    "Kernels",
    "Piece",
    "Rules",
]

Made = TypeVar("Made")


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


@dataclass(frozen=True)
class Entries:
    """Fields that are entries of the header, each with the reader of its type."""

    readers: dict[str, Reader]

    def pack(self, result: Any, content: Content) -> None:
        """Write each as JSON."""
        content.header.update({name: to_json(getattr(result, name), name) for name in self.readers})

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read each; one that is not there reads as null."""
        fields |= fields_of(content.header, self.readers)


@dataclass(frozen=True)
class AboutEntries(Entries):
    """Fields of what a result is about."""

    def pack(self, result: Any, content: Content) -> None:
        """Write each as JSON."""
        super().pack(result.about, content)


@dataclass(frozen=True)
class FloatArrays:
    """Fields that are arrays of floats.

    Those that are `finite` are refused where an entry is not a number; with `gaps` it may be NaN.
    What is `optional` may be missing from a file, and is None. `keys` has the names in files of
    fields that have another one.
    """

    names: tuple[str, ...]
    finite: bool = False
    gaps: bool = False
    optional: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)

    def pack(self, result: Any, content: Content) -> None:
        """Write those that are there."""
        held = {name: getattr(result, name) for name in self.names}
        there = {name: np.asarray(array) for name, array in held.items() if array is not None}
        content.arrays.update({self.keys.get(name, name): array for name, array in there.items()})

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read those that are there."""
        for name in self.names:
            key = self.keys.get(name, name)
            if key not in content.arrays and self.optional:
                fields[name] = None
                continue
            fields[name] = array = content.arrays[key].astype(np.float64)
            if self.finite and not (np.isfinite(array) | (self.gaps & np.isnan(array))).all():
                raise ValueError(f"{name} has an entry that is not a number")


@dataclass(frozen=True)
class Kernels:
    """The field `kernels`: as data, and as text for readers of files before version 2."""

    def pack(self, result: Any, content: Content) -> None:
        """Write the kernels, where they are known."""
        if result.kernels is not None:
            content.header["kernel"] = "; ".join(map(repr, result.kernels))
            content.header["kernels"] = [to_data(kernel) for kernel in result.kernels]

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read the kernels, or their text as a description."""
        readers = {"kernel": maybe(as_text), "kernels": maybe(kernels_from_data)}
        found = fields_of(content.header, readers)
        if found["kernels"] is None and found["kernel"] is not None:
            found["kernels"] = (Described(found["kernel"]),)
        fields["kernels"] = found["kernels"]


@dataclass(frozen=True)
class KernelEntries:
    """Fields that are one kernel each, or None; those of a statistic."""

    names: tuple[str, ...]

    def pack(self, result: Any, content: Content) -> None:
        """Write each as data."""
        for name in self.names:
            kernel = getattr(result, name)
            content.header[name] = None if kernel is None else to_data(kernel)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read each."""
        fields |= fields_of(content.header, dict.fromkeys(self.names, maybe(from_data)))


@dataclass(frozen=True)
class Rules:
    """The field `rules`, the one with the largest proven error first."""

    optional: bool = False

    def pack(self, result: Any, content: Content) -> None:
        """Write the rules, where there are some."""
        if result.rules:
            entries, nodes = rules_to_data(result.rules, result.rules[0])
            content.header.update(entries)
            content.arrays.update(nodes)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read the rules."""
        if self.optional and "rules" not in content.header:
            fields["rules"] = ()
            return
        found = rules_from_data(content.header, content.arrays)
        worst: Rule = found["rule"]
        fields["rules"] = (worst, *(rule for rule in found["rules"] if rule is not worst))


@dataclass(frozen=True)
class CellTable:
    """A table of data: an array of numbers, or rows of cells in the header."""

    name: str = "data"
    optional: bool = False

    def pack(self, result: Any, content: Content) -> None:
        """Write the table, where there is one."""
        data = getattr(result, self.name)
        if data is None:
            return
        if data.dtype.kind == "f":
            content.arrays[self.name] = data
        else:
            content.header[self.name] = table_to_json(data, result.column_names)

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        """Read the table."""
        if self.name in content.header:
            fields[self.name] = table(content.header[self.name], len(fields["column_names"]))
        elif self.name in content.arrays or not self.optional:
            fields[self.name] = content.arrays[self.name]


ABOUT = AboutEntries(
    {
        "feature_names": as_names,
        "column_names": as_names,
        "players": as_players,
        "output_names": maybe(as_names),
        "removal": maybe(as_text),
        "absent": maybe(as_text),
        "index": lambda value: "SV" if value is None else as_text(value),
        "efficient": lambda value: value is None or as_flag(value),
        "quantity": maybe(as_text),
        "classes": maybe(as_names),
        "sides": maybe(sides_from_data),
        "number": maybe(as_text),
        "complete": lambda value: value is None or as_flag(value),
    }
)
"""What `About` holds but for kernels, which are a piece of their own."""

ROWS = Entries(
    {
        "predicted": maybe(lambda value: np.array(as_cells(value))),
        "row_labels": maybe(as_index),
    }
)
"""What is known of each row besides numbers."""


@dataclass(frozen=True)
class Codec:
    """How results of one class are written to files and read."""

    format: Format
    pieces: tuple[Piece, ...]
    upgrade: Callable[[Header], None] | None = None
    """Brings the header of an older file to what the newest has."""

    def pack(self, result: Any) -> Arrays:
        """Return the arrays of a file."""
        content = Content({}, {})
        for piece in self.pieces:
            piece.pack(result, content)
        return self.format.packed(content.header, content.arrays)

    def save(self, result: Any, path: str | os.PathLike[str]) -> None:
        """Write a result to `path`, whole or not at all."""
        self.format.save(path, self.pack(result))

    def load(self, path: str | os.PathLike[str], make: Callable[[dict[str, Any]], Made]) -> Made:
        """Return what `make` makes of the fields in `path`."""

        def unpack(header: Header, arrays: Arrays) -> Made:
            fields: dict[str, Any] = {}
            if self.upgrade is not None:
                self.upgrade(header)
            for piece in self.pieces:
                piece.unpack(Content(header, arrays), fields)
            return make(fields)

        return self.format.load(path, unpack)
