"""What happened to the columns that drifted, in words: of every significant feature of a test.

A feature that changed by itself has a sentence for each of its columns. One that changed only
jointly has the pair of columns whose correlation changed most, if one clearly did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pkex.tables.column_changes import ColumnChange, describe_column
from pkex.tables.dates import DAYS, SINCE
from pkex.tables.pair_changes import PairChange, largest_pair_change

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["Change", "describe_changes", "headline"]

Change = ColumnChange | PairChange

_GROUP = 5  # columns of a group that have a sentence
_NAMED = 3  # features that a headline says something about


def describe_changes(result: Attribution, alpha: float) -> tuple[Change, ...]:
    """Return what changed, the feature with the largest contribution first.

    Nothing for HSIC, for a result without samples, and where no feature is significant.
    """
    names = result.significant(alpha)
    if result.target_kernel is not None or result.samples is None or not names:
        return ()
    changes: dict[frozenset[str], Change] = {}
    for feature in (result.feature_names.index(name) for name in names):
        for change in _of_feature(result, feature, alpha):
            changes.setdefault(frozenset(change.columns), change)
    return tuple(changes.values())


def _of_feature(result: Attribution, feature: int, alpha: float) -> list[Change]:
    """Return what changed in the columns of a feature."""
    columns = result.feature_groups[feature]
    adjusted = result.p_univariate_adjusted
    if adjusted is not None and adjusted[feature] > alpha:
        pairs = [_pair(result, column) for column in columns]
        changes: list[Change] = [pair for pair in pairs if pair is not None]
        if changes:
            return changes[:_GROUP]
    return [_column(result, column) for column in columns[:_GROUP]]


def _column(result: Attribution, column: int) -> ColumnChange:
    assert result.samples is not None
    unit = result.column_units[column] if result.column_units else None
    kind: Literal["numeric", "date", "categorical"] = "date" if unit == SINCE else "numeric"
    if result.categorical[column]:
        kind = "categorical"
    before, after = (sample[:, column] for sample in result.samples)
    shown = DAYS if unit == DAYS else ""  # dates are written as dates
    return describe_column(result.column_names[column], before, after, kind, shown)


def _pair(result: Attribution, column: int) -> PairChange | None:
    assert result.samples is not None
    others = [j for j in range(len(result.column_names)) if j != column]
    names, kinds = result.column_names, result.categorical
    return largest_pair_change(column, others, *result.samples, names, kinds)


def headline(result: Attribution, alpha: float, changes: tuple[Change, ...]) -> str:
    """Return the verdict of a drift test in one line, with what happened to the first features.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> result = pkex.mmd(X, X * [1.0, 3.0], n_permutations=99, random_state=0)
    >>> headline(result, 0.05, describe_changes(result, 0.05))
    'Drift detected: x1 (standard deviation 1.01 to 3.03)'
    """
    if not result.detected(alpha):
        return "No drift detected"
    names, parts = result.significant(alpha), []
    for name in names[:_NAMED]:
        feature = result.feature_names.index(name)
        columns = [result.column_names[j] for j in result.feature_groups[feature]]
        short = [one.headline for one in changes if one.columns[0] in columns and one.headline]
        parts.append(f"{name} ({short[0]})" if short else name)
    if not names:
        return "Drift detected in the features jointly"
    if len(names) > _NAMED:
        parts.append(f"{len(names) - _NAMED} more")
    *first, last = parts
    return f"Drift detected: {', '.join(first)} and {last}" if first else f"Drift detected: {last}"
