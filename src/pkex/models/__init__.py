"""Models as pkex sees them, whatever library they come from.

- `expansion`: `KernelExpansion`, the neutral form of every model that is explained, and
  `expansion_base`, what it holds;
- `sums`: expansions made of others;
- `preparation`: what is done to rows before the kernel sees them;
- `posterior`: what the covariance of a Gaussian process needs beside its mean;
- `triangular`: systems of its Cholesky factor, solved without the interpreter's lock;
- `noise_levels`: the noise of that process;
- `posterior_moments`: what training points explain of that covariance;
- `noise`: whether rounding hides what a model says;
- `inputs`: what the inputs of a model range over, a table or distributions;
- `grids`: the grid values of input columns that effects are computed at;
- `classes`: what the outputs of a classifier mean;
- `removal`: which rows removed features are taken from, and the line that says so;
- `shap_background`: backgrounds that come from shap.

`pkex.readers` turns fitted models into these.
"""

__all__: list[str] = []
