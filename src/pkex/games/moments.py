"""The factors of atoms under independent inputs: their means and covariances.

The covariances of the factors of two atoms, ``C_j = E[g_aj g_cj] - E[g_aj] E[g_cj]``, are matrix
products over the rows of centred factors, each times the root of the weight of its row. Where these
are not too many, they are kept and made short (`pkex.games.compression`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.atoms import Atoms, join_factors
from pkex.games.blocks import rectangle
from pkex.games.compression import Compression
from pkex.games.engine import run_reduction
from pkex.games.protocols import Factors, Task
from pkex.games.threads import cluster_width, raise_if_cancelled

__all__ = [
    "AtomFactors",
    "Bundles",
    "CentredFactors",
    "centre_factors",
    "multiply_centred",
]


_TILE = 2**17  # factors of a tile of pairs of atoms, which a core's cache holds
_LARGEST_TILE, _SIDE = 2**20, 32  # a tile may be larger where it has fewer atoms on a side
_FEWEST_BLOCKS, _SHARED = 6, 100  # six blocks for the threads, if they have so many atoms each
_STEP = 2**16  # factors of some rows and a block of atoms, which a core's cache holds
_ROWS = 2**22  # factors of rows and atoms that are evaluated at once
_KEPT = 2**25  # centred factors that are kept: 256 MiB


@dataclass(frozen=True, eq=False)
class Bundles:
    """Independent bundles of inputs, each a sample or a rule with weights that sum to 1.

    Attributes
    ----------
    weights : array of shape (rows, bundles)
        What each row counts for each bundle.
    owners : array of shape (bundles,)
        The player that each belongs to.
    n_players : int
    """

    weights: Floats
    owners: NDArray[np.intp]
    n_players: int

    @property
    def are_players(self) -> bool:
        """Whether every player has one bundle, in the order of the players."""
        return np.array_equal(self.owners, np.arange(self.n_players))

    def join(self, factors: Factors) -> Factors:
        """Return the factors of the players from those of the bundles, on the first axis."""
        if self.are_players:
            return factors
        shape = (self.n_players, *factors.values.shape[1:])
        values, deficits = np.ones(shape), np.zeros(shape)
        for owner, value, lack in zip(self.owners, *factors, strict=True):
            values[owner] *= value
            deficits[owner] += lack * (1.0 - deficits[owner])
        return Factors(values, deficits)


class CentredFactors(NamedTuple):
    """The factors of atoms under each bundle of inputs, as what they are on average and around it.

    Attributes
    ----------
    means : Factors of shape (bundles, atoms)
        Those of atoms of single players are 0, as these are shifted by their mean.
    lacks : array of shape (bundles, atoms)
        The means of the deficits before that shift.
    centred : list of arrays of shape (rank, atoms), one for each bundle, or None
        Their products of columns are the covariances of the factors (`pkex.games.compression`);
        None where factors minus their means are too many to be kept.
    mean_of_singles : array of shape (outputs,)
        What atoms of single players have in the mean of the functions.
    """

    means: Factors
    lacks: Floats
    centred: list[Floats] | None
    mean_of_singles: Floats


class AtomFactors:
    """The factors of atoms at all rows, of which the means are taken: a reduction.

    Parameters
    ----------
    parts : sequence of (Atoms, array of shape (rows, columns))
        The atoms of each part of the functions, in games whose players are the bundles, and the
        rows as the part has prepared them.
    weights : array of shape (atoms, outputs)
        Of the atoms of all parts.
    bundles : Bundles
    keep : bool, optional
        Whether factors are kept until their covariances are short; if they are few, by default.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Atoms, Floats]],
        weights: Floats,
        bundles: Bundles,
        keep: bool | None = None,
    ) -> None:
        self.parts, self.weights, self.bundles = parts, weights, bundles
        self.count = len(weights)
        self.n_rows, self.n_bundles = bundles.weights.shape
        self.roots = np.sqrt(bundles.weights).T[:, :, None]
        small, large = (math.isqrt(size // self.n_bundles) for size in (_TILE, _LARGEST_TILE))
        n_blocks = math.ceil(self.count / max(1, small, min(large, _SIDE)))
        n_blocks = max(n_blocks, min(_FEWEST_BLOCKS, self.count // _SHARED))
        n_blocks += n_blocks > 1 and n_blocks % 2  # so that two threads have the same to do
        self.side = math.ceil(self.count / n_blocks)  # atoms of a block, alike in all but the last
        few = self.n_bundles * self.n_rows * self.count <= _KEPT
        self.keep = few if keep is None else keep
        self.sums = np.empty((2, self.n_bundles, self.count))
        # block after block in one array, whose memory comes in large pages
        self.centred = np.empty(self.n_bundles * self.n_rows * self.count if self.keep else 0)

    def tasks(self) -> Sequence[Task]:
        """Return blocks of atoms, each at all rows."""
        rows = slice(0, self.n_rows)
        return [Task(rows, atoms) for atoms, _ in rectangle(self.count, 1, self.side)]

    def run(self, task: Task) -> tuple[slice, Floats]:
        """Return the means of factors and deficits of a block; keep weighted factors if wanted."""
        atoms = task.points
        width = atoms.stop - atoms.start
        sums = np.zeros((2, self.n_bundles, width))
        deficits = self.block(atoms) if self.keep else None
        values: Floats | None = None  # kept only where they seem to be needed
        step = max(1, _STEP // (self.n_bundles * width))
        for start in range(0, self.n_rows, step):
            if start:
                raise_if_cancelled()
            rows = slice(start, min(start + step, self.n_rows))
            factors = self.evaluate(rows, atoms)
            shares = self.bundles.weights[rows].T[:, None, :]
            for total, part in zip(sums, factors, strict=True):
                total += (shares @ part)[:, 0]
            if deficits is None:
                continue
            if start == 0 and not _are_near_one(factors.deficits.mean(axis=1)).all():
                values = np.empty_like(deficits)
            deficits[:, rows] = factors.deficits
            if values is not None:
                values[:, rows] = factors.values
        if deficits is None:
            return atoms, sums
        # from deficits where factors are near 1, else from values: each has its own roundings
        near = _are_near_one(sums[1])
        centred = np.subtract(sums[1][:, None], deficits, out=deficits)
        if not near.all():
            if values is None:
                values = self.evaluate(slice(0, self.n_rows), atoms).values
            np.subtract(values, sums[0][:, None], out=values)
            np.copyto(centred, values, where=~near[:, None])
        centred *= self.roots
        return atoms, sums

    def block(self, atoms: slice) -> Floats:
        """Return where the centred factors of a block are kept, shape (bundles, rows, atoms)."""
        size = self.n_bundles * self.n_rows
        here = self.centred[size * atoms.start : size * atoms.stop]
        return here.reshape(self.n_bundles, self.n_rows, -1)

    def add(self, part: tuple[slice, Floats]) -> None:
        """Take in what a task returned."""
        atoms, sums = part
        self.sums[:, :, atoms] = sums

    def result(self) -> CentredFactors:
        """Return the means; the centred factors are left to `centre_factors`."""
        values, lacks = self.sums
        values = np.where(_are_near_one(lacks), 1.0 - lacks, values)
        deficits = lacks.copy()
        single = np.concatenate([atoms.single for atoms, _ in self.parts])
        alone = np.flatnonzero(single >= 0)
        # a term of one player has no part in the worth of none, but in the mean of the function
        mean_of_singles = values[single[alone], alone] @ self.weights[alone]
        values[single[alone], alone] = 0.0
        deficits[single[alone], alone] = 1.0
        return CentredFactors(Factors(values, deficits), lacks, None, mean_of_singles)

    def source_means(self, factors: CentredFactors) -> Floats:
        """Return the means of the numbers that factors are centred from, (bundles, atoms).

        These are deficits or factors, and what is centred is off by roundings of their size.
        """
        lacks, means = factors.lacks, factors.means.values
        if not self.keep:
            return lacks
        values = np.where(means == 0.0, 1.0 - lacks, means)  # those of single players were shifted
        sources: Floats = np.where(_are_near_one(lacks), lacks, values)
        return sources

    def evaluate(self, rows: slice, wanted: slice) -> Factors:
        """Return the factors of some atoms of all parts at some rows."""
        return join_factors(self.parts, rows, wanted)

    def add_covariances(self, lacks: Floats, first: slice, second: slice, total: Floats) -> None:
        """Add those of the factors of a tile under each bundle to (bundles, atoms, atoms).

        `lacks` are the means of the deficits.
        """
        step = max(1, _ROWS // (self.n_bundles * sum(total.shape[1:])))
        for start in range(0, self.n_rows, step):
            raise_if_cancelled()
            rows = slice(start, min(start + step, self.n_rows))
            left, right = (self._centre(lacks, rows, some) for some in (first, second))
            total += left.transpose(0, 2, 1) @ right

    def _centre(self, lacks: Floats, rows: slice, atoms: slice) -> Floats:
        """Return factors minus their means, times roots of weights, (bundles, rows, atoms)."""
        deficits = self.evaluate(rows, atoms).deficits
        centred: Floats = lacks[:, None, atoms] - deficits
        centred *= self.roots[:, rows]
        return centred


def centre_factors(atoms: AtomFactors, *, n_jobs: int | None) -> CentredFactors:
    """Return the means of factors, and their short centred columns if they are kept.

    To be called inside `single_blas`.
    """
    if not atoms.keep:
        factors: CentredFactors = run_reduction(atoms, n_jobs=n_jobs)
        return factors
    here = 1 if cluster_width(n_jobs) else n_jobs  # factors take longer to send than to evaluate
    factors = run_reduction(atoms, n_jobs=here)
    starts = range(0, atoms.count, atoms.side)
    blocks = [atoms.block(slice(start, start + atoms.side)) for start in starts]
    centred = run_reduction(Compression(blocks), n_jobs=here)
    atoms.centred = np.empty(0)
    return factors._replace(centred=centred)


def _are_near_one(lacks: Floats) -> NDArray[np.bool_]:
    """Return whether mean factors have more digits as mean deficits."""
    near: NDArray[np.bool_] = np.abs(lacks) < 0.5
    return near


def multiply_centred(centred: Sequence[Floats], first: slice, second: slice, out: Floats) -> Floats:
    """Return the covariances of a tile under each bundle, shape (bundles, atoms, atoms)."""
    for short, one in zip(centred, out, strict=True):
        np.matmul(short[:, first].T, short[:, second], out=one)
    return out
