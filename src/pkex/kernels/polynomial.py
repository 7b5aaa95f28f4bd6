"""Dot-product kernels: a sum over columns, or a power of it, where the others are products.

`Linear` expands into one term for each column. `Polynomial` multiplied out is a sum of monomials,
and each monomial is a product over columns. That is its normal form where there are not too many of
them, which statistics and products with other kernels need. A model whose kernel is a polynomial,
alone or in a sum, is explained without multiplying out, for any number of columns: see
`pkex.games.powers`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, check_number, is_index
from pkex.kernels.algebra import Kernel
from pkex.kernels.derivatives import Gradient, Jet, place_columns
from pkex.kernels.leaves import ColumnKernel, Dot, OnColumns
from pkex.kernels.normal_form import Expansion, Power, Split, Summand

__all__ = ["Linear", "Monomial", "Polynomial"]


_MOST_TERMS = 5000  # each is a game for every pair, which takes about a millisecond with so many
_LARGEST_DEGREE = 20  # far beyond degrees in use; the work grows with its square


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel ``sum_j x_j z_j``, a dot-product kernel: a sum over columns, not a product.

    Neutral removal is not defined for it, as there is no factor that could become 1. With a
    background the Shapley values are those of a linear model.

    See Also
    --------
    Polynomial : A power of this kernel.

    Examples
    --------
    >>> from pkex.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    has_neutral_removal = False

    def _expand(self, n_columns: int, tol: float | None) -> list[Summand]:  # noqa: ARG002
        return [Summand(1.0, (Dot(columns=(j,)),)) for j in range(n_columns)]

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        return Gradient((x * z).sum(axis=-1), Dot().slopes(x, z))

    def jet(self, x: Floats) -> Jet:
        return self.gradient(x, x).extend(np.tile(np.eye(x.shape[1]), (len(x), 1, 1)))


@dataclass(frozen=True, repr=False)
class Polynomial(OnColumns):
    """Polynomial kernel ``(gamma sum_j x_j z_j + coef0)^degree``, as in scikit-learn.

    A dot-product kernel. Neutral removal is not defined for it, as there is no factor that could
    become 1. With a background a removed column takes the value of a background row. With
    ``removal="product-of-marginals"`` the power is averaged over independent removed columns,
    which is not the power of the mean.

    Parameters
    ----------
    degree : int, default 3
        From 1 to 20.
    gamma : float, default 1.0
        Not negative.
    coef0 : float, default 1.0
        The constant that is added to the dot product.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    See Also
    --------
    Linear : The same of degree 1.

    Examples
    --------
    >>> from pkex.kernels import Polynomial
    >>> Polynomial(2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0

    has_neutral_removal = False

    def __post_init__(self) -> None:
        super().__post_init__()
        degree = self.degree
        if not is_index(degree) or not 1 <= degree <= _LARGEST_DEGREE:
            raise ValueError(
                "Polynomial degree must be an integer from 1 to "
                f"{_LARGEST_DEGREE}, got {brief(degree)}."
            )
        gamma = check_number(self.gamma, "Polynomial gamma")
        if gamma < 0.0:
            raise ValueError(f"Polynomial gamma must not be negative, got {gamma!r}.")
        object.__setattr__(self, "degree", int(degree))
        object.__setattr__(self, "gamma", gamma)
        object.__setattr__(self, "coef0", check_number(self.coef0, "Polynomial coef0"))

    def _worth(self, x: Floats, z: Floats) -> Floats:
        if self.columns is not None:
            x, z = x[:, self.columns], z[:, self.columns]
        with np.errstate(over="ignore", invalid="ignore"):
            worth: Floats = (self.gamma * (x @ z.T) + self.coef0) ** self.degree
        return worth

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        n_columns = x.shape[-1]
        if self.columns is not None:
            x, z = x[..., self.columns], z[..., self.columns]
        base = self.gamma * (x * z).sum(axis=-1) + self.coef0
        rate = self.degree * self.gamma * base ** (self.degree - 1)
        slopes = place_columns(rate[..., None] * z, self.columns, n_columns)
        return Gradient(base**self.degree, slopes)

    def jet(self, x: Floats) -> Jet:
        covered = np.zeros_like(x)  # columns that it does not cover count as 0
        columns = slice(None) if self.columns is None else list(self.columns)
        covered[:, columns] = x[:, columns]
        base = self.gamma * (covered * covered).sum(axis=1) + self.coef0
        rate = self.degree * self.gamma * base ** (self.degree - 1)
        identity = np.zeros(x.shape[1])
        identity[columns] = 1.0
        mixed = rate[:, None, None] * np.diag(identity)
        if self.degree > 1:
            bend = self.degree * (self.degree - 1) * self.gamma**2 * base ** (self.degree - 2)
            mixed = mixed + bend[:, None, None] * covered[:, :, None] * covered[:, None, :]
        return self.gradient(x, x).extend(mixed)

    def _split(self, n_columns: int, tol: float | None) -> Split:  # noqa: ARG002
        self.check_width(n_columns)
        columns = tuple(range(n_columns) if self.columns is None else self.columns)
        return Split([], [Power(1.0, self.degree, self.gamma, self.coef0, columns)])

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:  # noqa: ARG002
        self.check_width(n_columns)
        width = n_columns if self.columns is None else len(self.columns)
        count = math.comb(width + self.degree, self.degree)
        if count > _MOST_TERMS:
            raise ValueError(
                f"{brief(self)} on {width} columns is a sum of {count:,} products over columns. "
                "Models with this kernel, by itself or in a sum, are supported for any number of "
                "columns; products with other kernels and statistics are supported up to "
                f"{_MOST_TERMS:,} products. Limit it to some columns, Polynomial(...).on(0, 1), or "
                "lower the degree."
            )
        return list(_monomials(self, n_columns))


@dataclass(frozen=True, repr=False)
class Monomial(ColumnKernel):
    """The powers of ``x z`` in one product."""

    powers: tuple[int, ...] = ()

    has_neutral_removal = False

    def factors(self, x: Floats, z: Floats) -> Floats:
        powers: Floats = (x * z) ** np.asarray(self.powers)
        return powers


@lru_cache(maxsize=64)
def _monomials(kernel: Polynomial, n_columns: int) -> tuple[Summand, ...]:
    """Return the kernel multiplied out."""
    columns = tuple(range(n_columns)) if kernel.columns is None else kernel.columns
    summands = []
    for chosen in combinations_with_replacement((*columns, None), kernel.degree):
        powers = Counter(chosen)
        missing = powers.pop(None, 0)
        ways = math.factorial(kernel.degree) // math.factorial(missing)
        for count in powers.values():
            ways //= math.factorial(count)
        coefficient = ways * kernel.gamma ** (kernel.degree - missing) * kernel.coef0**missing
        if coefficient == 0.0:
            continue
        covered = tuple(column for column in powers if column is not None)
        leaf = Monomial(tuple(powers.values()), columns=covered) if covered else None
        summands.append(Summand(coefficient, () if leaf is None else (leaf,)))
    return tuple(summands) or (Summand(0.0, ()),)
