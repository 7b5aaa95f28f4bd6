"""Kernels in many digits, written a second time: what they are, by class, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp, mpf

__all__ = ["differentiate", "evaluate", "mixed"]

DIGITS = 50


def evaluate(kernel: Any, x: Any, z: Any) -> Any:
    """Return a kernel of two rows of mpf."""
    name = type(kernel).__name__
    if name == "Sum":
        return sum(evaluate(one, x, z) for one in kernel.kernels)
    if name == "Product":
        return mp.fprod(evaluate(one, x, z) for one in kernel.kernels)
    if name == "Scale":
        return mpf(kernel.factor) * evaluate(kernel.kernel, x, z)
    if name == "Constant":
        return mpf(kernel.value)
    columns = getattr(kernel, "columns", None) or range(len(x))
    u, v = [x[j] for j in columns], [z[j] for j in columns]
    if name in ("Linear", "Polynomial"):
        dot = mp.fdot(u, v)
        if name == "Linear":
            return dot
        return (mpf(kernel.gamma) * dot + mpf(kernel.coef0)) ** kernel.degree
    if name == "Chi2":
        rates = np.broadcast_to(kernel.gamma, len(u))
        return mp.exp(
            -sum(mpf(g) * (a - b) ** 2 / (a + b) for g, a, b in zip(rates, u, v, strict=True))
        )
    lengths = [mpf(float(one)) for one in np.broadcast_to(kernel.length_scale, len(u))]
    scaled = [(a - b) / length for a, b, length in zip(u, v, lengths, strict=True)]
    if name in ("Matern", "RationalQuadratic"):
        q = mp.fdot(scaled, scaled)
        if name == "RationalQuadratic":
            return (1 + q / (2 * mpf(kernel.alpha))) ** -mpf(kernel.alpha)
        nu = mpf(kernel.nu)
        return _matern(mp.sqrt(2 * nu * q), nu)
    if name == "Periodic":
        periods = [mpf(float(one)) for one in np.broadcast_to(kernel.periodicity, len(u))]
        cycles = [(a - b) / p for a, b, p in zip(u, v, periods, strict=True)]
        pairs = zip(cycles, lengths, strict=True)
        return mp.exp(-sum(2 * mp.sin(mp.pi * c) ** 2 / length**2 for c, length in pairs))
    factors = {
        "RBF": lambda s: mp.exp(-s * s / 2),
        "Laplacian": lambda s: mp.exp(-abs(s)),
        "Cauchy": lambda s: 1 / (1 + s * s),
        "ProductMatern": lambda s: _matern(mp.sqrt(2 * mpf(kernel.nu)) * abs(s), mpf(kernel.nu)),
    }
    return mp.fprod(factors[name](one) for one in scaled)


def _matern(a: Any, nu: Any) -> Any:
    return mpf(1) if a == 0 else 2 ** (1 - nu) / mp.gamma(nu) * a**nu * mp.besselk(nu, a)


def differentiate(kernel: Any, x: Any, z: Any) -> list[float]:
    """Return the derivatives of a kernel of two rows by the columns of the first."""
    with mp.workdps(DIGITS):
        x, z = [mpf(float(one)) for one in x], [mpf(float(one)) for one in z]

        def along(j: int) -> Any:
            return lambda t: evaluate(kernel, [*x[:j], t, *x[j + 1 :]], z)

        return [float(mp.diff(along(j), x[j])) for j in range(len(x))]


def mixed(kernel: Any, x: Any, step: float = 1e-12) -> np.ndarray:
    """Return the second derivatives by a column of each argument, where both are the same row.

    They are central differences in many digits.
    """
    with mp.workdps(DIGITS):
        x, h = [mpf(float(one)) for one in x], mpf(step)

        def shifted(j: int, sign: int) -> Any:
            return [*x[:j], x[j] + sign * h, *x[j + 1 :]]

        def entry(j: int, k: int) -> float:
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            terms = [s * t * evaluate(kernel, shifted(j, s), shifted(k, t)) for s, t in signs]
            return float(sum(terms) / (4 * h * h))

        return np.array([[entry(j, k) for k in range(len(x))] for j in range(len(x))])
