"""`Replaced`: predictions of rows with one feature taken from other rows.

    P_j[x, b] = f(x with feature j of row b) = sum_a w_a R_j[x, a] F_j[b, a] + intercept,

with the atoms of f (`pkex.games.atoms`), their factors F_j of feature j and the products R_j of all
other factors: one matrix product a feature. A power of a scalar product is a binomial sum of such.

The curves of `effect_sums` are such predictions as well, at few places of a grid. There radial
kernels are evaluated at each place, exactly, with products for all pairs of features. Here every
row is a place, and with N rows that would be N^2 kernel evaluations a point and feature, so radial
kernels become sums of products first. The two share the formula but neither the pieces nor the
blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pkex._util.types import Floats, Players
from pkex.games.atoms import Atoms
from pkex.games.layout import as_column_major
from pkex.games.plan import Plan
from pkex.kernels.normal_form import Power
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import prepare_groups

__all__ = ["Replaced"]

_MIXTURE = 1e-10  # accepted error of a radial kernel, which is a sum of products up to an error
_FACTORS = 2**22  # of a block of rows and all points
_KEPT = 2**24  # of all rows and points, which are computed once: 128 MiB


class _Summand(Protocol):
    """A part of a model: its points, and what it adds to the predictions."""

    @property
    def width(self) -> int:
        """How many columns the matrices have that are multiplied."""

    def predict(self, rows: slice, donors: slice) -> Iterator[Floats]:
        """Give P_j without intercept for each feature, shape (rows, donors, outputs)."""


class Replaced:
    """Predictions of a model at rows, each with one feature of another row.

    Parameters
    ----------
    expansion : KernelExpansion
    players : tuple of tuples of int
        The columns of each feature, which are replaced together.
    rows : sequence of arrays of shape (n_rows, n_columns)
        The rows as each part of the expansion has prepared them.

    Attributes
    ----------
    n_features, n_rows, n_outputs : int
    step : int
        How many rows a block may have.
    """

    def __init__(
        self, expansion: KernelExpansion, players: Players, rows: Sequence[Floats]
    ) -> None:
        self.n_features, self.n_rows = len(players), len(rows[0])
        self.n_outputs = expansion.n_outputs
        self.intercept = np.sum([part.intercepts for part in expansion.parts], axis=0)
        self.summands: list[_Summand] = []
        for part, prepared in zip(expansion.parts, rows, strict=True):
            x, z = as_column_major(prepared), as_column_major(part.points)
            inside = prepare_groups(part, players)
            terms, powers = part.kernel.normal_form(part.shape[1], _MIXTURE)
            if terms:
                atoms = Atoms(Plan.of(terms, inside, general=True), z)
                self.summands.append(_Products(atoms, x, atoms.spread(part.alpha)))
            self.summands += [_ReplacedPower(power, inside, x, z, part.alpha) for power in powers]
        width = max([summand.width for summand in self.summands], default=1)
        is_small = self.n_features * self.n_rows * width <= _KEPT
        self.step = max(1, (_KEPT if is_small else _FACTORS) // (self.n_features * width))

    def predict(self, rows: slice, donors: slice) -> Iterator[Floats]:
        """Give, feature by feature, the predictions of `rows` with that feature of `donors`.

        Their shape is (rows, donors, outputs).
        """
        streams = [summand.predict(rows, donors) for summand in self.summands]
        shape = (rows.stop - rows.start, donors.stop - donors.start, self.n_outputs)
        for _ in range(self.n_features):
            total = np.empty(shape)
            total[...] = self.intercept
            for stream in streams:
                total += next(stream)
            yield total


class _Products:
    """What is a sum of products over features; factors are kept where they are few enough."""

    def __init__(self, atoms: Atoms, x: Floats, weights: Floats) -> None:
        self.atoms, self.x, self.weights = atoms, x, weights
        is_small = atoms.plan.n_players * len(x) * atoms.count <= _KEPT
        self.kept = atoms.factors(x).values if is_small else None

    @property
    def width(self) -> int:
        return self.atoms.count

    def predict(self, rows: slice, donors: slice) -> Iterator[Floats]:
        here, there = self._factors(rows), self._factors(donors)
        after = np.empty_like(here)
        after[-1] = 1.0
        for k in reversed(range(len(here) - 1)):  # several times as fast as ufunc.accumulate
            np.multiply(after[k + 1], here[k + 1], out=after[k])
        before = np.ones(here.shape[1:])
        for old, new, remaining in zip(here, there, after, strict=True):
            remaining *= before
            yield _weighted_products(remaining, new, self.weights)
            before *= old

    def _factors(self, rows: slice) -> Floats:
        """Return the factors of some rows, shape (features, rows, atoms)."""
        if self.kept is not None:
            return self.kept[:, rows]
        return self.atoms.factors(self.x[rows]).values


@dataclass(frozen=True, eq=False)
class _ReplacedPower:
    """What is ``(gamma <x, z> + coef0)^n``: ``sum_q C(n, q) R^(n - q) S_j^q``, S_j of feature j."""

    power: Power
    players: Players
    x: Floats
    z: Floats
    alpha: Floats

    @property
    def width(self) -> int:
        return len(self.z)

    def predict(self, rows: slice, donors: slice) -> Iterator[Floats]:
        degree, gamma = self.power.degree, self.power.gamma
        covered = set(self.power.columns)
        every = list(self.power.columns)
        whole = gamma * (self.x[rows][:, every] @ self.z[:, every].T) + self.power.coef0
        for player in self.players:
            columns = [column for column in player if column in covered]
            z = self.z[:, columns].T
            old, new = (gamma * (self.x[some][:, columns] @ z) for some in (rows, donors))
            remaining = whole - old
            total = np.zeros((len(old), len(new), self.alpha.shape[1]))
            for q in range(degree + 1):
                product = _weighted_products(remaining ** (degree - q), new**q, self.alpha)
                total += math.comb(degree, q) * product
            yield self.power.coefficient * total


def _weighted_products(left: Floats, right: Floats, weights: Floats) -> Floats:
    """Return ``sum_a left[x, a] right[b, a] w[a, k]``, shape (rows, donors, outputs)."""
    outputs = [(left * weights[:, k]) @ right.T for k in range(weights.shape[1])]
    return outputs[0][:, :, None] if len(outputs) == 1 else np.stack(outputs, axis=2)
