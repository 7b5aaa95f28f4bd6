"""`BlockMean`: a statistic as the mean over blocks of rows of weighted sums over their pairs.

With one block this is MMD or HSIC itself. Disjoint blocks make it affordable for large samples: the
cost grows with the rows times the size of a block, and the blocks show how much the mean varies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkex._algebra import Term
from pkex._threads import in_order, single_blas, with_bar
from pkex.engine import Plan, ranked
from pkex.errors import AdditivityError
from pkex.pairs import PairSums, component_sum, pair_sums, permuted_sums, row_sums
from pkex.rules import Rule
from pkex.weights import Weights

__all__ = ["BlockMean", "Estimate"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Estimate:
    """The values of a statistic, and of its permutations.

    Attributes
    ----------
    values : array of shape (players,)
    null_values : array of shape (permutations, players)
    rounding : array of shape (players,)
        How far apart values may be that are equal but for rounding.
    standard_errors : array of shape (players,)
    standard_error : float
        Of the sum of the values; like the others NaN for a single block.
    residual : float
        How far the sum of the values is from the statistic computed directly.
    rules : tuple of Rule
    """

    values: Floats
    null_values: Floats
    rounding: Floats
    standard_errors: Floats
    standard_error: float
    residual: float
    rules: tuple[Rule, ...]


@dataclass(frozen=True, eq=False)
class BlockMean:
    """What a statistic is made of.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    terms : tuple of Term
        The normal form of the kernel.
    players : tuple of tuples of int
    blocks : tuple of (indices, Weights)
        The rows of each block and the weights of their pairs.
    tol : float or None
    n_jobs : int or None
    """

    X: Floats
    terms: tuple[Term, ...]
    players: tuple[tuple[int, ...], ...]
    blocks: tuple[tuple[Indices, Weights], ...]
    tol: float | None
    n_jobs: int | None

    def estimate(
        self, n_permutations: int, generator: np.random.Generator, progress: bool
    ) -> Estimate:
        """Return the values, and those of random permutations within the blocks."""
        plan = self._plan(self.terms, self.players)
        seeds = generator.integers(2**63, size=(len(self.blocks), 4))

        def run(task: tuple[tuple[Indices, Weights], Indices]) -> PairSums:
            (rows, weights), seed = task
            x = self.X[rows]
            with weights.held():
                if not n_permutations:
                    return pair_sums(plan, x, weights, n_jobs=inner, progress=inner_bar)
                shuffled = weights.shuffled(n_permutations, np.random.default_rng(seed))
                return permuted_sums(plan, x, shuffled, n_jobs=inner, progress=inner_bar)

        single = len(self.blocks) == 1
        inner, inner_bar = (self.n_jobs, progress) if single else (1, False)
        tasks = list(zip(self.blocks, seeds, strict=True))
        with single_blas():
            results = in_order(run, tasks, self.n_jobs)
            parts = list(results if single or not progress else with_bar(results, len(tasks)))
        return _mean(parts)

    def value(self, subset: Sequence[int]) -> float:
        """Return the statistic of some players, the kernel factors of the others being 1."""
        if not subset:
            return 0.0
        joined = tuple(column for player in subset for column in self.players[player])
        plan = self._restricted((joined,))
        return self._mean_of(
            lambda rows, weights: float(
                pair_sums(plan, self.X[rows], weights, n_jobs=self.n_jobs).values[0, 0]
            )
        )

    def component(self, subset: Sequence[int]) -> float:
        """Return what some players contribute together beyond all smaller subsets of them."""
        if not subset:
            return 0.0
        plan, count = self._restricted([self.players[player] for player in subset]), len(subset)
        return self._mean_of(
            lambda rows, weights: component_sum(
                plan, self.X[rows], weights, count, n_jobs=self.n_jobs
            )
        )

    def row_values(self) -> Floats:
        """Return the share of every row, shape (n_rows, players); 0 for rows in no block."""
        plan = self._plan(self.terms, self.players)
        values = np.zeros((len(self.X), len(self.players)))
        for rows, weights in self.blocks:
            found = row_sums(plan, self.X[rows], weights, n_jobs=self.n_jobs)
            values[rows] = found / len(self.blocks)
        return values

    def _mean_of(self, of_block: Callable[[Indices, Weights], float]) -> float:
        return float(np.mean([of_block(rows, weights) for rows, weights in self.blocks]))

    def _plan(self, terms: tuple[Term, ...], players: tuple[tuple[int, ...], ...]) -> Plan:
        return Plan(terms, players, self.tol, narrow=False)

    def _restricted(self, players: Sequence[tuple[int, ...]]) -> Plan:
        """Return the games of some players; one more has the other columns, with factors of 1."""
        columns = [column for player in players for column in player]
        rest = tuple(column for column in range(self.X.shape[1]) if column not in columns)
        terms = tuple(term.restricted(columns) for term in self.terms)
        return self._plan(terms, (*players, rest) if rest else tuple(players))


def _mean(parts: Sequence[PairSums]) -> Estimate:
    """Return the mean over blocks, with its standard error; check that the values add up."""
    sums = np.mean([part.values for part in parts], axis=0)
    errors, error = np.full(len(sums), np.nan), np.nan
    if len(parts) > 1:
        values = np.array([part.values[:, 0] for part in parts])
        errors = values.std(axis=0, ddof=1) / np.sqrt(len(parts))
        error = float(values.sum(axis=1).std(ddof=1) / np.sqrt(len(parts)))
    total = float(np.mean([part.totals[0] for part in parts]))
    residual = abs(float(sums[:, 0].sum()) - total)
    tolerance = max(part.tolerance for part in parts)
    if not residual <= tolerance:
        raise AdditivityError(
            f"the values sum to {sums[:, 0].sum():.6g}, but the statistic is {total:.6g}; the "
            f"difference {residual:.2g} is more than the {tolerance:.2g} that the rule and "
            "rounding allow. Please report this as a bug, with the data if you can."
        )
    rules = ranked({rule for part in parts for rule in part.rules})
    rounding = np.mean([part.rounding for part in parts], axis=0)
    return Estimate(sums[:, 0], sums[:, 1:].T, rounding, errors, error, residual, rules)
