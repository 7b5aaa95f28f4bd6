"""`Explanation` files: an npz archive with a JSON header, and no pickle.

Arrays are stored as such. The header holds names, the rules' domains, and the raw table where it
has text; it names the format and its version, so that a newer file is recognised as one.

A field of `Explanation` is one line: in `_HEADER`, or in `_MORE_ARRAYS` if it is an array. One that
may be None may be absent, as it is from files that were written before there was such a field.

A file may be damaged, or made to do damage. Nothing in it is compressed, so that what is read is
never more than the file itself; every array must fill its place exactly; every entry of the header
has one type; and the values must add up, as they did when they were computed. Whatever is wrong
with a file is a ValueError.

Format versions
---------------
1
    The first.
2
    Further fields, each of which may be absent.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pkex._files import write_whole
from pkex._validation import brief
from pkex.rules import Rule
from pkex.tables.cells import is_missing, is_number

if TYPE_CHECKING:
    from pkex.explanation import Explanation

__all__ = ["load", "save"]

_FORMAT, _VERSION = "pkex.Explanation", 2

_NPY = re.compile(  # the start of an array as NumPy writes it: magic, version 1.0, length, header
    rb"\x93NUMPY\x01\x00(?P<length>[\x00-\xff]{2})"
    rb"\{'descr': '(?P<kind>[<>|][biuf][1248])', 'fortran_order': (?P<order>True|False), "
    rb"'shape': \((?P<shape>[0-9, ]{0,80})\), \} *\n"
)


def _text(value: Any) -> str:
    return str(_typed(value, str, "text"))


def _flag(value: Any) -> bool:
    return bool(_typed(value, bool, "true or false"))


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{brief(value)} stands where a count should")
    return value


def _number(value: Any) -> float:
    cell = _cell(value)
    if not is_number(cell):
        raise ValueError(f"{brief(value)} stands where a number should")
    return float(cell)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, _typed(value, list, "a list")))


def _players(value: Any) -> tuple[tuple[int, ...], ...]:
    players = _typed(value, list, "a list")
    return tuple(tuple(map(_count, _typed(player, list, "a list"))) for player in players)


def _sides(value: Any) -> tuple[tuple[str, str | None], ...]:
    pairs = [_typed(pair, list, "a list") for pair in _typed(value, list, "a list")]
    return tuple((_text(first), _maybe(_text)(second)) for first, second in pairs)


def _index(value: Any) -> Any:
    """Return the labels of the rows; None where pandas is not installed, as no frame can be."""
    try:
        import pandas
    except ModuleNotFoundError:
        return None
    entry = _typed(value, dict, "the labels of rows")
    names = [_maybe(_text)(name) for name in _typed(entry["names"], list, "a list")]
    levels = []
    for level in _typed(entry["levels"], list, "a list"):
        kind = _text(_typed(level, dict, "a level of labels")["kind"])
        known = kind.startswith(("int", "uint", "float", "bool", "datetime64"))
        labels = list(_cells(level["labels"]))
        levels.append(pandas.Index(labels, dtype=kind if known else object))
    if _flag(entry["several"]):
        return pandas.MultiIndex.from_arrays(levels, names=names)
    return levels[0].rename(names[0])


def _cells(value: Any) -> tuple[Any, ...]:
    return tuple(map(_cell, _typed(value, list, "a list")))


def _cell(value: Any) -> Any:
    """Return what `_to_json` made an entry of."""
    if isinstance(value, dict):
        if list(value) != ["float"] or value["float"] not in ("nan", "inf", "-inf"):
            raise ValueError(f"{brief(value)} stands where a number should")
        return float(value["float"])
    if isinstance(value, list):
        raise ValueError(f"{brief(value)} stands where a single value should")
    return value


def _maybe(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _typed(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{brief(value)} stands where {name} should")
    return value


_ARRAYS = ("values", "base_values", "predictions")
_MORE_ARRAYS: tuple[str, ...] = ("error",)
_HEADER: dict[str, Callable[[Any], Any]] = {
    "feature_names": _names,
    "column_names": _names,
    "players": _players,
    "output_names": _maybe(_names),
    "removal": _text,
    "residual": _number,
    "complete": _flag,
    "kernel": _maybe(_text),
    "absent": _maybe(_text),
    "classes": _maybe(_names),
    "sides": _maybe(_sides),
    "number": _maybe(_text),
    "predicted": _maybe(lambda value: np.array(_cells(value))),
    "index": _maybe(_index),
}
_RULE: dict[str, Callable[[Any], Any]] = {
    "family": _text,
    "max_players": _count,
    "max_lam": _number,
    "any_factors": _flag,
    "relative_error": _number,
}


def save(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write `explanation` to `path`."""
    write_whole(path, lambda file: np.savez(file, **_pack(explanation)), "name.npz")


