"""summary.json: the one definition of what it holds.

The commands build these dictionaries, and the type checker compares what they put in. The schema
for readers of the file, docs/summary.schema.json, is derived from them by
scripts/make_summary_schema.py: a text beside a type is its description there, and a pair such as
("minimum", 0) is another keyword of JSON Schema.

Within a version of the format fields may be added, but not removed or changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from pkex.games.rules import Rule
from pkex.tables.files import FileTable
from pkex.tables.kinds import Kind

__all__ = [
    "FORMAT",
    "VERSION",
    "ClassFacts",
    "DependInputs",
    "DependResult",
    "DependSummary",
    "DriftInputs",
    "DriftResult",
    "DriftSummary",
    "ExplainInputs",
    "ExplainResult",
    "ExplainSummary",
    "FeatureFacts",
    "IndexFacts",
    "InteractionFacts",
    "ModelFacts",
    "OutputFacts",
    "PairFacts",
    "RuleFacts",
    "SensitivityInputs",
    "SensitivityResult",
    "SensitivitySummary",
    "ShareFacts",
    "StatisticFacts",
    "Summary",
    "TableFacts",
    "VarianceFacts",
    "document",
    "rule_facts",
    "table_facts",
]

FORMAT: Final = "pkex.summary"
VERSION: Final = 3

Count = Annotated[int, ("minimum", 0)]
NotNegative = Annotated[float, ("minimum", 0)]
Columns = Annotated[list[str], ("minItems", 1)]


class TableFacts(TypedDict):
    """A table that was read."""

    path: str
    rows: Annotated[int, ("minimum", 1), "Rows that were used."]
    rows_in_file: Annotated[int, ("minimum", 1), "Rows that the file has."]
    rows_dropped: Annotated[Count, "Rows left out because of missing values, with --drop-missing."]
    columns: Annotated[dict[str, Kind], "The columns that were used, with their kinds, in order."]
    ignored: Annotated[list[str], "Columns of the file that were not used."]


class RuleFacts(TypedDict):
    """The quadrature rule of a result."""

    family: str
    nodes: Annotated[int, ("minimum", 1)]
    error_bound: Annotated[
        float, "Proven bound of the rule's relative error, as in Explanation.rule."
    ]


ModelFacts = TypedDict("ModelFacts", {"path": str, "class": str})


class ExplainInputs(TypedDict):
    """What `pkex explain` read."""

    model: ModelFacts
    data: TableFacts
    background: TableFacts | None


class OutputFacts(TypedDict):
    """An output of the model."""

    name: Annotated[str | None, "null for the only output of a model that gives it no name."]
    base_value: float
    positive: Annotated[
        str | None, "The class that positive values speak for; null without classes."
    ]
    negative: Annotated[
        str | None, "The class that negative values speak for, where that is one class."
    ]


class ClassFacts(TypedDict):
    """What a classifier predicts."""

    number: Annotated[str, "What the values add up to, e.g. decision function."]
    predicted: Annotated[dict[str, Count], "How many rows the model predicts to be of each class."]
    elsewhere: Annotated[Count, "Rows whose largest output is another class than the predicted."]


class FeatureFacts(TypedDict):
    """A feature of a model, with one number for each output."""

    name: str
    columns: Columns
    importance: Annotated[
        list[NotNegative], "Mean absolute value over the rows, one for each output."
    ]
    standard_error: Annotated[list[float | None], "Of the importance; null when there is one row."]
    centred: Annotated[
        list[NotNegative], "Mean |value - its mean over the rows|, one for each output."
    ]


class PairFacts(TypedDict):
    """Two features that act together, with one number for each output."""

    first: str
    second: str
    size: Annotated[list[NotNegative], "Mean absolute value over the rows, one for each output."]
    mean: Annotated[list[float], "Mean value; of a statistic, its value."]


class InteractionFacts(TypedDict):
    """What features do together; there with --interactions."""

    index: Annotated[str, "The interaction index, k-SII."]
    pairs: Annotated[list[PairFacts], "All pairs, the largest first."]


class ExplainResult(TypedDict):
    """What `pkex explain` found."""

    removal: Literal["marginal", "interventional", "neutral"]
    absent: Annotated[str, "What an absent feature is, e.g. the rows that it was averaged over."]
    caution: Annotated[
        str | None, "What to beware of when reading the values; null unless they are neutral."
    ]
    outputs: Annotated[list[OutputFacts], ("minItems", 1)]
    classes: Annotated[ClassFacts | None, "null for a model that is no classifier."]
    features: Annotated[
        list[FeatureFacts], ("minItems", 1), "Columns or groups of columns, most important first."
    ]
    rule: RuleFacts
    residual: Annotated[
        float, "Largest |base value + values - prediction|, checked to be rounding."
    ]
    error: Annotated[
        NotNegative, "Proven bound of the error of every value and prediction, in their units."
    ]
    interactions: NotRequired[InteractionFacts]


class ShareFacts(TypedDict):
    """A feature of a statistic."""

    name: str
    columns: Columns
    value: Annotated[float, "Share in the total."]
    standard_error: NotRequired[Annotated[float, "Over the blocks; there with --block-size."]]
    null_low: NotRequired[Annotated[float, "2.5 % of the permutations are below."]]
    null_high: NotRequired[Annotated[float, "2.5 % of the permutations are above."]]
    p_value: NotRequired[
        Annotated[
            float,
            "Of this value, the larger of that by labels and that by the column permuted alone; "
            "there with permutations.",
        ]
    ]
    p_holm: NotRequired[Annotated[float, "Adjusted after Holm."]]
    alone: Annotated[float, "The statistic of the feature by itself."]
    p_alone: NotRequired[Annotated[float, "Of that; there with permutations."]]
    p_alone_holm: NotRequired[Annotated[float, "Adjusted after Holm."]]


class StatisticFacts(TypedDict):
    """What `pkex drift` and `pkex depend` both found."""

    kernel: Literal["median-per-column", "median"]
    removal: Literal["marginal", "neutral"]
    block_size: int | None
    sample: Annotated[
        int | None,
        "Rows that were taken of a table at most, drawn evenly with the seed; null for all rows.",
    ]
    seed: int
    estimator: Literal["unbiased", "biased"]
    absent: Annotated[str, "What an absent column is, in words."]
    total: Annotated[float, "The statistic; the values sum to it."]
    test_rows: Annotated[
        int | None, "Rows on which columns were permuted alone; null where they were not."
    ]
    alpha: Annotated[float, "The significance level of the verdict."]
    significant: Annotated[
        list[str],
        "Features that are significant by their contribution or by themselves, largest value "
        "first; none where the verdict is negative.",
    ]
    remarks: Annotated[list[str], "What to know before reading the shares."]
    features: Annotated[
        list[ShareFacts], ("minItems", 1), "Columns or groups of columns, largest value first."
    ]
    rule: RuleFacts
    residual: float
    error: Annotated[
        NotNegative, "Proven bound of the error of every value and of the total, in their units."
    ]
    interactions: NotRequired[InteractionFacts]


class DriftInputs(TypedDict):
    """What `pkex drift` read."""

    reference: TableFacts
    current: TableFacts


class DriftResult(StatisticFacts):
    """What `pkex drift` found."""

    drift: Annotated[bool, "The verdict: whether p_value <= alpha."]
    permutations: Annotated[int, ("minimum", 1)]
    statistic: Literal["MMD^2"]
    p_value: Annotated[
        float, "Of the verdict: did anything change, all features together or one alone?"
    ]
    p_statistic: Annotated[float, "Of the statistic of all features together."]


class DependInputs(TypedDict):
    """What `pkex depend` read."""

    data: TableFacts


class DependResult(StatisticFacts):
    """What `pkex depend` found."""

    target: str
    selected: Annotated[list[str], "The features of --top, largest value first; all without it."]
    permutations: Count
    statistic: Literal["HSIC"]
    p_value: Annotated[
        float | None,
        "Of the verdict: does the target depend on anything, all features together or one alone? "
        "null without permutations.",
    ]
    p_statistic: Annotated[
        float | None, "Of the statistic of all features together; null without permutations."
    ]


class VarianceFacts(TypedDict):
    """The variance of an output of the model."""

    name: Annotated[str | None, "null for the only output of a model that gives it no name."]
    variance: Annotated[NotNegative, "With the columns independent of each other."]
    mean: float


class IndexFacts(TypedDict):
    """An input of a model, with one number for each output: shares of the variance."""

    name: str
    columns: Columns
    first_order: Annotated[list[float | None], "What it explains alone; null without a variance."]
    shapley: Annotated[list[float | None], "Shapley effect; they sum to 1."]
    total_order: Annotated[list[float | None], "What would be lost without it."]


class SensitivityInputs(TypedDict):
    """What `pkex sensitivity` read."""

    model: ModelFacts
    data: TableFacts


class SensitivityResult(TypedDict):
    """What `pkex sensitivity` found."""

    inputs: Annotated[str, "What the inputs range over, in words; they are independent."]
    outputs: Annotated[list[VarianceFacts], ("minItems", 1)]
    features: Annotated[
        list[IndexFacts], ("minItems", 1), "Columns or groups of columns, largest effect first."
    ]
    remarks: Annotated[list[str], "What to know before reading the indices."]
    error: Annotated[NotNegative, "Numerical error of an index at most; not that of the model."]


class _Summary(TypedDict):
    """What every summary has."""

    format: Literal["pkex.summary"]
    version: Literal[3]
    pkex: Annotated[str, "Version of pkex that wrote it."]
    notes: Annotated[
        list[str], "What was said on the way: columns and their kinds, dropped rows, warnings."
    ]


class ExplainSummary(_Summary):
    """The summary of `pkex explain`."""

    command: Literal["explain"]
    inputs: ExplainInputs
    result: ExplainResult


class DriftSummary(_Summary):
    """The summary of `pkex drift`."""

    command: Literal["drift"]
    inputs: DriftInputs
    result: DriftResult


class DependSummary(_Summary):
    """The summary of `pkex depend`."""

    command: Literal["depend"]
    inputs: DependInputs
    result: DependResult


class SensitivitySummary(_Summary):
    """The summary of `pkex sensitivity`."""

    command: Literal["sensitivity"]
    inputs: SensitivityInputs
    result: SensitivityResult


Summary = ExplainSummary | DriftSummary | DependSummary | SensitivitySummary


def table_facts(table: FileTable) -> TableFacts:
    """Return what the summary says of a table."""
    return TableFacts(
        path=str(table.path),
        rows=len(table.frame),
        rows_in_file=table.total,
        rows_dropped=table.dropped,
        columns={name: table.kinds[name] for name in table.names},
        ignored=list(table.ignored),
    )


def rule_facts(rule: Rule) -> RuleFacts:
    """Return what the summary says about the quadrature rule of a result."""
    return RuleFacts(family=rule.family, nodes=rule.size, error_bound=rule.relative_error)


def document(summary: Summary) -> str:
    """Return the summary as JSON, in which NaN and infinity are null."""
    return json.dumps(_finite(summary), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
