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
    enough_permutations,
    lowest_adjusted,
    needed_permutations,
)
from pkex._util.random import RandomState
from pkex._util.validation import brief, is_index, refuse_dask
from pkex.kernels import Kernel
from pkex.results.attribution import Attribution
from pkex.statistics.hsic import hsic

__all__ = ["HSICSelector"]


class HSICSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select the columns with the largest shares in the dependence of the target, by HSIC.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        How many columns to keep, or which share of them, rounded up; half of them by default.
        Not used with `alpha`.
    alpha : float, optional
        Instead keep the columns that a permutation test finds at this false discovery rate, by the
        correction of Benjamini and Hochberg (`Attribution.p_bh`). It bounds the expected share of
        irrelevant columns among those selected where p-values are independent or positively
        dependent, which suits a selection; reports use Holm's, which bounds the chance of any.
    kernel, target_kernel, removal, estimator
        As in `pkex.hsic`. For class labels that are numbers use ``target_kernel="categorical"``.
    n_permutations : int, optional
        For the test; not used without `alpha`. The smallest p-value is ``1 / (n_permutations + 1)``
        and is multiplied by the number of columns over that of the columns found. By default 999,
        or as many more, up to 9999, as it takes to find a single one of the columns.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None

    Attributes
    ----------
    scores_ : array of shape (n_features_in_,)
        The shares.
    pvalues_ : array of shape (n_features_in_,) or None
        With `alpha`, not adjusted.
    attribution_ : Attribution
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X has names.

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
        kernel: Kernel | str | None = None,
        target_kernel: Kernel | str | None = None,
        removal: str = "marginal",
        estimator: str = "unbiased",
        n_permutations: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
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
        y : array of shape (n_rows,) or (n_rows, n_targets)
        """
        if y is None:
            raise ValueError("HSICSelector requires y to be passed, but the target y is None.")
        refuse_dask(X, "X")
        table = X
        X = validate_data(self, X, dtype=None, accept_sparse=("csr", "csc"), ensure_min_samples=2)
        self._count(X.shape[1])
        self.attribution_: Attribution = hsic(
            table if hasattr(table, "columns") else X,
            y,
            kernel=self.kernel,
            target_kernel=self.target_kernel,
            removal=self.removal,
            estimator=self.estimator,
            n_permutations=self._permutations(X.shape[1]),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self._warn_of_floor()
        self.scores_ = self.attribution_.values
        self.pvalues_ = self.attribution_.p_values
        return self

    def _warn_of_floor(self) -> None:
        """Warn where no column can be found, however clear it is."""
        found = self.attribution_
        lowest = lowest_adjusted(len(found.players), found.n_permutations)
        if self.alpha is not None and lowest > self.alpha:
            warnings.warn(
                f"with {found.n_permutations} permutations and {len(found.players)} columns no "
                f"adjusted p-value of a single column is below {lowest:.2g}, above alpha = "
                f"{self.alpha:g}: take n_permutations="
                f"{needed_permutations(len(found.players), self.alpha)} or fewer columns.",
                stacklevel=3,
            )

    def _permutations(self, n_columns: int) -> int:
        """Return how many permutations to test with."""
        if self.alpha is None:
            return 0
        if self.n_permutations is None:
            return enough_permutations(n_columns, self.alpha)
        return self.n_permutations

    def _count(self, n_columns: int) -> int:
        """Return how many columns to select; refuse parameters that make no sense."""
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
            f"{n_columns}, or a share above 0 and up to 1.0; got {brief(wanted)}."
        )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        if self.alpha is not None:
            adjusted = self.attribution_.p_bh
            if adjusted is None:
                raise ValueError("alpha was set after fit, so there are no p-values; fit again.")
            found: NDArray[np.bool_] = adjusted <= self.alpha
            return found
        mask = np.zeros(len(self.scores_), dtype=bool)
        mask[self.attribution_.order[: self._count(len(mask))]] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
