"""`Tested`: what permutations say about a statistic and its features, and the one verdict.

The verdict goes by one p-value, `p_value`, that of a family of tests. Everything that states a
verdict takes it from here: the text of a result, its plots and reports, the command line and the
estimators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.p_values import benjamini_hochberg, holm, permutation_p, step_down_max
from pkex._util.types import Floats
from pkex._util.words import join_names
from pkex.results.family import Family, PermutedArrays, labellings

__all__ = ["Tested"]


@dataclass(frozen=True, eq=False, repr=False)
class Tested(Family):
    """The p-values of features, and the verdict in words; see `Attribution`."""

    @property
    def adjusted_by_holm(self) -> bool:
        """Whether all p-values are adjusted by Holm, as in files of earlier versions.

        See Also
        --------
        pkex.Attribution.p_adjusted : The adjusted p-values of the contributions.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.arange(12.0)
        >>> pkex.hsic(x[:, None], x, n_permutations=99, random_state=0).adjusted_by_holm
        False
        """
        return self.null_values is not None and self.member_values is None

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
        if self.null_values is None or self.p_values is None:
            return None
        if self.adjusted_by_holm:
            return holm(self.p_values)
        permuted = PermutedArrays(self.values, self.null_values, self.rounding)
        p = step_down_max(*labellings(permuted), tails=True)
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
        univariate = self.permuted_univariate
        p: Floats | None = None if univariate is None else permutation_p(*univariate)
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
        if self.permuted_univariate is None or self.p_univariate is None:
            return None
        if self.adjusted_by_holm:
            return holm(self.p_univariate)
        return step_down_max(*labellings(self.permuted_univariate), tails=True)

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
        'Dependence detected on x0, p = 0.02 (alpha = 0.05); HSIC = 0.05472 (p = 0.01).'
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
            What was detected, and in which features; or that no single one is significant.

        See Also
        --------
        pkex.Attribution.verdict : The sentences as one text.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.arange(12.0)
        >>> pkex.hsic(x[:, None], x, n_permutations=99, random_state=0).sentences(0.05)[0]
        'Dependence detected on x0, p = 0.01 (alpha = 0.05); HSIC = ...'
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
        if not names:
            return f"{start}, {tested}", "No single feature is significant."
        word = "in" if what == "drift" else "on"
        return (f"{start} {word} {join_names(names)}, {tested}",)
