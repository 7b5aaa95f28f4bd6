"""Cases of kernels with a linear part, which take absent columns from a background as well."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    StandardScaler,
)
from sklearn.svm import SVC, SVR, NuSVR, OneClassSVM

from tests._support.models.case import (
    CLASSES,
    ModelCase,
    class_decision,
    decision,
    latent,
    predict,
    transform,
)
from tests._support.models.data import (
    CANCER,
    CULTIVAR,
    DIABETES,
    IRIS,
    MALIGNANT,
    SPARSE,
    SPECIES,
    TARGET,
    TARGETS,
    WINE,
    X,
)
from tests._support.models.oracle import (
    by_classes,
    by_pairs,
    dense,
    inner_products,
    machine,
    power_of_sum,
    tree,
)
from tests._support.models.processes import ARD


def linear(name, model, table, y, own, coefficients, outputs=(), kernel=inner_products, **how):
    """Return a case of a machine whose kernel has a linear part; it needs a background.

    `coefficients(model)` are its points, their weights, and the offset.
    """
    background = table[10:17]
    final = how.pop("final", lambda m: m)
    prepare = how.pop("prepare", lambda m: dense)

    def machines(m):
        last = final(m)
        shape = kernel(last) if kernel is not inner_products else kernel
        points, alpha, offset = coefficients(last)
        how = {"prepare": prepare(m), "background": background}
        return [machine(points, alpha, offset, shape, **how)]

    return ModelCase(
        name,
        lambda: model.fit(table, y),
        table[:: len(y) // 4][:4],
        own,
        machines,
        tuple(outputs) or None,
        n_outputs=max(1, len(outputs)),
        background=background,
        **how,
    )


def vectors(m):
    """Return the support vectors of a machine, their weights and the intercept."""
    return m.support_vectors_, dense(m.dual_coef_).T, m.intercept_


def centred(table, count, function=linear_kernel):
    """Return what kernel PCA with a kernel that needs all columns is made of: see `components`."""

    def coefficients(m):
        a = m.eigenvectors_ / np.sqrt(m.eigenvalues_)
        gram = function(table)
        return table, a - a.mean(axis=0), (gram.mean() - gram.mean(axis=0)) @ a

    names = tuple(f"kernelpca{k}" for k in range(count))
    return {"coefficients": coefficients, "outputs": names}


def tree_of(m):
    """Return the kernel of a Gaussian process, for all columns."""
    return tree(m.kernel_)


def mean(m):
    """Return what the mean of a Gaussian process is made of."""
    return m.X_train_, m.alpha_, 0.0


def latent_mean(m):
    """Return what the latent mean of a binary GaussianProcessClassifier is made of."""
    return m.X_train_, m.y_train_ - m.pi_, 0.0


GPR = partial(GaussianProcessRegressor, alpha=0.5, optimizer=None)
LINEAR = [
    linear("SVR linear", SVR(kernel="linear", C=20.0), DIABETES, TARGET, predict, vectors),
    linear("SVR linear on a sparse matrix", SVR(kernel="linear", C=20.0), SPARSE, TARGET, predict,
           vectors),
    linear("NuSVR linear", NuSVR(kernel="linear", C=20.0), X, TARGET, predict, vectors),
    linear("OneClassSVM linear", OneClassSVM(kernel="linear", nu=0.3), X, TARGET, decision,
           vectors),
    linear("SVC linear, binary", SVC(kernel="linear"), CANCER, MALIGNANT, decision, vectors,
           ("1 vs 0",)),
    linear("SVC linear, 3 classes", SVC(kernel="linear"), IRIS, SPECIES, class_decision,
           lambda m: (m.support_vectors_, by_classes(by_pairs(m, SPECIES), 3),
                      by_classes(m.intercept_, 3)), CLASSES),
    linear("KernelRidge linear", KernelRidge(alpha=0.1), X, TARGET, predict,
           lambda m: (X, m.dual_coef_, 0.0)),
    linear("KernelRidge linear, 2 targets", KernelRidge(alpha=0.1), X, TARGETS, predict,
           lambda m: (X, m.dual_coef_, 0.0), ("y0", "y1")),
    linear("KernelPCA linear", KernelPCA(2, kernel="linear"), WINE, CULTIVAR, transform,
           **centred(WINE, 2)),
    linear("GPR DotProduct", GPR(gp.DotProduct(0.5)), X, TARGET, predict, mean, kernel=tree_of),
    linear("GPR DotProduct without an offset", GPR(gp.DotProduct(0.0, "fixed")), X, TARGET,
           predict, mean, kernel=tree_of),
    linear("GPR DotProduct + RBF", GPR(gp.DotProduct(0.5) + gp.RBF(ARD)), X, TARGET, predict, mean,
           kernel=tree_of),
    linear("GPR DotProduct * RBF", GPR(2.0 * gp.DotProduct(0.5) * gp.RBF(0.2)), X, TARGET, predict,
           mean, kernel=tree_of),
    linear("GPC DotProduct", GaussianProcessClassifier(gp.DotProduct(1.0), optimizer=None), CANCER,
           MALIGNANT, latent, latent_mean, ("1 vs 0",), tree_of,
           final=lambda m: m.base_estimator_),
    linear("SVR poly", SVR(kernel="poly", C=20.0, coef0=0.5), DIABETES, TARGET, predict, vectors,
           kernel=lambda m: power_of_sum(3, m._gamma, 0.5)),
    linear("NuSVR poly of degree 1", NuSVR(kernel="poly", degree=1, gamma=2.0), X, TARGET, predict,
           vectors, kernel=lambda m: power_of_sum(1, 2.0, 0.0)),
    linear("SVC poly, 3 classes", SVC(kernel="poly", degree=2, gamma=0.1, coef0=1.0), IRIS, SPECIES,
           class_decision,
           lambda m: (m.support_vectors_, by_classes(by_pairs(m, SPECIES), 3),
                      by_classes(m.intercept_, 3)), CLASSES,
           lambda m: power_of_sum(2, 0.1, 1.0)),
    linear("OneClassSVM poly", OneClassSVM(kernel="poly", nu=0.3, gamma=5.0, coef0=1.0), X, TARGET,
           decision, vectors, kernel=lambda m: power_of_sum(3, 5.0, 1.0)),
    linear("KernelRidge poly", KernelRidge(kernel="poly", alpha=0.1, degree=2), X, TARGETS,
           predict, lambda m: (X, m.dual_coef_, 0.0), ("y0", "y1"),
           lambda m: power_of_sum(2, 0.25, 1.0)),
    linear("KernelRidge polynomial, gamma", KernelRidge(kernel="polynomial", gamma=3.0, coef0=0.2),
           X, TARGET, predict, lambda m: (X, m.dual_coef_, 0.0),
           kernel=lambda m: power_of_sum(3, 3.0, 0.2)),
    linear("KernelPCA poly", KernelPCA(2, kernel="poly", degree=2), WINE / 10.0, CULTIVAR,
           transform, **centred(WINE / 10.0, 2, partial(polynomial_kernel, degree=2)),
           kernel=lambda m: power_of_sum(2, 0.2, 1.0)),
    linear("GPR square of DotProduct", GPR(2.0 * gp.DotProduct(0.5) ** 2), X, TARGET, predict, mean,
           kernel=tree_of),
    linear("GPR cube of DotProduct without an offset, plus Matern",
           GPR(gp.DotProduct(0.0, "fixed") ** 3 + gp.Matern(0.2, nu=1.5)), X[:20, :3], TARGET[:20],
           predict, mean, kernel=tree_of),
    linear("GPR DotProduct * Matern", GPR(gp.DotProduct(0.5) * gp.Matern(0.2, nu=2.5)),
           X[:20, :2], TARGET[:20], predict, mean, kernel=tree_of),
    linear("GPR PairwiseKernel polynomial", GPR(gp.PairwiseKernel(2.0, metric="polynomial")), X,
           TARGET, predict, mean, kernel=tree_of),
    linear("GPR PairwiseKernel linear", GPR(gp.PairwiseKernel(metric="linear") + 1.0), X, TARGET,
           predict, mean, kernel=tree_of),
    linear("GPC square of DotProduct",
           GaussianProcessClassifier(gp.DotProduct(1.0) ** 2, optimizer=None), CANCER,
           MALIGNANT, latent, latent_mean, ("1 vs 0",), tree_of,
           final=lambda m: m.base_estimator_),
    linear("SVR linear behind a scaler", make_pipeline(StandardScaler(), SVR(kernel="linear")),
           DIABETES, TARGET, predict, vectors, final=lambda m: m[-1],
           prepare=lambda m: m[:-1].transform),
]  # fmt: skip
