"""Means of Gaussian factors over rows, for many points at once, from a few nodes between them.

For one column the mean deficit of a point z over rows x_b with weights w_b, and the mean factor,

    D(z) = sum_b w_b (1 - exp(-g (x_b - z)^2)),        V(z) = sum_b w_b exp(-g (x_b - z)^2),

are entire functions of z. So the range of the points is cut into cells, the sums are evaluated at
m Chebyshev nodes of each cell, and the polynomials through these give all points of the cell.

**What the polynomials miss.** Let a cell have the centre c and the half-width h, and take the
ellipse with the foci c - h and c + h and the parameter rho, whose half-axes are h r and h s with
``r = (rho + 1/rho) / 2`` and ``s = (rho - 1/rho) / 2``. By Hermite's formula the error in the cell
is the integral over the ellipse of ``f(y) T_m(z) / (T_m(y) (y - z))``, over 2 pi. There
``|T_m(y)| >= (rho^m - rho^-m) / 2``, ``|y - z| >= h (r - 1)``, and the ellipse is not longer than
2 pi h r. So where f is at most M on the ellipse, the error is at most

    M r / (r - 1) * 2 / (rho^m - rho^-m)        for every rho > 1.

With y = p + iq, ``|exp(-g (x - y)^2)| = exp(-g (x - p)^2 + g q^2) <= e^(g q^2)``, so that for V
``M = e^(g h^2 s^2)``; and ``|1 - e^-w| <= |w| max(1, e^-Re w)`` gives for D, with the mean and the
variance of the rows, ``M = min(1 + e^(g h^2 s^2), e^(g h^2 s^2) g (var + (|mean - c| + h r)^2))``.
Nodes are rounded to doubles. Cells are so wide that this moves them by 2^-27 of a half-width at
most, and T_m, the product of the distances to the nodes, by less than a millionth; hence `_MARGIN`.

**What rounding costs.** With nodes y_i, the weights ``v_i = 1 / prod_(k != i) (y_i - y_k)`` of the
nodes *as rounded*, and sums f_i that are off by n units in the last place, the formula is

    p(z) = sum_i v_i f_i / (z - y_i)  /  sum_i v_i / (z - y_i).

A relative error e_i of ``v_i / (z - y_i)`` moves p by ``sum_i l_i(z) e_i (f_i - p)``, with the
Lagrange polynomials l_i; there are 2m + 3 roundings in each. The product with f_i and the two sums
have 2m + 2 more. As the ``|l_i|`` sum to at most ``1 + 2/pi log m``, p is off by
``(n + 4m + 5) (1 + 2/pi log m) max f_i`` units.

Both are compared with what the sum over all rows may be off by, point by point; where they are not
below, the point is left to that sum. So no property of the data is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices
from pkex.games.protocols import Factors

__all__ = ["CertifiedMeans", "gauss_means"]


_FEWEST_CELLS = 6  # sums vary little inside of a cell then, in usual data
_WIDEST = 1.25  # half-width of a cell, in units of 1 / sqrt(g)
_MOST_TERMS = 40
_SHORTEN = 4  # at least so many points for each node, or it is not worth it
_FARTHEST = 2.0**24  # distance of a cell from 0, in units of its half-width
_AIM = 2.0**-56  # what polynomials should miss of V
_MARGIN = 1.01
_ELLIPSES = np.geomspace(1.5, 300.0, 80)
_MAJOR, _MINOR = (_ELLIPSES + 1.0 / _ELLIPSES) / 2.0, (_ELLIPSES - 1.0 / _ELLIPSES) / 2.0
_AT_ONCE = 2**17  # numbers of an array of points and nodes
_UNIT = 2.0**-53


class CertifiedMeans(NamedTuple):
    """Means of some columns, and where they are proven to be as good as plain sums.

    Attributes
    ----------
    means : Factors of shape (columns, points)
    proven : array of bool of shape (columns, points)
    """

    means: Factors
    proven: NDArray[np.bool_]


class _Cells(NamedTuple):
    """The same number of cells in several columns."""

    columns: Indices
    lowest: Floats
    half: Floats
    number: int
    terms: int


def gauss_means(
    sums: Callable[[Indices, Floats], Factors],
    n_roundings: float,
    x: Floats,
    z: Floats,
    shares: Floats,
    rates: Floats,
    allowed: float,
) -> CertifiedMeans:
    """Return means of ``exp(-rates (x - z)^2)`` over the rows of `x`.

    Parameters
    ----------
    sums : callable
        Takes numbers of columns and nodes of shape (nodes, columns), returns the means there.
    n_roundings : float
        By how many units in the last place these may be off.
    x, z : arrays of shape (rows, columns) and (points, columns)
    shares : array of shape (rows,)
        The weights of the rows, which sum to 1.
    rates : array of shape (columns,)
    allowed : float
        By how many units in the last place a mean that counts as proven may be off.
    """
    shape = z.shape[1], z.shape[0]
    values, deficits = np.ones(shape), np.zeros(shape)
    proven = np.zeros(shape, dtype=bool)
    mean = shares @ x
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        spread = shares @ (x - mean) ** 2
        for cells in _cut(z, rates):
            some = cells.columns
            steps = cells.half[:, None] * (2.0 * np.arange(cells.number) + 1.0)
            centres = cells.lowest[:, None] + steps
            nodes = centres[:, :, None] + cells.half[:, None, None] * _chebyshev(cells.terms)
            flat = nodes.reshape(len(some), -1)
            node_sums = sums(some, np.asfortranarray(flat.T))
            missed = _interpolation_errors(cells, centres, rates[some], mean[some], spread[some])
            units = (n_roundings + 4.0 * cells.terms + 5.0) * _lebesgue(cells.terms)
            at_nodes = [part.reshape(nodes.shape) for part in node_sums]
            errors = [
                miss + _UNIT * units * part.max(axis=2)
                for miss, part in zip(missed, at_nodes, strict=True)
            ]
            shares_of_nodes = _barycentric(nodes, cells.half)
            step = max(1, _AT_ONCE // (len(z) * cells.terms))
            for start in range(0, len(some), step):
                part = slice(start, start + step)
                columns = some[part]
                local = cells._replace(lowest=cells.lowest[part], half=cells.half[part])
                interpolated = _Interpolated(
                    local, z[:, columns].T, nodes[part], shares_of_nodes[part]
                )
                u = interpolated.of(at_nodes[1][part])
                right = interpolated.of_cells(errors[1][part]) <= allowed * _UNIT * u
                k = 1.0 - u
                small = u >= 0.5  # here the digits are in the factors
                if small.any():
                    exact = interpolated.of(at_nodes[0][part])
                    off = interpolated.of_cells(errors[0][part])
                    right &= ~small | (off <= allowed * _UNIT * exact)
                    k[small] = exact[small]
                values[columns], deficits[columns], proven[columns] = k, u, right
    return CertifiedMeans(Factors(values, deficits), proven)


def _cut(z: Floats, rates: Floats) -> list[_Cells]:
    """Return the cells of the columns that are worth it, by their number."""
    lowest, highest = z.min(axis=0), z.max(axis=0)
    reach = 0.5 * np.sqrt(rates) * (highest - lowest)
    counts = np.maximum(_FEWEST_CELLS, np.ceil(reach / _WIDEST))
    rough = np.exp2(np.floor(np.log2(counts)) - 2.0)
    counts = rough * np.ceil(counts / rough)  # few different numbers, as their columns go together
    half = (highest - lowest) / (2.0 * counts)
    usable = (half > 0.0) & np.isfinite(highest - lowest)
    usable &= np.maximum(np.abs(lowest), np.abs(highest)) <= _FARTHEST * half
    every = []
    for count in np.unique(counts[usable]):
        some = np.flatnonzero(usable & (counts == count))
        terms = _terms(float(np.ceil(64.0 * reach[some].max() / count)) / 64.0)
        if _SHORTEN * count * terms <= len(z):
            every.append(_Cells(some, lowest[some], half[some], int(count), terms))
    return every


@lru_cache(maxsize=128)
def _terms(width: float) -> int:
    """Return how many nodes a cell of this half-width, in units of ``1 / sqrt(g)``, needs."""
    growth = np.exp(np.minimum(700.0, (width * _MINOR) ** 2))
    for terms in range(4, _MOST_TERMS):
        if (growth * _truncation_errors(terms)).min() <= _AIM:
            return terms
    return _MOST_TERMS


def _truncation_errors(terms: int) -> Floats:
    """Return what polynomials of so many nodes leave out of a function of size 1 on ellipses."""
    powers = _ELLIPSES**terms - _ELLIPSES**-terms
    left_out: Floats = _MARGIN * 2.0 * _MAJOR / ((_MAJOR - 1.0) * powers)
    return left_out


@lru_cache(maxsize=_MOST_TERMS)
def _chebyshev(terms: int) -> Floats:
    nodes: Floats = np.cos(np.pi * (2.0 * np.arange(terms) + 1.0) / (2.0 * terms))
    return nodes


def _lebesgue(terms: int) -> float:
    return float(1.0 + 2.0 / np.pi * np.log(terms))


def _interpolation_errors(
    cells: _Cells, centres: Floats, rates: Floats, mean: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """Return what the polynomials miss of V and of D in each cell, shape (columns, cells)."""
    half, left_out = cells.half[:, None], _truncation_errors(cells.terms)
    growth = np.exp(rates[:, None] * (half * _MINOR) ** 2)
    of_values = (growth * left_out).min(axis=1)
    far = np.abs(mean[:, None] - centres)[:, :, None] + (half * _MAJOR)[:, None, :]
    sizes = rates[:, None, None] * (spread[:, None, None] + far**2)
    sizes = np.fmin(1.0 + growth[:, None, :], growth[:, None, :] * sizes)
    return np.broadcast_to(of_values[:, None], centres.shape), (sizes * left_out).min(axis=2)


def _barycentric(nodes: Floats, half: Floats) -> Floats:
    """Return the weights of the nodes, up to a factor that is the same for all of a cell."""
    apart = nodes[..., :, None] - nodes[..., None, :]
    apart *= 2.0 / half[:, None, None, None]  # so that products are of size 1
    every = np.arange(nodes.shape[-1])
    apart[..., every, every] = 1.0
    weights: Floats = 1.0 / apart.prod(axis=-1)
    return weights


class _Interpolated:
    """Points of some columns between the nodes of their cells."""

    def __init__(self, cells: _Cells, z: Floats, nodes: Floats, weights: Floats) -> None:
        self.shape = z.shape
        where = (z - cells.lowest[:, None]) / (2.0 * cells.half[:, None])
        cell = np.clip(where, 0.0, cells.number - 1.0).astype(np.intp)
        self._at = (cell + cells.number * np.arange(len(z))[:, None]).reshape(-1)
        self._weights = weights
        apart = nodes.reshape(-1, cells.terms).take(self._at, axis=0)
        np.subtract(z.reshape(-1, 1), apart, out=apart)
        self._hits = np.nonzero(apart == 0.0)  # points that are nodes
        apart[self._hits] = 1.0
        self._inverse = np.divide(1.0, apart, out=apart)
        self._total = self._sum(weights)

    def _sum(self, numbers: Floats) -> Floats:
        rows = numbers.reshape(-1, numbers.shape[-1]).take(self._at, axis=0)
        total: Floats = np.einsum("ij,ij->i", rows, self._inverse)
        return total

    def of(self, numbers: Floats) -> Floats:
        """Return the polynomials through numbers at the nodes, for all points."""
        interpolated = self._sum(numbers * self._weights) / self._total
        point, node = self._hits
        interpolated[point] = numbers.reshape(-1, numbers.shape[-1])[self._at[point], node]
        return interpolated.reshape(self.shape)

    def of_cells(self, numbers: Floats) -> Floats:
        """Return a number of each cell for all its points."""
        by_point: Floats = numbers.reshape(-1)[self._at].reshape(self.shape)
        return by_point
