"""summary.json: the definition of its content.

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

from pkex.cli._change_facts import ChangeInputs, ChangeResult
from pkex.cli._column_facts import ColumnChangeFacts
from pkex.cli._input_facts import Columns, Count, ModelFacts, NotNegative, TableFacts
from pkex.cli._sensitivity_facts import SensitivityInputs, SensitivityResult
from pkex.games.rules import Rule

__all__ = [
    "COMMANDS",
    "FORMAT",
    "VERSION",
    "ClassFacts",
    "ContributionFacts",
    "DependenceInputs",
    "DependenceResult",
    "DriftInputs",
    "DriftResult",
    "EffectFacts",
    "EffectsResult",
    "ExplainInputs",
    "ExplainResult",
    "InfluenceFacts",
    "InteractionFacts",
    "OutputFacts",
    "PairFacts",
    "StatisticFacts",
    "Summary",
    "document",
    "feature_facts",
    "rule_facts",
]

FORMAT: Final = "pkex.summary"
VERSION: Final = 4


class RuleFacts(TypedDict):
    """The quadrature rule of a result."""

    family: str
    nodes: Annotated[int, ("minimum", 1)]
    error_bound: Annotated[float, "Proven bound of the relative error, as in Explanation.rule."]


class ExplainInputs(TypedDict):
    """The inputs of `pkex explain`."""

    model: ModelFacts
    data: TableFacts
    background: TableFacts | None


class OutputFacts(TypedDict):
    """An output of the model."""

    name: Annotated[str | None, "null for the only output of a model that does not name it."]
    base_value: float
    positive: Annotated[str | None, "Class that positive values push towards; null without one."]
    negative: Annotated[str | None, "Class that negative values push towards; null if several."]


class ClassFacts(TypedDict):
    """The predictions of a classifier."""

    output_kind: Annotated[str, "The quantity that the values add up to, e.g. decision function."]
    predicted_counts: Annotated[dict[str, Count], "Number of rows by predicted class."]
    disagreements: Annotated[Count, "Rows whose largest output is not that of the predicted class."]


class FeatureFacts(TypedDict):
    """A feature of a model, with one number per output."""

    name: str
    columns: Columns
    importance: Annotated[list[NotNegative], "Mean absolute Shapley value, one per output."]
    standard_error: Annotated[list[float | None], "Standard error of the mean; null for one row."]
    centred: Annotated[list[NotNegative], "Mean absolute deviation from the mean Shapley value."]


class PairFacts(TypedDict):
    """The interaction of two features, with one number per output."""

    first: str
    second: str
    mean_abs: Annotated[list[NotNegative], "Mean absolute interaction value, one per output."]
    mean: Annotated[list[float], "Mean interaction value; for a statistic, the value."]


class InteractionFacts(TypedDict):
    """Interactions of pairs of features; present with --interactions."""

    index: Annotated[str, "The interaction index, k-SII."]
    pairs: Annotated[list[PairFacts], "All pairs, largest first."]


class InfluenceFacts(TypedDict):
    """Training rows behind the predictions; present with --influence."""

    kind: Annotated[
        Literal["leave-one-out", "representer"],
        "leave-one-out: prediction minus prediction without the row; representer: its term.",
    ]
    n_train: Annotated[Count, "Number of training rows that the model keeps."]
    n_shown: Annotated[Count, "Number of training rows per row in influence.csv."]


class ExplainResult(TypedDict):
    """The result of `pkex explain`."""

    removal: Literal["product-of-marginals", "interventional", "conditional", "neutral"]
    conditional_model: NotRequired[
        Annotated[Literal["blocks", "chain"], "Model of dependence; with --removal conditional."]
    ]
    blocks: NotRequired[
        Annotated[list[list[str]], "Blocks of dependent features; with --removal conditional."]
    ]
    index: NotRequired[Annotated[str, "Owen, Winter or asymmetric values; with --hierarchy."]]
    background_info: Annotated[str, "The background, in words."]
    notes: Annotated[list[str], "Notes on the interpretation of the values."]
    outputs: Annotated[list[OutputFacts], ("minItems", 1)]
    classes: Annotated[ClassFacts | None, "null unless the model is a classifier."]
    features: Annotated[list[FeatureFacts], ("minItems", 1), "The most important first."]
    rule: RuleFacts
    additivity_error: Annotated[float, "Largest |base value + values - prediction|: rounding."]
    error_bound: Annotated[NotNegative, "Proven error bound of every value and prediction."]
    interactions: NotRequired[InteractionFacts]
    influence: NotRequired[InfluenceFacts]


class ContributionFacts(TypedDict):
    """The contribution of a feature to a statistic."""

    name: str
    columns: Columns
    contribution: Annotated[float, "Shapley value of the feature; they sum to the statistic."]
    standard_error: NotRequired[Annotated[float, "Standard error; with --block-size."]]
    null_low: NotRequired[Annotated[float, "2.5 % quantile under permutation."]]
    null_high: NotRequired[Annotated[float, "97.5 % quantile under permutation."]]
    p_value: NotRequired[
        Annotated[float, "The larger of two p-values: labels permuted, this feature permuted."]
    ]
    p_adjusted: NotRequired[Annotated[float, "p_value adjusted for the number of features."]]
    univariate: Annotated[float, "The statistic of this feature only."]
    p_univariate: NotRequired[Annotated[float, "p-value of univariate; present with permutations."]]
    p_univariate_adjusted: NotRequired[Annotated[float, "Adjusted for the number of features."]]


class StatisticFacts(TypedDict):
    """The part of a result that `pkex drift` and `pkex dependence` share."""

    kernel: Literal["median-per-column", "median", "custom"]
    removal: Literal["product-of-marginals", "neutral"]
    block_size: int | None
    sample: Annotated[int | None, "Maximum number of sampled rows of a table; null for all rows."]
    seed: int
    estimator: Literal["unbiased", "biased"]
    background_info: Annotated[str, "How features are removed, in words."]
    statistic: Annotated[float, "The statistic of all features; the contributions sum to it."]
    n_permutations: Count
    n_test_rows: Annotated[int | None, "Rows of the tests of single features; null without them."]
    alpha: Annotated[float, "Significance level."]
    significant: Annotated[
        list[str], "Features, largest contribution first; none unless p_value is significant."
    ]
    notes: Annotated[list[str], "Notes on the interpretation of the contributions."]
    features: Annotated[list[ContributionFacts], ("minItems", 1), "Largest contribution first."]
    rule: RuleFacts
    additivity_error: Annotated[float, "|sum of the contributions - statistic|: rounding."]
    error_bound: Annotated[NotNegative, "Proven error bound of contributions and statistic."]
    interactions: NotRequired[InteractionFacts]


class DriftInputs(TypedDict):
    """The inputs of `pkex drift`."""

    reference: TableFacts
    current: TableFacts


class DriftResult(StatisticFacts):
    """The result of `pkex drift`."""

    drift: Annotated[bool, "Whether drift is detected: p_value <= alpha."]
    headline: Annotated[str, "The verdict in one line, with what happened to the first features."]
    statistic_name: Literal["MMD^2"]
    p_value: Annotated[float, "p-value of the overall test: features jointly, and one by one."]
    p_statistic: Annotated[float, "p-value of the statistic of all features jointly."]
    changes: Annotated[
        list[ColumnChangeFacts],
        "Columns of significant features, largest contribution first, and others that differ.",
    ]


class DependenceInputs(TypedDict):
    """The inputs of `pkex dependence`."""

    data: TableFacts


class DependenceResult(StatisticFacts):
    """The result of `pkex dependence`."""

    target: str
    selected: Annotated[list[str], "Features of --top, largest contribution first; all without it."]
    statistic_name: Literal["HSIC"]
    p_value: Annotated[float | None, "p-value of the overall test; null without permutations."]
    p_statistic: Annotated[float | None, "p-value of the statistic; null without permutations."]


class EffectFacts(TypedDict):
    """The ends of a curve or surface, one number per output."""

    features: Annotated[list[str], ("minItems", 1), "A feature, or the two of a pair."]
    lowest: list[float]
    highest: list[float]
    h_squared: Annotated[list[float | None], "Friedman's H squared; null where nothing varies."]


class EffectsResult(TypedDict):
    """The result of `pkex effects`."""

    kind: str
    background_info: Annotated[str, "The background in words."]
    outputs: Annotated[list[str], "Names of the outputs; empty for one without a name."]
    effects: Annotated[list[EffectFacts], ("minItems", 1), "Features and pairs, in order."]


class Summary(TypedDict):
    """The part that every summary has, besides its command, its inputs and its result."""

    format: Literal["pkex.summary"]
    version: Literal[4]
    pkex: Annotated[str, "Version of pkex that wrote the file."]
    notes: Annotated[list[str], "Messages: columns and their kinds, dropped rows, warnings."]


COMMANDS: Final = {  # the inputs and the result of each
    "explain": (ExplainInputs, ExplainResult),
    "drift": (DriftInputs, DriftResult),
    "dependence": (DependenceInputs, DependenceResult),
    "sensitivity": (SensitivityInputs, SensitivityResult),
    "effects": (SensitivityInputs, EffectsResult),
    "change": (ChangeInputs, ChangeResult),
}


def feature_facts(result: Any, **tables: Any) -> list[Any]:
    """Return an entry for each feature of a result, most important first.

    `tables` are fields of the entries, with one number for each feature and output.
    """
    shaped = {name: table.reshape(len(table), -1) for name, table in tables.items()}
    return [
        {
            "name": result.feature_names[i],
            "columns": [result.column_names[j] for j in result.feature_groups[i]],
            **{name: table[i].tolist() for name, table in shaped.items()},
        }
        for i in result.ranking
    ]


def rule_facts(rule: Rule) -> RuleFacts:
    """Return the entry of the quadrature rule of a result."""
    return RuleFacts(family=rule.family, nodes=rule.size, error_bound=rule.relative_error)


def document(summary: Mapping[str, Any]) -> str:
    """Return the summary as JSON, in which NaN and infinity are null."""
    return json.dumps(_finite(summary), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
