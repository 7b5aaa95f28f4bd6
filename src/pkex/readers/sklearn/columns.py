"""Which input column each output column of a scikit-learn transformer is made from.

Scalers, encoders, imputers of single columns, selectors and their compositions treat columns one by
one; `origins` follows them. A transformer that is not known to do so is taken to combine columns.
"""

from __future__ import annotations

from collections import UserList
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin

from pkex.errors import UnsupportedModelError
from pkex.readers._guard import SKLEARN

__all__ = ["column_places", "origins", "refuse_changed"]

_ONE_TO_ONE = {
    "Binarizer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "OrdinalEncoder",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
}


def origins(transformer: Any, names: Sequence[str]) -> list[int] | None:
    """Return the input column of every output column, or None where columns are combined.

    Parameters
    ----------
    transformer : fitted transformer, or "passthrough"
    names : sequence of str
        Names of its input columns.
    """
    n_columns = len(names)
    cls = type(transformer)
    # somebody else's class of the same name may do anything
    kind = cls.__name__ if cls.__module__.partition(".")[0] == "sklearn" else ""
    if kind:
        refuse_changed(transformer)
    if kind == "FrozenEstimator":
        return origins(transformer.estimator, names)
    if transformer in ("passthrough", None) or kind in _ONE_TO_ONE:
        return list(range(n_columns))
    if kind == "FunctionTransformer":
        one_to_one = transformer.func is None or isinstance(transformer.func, np.ufunc)
        return list(range(n_columns)) if one_to_one else None
    if kind == "OneHotEncoder":
        return _repeat(transformer._n_features_outs)
    if kind == "KBinsDiscretizer":
        ordinal = transformer.encode == "ordinal"
        return list(range(n_columns)) if ordinal else _repeat(transformer.n_bins_)
    if kind == "SplineTransformer":
        return _repeat([transformer.n_features_out_ // n_columns] * n_columns)
    if kind == "TargetEncoder":
        several = transformer.target_type_ == "multiclass"
        return _repeat([len(transformer.classes_) if several else 1] * n_columns)
    if kind == "SimpleImputer":
        return _imputed_columns(transformer)
    if kind == "MissingIndicator":
        return [int(i) for i in transformer.features_]
    if getattr(cls, "transform", None) is SelectorMixin.transform:  # also somebody else's selector
        refuse_changed(transformer)
        return [int(i) for i in transformer.get_support(indices=True)]
    if kind == "Pipeline":
        return _in_sequence([step for _, step in transformer.steps], names)
    if kind == "FeatureUnion":
        return _side_by_side([step for _, step in transformer.transformer_list], names)
    if kind == "ColumnTransformer":
        return _by_columns(transformer, names)
    return None


def refuse_changed(transformer: Any) -> None:
    """Refuse a transformer with functions of its own in place of the methods of its class."""
    cls = type(transformer)
    for name, value in vars(transformer).items():
        if callable(value) and hasattr(cls, name) and not SKLEARN.leaves_free(name):
            raise UnsupportedModelError(
                f"this {cls.__name__} overrides {cls.__name__}.{name}, so pkex cannot infer which "
                f"input columns its output columns come from. Use a plain {cls.__name__}, or a "
                "custom class, whose output columns are then explained."
            )


def _repeat(counts: Sequence[int]) -> list[int]:
    return [column for column, count in enumerate(counts) for _ in range(int(count))]


def _imputed_columns(imputer: Any) -> list[int]:
    empty = [value is None or value != value for value in imputer.statistics_]  # NaN is not itself
    kept = [i for i, none in enumerate(empty) if imputer.keep_empty_features or not none]
    indicated = imputer.indicator_.features_ if imputer.add_indicator else []
    return kept + [int(i) for i in indicated]


def _in_sequence(steps: Sequence[Any], names: Sequence[str]) -> list[int] | None:
    columns: list[int] = list(range(len(names)))
    current = list(names)
    for step in steps:
        local = origins(step, current)
        if local is None:
            return None
        columns = [columns[i] for i in local]
        current = [names[i] for i in columns]
    return columns


def _side_by_side(steps: Sequence[Any], names: Sequence[str]) -> list[int] | None:
    columns: list[int] = []
    for step in steps:
        local = [] if step == "drop" else origins(step, names)
        if local is None:
            return None
        columns += local
    return columns


def _by_columns(transformer: Any, names: Sequence[str]) -> list[int] | None:
    sources: dict[int, int] = {}
    for name, step, given in transformer.transformers_:
        outputs = transformer.output_indices_.get(name, slice(0, 0))
        if step == "drop" or outputs.stop == outputs.start:
            continue
        columns = column_places(transformer, given, names)
        local = origins(step, [names[i] for i in columns])
        if local is None:
            return None
        places = range(outputs.start, outputs.stop)
        sources.update(zip(places, (columns[i] for i in local), strict=True))
    return [sources[i] for i in range(len(sources))]


def column_places(transformer: Any, given: Any, names: Sequence[str]) -> list[int]:
    """Return which columns a part of a ColumnTransformer takes; it may know their names better."""
    known = getattr(transformer, "feature_names_in_", None)
    return _indices(given, names if known is None else [str(name) for name in known])


def _indices(columns: Any, names: Sequence[str]) -> list[int]:
    """Return the columns that a ColumnTransformer was given as indices."""
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        start = names.index(start) if isinstance(start, str) else start
        stop = names.index(stop) + 1 if isinstance(stop, str) else stop  # as pandas counts names
        return list(range(*slice(start, stop, columns.step).indices(len(names))))
    if isinstance(columns, UserList):  # of scikit-learn 1.6 for the remainder: it warns when read
        columns = columns.data
    entries = np.atleast_1d(np.asarray(columns, dtype=object)).tolist()
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        return [i for i, chosen in enumerate(entries) if chosen]
    return [
        names.index(entry) if isinstance(entry, str) else range(len(names))[int(entry)]
        for entry in entries
    ]
