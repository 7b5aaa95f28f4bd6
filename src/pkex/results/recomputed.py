"""`Recomputed`: what an attribution computes from its samples when it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from pkex._util.floats import default_errstate
from pkex._util.indexing import Axis, select
from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.output.view.changes import Change, describe_changes
from pkex.results.interactions import Interactions
from pkex.results.tested import Tested

__all__ = ["Recomputation", "Recomputed"]


class Recomputation(Protocol):
    """What an attribution computes from its samples when it is asked."""

    def each_univariate(self) -> Floats:
        """Return the statistic of each feature by itself."""

    def row_values(self) -> Floats:
        """Return the contribution of every row to every value."""

    def value(self, subset: Sequence[int]) -> float:
        """Return the statistic with some features present."""

    def component(self, subset: Sequence[int]) -> float:
        """Return a component of the functional decomposition."""

    def interactions(
        self, attribution: Any, index: str, max_order: int, subsets: Any, progress: bool
    ) -> Interactions:
        """Return the interactions of the features of an attribution."""


class Recomputed(Tested):
    """Questions that need the samples, which a file does not hold; see `Attribution`."""

    source: Recomputation | None

    def changes(self, alpha: float | None = None) -> tuple[Change, ...]:
        """Return what happened to the columns of two samples that drifted, in words and numbers.

        A column that changed by itself is described in its units: mean and quantiles, missing
        cells, categories that are new, gone, more or less frequent. For a column that changed only
        jointly it is the pair whose correlation changed most, if one clearly did. Columns whose
        features are not significant follow if they clearly differ, by a few extreme values for
        example. These describe what the test detected; they are not tests.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Returns
        -------
        tuple of ColumnChange or PairChange
            The largest contribution first. Each has `columns`, `kind` ("numeric", "date",
            "categorical" or "pair"), `headline`, `sentence`, `reference` and `current`, and
            `as_dict` for JSON. Empty for HSIC, for an attribution that was loaded, and where no
            drift is detected.

        See Also
        --------
        pkex.Attribution.significant : The names of the features.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.random.default_rng(0).normal(50.0, 10.0, size=(200, 2))
        >>> drift = pkex.mmd(X, X + [0.0, 9.0], n_permutations=99, random_state=0)
        >>> print(*[change.sentence for change in drift.changes()])
        x1: higher values; mean from 50.2 to 59.2; quantiles (5, 50, 95 %) from 35.6, 49.7, ...
        """
        result: Any = self
        return describe_changes(result, self.alpha if alpha is None else alpha)

    @property
    @default_errstate
    def univariate(self) -> Floats:
        """The statistic of each feature by itself; computed when asked, without permutations.

        With the median heuristic the kernel of a feature is as wide as suits it by itself; a kernel
        that was given is used as it is.

        See Also
        --------
        pkex.Attribution.p_univariate : Its p-values.
        pkex.Attribution.contributions : What each feature contributes to the statistic of all.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(0)
        >>> X, Z = rng.normal(size=(100, 2)), rng.normal(size=(120, 2))
        >>> Z[:, 1] += 1.0
        >>> univariate = pkex.mmd(X, Z).univariate
        >>> bool(np.isclose(univariate[1], pkex.mmd(X[:, 1:], Z[:, 1:]).statistic))
        True
        """
        values = self.univariate_values
        if values is None:
            recomputation = self.recomputation("the univariate statistic of each feature")
            values = recomputation.each_univariate()
            object.__setattr__(self, "univariate_values", values)
        return values

    @property
    def has_univariate(self) -> bool:
        """Whether `univariate` is there or can be computed.

        See Also
        --------
        pkex.Attribution.univariate : The statistic of each feature by itself.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(4), 1.0 - np.eye(4)).has_univariate
        True
        """
        return self.source is not None or self.univariate_values is not None

    @lazy
    @default_errstate
    def row_values(self) -> Floats:
        """The contribution of every row to every value, of shape (n_rows, n_features).

        The rows are those of X and then, for MMD, those of Z. Each pair of rows is divided equally
        between the two, so the columns sum to `values`. They are computed when asked for.

        See Also
        --------
        pkex.Attribution.contributions : Their sums.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(0)
        >>> X, Z = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
        >>> Z[:10, 1] += 4.0
        >>> of_rows = pkex.mmd(X, Z).row_values[50:, 1]
        >>> bool(of_rows[:10].mean() > 0.0 > of_rows[10:].mean())
        True
        """
        return self.recomputation("the contributions of rows").row_values()

    @default_errstate
    def value(self, subset: Iterable[str | int]) -> float:
        """Return the statistic with some features present and the others removed.

        Under neutral removal that is the statistic of these features only, under
        product-of-marginals removal times the mean factors of the others.

        Parameters
        ----------
        subset : iterable of str or int
            Names or numbers of features. The empty subset has the value 0, all features together
            `statistic`.

        Returns
        -------
        float
            The statistic of the subset.

        See Also
        --------
        pkex.Attribution.component : What a subset contributes beyond smaller ones.
        pkex.Attribution.univariate : The statistic of each feature by itself.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.linspace(-1.0, 1.0, 20)
        >>> attribution = pkex.hsic(np.column_stack([x, x**2]), x**2)
        >>> bool(attribution.value(["x1"]) > attribution.value(["x0"]))
        True
        >>> bool(np.isclose(attribution.value(["x0", "x1"]), attribution.statistic))
        True
        """
        return self.recomputation("the value of a subset").value(self._numbers(subset))

    @default_errstate
    def component(self, subset: Iterable[str | int]) -> float:
        """Return what some features contribute together, beyond what smaller subsets do.

        These are the components of the functional decomposition (Theorems 2 and 3 of the paper):
        those of all subsets sum to `statistic`, and those of the subsets of S to ``value(S)``.

        Parameters
        ----------
        subset : iterable of str or int
            Names or numbers of features.

        Returns
        -------
        float
            The component of the subset.

        See Also
        --------
        pkex.Attribution.value : The statistic with some features present.
        pkex.Attribution.interactions : Which columns make up the statistic together.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.linspace(-1.0, 1.0, 20)
        >>> attribution = pkex.hsic(np.column_stack([x, x**2]), x**2)
        >>> parts = [attribution.component(subset) for subset in ([0], [1], [0, 1])]
        >>> bool(np.isclose(sum(parts), attribution.statistic))
        True
        """
        chosen = self._numbers(subset)
        return self.recomputation("the component of a subset").component(chosen)

    @default_errstate
    def interactions(
        self,
        index: str = "k-SII",
        max_order: int = 2,
        *,
        subsets: Iterable[Any] | None = None,
        progress: bool = False,
    ) -> Interactions:
        """Return which columns make up the statistic together, exactly.

        A change of the dependence between two columns shows as their pair, which contributions by
        themselves cannot show. Pairs have no p-values.

        Parameters
        ----------
        index : str, default "k-SII"
            Which index, as in `Explainer.interactions`.
        max_order : {2, 3}, default 2
            The largest number of features that interact.
        subsets : iterable of subsets, optional
            Only these subsets, each of names or numbers of features.
        progress : bool, default False
            Whether to show a progress bar.

        Returns
        -------
        Interactions
            Of one row, whose `predictions` are the statistic.

        See Also
        --------
        pkex.Explainer.interactions : Interactions of the features of a model.
        pkex.Attribution.component : The component of one subset.

        Examples
        --------
        Two columns lost their dependence:

        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(1)
        >>> X, Z = rng.normal(size=(2, 200, 4))
        >>> X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        >>> pkex.mmd(X, Z).interactions().top(1)[0].features
        ('x0', 'x1')
        """
        source = self.recomputation("interactions")
        return source.interactions(self, index, max_order, subsets, progress)

    def recomputation(self, what: str) -> Recomputation:
        """Return what the attribution was computed from, or say that it is not there.

        Parameters
        ----------
        what : str
            What is to be computed, for the message.

        Returns
        -------
        Recomputation
            The samples with the kernels, which compute it.

        Raises
        ------
        ValueError
            When the attribution was loaded from a file, which does not store the samples.

        See Also
        --------
        pkex.Attribution.load : Reads an attribution without its samples.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> attribution = pkex.mmd(np.eye(4), 1.0 - np.eye(4))
        >>> attribution.recomputation("values").value([]) == 0.0
        True
        """
        if self.source is None:
            raise ValueError(
                "this attribution was loaded from a file, which does not store the samples, so "
                f"{what} cannot be computed. Compute the attribution again with pkex.mmd or "
                "pkex.hsic."
            )
        return self.source

    def _numbers(self, subset: Iterable[str | int]) -> list[int]:
        if isinstance(subset, str) or not isinstance(subset, Iterable):
            raise TypeError(f"a subset is a list of features, e.g. [0, 2]; got {brief(subset)}.")
        features = Axis("feature", len(self.feature_groups), self.feature_names)
        [places] = select(list(subset), [features])
        return sorted(set(places.tolist()))
