"""What the report of an `Explanation` shows, as JSON.

All rows and features enter the importance. The pictures have at most `MAX_ROWS` rows and the
`MAX_FEATURES` most important features; a row's waterfall is right all the same, because the largest
values of each row come along where they belong to other features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import cell_text, is_missing, is_number
from pkex._util.words import NOISE
from pkex.models.classes import apart, elsewhere, meaning
from pkex.output import palette
from pkex.output.columns import categories
from pkex.output.report._facts import Fact, accuracy, fact, features
from pkex.output.report._page import finite, pack
from pkex.output.spread import POSTERIOR, importance_words, others_words, std_of_sums
from pkex.output.text import kernel_text

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.totals import Totals

__all__ = ["MAX_ROWS", "column_data", "payload"]

MAX_ROWS, MAX_FEATURES = 1000, 40
WATERFALL = 12  # bars of one row
_MAX_CELLS = 400_000  # of all outputs together
_MAX_TEXT = 80


def payload(
    explanation: Explanation,
    title: str | None,
    details: list[Fact],
    row_names: list[int | str],
    totals: Totals | None = None,
) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them.

    `totals` are those of more rows than the explanation has, which then is a sample of them.
    """
    totals = totals or explanation.totals()
    importance = totals.importance
    values, base, predictions = explanation.with_output_axis()
    n_rows, n_players, n_outputs = values.shape
    stds = None if explanation.std is None else explanation.std.reshape(values.shape)
    shown = importance.order[:MAX_FEATURES]
    rows = _sample(n_rows, _MAX_CELLS // (len(shown) * n_outputs))
    tables = (importance.values, importance.standard_errors, importance.centred)
    means, errors, centred = (table.reshape(n_players, -1) for table in tables)
    neutral = explanation.removal == "neutral"
    kept, columns = values[rows], sorted({c for p in shown for c in explanation.players[p]})
    return {
        "kind": "explanation",
        "title": title or f"Which features drive the {explanation.quantity or 'predictions'}",
        "facts": details + _facts(explanation, totals),
        "n_rows": totals.n_rows,
        "rows": [_name(row_names[row]) for row in rows],
        "meaning": meaning(explanation),
        "sides": explanation.sides,
        "predicted": _classes(explanation.predicted, rows),
        "largest": _classes(elsewhere(explanation), rows),
        "names": explanation.feature_names,
        "outputs": explanation.outputs,
        "complete": explanation.complete,
        "index": explanation.index,
        "efficient": explanation.efficient,
        "waterfall": WATERFALL,
        "importance": [
            {"mean": finite(means[:, k]), "error": finite(errors[:, k])}
            | ({"centred": finite(centred[:, k])} if neutral else {})
            for k in range(n_outputs)
        ],
        "features": shown.tolist(),
        "players": [[columns.index(c) for c in explanation.players[p]] for p in shown],
        "columns": [
            {"name": explanation.column_names[c], **column_data(explanation.data[:, c], rows)}
            for c in columns
        ],
        "values": [pack(kept[:, shown, k]) for k in range(n_outputs)],
        "stds": None if stds is None else [pack(stds[rows][:, shown, k]) for k in range(n_outputs)],
        "other_stds": _other_stds(explanation, kept, rows),
        "whiskers": {"rows": importance_words(importance), "posterior": _posterior(explanation)},
        "quantity": explanation.quantity,
        "base": [pack(base[rows, k], exact=True) for k in range(n_outputs)],
        "predictions": [pack(predictions[rows, k], exact=True) for k in range(n_outputs)],
        "extras": [
            _extras(
                explanation, kept[:, :, k], None if stds is None else stds[rows, :, k], rows, shown
            )
            for k in range(n_outputs)
        ],
    }


def _posterior(explanation: Explanation) -> str | None:
    """Return what the whiskers of a row are; None without standard deviations."""
    if explanation.std is None:
        return None
    others = len(explanation.feature_names) > WATERFALL or not explanation.complete
    known = explanation.cov is not None and explanation.complete
    unknown = others_words(explanation) if explanation.efficient and others and not known else ""
    return f"{POSTERIOR}{unknown}"


def _other_stds(
    explanation: Explanation, values: NDArray[np.float64], rows: NDArray[np.intp]
) -> list[dict[str, str]] | None:
    """Return for each output the standard deviations of the sums that waterfalls end with.

    They are of all features but the `WATERFALL` largest of the row; None where they are not known.
    """
    if explanation.cov is None or not explanation.complete:
        return None
    covs = explanation.cov[rows].reshape(*values.shape[:2], values.shape[1], -1)
    ranks = np.argsort(np.argsort(-np.abs(values), axis=1, kind="stable"), axis=1)
    sums = (std_of_sums(covs[..., k], ranks[..., k] >= WATERFALL) for k in range(values.shape[2]))
    return [pack(stds) for stds in sums]


def _name(name: int | str) -> int | str:
    return _cut(name) if isinstance(name, str) else name


def _classes(labels: NDArray[Any] | None, rows: NDArray[np.intp]) -> list[str | None] | None:
    """Return the texts of classes of some rows; None for what has no class."""
    if labels is None:
        return None
    return [None if label is None else _cut(str(label)) for label in labels[rows]]


def _sample(n_rows: int, affordable: int) -> NDArray[np.intp]:
    """Return the positions of the rows to show: all, or a sample that is always the same."""
    count = min(MAX_ROWS, max(100, affordable))
    if n_rows <= count:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, count, replace=False))


