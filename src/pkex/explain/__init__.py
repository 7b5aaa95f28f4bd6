"""Questions about a fitted model: each takes rows and returns a result of `pkex.results`.

`explainer` has `Explainer`, which reads the model, prepares the background and explains rows;
`interactions` has Shapley interactions, `posterior` the uncertainty of values and the predictive
variance of Gaussian processes, `sensitivity` the Sobol indices and Shapley effects, `sparse` rows
of sparse tables, `dask` tables of Dask. `noise` warns where rounding shows.
"""

__all__: list[str] = []
