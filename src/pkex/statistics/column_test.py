"""Is the contribution of a column significant? Exact where it is independent of the others.

Permuting the labels of two samples (or a target) tests that nothing changed at all. When other
columns did change, the share of one that did not still fluctuates like ``1 / sqrt(n)``, while the
band of the permutations shrinks like ``1 / n``: it would be found too often. So the column alone is
permuted over the rows. If it has the same distribution in both samples and is independent of the
other columns in both, or is independent of the other columns and the target jointly, its values are
exchangeable given all the rest, and the test is exact.

Under marginal removal the share of feature j is

    phi_j = sum_il w_il Q_j(i, l) (k_j(i, l) - M_j),

where ``Q_j``, the integral of the products of all other features, does not involve column j, and
``M_j``, a mean over all pairs of different rows, is the same for every permutation. So ``w Q_j`` is
computed once, and a permutation costs one quadratic form in its entries (`quadratic_forms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.games.reductions import exclude_self
from pkex.games.sources import PointSource
from pkex.games.threads import raise_if_cancelled, run_in_order
from pkex.kernels.low_rank import find_roots, is_definite
from pkex.kernels.normal_form import Term
from pkex.statistics.pair_weights import Weights
from pkex.statistics.quadratic_forms import LOW, RANK, STRIP, HalfMatrix, QuadraticForm, p_value

__all__ = ["ColumnTest", "forms_of", "weighted_integrals"]


_TILE = 2**17  # values of pairs at once: 1 MiB
_WIDTH = 256  # points of a tile
_ENTRIES = 2**17  # entries of a kernel matrix looked up at once: 1 MiB


@dataclass(frozen=True, eq=False)
class ColumnTest:
    """Tests features on the rows of some blocks.

    Attributes
    ----------
    sources : sequence of PointSource
        All pairs of the rows of each block.
    weights : sequence of Weights
    n_permutations : int
    n_jobs : int or None
    """

    sources: Sequence[PointSource]
    weights: Sequence[Weights]
    n_permutations: int
    n_jobs: int | None

    def __call__(self, group: tuple[list[int], Indices]) -> list[float]:
        """Return the p-values of some features, given with their seeds."""
        features, seeds = group
        integrals = [
            weighted_integrals(source, weights, features, n_jobs=self.n_jobs)
            for source, weights in zip(self.sources, self.weights, strict=True)
        ]
        tasks = [
            (feature, [block[place] for block in integrals], seeds[place])
            for place, feature in enumerate(features)
        ]
        return list(run_in_order(self._test, tasks, self.n_jobs))

    def _test(self, task: tuple[int, list[list[HalfMatrix | None]], Indices]) -> float:
        feature, integrals, seed = task
        blocks = [
            forms_of(source, feature, of_terms)
            for source, of_terms in zip(self.sources, integrals, strict=True)
        ]
        return p_value(blocks, self.n_permutations, np.random.default_rng(seed))


def weighted_integrals(
    source: PointSource, weights: Weights, features: Sequence[int], *, n_jobs: int | None = 1
) -> list[list[HalfMatrix | None]]:
    """Return for each of some features and each term ``w c Q_j``, c the coefficient of the term.

    None stands for a term that the feature takes no part in.
    """
    takes_part = [_takes_part(source, feature) for feature in features]
    strips_of = _Strips(source, weights, features)
    n_rows = len(source.x)
    tasks = [slice(start, min(start + STRIP, n_rows)) for start in range(0, n_rows, STRIP)]
    strips = list(run_in_order(strips_of, tasks, n_jobs))
    return [
        [
            HalfMatrix([strip[term][place] for strip in strips]) if is_part else None
            for term, is_part in enumerate(is_part_of_terms)
        ]
        for place, is_part_of_terms in enumerate(takes_part)
    ]


def _takes_part(source: PointSource, feature: int) -> list[bool]:
    """Tell for each term whether a feature has a factor in it."""
    return [
        any(leaf.columns is None or column in leaf.columns for leaf in game.term.leaves)
        for game in source.games
        for column in game.players[feature][:1]
    ]


def forms_of(
    source: PointSource, feature: int, integrals: Sequence[HalfMatrix | None]
) -> list[QuadraticForm]:
    """Return the forms whose sum is the share of a feature, up to a constant.

    There is one for each term of the kernel that the feature takes part in.
    """
    forms = []
    for game, weights in zip(source.games, integrals, strict=True):
        if weights is None:
            continue
        term = game.term.restrict(game.players[feature], coefficient=1.0)
        root = None
        if len(source.x) ** 2 > _ENTRIES and is_definite([term]):
            [root] = find_roots([term], [game.players[feature]], source.x, RANK, LOW)
        if root is not None:
            forms.append(QuadraticForm.of_root(weights, root, 1.0))
        else:
            forms.append(QuadraticForm.of(weights, _matrix(term, source.x)))
    return forms


@dataclass(frozen=True, eq=False)
class _Strips:
    """Gives strips of ``w c Q_j`` for some features, of each term: (features, rows, later rows)."""

    source: PointSource
    weights: Weights
    features: Sequence[int]

    def __call__(self, rows: slice) -> list[Floats]:
        n_terms, n_rows = len(self.source.games), len(self.source.x)
        local = exclude_self(self.weights, rows, slice(rows.start, n_rows))
        local[:, : len(local)] *= 0.5
        features = np.array(self.features, dtype=np.int64)
        width = max(1, min(_WIDTH, _TILE // len(features)))
        step = max(1, _TILE // (len(features) * width))
        strips = []
        for term in range(n_terms):
            strip = np.zeros((len(features), *local.shape))
            for first in range(rows.start, rows.stop, step):
                raise_if_cancelled()
                some = slice(first, min(first + step, rows.stop))
                for start in range(rows.start, n_rows, width):
                    points = slice(start, min(start + width, n_rows))
                    here = (
                        slice(some.start - rows.start, some.stop - rows.start),
                        slice(points.start - rows.start, points.stop - rows.start),
                    )
                    tile = strip[:, *here]
                    self.source.add_integrals(term, some, points, features, tile)
                    tile *= local[here]
            strips.append(strip)
        return strips


def _matrix(term: Term, x: Floats) -> Floats:
    """Return the kernel matrix of a term."""
    step = max(1, _ENTRIES // len(x))
    return np.concatenate([term.worth(x[i : i + step], x) for i in range(0, len(x), step)])
