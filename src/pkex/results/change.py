"""`Change`: why predictions, or errors, differ between two tables, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.output import frames, html, text
from pkex.output.files.codec import ABOUT, Codec, Entries, FloatArrays
from pkex.output.files.header import as_count, as_level, as_names, as_number, each, optional
from pkex.output.plots.accessors import ChangePlots
from pkex.output.view import change as view
from pkex.results.differences import Differences
from pkex.results.fields import PlotField

__all__ = ["Change"]

_BY_FEATURE = ("means_before", "means_after", "distances", "quantiles_before", "quantiles_after")
_BY_OUTPUT = ("totals_before", "totals_after", "bases_before", "bases_after")
_TESTS = ("p_features", "p_totals", "p_bases")


@dataclass(frozen=True, eq=False, repr=False)
class Change(Differences):
    """Why predictions, or errors, differ between two tables; returned by `pkex.change`.

    Arrays have a place for each output of the model; with targets the last one, "squared error",
    has the losses. An array of one output has no axis for it.

    Parameters
    ----------
    about : About
        What all results have: `feature_names`, `column_names`, `feature_groups`, `output_names`,
        `removal`, `background_info`, `kernel`.
    means_before, means_after : arrays of shape (n_features,) or (n_features, n_outputs)
        The mean Shapley value of each feature in each table.
    distances : array of shape (n_features,) or (n_features, n_outputs)
        Energy distance of the distributions of these values in the two tables.
    quantiles_before, quantiles_after : arrays of shape (5, n_features) or with n_outputs at the end
        Quantiles of the values in each table: 5, 25, 50, 75 and 95 %.
    totals_before, totals_after : float, or arrays of shape (n_outputs,)
        The mean prediction, and the mean squared error, in each table.
    bases_before, bases_after : float, or arrays of shape (n_outputs,)
        The mean base value; that of the losses is the mean of ``(y - base value)^2``.
    n_rows : tuple of two int
        The rows of the tables.
    n_permutations : int, default 0
        The number of permutations.
    p_features : array of shape (2, n_features), with n_outputs at the end, or None
        Adjusted p-values of each feature: of a difference of means, and of the energy distance.
    p_totals, p_bases : arrays of shape (2,) or (2, n_outputs), or None
        The same of predictions or losses, and of base values.
    alpha : float, default 0.05
        The significance level of the verdict, unless a method is given another.
    sample_names : tuple of two str
        What to call the tables.
    input_notes : tuple of str
        Whether the test is exact for these rows; see `notes`.
    additivity_error : float
        How far the contributions, with base values, are from the differences.
    error_bound : float
        What every mean may be off by: proven.

    Attributes
    ----------
    prediction : float or array of shape (n_outputs,)
        The difference of the mean predictions.
    contributions : array of shape (n_features,) or (n_features, n_outputs)
        The contribution of each feature to it; they add up to it.
    loss : float or None
        The difference of the mean squared errors; None without targets.
    p_value : float or None
        Of the verdict: did anything change?
    p_values : array of shape (n_features,) or (n_features, n_outputs), or None
        Of each feature: did its values change? Adjusted for all tests.

    See Also
    --------
    pkex.change : Computes it.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> from sklearn.svm import SVR
    >>> X = np.random.default_rng(0).normal(size=(260, 3))
    >>> model = SVR(C=10.0).fit(X[:60], X[:60, 0] - X[:60, 1])
    >>> before, after = X[60:160], X[160:] + [0.7, 0.0, 0.0]
    >>> pkex.change(model, before, after, random_state=0)
    Change(100 + 100 rows, 3 features, error bound ...)
      Change detected, p = 0.001 (alpha = 0.05).
      ...
    """

    AXES: ClassVar = {
        "means_before": ("feature", "output"),
        "means_after": ("feature", "output"),
        "distances": ("feature", "output"),
        "quantiles_before": ("quantile", "feature", "output"),
        "quantiles_after": ("quantile", "feature", "output"),
        "p_features": ("test", "feature", "output"),
        "p_totals": ("test", "output"),
        "p_bases": ("test", "output"),
        **dict.fromkeys(_BY_OUTPUT, ("output",)),
    }
    VIEWS: ClassVar = (
        lambda self: view.change(self, text.LINES, text.OUTPUTS),
        lambda self: view.change(self, html.LINES),
    )
    _FRAME: ClassVar = frames.change
    plot = PlotField(ChangePlots)
    CODEC: ClassVar = Codec(
        "Change",
        1,
        (
            ABOUT,
            Entries(
                n_rows=each(as_count),
                n_permutations=as_count,
                alpha=as_level,
                sample_names=as_names,
                input_notes=as_names,
                additivity_error=as_number,
                error_bound=optional(as_number),
            ),
            FloatArrays((*_BY_FEATURE, *_BY_OUTPUT), _TESTS, finite=True),
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_rows", "sample_names"):
            if len(getattr(self, name)) != 2:
                raise ValueError(f"{name} must have two entries, got {getattr(self, name)}.")

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        return ("quantile", 5), ("test", 2)

    def _check_sums(self) -> None:
        missed = self.differences.sum(axis=0) + self.bases_after - self.bases_before
        missed = missed - (self.totals_after - self.totals_before)
        sizes = np.abs(self.means_before).sum(axis=0) + np.abs(self.means_after).sum(axis=0)
        sizes = sizes + np.abs(self.totals_before) + np.abs(self.totals_after)
        if not np.all(np.abs(missed) <= self.additivity_error + 1e-12 * sizes):
            raise ValueError("the contributions do not add up to the difference of the means")

    @property
    def p_value(self) -> float | None:
        """The p-value of the verdict: the smallest adjusted one. None without permutations.

        See Also
        --------
        pkex.Change.detected : Whether it is at most the significance level.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> x = np.linspace(0.0, 1.0, 40).reshape(20, 2)
        >>> pkex.change(f, x, x + 1.0, n_permutations=99, random_state=0).p_value
        0.01
        """
        if self.p_features is None:
            return None
        return float(min(np.min(getattr(self, name)) for name in _TESTS))

    @property
    def p_values(self) -> Floats | None:
        """The p-value of each feature: the smaller one of its two tests, both adjusted.

        See Also
        --------
        pkex.Change.significant : The names of the features.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> x = np.linspace(0.0, 1.0, 40).reshape(20, 2)
        >>> pkex.change(f, x, x + 1.0, n_permutations=99, random_state=0).p_values.shape
        (2,)
        """
        if self.p_features is None:
            return None
        p_values: Floats = self._of_predictions(self.p_features.min(axis=0))
        return p_values

    @property
    def ranking(self) -> Indices:
        """The features: the smallest p-value first, then the largest contribution.

        See Also
        --------
        pkex.Change.to_frame : A table in this order.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).ranking
        array([1, 0])
        """
        count = len(self.feature_names)
        sizes = np.abs(self.contributions).reshape(count, -1).sum(axis=1)
        p_values = np.ones(count)
        if self.p_features is not None:
            p_values = self.p_features.reshape(2, count, -1).min(axis=(0, 2))
        return np.lexsort((-sizes, p_values))

    def detected(self, alpha: float | None = None) -> bool | None:
        """Return the verdict: whether `p_value` is at most `alpha`; None without permutations.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Returns
        -------
        bool or None
            Whether anything changed; None where nothing was tested.

        See Also
        --------
        pkex.Change.verdict : The verdict in words.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> x = np.linspace(0.0, 1.0, 40).reshape(20, 2)
        >>> pkex.change(f, x, x + 1.0, n_permutations=99, random_state=0).detected()
        True
        """
        level = self.alpha if alpha is None else alpha
        return None if self.p_value is None else self.p_value <= level

    def significant(
        self, alpha: float | None = None, *, output: str | int | None = None
    ) -> tuple[str, ...]:
        """Return the features whose contribution changed, in the order of `ranking`.

        That does not mean that their columns changed: the values of a feature also change if it
        interacts with a column that did. `pkex.mmd` says which columns changed. Where nothing
        changed at all, the chance that any feature is named is at most `alpha`.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.
        output : str or int, optional
            The output, by name or number; "squared error" are the losses. By default the
            predictions of all outputs.

        Returns
        -------
        tuple of str
            The names of the features.

        See Also
        --------
        pkex.Change.p_values : The p-values that it goes by.
        pkex.mmd : Compares the columns.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> x = np.linspace(0.0, 1.0, 40).reshape(20, 2)
        >>> pkex.change(f, x, x + [0.0, 1.0], n_permutations=99, random_state=0).significant()
        ('x1',)
        """
        level, p_values = self.alpha if alpha is None else alpha, self.p_values
        if p_values is None or self.p_features is None:
            return ()
        if output is not None:
            number = self.output_number(output, "significant")
            p_values = self.p_features.min(axis=0).reshape(len(p_values), -1)[:, number]
        smallest = p_values.reshape(len(p_values), -1).min(axis=1, initial=1.0)
        return tuple(self.feature_names[i] for i in self.ranking if smallest[i] <= level)

    def verdict(self, alpha: float | None = None) -> str:
        """Return the verdict in words: p-value, differences, and the features that changed.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Returns
        -------
        str
            Some sentences.

        See Also
        --------
        pkex.Change.detected : The verdict as True or False.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> x = np.linspace(0.0, 1.0, 40).reshape(20, 2)
        >>> pkex.change(f, x, x + 1.0, n_permutations=99, random_state=0).verdict()
        'Change detected, p = 0.01 (alpha = 0.05). Mean prediction: ...'
        """
        return " ".join(view.sentences(self, self.alpha if alpha is None else alpha))

    @property
    def notes(self) -> list[str]:
        """What to know before reading the result, such as whether the test is exact.

        See Also
        --------
        pkex.change : Says when the test is exact.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).notes
        []
        """
        return [*super().notes, *self.input_notes]
