"""The one primitive: weighted sums of the Shapley values of product games over pairs of points.

Everything pkex explains is such a sum; only the pairs and their weights differ (a model at x: the
pairs (x, x_i) with weights alpha_i). The engine cuts the rows and points into blocks that fit a
memory budget, hands the blocks to threads, and adds up what the hot loop returns. Blocks do not
depend on the number of threads and are added in a fixed order, so neither do the results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from pkex import twin
from pkex._algebra import Term
from pkex.backend import game_class
from pkex.rules import Rule, ladder

__all__ = ["Plan", "Sums", "shapley_sums"]

Floats = NDArray[np.float64]
Task = tuple[twin.Game, slice, slice]

_BLOCK = 2**19  # entries of the largest array of a block: 4 MiB, about six of which live at once
_BAR_DELAY = 2.0  # seconds before a progress bar appears


@dataclass(frozen=True, eq=False)
class Sums:
    """What `shapley_sums` returns.

    Attributes
    ----------
    values : array of shape (rows, players, sets)
        Weighted sums of the Shapley values of the pairs of each row.
    totals : array of shape (rows, sets)
        Weighted sums of the kernel values, i.e. of the worth of all players together.
    bases : array of shape (sets,) or (rows, sets)
        Weighted sums of the worth of no player.
    tolerance : array of shape (rows, sets)
        How far ``values.sum(axis=1)`` may be from ``totals - bases`` by certificate and rounding.
    rules : tuple of Rule
        The rules that were used, the largest bound first.
    """

    values: Floats
    totals: Floats
    bases: Floats
    tolerance: Floats
    rules: tuple[Rule, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.values + other.values,
            self.totals + other.totals,
            self.bases + other.bases,
            self.tolerance + other.tolerance,
            _ranked({*self.rules, *other.rules}),
        )

    @cached_property
    def residual(self) -> Floats:
        """``values.sum(axis=1) - (totals - bases)``: zero but for the errors of the computation."""
        difference: Floats = self.values.sum(axis=1) - (self.totals - self.bases)
        return difference


class Plan:
    """What a sum of games needs before it sees data, made once and used for many calls.

    Parameters
    ----------
    terms : tuple of Term
        The normal form of the kernel.
    players : tuple of tuples of int
        The columns of each player; every column belongs to exactly one.
    tol : float, optional
        Accepted relative error per pair (see `pkex.rules`); full double precision by default.
    """

    def __init__(
        self,
        terms: tuple[Term, ...],
        players: tuple[tuple[int, ...], ...],
        tol: float | None = None,
    ) -> None:
        self.terms, self.players, self.tol = terms, players, tol
        self.worth = sum(term.coefficient for term in terms)
        self._games: list[twin.Game] = []

    def games(self) -> list[twin.Game]:
        """Return the games of the terms for the backend in use."""
        kind = game_class()
        if not self._games or type(self._games[0]) is not kind:
            rungs = ladder(len(self.players), self.tol)
            self._games = [kind(term, self.players, rungs) for term in self.terms]
        return self._games

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_games": []}  # they are made again where they are needed


def shapley_sums(
    plan: Plan,
    X: Floats,
    Z: Floats,
    weights: Floats,
    *,
    n_jobs: int | None = 1,
    progress: bool = False,
) -> Sums:
    """Return the weighted sums over `Z` of the pairs' Shapley values, for every row of `X`.

    Parameters
    ----------
    plan : Plan
    X : array of shape (rows, columns)
    Z : array of shape (points, columns)
    weights : array of shape (points, sets), or (rows, points, sets)
        Several weight sets share the work of the pair values.
    n_jobs : int or None
        Number of threads, as in joblib; one inside a worker of joblib.
    progress : bool
        Whether to show a progress bar (tqdm) when it takes longer than two seconds.
    """
    x, z = np.asfortranarray(X), np.asfortranarray(Z)  # columns contiguous, as blocks read them
    tasks: list[Task] = [
        (game, rows, points)
        for game, (rows, points) in product(plan.games(), _blocks(len(X), len(Z), X.shape[1]))
    ]

    def run(game: twin.Game, rows: slice, points: slice) -> twin.Block:
        local = weights[points] if weights.ndim == 2 else weights[rows, points]
        return game.explain(x[rows], z[points], local)

    blocks = _in_order(run, tasks, n_jobs)
    if progress:
        blocks = _with_bar(blocks, len(tasks))
    if len(tasks) == 1 and tasks[0][0].term.coefficient == 1.0:
        values, totals, magnitudes, used = next(blocks)  # nothing to add up
        rules = set(used)
    else:
        values = np.zeros((len(X), len(plan.players), weights.shape[-1]))
        totals, magnitudes = np.zeros((2, len(X), weights.shape[-1]))
        rules = set()
        for (game, rows, _), block in zip(tasks, blocks, strict=True):
            coefficient = game.term.coefficient
            values[rows] += coefficient * block.values
            totals[rows] += coefficient * block.totals
            magnitudes[rows] += abs(coefficient) * block.magnitudes
            rules.update(block.rules)

    ranked = _ranked(rules)
    # Each value carries about 3 roundings per player and 1 per point; 16 leaves room.
    rounding = 16.0 * (len(plan.players) + len(Z) + 16) * 2.0**-53
    tolerance = (ranked[0].relative_error + rounding) * magnitudes
    return Sums(values, totals, plan.worth * weights.sum(axis=-2), tolerance, ranked)


def _ranked(rules: set[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(rules, key=lambda rule: (-rule.relative_error, -rule.size)))


def _blocks(n_rows: int, n_points: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Cut rows and points so that a block's arrays (pairs, width) stay below the budget."""
    pairs = max(1, _BLOCK // width)
    points = min(n_points, pairs)
    rows = max(1, pairs // points)
    for row in range(0, n_rows, rows):
        for point in range(0, n_points, points):
            yield slice(row, min(row + rows, n_rows)), slice(point, min(point + points, n_points))


def _in_order(
    run: Callable[[twin.Game, slice, slice], twin.Block], tasks: list[Task], n_jobs: int | None
) -> Iterator[twin.Block]:
    """Yield the results of the tasks in their order, computed by threads where that helps."""
    # Inside a worker of somebody else's joblib.Parallel the cores are taken already.
    if len(tasks) == 1 or get_active_backend()[0].nesting_level or effective_n_jobs(n_jobs) == 1:
        return (run(*task) for task in tasks)
    return _by_threads(run, tasks, effective_n_jobs(n_jobs))


def _by_threads(
    run: Callable[[twin.Game, slice, slice], twin.Block], tasks: list[Task], n_threads: int
) -> Iterator[twin.Block]:
    """Yield the results in order, with a few tasks ahead so that the threads have work.

    An interrupt leaves by the executor, which waits for the blocks that are under way.
    """
    with ThreadPoolExecutor(n_threads) as pool:
        ahead: deque[Future[twin.Block]] = deque()
        try:
            for task in tasks:
                ahead.append(pool.submit(run, *task))
                if len(ahead) > 2 * n_threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _with_bar(blocks: Iterator[twin.Block], total: int) -> Iterator[twin.Block]:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError('progress=True needs tqdm: pip install "pkex[progress]".') from error
    bar: Iterator[twin.Block] = tqdm(
        blocks, total=total, delay=_BAR_DELAY, desc="pkex", unit="block"
    )
    return bar