def load(kind: type[Explanation], path: str | os.PathLike[str]) -> Explanation:
    """Return the explanation in `path`."""
    found = Path(path)
    if found.exists() and not found.is_file():
        what = "directory" if found.is_dir() else "device or pipe"
        raise ValueError(f"{path} is a {what}, not a file saved by Explanation.save.")
    with found.open("rb") as file:
        try:
            header, arrays = _read(file)
        except Exception as error:  # zipfile and json raise many kinds
            raise ValueError(
                f"{path} is damaged or was not written by Explanation.save ({_reason(error)})."
            ) from error
    if header["version"] > _VERSION:
        raise ValueError(
            f"{path} has format version {brief(header['version'])}, but this pkex reads up to "
            f"{_VERSION}; update pkex to read it."
        )
    try:
        explanation = kind(**_unpack(header, arrays))
        _check_sums(explanation)
    except Exception as error:
        raise ValueError(
            f"{path} is damaged: its parts do not fit together ({_reason(error)})."
        ) from error
    return explanation


def _pack(explanation: Explanation) -> dict[str, Any]:
    rules = list(dict.fromkeys((*explanation.rules, explanation.rule)))
    stored = {name: getattr(explanation, name) for name in (*_ARRAYS, *_MORE_ARRAYS)}
    arrays = {name: np.asarray(array) for name, array in stored.items() if array is not None}
    for i, rule in enumerate(rules):
        arrays[f"rule_{i}_nodes"], arrays[f"rule_{i}_weights"] = rule.nodes, rule.weights
    header: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        **{name: _to_json(getattr(explanation, name), name) for name in _HEADER},
        "rules": [{name: _to_json(getattr(rule, name)) for name in _RULE} for rule in rules],
        "n_rules": len(explanation.rules),
        "rule": rules.index(explanation.rule),
    }
    if explanation.data.dtype.kind == "f":
        arrays["data"] = explanation.data
    else:
        header["data"] = [
            [
                _to_json(cell, f"column {name!r} of the data")
                for cell, name in zip(row, explanation.column_names, strict=True)
            ]
            for row in explanation.data.astype(object)
        ]
    document = json.dumps(header, allow_nan=False).encode()
    return {"header": np.frombuffer(document, dtype=np.uint8), **arrays}


