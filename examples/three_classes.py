"""An SVC with three classes: one decision function for each pair of classes.

    python examples/three_classes.py [FOLDER]

scikit-learn's wine data. The scores of ``decision_function_shape="ovr"`` count votes, which no
values can add up to; the three functions "a vs b" are sums of kernels, and a positive value speaks
for a. Writes ``three_classes.png``: one wine, the same row in all three.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import pkex

mpl.use("Agg")

from matplotlib import pyplot as plt


def main() -> None:
    """Fit, explain, print and draw."""
    wine = load_wine(as_frame=True)
    labels = wine.target.map(dict(enumerate(["barolo", "grignolino", "barbera"])))
    model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    model.fit(wine.data, labels)

    row = wine.data[80:81]
    explanation = pkex.Explainer(model, wine.data[::3])(row)
    print(f"predicted: {model.predict(row)[0]}")
    print(explanation)
    gap = abs(explanation.predictions - model.decision_function(row)).max()
    print(f"largest difference to the model's own decision functions: {gap:.1e}")

    names = explanation.outputs
    fig, axes = plt.subplots(1, len(names), figsize=(12, 4.2), sharey=True, layout="constrained")
    for ax, name in zip(axes, names, strict=True):
        values = explanation[..., name].values[0]
        colours = ["#d1495b" if value > 0.0 else "#2e6f95" for value in values]
        ax.barh(explanation.feature_names, values, color=colours)
        ax.axvline(0.0, color="0.5", lw=1)
        ax.set_title(name, size=10)
    fig.supxlabel("value; positive speaks for the class named first", size=10)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "three_classes.png"
    fig.savefig(path, dpi=110)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
