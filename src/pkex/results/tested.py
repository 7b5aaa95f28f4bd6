"""`Tested`: what permutations say about a statistic and its features, and the one verdict.

The verdict goes by one p-value, `p_value`, that of a family of tests. Everything that states a
verdict takes it from here: the text of a result, its plots and reports, the command line and the
estimators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.p_values import (
    FamilyTest,
    benjamini_hochberg,
    family_test,
    holm,
    permutation_p,
    step_down_max,
    tie_tolerance,
)
from pkex._util.types import Floats, Indices
from pkex._util.words import join_names
from pkex.kernels.algebra import Kernel
from pkex.results.base import Result

__all__ = ["Tested", "verdict_of"]


_SHARES = {"rbf": 0.7, "laplacian": 0.1, "energy": 0.2, "kernel": 1.0}
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


class _Statistics(NamedTuple):
    values: Floats
    null_values: Floats
    rounding: Floats


def verdict_of(joint: Permuted, names: Sequence[str], univariate: Permuted | None) -> FamilyTest:
    """Return the test of the verdict: of statistics of all features, and of each by itself.

    The RBF kernels, which see changes of dependence best, have most of the significance level of
    the former; what the energy distance is needed for, it sees clearly.
    """
    columns = None if univariate is None else _labellings(univariate)
    shares = [_SHARES[name] for name in names]
    return family_test(*_labellings(joint), *(columns or (None, None)), shares=shares)


def _labellings(statistics: Permuted) -> tuple[Floats, Floats]:
    """Return the statistics of all labellings, the given one first, and what counts as equal."""
    values, null, rounding = statistics.values, statistics.null_values, statistics.rounding
    return np.vstack([values, null]), tie_tolerance(values, null, rounding)


@dataclass(frozen=True, eq=False, repr=False)
class Tested(Result):
    """The statistic, what permutations gave for it, and the p-values; see `Attribution`."""

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
        """The test of the verdict; for a file without its members, of the statistic itself."""
        totals = self.null_statistics
        if totals is None:
            return None
        joint = _Statistics(
            np.array([self.statistic]), totals[:, None], self.rounding.sum(keepdims=True)
        )
        if self.member_values is not None:
            assert self.member_null_values is not None
            assert self.member_rounding is not None
            joint = _Statistics(self.member_values, self.member_null_values, self.member_rounding)
        return verdict_of(joint, self._members[:-1], self._univariate)

    @property
    def _univariate(self) -> _Statistics | None:
        values, null = self.univariate_values, self.univariate_null_values
        if values is None or null is None or self.univariate_rounding is None:
            return None
        return _Statistics(values, null, self.univariate_rounding)

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

    @lazy
    def p_values(self) -> Floats | None:
        """The p-values of the contributions, not adjusted; None without permutations.

        See Also
        --------
        pkex.Attribution.p_adjusted : The same, adjusted for their number.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).p_values
        array([0.01, 0.96])
        """
        if self.null_values is None:
            return None
        p: Floats = permutation_p(self.values, self.null_values, self.rounding)
        # what was not tested by itself is NaN, which fmax leaves out
        return p if self.test_p_values is None else np.fmax(p, self.test_p_values)

    @lazy
    def p_adjusted(self) -> Floats | None:
        """The p-values of the contributions, adjusted for their number.

        The larger of two: by permuted labels or targets, adjusted by step-down maxima (Westfall and
        Young), and by permuting single columns, adjusted by Holm's method. Both bound the chance of
        any false detection; the conditions are those of the p-values.

        See Also
        --------
        pkex.Attribution.p_bh : Adjusted by Benjamini and Hochberg, for the false discovery rate.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).p_adjusted
        array([0.02, 0.96])
        """
        if self.null_values is None:
            return None
        p = step_down_max(*_labellings(_Statistics(self.values, self.null_values, self.rounding)))
        if self.test_p_values is None:
            return p
        is_tested = ~np.isnan(self.test_p_values)  # the others are cleared by labels
        by_column = holm(np.where(is_tested, self.test_p_values, 1.0))
        return np.where(is_tested, np.maximum(p, by_column), p)

    @lazy
    def p_bh(self) -> Floats | None:
        """The p-values of the contributions, adjusted by the method of Benjamini and Hochberg.

        See Also
        --------
        pkex.Attribution.p_adjusted : Adjusted for the family-wise error.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).p_bh
        array([0.02, 0.96])
        """
        return None if self.p_values is None else benjamini_hochberg(self.p_values)

    @lazy
    def p_univariate(self) -> Floats | None:
        """The p-values of `univariate`; None without permutations.

        See Also
        --------
        pkex.Attribution.univariate : The statistic of each feature by itself.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).p_univariate
        array([0.01, 0.96])
        """
        if self.univariate_null_values is None:
            return None
        p: Floats = permutation_p(
            self.univariate_values, self.univariate_null_values, self.univariate_rounding
        )
        return p

    @lazy
    def p_univariate_adjusted(self) -> Floats | None:
        """The p-values of `univariate`, adjusted by step-down maxima (Westfall and Young).

        The same permutations say how large the largest of them gets by chance, so more features do
        not need more permutations. The chance that any feature that did not change is detected is
        at most the level, whatever the others do, if the joint distribution of the unchanged
        features is the same in both samples.

        See Also
        --------
        pkex.Attribution.p_univariate : Before the adjustment.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).p_univariate_adjusted
        array([0.02, 0.96])
        """
        return None if self._univariate is None else step_down_max(*_labellings(self._univariate))

    def detected(self, alpha: float | None = None) -> bool | None:
        """Return the verdict: whether `p_value` is at most `alpha`; None without permutations.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Returns
        -------
        bool or None
            Whether there is drift or dependence; None where nothing was tested.

        See Also
        --------
        pkex.Attribution.verdict : The verdict in words.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.random.default_rng(0).normal(size=(40, 2))
        >>> pkex.mmd(X, X + 1.0, n_permutations=99, random_state=0).detected()
        True
        """
        level = self.alpha if alpha is None else alpha
        return None if self.p_value is None else self.p_value <= level

    def significant(self, alpha: float | None = None) -> tuple[str, ...]:
        """Return the significant features, the largest contribution first.

        They are significant by their contribution or by themselves: one of the two adjusted
        p-values is at most `alpha`. There are none where the verdict is negative. So where
        nothing differs, the chance that any feature is named is at most `alpha`.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Returns
        -------
        tuple of str
            The names of the features.

        See Also
        --------
        pkex.Attribution.detected : The verdict.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
        >>> Z[:, 4] += 0.8
        >>> pkex.mmd(X, Z, n_permutations=999, random_state=0).significant()
        ('x4',)
        """
        level = self.alpha if alpha is None else alpha
        if not self.detected(level):
            return ()
        chosen = np.zeros(len(self.values), dtype=bool)
        for adjusted in (self.p_adjusted, self.p_univariate_adjusted):
            if adjusted is not None:
                chosen |= adjusted <= level
        return tuple(self.feature_names[i] for i in self.ranking if chosen[i])

    def verdict(self, alpha: float | None = None) -> str:
        """Return the verdict in words: p-value, statistic, and the significant features.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Returns
        -------
        str
            One or two sentences.

        See Also
        --------
        pkex.Attribution.sentences : The same, sentence by sentence.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(24.0).reshape(12, 2) % [24, 4]
        >>> pkex.hsic(X, X[:, 0], n_permutations=99, random_state=0).verdict()
        'Dependence detected, p = 0.01 (alpha = 0.05); HSIC = 0.05472 (p = 0.01)... x0.'
        """
        return " ".join(self.sentences(self.alpha if alpha is None else alpha))

    def sentences(self, alpha: float) -> tuple[str, ...]:
        """Return the sentences of the verdict.

        Parameters
        ----------
        alpha : float
            The significance level.

        Returns
        -------
        tuple of str
            What was detected, and, where something was, the significant features.

        See Also
        --------
        pkex.Attribution.verdict : The sentences as one text.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.arange(12.0)
        >>> pkex.hsic(x[:, None], x, n_permutations=99, random_state=0).sentences(0.05)[1]
        'Significant feature: x0.'
        """
        size = f"{self.statistic_name.replace('^2', '²')} = {self.statistic:.4g}"
        if self.standard_error is not None:
            size += f" ± {self.standard_error:.2g}"
        detected = self.detected(alpha)
        if detected is None:
            return (f"{size}, not tested.",)
        what = "drift" if self.target_kernel is None else "dependence"
        start = f"{what.capitalize() if detected else f'No {what}'} detected"
        tested = f"p = {self.p_value:.3g} (alpha = {alpha:g}); {size} (p = {self.p_statistic:.3g})."
        if not detected:
            return (f"{start}, {tested}",)
        names = self.significant(alpha)
        which = "No single feature is significant."
        if names:
            which = f"Significant feature{'s' * (len(names) > 1)}: {join_names(names)}."
        return f"{start}, {tested}", which
