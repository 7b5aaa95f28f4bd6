"""Sums over points and background rows that effects are made of.

With the factors of a product kernel, the prediction at background row b with feature j set to g is

    ICE_j(g, b) = sum_i alpha_i k_j(g, x_ij) R_bij + intercept,    R_bij = prod over l != j of k_l,

so all that is needed are the leave-one-out products R: one pass over background and points for all
features, then a matrix product a feature. The mean over the background takes ``W_ij = sum_b w_b
R_bij`` alone. Other kernels are pieces of `pkex.kernels.splitting`, whose sums over columns take
the place of the products and are evaluated at every place of the grid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pkex._util.progress import show_progress
from pkex._util.types import Floats
from pkex.games.backend import native
from pkex.games.blas import single_blas
from pkex.games.blocks import even_step, rectangle
from pkex.games.layout import as_column_major
from pkex.games.means import ELEMENTWISE
from pkex.games.rules import general_ladder
from pkex.games.threads import raise_if_cancelled, run_in_order
from pkex.kernels.messages import not_finite
from pkex.kernels.splitting import Contribution, KernelPiece

__all__ = ["BackgroundSums", "Curve", "PartOfModel", "sum_over_background"]

_ENTRIES = 2**21  # of the products of a block of background rows: 16 MiB
Link = Callable[[Floats], Floats]


class Curve(NamedTuple):
    """A feature or a pair of features at some places.

    Attributes
    ----------
    features : tuple of int
    places : list of arrays of shape (n_places, n_prepared_columns)
        For each part of the model; only the columns of the features count.
    shares : array of shape (1, n_rows) or (n_intervals, n_rows)
        What the background rows count in the mean, or in that of each interval.
    shape : tuple of int
        The numbers of places along each axis; those of a pair are all pairs, the second fastest.
    counts : array of shape (n_intervals,) or None
        Where differences between neighbouring places are averaged, as in ALE: what all rows of each
        interval count.
    """

    features: tuple[int, ...]
    places: list[Floats]
    shares: Floats
    shape: tuple[int, ...]
    counts: Floats | None = None

    @property
    def local(self) -> bool:
        """Whether differences between neighbouring places are averaged."""
        return self.counts is not None

    def cut(self, n_points: int) -> Iterator[slice]:
        """Yield the places in parts that need little memory; all at once for differences."""
        if self.local:
            yield slice(None)
            return
        step = max(1, _ENTRIES // n_points)
        yield from (slice(start, start + step) for start in range(0, len(self.places[0]), step))


@dataclass(frozen=True, eq=False)
class PartOfModel:
    """A part of a model as sums need it.

    Attributes
    ----------
    pieces : list of KernelPiece
        The kernel.
    points : array of shape (n_points, n_prepared_columns)
    rows : array of shape (n_rows, n_prepared_columns)
        The background.
    alpha : array of shape (n_points, n_outputs)
    columns : sequence of tuples of int
        The prepared columns of each feature.
    """

    pieces: Sequence[KernelPiece]
    points: Floats
    rows: Floats
    alpha: Floats
    columns: Sequence[tuple[int, ...]]

    def predict(self, rows: slice) -> Floats:
        """Return the part at some background rows, without its intercept, (rows, n_outputs)."""
        total: Any = 0.0
        every = {0: tuple(range(self.rows.shape[1]))}
        for piece in self.pieces:
            whole = _contribute(piece, every, self.rows[rows], self.points)[0]
            total = total + piece.evaluate(whole) @ self.alpha
        return np.asarray(total)

    def inside(self, piece: KernelPiece, curve: Curve, number: int, some: Any = slice(None)) -> Any:
        """Return what the features of a curve contribute at some of its places."""
        columns = [column for j in curve.features for column in self.columns[j]]
        return piece.contribute(columns, curve.places[number][some], self.points)

    def outside(
        self, piece: KernelPiece, curves: Sequence[Curve], rows: slice
    ) -> Iterator[tuple[int, Contribution]]:
        """Yield for each curve what all other columns contribute at some background rows."""
        used = sorted({j for curve in curves for j in curve.features})
        covered = {column for j in used for column in self.columns[j]}
        others = [column for column in range(self.rows.shape[1]) if column not in covered]
        background = self.rows[rows]
        columns = {-1: others, **{j: self.columns[j] for j in used}}
        items = _contribute(piece, columns, background, self.points)
        sets = [(curve.features, number) for number, curve in enumerate(curves)]
        return _leave_out(items, sets, piece)

    def explain(
        self, curve: Curve, means: Sequence[Floats], number: int, some: slice = slice(None)
    ) -> Floats:
        """Return the mean kernel between places, or intervals, and points, from its sums."""
        total: Any = 0.0
        for piece, mean in zip(self.pieces, means, strict=True):
            if piece.sums:
                total = total + mean[some]
                continue
            factors = self.inside(piece, curve, number, some)[0]
            factors = np.diff(factors, axis=0) if curve.local else factors
            total = total + piece.term.coefficient * factors * mean
        return np.asarray(total)

    def average(self, curve: Curve, means: Sequence[Floats], number: int) -> Floats:
        """Return the mean curve of the part, (places, outputs); of differences in ALE."""
        blocks = curve.cut(len(self.points))
        parts = [self.explain(curve, means, number, some) @ self.alpha for some in blocks]
        return np.concatenate(parts)


class BackgroundSums(NamedTuple):
    """What a pass over the background returns.

    Attributes
    ----------
    means : list over parts of lists over curves of lists over pieces of arrays
        Means of products outside, (1, n_points) or (n_intervals, n_points), or of a piece with sums
        the means of its values, (n_places, n_points) or (n_intervals, n_points).
    individual : list over curves of arrays of shape (n_rows, n_places, n_outputs), or None
    linked : list over curves of arrays of shape (n_places, n_outputs), or None
        Means of a function of the individual curves.
    crossed : list over curves of arrays of shape (n_rows, n_outputs), or None
        Means over the places instead of the background, of that function where there is one.
    """

    means: list[list[list[Floats]]]
    individual: list[Floats] | None
    linked: list[Floats] | None
    crossed: list[Floats] | None


@dataclass(frozen=True, eq=False)
class _Pass:
    """A pass over the background, block by block."""

    parts: Sequence[PartOfModel]
    curves: Sequence[Curve]
    intercept: Floats
    individual: bool
    link: Link | None
    across: Floats | None  # weights of places, for means over them

    def run(self, rows: slice) -> Any:
        """Return means, individual curves, means of their function, and means over places."""
        count = rows.stop - rows.start
        n_outputs = self.parts[0].alpha.shape[1]
        wants = self.individual or self.link is not None
        ice = [np.zeros((count, len(curve.places[0]), n_outputs)) for curve in self.curves if wants]
        crossed = [np.zeros((count, n_outputs)) for _ in self.curves if self.across is not None]
        means: list[list[list[Any]]] = [[[] for _ in self.curves] for _ in self.parts]
        for k, part in enumerate(self.parts):
            for piece in part.pieces:
                for number, outside in part.outside(piece, self.curves, rows):
                    curve = self.curves[number]
                    means[k][number].append(_mean(part, piece, curve, k, outside, rows))
                    if wants:
                        ice[number] += _individual(part, piece, curve, k, outside)
                    if self.across is not None and self.link is None:
                        crossed[number] += _across(part, piece, curve, k, outside, self.across)
        ice = [each + self.intercept for each in ice]
        linked = None
        if self.link is not None:
            ice = [self.link(each) for each in ice]
            linked = [
                np.einsum("b,bgm->gm", curve.shares[0, rows], each)
                for curve, each in zip(self.curves, ice, strict=True)
            ]
            if self.across is not None:
                crossed = [np.einsum("bgm,g->bm", each, self.across) for each in ice]
        return means, ice if self.individual else None, linked, crossed


def sum_over_background(
    parts: Sequence[PartOfModel],
    curves: Sequence[Curve],
    intercept: Floats,
    *,
    n_jobs: int | None,
    individual: bool = False,
    link: Link | None = None,
    across: Floats | None = None,
    progress: bool = False,
) -> BackgroundSums:
    """Return the sums of a pass over the background, the same for any number of threads."""
    n_rows, used = len(parts[0].rows), len({j for curve in curves for j in curve.features}) + 1
    width = max(used * len(part.points) for part in parts)
    if individual or link is not None or across is not None:
        width = max(width, sum(curve.places[0].shape[0] for curve in curves) * intercept.size)
    step = even_step(n_rows, max(1, _ENTRIES // width))
    blocks = [rows for rows, _ in rectangle(n_rows, 1, step)]
    work = _Pass(parts, curves, intercept, individual, link, across)
    means: Any = None
    ice: list[list[Floats]] = [[] for _ in curves]
    crossed: list[list[Floats]] = [[] for _ in curves]
    linked: list[Floats] | None = None
    with single_blas():
        results: Any = run_in_order(work.run, blocks, n_jobs)
        if progress:
            results = show_progress(results, [b.stop - b.start for b in blocks], n_rows)
        for some_means, some_ice, some_linked, some_crossed in results:
            means = some_means if means is None else _add(means, some_means)
            for number in range(len(curves)):
                if some_ice is not None:
                    ice[number].append(some_ice[number])
                if some_crossed:
                    crossed[number].append(some_crossed[number])
            if some_linked is not None:
                linked = some_linked if linked is None else _add(linked, some_linked)
    return BackgroundSums(
        means,
        [np.concatenate(each) for each in ice] if individual else None,
        linked,
        [np.concatenate(each) for each in crossed] if across is not None else None,
    )


def _contribute(
    piece: KernelPiece, columns: Mapping[int, Sequence[int]], x: Floats, z: Floats
) -> dict[int, Contribution]:
    """Return what sets of columns, all together, contribute between rows and points.

    In compiled code where that can be, which is faster and keeps no thread waiting.
    """
    names = [name for name, those in columns.items() if those]
    compiled = native()
    leaves = piece.term.leaves
    if compiled is None or piece.sums or not all(type(leaf) in ELEMENTWISE for leaf in leaves):
        items = {}
        for name, those in columns.items():
            raise_if_cancelled()
            items[name] = piece.contribute(those, x, z)
        return items
    players = tuple(tuple(columns[name]) for name in names)
    game = compiled.GAME(piece.term, players, general_ladder(len(players)))
    factors = game.factors(as_column_major(x), as_column_major(z)).values
    if not np.isfinite(factors).all():
        raise not_finite(piece.term)
    by_name = dict(zip(names, factors, strict=True))
    return {name: (by_name.get(name, np.ones((len(x), len(z)))),) for name in columns}


def _leave_out(
    items: dict[int, Contribution], sets: Sequence[tuple[tuple[int, ...], int]], piece: KernelPiece
) -> Iterator[tuple[int, Contribution]]:
    """Yield for each set of items, with its number, all others joined; without a division.

    One pass forward and one backward leave out every single item; of larger sets the first member
    is left out, and the others of what is left.
    """
    members: dict[int, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
    for features, number in sets:
        members[features[0]].append((features[1:], number))
    single = {j for j, those in members.items() if any(not rest for rest, _ in those)}
    names = [name for name in items if name != -1]
    if single:
        before = [items[-1]]
        for name in names[:-1]:
            before.append(piece.join(before[-1], items[name]))
        after: Contribution | None = None
        for k in reversed(range(len(names))):
            name = names[k]
            if name in single:
                whole = before[k] if after is None else piece.join(before[k], after)
                yield from ((number, whole) for rest, number in members[name] if not rest)
            after = items[name] if after is None else piece.join(after, items[name])
    for j, those in members.items():
        larger = [(rest, number) for rest, number in those if rest]
        if larger:
            others = {name: item for name, item in items.items() if name != j}
            yield from _leave_out(others, larger, piece)


def _mean(
    part: PartOfModel, piece: KernelPiece, curve: Curve, k: int, outside: Contribution, rows: slice
) -> Floats:
    """Return what some background rows add to the means of a piece."""
    shares = curve.shares[:, rows]
    if not piece.sums:
        return np.asarray(shares @ outside[0])
    inside = part.inside(piece, curve, k)
    total = np.zeros((len(shares) if curve.local else len(inside[0]), len(part.points)))
    for g in range(len(total)):
        raise_if_cancelled()
        if not curve.local:
            total[g] = shares[0] @ _evaluate(piece, inside, g, outside)
            continue
        some = np.flatnonzero(shares[g])
        here = tuple(each[some] for each in outside)
        change = _evaluate(piece, inside, g + 1, here) - _evaluate(piece, inside, g, here)
        total[g] = shares[g, some] @ change
    return total


def _evaluate(
    piece: KernelPiece, inside: Contribution, place: int, outside: Contribution
) -> Floats:
    """Return a piece between background rows, at one place of the features, and points."""
    return piece.evaluate(piece.join(tuple(each[place] for each in inside), outside))


def _individual(
    part: PartOfModel, piece: KernelPiece, curve: Curve, k: int, outside: Contribution
) -> Floats:
    """Return the individual curves of some background rows, (rows, places, outputs)."""
    inside = part.inside(piece, curve, k)
    alpha = part.alpha
    curves = np.empty((len(outside[0]), len(inside[0]), alpha.shape[1]))
    if piece.sums:
        for g in range(curves.shape[1]):
            raise_if_cancelled()
            curves[:, g] = _evaluate(piece, inside, g, outside) @ alpha
        return curves
    for m in range(alpha.shape[1]):
        curves[..., m] = (outside[0] * (piece.term.coefficient * alpha[:, m])) @ inside[0].T
    return curves


def _across(
    part: PartOfModel,
    piece: KernelPiece,
    curve: Curve,
    k: int,
    outside: Contribution,
    weights: Floats,
) -> Floats:
    """Return the means of individual curves over their places, (rows, outputs)."""
    if piece.sums:
        curves = _individual(part, piece, curve, k, outside)
        return np.asarray(np.einsum("bgm,g->bm", curves, weights))
    mean = weights @ part.inside(piece, curve, k)[0]
    return np.asarray((outside[0] * (piece.term.coefficient * mean)) @ part.alpha)


def _add(first: Any, second: Any) -> Any:
    """Return the sums of arrays in lists of lists."""
    if isinstance(first, list):
        return [_add(a, b) for a, b in zip(first, second, strict=True)]
    return first + second
