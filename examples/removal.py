"""The same models explained with every way to remove a feature.

    python examples/removal.py [FOLDER]

First one patient of scikit-learn's diabetes data, predicted by a support vector regression. The
values of all removals are exact and end at the same prediction; they differ in the base value. Then
the importance of twenty columns, three of which matter: neutral values include a constant offset
per feature, and some noise columns rank high. Last two models whose support vectors are not typical
rows. Writes ``removal.png``, the plot of docs/guide/removal.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import pkex
from pkex.output import palette
from pkex.plots import style

mpl.use("Agg")

from matplotlib import pyplot as plt

COLOURS = {
    "neutral (PKeX-Shapley)": palette.MISSING.light,
    "product of marginals, support vectors (default)": palette.SERIES[1].light,
    "product of marginals, background": palette.SERIES[5].light,
    "interventional, background": palette.SERIES[0].light,
}


def explainers_of(model: Any, background: Any) -> dict[str, pkex.Explainer]:
    """Return an explainer for each removal."""
    explainers = (
        pkex.Explainer(model, removal="neutral"),
        pkex.Explainer(model),
        pkex.Explainer(model, background, removal="product-of-marginals"),
        pkex.Explainer(model, background),
    )
    return dict(zip(COLOURS, explainers, strict=True))


def one_patient(ax: Any) -> None:
    """Explain one row of a regression with all removals."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
    row, background = X[:1], X[100:300]
    explanations = {
        name: explain(row) for name, explain in explainers_of(model, background).items()
    }
    for explanation in explanations.values():
        print(explanation)
    print(f"Mean prediction over the background: {model.predict(background).mean():.1f}")
    gap = max(abs(e.predictions - model.predict(row)).max() for e in explanations.values())
    print(f"The largest difference from the prediction of the model is {gap:.1e}.\n")
    last = explanations["interventional, background"]
    order = np.argsort(abs(last.values[0]))
    place = np.arange(len(order))
    for k, (name, explanation) in enumerate(explanations.items()):
        values, base = explanation.values[0][order], explanation.base_values[0]
        label = f"{name}; base value {base:.0f}"
        ax.barh(place + 0.2 * (k - 1.5), values, height=0.19, color=COLOURS[name], label=label)
    ax.set_yticks(place, [last.feature_names[j] for j in order])
    ax.axvline(0.0, color="0.5", lw=1)
    ax.set_xlabel(f"Shapley value; the prediction is {last.predictions[0]:.0f}")
    ax.set_title("one patient", size=10)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1), fontsize=8, ncols=2)


def twenty_columns(ax: Any) -> None:
    """Draw the importance of three columns that matter and seventeen that do not."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 20))
    y = 2.0 * X[:, 0] + np.sin(2.0 * X[:, 1]) + X[:, 0] * X[:, 2]
    model = SVR(C=10.0, gamma=1.0 / 20.0).fit(X, y)
    found = {name: explain(X).values for name, explain in explainers_of(model, X[:100]).items()}
    theirs = found["interventional, background"]
    place = np.arange(20)[::-1]
    print("Mean |Shapley value| of f0, f1, f2, and the largest of the seventeen noise columns:")
    for k, (name, values) in enumerate(found.items()):
        size = np.abs(values).mean(axis=0)
        like = np.corrcoef(values.ravel(), theirs.ravel())[0, 1]
        shown = ", ".join(f"{one:.2f}" for one in (*size[:3], size[3:].max()))
        order = ", ".join(f"f{j}" for j in np.argsort(-size)[:5])
        print(f"  {name:<47} {shown}; first: {order}; correlation {like:.2f}")
        ax.plot(size, place, "o", ms=5, color=COLOURS[name], alpha=0.9, label=name, zorder=4 - k)
    ax.set_yticks(place, [f"f{j}" for j in range(20)], size=8)
    ax.axhline(16.5, color="0.7", lw=1, ls=":")
    ax.set_xscale("log")
    ax.set_xlabel("mean |Shapley value|; columns below the dotted line are noise")
    ax.set_title("twenty columns, three of which matter", size=10)


def support_vectors() -> None:
    """Print the base values of models whose support vectors are not typical rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    score = X[:, 0] + 0.3 * rng.normal(size=2000)
    rare = SVC().fit(X, score > np.quantile(score, 0.95))
    for name, model in (("SVC, 5 % positive", rare), ("OneClassSVM", OneClassSVM(nu=0.1).fit(X))):
        default, typical = pkex.Explainer(model), pkex.Explainer(model, X[::10])
        signs = [np.sign(explain(X[:500]).values) for explain in (default, typical)]
        percent = 100.0 * (signs[0] != signs[1])[:, 0].mean()
        print(
            f"{name}: {len(model.support_)} support vectors, base value "
            f"{default.expected_value:.2f} over them and {typical.expected_value:.2f} over "
            f"training rows, mean decision {model.decision_function(X).mean():.2f}; "
            f"the sign of x0 differs in {percent:.0f} % of the rows."
        )


def main() -> None:
    """Fit, explain, print and draw."""
    with style():
        fig, axes = plt.subplots(1, 2, figsize=(12, 5.4), width_ratios=[3, 2])
    one_patient(axes[0])
    twenty_columns(axes[1])
    support_vectors()
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "removal.png"
    fig.savefig(path, dpi=110)
    print(f"The plot is in {path}.")


if __name__ == "__main__":
    main()
