"""Models as pkex sees them, whatever library they come from.

- `expansion`: `KernelExpansion`, the neutral form of every model that is explained;
- `sums`: expansions made of others;
- `preparation`: what is done to rows before the kernel sees them;
- `posterior`: what the covariance of a Gaussian process needs beside its mean;
- `inputs`: what the inputs of a model range over, a table or distributions;
- `classes`: what the outputs of a classifier mean;
- `absent`: which rows stand in for absent features, and the line that says so;
- `shap_background`: backgrounds that come from shap.

`pkex.readers` turns fitted models into these.
"""
