"""What a model is, as a game, from its own attributes and scikit-learn's kernel functions.

Nothing here goes through pkex. A kernel is applied to the columns of one player or of those that
are present; coefficients of several classes are put in order from libsvm's layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from tests._support.models.data import Array


def dense(array: Any) -> Array:
    sparse = scipy.sparse.issparse(array)
    return array.toarray() if sparse else np.asarray(array, dtype=float)


@dataclass(frozen=True)
class Machine:
    """``f(x) = sum_i alpha_i k(T(x), x_i) + offset``, with scikit-learn's k on any columns.

    `kernel(x, z, columns)` is the kernel matrix of x and z, which have only these columns, and
    `kernel.terms(n_columns)` are the products that it is a sum of: each a coefficient and a
    function that takes the same and returns the product of the factors of these columns.
    `origins[j]` is the input column that prepared column j is made from, by default j.
    """

    points: Array
    alpha: Array  # (n_points, n_outputs)
    offset: Array
    kernel: Any
    prepare: Callable[[Any], Array] = dense
    origins: Sequence[int] | None = None
    background: Any = None  # rows, in the columns of the input, that absent columns come from
    own_data: bool = True  # whether the points are data, which absent players are averaged over

    def value(self, prepared: Array, present: frozenset[int], removal: str) -> Array:
        """Return the outputs when only the input columns `present` take part."""
        origins = range(self.points.shape[1]) if self.origins is None else self.origins
        columns = [j for j, origin in enumerate(origins) if origin in present]
        if removal == "interventional":
            rows = np.array(dense(self.prepare(self.background)))
            rows[:, columns] = prepared[:, columns]
            return (self.kernel(rows, self.points, [*origins]) @ self.alpha).mean(
                axis=0
            ) + self.offset
        gram = self.kernel(prepared[:, columns], self.points[:, columns], columns)
        return (gram @ self.alpha + self.offset)[0]

    def marginal_value(
        self, prepared: Array, players: Sequence[Sequence[int]], present: frozenset[int]
    ) -> Array:
        """Return the outputs when the players `present` take part and the others are averaged.

        A player is a set of input columns; the data are the points, or the background.
        """
        data = self.points if self.own_data else dense(self.prepare(self.background))
        origins = range(self.points.shape[1]) if self.origins is None else self.origins
        worth = np.zeros(len(self.points))
        for coefficient, factor in self.kernel.terms(self.points.shape[1]):
            product = np.full(len(self.points), coefficient)
            for player, members in enumerate(players):
                columns = [j for j, origin in enumerate(origins) if origin in members]
                rows = prepared if player in present else data
                found = factor(rows[:, columns], self.points[:, columns], columns)
                product *= found.mean(axis=0)
            worth += product
        return worth @ self.alpha + self.offset

    @property
    def size(self) -> Array:
        """The sum of the magnitudes of the terms when no column is present, for each output."""
        if self.background is not None:
            rows, every = dense(self.prepare(self.background)), [*range(self.points.shape[1])]
            sizes = np.abs(self.kernel(rows, self.points, every)).max(axis=0)
            return sizes @ np.abs(self.alpha) + np.abs(self.offset)
        none = self.kernel(self.points[:1, :0], self.points[:, :0], [])
        return (np.abs(none) @ np.abs(self.alpha) + np.abs(self.offset))[0]


def machine(points, alpha, offset, kernel, **how) -> Machine:
    """Return a Machine with arrays of the shapes that it needs."""
    points, alpha = dense(points), dense(alpha)
    alpha = alpha.reshape(len(points), -1)
    return Machine(points, alpha, np.broadcast_to(offset, alpha.shape[1]), kernel, **how)


def with_terms(kernel: Any, terms: Callable[[int], list[tuple[float, Any]]]) -> Any:
    """Return the kernel, with the products that it is a sum of as an attribute."""
    kernel.terms = terms
    return kernel


def pairwise(function: Callable[..., Array], gamma: float) -> Any:
    """Return a kernel of `sklearn.metrics.pairwise` with no columns allowed: then it is 1."""

    def kernel(x, z, columns):
        if not columns:
            return np.ones((len(x), len(z)))
        return function(x.copy(), z.copy(), gamma=gamma)

    return with_terms(kernel, lambda n_columns: [(1.0, kernel)])


def inner_products(x, z, columns):
    """The linear kernel, which needs all columns."""
    return linear_kernel(x, z)


def _products(n_columns: int) -> list[tuple[float, Callable[..., Array]]]:
    """Return the terms of the linear kernel: the product of one column each."""

    def of(column):
        def factor(x, z, columns):
            if column not in columns:
                return np.ones((len(x), len(z)))
            place = columns.index(column)
            return np.outer(x[:, place], z[:, place])

        return factor

    return [(1.0, of(column)) for column in range(n_columns)]


with_terms(inner_products, _products)


def _times(first, second):
    return lambda x, z, columns: first(x, z, columns) * second(x, z, columns)


def _power(factor, exponent):
    return lambda x, z, columns: factor(x, z, columns) ** exponent


def _tree_terms(node: Any, n_columns: int) -> list[tuple[float, Callable[..., Array]]]:
    """Return the products that the kernel of a Gaussian process is a sum of."""
    kind = type(node).__name__
    if kind == "WhiteKernel":
        return []
    if kind == "ConstantKernel":
        return [(node.constant_value, lambda x, z, columns: np.ones((len(x), len(z))))]
    if kind == "DotProduct":
        constant = (node.sigma_0**2, lambda x, z, columns: np.ones((len(x), len(z))))
        return [constant, *_products(n_columns)]
    if kind in ("Sum", "Product"):
        left, right = (_tree_terms(part, n_columns) for part in (node.k1, node.k2))
        if kind == "Sum":
            return left + right
        return [(a * b, _times(f, g)) for a, f in left for b, g in right]
    if kind == "Exponentiation" and type(node.kernel).__name__ == "RationalQuadratic":
        base, power = node.kernel, node.exponent
        return mixture_terms(
            "RationalQuadratic", base.alpha * power, base.length_scale / power**0.5
        )
    if kind == "Exponentiation" and type(node.kernel).__name__ == "Matern":
        return mixture_terms("Matern", 0.5, node.kernel.length_scale / node.exponent)
    if kind == "Exponentiation":
        inner = _tree_terms(node.kernel, n_columns)
        if len(inner) == 1:
            return [(inner[0][0] ** node.exponent, _power(inner[0][1], node.exponent))]
        if type(node.kernel).__name__ == "DotProduct":
            return power_terms(n_columns, node.exponent, 1.0, node.kernel.sigma_0**2)
        assert node.exponent == 2
        return [(a * b, _times(f, g)) for a, f in inner for b, g in inner]
    if kind == "PairwiseKernel" and node.metric == "linear":
        return _products(n_columns)
    if kind == "PairwiseKernel" and node.metric == "polynomial":
        return power_terms(n_columns, 3, node.gamma, 1.0)
    if kind in ("Matern", "RationalQuadratic") and getattr(node, "nu", 1.0) < math.inf:
        parameter = node.nu if kind == "Matern" else node.alpha
        return mixture_terms(kind, parameter, node.length_scale)
    return [(1.0, tree(node))]


def tree(node: Any) -> Any:
    """Return the kernel of a Gaussian process on some columns, node by node."""

    def kernel(x, z, columns):
        kind = type(node).__name__
        if kind in ("Sum", "Product"):
            left, right = (tree(part)(x, z, columns) for part in (node.k1, node.k2))
            return left + right if kind == "Sum" else left * right
        if kind == "Exponentiation":
            return tree(node.kernel)(x, z, columns) ** node.exponent
        if kind == "ConstantKernel":
            return np.full((len(x), len(z)), node.constant_value)
        if kind == "WhiteKernel":
            return np.zeros((len(x), len(z)))
        if not columns:
            return np.ones((len(x), len(z)))
        limited = node
        if np.size(getattr(node, "length_scale", 1.0)) > 1:
            limited = copy(node)
            limited.length_scale = np.asarray(node.length_scale)[columns]
        return limited(x.copy(), z.copy())

    return with_terms(kernel, partial(_tree_terms, node))


def by_pairs(model: Any, labels: Array) -> Array:
    """Return the coefficients of the one-vs-one machines of an SVC, from libsvm's layout.

    In `dual_coef_` the vectors of a class have one row for each other class, in order.
    """
    dual, classes = dense(model.dual_coef_), list(model.classes_)
    if len(classes) == 2:
        return dual.T
    members = [classes.index(label) for label in np.asarray(labels)[model.support_]]
    pairs = list(combinations(range(len(classes)), 2))
    alpha = np.zeros((len(members), len(pairs)))
    for vector, own in enumerate(members):
        others = [c for c in range(len(classes)) if c != own]
        for row, other in enumerate(others):
            alpha[vector, pairs.index((min(own, other), max(own, other)))] = dual[row, vector]
    return alpha


def by_classes(pairs: Array, n_classes: int, positive: int = 0) -> Array:
    """Return for each class the mean of its pair functions, with the sign that speaks for it.

    The last axis of `pairs` has them in order; positive values speak for the class `positive` of
    each pair, 0 or 1.
    """
    order = list(combinations(range(n_classes), 2))
    sign = 1.0 if positive == 0 else -1.0
    means = []
    for own in range(n_classes):
        total = 0.0
        for other in range(n_classes):
            if other > own:
                total = total + sign * pairs[..., order.index((own, other))]
            if other < own:
                total = total - sign * pairs[..., order.index((other, own))]
        means.append(total / (n_classes - 1))
    return np.stack(means, axis=-1)


def in_classes(found: Machine, n_classes: int) -> Machine:
    """Return the machine of an SVC's pairs as one of its classes."""
    alpha, offset = (by_classes(each, n_classes) for each in (found.alpha, found.offset))
    return replace(found, alpha=alpha, offset=offset)


