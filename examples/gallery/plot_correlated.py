"""
What do values mean when features are correlated?
=================================================

Two models of the same data, which divide the work between correlated features in different ways.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.svm import SVR

import pkex

rng = np.random.default_rng(0)
income = rng.normal(size=600)
X = pd.DataFrame({"income": income, "spending": income + 0.2 * rng.normal(size=600)})
X["age"], X["noise"] = rng.normal(size=(2, 600))
y = 2.0 * X["income"] + X["age"] + 0.1 * rng.normal(size=600)
models = {"C = 10": SVR(C=10.0, gamma=0.05), "C = 0.1": SVR(C=0.1, gamma=0.01)}

# %%
# Only ``income`` and ``age`` act on the target. The second model is regularised more strongly.
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    explanation = pkex.Explainer(model.fit(X[:400], y[:400]), X[:100])(X[400:])
    explanation.plot.bar(ax)
    ax.set_title(name)

# %%
# The same columns, with income and spending as one feature:
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    explainer = pkex.Explainer(model, X[:100], groups={"money": ["income", "spending"]})
    explainer(X[400:]).plot.bar(ax)
    ax.set_title(name)

# %%
# Above, spending matters little in the first model and as much as income in the second. Below,
# both models agree on the order: values describe the model, and a group does not depend on how the
# model divides the work.
