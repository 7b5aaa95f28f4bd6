"""Readers of Gaussian processes of GPyTorch and BoTorch, in float64 on the CPU.

The posterior mean of an exact process is ``m(x) + sum_i alpha_i k(x, x_i)`` with training points
x_i; that of a variational one has inducing points in their place, which are not data. Models of
these libraries are classes that users write, with a `forward` that returns mean and covariance of
the prior. So it is `forward` that is read, by what it returns: the covariance is lazy and still
knows its kernel and the rows that this was given, and the mean is asked for at a few rows.

- `copies`: the model as it is now, in float64 on the CPU, and numbers of its tensors;
- `kernels`: kernel modules, and sums and products of covariances, to kernels of pkex;
- `means`: the prior mean, which must be affine;
- `transforms`: what BoTorch does to rows before the model, and to outcomes behind it;
- `models`: the readers; `variational` those of models with inducing points.

Nothing here is imported before such a model is read, and torch not before these files are.
"""