def _extras(
    explanation: Explanation,
    values: NDArray[np.float64],
    stds: NDArray[np.float64] | None,
    rows: NDArray[np.intp],
    shown: NDArray[np.intp],
) -> list[list[list[Any]]]:
    """Return, for each row, those of its largest values that belong to features not shown.

    Each is a player with its value, its raw value and its standard deviation, where it is known.
    """
    if len(shown) == values.shape[1]:
        return []
    largest = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :WATERFALL]
    known = set(shown.tolist())
    return [
        [
            [p, *finite([values[i, p]]), _raw(explanation, row, p)]
            + ([] if stds is None else finite([stds[i, p]]))
            for p in largest[i].tolist()
            if p not in known
        ]
        for i, row in enumerate(rows)
    ]


def _raw(explanation: Explanation, row: int, player: int) -> str:
    """Return the raw value of a player, or those of its columns with their names."""
    columns = explanation.players[player]
    texts = [_cut(cell_text(explanation.data[row, c])) for c in columns]
    if len(columns) == 1:
        return texts[0]
    pairs = zip(columns, texts, strict=True)
    return ", ".join(f"{explanation.column_names[c]} = {text}" for c, text in pairs)


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
        "levels": [_cut(names[code]) for code in shown],
        "cells": pack(np.searchsorted(shown, codes[rows])),
    }


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _facts(explanation: Explanation, totals: Totals) -> list[Fact]:
    drawn = len(explanation) < totals.n_rows
    note = f"Pictures show {len(explanation)} of them, drawn evenly." if drawn else ""
    facts = [fact("Rows", totals.n_rows, note), features(explanation)]
    if len(explanation.outputs) > 1:
        facts.append(fact("Outputs", len(explanation.outputs)))
    what = meaning(explanation)
    if what is not None and explanation.classes is not None:
        facts.append(fact("Output", _sentence(what)))
        said = f"{_sentence(apart(totals.apart, totals.n_rows))}." if totals.apart else ""
        facts.append(fact("Classes", ", ".join(explanation.classes), said))
    if explanation.quantity is not None:
        noise = NOISE.get(explanation.quantity, "")
        said = f"Not what the model predicts, but how uncertain it is{noise}."
        facts.append(fact("Explained", _sentence(explanation.quantity), said))
    if explanation.std is not None:
        said = (
            "Of every value of a row, under the posterior of the Gaussian process; noise is not in "
            "them. Whiskers of the importance are standard errors over rows."
        )
        facts.append(fact("Whiskers", POSTERIOR, said))
    if explanation.index != "SV":
        adds = "" if explanation.efficient else "These values do not add up to a prediction."
        facts.append(fact("Index", explanation.index, adds))
    said = "" if explanation.absent is None else f"Absent features: {explanation.absent}."
    facts.append(fact("Removal", explanation.removal, said))
    if explanation.caution is not None:
        facts.append(fact("Caution", "offsets", f"{_sentence(explanation.caution)}."))
    if explanation.kernels is not None:
        facts.append(fact("Kernel", "; ".join(map(kernel_text, explanation.kernels))))
    if totals.error is not None:
        bound = f"≤ {totals.error:.2g}"
        said = "Of every value and prediction, in their units; proven, not estimated."
        facts.append(fact("Error", bound, said))
    neutral = explanation.removal == "neutral"
    unit = "the integral of each pair of points" if neutral else "the sum of |alpha|"
    return facts + accuracy(explanation, unit)
