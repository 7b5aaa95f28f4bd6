"""Integrals along straight paths by quadrature, for kernels without a closed form.

A path is cut where a kernel is not smooth: where a column of a Laplacian or of a product of Matern
kernels crosses the value of a point, and where the path is nearest to the point of a radial kernel.
A path that is long beside the length scales is cut where it is nearest to the point of any kernel
of distances: it passes a narrow peak there, which equally dense nodes would miss. Other column
kernels, Chi2 and custom ones, have no length scale. If they are nearly 0 between both ends of a
path, it is cut where a column crosses the value of a point, where their peaks are. Pieces are
integrated by rules with more and more nodes: Gauss-Legendre where the integrand is smooth up to the
ends and has no narrow peak, else the double exponential rule, which is dense at both ends. The
error is not proven: two rules must agree, and the columns must sum to the difference of the kernel,
which is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.errors import AdditivityError
from pkex.kernels.algebra import Kernel, Product, Scale, Sum
from pkex.kernels.columns import Laplacian, Periodic, Stationary
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.product_matern import ProductMatern
from pkex.kernels.radial import Radial

__all__ = ["PathSums", "integrate_by_rule", "integrate_radial"]

_AGREE = 1e-12  # accepted difference of two rules, of the size of the integrand
_ENTRIES = 2**18  # numbers held at once
_NARROW = 1e-200  # of a kernel between both ends of a path, beside those with themselves
_LONG = 8.0  # length scales of a path on which nodes of Gauss and Legendre find every peak
_POINTS = 512  # of a radial kernel at once
_REACH = 3.6  # of the double exponential rule: its weights are below 1e-24 beyond
Rule = tuple[Floats, Floats]


class PathSums(NamedTuple):
    """Sums over points for each row, or for one.

    Attributes
    ----------
    values : array of shape ([n_rows,] n_columns, n_outputs)
        Integrated gradients.
    rises : array of shape ([n_rows,] n_outputs)
        What they should sum to: the function at the row minus that at the baseline.
    errors : array of shape ([n_rows,] n_outputs)
        What a value may be off by.
    """

    values: Floats
    rises: Floats
    errors: Floats


@lru_cache(maxsize=32)
def _gauss_legendre(n_nodes: int) -> Rule:
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return 0.5 * (nodes + 1.0), 0.5 * weights


@lru_cache(maxsize=8)
def _double_exponential(level: int) -> Rule:
    """Return nodes and weights on (0, 1), which are dense at both ends."""
    step = 2.0**-level
    count = int(_REACH / step)
    u = step * np.arange(-count, count + 1)
    nodes = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(u)))
    slopes = np.pi * np.cosh(u) / (2.0 + 2.0 * np.cosh(np.pi * np.sinh(u)))
    return nodes, step * slopes


def _rules(smooth: bool) -> Iterator[Rule]:
    if smooth:
        yield from (_gauss_legendre(n) for n in (8, 16, 32, 64, 128, 256, 512))
    else:
        yield from (_double_exponential(level) for level in range(2, 9))


def integrate_radial(kernel: Radial, x: Floats, b: Floats, z: Floats, a: Floats) -> PathSums:
    """Return the sums of one path for a radial kernel: two integrals serve all columns of a point.

    With the slope of the kernel by the squared distance q, and the place p of the path that is
    nearest to the point, they are those of the slope and of the slope times the distance from p.
    The terms of q around p are all positive, so that none cancels.
    """
    columns = slice(None) if kernel.columns is None else list(kernel.columns)
    scale = 1.0 / np.asarray(kernel.length_scale)
    steps, starts = (x - b)[columns] * scale, (b - z)[:, columns] * scale
    length = float(steps @ steps)
    values, errors = np.zeros((len(x), a.shape[1])), np.zeros(a.shape[1])
    ends = kernel.matrix(np.stack([b, x]), z)
    rise = (ends[1] - ends[0]) @ a
    if length == 0.0:
        return PathSums(values, rise, errors)
    for start in range(0, len(z), _POINTS):
        some = slice(start, start + _POINTS)
        whole, mean, at, missed = _radial_integrals(kernel, steps, starts[some], length)
        values[columns] += 2.0 * steps[:, None] * ((at * whole[:, None]).T @ a[some])
        values[columns] += 2.0 * (steps * steps)[:, None] * (mean @ a[some])
        errors += missed @ np.abs(a[some])
    return PathSums(values, rise, errors + _roundings(ends, a))


def _radial_integrals(
    kernel: Radial, steps: Floats, starts: Floats, length: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return both integrals of some points, the places nearest to them, and what may be off."""
    nearest = np.clip(-(starts @ steps) / length, 0.0, 1.0)
    at = starts + nearest[:, None] * steps
    q, along = np.einsum("ij,ij->i", at, at), at @ steps
    before = _one_side(kernel, q, np.maximum(-along, 0.0), length, nearest)
    after = _one_side(kernel, q, np.maximum(along, 0.0), length, 1.0 - nearest)
    whole, mean = before[0] + after[0], after[1] - before[1]
    missed = 2.0 * (np.sqrt(length * q) * (before[2] + after[2]) + length * (before[3] + after[3]))
    # where the path nearly meets a point, the place next to it has few digits
    sizes = np.sqrt(np.einsum("ij,ij->i", starts, starts)) + np.sqrt(length)
    missed += 8.0 * UNIT * np.sqrt(length) * sizes * (np.abs(whole) + np.abs(mean) * length)
    return _finite(whole), mean, at, _finite(missed)


