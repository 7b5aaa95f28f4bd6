"""An SVC with three classes: which features push one wine towards each of them.

    python examples/three_classes.py [FOLDER]

scikit-learn's wine data. The scores of ``decision_function_shape="ovr"`` count votes, which no
values can add up to; the functions "a vs b" of pairs of classes are sums of kernels, and so is the
mean of those of a class. A positive value pushes towards the class. Writes
``three_classes.png``: one wine, the same row for all three classes.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import pkex

mpl.use("Agg")


def main() -> None:
    """Fit, explain, print and draw."""
    wine = load_wine(as_frame=True)
    labels = wine.target.map(dict(enumerate(["barolo", "grignolino", "barbera"])))
    model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    model.fit(wine.data, labels)

    row = wine.data[80:81]
    explanation = pkex.Explainer(model, wine.data[::3])(row)
    print(explanation)
    means = np.zeros(3)
    for value, (a, b) in zip(
        model.decision_function(row)[0], combinations(range(3), 2), strict=True
    ):
        means[[a, b]] += value / 2, -value / 2
    gap = abs(explanation.predictions[0] - means).max()
    print(f"The largest difference from the means of the pair functions of the model is {gap:.1e}.")

    display = explanation.plot.bar(output=list(explanation.output_names))
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "three_classes.png"
    display.figure_.savefig(path, dpi=110)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
