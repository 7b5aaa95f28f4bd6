"""Results as data frames of pandas: lines of rows or of features, a block of columns an output.

A result names one of the functions that take it and whether totals are wanted; see
`Result.to_frame`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import import_optional
from pkex._util.types import Floats
from pkex.output.spread import LEVEL, deviations, has_intervals
from pkex.output.view.rows import REST, stored_entries

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution
    from pkex.results.change import Change
    from pkex.results.comparison import Comparison
    from pkex.results.explanation import Explanation
    from pkex.results.gradients import Gradients
    from pkex.results.importance import Importance
    from pkex.results.interactions import Interactions
    from pkex.results.leave_one_out import LeaveOneOut
    from pkex.results.sensitivity import Sensitivity
    from pkex.results.sparse import SparseExplanation

__all__ = [
    "attribution",
    "change",
    "comparison",
    "explanation",
    "gradients",
    "importance",
    "interactions",
    "leave_one_out",
    "sensitivity",
    "sparse_explanation",
]


def explanation(result: Explanation, totals: bool) -> Any:
    """Return a line for each row and a column for each feature."""
    return _row_frame(result, result.feature_names, result.values, totals, result.std)


def gradients(result: Gradients, _totals: bool) -> Any:
    """Return a line for each row and a column for each column of the input."""
    return _row_frame(result, result.feature_names, result.values, False, result.std)


def interactions(result: Interactions, totals: bool) -> Any:
    """Return a line for each row and a column for each subset."""
    names, tables = [], []
    for _, subset, values in result.by_order():
        names += [result.name_of(subset(place)) for place in range(values.shape[1])]
        tables.append(values)
    index = None if result.explained == "prediction" else [result.explained]
    spread, stds = deviations(result), None
    if spread is not None:
        stds = np.concatenate([part for _, _, part in spread.by_order()], axis=1)
    return _row_frame(result, names, np.concatenate(tables, axis=1), totals, stds, index=index)


def attribution(result: Attribution, _totals: bool) -> Any:
    """Return a line for each feature: its contribution and the univariate statistic, tested."""
    low, high = (None, None) if result.null_band is None else result.null_band
    columns = {
        "contribution": result.values,
        "standard_error": result.standard_errors,
        "null_low": low,
        "null_high": high,
        "p_value": result.p_values,
        "p_adjusted": result.p_adjusted,
        "p_bh": result.p_bh,
        "univariate": result.univariate if result.has_univariate else None,
        "p_univariate": result.p_univariate,
        "p_univariate_adjusted": result.p_univariate_adjusted,
    }
    return _feature_frame(result, columns)


def change(result: Change, _totals: bool) -> Any:
    """Return a line for each feature: its mean values, their difference, and its tests."""
    p_mean, p_distribution = (None, None) if result.p_features is None else result.p_features
    columns = {
        "before": result.means_before,
        "after": result.means_after,
        "contribution": result.differences,
        "distance": result.distances,
        "p_mean": p_mean,
        "p_distribution": p_distribution,
    }
    return _feature_frame(result, columns)


def comparison(result: Comparison, _totals: bool) -> Any:
    """Return a line for each feature: its value, how certain it is, and that of the variance."""
    columns = {
        "value": result.values,
        "std": result.std,
        "variance_value": result.variance_values,
    }
    return _feature_frame(result, columns)


def importance(result: Importance, _totals: bool) -> Any:
    """Return a line for each feature: its importance and how certain that is."""
    columns = {
        "importance": result.values,
        "standard_error": result.standard_errors,
        "centred": result.centred if result.neutral else None,
        "importance_std": result.importances_std,
    }
    if has_intervals(result.draws):
        low, high = result.interval(LEVEL)
        mean = np.asarray(result.draws).mean(axis=0)
        columns |= {"mean_of_draws": mean, "low": low, "high": high}
    return _feature_frame(result, columns)


def sensitivity(result: Sensitivity, _totals: bool) -> Any:
    """Return a line for each input: its indices, and with draws their means and intervals."""
    columns: dict[str, Floats | None] = {}
    for kind in ("first_order", "shapley", "total_order"):
        columns[kind] = getattr(result, kind)
        if result.draws:
            columns[f"{kind}_mean"] = result.draws[kind].mean(axis=0)
        if has_intervals(result.shapley_draws):
            columns[f"{kind}_low"], columns[f"{kind}_high"] = result.interval(kind, LEVEL)
    return _feature_frame(result, columns)


def sparse_explanation(result: SparseExplanation, _totals: bool) -> Any:
    """Return a line for each value that is stored, and one for the rest of each row."""
    pandas, one = import_optional("pandas", "pandas"), result.select_output(None, "to_frame")
    labels = range(len(one)) if one.row_index is None else one.row_index
    lines = []
    for row, label in enumerate(labels):
        cells = dict(zip(*stored_entries(one.data, row), strict=True))
        features, phi = stored_entries(one.values, row)
        for i in np.argsort(-np.abs(phi), kind="stable"):
            columns = one.feature_groups[features[i]]
            cell = cells.get(columns[0], 0.0) if len(columns) == 1 else np.nan
            lines.append((label, one.feature_names[features[i]], cell, phi[i]))
        lines.append((label, REST, np.nan, one.rest[row]))
    return pandas.DataFrame(lines, columns=["row", "feature", "data", "value"])


def leave_one_out(result: LeaveOneOut, _totals: bool) -> Any:
    """Return a line for each training row, the largest residual first."""
    columns = {
        "target": result.targets,
        "prediction": result.predictions,
        "residual": result.residuals,
        "std": result.std,
        "log_density": result.log_density,
    }
    known = {name: column for name, column in columns.items() if column is not None}
    table = np.stack(list(known.values()), axis=1)
    table = table if table.ndim == 3 else table[:, :, None]
    frame = _frame(list(known), table, result.row_index, result.output_names, "index")
    return frame.iloc[result.ranking]


def _row_frame(
    result: Any,
    names: Sequence[str],
    values: Floats,
    totals: bool,
    stds: Floats | None = None,
    index: Any = None,
) -> Any:
    """Return a line for each row and a column for each name.

    Base values and predictions follow, if `totals` are wanted, and standard deviations.
    """
    several = values.shape[2:]
    shape = (len(result), len(names), *(several or (1,)))
    added, blocks = [], [values.reshape(shape)]
    if totals:
        added += ["base_value", "prediction"]
        both = (result.base_values, result.predictions)
        blocks += [part.reshape(shape[0], 1, shape[2]) for part in both]
    if stds is not None:
        added += [f"{name} std" for name in names]
        blocks.append(stds.reshape(shape))
    clash = set(names).intersection(added)
    if clash:
        advice = "use to_frame(totals=False)"
        if any(name.endswith(" std") for name in clash):
            advice = "rename it with with_names(feature_names, column_names)"
        raise ValueError(
            f"a feature is named {sorted(clash)[0]!r}, like a column that to_frame adds; {advice}."
        )
    index = result.row_index if index is None else index
    table = np.concatenate(blocks, axis=1)
    return _frame([*names, *added], table, index, result.output_names, "feature")


def _feature_frame(result: Any, columns: Mapping[str, Floats | None]) -> Any:
    """Return a line for each feature, the largest first, and a column for each array there is."""
    pandas, order = import_optional("pandas", "pandas"), result.ranking
    tables = {
        name: column.reshape(len(order), -1)[order]
        for name, column in columns.items()
        if column is not None
    }
    index = pandas.Index([result.feature_names[i] for i in order], name="feature")
    table = np.stack(list(tables.values()), axis=1)
    return _frame(list(tables), table, index, result.output_names, "index")


def _frame(names: list[str], table: Floats, index: Any, outputs: Sequence[str], level: str) -> Any:
    """Return a frame of a table of shape (n_lines, n_names, n_outputs)."""
    pandas = import_optional("pandas", "pandas")
    columns: Any = names
    if table.shape[2] > 1:
        columns = pandas.MultiIndex.from_product([outputs, names], names=["output", level])
    blocks = list(np.moveaxis(table, 2, 0))
    return pandas.DataFrame(np.hstack(blocks), columns=columns, index=index)
