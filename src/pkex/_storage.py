"""`Explanation` files: an npz archive with a JSON header, and no pickle.

Arrays are stored as such. The header holds names, the rules' domains, and the raw table where it
has text; it names the format and its version, so that a newer file is recognised as one.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._cells import is_missing, is_number
from pkex._files import write_whole
from pkex._validation import brief
from pkex.rules import Rule

if TYPE_CHECKING:
    from pkex.explanation import Explanation

__all__ = ["load", "save"]

_FORMAT, _VERSION = "pkex.Explanation", 1
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, OSError, TypeError, ValueError)


def save(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write `explanation` to `path`."""
    write_whole(path, lambda file: np.savez(file, **_pack(explanation)), "name.npz")


def load(kind: type[Explanation], path: str | os.PathLike[str]) -> Explanation:
    """Return the explanation in `path`."""
    if Path(path).is_dir():
        raise ValueError(f"{path} is a directory, not a file saved by Explanation.save.")
    with Path(path).open("rb") as file:
        try:
            header, arrays = _read(file)
        except _BROKEN as error:
            raise ValueError(
                f"{path} is damaged or was not written by Explanation.save ({error})."
            ) from error
    if header["version"] > _VERSION:
        raise ValueError(
            f"{path} has format version {header['version']}, but this pkex reads up to {_VERSION}; "
            "update pkex to read it."
        )
    try:
        return kind(**_unpack(header, arrays))
    except _BROKEN as error:
        raise ValueError(f"{path} is damaged: its parts do not fit together ({error}).") from error


def _pack(explanation: Explanation) -> dict[str, Any]:
    rules = list(dict.fromkeys((*explanation.rules, explanation.rule)))
    arrays: dict[str, Any] = {
        "values": explanation.values,
        "base_values": explanation.base_values,
        "predictions": explanation.predictions,
    }
    for i, rule in enumerate(rules):
        arrays[f"rule_{i}_nodes"], arrays[f"rule_{i}_weights"] = rule.nodes, rule.weights
    header: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "feature_names": explanation.feature_names,
        "column_names": explanation.column_names,
        "players": explanation.players,
        "output_names": explanation.output_names,
        "removal": explanation.removal,
        "absent": explanation.absent,
        "residual": _to_json(explanation.residual),
        "complete": explanation.complete,
        "kernel": explanation.kernel,
        "classes": explanation.classes,
        "sides": explanation.sides,
        "number": explanation.number,
        "index": _index_header(explanation.index),
        "predicted": None
        if explanation.predicted is None
        else [_to_json(label) for label in explanation.predicted],
        "rules": [_rule_header(rule) for rule in rules],
        "n_rules": len(explanation.rules),
        "rule": rules.index(explanation.rule),
    }
    if explanation.data.dtype.kind == "f":
        arrays["data"] = explanation.data
    else:
        header["data"] = [
            [_to_json(cell, name) for cell, name in zip(row, explanation.column_names, strict=True)]
            for row in explanation.data.astype(object)
        ]
    document = json.dumps(header, allow_nan=False).encode()
    return {"header": np.frombuffer(document, dtype=np.uint8), **arrays}


def _read(file: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    if header["format"] != _FORMAT or not isinstance(header["version"], int):
        raise ValueError(f"its format is {header['format']!r}")
    return header, arrays


def _unpack(header: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    rules = tuple(
        _rule(entry, arrays[f"rule_{i}_nodes"], arrays[f"rule_{i}_weights"])
        for i, entry in enumerate(header["rules"])
    )
    columns = tuple(header["column_names"])
    outputs = header["output_names"]
    if "data" in header:
        data = np.empty((len(header["data"]), len(columns)), dtype=object)
        for i, row in enumerate(header["data"]):
            data[i] = [_from_json(cell) for cell in row]
    else:
        data = arrays["data"]
    return {
        "values": arrays["values"],
        "base_values": arrays["base_values"],
        "predictions": arrays["predictions"],
        "data": data,
        "feature_names": tuple(header["feature_names"]),
        "column_names": columns,
        "players": tuple(tuple(player) for player in header["players"]),
        "output_names": None if outputs is None else tuple(outputs),
        "rule": rules[header["rule"]],
        "rules": rules[: header["n_rules"]],
        "residual": float(_from_json(header["residual"])),
        "removal": header["removal"],
        "complete": header["complete"],
        "kernel": header.get("kernel"),
        "absent": header.get("absent"),
        "classes": _tuple(header.get("classes")),
        "sides": _tuple(header.get("sides")),
        "number": header.get("number"),
        "index": _index(header.get("index")),
        "predicted": _labels(header.get("predicted")),
    }


def _index_header(index: Any) -> dict[str, Any] | None:
    """Return the labels of the rows: numbers, text and dates as they are, others as text."""
    if index is None:
        return None
    several = index.nlevels > 1
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    return {
        "several": several,
        "names": [None if name is None else str(name) for name in index.names],
        "levels": [
            {
                "kind": str(level.dtype),
                "labels": [_label_to_json(label) for label in level],
            }
            for level in levels
        ],
    }


def _label_to_json(label: Any) -> Any:
    if hasattr(label, "isoformat") and not is_missing(label):
        return label.isoformat()
    try:
        return _to_json(label)
    except ValueError:
        return str(label)


def _index(header: dict[str, Any] | None) -> Any:
    """Return the index; None where pandas is not installed, and so no frame can be made."""
    if header is None:
        return None
    try:
        import pandas
    except ModuleNotFoundError:
        return None
    levels = []
    for level in header["levels"]:
        labels = [_from_json(label) for label in level["labels"]]
        known = level["kind"].startswith(("int", "uint", "float", "bool", "datetime64"))
        levels.append(pandas.Index(labels, dtype=level["kind"] if known else object))
    if not header["several"]:
        return levels[0].rename(header["names"][0])
    return pandas.MultiIndex.from_arrays(levels, names=header["names"])


def _tuple(entries: Any) -> Any:
    """Return a list of JSON, and lists in it, as tuples."""
    return tuple(map(_tuple, entries)) if isinstance(entries, list) else entries


def _labels(entries: Any) -> Any:
    return None if entries is None else np.array([_from_json(entry) for entry in entries])


def _rule_header(rule: Rule) -> dict[str, Any]:
    return {
        "family": rule.family,
        "max_players": rule.max_players,
        "max_lam": _to_json(rule.max_lam),
        "any_factors": rule.any_factors,
        "relative_error": _to_json(rule.relative_error),
    }


def _rule(entry: dict[str, Any], nodes: Any, weights: Any) -> Rule:
    nodes.flags.writeable = weights.flags.writeable = False
    return Rule(
        entry["family"],
        nodes,
        weights,
        entry["max_players"],
        _from_json(entry["max_lam"]),
        entry["any_factors"],
        _from_json(entry["relative_error"]),
    )


def _to_json(cell: Any, column: str = "") -> Any:
    """Return `cell` as JSON has it; numbers that JSON lacks become ``{"float": "nan"}``."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(value, str | bool | int):
        return value
    if is_number(value):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if is_missing(value):
        return None
    raise ValueError(
        f"column {column!r} of the data holds {brief(value)} ({type(value).__name__}), but only "
        "text, numbers, booleans and missing values can be saved; convert the column first."
    )


def _from_json(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) else value
