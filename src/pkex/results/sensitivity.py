"""`Sensitivity`: fractions of the variance of a model's output, for each input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pkex._util.types import Floats, Indices
from pkex._util.words import join_names
from pkex.output import frames, html, text
from pkex.output.files.codec import ABOUT, Codec, Entries, FloatArrays
from pkex.output.files.header import as_dependence, as_names, as_number, as_text, optional
from pkex.output.plots.accessors import SensitivityPlots
from pkex.output.spread import posterior_interval
from pkex.output.view import features
from pkex.results.base import Result
from pkex.results.fields import PlotField
from pkex.tables.dependence import Dependence

__all__ = ["Sensitivity"]

_EFFECTS = ("shapley", "first_order", "total_order")
_KINDS = {  # with the axes of their arrays
    **dict.fromkeys(_EFFECTS, ("feature", "output")),
    "second_order": ("feature", "feature", "output"),
    "variance": ("output",),
}
_FEW_WAVES = 0.2  # error of the variance of draws that is worth a word
_COARSE = 1e-4  # numerical error of an index that is worth a word


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Result):
    """How much of the variance of a model's output comes from each input, by `pkex.sensitivity`.

    With independent inputs the output is a sum of parts, one for every set of inputs, that are
    uncorrelated, and its variance is the sum of theirs. All indices are fractions of that variance.

    Parameters
    ----------
    about : About
        What all results have: `feature_names` (the inputs: columns, or groups of columns),
        `column_names`, `feature_groups` (the columns of each input), `output_names`, and of a
        classifier `output_kind`, e.g. "decision function".
    first_order : array of shape (n_features,) or (n_features, n_outputs)
        What each input explains by itself: the variance of the mean output given the input.
    total_order : array of shape (n_features,) or (n_features, n_outputs)
        What would be lost without it: all parts that it has a hand in. Where it is 0 the input does
        not matter.
    shapley : array of shape (n_features,) or (n_features, n_outputs)
        Shapley effects: every part is divided equally among its inputs. They lie between the two
        others and sum to 1.
    variance : float, or array of shape (n_outputs,)
        The variance of the output with independent inputs.
    mean : float, or array of shape (n_outputs,)
        Its mean.
    inputs : str
        What the inputs range over.
    error_bound : float
        What an index may be off by because of how it was computed, not because of how well the
        model fits: rounding, a proven bound for kernels that are sums of others up to an error
        (Matern, rational quadratic), and for distributions how much the indices changed when the
        nodes of their rules were doubled for the last time.
    second_order : array of shape (n_features, n_features), with n_outputs at the end, or None
        The parts of two inputs, beyond what each explains by itself; 0 on the diagonal. None unless
        it was asked for by ``order=2``.
    input_notes : tuple of str
        What to know of the ranges that were given; see `notes`.
    dependence : Dependence or None
        Which columns of the table depend on each other; None for distributions. See `correlated`.
    first_order_draws, total_order_draws, shapley_draws : array or None
        The indices of functions drawn from the posterior of a Gaussian process, draws along the
        first axis; see `draws`. None unless asked for by ``n_draws``.
    second_order_draws, variance_draws : array or None
        The same for pairs of inputs and for the variance.
    draws_error : float or None
        How far the posterior variance of the draws may be from that of the process, relative to
        its mean, as their prior is a sum of finitely many random waves: the root mean square over
        256 random rows of the inputs.

    See Also
    --------
    pkex.sensitivity : Sobol indices and Shapley effects.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)})
    Sensitivity(2 inputs, variance 0.264)
      inputs: a distribution for each of 2 columns, independent of each other
          first-order  Shapley  total-order
      x1       0.9225   0.9228       0.9232
      x0       0.0768   0.0772       0.0775
      interactions: 0.00074 of the variance
    """

    AXES: ClassVar = {
        **_KINDS,
        "mean": ("output",),
        **{f"{kind}_draws": ("draw", *axes) for kind, axes in _KINDS.items()},
    }
    VIEWS: ClassVar = (
        lambda self: features.sensitivity(self, text.LINES, text.OUTPUTS),
        lambda self: features.sensitivity(self, html.LINES),
    )
    _FRAME: ClassVar = frames.sensitivity
    plot = PlotField(SensitivityPlots)
    CODEC: ClassVar = Codec(
        "Sensitivity",
        2,
        (
            ABOUT,
            Entries(
                inputs=as_text,
                error_bound=as_number,
                input_notes=lambda value: () if value is None else as_names(value),
                draws_error=optional(as_number),
                dependence=optional(as_dependence),
            ),
            FloatArrays(_EFFECTS, ("second_order",), finite=True, gaps=True),
            FloatArrays(("variance", "mean"), finite=True),
            FloatArrays(optional=tuple(f"{kind}_draws" for kind in _KINDS), gaps=True),
        ),
    )

    first_order: Floats
    total_order: Floats
    shapley: Floats
    variance: Any
    mean: Any
    inputs: str
    error_bound: float
    second_order: Floats | None = None
    input_notes: tuple[str, ...] = ()
    dependence: Dependence | None = None
    first_order_draws: Floats | None = None
    total_order_draws: Floats | None = None
    shapley_draws: Floats | None = None
    second_order_draws: Floats | None = None
    variance_draws: Floats | None = None
    draws_error: float | None = None

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        effects = self.shapley_draws
        return () if effects is None else (("draw", len(effects)),)

    def _check_sums(self) -> None:
        sums = self.shapley.sum(axis=0)
        if not np.all(np.isnan(sums) | (np.abs(sums - 1.0) <= 1e-6 + self.error_bound)):
            raise ValueError(f"the Shapley effects sum to {float(np.ravel(sums)[0]):.6g}, not to 1")
        pairs = () if self.dependence is None else self.dependence.pairs
        owned = {column for group in self.feature_groups for column in group}
        if not all({pair.first, pair.second} <= owned for pair in pairs):
            raise ValueError("dependence: it names columns that belong to no feature")

    @property
    def ranking(self) -> Indices:
        """The inputs, the largest Shapley effect first; by the sum over outputs of several.

        See Also
        --------
        pkex.Sensitivity.to_frame : The indices as a table in this order.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> sensitivity = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)})
        >>> sensitivity.ranking
        array([1, 0])
        """
        effects = self.shapley
        total = effects if effects.ndim == 1 else np.nansum(effects, axis=1)
        return np.argsort(-total, kind="stable")

    @property
    def draws(self) -> Mapping[str, Floats]:
        """The indices of posterior draws, by kind: "shapley", "first_order", "total_order", ...

        Each array is that of the result with an axis of draws before the others; "variance" is
        there too, and "second_order" with ``order=2``. Their means, as in
        ``draws["shapley"].mean(axis=0)``, are the posterior means of the indices, while the result
        has those of the posterior mean. Empty unless asked for by ``n_draws``.

        See Also
        --------
        pkex.Sensitivity.interval : Credible intervals.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> X = np.random.default_rng(0).uniform(size=(20, 2))
        >>> model = GaussianProcessRegressor(alpha=0.01).fit(X, X[:, 0])
        >>> result = pkex.sensitivity(model, X, n_draws=49, random_state=0)
        >>> result.draws["shapley"].shape, result.draws["variance"].shape
        ((49, 2), (49,))
        """
        arrays = {kind: getattr(self, f"{kind}_draws") for kind in _KINDS}
        return {kind: array for kind, array in arrays.items() if array is not None}

    def interval(self, kind: str = "shapley", level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of credible intervals, from posterior draws.

        The ends are order statistics: of 199 draws and at level 0.9 the 10th and the 190th.

        Parameters
        ----------
        kind : {"shapley", "first_order", "total_order", "variance", "second_order"}
            Which index.
        level : float, default 0.9
            Posterior probability of an interval, between 0 and 1.

        Returns
        -------
        low : array of the shape of the index
            The lower ends.
        high : array of the shape of the index
            The upper ends.

        Raises
        ------
        ValueError
            When there are no draws of that kind, or too few for the level.

        See Also
        --------
        pkex.Sensitivity.draws : The draws.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> X = np.random.default_rng(0).uniform(size=(20, 2))
        >>> model = GaussianProcessRegressor(alpha=0.01).fit(X, X[:, 0])
        >>> result = pkex.sensitivity(model, X, n_draws=49, random_state=0)
        >>> low, high = result.interval("shapley", level=0.8)
        >>> bool((low < high).all())
        True
        """
        if not self.draws:
            raise ValueError("intervals need posterior draws; pass n_draws=199 to sensitivity.")
        if kind not in self.draws:
            more = " (order=2 adds second_order)" * ("second_order" not in self.draws)
            raise ValueError(f"kind must be one of {', '.join(self.draws)}{more}; got {kind!r}.")
        return posterior_interval(self.draws[kind], level)

    @property
    def interaction_fraction(self) -> Any:
        """The fraction of all parts of two inputs and more: 1 minus the sum of `first_order`.

        See Also
        --------
        pkex.sensitivity : With ``order=2`` it gives the part of each pair.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> sensitivity = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)})
        >>> round(float(sensitivity.interaction_fraction), 5)
        0.00074
        """
        return 1.0 - self.first_order.sum(axis=0)

    @property
    def correlated(self) -> tuple[tuple[str, str], ...]:
        """The pairs of inputs whose columns depend on each other, the strongest first.

        They are found when this is first asked for, by the rows only: by Spearman's correlation,
        Cramer's V for categories and the correlation ratio of ranks for a number and a category,
        of at least 0.3 and significant at 5 % after Holm's adjustment. At most 2000 rows and 500
        columns are looked at. Columns of one group are not told apart.

        See Also
        --------
        pkex.Sensitivity.notes : Names these inputs.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> x = np.linspace(0.0, 1.0, 30)
        >>> pkex.sensitivity(f, np.column_stack([x, x**2])).correlated
        (('x0', 'x1'),)
        """
        pairs = () if self.dependence is None else self.dependence.between(self.feature_groups)
        names = self.feature_names
        return tuple((names[pair.first], names[pair.second]) for pair in pairs)

    @property
    def notes(self) -> list[str]:
        """What to know before reading the indices: ranges, correlated features, numerical error.

        See Also
        --------
        pkex.Sensitivity.correlated : The pairs of correlated inputs.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> x = np.linspace(0.0, 1.0, 30)
        >>> print(*pkex.sensitivity(f, np.column_stack([x, x**2])).notes)
        Features are correlated (x0, x1): indices assume independence. Group them
        """
        notes = [*self.about.model_notes, *self.input_notes]
        names = list(dict.fromkeys(name for pair in self.correlated for name in pair))
        if names:
            notes.append(
                f"Features are correlated ({join_names(names)}): indices assume independence. "
                "Group them"
            )
        if self.error_bound > _COARSE:
            notes.append(
                f"Numerical error of an index: up to {self.error_bound:.1g} (of computing it, not "
                "of the model)"
            )
        if self.draws_error is not None and self.draws_error > _FEW_WAVES:
            notes.append(
                "Widths of the intervals are rough: the posterior variance of the draws is off by "
                f"{self.draws_error:.0%} of its mean, as draws are sums of finitely many random "
                "waves. Numbers in front of the intervals are not concerned"
            )
        return notes
