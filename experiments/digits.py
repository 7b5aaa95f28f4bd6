r"""Shapley values in many digits, with a proven error: the judge in the table on stability.

By Owen's diagonal formula, with the deficits :math:`u_{ij} = 1 - k_j(x_j, x_{ij})`,

.. math:: \phi_j = -\sum_i \alpha_i u_{ij} \int_0^1 \prod_{l \ne j} (1 - t u_{il})\, dt,

and Gauss-Legendre with :math:`\lceil d/2 \rceil` nodes is exact for the polynomial inside. All
numbers are balls of Arb (python-flint), which carry their own error bounds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

__all__ = ["rbf_shapley"]

Floats = NDArray[np.float64]

_BITS = 160


def rbf_shapley(points: Floats, alpha: Floats, x: Floats, length_scale: float) -> Floats:
    """Return the Shapley values of ``sum_i alpha_i exp(-|x - x_i|^2 / (2 l^2))``, rounded once.

    All arguments are taken exactly. Raises ArithmeticError unless the bound on each error is below
    a unit in the 17th digit of the largest value.
    """
    before = flint.ctx.prec
    flint.ctx.prec = _BITS
    try:
        rate = -1 / (2 * flint.arb(length_scale) ** 2)
        phi = [flint.arb(0) for _ in x]
        nodes, weights = _gauss_legendre((len(x) + 1) // 2)
        for point, coefficient in zip(points.tolist(), alpha.tolist(), strict=True):
            deficits = [
                -((flint.arb(a) - flint.arb(b)) ** 2 * rate).expm1()
                for a, b in zip(x.tolist(), point, strict=True)
            ]
            _add(phi, flint.arb(coefficient), deficits, nodes, weights)
        largest = max(abs(float(value)) for value in phi)
        if max(float(value.rad()) for value in phi) > 1e-17 * largest:
            raise ArithmeticError(f"{_BITS} bits do not suffice for {len(x)} features.")
        return np.array([float(value) for value in phi])
    finally:
        flint.ctx.prec = before


def _add(phi: list[Any], alpha: Any, deficits: list[Any], nodes: Any, weights: Any) -> None:
    """Add one point's term to `phi`; all products but one from prefixes and a running suffix."""
    factors = [1 - nodes * u for u in deficits]
    prefixes = [alpha * weights]
    for factor in factors[:-1]:
        prefixes.append(prefixes[-1] * factor)
    suffix = None
    for j in reversed(range(len(deficits))):
        product = prefixes[j] if suffix is None else prefixes[j] * suffix
        phi[j] -= deficits[j] * product.sum()
        suffix = factors[j] if suffix is None else suffix * factors[j]


@lru_cache(maxsize=16)
def _gauss_legendre(m: int) -> tuple[Any, Any]:
    """Return nodes and weights on [0, 1] as arrays of balls; called at one precision only."""
    pairs = [flint.arb.legendre_p_root(m, k, weight=True) for k in range(m)]
    nodes = np.array([(1 + node) / 2 for node, _ in pairs], dtype=object)
    return nodes, np.array([weight / 2 for _, weight in pairs], dtype=object)
