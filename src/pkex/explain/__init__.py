"""Questions about a fitted model: each takes rows and returns a result of `pkex.results`.

`problem` has `Problem`: the model that was read, what absent features are replaced by, and what
follows from both; all others take one. `explainer` has `Explainer`, the public class that asks;
`values` explains rows, `interactions` has Shapley interactions, `posterior` the uncertainty of
values and the predictive variance of Gaussian processes, `sensitivity` the Sobol indices and
Shapley effects, `sparse` rows of sparse tables, `dask` tables of Dask. `noise` warns where rounding
shows.
"""

__all__: list[str] = []
