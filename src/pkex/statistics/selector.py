"""`HSICSelector`: the columns that a target depends on, as a step of a scikit-learn pipeline."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pkex._util.p_values import (
    benjamini_hochberg,
    choose_n_permutations,
    needed_permutations,
    smallest_adjusted_p_value,
)
from pkex._util.random import RandomState
from pkex._util.validation import brief, is_index, refuse_dask
from pkex.kernels import Kernel
from pkex.results.attribution import Attribution
from pkex.statistics.hsic import hsic
from pkex.statistics.options import check_choice, document, shared_options

__all__ = ["HSICSelector"]

_BY = ("either", "contribution", "univariate")


@document
class HSICSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select the columns that a target depends on, by HSIC.

    A column may matter by itself or only together with others. Its contribution to the HSIC of all
    columns sees what columns do together, and is diluted among many; the univariate HSIC of a
    column sees what it does by itself. By default either is enough.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        How many columns to keep, or which fraction of them, rounded up; half of them by default:
        those with the largest contributions, or with the largest univariate HSIC where `by` is
        "univariate". Not used with `alpha`.
    alpha : float, optional
        Instead keep the columns that a permutation test detects at this false discovery rate, by
        the correction of Benjamini and Hochberg. It bounds the expected fraction of irrelevant
        columns among those selected where p-values are independent or positively dependent, which
        suits a selection; reports bound the probability of any.
    by : {"either", "contribution", "univariate"}
        With `alpha`, whose p-values: of the contributions, of the columns by themselves, or of
        both. Then the p-value of a column is twice the smaller one of the two, at most 1.
    kernel : Kernel or {"median-per-column", "median"}, optional
        The kernel of X, as in `pkex.hsic`.
    target_kernel : Kernel or {"median-per-column", "median", "categorical"}, optional
        The kernel of y, as in `pkex.hsic`. For class labels that are numbers use "categorical".
    removal : {"product-of-marginals", "neutral"}
        How a column is removed, as in `pkex.hsic`.
    estimator : {"unbiased", "biased"}
        Which estimate of HSIC, as in `pkex.hsic`.
    n_permutations : int, optional
        For the test; not used without `alpha`. The smallest p-value is ``1 / (n_permutations + 1)``
        and is multiplied by the number of columns over that of the columns detected. By default
        999, or as many more, up to 9999, as it takes to detect a single one of the columns.
    random_state : int, Generator, RandomState or None
        For permutations.
    n_jobs : int or None
        Number of threads as in joblib.

    Attributes
    ----------
    scores_ : array of shape (n_features_in_,)
        The contributions; the univariate HSIC where `by` is "univariate".
    pvalues_ : array of shape (n_features_in_,) or None
        With `alpha`, not adjusted.
    attribution_ : Attribution
        The result of `pkex.hsic`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Where X has names.

    See Also
    --------
    hsic : Attribute the dependence of a target on the columns.
    MMDDrift : Find the columns that make samples differ.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = pkex.HSICSelector(n_features_to_select=3).fit(X, y)
    >>> list(selector.get_feature_names_out())
    ['bmi', 's4', 's5']
    """

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        alpha: float | None = None,
        by: str = "either",
        kernel: Kernel | str | None = None,
        target_kernel: Kernel | str | None = None,
        removal: str = "product-of-marginals",
        estimator: str = "unbiased",
        n_permutations: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.by = by
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.removal = removal
        self.estimator = estimator
        self.n_permutations = n_permutations
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> HSICSelector:
        """Find the columns of `X` that `y` depends on.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            The columns to select from.
        y : array of shape (n_rows,) or (n_rows, n_targets)
            The target.

        Returns
        -------
        HSICSelector
            The estimator itself.

        See Also
        --------
        hsic : The function that computes the scores.

        Examples
        --------
        >>> import numpy as np
        >>> import pkex
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(60, 3))
        >>> selector = pkex.HSICSelector(n_features_to_select=1).fit(X, X[:, 2] ** 2)
        >>> selector.get_support()
        array([False, False,  True])
        """
        if y is None:
            raise ValueError("HSICSelector requires y to be passed, but the target y is None.")
        refuse_dask(X, "X")
        table = X
        X = validate_data(self, X, dtype=None, accept_sparse=("csr", "csc"), ensure_min_samples=2)
        check_choice(self.by, "by", _BY)
        self._count(X.shape[1])
        options = shared_options(self) | {"n_permutations": self._permutations()}
        self.attribution_: Attribution = hsic(
            table if hasattr(table, "columns") else X,
            y,
            target_kernel=self.target_kernel,
            **options,
        )
        self._warn_of_floor()
        attribution = self.attribution_
        self.scores_ = attribution.univariate if self.by == "univariate" else attribution.values
        self.pvalues_ = attribution.p_values
        if self.alpha is not None and self.by != "contribution":
            by_itself, together = (
                np.asarray(attribution.p_univariate),
                np.asarray(attribution.p_values),
            )
            both = np.minimum(1.0, 2.0 * np.minimum(by_itself, together))
            self.pvalues_ = by_itself if self.by == "univariate" else both
        return self

    def _warn_of_floor(self) -> None:
        """Warn where no single column can be significant, however clear it is."""
        n_columns, n_permutations = self._n_tests(), self.attribution_.n_permutations
        lowest = smallest_adjusted_p_value(n_columns, n_permutations)
        if self.alpha is not None and lowest > self.alpha:
            warnings.warn(
                f"with {n_permutations} permutations and {self.n_features_in_} columns no adjusted "
                f"p-value of a single column is below {lowest:.2g}, above alpha = {self.alpha:g}: "
                f"pass n_permutations={needed_permutations(n_columns, self.alpha)} or fewer "
                "columns.",
                stacklevel=3,
            )

    def _permutations(self) -> int:
        """Return how many permutations to test with."""
        if self.alpha is None:
            return 0
        if self.n_permutations is None:
            return choose_n_permutations(self._n_tests(), self.alpha)
        return self.n_permutations

    def _n_tests(self) -> int:
        """Return how many tests there are: one or two for each column."""
        return int(self.n_features_in_) * (2 if self.by == "either" else 1)

    def _count(self, n_columns: int) -> int:
        """Return how many columns to select; raise where parameters contradict each other."""
        if self.alpha is not None:
            if self.n_features_to_select is not None:
                raise ValueError("give n_features_to_select or alpha, not both.")
            if not isinstance(self.alpha, Real) or not 0.0 < self.alpha < 1.0:
                raise ValueError(f"alpha must be between 0 and 1, got {brief(self.alpha)}.")
            asked = self.n_permutations
            if asked is not None and (not is_index(asked) or asked < 1):
                raise ValueError(
                    f"alpha needs n_permutations, an integer of at least 1; got {brief(asked)}."
                )
            return 0
        wanted = self.n_features_to_select
        if wanted is None:
            return max(1, n_columns // 2)
        if isinstance(wanted, Integral) and not isinstance(wanted, bool):
            if 0 < wanted <= n_columns:
                return int(wanted)
        elif isinstance(wanted, Real) and not isinstance(wanted, bool) and 0.0 < wanted <= 1.0:
            return max(1, int(np.ceil(wanted * n_columns - 1e-9)))
        raise ValueError(
            f"n_features_to_select must be an integer from 1 to the number of columns, "
            f"{n_columns}, or a fraction above 0 and up to 1.0; got {brief(wanted)}."
        )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        if self.alpha is not None:
            if self.pvalues_ is None:
                raise ValueError("alpha was set after fit, so there are no p-values; fit again.")
            is_selected: NDArray[np.bool_] = benjamini_hochberg(self.pvalues_) <= self.alpha
            return is_selected
        mask = np.zeros(len(self.scores_), dtype=bool)
        mask[np.argsort(-self.scores_, kind="stable")[: self._count(len(mask))]] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
