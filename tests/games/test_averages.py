"""Means of products of atoms from few numbers: beside sums over all rows in many digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pkex import kernels
from pkex.games.atoms import Atoms
from pkex.games.averages import AveragedAtoms
from pkex.games.compression import Compression
from pkex.games.engine import run_reduction
from pkex.games.layout import as_column_major
from pkex.games.plan import Plan
from pkex.games.points import Background

UNIT = 2.0**-53


def averaged(kernel, n_points, n_rows, seed, d=2):
    rng = np.random.default_rng(seed)
    z, rows = rng.normal(size=(n_points, d)), rng.normal(size=(n_rows, d))
    rows[::3] = np.round(rows[::3])  # some values are repeated
    weights = rng.uniform(0.1, 1.0, size=n_rows)
    background = Background(as_column_major(rows), weights / weights.sum(), marginal=True)
    plan = Plan.of(kernel.terms(d, 1e-6), tuple((j,) for j in range(d)), general=True)
    atoms = Atoms(plan, as_column_major(z))
    return atoms, background


@pytest.mark.parametrize("n_rows", [5, 200])
@pytest.mark.parametrize(
    "kernel",
    [kernels.Matern([0.5, 2.0], nu=1.5), kernels.RationalQuadratic(1.0, alpha=0.5)],
    ids=["Matern", "RationalQuadratic"],
)
def test_means_of_products_are_within_their_bound(kernel, n_rows):
    """The bound is that of the head of the module: 3 R + 64 units of the roots of mean squares."""
    atoms, background = averaged(kernel, 6, n_rows, n_rows)
    assert AveragedAtoms.suit(atoms, background)
    averages = AveragedAtoms(atoms, background)
    assert n_rows == 5 or max(len(short) for short in averages.short) < n_rows  # they are few
    found = averages.multiply(slice(0, atoms.count), slice(0, atoms.count))
    factors = atoms.factors(background.rows)
    rng = np.random.default_rng(0)
    for j in range(atoms.plan.n_players):
        values = found.values[j].reshape(atoms.count, -1)
        deficits = found.deficits[j].reshape(atoms.count, -1)
        sizes = factors.values[j].max(axis=0) + 1e-300  # whose squares may underflow
        norms = sizes * np.sqrt(background.weights @ (factors.values[j] / sizes) ** 2)
        for a, c in rng.integers(atoms.count, size=(60, 2)):
            exact = sum(
                (
                    Fraction(w) * Fraction(g) * Fraction(h)
                    for w, g, h in zip(
                        background.weights, *factors.values[j][:, [a, c]].T, strict=True
                    )
                ),
                Fraction(0),
            ) / sum(map(Fraction, background.weights), Fraction(0))
            bound = (3.0 * n_rows + 64.0) * UNIT * norms[a] * norms[c] + 1e-150  # underflow
            assert abs(float(Fraction(float(values[a, c])) - exact)) <= bound
            lack = abs(float(1 - Fraction(float(deficits[a, c])) - exact))
            # 1 minus a small mean has roundings of 1; games take the values there
            assert lack <= bound + 4.0 * UNIT * float(1 - exact)


def test_factors_of_both_signs_and_single_players_do_not_suit():
    radial = kernels.Matern(nu=1.5)
    for kernel in (radial * kernels.Linear(), radial + kernels.Linear(), kernels.RBF()):
        atoms, background = averaged(kernel, 3, 4, 0)
        assert not AveragedAtoms.suit(atoms, background)
    atoms, background = averaged(radial, 3, 4, 0)
    one_by_one = Background(background.rows, background.weights, marginal=False)
    assert not AveragedAtoms.suit(atoms, one_by_one)


@pytest.mark.parametrize(("rank", "length"), [(1, 16), (20, 32), (90, 100)])
def test_short_vectors_have_the_covariances_of_the_long_ones(rank, length):
    """Up to what a product over all rows is off by, beside the lengths of both vectors."""
    rng = np.random.default_rng(rank)
    n_rows = 100
    left, right = rng.normal(size=(n_rows, rank)), rng.normal(size=(rank, 60))
    scales = 10.0 ** rng.uniform(-12.0, 3.0, size=60)
    scales[7] = 0.0  # an atom that does not vary
    columns = left @ right * scales
    blocks = [columns[None, :, :25], columns[None, :, 25:]]
    [short] = run_reduction(Compression(blocks), n_jobs=1)
    assert len(short) == length
    sizes = np.linalg.norm(columns, axis=0)
    gaps = np.abs(short.T @ short - columns.T @ columns)
    assert (gaps <= 2.0 * n_rows * UNIT * np.outer(sizes, sizes)).all()
