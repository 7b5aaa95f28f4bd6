"""Backgrounds as shap keeps them: `shap.kmeans`, `shap.maskers.Independent` and `Partition`.

They are recognised by the names of their classes, so that shap is not imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["from_shap", "hierarchy_from_shap"]


def from_shap(background: Any, weights: ArrayLike | None) -> tuple[Any, ArrayLike | None]:
    """Return the rows of a background of shap and their weights; any other as it is.

    Rows that have names get them back, as a data frame.
    """
    kinds = [kind.__name__ for kind in type(background).__mro__ if _of_shap(kind)]
    if not kinds:
        return background, weights
    if "DenseData" in kinds:
        if weights is not None:
            raise ValueError(
                "background already has weights, as from shap.kmeans: leave out "
                "background_weights, or pass background.data with them."
            )
        if any(len(group) != 1 for group in background.groups):
            raise ValueError(
                "background is a DenseData of shap with groups of columns, which is not "
                "supported: pass background.data, and the groups as groups=."
            )
        rows = background.data.T if background.transposed else background.data
        shares = np.asarray(background.weights, dtype=np.float64)
        names = list(background.group_names)
        numbered = names == [str(i) for i in range(len(names))]  # how shap names those without
        used = shares > 0.0  # k-means may leave a centre without rows
        return _with_names(np.asarray(rows)[used], None if numbered else names), shares[used]
    if "Independent" in kinds or "Partition" in kinds:
        labels = getattr(background, "feature_names", None)
        return _with_names(background.data, None if labels is None else list(labels)), weights
    raise TypeError(
        f"background is shap's {kinds[0]}, which is not supported. Pass rows, such as "
        "X_train[:100], shap.kmeans(X_train, 10), shap.maskers.Independent(X_train) or "
        "shap.maskers.Partition(X_train)."
    )


def hierarchy_from_shap(background: Any, hierarchy: Any) -> Any:
    """Return the clustering of a `shap.maskers.Partition`; any other hierarchy as it is."""
    kinds = [kind.__name__ for kind in type(background).__mro__ if _of_shap(kind)]
    if "Partition" not in kinds:
        return hierarchy
    if hierarchy is not None:
        raise ValueError(
            "background is a shap.maskers.Partition, which has a hierarchy: leave out hierarchy, "
            "or pass background.data with it."
        )
    return np.asarray(background.clustering, dtype=np.float64)


def _of_shap(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "shap"


def _with_names(rows: Any, names: list[Any] | None) -> Any:
    """Return rows that were taken out of a data frame as one again."""
    if names is None:
        return rows
    import pandas

    return pandas.DataFrame(rows, columns=names).infer_objects()
