"""Derivatives of what scikit-learn's transformers make of columns, one by one.

`origins` says which input column an output column is made from; `StepSlopes` has the derivative by
it, for steps that are smooth. A step that is not, such as an encoder, raises an error that names
the step and its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.words import join_names
from pkex.errors import UnsupportedModelError
from pkex.models.preparation import Preparation, Slopes
from pkex.readers.reading import without_name_warning
from pkex.readers.sklearn.columns import column_places, origins

__all__ = ["StepSlopes"]

_FUNCTIONS: dict[Any, Callable[[Floats], Floats]] = {
    np.arcsinh: lambda x: 1.0 / np.hypot(1.0, x),
    np.arctan: lambda x: 1.0 / (1.0 + x * x),
    np.cbrt: lambda x: 1.0 / (3.0 * np.cbrt(x) ** 2),
    np.cos: lambda x: -np.sin(x),
    np.exp: np.exp,
    np.expm1: np.exp,
    np.log: lambda x: 1.0 / x,
    np.log10: lambda x: 1.0 / (np.log(10.0) * x),
    np.log1p: lambda x: 1.0 / (1.0 + x),
    np.log2: lambda x: 1.0 / (np.log(2.0) * x),
    np.sin: np.cos,
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.square: lambda x: 2.0 * x,
    np.tanh: lambda x: 1.0 - np.tanh(x) ** 2,
}


@dataclass(frozen=True)
class StepSlopes:
    """The derivatives of fitted transformers, applied one after the other, and of what follows."""

    transformers: tuple[Any, ...]
    names: tuple[str, ...]
    inside: Preparation | None = None

    def __call__(self, X: Any) -> Slopes:
        """Return the derivatives of all prepared columns at some rows."""
        slopes, names = Slopes(np.ones((X.shape[0], len(self.names)))), list(self.names)
        for step in self.transformers:
            columns = origins(step, names)
            assert columns is not None  # or the step would be one that combines columns
            slopes = slopes.then(_differentiate(step, X, names), columns)
            names = [names[i] for i in columns]
            X = without_name_warning(step.transform)(X)
        if self.inside is None:
            return slopes
        if self.inside.slopes is None:
            raise UnsupportedModelError("the derivative of what the last step does is not known.")
        return slopes.then(self.inside.slopes(X), self.inside.origins)


def _differentiate(step: Any, X: Any, names: Sequence[str]) -> Slopes:
    """Return the derivatives of one transformer."""
    kind, ones = type(step).__name__, np.ones((X.shape[0], 1))
    if step in ("passthrough", None):
        return Slopes(np.ones((X.shape[0], len(names))))
    if kind == "FrozenEstimator":
        return _differentiate(step.estimator, X, names)
    if kind == "StandardScaler":
        scale = np.ones(len(names)) if step.scale_ is None else step.scale_
        return Slopes(ones / scale)
    if kind == "RobustScaler":
        return Slopes(ones / (step.scale_ if step.with_scaling else np.ones(len(names))))
    if kind == "MaxAbsScaler":
        return _clip(step, X, ones / step.scale_, -step.max_abs_, step.max_abs_)
    if kind == "MinMaxScaler":
        return _clip(step, X, ones * step.scale_, step.data_min_, step.data_max_)
    if kind == "PowerTransformer":
        return _power(step, _numbers(X))
    if kind == "FunctionTransformer":
        return _function(step, X, names)
    if kind in ("SimpleImputer", "MissingIndicator"):
        return _imputer_slopes(step, X, names)
    if hasattr(step, "get_support"):
        return Slopes(np.repeat(ones, int(step.get_support().sum()), axis=1))
    if kind == "Pipeline":
        return StepSlopes(tuple(inner for _, inner in step.steps), tuple(names))(X)
    if kind == "FeatureUnion":
        weights, parts = step.transformer_weights or {}, []
        for name, inner in step.transformer_list:
            if inner != "drop":
                parts.append(_differentiate(inner, X, names).scale(weights.get(name, 1.0)))
        return _side_by_side(parts)
    if kind == "ColumnTransformer":
        return _by_columns(step, X, names)
    raise _unknown(kind, names)


def _unknown(kind: str, names: Sequence[str]) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{kind} in front of the model, for {join_names(list(names))}, has no derivative that pkex "
        "knows. Scalers, PowerTransformer, FunctionTransformer with a smooth function of NumPy, "
        "SimpleImputer and selectors have one. Shapley values need none: explainer(X)."
    )


def _clip(step: Any, X: Any, slopes: Floats, lowest: Floats, highest: Floats) -> Slopes:
    """Return the slopes of a scaler, which are 0 outside the range of training where it clips."""
    if not getattr(step, "clip", False):
        return Slopes(slopes)
    x = _numbers(X)
    inside = (x >= lowest) & (x <= highest)
    return Slopes(np.where(inside, slopes, 0.0), (f"{type(step).__name__}(clip=True)",))


def _power(step: Any, x: Floats) -> Slopes:
    powers = step.lambdas_
    with np.errstate(all="ignore"):
        slopes = x ** (powers - 1.0)
        if step.method == "yeo-johnson":
            above, below = (np.abs(x) + 1.0) ** (powers - 1.0), (np.abs(x) + 1.0) ** (1.0 - powers)
            slopes = np.where(x >= 0.0, above, below)
    if step.standardize:
        slopes = slopes / step._scaler.scale_
    return Slopes(slopes, ("PowerTransformer",))


def _function(step: Any, X: Any, names: Sequence[str]) -> Slopes:
    if step.func is None:
        return Slopes(np.ones((X.shape[0], len(names))))
    derivative = _FUNCTIONS.get(step.func)
    if derivative is None or step.kw_args:
        raise _unknown(f"FunctionTransformer({step.func.__name__})", names)
    with np.errstate(all="ignore"):
        slopes = derivative(_numbers(X))
    return Slopes(slopes, (f"FunctionTransformer({step.func.__name__})",))


def _imputer_slopes(step: Any, X: Any, names: Sequence[str]) -> Slopes:
    """Return the derivatives of an imputer: NaN where a value is missing."""
    columns = origins(step, names)
    assert columns is not None
    slopes = np.ones((X.shape[0], len(columns)))
    indicated = 0 if type(step).__name__ == "SimpleImputer" else len(columns)
    if getattr(step, "add_indicator", False):
        indicated = len(step.indicator_.features_)
    slopes[:, len(columns) - indicated :] = 0.0
    slopes[np.asarray(_is_missing(step, X))[:, columns]] = np.nan
    return Slopes(slopes, ("a missing indicator",) if indicated else ())


def _is_missing(step: Any, X: Any) -> Any:
    cells = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    missing = step.missing_values
    return cells != cells if missing is None or missing != missing else cells == missing


def _by_columns(step: Any, X: Any, names: Sequence[str]) -> Slopes:
    """Return the derivatives of a ColumnTransformer, whose parts take some columns each."""
    bent: tuple[str, ...] = ()
    count = sum(place.stop - place.start for place in step.output_indices_.values())
    slopes = np.zeros((X.shape[0], count))
    for name, inner, given in step.transformers_:
        outputs = step.output_indices_.get(name, slice(0, 0))
        if inner == "drop" or outputs.stop == outputs.start:
            continue
        columns = column_places(step, given, names)
        local = _differentiate(inner, _take(X, columns), [names[i] for i in columns])
        slopes[:, outputs] = local.scale((step.transformer_weights or {}).get(name, 1.0)).values
        bent += local.bent
    return Slopes(slopes, bent)


def _side_by_side(parts: Sequence[Slopes]) -> Slopes:
    values = np.concatenate([part.values for part in parts], axis=1)
    return Slopes(values, tuple(name for part in parts for name in part.bent))


def _take(X: Any, columns: Sequence[int]) -> Any:
    return X.iloc[:, list(columns)] if hasattr(X, "iloc") else X[:, list(columns)]


def _numbers(X: Any) -> Floats:
    dense = X.toarray() if hasattr(X, "toarray") else X
    return np.asarray(dense, dtype=np.float64)