def scale_gamma(table: Array) -> float:
    """Return what gamma="scale" stands for."""
    table = dense(table)
    return float(1.0 / (table.shape[1] * table.var()))


def support(svr, prepare, origins=None, gamma=0.3) -> Machine:
    """Return the Machine of an SVR, OneClassSVM or binary SVC behind some steps."""
    kernel = pairwise(rbf_kernel, gamma)
    return machine(
        svr.support_vectors_,
        dense(svr.dual_coef_)[0],
        svr.intercept_,
        kernel,
        prepare=prepare,
        origins=origins,
    )


def gaussians(name: str, parameter: float) -> list[tuple[float, float]]:
    """Return weights and rates t of a kernel of a distance, ``psi(q) = sum w exp(-t q)``.

    By the trapezoidal rule in log t, with so small a step and such wide ends that nothing is left
    to see of its error in double precision.
    """
    nu, step = parameter, 0.2
    found = []
    for y in np.arange(-80.0, 90.0, step):
        t = math.exp(y)
        if name == "Matern":
            log = nu * math.log(nu / 2.0) - math.lgamma(nu) - nu * y - nu / (2.0 * t)
        else:
            log = nu * math.log(2.0 * nu) - math.lgamma(nu) + nu * y - 2.0 * nu * t
        if log > -42.0:
            found.append((step * math.exp(log), t))
    return found


