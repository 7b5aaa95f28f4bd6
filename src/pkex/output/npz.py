"""What of a result goes into a file, and how it comes back.

`Explanation`, `Attribution`, `Importance` and `Sensitivity` have a format each;
`pkex.output.archive` reads and writes the files. A field of `Explanation` is one line: in
`_HEADER`, or in `_MORE_ARRAYS` if it is an array. One that may be None may be absent, as it is from
files that were written before there was such a field. Values must add up, as they did when they
were computed.

A file of an `Attribution` does not hold the samples, which may be large and private. What is
computed from them is in it as far as it was computed before: the loaded attribution has no source.

Format versions of `Explanation`
--------------------------------
1
    The first.
2
    Further fields, each of which may be absent. The kernels are data; their text, which stood alone
    at first, is still there for older readers.

`Attribution`, `Importance` and `Sensitivity` have version 1.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex.output.archive import Arrays, Format, Header
from pkex.output.header import (
    Reader,
    as_cells,
    as_count,
    as_flag,
    as_index,
    as_names,
    as_number,
    as_players,
    as_text,
    fields_of,
    maybe,
    to_json,
    typed,
)
from pkex.output.kernel_data import Described, from_data, to_data
from pkex.rules import Rule

if TYPE_CHECKING:
    from pkex.explanation import Explanation
    from pkex.importance import Importance
    from pkex.indices import Sensitivity
    from pkex.kernels import Kernel
    from pkex.statistics.attribution import Attribution

__all__ = [
    "fits",
    "floats",
    "kernels_from_data",
    "load_attribution",
    "load_explanation",
    "load_importance",
    "load_sensitivity",
    "one_of",
    "pack_attribution",
    "pack_explanation",
    "pack_importance",
    "pack_sensitivity",
    "rules_from_data",
    "rules_to_data",
    "save_attribution",
    "save_explanation",
    "save_importance",
    "save_sensitivity",
    "sides_from_data",
    "table",
    "table_to_json",
]

EXPLANATION = Format("Explanation", 2)
ATTRIBUTION = Format("Attribution", 1)
IMPORTANCE = Format("Importance", 1)
SENSITIVITY = Format("Sensitivity", 1)


# Explanation


def kernels_from_data(value: Any) -> tuple[Kernel, ...]:
    """Return kernels."""
    return tuple(map(from_data, typed(value, list, "a list")))


def sides_from_data(value: Any) -> tuple[tuple[str, str | None], ...]:
    """Return the classes that values speak for and against."""
    pairs = [typed(pair, list, "a list") for pair in typed(value, list, "a list")]
    return tuple((as_text(first), maybe(as_text)(second)) for first, second in pairs)


_ARRAYS = ("values", "base_values", "predictions")
_MORE_ARRAYS: tuple[str, ...] = ("error", "std", "cov")
_HEADER: dict[str, Reader] = {
    "feature_names": as_names,
    "column_names": as_names,
    "players": as_players,
    "output_names": maybe(as_names),
    "removal": as_text,
    "residual": as_number,
    "complete": as_flag,
    "absent": maybe(as_text),
    "classes": maybe(as_names),
    "sides": maybe(sides_from_data),
    "number": maybe(as_text),
    "predicted": maybe(lambda value: np.array(as_cells(value))),
    "row_labels": maybe(as_index),
    "index": lambda value: "SV" if value is None else as_text(value),
    "efficient": lambda value: value is None or as_flag(value),
    "quantity": maybe(as_text),
}
_KERNELS: dict[str, Reader] = {"kernel": maybe(as_text), "kernels": maybe(kernels_from_data)}


def save_explanation(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write `explanation` to `path`."""
    EXPLANATION.save(path, pack_explanation(explanation))


def load_explanation(kind: type[Explanation], path: str | os.PathLike[str]) -> Explanation:
    """Return the explanation in `path`."""

    def unpack(header: Header, arrays: Arrays) -> Explanation:
        explanation = kind(**_explanation_parts(header, arrays))
        _check_sums(explanation)
        return explanation

    return EXPLANATION.load(path, unpack)


def pack_explanation(explanation: Explanation) -> Arrays:
    """Return the arrays of a file."""
    stored = {name: getattr(explanation, name) for name in (*_ARRAYS, *_MORE_ARRAYS)}
    arrays = {name: np.asarray(array) for name, array in stored.items() if array is not None}
    rules, nodes = rules_to_data(explanation.rules, explanation.rule)
    arrays |= nodes
    header = {name: to_json(getattr(explanation, name), name) for name in _HEADER} | rules
    if explanation.kernels is not None:
        header["kernel"] = "; ".join(map(repr, explanation.kernels))
        header["kernels"] = [to_data(kernel) for kernel in explanation.kernels]
    if explanation.data.dtype.kind == "f":
        arrays["data"] = explanation.data
    else:
        header["data"] = table_to_json(explanation.data, explanation.column_names)
    return EXPLANATION.packed(header, arrays)