def _finite(values: Floats) -> Floats:
    """Return values where the path meets a point as 0: they are multiplied by a distance of 0."""
    return np.where(np.isfinite(values), values, 0.0)


def _one_side(
    kernel: Radial, q: Floats, along: Floats, length: float, reach: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return both integrals away from the nearest place, and how they changed in the last step."""
    last: tuple[Floats, Floats] | None = None
    for nodes, weights in _rules(smooth=False):
        tau = reach[:, None] * nodes
        with np.errstate(all="ignore"):
            slopes = kernel.profile_slope(q[:, None] + (2.0 * along[:, None] + length * tau) * tau)
            slopes *= reach[:, None] * weights
            slopes[reach == 0.0] = 0.0
            whole, mean = slopes.sum(axis=1), (slopes * tau).sum(axis=1)
        if last is not None:
            changes = np.abs(whole - last[0]), np.abs(mean - last[1])
            missed = np.sqrt(length * q) * _finite(changes[0]) + length * changes[1]
            if missed.max() <= _AGREE:
                return whole, mean, *changes
        last = whole, mean
    raise _not_converged(kernel)


def integrate_by_rule(kernel: Kernel, x: Floats, b: Floats, z: Floats, a: Floats) -> PathSums:
    """Return the sums of one path for any kernel that has a gradient."""
    step, ends = x - b, kernel.matrix(np.stack([b, x]), z)
    values, errors = np.zeros((len(x), a.shape[1])), np.zeros(a.shape[1])
    leaves = list(_leaves(kernel))
    radial = [leaf for leaf in leaves if isinstance(leaf, Radial)]
    peaked = [
        leaf for leaf in leaves if isinstance(leaf, Stationary) and not isinstance(leaf, Periodic)
    ]
    long = any(_path_length(leaf, step) > _LONG for leaf in peaked)
    narrow = [leaf for leaf in leaves if _is_narrow(leaf, x, b)]
    kinked = [leaf for leaf in leaves if isinstance(leaf, Laplacian | ProductMatern)]
    crossed = sorted(_covered_columns([*kinked, *narrow], len(x)))
    near: list[Radial | Stationary] = [*radial, *(peaked if long else [])]
    pieces = 1 + len(crossed) + len(near)
    count = max(1, _ENTRIES // (16 * pieces * len(x)))
    for start in range(0, len(z), count):
        some = slice(start, start + count)
        cuts = _cuts(crossed, near, b, step, z[some])
        integrals, missed = _refine(kernel, b, step, z[some], cuts, smooth=not near and not narrow)
        values += integrals.T @ a[some]
        errors += missed @ np.abs(a[some])
    return PathSums(values, (ends[1] - ends[0]) @ a, errors + _roundings(ends, a))


def _refine(
    kernel: Kernel, b: Floats, step: Floats, z: Floats, cuts: Floats, *, smooth: bool
) -> tuple[Floats, Floats]:
    """Return the integrals of some points by column, and what they may be off by."""
    last: Floats | None = None
    for nodes, weights in _rules(smooth):
        integrals, largest = np.zeros_like(z), np.zeros(len(z))
        for lower, upper in zip(cuts.T[:-1], cuts.T[1:], strict=True):
            # few nodes at once, as a column of each is kept for all points
            width = max(1, _ENTRIES // z.size)
            for first in range(0, len(nodes), width):
                t = lower[:, None] + (upper - lower)[:, None] * nodes[first : first + width]
                at = b + t[..., None] * step
                slopes = kernel.gradient(at, z[:, None, :]).slopes * step
                # at a kink, which the outermost nodes of a piece may meet, there is no slope
                kinks = np.isnan(slopes) & (at == z[:, None, :])
                slopes = np.where(kinks | (step == 0.0), 0.0, slopes)
                slopes[upper == lower] = 0.0
                shares = (upper - lower)[:, None] * weights[first : first + width]
                integrals += np.einsum("ijk,ij->ik", slopes, shares)
                largest = np.maximum(largest, (np.abs(slopes).sum(axis=2)).max(axis=1))
        if last is not None:
            missed = np.abs(integrals - last).max(axis=1)
            if (missed <= _AGREE * np.maximum(largest, 1e-300)).all():
                return integrals, missed
        last = integrals
    raise _not_converged(kernel)


def _cuts(
    crossed: Sequence[int],
    near: Sequence[Radial | Stationary],
    b: Floats,
    step: Floats,
    z: Floats,
) -> Floats:
    """Return where the path to each point is cut, with both ends."""
    places = [np.zeros(len(z)), np.ones(len(z))]
    for column in crossed:
        if step[column] != 0.0:
            places.append((z[:, column] - b[column]) / step[column])
    for leaf in near:
        scaled = _scale_columns(leaf, step)
        length = float(scaled @ scaled)
        if length > 0.0:
            places.append(_scale_columns(leaf, z - b) @ scaled / length)
    return np.sort(np.clip(np.column_stack(places), 0.0, 1.0), axis=1)


def _scale_columns(leaf: Radial | Stationary, differences: Floats) -> Floats:
    """Return the columns of a leaf in its length scales."""
    columns = slice(None) if leaf.columns is None else list(leaf.columns)
    scaled: Floats = differences[..., columns] / np.asarray(leaf.length_scale)
    return scaled


def _path_length(leaf: Stationary, step: Floats) -> float:
    return float(np.linalg.norm(_scale_columns(leaf, step)))


def _is_narrow(leaf: Kernel, x: Floats, b: Floats) -> bool:
    """Return whether a column kernel without a length scale is nearly 0 between two rows."""
    if not isinstance(leaf, ColumnKernel) or isinstance(leaf, Stationary):
        return False
    (first, between), (_, last) = leaf.matrix(*[np.stack([b, x])] * 2).tolist()
    return bool(abs(between) < _NARROW * math.sqrt(abs(first * last)))


def _covered_columns(leaves: Sequence[Kernel], n_columns: int) -> set[int]:
    """Return the columns that some column kernels cover."""
    columns: set[int] = set()
    for leaf in leaves:
        if isinstance(leaf, ColumnKernel):
            columns.update(range(n_columns) if leaf.columns is None else leaf.columns)
    return columns


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    if isinstance(kernel, Sum | Product):
        for one in kernel.kernels:
            yield from _leaves(one)
    elif isinstance(kernel, Scale):
        yield from _leaves(kernel.kernel)
    else:
        yield kernel


def _roundings(ends: Floats, a: Floats) -> Floats:
    """Return what rounding may cost, for kernels of this size at the ends of a path."""
    cost: Floats = 64.0 * UNIT * np.maximum(np.abs(ends).max(axis=0), 1.0) @ np.abs(a)
    return cost


def _not_converged(kernel: Kernel) -> AdditivityError:
    return AdditivityError(
        f"the path integral of {brief(kernel)} did not converge: two quadrature rules differ by "
        f"more than {_AGREE:g}. The path is long beside the length scales of the kernel, or the "
        "kernel is not smooth; use baselines nearer to the rows, or Shapley values."
    )
