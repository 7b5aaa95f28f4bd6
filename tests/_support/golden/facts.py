"""What a reader gets from a result, as plain JSON: every number exact, in hexadecimal."""

from __future__ import annotations

import dataclasses
import json
from datetime import date, time
from pathlib import Path

import numpy as np
import pandas as pd

import pkex
from pkex.kernels import Kernel

FOLDER = Path(__file__).parent

_NOT_RECORDED = ("plot", "with_output_axis")  # an accessor, and values and rest again

# Sums over a few dozen numbers, in an order that NumPy chooses by its version and the processor.
ROUNDING = 1e-13

# For each kind the attributes that have another name than their record.
_SHARED = {
    "absent": "background_info",
    "caution": "notes",
    "error": "error_bound",
    "number": "output_kind",
    "order": "ranking",
    "outputs": "output_names",
    "players": "feature_groups",
    "predicted": "predicted_class",
    "residual": "additivity_error",
    "row_labels": "row_index",
    "sides": "output_classes",
}
RENAMED: dict[str, dict[str, str]] = {
    "Explanation": _SHARED,
    "SparseExplanation": _SHARED,
    "Interactions": _SHARED | {"whole": "explained"},
    "Importance": _SHARED,
    "Attribution": _SHARED
    | {
        "alone": "univariate",
        "null_totals": "null_statistics",
        "p_alone": "p_univariate",
        "p_alone_holm": "p_univariate_adjusted",
        "p_holm": "p_adjusted",
        "statistic": "statistic_name",
        "total": "statistic",
    },
    "Effects": {},
    "Influence": {},
    "LeaveOneOut": {},
    "Sensitivity": _SHARED | {"interactions": "interaction_fraction"},
    "Change": {},
    "Comparison": {},
}

SELECTIONS = {
    pkex.Explanation: {
        "the last feature of all rows but the first": lambda e: e[1:, -1],
        "the first output of the first row": lambda e: e[0, :, 0] if e.output_names[1:] else e[0],
        "all rows, and the first again": lambda e: pkex.Explanation.concat([e, e[:1]]),
        "importance": lambda e: e.importance(),
    },
    pkex.SparseExplanation: {
        "the last row": lambda e: e[-1],
        "the first output": lambda e: e[:, 0] if e.output_names[1:] else e,
        "dense": lambda e: e.dense(),
    },
    pkex.Interactions: {
        "two features": lambda i: i[i.subsets[0] if i.subsets else (0, 1)],
        "top": lambda i: i.top(3),
    },
    pkex.Importance: {},
    pkex.Influence: {
        "the last feature of the last row": lambda i: i[-1, -1],
        "the first output": lambda i: i[:, :, 0] if i.output_names[1:] else i,
    },
    pkex.LeaveOneOut: {"the first rows": lambda result: result[:3]},
    pkex.Attribution: {"remarks": lambda a: a.remarks()},
    pkex.Sensitivity: {},
    pkex.Change: {
        "verdict": lambda c: c.verdict(0.2),
        "the last output": lambda c: c.select_output(len(c.output_names) - 1, "plot"),
    },
    pkex.Comparison: {},
    pkex.Gradients: {
        "the last column of the first row": lambda g: g[0, -1],
        "all rows, and the first again": lambda g: pkex.Gradients.concat([g, g[:1]]),
    },
    pkex.Effects: {"the first effect": lambda e: e[0], "h": lambda e: e.h_statistic()},
}


def public(result):
    """Return the names of the fields of a result, and of what is derived from them."""
    fields = [field.name for field in dataclasses.fields(result) if field.name != "about"]
    fields += [
        field.name for field in dataclasses.fields(result.about) if hasattr(result, field.name)
    ]
    fields += [name for name in ("rule", "neutral") if hasattr(result, name)]
    kind = type(result)
    derived = [
        name
        for name in dir(kind)
        if name[0] != "_"
        and not name.isupper()  # what the class declares
        and name not in (*fields, *_NOT_RECORDED)
        and not callable(getattr(kind, name))
    ]
    return fields, derived


def value(result, name):
    """Return an attribute, or the kind of error where a file does not hold what it needs."""
    try:
        return plain(getattr(result, name))
    except ValueError as error:
        return {"raises": type(error).__name__}


