"""What happened to the columns that drifted, in words: of every significant feature of a test.

A feature that changed by itself has a sentence for each of its columns. One that changed only
jointly has the pair of columns whose correlation changed most, if one clearly did. Univariate
statistics hardly see a few extreme numbers, which also change correlations; so a feature of which a
column clearly differs did not change only jointly, whatever its univariate p-value. Where drift is
detected, the columns of other features that clearly differ are described as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

from pkex.tables.column_changes import ColumnChange, describe_column
from pkex.tables.dates import DAYS, SINCE
from pkex.tables.pair_changes import PairChange, largest_pair_change

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["Change", "describe_changes", "differing_columns", "headline"]

Change = ColumnChange | PairChange

# a cache: text, headline, remarks and report of a result ask for the same columns
_DESCRIBED: WeakKeyDictionary[Attribution, dict[int, ColumnChange]] = WeakKeyDictionary()

_GROUP = 5  # columns of a group that have a sentence
_NAMED = 3  # features that a headline says something about
_TAILS = 8  # of a column: location, spread, missing cells, and the range or categories, two each


def describe_changes(result: Attribution, alpha: float) -> tuple[Change, ...]:
    """Return what changed, the feature with the largest contribution first.

    Columns of other features follow if they clearly differ. Nothing for HSIC, for a result without
    samples, and where the verdict is negative.
    """
    if result.target_kernel is not None or result.samples is None or not result.detected(alpha):
        return ()
    significant = [result.feature_names.index(name) for name in result.significant(alpha)]
    changes: dict[frozenset[str], Change] = {}
    for feature in significant:
        for change in _of_feature(result, feature, alpha):
            changes.setdefault(frozenset(change.columns), change)
    others = [i for i in range(len(result.feature_names)) if i not in significant]
    differing = [change for i in others for change in differing_columns(result, i, alpha)]
    for change in sorted(differing, key=lambda change: -change.size)[:_NAMED]:
        changes.setdefault(frozenset(change.columns), change)
    return tuple(changes.values())


def _of_feature(result: Attribution, feature: int, alpha: float) -> list[Change]:
    """Return what changed in the columns of a feature."""
    columns = result.feature_groups[feature]
    adjusted = result.p_univariate_adjusted
    if adjusted is not None and adjusted[feature] > alpha:
        differing = differing_columns(result, feature, alpha)
        if differing:
            return list(differing[:_GROUP])
        pairs = [_pair(result, column) for column in columns]
        related: list[Change] = [pair for pair in pairs if pair is not None]
        if related:
            return related[:_GROUP]
    return [_column(result, column) for column in columns[:_GROUP]]


def differing_columns(result: Attribution, feature: int, alpha: float) -> list[ColumnChange]:
    """Return the changes of the columns of a feature that clearly differ, whatever its p-values.

    So clearly that where nothing changed any of all columns does so with a chance of about `alpha`.
    """
    from scipy.special import ndtri

    if result.target_kernel is not None or result.samples is None:
        return []
    changes = [_column(result, column) for column in result.feature_groups[feature]]
    least = -float(ndtri(alpha / (_TAILS * len(result.column_names))))
    return [change for change in changes if change.size >= least]


def _column(result: Attribution, column: int) -> ColumnChange:
    known = _DESCRIBED.setdefault(result, {})
    if column not in known:
        known[column] = _describe(result, column)
    return known[column]


def _describe(result: Attribution, column: int) -> ColumnChange:
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
        headlines = [one.headline for one in changes if one.columns[0] in columns and one.headline]
        parts.append(f"{name} ({headlines[0]})" if headlines else name)
    if not names and changes:
        largest = changes[0]
        return f"Drift detected, most clearly in {largest.columns[0]} ({largest.headline})"
    if not names:
        return "Drift detected in the features jointly"
    if len(names) > _NAMED:
        parts.append(f"{len(names) - _NAMED} more")
    *first, last = parts
    return f"Drift detected: {', '.join(first)} and {last}" if first else f"Drift detected: {last}"
