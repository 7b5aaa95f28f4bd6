"""Questions about a fitted model: each takes rows and returns a result of `pkex.results`.

`problem` has `Problem`: the model that was read, what removed features are replaced by, and what
follows from both; all others take one. `explainer` has `Explainer`, the public class that asks;
its methods are in `questions` and `effect_questions`. The files that answer:

- `values` explains rows, `sparse` rows of sparse tables, `dask` tables of Dask;
- `interactions`: Shapley interactions, with `interaction_spread` for their standard deviations;
- `posterior`: the uncertainty of values, and the predictive variance of Gaussian processes, with
  `sample_means` and `sample_variance` for mixtures; `importance`: mean absolute values, with
  posterior draws; `compare`: two rows of an optimisation;
- `effects`: partial dependence, ICE and ALE, with `effect_background`, `effect_sums` and
  `effect_bands`; `gradients` and `integrated`: derivatives, and their integrals along paths;
- `influence`: training rows, with `training`;
- `loss`, `sage` and `permutation`: what the model needs, with `replaced`, `scoring` and `samples`;
- `change`: predictions in two tables, with `compared_tables` and `label_tests`;
- `sensitivity`: Sobol indices and Shapley effects, with `posterior_draws`.
"""

__all__: list[str] = []
