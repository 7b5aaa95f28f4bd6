"""
What changed between two tables?
================================

The squared MMD between two samples, split among their columns, with a permutation test.
"""

from sklearn.datasets import load_diabetes

import pkex

X, _ = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
young, old = X[X["age"] < 40], X[X["age"] > 60]
attribution = pkex.mmd(young, old, n_permutations=199, random_state=0)
attribution

# %%
# Bars over what chance would give, and the columns with the largest shares:
attribution.plot()

# %%
attribution.plot.marginals(columns=["age", "bp", "s6"])
