"""
Why this class, and not another?
================================

A classifier with three classes has an output, and a panel, for each class. A row is explained by
the output of the predicted class.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import pkex

X, y = load_wine(return_X_y=True, as_frame=True)
grape = np.array(["Barolo", "Grignolino", "Barbera"])[y]
model = make_pipeline(StandardScaler(), SVC()).fit(X, grape)
explanation = pkex.Explainer(model, X[::6])(X)
explanation

# %%
explanation.plot(max_display=6)

# %%
explanation.plot.bar(max_display=8)

# %%
explanation.plot.waterfall(100, max_display=8)

# %%
# The wine of row 100 is predicted to be a Grignolino, mostly because of its low ash and alcohol.
# Over all rows, proline separates Barolo, and flavanoids separate Barbera.
