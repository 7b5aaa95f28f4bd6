"""
How are values shared within groups of features?
================================================

Owen and Winter values keep the features of a group together, and conditional values ask what a
feature tells about the others. The same model is explained in three ways.
"""

from typing import Any

from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
groups = {
    "blood": {"lipids": ["s1", "s2", "s3", "s4", "s5"], "sugar": ["s6"]},
    "body": ["bmi", "bp"],
    "person": ["age", "sex"],
}

# %%
# Values of single features, of groups, and of groups inside groups add up to the same prediction:
explanation = pkex.Explainer(model, X[:50], hierarchy=groups)(X[:100])
levels = {
    "level 1": explanation.group_values(),
    "level 2": explanation.group_values(level=2),
    "features": explanation,
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for ax, (title, each) in zip(axes, levels.items(), strict=True):
    each.plot.bar(ax)
    ax.set_title(title)

# %%
# One row: what each group adds to the base value.
explanation.group_values(level=2)[0].plot.waterfall()

# %%
# Without a hierarchy, with one, and given the other features. Blocks of dependent features are
# found in the background.
ways: dict[str, dict[str, Any]] = {
    "interventional": {},
    "Winter": {"hierarchy": groups},
    "conditional": {"removal": "conditional"},
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for ax, (title, options) in zip(axes, ways.items(), strict=True):
    background = X if title == "conditional" else X[:50]
    pkex.Explainer(model, background, **options)(X[:100]).plot.bar(ax)
    ax.set_title(title)

# %%
# A hierarchy hardly changes the values of single features here. Conditional values of s4 and s6 are
# nearly twice as large, as these features tell something about others that the model uses.
