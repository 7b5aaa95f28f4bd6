"""Means of factors over a background, with less work than one factor for each row and point.

A player of one column has a mean that is a sum over the values of that column alone. So

- where a column has few different values, each pair of values is evaluated once;
- means of Gaussian factors are smooth functions, evaluated at nodes (`gauss_means`);
- those of Laplacian factors are sums from left to right (`laplace_means`).

All other players, and tables so small that nothing is gained, are left to the backend's own sums.
Whatever is taken, a mean is off by at most `mean_roundings` units in the last place of the mean
deficit, and of the mean factor where that is below a half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.gauss_means import gauss_means
from pkex.games.laplace_means import laplace_means
from pkex.games.layout import as_column_major
from pkex.games.protocols import Factors, Game
from pkex.games.threads import raise_if_cancelled, run_in_order
from pkex.kernels.columns import RBF, Categorical, Cauchy, Chi2, Laplacian, Periodic
from pkex.kernels.leaves import ColumnKernel
from pkex.kernels.normal_form import Term
from pkex.kernels.product_matern import ProductMatern

__all__ = ["ELEMENTWISE", "mean_factors", "mean_over_pairs", "mean_roundings"]


_FEWEST_ROWS = 64
_FEWEST_POINTS = 256
_ACCEPTED = 1024.0  # roundings, where sums over few rows would have less
_BLOCK = 32  # rows added up before they are added to the others: fewer roundings
_LAPLACIAN = 2**17  # pairs from which on sums from left to right are worth it
_REPEATED = 2**21  # and looking for equal values is
_CELLS = 2**18  # numbers whose means over all pairs are four tasks
_FEW = 64  # different values of a column
_LOOKED_AT = 3 * _FEW // 2  # rows that show whether there may be so few
_OTHERS = 4.0  # the factors of a row with all rows, where that with itself may be taken off
ELEMENTWISE = (RBF, Laplacian, ProductMatern, Cauchy, Chi2, Periodic, Categorical)
"""Kernels of which pairs of cells are evaluated in compiled code."""


def mean_roundings(n_rows: int, n_points: int) -> float:
    """Return by how many units in the last place a mean may be off, the factors' own included."""
    plain = n_rows + 8.0
    return max(plain, _ACCEPTED) if _is_large(n_rows, n_points) else plain


def mean_factors(game: Game, x: Floats, z: Floats, shares: Floats) -> Factors:
    """Return the weighted means over the rows `x` of the players' factors, (players, points).

    Parameters
    ----------
    game : Game
    x : array of shape (rows, columns)
    z : array of shape (points, columns)
    shares : array of shape (rows,)
        The weights of the rows, which sum to 1.
    """
    places = _places(game) if _is_large(len(x), len(z)) else None
    if places is None:
        return game.mean_factors(x, z, shares)
    table = _Table(game, places, x, z, shares)
    shape = len(game.players), len(z)
    means = Factors(np.ones(shape), np.zeros(shape))
    left = np.array([j for j, place in enumerate(places) if place is not None], dtype=np.intp)
    for add in (table.add_few_values, table.add_gaussian, table.add_laplacian, table.add_others):
        raise_if_cancelled()
        if left.size:
            left = add(left, means)
    return means


