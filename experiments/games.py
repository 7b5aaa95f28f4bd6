r"""The games that the methods explain, for one RBF machine and one background.

A `Machine` is :math:`f(x) = \sum_i \alpha_i k(x, x_i) + b`. A game takes coalitions as the rows of
a boolean array (K, d) and points to explain (m, d), and returns values of shape (K, m):

- `neutral`: absent features have the kernel factor 1 (the paper);
- `interventional`: absent features have the values of a background row, averaged over the rows.
  With the machine's own data as the background this is the interventional value function of
  RKHS-SHAP, :math:`\alpha^\top (k_S(X, x) \circ \tfrac1n K_{S^c} 1)`, plus the offset;
- `observational`: the conditional expectation by a conditional mean embedding, RKHS-SHAP's
  :math:`\alpha^\top (k_S(X, x) \circ K_{S^c} (K_S + n \lambda I)^{-1} k_S(X, x))`, plus the
  offset.

Written for speed: a coalition costs one matrix product per point set, shared by all points to
explain. Times of methods that use them are therefore lower bounds on those of other programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

__all__ = ["Game", "Machine", "interventional", "neutral", "observational"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Game: TypeAlias = Callable[[Bools, Floats], Floats]


@dataclass(frozen=True)
class Machine:
    """An RBF machine with one output."""

    points: Floats
    alpha: Floats
    gamma: float
    offset: float

    @classmethod
    def of(cls, svr: Any) -> Machine:
        """Return the machine of a fitted `sklearn.svm.SVR` with an RBF kernel."""
        alpha = np.asarray(svr.dual_coef_, dtype=np.float64).ravel()
        return cls(svr.support_vectors_, alpha, float(svr._gamma), float(svr.intercept_[0]))

    def kernel(self, A: Floats, B: Floats, columns: Bools) -> Floats:
        """Return the kernel of some columns between two point sets; 1 without columns."""
        A, B = A[:, columns], B[:, columns]
        squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * (A @ B.T)
        factors: Floats = np.exp(-self.gamma * np.maximum(squares, 0.0))
        return factors

    def predict(self, X: Floats) -> Floats:
        """Return f at the rows of X."""
        everything = np.ones(X.shape[1], dtype=bool)
        return self.alpha @ self.kernel(self.points, X, everything) + self.offset


def neutral(machine: Machine) -> Game:
    """Return the paper's game."""

    def value(coalitions: Bools, rows: Floats) -> Floats:
        found = [machine.alpha @ machine.kernel(machine.points, rows, S) for S in coalitions]
        return np.array(found) + machine.offset

    return value


def interventional(machine: Machine, background: Floats) -> Game:
    """Return the game in which absent features are taken from the background's rows."""

    def value(coalitions: Bools, rows: Floats) -> Floats:
        found = []
        for S in coalitions:
            absent = machine.kernel(machine.points, background, ~S).mean(axis=1)
            found.append((machine.alpha * absent) @ machine.kernel(machine.points, rows, S))
        return np.array(found) + machine.offset

    return value


def observational(machine: Machine, background: Floats, lam: float = 1e-3) -> Game:
    """Return the game of conditional expectations, estimated from the background's rows.

    The coalition of all features has the prediction itself: nothing is left to average over.
    """
    ridge = len(background) * lam * np.eye(len(background))

    def value(coalitions: Bools, rows: Floats) -> Floats:
        found = []
        for S in coalitions:
            if S.all():
                found.append(machine.predict(rows) - machine.offset)
                continue
            gram = machine.kernel(background, background, S) + ridge
            shares = solve(gram, machine.kernel(background, rows, S), assume_a="pos")
            absent = machine.kernel(machine.points, background, ~S) @ shares
            present = machine.kernel(machine.points, rows, S)
            found.append(machine.alpha @ (present * absent))
        return np.array(found) + machine.offset

    return value
