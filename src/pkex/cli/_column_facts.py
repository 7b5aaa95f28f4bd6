"""Columns that drifted, as summary.json and the history have them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from pkex.cli._input_facts import Columns, NotNegative

__all__ = ["ColumnChangeFacts", "ColumnFacts", "change_facts"]


class ColumnFacts(TypedDict):
    """A column in one dataset, or the dependence of two; numbers of dates are days since 1970."""

    missing: NotRequired[Annotated[NotNegative, "Share of missing cells."]]
    mean: NotRequired[float | None]
    std: NotRequired[float | None]
    minimum: NotRequired[float | None]
    maximum: NotRequired[float | None]
    quantiles: NotRequired[Annotated[dict[str, float] | None, "0.05, 0.25, 0.5, 0.75 and 0.95."]]
    shares: NotRequired[
        Annotated[dict[str, NotNegative], "Shares of categories, the largest change first."]
    ]
    measure: NotRequired[
        Annotated[str, "For a pair: correlation (Spearman), Cramér's V or correlation ratio."]
    ]
    value: NotRequired[Annotated[float, "For a pair: the measure."]]


class ColumnChangeFacts(TypedDict):
    """What happened to a column, or to the dependence of two columns."""

    columns: Columns
    kind: Literal["numeric", "date", "categorical", "pair"]
    headline: Annotated[str, "The largest difference in a few words; may be empty."]
    sentence: Annotated[str, "The change in words."]
    reference: ColumnFacts
    current: ColumnFacts


def change_facts(change: Any) -> ColumnChangeFacts:
    """Return the entry of a change."""
    return cast(ColumnChangeFacts, change.as_dict())
