"""The page of a report: template, style, script and data in one file; and facts, as it takes them.

The data are JSON in a script element that is not run. The page forbids itself every request, and
its only style and script are named by their hashes, so that nothing in the data can become either.
"""

from __future__ import annotations

import json
import math
import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib import import_module
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._util.cells import is_missing, is_number
from pkex._util.files import write_atomically
from pkex._util.words import pluralise
from pkex.output import palette
from pkex.output.columns import categories
from pkex.output.spread import describe_error
from pkex.output.text import cut as text_cut

if TYPE_CHECKING:
    from pkex.games.rules import Rule

__all__ = [
    "Fact",
    "accuracy",
    "by_output",
    "column_data",
    "cut",
    "finite",
    "make_facts",
    "pack",
    "sample_rows",
    "write",
]

Fact = dict[str, str]

_NOTES = {
    "Error bound": "Proven, of every value and prediction; in their units unless relative.",
    "Quadrature rules": "Each pair of points takes the cheapest rule that is exact enough.",
    "Additivity error": "The largest gap between a sum of values and its target; it is rounding.",
}
_PATH_NOTES = {
    "Error bound": "Of every value and prediction, in their units; estimated for a quadrature.",
    "Path integrals": "How the gradient is integrated from the baselines to a row.",
}
_MAX_TEXT = 80  # letters
_SINGLE_LIMIT = 1e6  # above, single precision has fewer digits than the page shows


def write(payload: dict[str, Any], path: str | os.PathLike[str], name: str) -> None:
    """Write a page; an existing file is replaced atomically. `name` is an example, for messages."""
    content = _html(payload | {"version": import_module("pkex").__version__}).encode()
    write_atomically(path, lambda file: file.write(content), name)


def _html(payload: dict[str, Any]) -> str:
    style = palette.css() + _asset("report.css")
    sections = [name for name in ("interactions", "influence") if name in payload]
    scripts = dict.fromkeys(["report", payload["kind"], *sections])
    script = "\n".join(_asset(f"{name}.js") for name in scripts)
    title = escape(payload["title"]).encode("ascii", "xmlcharrefreplace").decode()
    data = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    return Template(_asset("template.html")).substitute(
        title=title,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=data.replace("<", "\\u003c"),  # nothing in it can end the element
    )


def pack(array: ArrayLike, *, exact: bool = False) -> dict[str, str]:
    """Return numbers as base64: with all digits if `exact`, else with those that the page shows.

    Examples
    --------
    >>> pack([1.0, 2.5])
    {'f4': 'AACAPwAAIEA='}
    >>> pack([20240131.0])
    {'f8': 'AAAAMHBNc0E='}
    """
    numbers = np.asarray(array, dtype=np.float64)
    sizes = np.abs(numbers[np.isfinite(numbers)])
    small = sizes.max(initial=0.0) < _SINGLE_LIMIT and sizes[sizes > 0].min(initial=1.0) > 1e-30
    kind = "f4" if small and not exact else "f8"
    return {kind: b64encode(numbers.astype(f"<{kind}").tobytes()).decode()}


def finite(numbers: ArrayLike | None) -> Any:
    """Return numbers with eight digits for JSON, which has no NaN: it becomes None."""
    if numbers is None:
        return None
    array = np.asarray(numbers, dtype=np.float64)
    return [float(f"{x:.8g}") if np.isfinite(x) else None for x in array]


def by_output(table: ArrayLike, count: int) -> list[Any]:
    """Return the numbers of so many features for each output, as `finite` has them.

    Examples
    --------
    >>> by_output([[1.0, 2.0], [3.0, np.nan]], 2)
    [[1.0, 3.0], [2.0, None]]
    """
    return list(map(finite, np.reshape(table, (count, -1)).T))


def sample_rows(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return the positions of the rows to show: all, or a sample that is always the same."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def column_data(cells: NDArray[Any], rows: NDArray[np.intp] | None = None) -> dict[str, Any]:
    """Return some rows of a column: its numbers, or the texts in it and the code of each cell.

    Texts are in the order, and so have the colours, that they have in plots of all rows.
    """
    rows = np.arange(len(cells)) if rows is None else rows
    some = cells[rows]
    if all(is_number(cell) or is_missing(cell) for cell in some):
        return {"cells": pack([np.nan if is_missing(cell) else float(cell) for cell in some])}
    codes, names = categories(cells, len(cells) + 1)  # as many as there are
    shown = np.union1d(codes[rows], np.arange(min(len(palette.SERIES), len(names))))
    return {
        "levels": [cut(names[code]) for code in shown],
        "cells": pack(np.searchsorted(shown, codes[rows])),
    }


def cut(text: Any) -> Any:
    """Return a text without what is too long to show; anything else as it is."""
    return text_cut(text, _MAX_TEXT) if isinstance(text, str) else text


def make_facts(values: Mapping[str, Any], notes: Mapping[str, str]) -> list[Fact]:
    """Return facts as the page takes them, without those whose value is None."""
    return [
        {"label": label, "value": str(value), "note": notes.get(label, "")}
        for label, value in values.items()
        if value is not None
    ]


def accuracy(result: Any, error: float | None) -> list[Fact]:
    """Return the rules, the error bound, and by how much the values' sum is off."""
    families: dict[str, list[Rule]] = {}
    for rule in result.rules:
        families.setdefault(rule.family, []).append(rule)
    rules = (f"{family}, {_describe_nodes(some)}" for family, some in families.items())
    gap = f"{result.additivity_error:.1e}" if result.additivity_error else "0"
    values = {
        "Quadrature rules": "; ".join(rules),
        "Error bound": describe_error(result, error).replace("error bound ", ""),
        "Additivity error": None if math.isnan(result.additivity_error) else gap,
    }
    if getattr(result, "index", None) != "IG":
        return make_facts(values, _NOTES)
    del values["Quadrature rules"]
    paths = "; ".join(family.removeprefix("path integral, ") for family in families)
    return make_facts({"Path integrals": paths} | values, _NOTES | _PATH_NOTES)


def _describe_nodes(rules: Sequence[Rule]) -> str:
    """Return how many nodes the rules of a family have."""
    if rules[0].of_groups:
        return "exact within each group"
    low, *_, high = sorted([rules[0].size, *(rule.size for rule in rules)])
    return pluralise(high, "node") if low == high else f"{low} to {high} nodes"


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