def mean_over_pairs(game: Game, x: Floats, n_jobs: int | None = 1) -> Factors | None:
    """Return the means over all pairs of different rows, shape (players,).

    Or None where nothing is gained over adding up the pairs, or digits would be lost: a row and
    itself, the factor 1, are taken from the sum of all pairs.
    """
    places, n = _places(game), len(x)
    if not _is_large(n, n) or places is None:
        return None
    table = _Table(game, places, x, x, np.full(n, 1.0 / n))
    means = Factors(np.ones(len(places)), np.zeros(len(places)))
    left = np.array([j for j, place in enumerate(places) if place is not None], dtype=np.intp)
    if not all(type(table.place(j).leaf) in (RBF, Laplacian) for j in left):
        return None
    # in fours, so that threads have as much to do; steps of few numbers would wait for each other
    n_parts = 4 * (len(left) * n // _CELLS) or 1
    step = max(1, -(-len(left) // n_parts))
    tasks = [left[start : start + step] for start in range(0, len(left), step)]
    for players, part in zip(tasks, run_in_order(table.over_pairs, tasks, n_jobs), strict=True):
        if part is None:
            return None
        _fill(means, players, part)
    return means


def _is_large(n_rows: int, n_points: int) -> bool:
    return n_rows >= _FEWEST_ROWS and n_points >= _FEWEST_POINTS


class _Place(NamedTuple):
    """Where a player's only factor comes from: a leaf, and the place among its columns."""

    leaf: ColumnKernel
    place: int


def _places(game: Game) -> list[_Place | None] | None:
    """Return where the factor of each player comes from, None where it is 1.

    Or None, unless every player has one column and every column one kernel of pkex's own.
    """
    places: dict[int, _Place] = {}
    n_factors = 0
    for leaf in game.term.leaves:
        if type(leaf) not in ELEMENTWISE:
            return None
        covered = range(game.term.n_columns) if leaf.columns is None else leaf.columns
        places.update((column, _Place(leaf, place)) for place, column in enumerate(covered))
        n_factors += len(covered)
    if n_factors > len(places) or any(len(columns) != 1 for columns in game.players):
        return None
    return [places.get(columns[0]) for columns in game.players]


class _Table:
    """Rows and points under kernels of single columns.

    The methods fill in the means of those players that they are for, and return the others.
    """

    def __init__(
        self, game: Game, places: Sequence[_Place | None], x: Floats, z: Floats, shares: Floats
    ) -> None:
        columns = [columns[0] for columns in game.players]
        self.game, self.places, self.shares = game, places, shares
        self.in_order = columns == list(range(game.term.n_columns))
        self.x, self.z = (x, z) if self.in_order else (x[:, columns], z[:, columns])
        self.allowed = mean_roundings(len(x), len(z))

    def over_pairs(self, players: Indices) -> Factors | None:
        """Return the means of some players over all pairs of different rows, where they are proven.

        The points are the rows, all with the same share.
        """
        raise_if_cancelled()
        n = len(self.x)
        means = Factors(np.ones((len(self.places), n)), np.zeros((len(self.places), n)))
        left = players
        for add in (self.add_few_values, self.add_gaussian, self.add_laplacian):
            left = add(left, means)
        if left.size:
            return None
        values, deficits = (n * part[players].mean(axis=1) for part in means)
        if (values < _OTHERS).any():
            return None
        deficits /= n - 1.0
        values = np.where(deficits < 0.5, 1.0 - deficits, (values - 1.0) / (n - 1.0))
        return Factors(values, deficits)

    def add_few_values(self, players: Indices, means: Factors) -> Indices:
        """Fill in the means of columns with few different values."""
        if len(self.x) * len(self.z) < _REPEATED:
            return players
        seen = [_n_different(table[:_LOOKED_AT, players]) for table in (self.x, self.z)]
        few = np.maximum(*seen) <= _FEW
        for place in np.flatnonzero(few):
            player = players[place : place + 1]
            rows, of_row = np.unique(self.x[:, player[0]], return_inverse=True)
            points, of_point = np.unique(self.z[:, player[0]], return_inverse=True)
            few[place] = 4 * len(rows) * len(points) <= len(self.x) * len(self.z)
            if few[place]:
                shares = np.bincount(of_row.reshape(-1), self.shares, len(rows)).astype(float)
                at_values = self._game_of(player).mean_factors(
                    rows[:, None], points[:, None], shares
                )
                _fill(
                    means, player, Factors(*(part[:, of_point.reshape(-1)] for part in at_values))
                )
        return players[~few]

    def add_gaussian(self, players: Indices, means: Factors) -> Indices:
        """Fill in the means of Gaussian columns: what is not proven is added up."""
        ours, others = self._split(players, RBF)
        if not ours.size:
            return others
        x, z = self._columns(ours)
        step = max(_BLOCK, int(len(x) ** 0.5))

        def sums(some: Indices, nodes: Floats) -> Factors:
            return _in_blocks(self._game_of(ours[some]), x[:, some], nodes, self.shares, step)

        rates = 0.5 / self._length_scales(ours) ** 2
        n_roundings = step + len(x) / step + 12.0
        certified = gauss_means(sums, n_roundings, x, z, self.shares, rates, self.allowed)
        _fill(means, ours, certified.means)
        n_missing = np.count_nonzero(~certified.proven, axis=1)
        whole = 2 * n_missing > len(z)
        some = np.flatnonzero((n_missing > 0) & ~whole)
        if some.size:
            # the unproven points of every column; where another has more, the first of them again
            at = np.argsort(certified.proven[some], axis=1, kind="stable")[
                :, : n_missing[some].max()
            ]
            at = np.where(np.arange(at.shape[1]) < n_missing[some, None], at, at[:, :1])
            points = np.take_along_axis(z[:, some], at.T, axis=0)
            plain = self._game_of(ours[some]).mean_factors(x[:, some], points, self.shares)
            for part, mean in zip(means, plain, strict=True):
                part[ours[some, None], at] = mean
        return np.concatenate([ours[whole], others])

    def add_laplacian(self, players: Indices, means: Factors) -> Indices:
        """Fill in the means of Laplacian columns."""
        ours, others = self._split(players, Laplacian)
        if not ours.size or len(self.x) * len(self.z) < _LAPLACIAN:
            return players
        scales = self._length_scales(ours)
        certified = laplace_means(*self._columns(ours), self.shares, scales, self.allowed)
        if certified is None:
            return players
        _fill(means, ours, certified)
        return others

    def add_others(self, players: Indices, means: Factors) -> Indices:
        """Fill in what is left by plain sums."""
        x, z = self._columns(players)
        _fill(means, players, self._game_of(players).mean_factors(x, z, self.shares))
        return players[:0]

    def _columns(self, players: Indices) -> tuple[Floats, Floats]:
        """Return rows and points in the columns of some players."""
        if len(players) == len(self.places):
            return as_column_major(self.x), as_column_major(self.z)
        return as_column_major(self.x[:, players]), as_column_major(self.z[:, players])

    def _split(self, players: Indices, kind: type[ColumnKernel]) -> tuple[Indices, Indices]:
        is_one = np.array([type(self.place(j).leaf) is kind for j in players], dtype=bool)
        return players[is_one], players[~is_one]

    def place(self, player: int) -> _Place:
        """Return where the factor of a player comes from."""
        place = self.places[player]
        assert place is not None  # those without a factor are not asked for
        return place

    def _length_scales(self, players: Indices) -> Floats:
        scales = []
        for player in players:
            leaf, place = self.place(player)
            scale: Any = getattr(leaf, "length_scale")  # noqa: B009
            scales.append(scale[place] if isinstance(scale, tuple) else scale)
        return np.array(scales)

    def _game_of(self, players: Indices) -> Game:
        """Return a game of some players, whose columns are those of a table of their own."""
        if self.in_order and len(players) == len(self.places):
            return self.game
        chosen: dict[int, list[tuple[int, int]]] = {}
        for column, player in enumerate(players):
            leaf, place = self.place(player)
            chosen.setdefault(id(leaf), []).append((column, place))
        leaves = [
            _restrict(leaf, chosen[id(leaf)])
            for leaf in self.game.term.leaves
            if id(leaf) in chosen
        ]
        term = Term(1.0, tuple(leaves), len(players))
        game_class: Any = type(self.game)
        ladder = replace(self.game.ladder, tree=None)  # a hierarchy is one of all players
        game: Game = game_class(term, tuple((j,) for j in range(len(players))), ladder)
        return game


def _restrict(leaf: ColumnKernel, places: list[tuple[int, int]]) -> ColumnKernel:
    """Return a leaf for new columns, each with what the leaf has at one of its places."""
    parameters: dict[str, Any] = {f.name: getattr(leaf, f.name) for f in fields(leaf)}
    for name, value in parameters.items():
        if isinstance(value, tuple):
            parameters[name] = tuple(value[place] for _, place in places)
    return replace(leaf, **{**parameters, "columns": tuple(column for column, _ in places)})


def _fill(means: Factors, players: Indices, new: Factors) -> None:
    for part, mean in zip(means, new, strict=True):
        part[players] = mean


def _n_different(table: Floats) -> Indices:
    """Return how many different values each column has."""
    changes: Indices = np.count_nonzero(np.diff(np.sort(table, axis=0), axis=0), axis=0)
    return 1 + changes


def _in_blocks(game: Game, x: Floats, z: Floats, shares: Floats, step: int) -> Factors:
    """Return means over blocks of rows, added up: with fewer roundings than row by row."""
    values, deficits = np.zeros((2, len(game.players), len(z)))
    for start in range(0, len(x), step):
        some = slice(start, start + step)
        total = shares[some].sum()
        if total > 0.0:
            mean = game.mean_factors(x[some], z, shares[some] / total)
            values += total * mean.values
            deficits += total * mean.deficits
    return Factors(values, deficits)
