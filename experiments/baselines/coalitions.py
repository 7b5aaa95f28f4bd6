r"""Coalitions drawn from the Shapley kernel, and least squares on them.

The Shapley kernel gives a coalition of s out of d players the weight
:math:`w(s) = (d-1) / (\binom{d}{s} s (d-s))`. Kernel SHAP minimises
:math:`\sum_S w(S) (v(S) - v(\emptyset) - \sum_{i \in S} \phi_i)^2` under
:math:`\sum_i \phi_i = v(N) - v(\emptyset)`; over all coalitions the solution is the Shapley value.
RKHS-SHAP (Chau et al., 2022) is this regression on the games of `experiments.games`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coalitions", "Sample", "kernel_shap"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Coalitions:
    """Coalitions without the empty and the full one, each once, with their regression weights."""

    members: Bools  # (K, d)
    weights: Floats  # (K,)

    @classmethod
    def every(cls, d: int) -> Coalitions:
        """Return all coalitions, weighted by the Shapley kernel."""
        numbers = np.arange(1, 2**d - 1)
        members = (numbers[:, None] >> np.arange(d)) & 1 == 1
        kernel = [(d - 1) / (comb(d, s) * s * (d - s)) for s in range(1, d)]
        return cls(members, np.array(kernel)[members.sum(axis=1) - 1])

    @classmethod
    def drawn(cls, d: int, budget: int, rng: np.random.Generator) -> Coalitions:
        """Return `budget` draws from the kernel in pairs, a coalition and its complement.

        Repeated draws are one coalition with their number as the weight. All coalitions are
        returned when the budget covers them.
        """
        if d < 2 or budget < 2:
            raise ValueError(f"two players and two coalitions are needed, got {d} and {budget}.")
        if d <= 20 and budget >= 2**d - 2:
            return cls.every(d)
        sizes = np.arange(1, d)
        odds = 1.0 / (sizes * (d - sizes))
        chosen = rng.choice(sizes, size=budget // 2, p=odds / odds.sum())
        ranks = rng.random((budget // 2, d)).argsort(axis=1).argsort(axis=1)
        half = ranks < chosen[:, None]
        members, counts = np.unique(np.vstack([half, ~half]), axis=0, return_counts=True)
        return cls(members, counts.astype(np.float64))


@dataclass(frozen=True)
class Sample:
    """The values of m games on some coalitions."""

    coalitions: Coalitions
    values: Floats  # (K, m)
    empty: Floats  # (m,)
    full: Floats  # (m,)

    @classmethod
    def of(cls, coalitions: Coalitions, value: Callable[[Bools], Floats]) -> Sample:
        """Return the sample of `value`, a function from coalitions (K, d) to values (K, m)."""
        d = coalitions.members.shape[1]
        ends = value(np.array([[False] * d, [True] * d]))
        return cls(coalitions, value(coalitions.members), ends[0], ends[1])


def kernel_shap(sample: Sample) -> Floats:
    """Return the regression's solution for each game, shape (m, d)."""
    members, weights = sample.coalitions.members.astype(np.float64), sample.coalitions.weights
    total = sample.full - sample.empty
    # the last player's value is what the others leave of the total
    design = members[:, :-1] - members[:, -1:]
    goal = sample.values - sample.empty - members[:, -1:] * total
    root = np.sqrt(weights)[:, None]
    others = np.linalg.lstsq(root * design, root * goal, rcond=None)[0]
    phi: Floats = np.vstack([others, total - others.sum(axis=0)]).T
    return phi
