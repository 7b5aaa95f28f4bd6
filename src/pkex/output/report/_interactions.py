"""The section of a report on interactions, as JSON: a heat map, the top pairs, and their plots.

It comes with an `Explanation` or an `Attribution` of the same features. The heat map has those
with the largest pairs; a pair of columns is drawn over both of them: a model's rows coloured by
the value of the pair, the rows of two samples by their sample, and those of a target by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.report._page import Fact, column_data, finite, make_facts, pack, sample_rows
from pkex.output.view.features import largest_pairs

if TYPE_CHECKING:
    from pkex.results.interactions import Interactions
    from pkex.results.totals import PairTotals

__all__ = ["section"]

_FEATURES = 20  # of the heat map
_PAIRS = 15  # of the table and of the plots
_ROWS = 600  # of a plot
_INDICES = {
    "k-SII": "n-Shapley values: pairs are Shapley interaction indices, and all orders add up.",
    "SII": "Shapley interaction indices, which do not add up.",
    "STII": "Shapley-Taylor interactions, which add up.",
    "FSII": "Faithful Shapley interactions, which add up.",
    "BII": "Banzhaf interactions, which do not add up.",
    "FBII": "Faithful Banzhaf interactions, which do not add up.",
}


def section(
    interactions: Interactions, result: Any, totals: PairTotals | None
) -> tuple[dict[str, Any], list[Fact]]:
    """Return what the section needs, and lines for the method.

    `totals` are those of more rows than the interactions have, which then are of a sample of them.
    """
    _check(interactions, result, totals)
    totals = totals or interactions.totals()
    signed = totals.n_rows == 1
    tables, means = totals.means if signed else totals.sizes, totals.means
    shown = np.argsort(-np.abs(tables).max(axis=(0, 2)), kind="stable")[:_FEATURES]
    top = [largest_pairs(np.abs(table), _PAIRS) for table in np.moveaxis(tables, 2, 0)]
    data = {
        "index": interactions.index,
        "explained": interactions.explained.replace("^2", "²"),
        "signed": signed,
        "n_rows": totals.n_rows,
        "names": interactions.feature_names,
        "features": shown.tolist(),
        "tables": [pack(tables[np.ix_(shown, shown)][..., k]) for k in range(tables.shape[2])],
        "top": [
            [[i, j, *finite([tables[i, j, k], means[i, j, k]])] for i, j in some]
            for k, some in enumerate(top)
        ],
        **_points(interactions, result, sorted({pair for some in top for pair in some})),
    }
    note, n_rows = _INDICES.get(interactions.index, ""), len(interactions)
    if n_rows < totals.n_rows:
        note = f"{note} Plots of pairs show {n_rows} rows, sampled uniformly.".strip()
    bound = None if totals.error is None else f"{totals.error:.1g}"
    values = {"Interactions": interactions.index, "Error bound of interactions": bound}
    return data, make_facts(values, {"Interactions": note})


def _check(interactions: Interactions, result: Any, totals: PairTotals | None) -> None:
    """Refuse interactions of something else."""
    if getattr(interactions, "KIND", None) != "interactions":
        raise TypeError(
            f"interactions must be Interactions, e.g. explainer.interactions(X); got "
            f"{type(interactions).__name__}."
        )
    if interactions.pairs is None:
        raise ValueError(
            "a report shows all pairs, but only chosen subsets were computed; omit subsets=."
        )
    statistic = getattr(result, "statistic_name", "")
    n_rows = 1 if statistic else len(result)
    same_rows = totals is not None or len(interactions) == n_rows  # or of a sample
    same_features = interactions.feature_names == result.feature_names
    if not (same_rows and same_features and interactions.explained == (statistic or "prediction")):
        raise ValueError(
            "the interactions are not those of the result; make them from the same explainer and "
            "table, or by attribution.interactions()."
        )


def _points(
    interactions: Interactions, result: Any, pairs: list[tuple[int, int]]
) -> dict[str, Any]:
    """Return the columns of features that have one, and what colours the points of pairs."""
    data: dict[str, Any] = {"columns": {}, "values": None, "series": None, "target": None}
    if result.KIND == "explanation":
        some, rows = sample_rows(len(interactions), _ROWS), interactions.data
        assert interactions.pairs is not None
        values = interactions.pairs.reshape(*interactions.pairs.shape[:3], -1)[some]
        data["values"] = {f"{i},{j}": list(map(pack, values[:, i, j].T)) for i, j in pairs}
    elif result.samples is None:
        return data
    elif result.target_kernel is not None:
        rows, second = result.samples
        some = sample_rows(len(rows), _ROWS)
        target = np.asarray(second).reshape(len(second), -1)[some, 0]
        data["target"] = {"name": result.sample_names[0], **column_data(target)}
    else:
        parts = [part[sample_rows(len(part), _ROWS // 2)].astype(object) for part in result.samples]
        data["series"] = list(map(len, parts))
        rows, some = np.concatenate(parts), None
    assert rows is not None
    for feature in sorted({feature for pair in pairs for feature in pair}):
        columns = interactions.feature_groups[feature]
        if len(columns) == 1:
            data["columns"][feature] = column_data(rows[:, columns[0]], some)
    return data
