"""The square of a function that is a sum of atoms, as a game: what a squared error is made of.

    h_S(x)^2 = sum_{a, c} w_a w_c g_a g_c,      h_S(x) = sum_a w_a prod_j g_aj,

with the atoms g of a kernel (`pkex.games.atoms`). A present player has the factors
``g_aj(x_j) g_cj(x_j)``. An absent one has the factors of a background row, one row after the other
(interventional: the mean of squares), or ``E[g_aj] E[g_cj]`` (marginal: the square of the mean).
The latter is a product of means; in `QuadraticGame` it is the mean of a product, and so it is in
`MeanSquareGame`: a mean of squares as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pkex._util.types import Floats
from pkex.games.atoms import Atoms, join_factors
from pkex.games.points import Background
from pkex.games.protocols import Factors
from pkex.games.quadratic import AtomPairs, mean_products, multiply_pairs

__all__ = ["MeanSquareGame", "SquareGame"]

_FACTORS = 2**19  # of background rows and atoms that are evaluated at once


class SquareGame(AtomPairs):
    """The values of squares of functions at some rows: a reduction.

    Parameters
    ----------
    parts : sequence of (Atoms, array of shape (rows, columns))
        The atoms of each part of the functions, with the rows as the part has prepared them.
    weights : array of shape (atoms, sets)
        Of the atoms of all parts; each set is a function.
    backgrounds : sequence of Background
        For each part. Parts of one function have the same rows, unless these are averaged.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Atoms, Floats]],
        weights: Floats,
        backgrounds: Sequence[Background],
    ) -> None:
        plan, n_rows = parts[0][0].plan, len(parts[0][1])
        rows = [background.rows for background in backgrounds]
        n_atoms, n_sets = weights.shape
        super().__init__(plan, n_atoms, n_rows, n_sets, max(map(len, rows)))
        self.parts, self.weights = parts, weights
        self.there = [(atoms, x) for (atoms, _), x in zip(parts, rows, strict=True)]
        self.shares = backgrounds[0].weights
        self.means: Factors | None = None
        if backgrounds[0].marginal:
            pairs = zip(parts, backgrounds, strict=True)
            means = [_mean_factors(atoms, background) for (atoms, _), background in pairs]
            self.means = Factors(*(np.concatenate(p, axis=1) for p in zip(*means, strict=True)))

    def present(self, rows: slice, first: slice, second: slice) -> Factors:
        """Return the factors of pairs of atoms at some rows."""
        left = join_factors(self.parts, rows, first)
        return multiply_pairs(left, join_factors(self.parts, rows, second), "present_pairs")

    def pair_weights(self, first: slice, second: slice) -> Floats:
        """Return the products of weights."""
        weights: Floats = self.weights[first, None] * self.weights[None, second]
        return weights

    def absent(self, first: slice, second: slice) -> Iterator[tuple[float, Factors]]:
        """Give what absent players have in a tile, with shares: of each row, or of the means."""
        if self.means is not None:
            left, right = (Factors(*(p[:, None, a] for p in self.means)) for a in (first, second))
            yield 1.0, _first_row(multiply_pairs(left, right, "absent_pairs"))
            return
        for number, share in enumerate(self.shares):
            row = slice(number, number + 1)
            left, right = (join_factors(self.there, row, atoms) for atoms in (first, second))
            yield float(share), _first_row(multiply_pairs(left, right, "absent_pairs"))

    def absent_atoms(self) -> Iterator[tuple[float, Floats]]:
        """Give what absent players have in all atoms, shape (players, atoms), with shares."""
        if self.means is not None:
            yield 1.0, self.means.values
            return
        every = slice(0, self.n_atoms)
        for number, share in enumerate(self.shares):
            row = slice(number, number + 1)
            yield float(share), join_factors(self.there, row, every).values[:, 0]


class MeanSquareGame(SquareGame):
    """As a `SquareGame`, with the mean of the square under every background.

    Parameters
    ----------
    parts : sequence of (Atoms, array of shape (rows, columns))
    weights : array of shape (atoms, sets)
    backgrounds : sequence of Background
    """

    @property
    def averaged(self) -> bool:
        """Whether absent players have means over independent columns."""
        return self.means is not None

    def absent(self, first: slice, second: slice) -> Iterator[tuple[float, Factors]]:
        """Give what absent players have in a tile, with shares: of each row, or mean products."""
        if self.means is None:
            yield from super().absent(first, second)
            return
        every = slice(0, len(self.shares))
        left, right = (join_factors(self.there, every, atoms) for atoms in (first, second))
        lacks = self.shares @ left.deficits, self.shares @ right.deficits
        yield 1.0, mean_products(left, right, lacks, self.shares)


def _first_row(factors: Factors) -> Factors:
    return Factors(factors.values[:, 0], factors.deficits[:, 0])


def _mean_factors(atoms: Atoms, background: Background) -> Factors:
    """Return the means of the factors of atoms over the rows, shape (players, atoms)."""
    rows, shares = background.rows, background.weights
    values, deficits = np.zeros((2, atoms.plan.n_players, atoms.count))
    step = max(1, _FACTORS // (atoms.plan.n_players * atoms.count))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        factors = atoms.factors(rows[some])
        values += shares[some] @ factors.values
        deficits += shares[some] @ factors.deficits
    return Factors(np.where(np.abs(deficits) < 0.5, 1.0 - deficits, values), deficits)
