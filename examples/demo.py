"""Explain a support vector regression on scikit-learn's diabetes data, exactly.

Run with ``make demo`` or ``python examples/demo.py [picture.png]``: prints the attributions of a
few patients, checks that they add up to the model's own predictions, and writes a picture.
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
from sklearn.svm import SVR

import pkex

mpl.use("Agg")

from matplotlib import pyplot as plt

UP, DOWN = "#d1495b", "#2e6f95"


def fit() -> tuple[SVR, pd.DataFrame, pd.DataFrame]:
    """Return the fitted model, the patients to compare with and those to explain."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = SVR(C=50.0).fit(X_train, y_train)
    score = model.score(X_test, y_test)
    print(f"SVR on diabetes: {len(X_train)} patients, {X.shape[1]} features, test R2 {score:.2f}")
    predicted = model.predict(X_test)
    patients = X_test.iloc[np.argsort(predicted)[[0, len(X_test) // 2, -1]]]
    return model, X_train[:100], patients


def table(explanation: pkex.Explanation, own: np.ndarray) -> str:
    """Return the attributions as text, with the sum check in the last rows."""
    titles = ["lowest", "middle", "highest"]
    lines = ["", f"{'disease progression':<24}" + "".join(f"{title:>12}" for title in titles)]
    lines.append(f"{'base value':<24}" + "".join(f"{v:>12.2f}" for v in explanation.base_values))
    for name, values in zip(explanation.feature_names, explanation.values.T, strict=True):
        lines.append(f"  {name:<22}" + "".join(f"{v:>+12.2f}" for v in values))
    total = explanation.predictions
    lines.append(f"{'base + sum of values':<24}" + "".join(f"{v:>12.2f}" for v in total))
    lines.append(f"{'model.predict':<24}" + "".join(f"{v:>12.2f}" for v in own))
    gap = np.abs(total - own)
    lines.append(f"{'difference':<24}" + "".join(f"{v:>12.1e}" for v in gap))
    return "\n".join(lines)


def picture(explanation: pkex.Explanation, path: Path) -> None:
    """Draw, for each patient, the way from the base value to the prediction."""
    fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
    order = np.argsort(np.abs(explanation.values).mean(axis=0))
    names = [explanation.feature_names[j] for j in order]
    for ax, values, base, title in zip(
        axes,
        explanation.values[:, order],
        explanation.base_values,
        ("lowest prediction", "middle prediction", "highest prediction"),
        strict=True,
    ):
        start = base + np.concatenate([[0.0], np.cumsum(values)[:-1]])
        ax.barh(names, values, left=start, color=np.where(values > 0.0, UP, DOWN))
        ax.axvline(base, color="0.6", lw=1, ls="--", zorder=0)
        ax.axvline(base + values.sum(), color="0.2", lw=1, zorder=0)
        for j, value in enumerate(values):
            ends = (start[j], start[j] + value)
            ax.annotate(
                f"{value:+.1f}",
                (max(ends), j),
                xytext=(3, 0),
                textcoords="offset points",
                size=8,
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )
        ax.set_title(f"{title}: {base + values.sum():.0f}", size=10)
        ax.use_sticky_edges = False
        ax.margins(x=0.14)
        ax.spines[["top", "right"]].set_visible(False)
    fig.supxlabel("from the base value (dashed) to the prediction (solid)", size=10)
    fig.savefig(path, dpi=130)


def main() -> None:
    """Fit, explain, print and draw."""
    model, background, patients = fit()
    start = time.perf_counter()
    explanation = pkex.Explainer(model, background)(patients)
    elapsed = time.perf_counter() - start
    print(table(explanation, model.predict(patients)))
    said = "\n".join(str(explanation).splitlines()[:2])
    print(f"\n{said}\nexplained in {1e3 * elapsed:.1f} ms")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png")
    picture(explanation, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
