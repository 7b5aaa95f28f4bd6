"""What permuted labels or targets say about the columns one by one, and about all together.

The sums are made in the same tiles as those of the contributions where these are wanted, so that
the weights of pairs are made once, and without these where only the verdict is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex.games.permutations import Filler, PermutedSums

__all__ = ["LabelFillers", "LabelSums", "PermutedLabels", "PermutedStatistics"]


@dataclass(frozen=True, eq=False)
class PermutedStatistics:
    """Several statistics, as they are and under permutations.

    Attributes
    ----------
    values : array of shape (statistics,)
    null_values : array of shape (permutations, statistics)
    rounding : array of shape (statistics,)
        How far apart values may be that are equal but for rounding.
    """

    values: Floats
    null_values: Floats
    rounding: Floats

    @classmethod
    def mean(cls, parts: Sequence[PermutedSums]) -> PermutedStatistics:
        """Return the mean over blocks."""
        sums = np.mean([part.sums for part in parts], axis=0)
        rounding = np.mean([part.rounding for part in parts], axis=0)
        return cls(sums[:, 0], sums[:, 1:].T, rounding)


class LabelSums(NamedTuple):
    """The sums of one block."""

    univariate: PermutedSums
    """Of each feature by itself."""
    joint: PermutedSums
    """Of the members of the family."""


class PermutedLabels(NamedTuple):
    """The mean over all blocks."""

    univariate: PermutedStatistics | None
    joint: PermutedStatistics | None

    @classmethod
    def mean(cls, parts: Sequence[LabelSums]) -> PermutedLabels:
        """Return the mean; nothing of no parts."""
        if not parts:
            return cls(None, None)
        univariate, joint = (PermutedStatistics.mean(each) for each in zip(*parts, strict=True))
        return cls(univariate, joint)


class LabelFillers(NamedTuple):
    """What tiles have to hold."""

    fillers: list[Filler]
    """The members of the family first, then the features, if they are not done already."""
    univariate: PermutedSums | None
    """The sums of the features by themselves, where kernels of low rank gave them."""
    n_members: int
    """The size of the family."""

    def split(self, sums: PermutedSums) -> LabelSums:
        """Return the sums by what they are of."""
        joint, others = sums.parts(self.n_members)
        return LabelSums(others if self.univariate is None else self.univariate, joint)