def _read(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of a file."""
    size = os.fstat(file.fileno()).st_size
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("its arrays are compressed, which those of Explanation.save are not")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its arrays claim to be larger than the file")
        contents = {member.filename: archive.read(member) for member in members}
    arrays = {name.removesuffix(".npy"): _array(data, size) for name, data in contents.items()}
    header = _typed(json.loads(arrays.pop("header").tobytes()), dict, "the header")
    if header["format"] != _FORMAT or _count(header["version"]) < 1:
        raise ValueError(f"its format is {brief(header['format'])}")
    return header, arrays


def _array(content: bytes, limit: int) -> NDArray[Any]:
    """Return the array of an npy file; NumPy's own reader would evaluate the header."""
    start = _NPY.match(content)
    if start is None or start.end() != 10 + int.from_bytes(start["length"], "little"):
        raise ValueError("one of its arrays is not of numbers")
    kind = np.dtype(start["kind"].decode())
    shape = tuple(int(part) for part in start["shape"].split(b",") if part.strip())
    filled = math.prod(shape) * kind.itemsize == len(content) - start.end()
    if not filled or max(shape, default=0) > limit:  # one without entries may claim any size
        raise ValueError(f"an array of shape {shape} does not fill its place")
    flipped = start["order"] == b"True"  # the first index runs fastest
    place = shape[::-1] if flipped else shape
    stored = np.ndarray(place, kind, buffer=content, offset=start.end())
    return np.array(stored.T if flipped else stored, dtype=kind.newbyteorder("="))


def _unpack(header: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Explanation`."""
    rules = tuple(
        _rule(entry, arrays[f"rule_{i}_nodes"], arrays[f"rule_{i}_weights"])
        for i, entry in enumerate(_typed(header["rules"], list, "a list"))
    )
    fields = _fields(header, _HEADER)
    if "data" in header:
        data = _table(header["data"], len(fields["column_names"]))
    else:
        data = arrays["data"]
    return {
        **fields,
        **{name: arrays[name] for name in _ARRAYS},
        **{name: arrays[name] for name in _MORE_ARRAYS if name in arrays},
        "data": data,
        "rule": rules[_count(header["rule"])],
        "rules": rules[: _count(header["n_rules"])],
    }


def _fields(header: Any, readers: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Return entries of the header; one that is not there reads as null."""
    fields = {}
    for name, read in readers.items():
        try:
            fields[name] = read(header.get(name))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return fields


def _table(rows: Any, n_columns: int) -> NDArray[Any]:
    """Return the rows of a table that has text."""
    cells = [_cells(row) for row in _typed(rows, list, "a list")]
    for i, row in enumerate(cells):
        if len(row) != n_columns:
            raise ValueError(f"row {i} has {len(row)} cells for {n_columns} columns")
    table = np.empty((len(cells), n_columns), dtype=object)
    for i, row in enumerate(cells):
        table[i] = row
    return table


def _rule(entry: dict[str, Any], nodes: NDArray[Any], weights: NDArray[Any]) -> Rule:
    if nodes.ndim != 1 or nodes.shape != weights.shape:
        raise ValueError(f"a rule has nodes of shape {nodes.shape}, weights of {weights.shape}")
    nodes.flags.writeable = weights.flags.writeable = False
    return Rule(nodes=nodes, weights=weights, **_fields(entry, _RULE))


def _check_sums(explanation: Explanation) -> None:
    """Refuse values that miss the predictions by more than the residual and rounding."""
    if not explanation.complete:
        return
    values, known = explanation.values, explanation.residual
    with np.errstate(over="ignore", invalid="ignore"):
        gap = explanation.base_values + values.sum(axis=1) - explanation.predictions
        size = np.abs(explanation.base_values) + np.abs(values).sum(axis=1)
        # each of the additions, here and when the predictions were computed, rounds once
        rounding = 2.0 * (values.shape[1] + 2) * np.finfo(np.float64).eps * size
    allowed = (known if math.isfinite(known) else 0.0) + rounding
    right = np.isfinite(gap) & (np.abs(gap) <= allowed)
    if not right.all():
        row = int(np.argwhere(~right)[0][0])
        raise ValueError(
            f"base value and values of row {row} miss the prediction by "
            f"{float(np.abs(gap)[~right].flat[0]):.2g}"
        )


def _to_json(value: Any, where: str = "the explanation") -> Any:
    """Return `value` as JSON has it; numbers that JSON lacks become ``{"float": "nan"}``."""
    if isinstance(value, tuple | list | np.ndarray):
        return [_to_json(entry, where) for entry in value]
    if hasattr(value, "nlevels"):  # an index of pandas
        return _index_to_json(value)
    cell = value.item() if isinstance(value, np.generic) else value
    if isinstance(cell, str | bool | int):
        return cell
    if is_number(cell):
        number = float(cell)
        return number if math.isfinite(number) else {"float": repr(number)}
    if is_missing(cell):
        return None
    raise ValueError(
        f"{where} holds {brief(cell)} ({type(cell).__name__}), but only text, numbers, booleans "
        "and missing values can be saved; convert it first."
    )


def _index_to_json(index: Any) -> dict[str, Any]:
    """Return the labels of the rows: numbers, text and dates as they are, others as text."""
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    return {
        "several": index.nlevels > 1,
        "names": [None if name is None else str(name) for name in index.names],
        "levels": [
            {"kind": str(level.dtype), "labels": [_label_to_json(label) for label in level]}
            for level in levels
        ],
    }


def _label_to_json(label: Any) -> Any:
    if hasattr(label, "isoformat") and not is_missing(label):
        return label.isoformat()
    try:
        return str(label) if isinstance(label, tuple | list) else _to_json(label)
    except ValueError:
        return str(label)


def _reason(error: Exception) -> str:
    """Return in a few words what is wrong."""
    if isinstance(error, KeyError):
        return f"it lacks {brief(error.args[0]) if error.args else 'a part'}"
    return str(error) or type(error).__name__
