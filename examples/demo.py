"""Explain a support vector regression on scikit-learn's diabetes data, exactly.

Run with ``make demo`` or ``python examples/demo.py [plot.png]``: prints the Shapley values of a few
patients, checks that they add up to the predictions of the model, and writes a plot.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex
import pkex.plots

mpl.use("Agg")

from matplotlib import pyplot as plt

TITLES = ["lowest", "middle", "highest"]


def fit() -> tuple[Pipeline, pd.DataFrame, pd.DataFrame]:
    """Return the fitted model, the patients to compare with and those to explain."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = make_pipeline(StandardScaler(), SVR(C=20.0)).fit(X_train, y_train)
    score = model.score(X_test, y_test)
    print(f"SVR on diabetes: {len(X_train)} patients, {X.shape[1]} features, test R2 {score:.2f}.")
    predicted = model.predict(X_test)
    patients = X_test.iloc[np.argsort(predicted)[[0, len(X_test) // 2, -1]]]
    return model, X_train[:100], patients


def table(explanation: pkex.Explanation, predictions: np.ndarray) -> str:
    """Return the Shapley values as text, with the sum check in the last rows."""
    lines = ["", f"{'disease progression':<24}" + "".join(f"{title:>12}" for title in TITLES)]
    lines.append(f"{'base value':<24}" + "".join(f"{v:>12.2f}" for v in explanation.base_values))
    for name, values in zip(explanation.feature_names, explanation.values.T, strict=True):
        lines.append(f"  {name:<22}" + "".join(f"{v:>+12.2f}" for v in values))
    total = explanation.predictions
    lines.append(f"{'base + Shapley values':<24}" + "".join(f"{v:>12.2f}" for v in total))
    lines.append(f"{'model.predict':<24}" + "".join(f"{v:>12.2f}" for v in predictions))
    gap = np.abs(total - predictions)
    lines.append(f"{'difference':<24}" + "".join(f"{v:>12.1e}" for v in gap))
    return "\n".join(lines)


def draw(explanation: pkex.Explanation, path: Path) -> None:
    """Draw, for each patient, the way from the base value to the prediction."""
    with pkex.plots.style():
        figure, axes = plt.subplots(1, 3, figsize=(13.5, 3.9))
        for row, (ax, title) in enumerate(zip(axes, TITLES, strict=True)):
            explanation.plot.waterfall(row, ax, max_display=8)
            ax.set_title(f"the {title} prediction, patient {explanation.row_names[row]}")
            ax.set_xlabel("predicted progression of diabetes")
        figure.savefig(path, dpi=110)


def main() -> None:
    """Fit, explain, check and draw."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png")
    model, others, patients = fit()
    explainer = pkex.Explainer(model, others)
    start = time.perf_counter()
    explanation = explainer(patients)
    seconds = time.perf_counter() - start
    print(table(explanation, model.predict(patients)))
    bound = explanation.error_bound.max()
    print(f"\nProven error bound of the Shapley values: {bound:.0e}. Time: {seconds * 1e3:.0f} ms.")
    draw(explanation, path)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
