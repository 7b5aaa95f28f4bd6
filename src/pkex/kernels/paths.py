"""Integrals of the gradient of a kernel along straight paths, which integrated gradients sum up.

A path goes from a baseline b to a row x. With D = x - b the integrated gradient of column j is

    D_j int_0^1 d k(b + t D, z) / dx_j dt,

and the columns sum to ``k(x, z) - k(b, z)``: completeness. A kernel is cut into the summands that
it is a sum of. Gaussian kernels have a closed form (`pkex.kernels.gaussian_paths`), Laplacian
kernels another one between their kinks (here). Radial and other kernels are integrated by rules
with more and more nodes, until a rule and the next agree (`pkex.kernels.path_rules`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.types import Floats
from pkex.kernels.algebra import Kernel, Product, Scale, Sum
from pkex.kernels.columns import RBF, Laplacian
from pkex.kernels.constant import Constant
from pkex.kernels.gaussian_paths import integrate_gaussian
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.path_rules import PathSums, integrate_by_rule, integrate_radial
from pkex.kernels.product_matern import ProductMatern
from pkex.kernels.radial import Radial

__all__ = ["CLOSED", "RULE", "PathPiece", "integrate_paths", "split_kernel"]

CLOSED, RULE = "path integral, closed form", "path integral, quadrature"


class PathPiece(NamedTuple):
    """A summand of a kernel, times a number.

    `rates` are those of a Gaussian or Laplacian kernel, by column: ``sum_j rates_j (x_j - z_j)^2``
    or ``sum_j rates_j |x_j - z_j|`` is the exponent.
    """

    kind: str
    factor: float
    kernel: Kernel
    rates: Floats

    @property
    def family(self) -> str:
        """The name of the method of integration in a result."""
        return CLOSED if self.kind in ("gaussian", "laplacian") else RULE


def split_kernel(kernel: Kernel, n_columns: int, factor: float = 1.0) -> list[PathPiece]:
    """Return the summands of a kernel, but for constants, whose gradient is 0."""
    if isinstance(kernel, Constant):
        return []
    if isinstance(kernel, Scale):
        return split_kernel(kernel.kernel, n_columns, factor * kernel.factor)
    if isinstance(kernel, Sum):
        return [piece for one in kernel.kernels for piece in split_kernel(one, n_columns, factor)]
    leaves: tuple[Kernel, ...] = (kernel,)
    if isinstance(kernel, Product):
        leaves = tuple(one for one in kernel.kernels if not isinstance(one, Constant))
        constants = [one.value for one in kernel.kernels if isinstance(one, Constant)]
        factor *= math.prod(constants)
        if len(leaves) <= 1:
            return [p for one in leaves for p in split_kernel(one, n_columns, factor)]
        kernel = Product(leaves)
    for kind, rates in (("gaussian", _gaussian_rates), ("laplacian", _laplacian_rates)):
        every = [rates(leaf, n_columns) for leaf in leaves]
        known = [each for each in every if each is not None]
        if len(known) == len(every):
            return [PathPiece(kind, factor, kernel, np.sum(known, axis=0))]
    kind = "radial" if isinstance(kernel, Radial) else "other"
    return [PathPiece(kind, factor, kernel, np.zeros(n_columns))]


def _gaussian_rates(kernel: Kernel, n_columns: int) -> Floats | None:
    if type(kernel) is not RBF:
        return None
    return _place(kernel, 0.5 / np.square(kernel.length_scale), n_columns)


def _laplacian_rates(kernel: Kernel, n_columns: int) -> Floats | None:
    if type(kernel) is Laplacian or (type(kernel) is ProductMatern and kernel.nu == 0.5):
        return _place(kernel, 1.0 / np.asarray(kernel.length_scale), n_columns)
    return None


def _place(kernel: ColumnKernel, rates: Floats, n_columns: int) -> Floats:
    placed = np.zeros(n_columns)
    placed[slice(None) if kernel.columns is None else list(kernel.columns)] = rates
    return placed


def integrate_paths(
    piece: PathPiece, rows: Floats, baseline: Floats, z: Floats, a: Floats
) -> PathSums:
    """Return the integrated gradients of ``sum_i a_i k(x, z_i)`` for paths from one baseline.

    Parameters
    ----------
    piece : PathPiece
    rows : array of shape (n_rows, n_columns)
    baseline : array of shape (n_columns,)
    z : array of shape (n_points, n_columns)
    a : array of shape (n_points, n_outputs)
    """
    if piece.kind == "gaussian":
        return integrate_gaussian(piece.rates, rows, baseline, z, a)
    sums = []
    for row in rows:
        if piece.kind == "laplacian":
            sums.append(_integrate_laplacian(piece.rates, row, baseline, z, a))
        elif isinstance(piece.kernel, Radial):
            sums.append(integrate_radial(piece.kernel, row, baseline, z, a))
        else:
            sums.append(integrate_by_rule(piece.kernel, row, baseline, z, a))
    return PathSums(*(np.stack(arrays) for arrays in zip(*sums, strict=True)))


def _integrate_laplacian(rates: Floats, x: Floats, b: Floats, z: Floats, a: Floats) -> PathSums:
    """Return the sums of one path; between two kinks the exponent is linear in t.

    There the integral of the kernel is ``l exp(-c) (1 - exp(-s)) / s`` for a segment of length l
    with the exponent c at its start and c + s at its end. The sign of the slope of a column changes
    once, at its kink, so that it takes the integral up to there and the one of the whole path.
    """
    step = x - b
    moving = (step != 0.0) & (rates > 0.0)
    start = b - z
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.where(moving, -start / step, 2.0)
    inside = (kinks > 0.0) & (kinks < 1.0)
    kinks = np.where(inside, kinks, 1.0)
    order = np.argsort(kinks, axis=1)
    ends = np.zeros((len(z), len(x) + 2))
    ends[:, 1:-1], ends[:, -1] = np.take_along_axis(kinks, order, axis=1), 1.0
    exponents = np.empty_like(ends)
    for place in range(ends.shape[1]):
        at = np.abs(start + ends[:, place, None] * step)
        at[(ends[:, place, None] == kinks) & inside] = 0.0  # exactly, at the kink of a column
        exponents[:, place] = at @ rates
    lengths, rises = np.diff(ends, axis=1), np.diff(exponents, axis=1)
    # written from the smaller exponent, so that nothing overflows
    sizes = np.abs(rises)
    with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
        means = np.where(sizes > 0.0, -np.expm1(-sizes) / sizes, 1.0)
        parts = lengths * np.exp(-np.minimum(exponents[:, 1:], exponents[:, :-1])) * means
        worth = np.exp(-exponents[:, [0, -1]])
    until = np.cumsum(parts, axis=1)
    whole = until[:, -1:]
    before = np.empty_like(kinks)  # the integral up to the kink of each column
    np.put_along_axis(before, order, until[:, :-1], axis=1)
    first = np.where(start != 0.0, np.sign(start), np.sign(step))
    signed = first * np.where(inside, 2.0 * before - whole, whole)
    slopes = -np.where(moving, signed, 0.0) * rates * step
    rise, weight = worth[:, 1] - worth[:, 0], np.abs(a)
    # of each of d segments, and of exponents, which are sums of d numbers
    length = float(rates @ np.abs(step))
    error = 16.0 * (len(x) + 4.0) * UNIT * (1.0 + length) * weight.sum(axis=0)
    return PathSums(slopes.T @ a, rise @ a, error)
