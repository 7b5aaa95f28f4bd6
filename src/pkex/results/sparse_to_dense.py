"""From the explanation of sparse rows to that of the columns they store, and to an importance.

Nothing is computed anew: the values of players that are left out go to one more feature.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.types import Floats
from pkex.output.view.rows import REST
from pkex.results.explanation import Explanation
from pkex.results.importance import Importance

if TYPE_CHECKING:
    from pkex.results.sparse import SparseExplanation

__all__ = ["importance_of", "to_dense"]


def importance_of(explanation: SparseExplanation) -> Importance:
    """See `SparseExplanation.importance`."""
    if not len(explanation):
        raise ValueError("the explanation has no rows, so there is no mean over them.")
    values, rest = explanation.with_output_axis
    found = [_means(one, rest[:, k]) for k, one in enumerate(values)]
    means, errors, centred = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    if not isinstance(explanation.values, tuple):
        means, errors, centred = means[:, 0], errors[:, 0], centred[:, 0]
    kept = np.unique(values[0].indices)
    rows = np.append(kept, len(explanation.feature_names))
    about, _ = explanation.about.select_features(kept.tolist())
    about = replace(about, feature_names=(*about.feature_names, REST), players=(*about.players, ()))
    return Importance(about, means[rows], errors[rows], centred[rows], len(explanation))


def _means(values: Any, rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean absolute values, their standard errors, and the same about the means."""
    n_rows, n_players = values.shape

    def by_player(entries: Floats, of_rest: Any) -> Floats:
        sums = np.bincount(values.indices, entries, n_players)
        return np.append(sums, np.sum(of_rest))

    sizes = np.abs(values.data)
    means = by_player(sizes, np.abs(rest)) / n_rows
    errors = np.full(len(means), np.nan)
    if n_rows > 1:  # of what is stored about the mean, and of zeros
        stored = by_player(np.ones_like(sizes), n_rows)
        gaps = (sizes - means[values.indices]) ** 2
        squares = by_player(gaps, (np.abs(rest) - means[-1]) ** 2) + (n_rows - stored) * means**2
        errors = np.sqrt(squares / (n_rows - 1) / n_rows)
    middle = by_player(values.data, rest) / n_rows
    stored = by_player(np.ones_like(sizes), n_rows)
    centred = by_player(np.abs(values.data - middle[values.indices]), np.abs(rest - middle[-1]))
    centred = (centred + (n_rows - stored) * np.abs(middle)) / n_rows
    return means, errors, centred


def to_dense(explanation: SparseExplanation, max_columns: int | None) -> Explanation:
    """See `SparseExplanation.dense`."""
    values, rest = explanation.with_output_axis
    kept = np.unique(np.concatenate([one.indices for one in values]))
    if max_columns is not None and len(kept) > max_columns:
        sums = [np.bincount(v.indices, np.abs(v.data), v.shape[1]) for v in values]
        sizes = np.sum(sums, axis=0)
        kept = np.sort(kept[np.argsort(-sizes[kept], kind="stable")[:max_columns]])
    dense = np.stack([one[:, kept].toarray() for one in values], axis=2)
    others = np.stack([np.asarray(one.sum(axis=1)).ravel() for one in values], axis=1)
    rest = rest + (others - dense.sum(axis=1))
    full = np.concatenate([dense, rest[:, None]], axis=1)
    several = isinstance(explanation.values, tuple)
    about, columns = explanation.about.select_features(kept.tolist())
    cells = explanation.data[:, columns].toarray() if columns else np.empty((len(rest), 0))
    about = replace(
        about,
        feature_names=(*about.feature_names, REST),
        column_names=(*about.column_names, REST),
        players=(*about.players, (len(columns),)),
        complete=explanation.about.complete,
    )
    return Explanation(
        about,
        values=full if several else full[:, :, 0],
        base_values=explanation.base_values,
        data=np.column_stack([cells, np.full(len(rest), np.nan)]),
        rules=explanation.rules,
        residual=explanation.residual,
        predictions=explanation.predictions,
        error=explanation.error,
        predicted=explanation.predicted,
    )
