"""`Effects` as other things: centred curves, a data frame, scikit-learn's display."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.extras import import_optional

__all__ = ["center", "effect_frame", "to_sklearn"]


def center(result: Any) -> Any:
    """Return curves as differences from their first place; see `Effects.centered`."""
    if any(len(names) > 1 for names in result.features):
        raise ValueError("curves of single features are centred; select them first, by name.")
    changes: dict[str, Any] = {}
    if result.average is not None:
        changes["average"] = tuple(each - each[:1] for each in result.average)
    if result.individual is not None:
        changes["individual"] = tuple(each - each[:, :1] for each in result.individual)
    if result.cov is not None:
        cov = [each - each[:1] - each[:, :1] + each[:1, :1] for each in result.cov]
        variances = [np.einsum("gg...->g...", each) for each in cov]
        changes["cov"] = tuple(cov)
        changes["std"] = tuple(np.sqrt(np.maximum(each, 0.0)) for each in variances)
    return replace(result, h=lambda: result.h, **changes)


def effect_frame(result: Any, _totals: bool) -> Any:
    """Return a line for each place of each average curve."""
    pandas = import_optional("pandas", "pandas")
    if result.average is None:
        raise ValueError("there is no average in individual curves; pass kind='both'.")
    several = np.ndim(result.mean) > 0
    blocks = []
    for k, names in enumerate(result.features):
        axes = result.grid[k] if isinstance(result.grid[k], tuple) else (result.grid[k],)
        places = np.meshgrid(*[np.arange(len(axis)) for axis in axes], indexing="ij")
        cells = [_labels(axis)[at.ravel()] for axis, at in zip(axes, places, strict=True)]
        for m, output in enumerate(result.output_names if several else ("",)):
            columns: dict[str, Any] = {"output": output} if several else {}
            columns["feature"] = names[0]
            if any(len(each) > 1 for each in result.features):
                columns["with"] = names[1] if len(names) > 1 else ""
            columns["value"] = cells[0]
            if any(len(each) > 1 for each in result.features):
                columns["with_value"] = cells[1] if len(cells) > 1 else np.nan
            for name in ("average", "std"):
                arrays = getattr(result, name)
                if arrays is not None:
                    columns[name] = (arrays[k][..., m] if several else arrays[k]).ravel()
            blocks.append(pandas.DataFrame(columns))
    return pandas.concat(blocks, ignore_index=True)


def _labels(axis: NDArray[Any]) -> NDArray[Any]:
    """Return the places of an axis; joint values of a group as tuples."""
    if axis.ndim == 1:
        return axis
    labels = np.empty(len(axis), dtype=object)
    labels[:] = [tuple(row) for row in axis.tolist()]
    return labels


def to_sklearn(result: Any) -> Any:
    """Return scikit-learn's display; see `Effects.to_sklearn`."""
    from sklearn.inspection import PartialDependenceDisplay
    from sklearn.utils import Bunch

    if result.kind == "ale":
        raise ValueError("scikit-learn has no display for accumulated local effects.")
    grids = [each if isinstance(each, tuple) else (each,) for each in result.grid]
    if any(axis.ndim > 1 for axes in grids for axis in axes):
        raise ValueError("scikit-learn has no display for groups of columns; select others.")
    for names, axes in zip(result.features, grids, strict=True):
        words = {axis.dtype == object for axis in axes}
        if result.average is None and (len(axes) > 1 or True in words):
            raise ValueError(
                "scikit-learn displays individual curves of numbers only, and "
                f"{' & '.join(names)!r} is not one; pass kind='both', or select others."
            )
        if len(words) > 1:
            raise ValueError(
                f"scikit-learn has no display for {' & '.join(names)!r}, a pair of numbers and "
                "categories; select others."
            )
    several = np.ndim(result.mean) > 0
    bunches, features, deciles, categories = [], [], {}, []
    for k, names in enumerate(result.features):
        grid = grids[k]
        bunch = Bunch(grid_values=list(grid))
        for name in ("average", "individual"):
            arrays = getattr(result, name)
            if arrays is not None:
                array = arrays[k] if several else arrays[k][..., None]
                bunch[name] = np.moveaxis(array, -1, 0)
        bunches.append(bunch)
        numbers = tuple(result.feature_names.index(name) for name in names)
        features.append(numbers)
        categories.append(tuple(axis.dtype == object for axis in grid))
        data = result.data[k].reshape(len(result.weights), -1)
        for axis, number in enumerate(numbers):
            if grid[axis].dtype != object:
                levels = np.arange(0.1, 1.0, 0.1)
                deciles[number] = np.nanquantile(data[:, axis].astype(float), levels)
    return PartialDependenceDisplay(
        bunches,
        features=features,
        feature_names=list(result.feature_names),
        target_idx=0,
        deciles=deciles,
        kind=["average" if len(axes) == 2 or any(axes) else result.kind for axes in categories],
        is_categorical=categories,
    )
