"""The section of a report on interactions, as JSON: a heat map, the top pairs, and their pictures.

It comes with an `Explanation` or an `Attribution` of the same players. The heat map has the players
with the largest pairs; a pair of columns is drawn over both of them: a model's rows coloured by
the value of the pair, the rows of two samples by their sample, and those of a target by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex.output.report._explanation import column_data
from pkex.output.report._facts import Fact, fact
from pkex.output.report._page import finite, pack

if TYPE_CHECKING:
    from pkex.results.interactions import Interactions
    from pkex.results.totals import PairTotals

__all__ = ["facts", "payload"]

_PLAYERS = 20  # of the heat map
_PAIRS = 15  # of the table and of the pictures
_ROWS = 600  # of a picture


def payload(found: Interactions, result: Any, totals: PairTotals | None = None) -> dict[str, Any]:
    """Return what the section needs.

    `totals` are those of more rows than the interactions have, which then are of a sample of them.
    """
    _check(found, result, totals)
    totals = totals or found.totals()
    signed = totals.n_rows == 1
    tables, means = totals.means if signed else totals.sizes, totals.means
    shown = np.argsort(-np.abs(tables).max(axis=(0, 2)), kind="stable")[:_PLAYERS]
    top = [_largest(tables[..., k]) for k in range(tables.shape[2])]
    drawn = {pair for some in top for pair in some}
    columns, points = _points(found, result, drawn)
    return {
        "index": found.index,
        "whole": found.whole.replace("^2", "²"),
        "efficient": found.efficient,
        "order": found.max_order,
        "signed": signed,
        "n_rows": totals.n_rows,
        "outputs": found.outputs,
        "names": found.feature_names,
        "players": shown.tolist(),
        "tables": [pack(tables[np.ix_(shown, shown)][..., k]) for k in range(tables.shape[2])],
        "top": [
            [[i, j, *finite([tables[i, j, k], means[i, j, k]])] for i, j in some]
            for k, some in enumerate(top)
        ],
        "columns": columns,
        **points,
    }


def facts(found: Interactions, totals: PairTotals | None = None) -> list[Fact]:
    """Return lines for the method; `totals` as in `payload`."""
    totals = totals or found.totals()
    said = {
        "k-SII": "n-Shapley values: pairs are Shapley interactions, and all orders add up.",
        "SII": "Shapley interactions, which do not add up.",
        "STII": "Shapley-Taylor interactions, which add up.",
        "FSII": "Faithful Shapley interactions, which add up.",
        "BII": "Banzhaf interactions, which do not add up.",
        "FBII": "Faithful Banzhaf interactions, which do not add up.",
    }
    note = said.get(found.index, "")
    if len(found) < totals.n_rows:
        note = f"{note} Pictures of pairs show {len(found)} rows, drawn evenly.".strip()
    lines = [fact("Interactions", found.index, note)]
    if totals.error is not None:
        bound = f"≤ {totals.error:.2g}"
        lines.append(fact("Error of interactions", bound, "Of every value; proven, not estimated."))
    return lines


def _check(found: Interactions, result: Any, totals: PairTotals | None) -> None:
    """Refuse interactions of something else."""
    if getattr(found, "REPORT", None) != "interactions":
        raise TypeError(
            f"interactions must be Interactions, e.g. explainer.interactions(X); got "
            f"{type(found).__name__}."
        )
    if found.pairs is None:
        raise ValueError(
            "a report shows all pairs, but only chosen subsets are here; leave players= out."
        )
    explained = result.REPORT == "explanation"
    rows = len(result) if explained else 1
    rows = rows if totals is None else len(found)  # a sample of their own
    whole = "prediction" if explained else result.statistic
    if found.feature_names != result.feature_names or len(found) != rows or found.whole != whole:
        raise ValueError(
            "the interactions are not those of the result: they must have the same rows and "
            "features. Make them from the same explainer and table, or by "
            "attribution.interactions()."
        )


def _largest(table: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the largest pairs."""
    first, second = np.triu_indices(len(table), 1)
    order = np.argsort(-np.abs(table[first, second]), kind="stable")[:_PAIRS]
    return [(int(first[place]), int(second[place])) for place in order]


def _points(
    found: Interactions, result: Any, pairs: set[tuple[int, int]]
) -> tuple[dict[int, Any], dict[str, Any]]:
    """Return the columns of players that have one, and what colours the points of pairs."""
    singles = sorted({p for pair in pairs for p in pair if len(found.players[p]) == 1})
    if result.REPORT == "explanation":
        some = _some(len(found))
        assert found.pairs is not None
        assert found.data is not None
        cells = {p: column_data(found.data[:, found.players[p][0]], some) for p in singles}
        values = found.pairs.reshape(*found.pairs.shape[:3], -1)[some]
        each = {
            f"{i},{j}": [pack(values[:, i, j, k]) for k in range(values.shape[3])]
            for i, j in sorted(pairs)
        }
        return cells, {"values": each, "series": None, "target": None}
    if result.samples is None:
        return {}, {"values": None, "series": None, "target": None}
    first, second = result.samples
    if result.target_kernel is not None:
        some = _some(len(first))
        cells = {p: column_data(first[:, found.players[p][0]], some) for p in singles}
        target = np.asarray(second).reshape(len(second), -1)[some, 0]
        shown = {"name": result.sample_names[0], **column_data(target)}
        return cells, {"values": None, "series": None, "target": shown}
    one, other = _some(len(first), _ROWS // 2), _some(len(second), _ROWS // 2)
    cells = {}
    for p in singles:
        at = found.players[p][0]
        both = np.concatenate([first[one, at].astype(object), second[other, at].astype(object)])
        cells[p] = column_data(both)
    return cells, {"values": None, "series": [len(one), len(other)], "target": None}


def _some(count: int, most: int = _ROWS) -> NDArray[np.intp]:
    """Return the rows of a picture: all, or a sample that is always the same."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))
