"""
Which columns changed between two tables?
=========================================

The squared MMD between two samples, divided among their columns, with a permutation test.
"""

from sklearn.datasets import load_diabetes

import pkex

X, _ = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
young, old = X[X["age"] < 40], X[X["age"] > 60]
attribution = pkex.mmd(young, old, n_permutations=199, random_state=0)
attribution

# %%
# Contributions over the band of 95 % of the permutations, and the columns with the largest ones:
attribution.plot()

# %%
attribution.plot.marginals(columns=["age", "bp", "s6"])

# %%
# Age changed, by construction. Blood pressure, s1 and s6 changed with it: older patients have
# higher values. Of ten columns only s3 is not significant.