def record(result):
    """Return all that is recorded of a result."""
    _, derived = public(result)
    return {
        "kind": type(result).__name__,
        "fields": fields_of(result),
        "derived": {name: value(result, name) for name in derived},
        "repr": repr(result).splitlines(),
        "frame": plain(frame(result)),
        "selections": selections(result),
    }


def frame(result):
    """Return the frame of a result, of its first output where it takes one."""
    several = isinstance(result, pkex.SparseExplanation) and result.output_names[1:]
    return result.to_frame(output=0) if several else result.to_frame()


def selections(result):
    """Return what is selected or made from a result; of one of its kind, in what it differs."""
    whole, found = fields_of(result), {}
    for words, choose in SELECTIONS[type(result)].items():
        chosen = choose(result)
        found[words] = plain(chosen)
        if type(chosen) is type(result):
            changed = found[words].items()
            found[words] = {name: part for name, part in changed if part != whole[name]}
    return found


def fields_of(result):
    """Return the fields of a result."""
    return {name: value(result, name) for name in public(result)[0]}


def plain(value):
    """Return a value as JSON has it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"floats": [value.hex()]}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, date | time):  # a datetime is a date, and a timestamp of pandas as well
        return {"moment": type(value).__name__, "text": value.isoformat()}
    if isinstance(value, np.ndarray):
        cells = value.ravel().tolist()
        if value.dtype.kind == "f":
            return {"shape": list(value.shape), "floats": [cell.hex() for cell in cells]}
        kind = {"i": "int", "b": "bool"}.get(value.dtype.kind, "object")
        return {"shape": list(value.shape), "kind": kind, "cells": [plain(c) for c in cells]}
    if isinstance(value, pd.DataFrame):
        columns = [list(c) if isinstance(c, tuple) else c for c in value.columns]
        cells = [plain(value.iloc[:, j].to_numpy()) for j in range(len(columns))]
        return {"columns": columns, "index": plain(value.index), "cells": cells}
    if isinstance(value, pd.Index):
        labels = [str(label) for label in value]
        return {"index": type(value).__name__, "names": list(value.names), "labels": labels}
    if isinstance(value, Kernel):
        return {"kernel": repr(value)}
    if hasattr(value, "tocsr"):
        return {
            name: plain(getattr(value, name)) for name in ("shape", "data", "indices", "indptr")
        }
    if type(value) in SELECTIONS:
        return fields_of(value)
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return [[plain(key), plain(entry)] for key, entry in value.items()]
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    raise TypeError(f"a record has no place for {type(value).__name__}.")


def as_text(document):
    """Return a record as JSON with a line for each attribute, so that differences can be read."""
    parts = []
    for title, part in document.items():
        text = json.dumps(part)
        if isinstance(part, dict | list) and title != "frame":
            entries = part.items() if isinstance(part, dict) else enumerate(part)
            lines = [
                json.dumps({name: one})[1:-1] if isinstance(part, dict) else json.dumps(one)
                for name, one in entries
            ]
            ends = "{}" if isinstance(part, dict) else "[]"
            text = ends[0] + "\n  " + ",\n  ".join(lines) + "\n " + ends[1] if lines else ends
        parts.append(f" {json.dumps(title)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def differences(expected, found, rounding, where="", *, more=False):
    """Return what differs between two records, as lines; floats may differ by `rounding`.

    With `more` there may be attributes that were not recorded.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        if "floats" in expected and "floats" in found and rounding:
            wanted, given = (
                np.array([float.fromhex(t) for t in one["floats"]]) for one in (expected, found)
            )
            same = expected.get("shape") == found.get("shape")
            scale = np.abs(wanted).max(initial=0.0, where=np.isfinite(wanted))
            if same and np.allclose(wanted, given, rtol=0.0, atol=rounding * scale, equal_nan=True):
                return []
        if expected.keys() == found.keys() or (more and expected.keys() < found.keys()):
            return [
                line
                for name in expected
                for line in differences(
                    expected[name], found[name], rounding, f"{where}.{name}", more=more
                )
            ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            line
            for i, (one, other) in enumerate(zip(expected, found, strict=True))
            for line in differences(one, other, rounding, f"{where}[{i}]", more=more)
        ]
    same = type(expected) is type(found) and expected == found  # True is not 1 here
    return [] if same else [f"{where}: {expected!r} became {found!r}"]
