"""Why a OneClassSVM calls a row an outlier.

    python examples/outlier.py [FOLDER]

scikit-learn's breast cancer data: the model learns what benign cells look like and scores malignant
ones. Negative decisions are outliers; the Shapley values show which measurements make them so.
Benign cells serve as background, as the support vectors lie at the edge of what is usual. Columns
that measure the same thing are explained as one feature. Writes ``outlier.png``, a waterfall plot.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import pkex

mpl.use("Agg")


def main() -> None:
    """Fit, explain, print and draw."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    benign = X[y == 1]
    model = make_pipeline(StandardScaler(), OneClassSVM(nu=0.05)).fit(benign)
    worst = X[y == 0].iloc[[model.decision_function(X[y == 0]).argmin()]]

    size = [name for name in X if "radius" in name or "perimeter" in name or "area" in name]
    explanation = pkex.Explainer(model, benign[:100], groups={"size of the nucleus": size})(worst)
    print(explanation)
    gap = abs(explanation.predictions - model.decision_function(worst)).max()
    print(f"The largest difference from the decision function of the model is {gap:.1e}.")

    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "outlier.png"
    explanation.plot.waterfall(0, max_display=9).figure_.savefig(path, dpi=110)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
