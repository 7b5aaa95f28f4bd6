"""
Which series, and when?
=======================

A forecast from lagged values of two series, with the lags of a series as one feature.
"""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex

rng = np.random.default_rng(0)
n = 700
temperature = 10 * np.sin(np.arange(n) / 30) + 0.3 * np.cumsum(rng.normal(size=n))
load = np.zeros(n)
for t in range(2, n):
    load[t] = 0.6 * load[t - 1] - 0.5 * temperature[t - 2] + rng.normal()
series = pd.DataFrame({"load": load, "temperature": temperature})
lags = {f"{name} t-{k}": series[name].shift(k) for name in series for k in (1, 2, 3)}
table = pd.DataFrame(lags).dropna()
target = series["load"].loc[table.index]
past, future = table[:500], table[500:]
model = make_pipeline(StandardScaler(), SVR(C=10.0, gamma=0.01)).fit(past, target[:500])

# %%
# Values of each series over time, in the order of the rows:
groups = {name: [column for column in table if column.startswith(name)] for name in series}
explanation = pkex.Explainer(model, past[::5], groups=groups)(future)
explanation.plot.heatmap(order="data")

# %%
# The two series push in the same direction most of the time: a low temperature raises the load, and
# a high load stays high for a while, so both raise the forecast together.
