"""The tables that the models are fitted to: small parts of scikit-learn's data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import sklearn
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)

Array = Any
NEW_ENCODER = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)  # has no random_state


def _diabetes() -> tuple[pd.DataFrame, Array]:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X.loc[:59, ["age", "bmi", "bp", "s5"]], y.to_numpy()[:60]


def _patients() -> pd.DataFrame:
    """The same patients as a person would have them: years, text, missing values."""
    raw = load_diabetes(scaled=False, as_frame=True).data.iloc[:60]
    return pd.DataFrame(
        {
            "age": raw["age"].astype(int),
            "sex": np.where(raw["sex"] == 1, "F", "M"),
            "bmi": raw["bmi"],
            "pressure": np.select(
                [raw["bp"] < 80, raw["bp"] < 90, raw["bp"] < 115],
                ["low", "normal", "high"],
                "very high",
            ),
            "s5": raw["s5"],
        }
    )


def _with_holes(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the table with every seventh entry of the columns missing, at different places."""
    holed = table.copy()
    for start, column in enumerate(columns):
        holed[column] = holed[column].astype(float)
        holed.loc[start::7, column] = np.nan
    return holed


def _classes(load: Callable[..., Any], columns: Sequence[int], step: int) -> tuple[Array, Array]:
    X, y = load(return_X_y=True)
    return X[::step, columns].copy(), y[::step]


DIABETES, TARGET = _diabetes()
X = DIABETES.to_numpy().copy()
TARGETS = np.column_stack([TARGET, load_diabetes(scaled=False).data[:60, 3]])
PATIENTS = _patients()
GAPS = _with_holes(DIABETES, "bmi", "s5")
IRIS, SPECIES = _classes(load_iris, [0, 1, 2, 3], 3)
NAMED_SPECIES = load_iris().target_names[SPECIES]
CANCER, MALIGNANT = _classes(load_breast_cancer, [1, 4, 6, 9, 21], 8)
CANCER = CANCER / CANCER.std(axis=0)
WINE, CULTIVAR = _classes(load_wine, [0, 1, 6, 9, 10], 3)
WINE_FRAME = pd.DataFrame(WINE, columns=["alcohol", "acid", "flavanoids", "colour", "hue"])
DIGITS, DIGIT = _classes(load_digits, [10, 20, 27, 34, 43, 51], 10)
DIGITS, DIGIT = DIGITS[DIGIT < 4] / 16.0, DIGIT[DIGIT < 4]
SPARSE = scipy.sparse.csr_matrix(np.where(np.abs(X) < 0.02, 0.0, X))