def _explanation_parts(header: Header, arrays: Arrays) -> dict[str, Any]:
    """Return the arguments of `Explanation`."""
    fields = fields_of(header, _HEADER)
    kernels = fields_of(header, _KERNELS)
    if kernels["kernels"] is None and kernels["kernel"] is not None:
        kernels["kernels"] = (Described(kernels["kernel"]),)
    if "data" in header:
        data = table(header["data"], len(fields["column_names"]))
    else:
        data = arrays["data"]
    return {
        **fields,
        **{name: arrays[name] for name in _ARRAYS},
        **{name: arrays[name] for name in _MORE_ARRAYS if name in arrays},
        **rules_from_data(header, arrays),
        "kernels": kernels["kernels"],
        "data": data,
    }


def table_to_json(data: NDArray[Any], names: Sequence[str]) -> list[list[Any]]:
    """Return the rows of a table that has text, as the header has them."""
    return [
        [
            to_json(cell, f"column {name!r} of the data")
            for cell, name in zip(row, names, strict=True)
        ]
        for row in data.astype(object)
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


def _check_sums(explanation: Explanation) -> None:
    """Refuse values that miss the predictions by more than the residual and rounding."""
    if not explanation.complete or not explanation.efficient:
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


# Attribution


def _flags(value: Any) -> tuple[bool, ...]:
    return tuple(map(as_flag, typed(value, list, "a list")))


def _counts(value: Any) -> tuple[int, ...]:
    return tuple(map(as_count, typed(value, list, "a list")))


def one_of(*known: str) -> Reader:
    """Return a reader of some texts."""

    def read(value: Any) -> str:
        if as_text(value) not in known:
            raise ValueError(f"{value!r} stands where {' or '.join(known)} should")
        return str(value)

    return read


_FACTS: dict[str, Reader] = {
    "statistic": one_of("MMD^2", "HSIC"),
    "estimator": as_text,
    "removal": one_of("marginal", "neutral"),
    "standard_error": maybe(as_number),
    "feature_names": as_names,
    "column_names": as_names,
    "categorical": _flags,
    "players": as_players,
    "block_size": maybe(as_count),
    "residual": as_number,
    "sample_names": as_names,
}
_MORE_FACTS: dict[str, Reader] = {
    "kernel": from_data,
    "target_kernel": maybe(from_data),
    "n_rows": _counts,
    "n_test_rows": maybe(as_count),
    "total": as_number,
}


def save_attribution(attribution: Attribution, path: str | os.PathLike[str]) -> None:
    """Write `attribution` to `path`."""
    ATTRIBUTION.save(path, pack_attribution(attribution))


def load_attribution(kind: type[Attribution], path: str | os.PathLike[str]) -> Attribution:
    """Return the attribution in `path`."""
    return ATTRIBUTION.load(path, lambda header, arrays: _attribution(kind, header, arrays))


def pack_attribution(attribution: Attribution) -> Arrays:
    """Return the arrays of a file."""
    found, alone, tests = attribution, attribution._alone, attribution._column_tests
    arrays = {
        "values": found.values,
        "rounding": found.rounding,
        "null_values": found.null_values,
        "standard_errors": found.standard_errors,
        "alone": found.__dict__.get("alone") if alone is None else alone.values,
        "alone_null_values": None if alone is None else alone.null_values,
        "alone_rounding": None if alone is None else alone.rounding,
        "test_p_values": None if tests is None else tests.p_values,
    }
    rules, nodes = rules_to_data(found.rules, found.rule)
    kernel = found.target_kernel
    header = {name: to_json(getattr(found, name), name) for name in _FACTS} | rules
    header |= {
        "kernel": to_data(found.kernel),
        "target_kernel": None if kernel is None else to_data(kernel),
        "n_rows": list(found.n_rows),
        "n_test_rows": found.n_test_rows,
        "total": to_json(found.total),
    }
    there = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    return ATTRIBUTION.packed(header, there | nodes)


def _attribution(kind: type[Attribution], header: Header, arrays: Arrays) -> Attribution:
    """Return an attribution that holds what the file does."""
    from pkex.statistics.block_mean import Alone, ColumnTests

    facts, more = fields_of(header, _FACTS), fields_of(header, _MORE_FACTS)
    n_players, n_columns = len(facts["feature_names"]), len(facts["column_names"])
    two_samples = facts["statistic"] == "MMD^2"
    n_names = len(facts["sample_names"])
    fits("players", (len(facts["players"]),), (max(1, n_players),))
    fits("categorical", (len(facts["categorical"]),), (n_columns,))
    fits("n_rows", (len(more["n_rows"]),), (2 if two_samples else 1,))
    fits("sample_names", (n_names,), (2 if two_samples else max(1, n_names),))
    if any(not 0 <= column < n_columns for player in facts["players"] for column in player):
        raise ValueError(f"players must consist of columns 0 to {n_columns - 1}")
    if two_samples != (more["target_kernel"] is None):
        raise ValueError("a target has a kernel, and two samples have no target")
    values = floats(arrays, "values", (n_players,))
    total, size = more["total"], float(np.abs(values).sum())
    if not abs(float(values.sum()) - total) <= 2.0 * n_players * np.finfo(np.float64).eps * size:
        raise ValueError(f"the values add up to {float(values.sum()):.6g}, not to {total:.6g}")
    alone, null, tests = None, None, None
    if "null_values" in arrays:
        null = floats(arrays, "null_values", (len(arrays["null_values"]) or 1, n_players))
    if "alone_null_values" in arrays:
        shape = (0 if null is None else len(null), n_players)
        alone = Alone(
            floats(arrays, "alone", (n_players,)),
            floats(arrays, "alone_null_values", shape),
            floats(arrays, "alone_rounding", (n_players,)),
        )
    if "test_p_values" in arrays:
        p_values = floats(arrays, "test_p_values", (n_players,), missing=True)
        tests = ColumnTests(p_values, as_count(more["n_test_rows"]))
    errors = None
    if "standard_errors" in arrays:
        errors = floats(arrays, "standard_errors", (n_players,))
    attribution = kind(
        **facts,
        **rules_from_data(header, arrays),
        values=values,
        rounding=floats(arrays, "rounding", (n_players,)),
        null_values=null,
        standard_errors=errors,
        kernel=more["kernel"],
        target_kernel=more["target_kernel"],
        samples=None,
        _source=None,
        _alone=alone,
        _column_tests=tests,
        _n_rows=more["n_rows"],
    )
    if alone is None and "alone" in arrays:
        attribution.__dict__["alone"] = floats(arrays, "alone", (n_players,))
    return attribution


# Importance

_TABLES = ("values", "standard_errors", "centred")
_TITLES: dict[str, Reader] = {
    "feature_names": as_names,
    "output_names": as_names,
    "neutral": as_flag,
}


def save_importance(importance: Importance, path: str | os.PathLike[str]) -> None:
    """Write `importance` to `path`."""
    IMPORTANCE.save(path, pack_importance(importance))


def load_importance(kind: type[Importance], path: str | os.PathLike[str]) -> Importance:
    """Return the importance in `path`."""

    def unpack(header: Header, arrays: Arrays) -> Importance:
        titles = fields_of(header, _TITLES)
        shape = arrays["values"].shape
        fits("values", shape[:1], (max(1, len(titles["feature_names"])),))
        outputs = max(1, len(titles["output_names"]))
        fits("values", shape[1:], () if outputs == 1 else (outputs,))
        for name in _TABLES:
            titles[name] = floats(arrays, name, shape, missing=True)
        return kind(**titles)

    return IMPORTANCE.load(path, unpack)


def pack_importance(importance: Importance) -> Arrays:
    """Return the arrays of a file."""
    header = {name: to_json(getattr(importance, name), name) for name in _TITLES}
    return IMPORTANCE.packed(header, {name: getattr(importance, name) for name in _TABLES})


# Sensitivity

_INDICES = ("first_order", "total_order", "shapley")
_ABOUT: dict[str, Reader] = {
    "feature_names": as_names,
    "column_names": as_names,
    "players": as_players,
    "output_names": maybe(as_names),
    "inputs": as_text,
    "error": as_number,
}


def save_sensitivity(sensitivity: Sensitivity, path: str | os.PathLike[str]) -> None:
    """Write `sensitivity` to `path`."""
    SENSITIVITY.save(path, pack_sensitivity(sensitivity))


def load_sensitivity(kind: type[Sensitivity], path: str | os.PathLike[str]) -> Sensitivity:
    """Return the sensitivity in `path`."""

    def unpack(header: Header, arrays: Arrays) -> Sensitivity:
        about = fields_of(header, _ABOUT)
        shape = arrays["shapley"].shape
        fits("shapley", shape[:1], (max(1, len(about["feature_names"])),))
        fits("players", (len(about["players"]),), shape[:1])
        names = about["output_names"]
        fits("shapley", shape[1:], () if names is None or len(names) == 1 else (len(names),))
        for name in _INDICES:
            about[name] = floats(arrays, name, shape, missing=True)
        sums = about["shapley"].sum(axis=0)
        if not np.all(np.isnan(sums) | (np.abs(sums - 1.0) <= 1e-6 + about["error"])):
            raise ValueError(f"the Shapley effects sum to {float(np.ravel(sums)[0]):.6g}, not to 1")
        pairs = None
        if "second_order" in arrays:
            pairs = floats(arrays, "second_order", (shape[0], *shape), missing=True)
        for name in ("variance", "mean", "rows_variance"):
            there = name in arrays or name != "rows_variance"
            about[name] = floats(arrays, name, shape[1:]) if there else None
        return kind(**about, second_order=pairs)

    return SENSITIVITY.load(path, unpack)


def pack_sensitivity(sensitivity: Sensitivity) -> Arrays:
    """Return the arrays of a file."""
    header = {name: to_json(getattr(sensitivity, name), name) for name in _ABOUT}
    names = (*_INDICES, "second_order", "variance", "mean", "rows_variance")
    arrays = {name: getattr(sensitivity, name) for name in names}
    there = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    return SENSITIVITY.packed(header, there)


# What they have in common

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
