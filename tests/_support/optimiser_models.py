"""Fitted processes of scikit-optimize and bayes_opt: the list that is explained, and the refused.

They need these packages, which `make torch` installs. Kernels have odd parameters that are not
fitted, but for the models that come from an optimiser's own run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sklearn.gaussian_process.kernels as plain
import skopt.learning.gaussian_process.kernels as gp
from bayes_opt import BayesianOptimization
from bayes_opt.parameter import wrap_kernel
from sklearn.gaussian_process import GaussianProcessRegressor as Plain
from skopt import Optimizer
from skopt.learning import GaussianProcessRegressor
from skopt.space import Categorical, Integer, Real

RNG = np.random.default_rng(3)
X = RNG.uniform(0.0, 2.0, size=(14, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 3.0
CODES = RNG.integers(0, 3, size=(14, 3)).astype(float)
NUMBERS = {"rate": (0.0, 2.0), "depth": (1, 6, int), "share": (-1.0, 1.0)}


@dataclass(frozen=True)
class OptimiserCase:
    """A model to explain, the process that predicts in its place, and names of its columns."""

    name: str
    make: Callable[[], Any]
    table: Callable[[Any], Any] = lambda process: process.X_train_.astype(float)
    names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return self.name

    def model(self) -> Any:
        """Return the fitted model, fitted once."""
        return _fitted(self.make)

    @property
    def process(self) -> Any:
        """The Gaussian process of the model, which is the model itself but for an optimiser."""
        return getattr(self.model(), "_gp", self.model())


@cache
def _fitted(make: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of optimisers, about bounds and points they have seen
        return make()


@dataclass(frozen=True)
class Refusal:
    """A model that is refused, and words of the sentence that says why and what to do."""

    name: str
    make: Callable[[], Any]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def process(kernel: Any, table: Any = X, cls: type = GaussianProcessRegressor, **options: Any):
    """Return a process with a kernel as it is."""
    return cls(kernel, optimizer=None, **options).fit(table, Y)


def run_of_skopt(space: list[Any], loss: Callable[[Any], float]) -> Any:
    """Return the last model of a short run in a space, as `gp_minimize` has it in its result."""
    optimizer = Optimizer(space, n_initial_points=9, acq_optimizer="sampling", random_state=0)
    for _ in range(10):
        point = optimizer.ask()
        result = optimizer.tell(point, loss(point))
    return result.models[-1]


def run_of_bayes_opt(bounds: dict[str, Any], kernel: Any = None) -> Any:
    """Return an optimiser after a short run, with its process fitted to all points."""

    def gain(rate: float, depth: float, share: float, kind: str = "a") -> float:
        return -((rate - 1.2) ** 2) + 0.3 * depth * share + (kind == "b")

    optimizer = BayesianOptimization(gain, bounds, random_state=0, verbose=0)
    if kernel is not None:
        optimizer.set_gp_params(kernel=kernel)
    optimizer.maximize(init_points=7, n_iter=2)
    optimizer.predict(optimizer.max["params"])
    return optimizer


def between(process: Any) -> Any:
    """Return rows between the points, where columns of integers hold none."""
    return 0.7 * process.X_train_ + 0.3 * process.X_train_[::-1]


class Doubled(GaussianProcessRegressor):
    """A process with a prediction of its own."""

    def predict(self, X: Any, **options: Any) -> Any:
        return 2.0 * super().predict(X, **options)


CONTINUOUS = {**NUMBERS, "depth": (1.0, 6.0)}
ARD = [0.7, 1.3, 0.9]

MODELS = [
    OptimiserCase("skopt GPR default kernel", lambda: process(None)),
    OptimiserCase("skopt GPR ARD RBF, noise='gaussian'",
                  lambda: process(1.7 * gp.RBF(ARD), noise="gaussian", normalize_y=True)),
    OptimiserCase("skopt GPR noise of a given size", lambda: process(gp.RBF(0.8), noise=0.1)),
    OptimiserCase("skopt GPR ARD Matern 1.5", lambda: process(gp.Matern(ARD, nu=1.5), alpha=1e-2)),
    OptimiserCase("skopt GPR a sum with a product and noise",
                  lambda: process(gp.ConstantKernel(0.5) * gp.RBF(0.9) * gp.RBF(ARD)
                                  + gp.Matern(1.1, nu=2.5) + gp.WhiteKernel(0.2))),
    OptimiserCase("skopt GPR RationalQuadratic squared",
                  lambda: process(gp.Exponentiation(gp.RationalQuadratic(1.2, 0.8), 2.0),
                                  alpha=1e-2)),
    OptimiserCase("skopt GPR DotProduct",
                  lambda: process(gp.DotProduct(0.5) + gp.RBF(0.9), alpha=1e-2)),
    OptimiserCase("skopt GPR HammingKernel", lambda: process(2.0 * gp.HammingKernel(0.6), CODES,
                                                             alpha=0.1)),
    OptimiserCase("skopt GPR ARD HammingKernel", lambda: process(gp.HammingKernel(ARD), CODES,
                                                                 alpha=0.1)),
    OptimiserCase("skopt run over numbers and a category",
                  lambda: run_of_skopt([Real(0.0, 1.0), Integer(1, 9), Categorical("abc")],
                                       lambda p: (p[0] - 0.3) ** 2 + p[1] + (p[2] == "b"))),
    OptimiserCase("skopt run over categories",
                  lambda: run_of_skopt([Categorical("abc"), Categorical("de")],
                                       lambda p: 2.0 * (p[0] == "a") + (p[1] == "d"))),
    OptimiserCase("bayes_opt, continuous parameters", lambda: run_of_bayes_opt(CONTINUOUS),
                  between, tuple(NUMBERS)),
    OptimiserCase("bayes_opt, a parameter of integers", lambda: run_of_bayes_opt(NUMBERS),
                  between, tuple(NUMBERS)),
    OptimiserCase("bayes_opt, a product as the kernel",
                  lambda: run_of_bayes_opt(NUMBERS, 2.0 * plain.RBF([0.7, 2.3, 0.9])),
                  between, tuple(NUMBERS)),
    OptimiserCase("bayes_opt, the process itself", lambda: run_of_bayes_opt(NUMBERS)._gp,
                  between, tuple(NUMBERS)),
]  # fmt: skip

REFUSALS = [
    Refusal("skopt GPR not fitted", GaussianProcessRegressor, ("not fitted", "fit")),
    Refusal("skopt GPR ExpSineSquared of several columns",
            lambda: process(gp.ExpSineSquared(1.0, 2.0), alpha=3.0), ("oscillates", "Refit")),
    Refusal("skopt GPR HammingKernel with a scale of next to 0",
            lambda: process(gp.HammingKernel([0.5, 1e-20, 0.5]), CODES, alpha=0.1),
            ("does not distinguish", "Refit")),
    Refusal("skopt GPR of a class with a predict of its own",
            lambda: process(gp.RBF(), cls=Doubled),
            ("Doubled", "overrides GaussianProcessRegressor.predict")),
    Refusal("bayes_opt, a parameter with categories",
            lambda: run_of_bayes_opt({**NUMBERS, "kind": ("a", "b", "c")}),
            ("'kind'", "jointly", "groups=")),
    Refusal("bayes_opt, a kernel wrapped by hand",
            lambda: process(wrap_kernel(plain.RBF(), np.abs), cls=Plain),
            ("wrapped kernel", "combine columns")),
    Refusal("bayes_opt, not fitted", lambda: BayesianOptimization(None, NUMBERS, verbose=0),
            ("has not fitted", "maximize")),
]  # fmt: skip
