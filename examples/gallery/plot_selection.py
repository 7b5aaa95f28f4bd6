"""
Which columns does a target depend on?
======================================

HSIC between columns and a target, divided among the columns, without a model.
"""

from sklearn.datasets import load_diabetes

import pkex

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
attribution = pkex.hsic(X, y, n_permutations=199, random_state=0)
attribution

# %%
attribution.plot(marginals=3)

# %%
# Body mass index and s5 contribute most. Sex is the only column without a significant contribution.
