"""The same row explained with the three meanings of an absent feature.

    python examples/removal.py [FOLDER]

A support vector regression on scikit-learn's diabetes data. Neutral removal needs no data and
starts at the intercept; interventional removal starts at the mean prediction over the background;
marginal removal starts at the mean under independent columns. All three are exact and end at the
same prediction. Writes ``removal.png``, the picture of docs/removal.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

mpl.use("Agg")

from matplotlib import pyplot as plt


def main() -> None:
    """Fit, explain three times, print and draw."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
    row, background = X[:1], X[100:300]
    explainers = {
        "neutral": pkex.Explainer(model, removal="neutral"),
        "marginal": pkex.Explainer(model, background, removal="marginal"),
        "interventional": pkex.Explainer(model, background),
    }
    explanations = {name: explain(row) for name, explain in explainers.items()}
    for explanation in explanations.values():
        print(explanation)
    print(f"mean prediction over the background: {model.predict(background).mean():.1f}")
    gap = max(abs(e.predictions - model.predict(row)).max() for e in explanations.values())
    print(f"largest difference to the model's own prediction: {gap:.1e}")

    names = explanations["neutral"].feature_names
    order = np.argsort(abs(explanations["interventional"].values[0]))
    place = np.arange(len(names))
    fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    colours = ["#8a8a8a", "#e9a03b", "#2e6f95"]
    for k, ((name, explanation), colour) in enumerate(
        zip(explanations.items(), colours, strict=True)
    ):
        label = f"{name}: from {explanation.base_values[0]:.0f}"
        values = explanation.values[0][order]
        ax.barh(place + 0.27 * (k - 1), values, height=0.25, color=colour, label=label)
    ax.set_yticks(place, [names[j] for j in order])
    ax.axvline(0.0, color="0.5", lw=1)
    ax.set_xlabel(f"value; together they lead to {explanations['neutral'].predictions[0]:.0f}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right", title="removal, and where it starts")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "removal.png"
    fig.savefig(path, dpi=110)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
