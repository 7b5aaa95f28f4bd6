"""Files of attributions; version 1.

They do not hold the samples, which may be large and private. What is computed from them is there as
far as it was computed before: the loaded attribution has no source.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.files.archive import Arrays, Format, Header
from pkex.output.files.header import (
    Reader,
    as_count,
    as_flag,
    as_names,
    as_number,
    as_players,
    as_text,
    fields_of,
    maybe,
    to_json,
    typed,
)
from pkex.output.files.kernel_data import from_data, to_data
from pkex.output.files.pieces import fits, floats, one_of, rules_from_data, rules_to_data

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["load", "pack", "save"]

FORMAT = Format("Attribution", 1)


def _flags(value: Any) -> tuple[bool, ...]:
    return tuple(map(as_flag, typed(value, list, "a list")))


def _counts(value: Any) -> tuple[int, ...]:
    return tuple(map(as_count, typed(value, list, "a list")))


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


def save(attribution: Attribution, path: str | os.PathLike[str]) -> None:
    """Write `attribution` to `path`."""
    FORMAT.save(path, pack(attribution))


def load(kind: type[Attribution], path: str | os.PathLike[str]) -> Attribution:
    """Return the attribution in `path`."""
    return FORMAT.load(path, lambda header, arrays: _attribution(kind, header, arrays))


def pack(attribution: Attribution) -> Arrays:
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
    return FORMAT.packed(header, there | nodes)


def _attribution(kind: type[Attribution], header: Header, arrays: Arrays) -> Attribution:
    """Return an attribution that holds what the file does."""
    from pkex.statistics.block_mean import ColumnTests, UnivariateStatistics

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
        alone = UnivariateStatistics(
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