def mixture_terms(name: str, parameter: float, length_scale: Any) -> list[tuple[float, Any]]:
    """Return the products that a kernel of a distance is a sum of."""

    def of(rate):
        def factor(x, z, columns):
            if not columns:
                return np.ones((len(x), len(z)))
            scale = np.asarray(length_scale)[columns] if np.ndim(length_scale) else length_scale
            return np.exp(-rate * cdist(x / scale, z / scale, "sqeuclidean"))

        return factor

    return [(weight, of(rate)) for weight, rate in gaussians(name, parameter)]


def power_of_sum(degree: int, gamma: float, coef0: float) -> Any:
    """Return the polynomial kernel, which needs all columns."""

    def kernel(x, z, columns):
        return polynomial_kernel(x, z, degree=degree, gamma=gamma, coef0=coef0)

    return with_terms(kernel, partial(power_terms, degree=degree, gamma=gamma, coef0=coef0))


def power_terms(n_columns: int, degree: int, gamma: float, coef0: float) -> list[tuple[float, Any]]:
    """Return a power of a sum multiplied out: a product for every choice in all its factors."""
    constant = (coef0, lambda x, z, columns: np.ones((len(x), len(z))))
    sums = [constant, *((gamma, factor) for _, factor in _products(n_columns))]
    terms = [(1.0, lambda x, z, columns: np.ones((len(x), len(z))))]
    for _ in range(degree):
        terms = [(a * b, _times(f, g)) for a, f in terms for b, g in sums]
    return terms
