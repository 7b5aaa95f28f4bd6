"""The summary of ``pkex sensitivity``: its inputs and its result."""

from __future__ import annotations

from typing import Annotated, TypedDict

from pkex.cli._input_facts import Columns, ModelFacts, NotNegative, TableFacts

__all__ = ["SensitivityInputs", "SensitivityResult", "VarianceFacts"]


class VarianceFacts(TypedDict):
    """The variance of an output of the model."""

    name: Annotated[str | None, "null for the only output of a model that does not name it."]
    variance: Annotated[NotNegative, "Variance of the output with independent features."]
    mean: float


class IndexFacts(TypedDict):
    """The sensitivity indices of a feature: fractions of the variance, one per output."""

    name: str
    columns: Columns
    first_order: Annotated[list[float | None], "First-order Sobol index; null if constant."]
    shapley: Annotated[list[float | None], "Shapley effect; they sum to 1."]
    total_order: Annotated[list[float | None], "Total-order Sobol index."]


class SensitivityInputs(TypedDict):
    """The inputs of `pkex sensitivity`."""

    model: ModelFacts
    data: TableFacts


class SensitivityResult(TypedDict):
    """The result of `pkex sensitivity`."""

    inputs: Annotated[str, "The distribution of the features, in words; they are independent."]
    outputs: Annotated[list[VarianceFacts], ("minItems", 1)]
    features: Annotated[list[IndexFacts], ("minItems", 1), "Largest Shapley effect first."]
    notes: Annotated[list[str], "Notes on the interpretation of the indices."]
    error_bound: Annotated[NotNegative, "Bound of the numerical error of an index."]
