"""`Family`: a statistic under permutations, and the one p-value of the verdict.

The verdict is that of a family of tests: several kernels over all features, and the feature that
stands out most by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.p_values import FamilyTest, combine_p, family_test, permutation_p, tie_tolerance
from pkex._util.types import Floats, Indices
from pkex.kernels.algebra import Kernel
from pkex.results.base import Result

__all__ = ["MEMBERS", "Family", "Permuted", "PermutedArrays", "labellings", "verdict_of"]


# Of the significance level of the statistics of all features. Any shares keep the level; these were
# chosen among about a dozen by what tests of planted changes detect (docs/p_values.md): the RBF
# kernels see changes of dependence best, and what needs the energy distance it sees clearly.
_SHARES = {"rbf": 0.7, "laplacian": 0.1, "energy": 0.2, "kernel": 1.0}
MEMBERS = tuple(_SHARES)  # statistics of all features that the verdict may go by
_MANY_ROWS = 20  # of which there are more permutations than anybody draws
_BAND = (0.025, 0.975)  # quantiles of the null band


class Permuted(Protocol):
    """Statistics as they are and under permutations."""

    @property
    def values(self) -> Floats:
        """Shape (statistics,)."""

    @property
    def null_values(self) -> Floats:
        """Shape (permutations, statistics)."""

    @property
    def rounding(self) -> Floats:
        """Shape (statistics,): how far apart equal ones may be."""


class PermutedArrays(NamedTuple):
    """Statistics as they are and under permutations, as arrays."""

    values: Floats
    null_values: Floats
    rounding: Floats


def verdict_of(joint: Permuted, names: Sequence[str], univariate: Permuted | None) -> FamilyTest:
    """Return the test of the verdict: of statistics of all features, and of each by itself."""
    columns, slack = (None, None) if univariate is None else labellings(univariate)
    shares = [_SHARES[name] for name in names]
    return family_test(*labellings(joint), columns, slack, shares)


def labellings(statistics: Permuted) -> tuple[Floats, Floats]:
    """Return the statistics of all labellings, the given one first, and what counts as equal."""
    values, null, rounding = statistics.values, statistics.null_values, statistics.rounding
    return np.vstack([values, null]), tie_tolerance(values, null, rounding)


@dataclass(frozen=True, eq=False, repr=False)
class Family(Result):
    """The statistic, what permutations gave for it, and the verdict; see `Attribution`."""

    statistic_name: str
    values: Floats
    rounding: Floats
    n_rows: tuple[int, ...]
    null_values: Floats | None = None
    univariate_values: Floats | None = None
    univariate_null_values: Floats | None = None
    univariate_rounding: Floats | None = None
    test_p_values: Floats | None = None
    n_test_rows: int | None = None
    standard_error: float | None = None
    standard_errors: Floats | None = None
    target_kernel: Kernel | None = None
    alpha: float = 0.05
    member_names: tuple[str, ...] = ()
    member_values: Floats | None = None
    member_null_values: Floats | None = None
    member_rounding: Floats | None = None

    @property
    def contributions(self) -> Floats:
        """The contribution of each feature to the statistic; the same as `values`.

        See Also
        --------
        pkex.Attribution.statistic : Their sum.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0]).contributions.round(4)
        array([ 0.0584, -0.0037])
        """
        return self.values

    @property
    def statistic(self) -> float:
        """The statistic, which the contributions sum to.

        See Also
        --------
        pkex.Attribution.contributions : What it consists of.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> round(pkex.hsic(X, X[:, 0]).statistic, 4)
        0.0547
        """
        return float(self.values.sum())

    @property
    def ranking(self) -> Indices:
        """The numbers of the features, the largest value first.

        See Also
        --------
        pkex.Attribution.significant : The names of the significant features.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0]).ranking
        array([0, 1])
        """
        return np.argsort(-self.values, kind="stable")

    @property
    def n_permutations(self) -> int:
        """The number of permutations; 0 without a test.

        See Also
        --------
        pkex.Attribution.n_relabellings : How many different ones there are.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).n_permutations
        99
        """
        return 0 if self.null_values is None else len(self.null_values)

    @property
    def n_relabellings(self) -> int:
        """How many different permutations there are, of which the most extreme one is one.

        See Also
        --------
        pkex.Attribution.n_permutations : How many were drawn.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0]).n_relabellings
        479001600
        """
        if self.target_kernel is not None:
            return math.factorial(min(self.n_rows[0], _MANY_ROWS))
        first, second = (min(count, _MANY_ROWS) for count in self.n_rows)
        return math.comb(first + second, first) // (2 if first == second else 1)

    @lazy
    def null_statistics(self) -> Floats | None:
        """The statistic under the permutations; None without them.

        See Also
        --------
        pkex.Attribution.p_statistic : The p-value that comes from them.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).null_statistics.shape
        (99,)
        """
        return None if self.null_values is None else self.null_values.sum(axis=1)

    @lazy
    def null_band(self) -> Floats | None:
        """Where 95 % of the null values of each feature lie, shape (2, n_features), or None.

        See Also
        --------
        pkex.Attribution.p_values : The p-values of the features.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).null_band.round(2)
        array([[-0.01, -0.  ],
               [ 0.02,  0.01]])
        """
        if self.null_values is None:
            return None
        band: Floats = np.quantile(self.null_values, _BAND, axis=0)
        return band

    @lazy
    def p_value(self) -> float | None:
        """The p-value of the verdict: of all features together or of any by itself.

        It is one test of a small family: the difference, or dependence, of all features together
        under several kernels, and the feature that stands out most by itself. The same permutations
        say how small the smallest of their p-values gets by chance. With a kernel that was given it
        is that kernel and the features.

        See Also
        --------
        pkex.Attribution.detected : Whether it is at most the significance level.
        pkex.Attribution.detected_by : The member of the family that speaks most clearly.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
        >>> Z[:, 4] += 0.8
        >>> drift = pkex.mmd(X, Z, n_permutations=999, random_state=0)
        >>> drift.p_statistic > 0.1, drift.p_value < 0.01
        (True, True)
        """
        return None if self._family is None else self._family.p_value

    @lazy
    def p_members(self) -> dict[str, float] | None:
        """The p-value of each member of the family of the verdict; None without permutations.

        See Also
        --------
        pkex.Attribution.detected_by : The member that speaks most clearly.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> list(pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).p_members)
        ['rbf', 'laplacian', 'energy', 'univariate']
        """
        if self._family is None:
            return None
        return dict(zip(self._members, self._family.p_members.tolist(), strict=False))

    @lazy
    def detected_by(self) -> str | None:
        """The member of the family of the verdict that speaks most clearly.

        "rbf", "laplacian" and "energy" are the joint statistics of all features under the mean of
        RBF kernels of several widths, a Laplacian kernel and the energy distance; "kernel" is a
        kernel that was given; "univariate" is the feature that stands out most by itself. None
        without permutations.

        See Also
        --------
        pkex.Attribution.p_members : The p-values of all members.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
        >>> Z[:, 4] += 0.8
        >>> pkex.mmd(X, Z, n_permutations=199, random_state=0).detected_by
        'univariate'
        """
        return None if self._family is None else self._members[self._family.first]

    @property
    def _members(self) -> tuple[str, ...]:
        return (*(self.member_names or ("kernel",)), "univariate")

    @lazy
    def _family(self) -> FamilyTest | None:
        """The test of the verdict; for a file of an earlier version as that version had it."""
        totals = self.null_statistics
        if totals is None:
            return None
        joint = PermutedArrays(
            np.array([self.statistic]), totals[:, None], self.rounding.sum(keepdims=True)
        )
        if self.member_values is not None:
            assert self.member_null_values is not None
            assert self.member_rounding is not None
            joint = PermutedArrays(
                self.member_values, self.member_null_values, self.member_rounding
            )
        test = verdict_of(joint, self._members[:-1], self.permuted_univariate)
        if self.member_values is None and self.permuted_univariate is not None:
            (together, slack), (each, slacks) = map(labellings, (joint, self.permuted_univariate))
            p_value = combine_p(together[:, 0], each, np.append(slack, slacks))
            test = test._replace(p_value=p_value)
        return test

    @property
    def permuted_univariate(self) -> PermutedArrays | None:
        """The statistic of each feature by itself and its permutations; None without these.

        See Also
        --------
        pkex.Attribution.univariate : The statistic of each feature by itself.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.arange(12.0)
        >>> pkex.hsic(x[:, None], x, n_permutations=9).permuted_univariate.null_values.shape
        (9, 1)
        """
        values, null = self.univariate_values, self.univariate_null_values
        if values is None or null is None or self.univariate_rounding is None:
            return None
        return PermutedArrays(values, null, self.univariate_rounding)

    @lazy
    def p_statistic(self) -> float | None:
        """The p-value of the statistic of all features together; None without permutations.

        See Also
        --------
        pkex.Attribution.p_value : The p-value of the verdict.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).p_statistic
        0.01
        """
        if self.null_statistics is None:
            return None
        return float(permutation_p(self.statistic, self.null_statistics, self.rounding.sum()))
