"""A tuned SVC pipeline with one-hot columns, explained in the columns of its table.

    python examples/classifier_pipeline.py [FOLDER]

scikit-learn's diabetes table, unscaled: sex is a category, and the body mass index is given as its
WHO class. The pipeline scales the numbers and encodes the categories; each category column is one
feature, not one for every code. Writes ``classifier_pipeline.png``, drawn with shap.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import pkex

mpl.use("Agg")


def table() -> tuple[pd.DataFrame, pd.Series]:
    """Return the patients, and whether the disease progressed more than the median."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X["sex"] = X["sex"].map({1.0: "one", 2.0: "two"}).astype(object)
    classes = ["under", "normal", "over", "obese"]
    X["bmi"] = pd.cut(X["bmi"], [0.0, 18.5, 25.0, 30.0, 99.0], labels=classes).astype(object)
    return X, y.gt(y.median()).map({False: "slow", True: "fast"})


def main() -> None:
    """Fit, explain, print and draw."""
    X, y = table()
    text = make_column_selector(dtype_include=object)
    numbers = make_column_selector(dtype_exclude=object)
    prepare = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), text))
    search = GridSearchCV(make_pipeline(prepare, SVC()), {"svc__C": [0.3, 1.0, 3.0]}).fit(X, y)

    explanation = pkex.Explainer(search, X[::5])(X)
    print(f"The best C is {search.best_params_['svc__C']}, accuracy {search.best_score_:.2f}.")
    print(explanation[:3])
    gap = abs(explanation.predictions - search.decision_function(X)).max()
    print(f"The largest difference from the decision function of the model is {gap:.1e}.")

    display = explanation.plot()
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "classifier_pipeline.png"
    display.figure_.savefig(path, dpi=110)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
