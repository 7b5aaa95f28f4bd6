"""`Tested`: what permutations say about a statistic and its features, and the one verdict.

The verdict goes by one p-value, `p_value`. Everything that states a verdict takes it from here: the
text of a result, its plots and reports, the command line and the estimators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.p_values import holm, p_by_permutation, p_of_any, slack, step_up
from pkex._util.types import Floats, Indices
from pkex._util.words import listed
from pkex.kernels.algebra import Kernel
from pkex.results.base import Result

__all__ = ["Tested"]


_MANY_ROWS = 20  # of which there are more permutations than anybody draws
_BAND = (0.025, 0.975)  # quantiles of the null band


@dataclass(frozen=True, eq=False, repr=False)
class Tested(Result):
    """The statistic, what permutations gave for it, and the p-values; see `Attribution`."""

    statistic: str
    values: Floats
    rounding: Floats
    n_rows: tuple[int, ...]
    null_values: Floats | None = None
    alone_values: Floats | None = None
    alone_null_values: Floats | None = None
    alone_rounding: Floats | None = None
    test_p_values: Floats | None = None
    n_test_rows: int | None = None
    standard_error: float | None = None
    standard_errors: Floats | None = None
    target_kernel: Kernel | None = None
    alpha: float = 0.05

    @property
    def total(self) -> float:
        """The statistic."""
        return float(self.values.sum())

    @property
    def order(self) -> Indices:
        """The players, the largest value first."""
        return np.argsort(-self.values, kind="stable")

    @property
    def n_permutations(self) -> int:
        """Number of permutations."""
        return 0 if self.null_values is None else len(self.null_values)

    @property
    def n_relabellings(self) -> int:
        """How many different permutations there are, of which the most extreme one is one."""
        if self.target_kernel is not None:
            return math.factorial(min(self.n_rows[0], _MANY_ROWS))
        first, second = (min(count, _MANY_ROWS) for count in self.n_rows)
        return math.comb(first + second, first) // (2 if first == second else 1)

    @lazy
    def null_totals(self) -> Floats | None:
        """The statistic under the permutations."""
        return None if self.null_values is None else self.null_values.sum(axis=1)

    @lazy
    def null_band(self) -> Floats | None:
        """Where 95 % of the null values of each player lie, shape (2, n_players)."""
        if self.null_values is None:
            return None
        band: Floats = np.quantile(self.null_values, _BAND, axis=0)
        return band

    @lazy
    def p_value(self) -> float | None:
        """The p-value of the verdict: is anything there, in all features together or in one alone?

        One feature among many is diluted in the statistic of all of them, whose p-value is
        `p_statistic`. Here the smallest univariate p-value counts as much; its own chance to be
        small comes from the same permutations, so that this is one test. Where univariate
        statistics were not permuted it is `p_statistic`.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
        >>> Z[:, 4] += 0.8
        >>> found = pkex.mmd(X, Z, n_permutations=1199, random_state=0)
        >>> found.p_statistic > 0.1, found.p_value < 0.01
        (True, True)
        """
        totals, alone, null = self.null_totals, self.alone_values, self.alone_null_values
        if totals is None or alone is None or null is None:
            return self.p_statistic
        return p_of_any(
            np.concatenate([[self.total], totals]),
            np.vstack([alone, null]),
            np.concatenate(
                [
                    [slack(self.total, totals, self.rounding.sum())],
                    slack(alone, null, self.alone_rounding),
                ]
            ),
        )

    @lazy
    def p_statistic(self) -> float | None:
        """The p-value of the statistic of all features together."""
        if self.null_totals is None:
            return None
        return float(p_by_permutation(self.total, self.null_totals, self.rounding.sum()))

    @lazy
    def p_values(self) -> Floats | None:
        """The p-values of the values of the players."""
        if self.null_values is None:
            return None
        p: Floats = p_by_permutation(self.values, self.null_values, self.rounding)
        # what was not tested by itself is NaN, which fmax leaves out
        return p if self.test_p_values is None else np.fmax(p, self.test_p_values)

    @lazy
    def p_holm(self) -> Floats | None:
        """The p-values of the players, adjusted by Holm's method."""
        return None if self.p_values is None else holm(self.p_values)

    @lazy
    def p_bh(self) -> Floats | None:
        """The p-values of the players, adjusted by the method of Benjamini and Hochberg."""
        return None if self.p_values is None else step_up(self.p_values)

    @lazy
    def p_alone(self) -> Floats | None:
        """The p-values of `alone`."""
        if self.alone_null_values is None:
            return None
        p: Floats = p_by_permutation(self.alone_values, self.alone_null_values, self.alone_rounding)
        return p

    @lazy
    def p_alone_holm(self) -> Floats | None:
        """The p-values of `alone`, adjusted by Holm's method."""
        return None if self.p_alone is None else holm(self.p_alone)

    def detected(self, alpha: float | None = None) -> bool | None:
        """Return the verdict: whether `p_value` is at most `alpha`; None without permutations.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

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

        They are significant by their contribution or by themselves: one of the two p-values,
        adjusted by Holm, is at most `alpha`. There are none where the verdict is negative. So where
        nothing differs, the chance that any feature is named is at most `alpha`.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
        >>> Z[:, 4] += 0.8
        >>> pkex.mmd(X, Z, n_permutations=1199, random_state=0).significant()
        ('x4',)
        """
        level = self.alpha if alpha is None else alpha
        if not self.detected(level):
            return ()
        chosen = np.zeros(len(self.values), dtype=bool)
        for adjusted in (self.p_holm, self.p_alone_holm):
            if adjusted is not None:
                chosen |= adjusted <= level
        return tuple(self.feature_names[i] for i in self.order if chosen[i])

    def verdict(self, alpha: float | None = None) -> str:
        """Return the verdict in words: p-value, statistic, and the significant features.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
        >>> Z[:, 4] += 0.8
        >>> pkex.mmd(X, Z, n_permutations=1199, random_state=0).verdict()
        'Drift detected, p = 0.00... (alpha = 0.05); MMD² = ... (p = 0.167). Significant feature...'
        """
        return " ".join(self.sentences(self.alpha if alpha is None else alpha))

    def sentences(self, alpha: float) -> tuple[str, ...]:
        """Return the sentences of the verdict."""
        size = f"{self.statistic.replace('^2', '²')} = {self.total:.4g}"
        if self.standard_error is not None:
            size += f" ± {self.standard_error:.2g}"
        found = self.detected(alpha)
        if found is None:
            return (f"{size}, not tested.",)
        what = "drift" if self.target_kernel is None else "dependence"
        start = f"{what.capitalize() if found else f'No {what}'} detected"
        tested = f"p = {self.p_value:.3g} (alpha = {alpha:g}); {size} (p = {self.p_statistic:.3g})."
        if not found:
            return (f"{start}, {tested}",)
        names = self.significant(alpha)
        which = "No single feature is significant."
        if names:
            which = f"Significant feature{'s' * (len(names) > 1)}: {listed(names)}."
        return f"{start}, {tested}", which
