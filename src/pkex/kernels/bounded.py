"""Radial kernels of bounded distances as sums of few Gaussian kernels, with a proven error.

The mixtures of `pkex.kernels.mixtures` hold for every squared distance q. Over rows and points that
are known, q is at most a `reach`, and a sum of as few terms can be orders of magnitude closer: wide
Gaussians are alike there. It is a Gauss rule for the finest mixture,

    sum_k w_k exp(-tau_k q) = sum_k w_k F(t_k),      t = (1 + tau / scale)^-power in (0, 1),

whose nodes and weights come from the Lanczos process (Golub and Welsch 1969); weights are positive.
Some maps t are tried and the best is kept. How a rule was found has no part in its proof:

*Proof of the error.* Let D be the difference of the two sums, ``sum_k c_k exp(-tau_k q)``. The
interval [0, reach] is cut into cells, and on a cell of length h, D is compared with its polynomial
interpolant at m Chebyshev nodes, whose maximum is at most ``L = 1 + 2/pi log m`` times the largest
of the values at the nodes (Rivlin 1974). The interpolant of ``exp(-tau q)`` on [a, a + h] is off by
at most ``2 (h/4)^m tau^m exp(-tau a) / m!``. Cells have ``h = a``, where with ``x = tau h`` this is
``2 4^-m x^m exp(-x) / m! <= 2 4^-m``, as a probability of Poisson's is below 1; the first cell [0,
h] has ``tau h <= 4`` for all tau, where it is at most ``2 / m!``, which is smaller. So

    |D| <= L max |D(nodes)| + 2 4^-m sum_k |c_k|      on [0, reach].

The exponentials at the nodes are right to some roundings, which are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.algebra import Kernel, Product, Scale, Sum
from pkex.kernels.mixtures import Mixture
from pkex.kernels.normal_form import Expansion
from pkex.kernels.radial import Radial, gaussians

__all__ = ["proven_error", "restrict_to_box"]


_GOAL = 3e-13  # an error beside which rounding is larger, so that fewer terms do
_MOST = 40  # terms; where more are needed, a Gauss rule is not the better one
_TRIED = 60  # distances at which rules are compared
_NODES = 26  # of a cell: 2 4^-26 is 4e-16
_POWERS = (0.125, 0.25, 0.5, 1.0)
_SCALES = (2.0, 5.0, 10.0, 20.0, 50.0)  # times 1 / reach
_FARTHEST = 2.0**10  # a reach beyond which the mixtures for all distances are as good


def restrict_to_box(kernel: Kernel, x: Floats, z: Floats, tol: float) -> Kernel:
    """Return the kernel with sums of Gaussians that hold for all rows of `x` and points `z`.

    Entries of rows may be combined freely. A sum has no more terms than the one that has an error
    below `tol` for all distances, and no larger error.
    """
    if isinstance(kernel, Sum | Product):
        return type(kernel)(tuple(restrict_to_box(part, x, z, tol) for part in kernel.kernels))
    if isinstance(kernel, Scale):
        return Scale(kernel.factor, restrict_to_box(kernel.kernel, x, z, tol))
    if not isinstance(kernel, Radial):
        return kernel
    chosen = slice(None) if kernel.columns is None else list(kernel.columns)
    x, z = x[:, chosen], z[:, chosen]
    widest = np.maximum(x.max(axis=0) - z.min(axis=0), z.max(axis=0) - x.min(axis=0))
    with np.errstate(over="ignore"):
        farthest = float(np.sum((widest / np.asarray(kernel.length_scale)) ** 2))
    if not 0.0 < farthest <= _FARTHEST:
        return kernel
    reach = 2.0 ** math.ceil(math.log2(farthest * (1.0 + 1e-12)))  # few different ones
    return _Bounded(kernel, _fewest(kernel, reach, tol))


@dataclass(frozen=True, eq=False)
class _Bounded(Kernel):
    """A radial kernel with its own mixture."""

    kernel: Radial
    mixture: Mixture

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:  # noqa: ARG002
        self.kernel.check_width(n_columns)
        return gaussians(self.kernel, self.mixture)


@lru_cache(maxsize=64)
def _fewest(kernel: Radial, reach: float, tol: float) -> Mixture:
    """Return the shortest mixture with the wanted error, or the best of as many terms as usual."""
    fine, usual = kernel.mixture(), kernel.mixture(tol)
    most = min(len(usual.scales), _MOST)
    maps = [(max(scale / reach, 0.5), power) for scale in _SCALES for power in _POWERS]
    rules = [_Rule(fine, most, *one) for one in maps]
    q = np.concatenate([[0.0], np.geomspace(min(1.0 / fine.scales[-1], reach), reach, _TRIED)])
    wanted = np.exp(-fine.scales * q[:, None]) @ fine.weights

    def best(size: int) -> tuple[float, Floats, Floats]:
        shorter = [rule.shorten(size) for rule in rules]
        misses = [np.abs(np.exp(-t * q[:, None]) @ w - wanted).max() for t, w in shorter]
        k = int(np.argmin(misses))
        return float(misses[k]), *shorter[k]

    low, high, chosen = 1, most, best(most)
    while low < high and chosen[0] <= _GOAL:
        middle = (low + high) // 2
        shorter = best(middle)
        if shorter[0] <= _GOAL:
            chosen, high = shorter, middle
        else:
            low = middle + 1
    error = proven_error(fine, *chosen[1:], reach)
    return Mixture(*chosen[1:], error) if error < usual.error else usual


class _Rule:
    """Gauss rules for a mixture in the variable t: the Jacobi matrix of the largest has them all.

    Parameters
    ----------
    fine : Mixture
    most : int
        Number of nodes of the largest.
    scale, power : float
        Of the map to t.
    """

    def __init__(self, fine: Mixture, most: int, scale: float, power: float) -> None:
        self.scale, self.power, self.total = scale, power, float(fine.weights.sum())
        t = (1.0 + fine.scales / scale) ** -power
        basis, self.jacobi = np.zeros((most, len(t))), np.zeros((most, most))
        vector = np.sqrt(fine.weights)
        for k in range(most):
            length = float(np.linalg.norm(vector))
            basis[k] = vector / max(length, 1e-300)
            if k:
                self.jacobi[k, k - 1] = length
            vector = t * basis[k]
            self.jacobi[k, k] = vector @ basis[k]
            for _ in range(2):  # once more for what rounding leaves
                vector = vector - (basis[: k + 1] @ vector) @ basis[: k + 1]

    def shorten(self, size: int) -> tuple[Floats, Floats]:
        """Return scales and weights of the rule of so many nodes."""
        nodes, vectors = np.linalg.eigh(self.jacobi[:size, :size])  # which reads the lower half
        t = np.clip(nodes[::-1], 1e-30, 1.0)  # which rounding may miss
        return self.scale * np.expm1(-np.log(t) / self.power), self.total * vectors[0, ::-1] ** 2


def proven_error(fine: Mixture, scales: Floats, weights: Floats, reach: float) -> float:
    """Return the proven error of a sum for all distances up to the reach."""
    taus, shares = np.concatenate([fine.scales, scales]), np.concatenate([fine.weights, -weights])
    first = 4.0 / taus.max()
    edges = reach * 0.5 ** np.arange(max(0, math.ceil(math.log2(reach / first))), -1.0, -1.0)
    starts, stops = np.concatenate([[0.0], edges[:-1]]), edges
    chebyshev = np.sin((np.arange(_NODES) + 0.5) * (math.pi / (2 * _NODES))) ** 2  # in [0, 1]
    q = (starts[:, None] + (stops - starts)[:, None] * chebyshev).reshape(-1, 1)
    with np.errstate(under="ignore"):
        exponents = taus * q
        parts = shares * np.exp(-exponents)
        rounding = 2.0**-52 * (np.abs(parts) * (exponents + len(taus))).sum(axis=1).max()
    largest = np.abs(parts.sum(axis=1)).max() + rounding
    lebesgue = 1.0 + 2.0 / math.pi * math.log(_NODES)
    beyond = 2.0 * 4.0**-_NODES * np.abs(shares).sum()
    return float(fine.error + lebesgue * largest + beyond)
