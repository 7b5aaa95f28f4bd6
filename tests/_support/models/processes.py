"""Cases of Gaussian processes, for regression and classification."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

from tests._support.models.case import CLASSES, OF_PAIRS, ONE_VS_ONE, ModelCase, latent, predict
from tests._support.models.data import (
    CANCER,
    CULTIVAR,
    DIABETES,
    IRIS,
    MALIGNANT,
    NAMED_SPECIES,
    SPECIES,
    TARGET,
    TARGETS,
    WINE,
    X,
)
from tests._support.models.oracle import machine, tree


def process(name, kernel, table=X, y=TARGET, optimizer=None, **options) -> ModelCase:
    """Return a case of Gaussian process regression; nothing is optimised unless it is asked for."""
    normalize = options.get("normalize_y", False)
    n_outputs = np.asarray(y)[0].size
    regressor = GaussianProcessRegressor(
        kernel, alpha=options.pop("alpha", 0.5), optimizer=optimizer, **options
    )
    spread = np.std(y, axis=0) if normalize else 1.0
    centre = np.mean(y, axis=0) if normalize else 0.0
    return ModelCase(
        name,
        lambda: regressor.fit(table, y),
        table[:4],
        predict,
        lambda m: [machine(m.X_train_, m.alpha_ * spread, centre, tree(m.kernel_))],
        tuple(f"y{k}" for k in range(n_outputs)) if n_outputs > 1 else None,
        n_outputs=n_outputs,
    )


def latents(name, model, table, y, outputs, **how) -> ModelCase:
    """Return a case of Gaussian process classification."""

    def machines(m):
        bases = getattr(m.base_estimator_, "estimators_", [m.base_estimator_])
        return [machine(b.X_train_, b.y_train_ - b.pi_, 0.0, tree(b.kernel_)) for b in bases]

    rows = table[:: len(y) // 4][:4]
    fit = partial(model.fit, table, y)
    n_outputs = len(outputs)
    return ModelCase(name, fit, rows, latent, machines, outputs, n_outputs=n_outputs, **how)


ARD = [0.1, 0.2, 0.05, 0.3]
SMALL = X[:20, :3], TARGET[:20]  # as the oracles of kernels of a distance are slow
PROCESSES = [
    process("GPR kernel=None", None),
    process("GPR C * RBF", 400.0 * gp.RBF(0.1)),
    process("GPR C * RBF + White, optimised", 1.0 * gp.RBF(1.0) + gp.WhiteKernel(0.5),
            WINE / WINE.std(axis=0), CULTIVAR, optimizer="fmin_l_bfgs_b", alpha=1e-6),
    process("GPR RBF ARD", gp.RBF(ARD), DIABETES),
    process("GPR C * RBF ARD + White, normalize_y",
            2.0 * gp.RBF(ARD) + gp.WhiteKernel(0.3), normalize_y=True),
    process("GPR sum of RBF and constant", gp.RBF(0.1) + 0.5 * gp.RBF(ARD) + 3.0),
    process("GPR product of RBFs", gp.RBF(0.2) * gp.RBF(ARD)),
    process("GPR square of a sum", (gp.RBF(0.1) + 0.5) ** 2),
    process("GPR fractional power of a product", (3.0 * gp.RBF(ARD)) ** 0.7),
    process("GPR RBF times noise, plus RBF",
            gp.RBF(0.1) * gp.WhiteKernel(0.1) + gp.RBF(0.2) + gp.WhiteKernel(0.1)),
    process("GPR 2 targets", gp.RBF(0.1), y=TARGETS),
    process("GPR 2 targets, normalize_y", gp.RBF(ARD) + 0.2, y=TARGETS, normalize_y=True),
    process("GPR Matern nu=inf", gp.Matern(ARD, nu=np.inf)),
    process("GPR Matern nu=0.5, 1 column", gp.Matern(0.1, nu=0.5), X[:, :1]),
    process("GPR Matern nu=1.5, 1 column", gp.Matern(0.1, nu=1.5), X[:, :1]),
    process("GPR Matern nu=2.5, 1 column", gp.Matern(0.1, nu=2.5), X[:, :1]),
    process("GPR Matern", 3.0 * gp.Matern(0.2, nu=2.5) + gp.WhiteKernel(0.1), *SMALL),
    process("GPR Matern ARD", gp.RBF(0.3) + gp.Matern(ARD[:3], nu=1.5), *SMALL),
    process("GPR Matern of another smoothness, normalize_y", gp.Matern(ARD[:3], nu=0.9), *SMALL,
            normalize_y=True),
    process("GPR RBF * Matern", gp.RBF(0.3) * gp.Matern(ARD[:3], nu=2.5), *SMALL),
    process("GPR RationalQuadratic", 2.0 * gp.RationalQuadratic(0.1, 0.8), *SMALL),
    process("GPR RationalQuadratic to a power, 2 targets",
            gp.RationalQuadratic(0.1, 0.8) ** 1.5 + 0.2, X[:20, :3], TARGETS[:20]),
    process("GPR square of Matern nu=0.5", gp.Matern(0.2, nu=0.5) ** 2, *SMALL),
    process("GPR ExpSineSquared, 1 column", gp.ExpSineSquared(0.5, 0.07), X[:, :1]),
    process("GPR PairwiseKernel rbf", gp.PairwiseKernel(30.0, metric="rbf")),
    process("GPR PairwiseKernel laplacian", 2.0 * gp.PairwiseKernel(6.0, metric="laplacian") ** 2),
    process("GPR constant kernel", gp.ConstantKernel(2.0)),
    latents("GPC binary", GaussianProcessClassifier(gp.RBF([1.0, 2.0, 1.5, 1.0, 3.0])), CANCER,
            np.where(MALIGNANT, "benign", "malignant"), ("malignant vs benign",)),
    latents("GPC Matern", GaussianProcessClassifier(gp.Matern([1.0, 2.0, 1.5], nu=1.5),
                                                    optimizer=None),
            CANCER[:, :3], MALIGNANT, ("1 vs 0",)),
    latents("GPC 3 classes, one_vs_rest", GaussianProcessClassifier(2.0 * gp.RBF(1.5)),
            IRIS, NAMED_SPECIES, ("setosa", "versicolor", "virginica")),
    latents("GPC 3 classes, one_vs_one, kernel=None",
            GaussianProcessClassifier(multi_class="one_vs_one", optimizer=None), IRIS, SPECIES,
            CLASSES, combine=OF_PAIRS),
    latents("GPC 3 classes, one_vs_one, outputs=pairs",
            GaussianProcessClassifier(multi_class="one_vs_one", optimizer=None), IRIS, SPECIES,
            ONE_VS_ONE, choice="ovo"),
]  # fmt: skip
