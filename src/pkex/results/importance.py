"""`Importance`: how much each feature matters over many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.output import frames, html, text
from pkex.output.files.codec import ABOUT, Codec, Entries, FloatArrays, Header
from pkex.output.files.header import as_count, as_flag, as_names, as_text, optional
from pkex.output.plots.accessors import ImportancePlots
from pkex.output.spread import posterior_interval
from pkex.output.view import features
from pkex.results.about import About
from pkex.results.base import Result
from pkex.results.fields import PlotField

__all__ = ["Importance"]

_MEANS = ("values", "standard_errors", "centred")


def _upgrade(header: Header) -> None:
    """Add what files of version 1 do not have: their features were columns of their own."""
    if header["version"] == 1:
        names = as_names(header["feature_names"])
        header["column_names"] = list(names)
        header["feature_groups"] = [[i] for i in range(len(names))]
        header["output_names"] = list(as_names(header["output_names"])) or None
        header["removal"] = "neutral" if as_flag(header["neutral"]) else None


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Result):
    """How important features are, with standard errors over rows.

    From `Explanation.importance` means of absolute values, from `permutation_importance` and `sage`
    what the score of the model loses without a feature, which may be negative.

    Parameters
    ----------
    about : About
        What the explanation is about. Its fields, such as `feature_names` and `removal`, are
        attributes of the importance, too.
    values : array of shape (n_features,) or (n_features, n_outputs)
        Means of the absolute values, or what `meaning` says.
    standard_errors : array of the same shape
        Standard errors of these means over the rows; NaN for a single row.
    centred : array of the same shape
        Means of ``|value - its mean over the rows|``. Values of neutral removal hold an offset that
        is much the same in every row and says nothing about them; here it is left out.
    n_rows : int, optional
        How many rows the means are over; None where it is not known.
    has_std : bool, default False
        Whether the explanation has posterior standard deviations. The standard errors are over the
        rows and do not hold them.
    importances_std : array of the same shape, optional
        Of permutation importance: the standard deviation of one shuffle.
    meaning : str, optional
        What the values are, where they are not means of absolute values.
    draws : array of shape (n_draws, n_features) or (n_draws, n_features, n_outputs), optional
        From `Explainer.importance` of a Gaussian process: the values of functions drawn from its
        posterior. A draw is joint over the rows, but features and outputs are drawn
        independently of each other. Compare the intervals of features, not single draws.

    Attributes
    ----------
    importances_mean : array of the same shape
        The values, as scikit-learn names them.
    feature_names : tuple of str
        Names of the features.
    output_names : tuple of str
        Names of the outputs; empty when there is one output without a name.
    neutral : bool
        Whether the values are of neutral removal, so that the centred means are shown as well.
    ranking : array of int
        The features, most important first.

    See Also
    --------
    pkex.Explanation.importance : Computes the importance.
    pkex.Explainer.importance : Draws it from the posterior as well.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> [importance.feature_names[i] for i in importance.ranking]
    ['x1', 'x0']
    """

    AXES: ClassVar = {
        **dict.fromkeys((*_MEANS, "importances_std"), ("feature", "output")),
        "draws": ("draw", "feature", "output"),
    }
    VIEWS: ClassVar = (features.importance, lambda self: features.importance(self, html.LINES))
    _FRAME: ClassVar = frames.importance
    plot = PlotField(ImportancePlots)
    CODEC: ClassVar = Codec(
        "Importance",
        3,
        (
            ABOUT,
            Entries(
                n_rows=optional(as_count),
                has_std=lambda value: bool(optional(as_flag)(value)),
                meaning=optional(as_text),
            ),
            FloatArrays(_MEANS, finite=True, gaps=True),
            FloatArrays(optional=("importances_std", "draws"), finite=True),
        ),
        _upgrade,
    )

    values: Floats
    standard_errors: Floats
    centred: Floats
    n_rows: int | None = None
    has_std: bool = False
    importances_std: Floats | None = None
    meaning: str | None = None
    draws: Floats | None = None

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        return (("draw", 0 if self.draws is None else len(self.draws)),)

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the credible interval of each importance, from its posterior draws.

        Between its ends lies the fraction `level` of the draws, as many are below as above. The
        mean of ``|value|`` grows with the uncertainty of the value, so the interval may lie above
        `values`, which are of the posterior mean.

        Parameters
        ----------
        level : float, default 0.9
            The probability of the interval, between 0 and 1.

        Returns
        -------
        low : array like `values`
            The lower ends of the intervals.
        high : array like `values`
            The upper ends.

        Raises
        ------
        ValueError
            When there are no draws, or too few for the level.

        See Also
        --------
        pkex.Explainer.importance : Makes the draws.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> X = np.random.default_rng(0).normal(size=(20, 2))
        >>> model = GaussianProcessRegressor(alpha=0.1, optimizer=None).fit(X, X[:, 0])
        >>> importance = pkex.Explainer(model).importance(X[:5], random_state=0)
        >>> low, high = importance.interval(0.9)
        >>> bool((low < high).all())
        True
        """
        if self.draws is None:
            raise ValueError(
                "there are no draws. Those of a Gaussian process are made by "
                "explainer.importance(X, n_draws=256)."
            )
        return posterior_interval(self.draws, level)

    @classmethod
    def of(cls, values: Floats, about: About, has_std: bool = False) -> Importance:
        """Return the importance of values of rows.

        Parameters
        ----------
        values : array of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
            The values of an explanation.
        about : About
            What the explanation is about.
        has_std : bool, default False
            Whether the explanation has posterior standard deviations.

        Returns
        -------
        Importance
            The means over the rows.

        See Also
        --------
        pkex.Explanation.importance : The importance of an explanation.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> pkex.Importance.of(explanation.values, explanation.about).values.round(4)
        array([0.2272, 0.3511])
        """
        if len(values) == 0:
            raise ValueError("the explanation has no rows, so there is no mean over them.")
        sizes = np.abs(values)
        errors = np.full(values.shape[1:], np.nan)
        if len(values) > 1:
            errors = sizes.std(axis=0, ddof=1) / np.sqrt(len(values))
        centred = np.abs(values - values.mean(axis=0)).mean(axis=0)
        return cls(about, sizes.mean(axis=0), errors, centred, len(values), has_std)

    @property
    def neutral(self) -> bool:
        """Whether the values are of neutral removal, so that centred means are shown as well.

        See Also
        --------
        pkex.Explainer : Takes the removal.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f, removal="neutral")([[0.0, 1.0], [1.0, 0.0]]).importance().neutral
        True
        """
        return bool(self.removal == "neutral")

    @property
    def importances_mean(self) -> Floats:
        """The values, as scikit-learn names those of permutation importance.

        See Also
        --------
        pkex.permutation_importance : Computes them over all shuffles.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.permutation_importance(f, [[0.0], [1.0]], [1.0, 0.0]).importances_mean.round(4)
        array([1.5739])
        """
        return self.values

    @property
    def ranking(self) -> Indices:
        """The features, most important first; by the sum over outputs where there are several.

        See Also
        --------
        pkex.Importance.to_frame : The means in this order.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance().ranking
        array([1, 0])
        """
        total = self.values if self.values.ndim == 1 else self.values.sum(axis=1)
        return np.argsort(-total, kind="stable")

    def __repr__(self) -> str:
        return "\n".join(text.draw_lines(self.VIEWS[0](self)))
