"""The shared list of kernels: a kernel that joins it joins every property test.

A case builds its kernel from one scale per column, and from the places where those columns stand
in the data, so that a test can permute the columns of kernel and data alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.testing import assert_allclose
from sklearn.utils.fixes import parse_version

from pkex.games.engine import run_reduction
from pkex.games.reductions import MeanFactors
from pkex.games.sources import PointSource
from pkex.kernels import (
    RBF,
    Categorical,
    Cauchy,
    Chi2,
    ColumnKernel,
    Constant,
    Custom,
    Kernel,
    Laplacian,
    Periodic,
    ProductMatern,
)
from tests._support import naive

Array = Any


class Tent(ColumnKernel):
    """A subclass of a user's own, with factors that are exactly 0 beyond a distance."""

    def factors(self, x, z):
        return np.maximum(0.0, 1.0 - 0.4 * np.abs(x - z))


def cosine(x, z):
    """Factors between -1 and 1."""
    return np.cos(x - z)


def growing(x, z):
    """Factors of any size and sign."""
    return x * z - 0.5


@dataclass(frozen=True)
class Case:
    """A kernel to test.

    `make(scales, places)` builds it. `oracle(scale)` names the column kernel of `naive.py` and its
    parameters, where the case is one plain column kernel.
    """

    name: str
    make: Callable[[Array, Array], Kernel]
    oracle: Callable[[float], tuple[str, dict[str, float]]] | None = None
    unit: bool = True  # all factors in [0, 1]

    def __str__(self) -> str:
        return self.name

    def build(self, scales: Array, places: Array | None = None) -> Kernel:
        """Return the kernel; column j of the scales stands at places[j]."""
        return self.make(np.asarray(scales), range(len(scales)) if places is None else places)


def pair_game(kernel, X, players=None, removal="product-of-marginals"):
    """Return the game of a pair of rows as a function of their numbers, and its largest worth."""
    terms = kernel.terms(X.shape[1])
    coefficients = [term.coefficient for term in terms]
    factors = np.stack([term.factors(X, X) for term in terms])
    if players is not None:
        factors = np.stack([factors[..., list(p)].prod(axis=-1) for p in players], axis=-1)
    size = np.abs(coefficients) @ np.maximum(1.0, np.abs(factors)).prod(axis=-1).max(axis=(1, 2))
    absent = naive.mean_factors(factors) if removal == "product-of-marginals" else None

    def game(i, j):
        return naive.product_game(coefficients, factors[:, i, j], absent)

    return game, float(size)


def split(places, at):
    """Cut the places in two parts, neither empty when there are two columns or more."""
    cut = max(1, min(len(places) - 1, at))
    return list(places[:cut]), list(places[cut:])


def mixed(s, p):
    """RBF on the first columns times Categorical on the last."""
    left, right = split(p, len(p) - 2)
    kernel = RBF(s[: len(left)], columns=left)
    return kernel * Categorical(0.3, columns=right) if right else kernel


def matern(nu):
    """A case of a smoothness."""
    return Case(
        f"matern-{nu}",
        lambda s, p: ProductMatern(s, nu=nu, columns=p),
        lambda s: ("matern", {"length_scale": s, "nu": nu}),
    )


COLUMN_KERNELS = [
    Case(
        "rbf",
        lambda s, p: RBF(s, columns=p),
        lambda s: ("rbf", {"length_scale": s}),
    ),
    Case(
        "laplacian",
        lambda s, p: Laplacian(s, columns=p),
        lambda s: ("laplacian", {"length_scale": s}),
    ),
    Case(
        "cauchy",
        lambda s, p: Cauchy(s, columns=p),
        lambda s: ("cauchy", {"length_scale": s}),
    ),
    *map(matern, (0.5, 1.5, 2.5)),
    Case(
        "chi2",
        lambda s, p: Chi2(1.0 / s, columns=p),
        lambda s: ("chi2", {"gamma": 1.0 / s}),
    ),
    Case(
        "periodic",
        lambda s, p: Periodic(s, periodicity=1.75, columns=p),
        lambda s: ("periodic", {"length_scale": s, "periodicity": 1.75}),
    ),
    Case(
        "categorical",
        lambda s, p: Categorical(s / (1.0 + s), columns=p),
        lambda s: ("categorical", {"mismatch": s / (1.0 + s)}),
    ),
    Case(
        "custom",
        lambda s, p: Custom(lambda x, z: 1.0 / (1.0 + ((x - z) / s) ** 2), columns=p),
        lambda s: ("cauchy", {"length_scale": s}),
    ),
]

KERNELS = [
    *COLUMN_KERNELS,
    Case("tent", lambda s, p: Tent(columns=p)),
    Case("scaled", lambda s, p: 2.5 * RBF(s, columns=p)),
    Case("mixed", mixed),
    Case("product", lambda s, p: RBF(s, columns=p) * Laplacian(s + 1.0, columns=p)),
    Case("sum", lambda s, p: RBF(s, columns=p) + 0.5 * Cauchy(2.0 * s, columns=p)),
    Case(
        "product-of-sums",
        lambda s, p: (
            (RBF(s, columns=p) + 2.0 * Laplacian(s, columns=p))
            * (Cauchy(s, columns=p) + ProductMatern(s, nu=2.5, columns=p))
        ),
    ),
    Case("with-constant", lambda s, p: (RBF(s, columns=p) + Constant(0.5)) * Cauchy(columns=p)),
    Case("one-column", lambda s, p: RBF(s[:1], columns=p[:1])),
    Case("cosine", lambda s, p: Custom(cosine, columns=p), unit=False),
    Case("growing", lambda s, p: Custom(growing, columns=p), unit=False),
    Case(
        "growing-plus-rbf",
        lambda s, p: Custom(growing, columns=p) * RBF(s, columns=p) + RBF(s, columns=p),
        unit=False,
    ),
]


def sample(rng, n_rows: int, n_columns: int) -> Array:
    """Return data every kernel takes: non-negative, with ties, zeros and integers among them."""
    data = rng.gamma(2.0, 0.7, size=(n_rows, n_columns))
    data[rng.random(data.shape) < 0.2] = 0.0
    return np.where(rng.random(data.shape) < 0.3, np.round(data), data)


def scales(rng, n_columns: int) -> Array:
    """Return one scale per column, around the spread of `sample`."""
    return rng.uniform(0.5, 3.0, size=n_columns)


def alone(d):
    """Every column a player of its own."""
    return tuple((j,) for j in range(d))


def assert_close(actual: Array, expected: Array, atol: float) -> None:
    """Check that no entry is off by more than `atol`: an absolute tolerance, never a relative."""
    assert_allclose(actual, expected, rtol=0.0, atol=atol)


def broken_checks():
    """Names of checks for estimators that fail by themselves in this version of scikit-learn."""
    old = parse_version(sklearn.__version__) < parse_version("1.7.2")
    # it subtracts a mean from integers, which the check itself has rounded to
    return {"check_positive_only_tag_during_fit"} if old else set()


def pair_source(plan, X, n_jobs=1):
    """The pairs of the rows of X, absent players having mean factors where the plan is general."""
    x, games = np.asfortranarray(X), plan.games()
    absent = run_reduction(MeanFactors(games, x), n_jobs=n_jobs) if plan.general else None
    return PointSource(games, x, x, absent)
