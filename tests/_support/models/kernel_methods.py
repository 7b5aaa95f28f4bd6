"""Cases of kernel ridge regression, kernel PCA and kernel density."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, rbf_kernel
from sklearn.neighbors import KernelDensity

from pkex.kernels import RBF
from tests._support.models.case import ModelCase, density, predict, transform
from tests._support.models.data import DIABETES, DIGIT, DIGITS, SPARSE, TARGET, TARGETS, X
from tests._support.models.oracle import dense, machine, pairwise, tree
from tests._support.models.vector_machines import GRAM, MATRIX, PLAIN


def ridge(name, function, gamma, table=X, y=TARGET, **how) -> ModelCase:
    """Return a case of kernel ridge regression."""
    kernel = function.__name__.removesuffix("_kernel")
    rate = 1.0 / table.shape[1] if gamma is None else gamma
    n_outputs = np.asarray(y)[0].size
    return ModelCase(
        name,
        lambda: KernelRidge(kernel=kernel, gamma=gamma, alpha=0.1).fit(table, y),
        table[:4],
        predict,
        lambda m: [machine(dense(table), m.dual_coef_, 0.0, pairwise(function, rate))],
        tuple(f"y{k}" for k in range(n_outputs)) if n_outputs > 1 else None,
        n_outputs=n_outputs,
        **how,
    )


def components(name, model, table=X, **how) -> ModelCase:
    """Return a case of kernel PCA with the rbf kernel.

    A component is ``sum_i a_i (k(x, x_i) - mean_l k(x, x_l) - mean_l k(x_l, x_i) + mean k)``, so
    the coefficients of k(x, x_i) are ``a_i - mean(a)`` and the rest does not depend on x.
    """
    gamma = model.gamma or 1.0 / table.shape[1]

    def machines(m):
        a = m.eigenvectors_ / np.sqrt(m.eigenvalues_)
        gram = rbf_kernel(table, gamma=gamma)
        offset = (gram.mean() - gram.mean(axis=0)) @ a
        return [machine(table, a - a.mean(axis=0), offset, pairwise(rbf_kernel, gamma))]

    return ModelCase(name, lambda: model.fit(table), table[:4], transform, machines, **how)


def estimate(name, model, kernel, norm, weights=None, table=X) -> ModelCase:
    """Return a case of a kernel density; `norm` is the integral of its kernel."""
    count = len(table)
    share = np.full(count, 1.0 / count) if weights is None else weights / weights.sum()
    return ModelCase(
        name,
        lambda: model.fit(table, sample_weight=weights),
        table[:4],
        density,
        lambda m: [machine(table, share / norm, 0.0, kernel)],
    )


def rbf_of_rows(x, z):
    """A kernel of a pair of rows, as KernelRidge calls it."""
    return float(np.exp(-0.5 * np.sum((x - z) ** 2) / 0.1**2))


L1 = pairwise(laplacian_kernel, 1.0 / 0.05)
WEIGHTS = np.arange(1.0, 61.0)
RIDGES = [
    ridge("KernelRidge rbf", rbf_kernel, 30.0, DIABETES),
    ridge("KernelRidge rbf, gamma=None", rbf_kernel, None),
    ridge("KernelRidge laplacian", laplacian_kernel, 4.0),
    ridge("KernelRidge laplacian, gamma=None", laplacian_kernel, None),
    ridge("KernelRidge chi2", chi2_kernel, 0.7, DIGITS, DIGIT),
    ridge("KernelRidge rbf, 2 targets", rbf_kernel, 30.0, y=TARGETS),
    ridge("KernelRidge rbf on a sparse matrix", rbf_kernel, 30.0, SPARSE),
    ModelCase("KernelRidge with a function as kernel",
              lambda: KernelRidge(kernel=rbf_of_rows).fit(X, TARGET), X[:4], predict,
              lambda m: [machine(X, m.dual_coef_, 0.0, PLAIN)], given={"kernel": RBF(0.1)}),
    ModelCase("KernelRidge precomputed",
              lambda: KernelRidge(kernel="precomputed").fit(GRAM(X), TARGET), X[:4], predict,
              lambda m: [machine(X, m.dual_coef_, 0.0, PLAIN)], given=MATRIX, gram=GRAM),
]  # fmt: skip
UNSUPERVISED = [
    components("KernelPCA 3 components", KernelPCA(3, kernel="rbf", gamma=40.0),
               outputs=("kernelpca0", "kernelpca1", "kernelpca2"), n_outputs=3),
    components("KernelPCA 1 component, gamma=None", KernelPCA(1, kernel="rbf")),
    estimate("KernelDensity gaussian", KernelDensity(bandwidth=0.05),
             pairwise(rbf_kernel, 0.5 / 0.05**2), (2 * np.pi * 0.05**2) ** 2),
    estimate("KernelDensity exponential, manhattan",
             KernelDensity(kernel="exponential", metric="manhattan", bandwidth=0.05), L1,
             12 * np.pi**2 * 0.05**4),  # scikit-learn norms it as if it were Euclidean
    estimate("KernelDensity exponential", KernelDensity(kernel="exponential", bandwidth=0.05),
             tree(gp.Matern(0.05, nu=0.5)), 8 * np.pi * 0.05**3, table=X[:20, :3]),
    estimate("KernelDensity gaussian, sample_weight", KernelDensity(bandwidth=0.05),
             pairwise(rbf_kernel, 0.5 / 0.05**2), (2 * np.pi * 0.05**2) ** 2, WEIGHTS),
]  # fmt: skip
