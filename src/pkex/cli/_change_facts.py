"""The summary of ``pkex change``: its inputs and its result."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pkex.cli._input_facts import Columns, Count, ModelFacts, NotNegative, TableFacts

__all__ = ["ChangeInputs", "ChangeOutputFacts", "ChangeResult"]


class ChangeInputs(TypedDict):
    """The inputs of `pkex change`."""

    model: ModelFacts
    before: TableFacts
    after: TableFacts
    background: Annotated[TableFacts | None, "null where rows of both tables serve as background."]


class ChangeOutputFacts(TypedDict):
    """The mean of an output of the model, or of the squared error, in both tables."""

    name: Annotated[str | None, "null for the only output of a model that does not name it."]
    before: float
    after: float
    difference: float
    base_difference: Annotated[float, "The part that no feature explains; 0 for predictions."]
    p_mean: Annotated[float, "Adjusted p-value of the difference."]
    p_distribution: Annotated[float, "Adjusted p-value of a change of the distribution."]
    significant: Annotated[list[str], "Features whose contribution changed; columns may not have."]


class ChangedFeatureFacts(TypedDict):
    """The values of a feature in both tables, one number per output."""

    name: str
    columns: Columns
    before: Annotated[list[float], "Mean Shapley value before."]
    after: Annotated[list[float], "Mean Shapley value after."]
    contribution: Annotated[list[float], "Their difference."]
    distance: Annotated[list[NotNegative], "Energy distance of the values before and after."]
    p_mean: Annotated[list[float], "Adjusted p-value of the contribution."]
    p_distribution: Annotated[list[float], "Adjusted p-value of the energy distance."]


class ChangeResult(TypedDict):
    """The result of `pkex change`."""

    change: Annotated[bool, "Whether a change is detected: p_value <= alpha."]
    p_value: Annotated[float, "p-value of the overall test: the smallest adjusted p-value."]
    alpha: Annotated[float, "Significance level."]
    n_permutations: Count
    seed: int
    target: Annotated[str | None, "Target column; null if only predictions are compared."]
    removal: Literal["product-of-marginals", "interventional", "neutral"]
    background_info: Annotated[str, "The background, in words."]
    outputs: Annotated[
        list[ChangeOutputFacts],
        ("minItems", 1),
        "Outputs of the model; with a target the squared error is the last one.",
    ]
    features: Annotated[
        list[ChangedFeatureFacts],
        ("minItems", 1),
        "Features or feature groups, smallest p-value first.",
    ]
    notes: Annotated[list[str], "Notes on the interpretation of the result."]
    additivity_error: Annotated[float, "Largest gap between values and predictions: rounding."]
    error_bound: Annotated[NotNegative, "Proven error bound of every mean."]
