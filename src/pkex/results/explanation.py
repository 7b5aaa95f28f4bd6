"""`Explanation`: the values, what they refer to, and how exact they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.rules import Rule
from pkex.output import frames, interop
from pkex.output.files import codec
from pkex.output.files.header import as_number, as_text, optional
from pkex.output.plots.accessors import ExplanationPlots
from pkex.output.view.rows import row_sums, row_table
from pkex.results.base import Details, PathLike, check_sums
from pkex.results.fields import Deferred, PlotField, fast_init
from pkex.results.group_values import GroupValues
from pkex.results.importance import Importance

if TYPE_CHECKING:
    from pkex.results.influence import Influence
    from pkex.results.interactions import Interactions
    from pkex.results.totals import Totals

__all__ = ["Explanation"]


_PREDICTED: Any = Deferred()


@fast_init
@dataclass(frozen=True, eq=False, repr=False)
class Explanation(GroupValues):
    """Exact Shapley values of some rows.

    ``explanation[rows, features, outputs]`` selects from it; see `__getitem__`.

    Parameters
    ----------
    about : About
        What all explanations of one explainer share. Its fields are attributes, too.
    values : array of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        The attributions; with `base_values` they sum to the prediction.
    base_values : array of shape (n_rows,) or (n_rows, n_outputs)
        The value of the empty coalition.
    data : array of shape (n_rows, n_columns)
        The rows that were explained: float64, or object where the table has text.
    rules : tuple of Rule
        All rules used: each pair takes the cheapest one that covers it.
    additivity_error : float
        The largest ``|base + sum of values - prediction|``, which was checked to be rounding.
    predictions : array of shape (n_rows,) or (n_rows, n_outputs), optional
        ``base_values + values.sum(axis=1)``, over all features: a selection of features keeps the
        predictions of the explanation it was taken from.
    error_bound : array of shape (n_rows,) or (n_rows, n_outputs), optional
        A proven bound, in the units of the prediction: no value of the row, no base value and no
        prediction is further than this from what exact arithmetic gives for the model's stored
        numbers. It includes rule, rounding and additivity error. None where it is not known.
    std : array like `values`, optional
        Of a Gaussian process: the posterior standard deviations, those of the latent function.
    cov : array of shape (n_rows, n_features, n_features[, n_outputs]), optional
        Likewise, the posterior covariances of the values of a row.
    predicted_class : array of shape (n_rows,), optional
        Of a classifier: the class that its `predict` gives to each row, which need not have the
        largest output: a support vector machine counts votes of pairs. Asked when first read.
    row_index : pandas.Index, optional
        What a pandas frame called its rows; None for rows without such labels.

    Attributes
    ----------
    feature_names, column_names, feature_groups, output_names
        Names of features and of columns of `data`, columns of each feature, names of outputs.
    removal, background_info, kernels, kernel
        How features are removed, what serves as background, and the kernels of the model.
    classes, output_classes, output_kind
        Of a classifier: its classes, those that an output pushes towards, what predictions are.
    index, efficient, quantity, complete, hierarchy
        Which values these are ("SV" for Shapley's), whether they add up, what is explained where
        it is not the prediction, whether all features are there, and how these are grouped.
    rule : Rule
        The rule with the largest proven error among those used.

    See Also
    --------
    pkex.Explainer : Explains a model.

    Examples
    --------
    >>> import pkex
    >>> points, names = [[0.0, 0.0], [1.0, 1.0]], ["age", "bmi"]
    >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF(), 0.5, names)
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [2.0, 1.0]])
    >>> explanation[:, "bmi"].values.round(4)
    array([[0.1  ],
           [0.185]])
    >>> print(str(explanation[0]).splitlines()[-1])
      row 0: 2.32 = 2.436 (base) - 0.2161 (age) + 0.09997 (bmi)
    >>> explanation.background_info
    '2 points, features treated as independent'
    """

    AXES: ClassVar = {
        **dict.fromkeys(("values", "std"), ("row", "feature", "output")),
        **dict.fromkeys(("base_values", "predictions", "error_bound"), ("row", "output")),
        "cov": ("row", "feature", "feature", "output"),
        "data": ("row", "column"),
        "predicted_class": ("row",),
        "row_index": ("row",),
    }
    SELECTED: ClassVar = ("row", "feature", "output")
    VIEWS: ClassVar = (row_sums, row_table)
    _FRAME: ClassVar = frames.explanation
    plot = PlotField(ExplanationPlots)
    CODEC: ClassVar = codec.Codec(
        # version 2: more fields, each of which may be missing; kernels are data; dates and times
        "Explanation",
        3,
        (
            codec.ABOUT,
            codec.Kernels(),
            codec.Entries(removal=optional(as_text), additivity_error=as_number),
            codec.ROWS,
            codec.Rules(),
            codec.FloatArrays(
                ("values", "base_values", "predictions"), ("error_bound", "std", "cov")
            ),
            codec.CellTable(),
        ),
    )

    values: Floats
    base_values: Floats
    data: NDArray[Any]
    rules: tuple[Rule, ...]
    additivity_error: float
    predictions: Floats = None  # type: ignore[assignment]  # set below
    error_bound: Floats | None = None
    std: Floats | None = None
    cov: Floats | None = None
    predicted_class: NDArray[Any] | None = _PREDICTED
    row_index: Any = None

    def __post_init__(self) -> None:
        if self.predictions is None:
            total = self.base_values + self.values.sum(axis=1)
            object.__setattr__(self, "predictions", total)
        super().__post_init__()

    def importance(self) -> Importance:
        """Return the mean absolute value of each feature over the rows, with standard errors.

        Returns
        -------
        Importance
            The means, their standard errors over the rows, and a ranking.

        See Also
        --------
        pkex.Importance : What is returned.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(12.0).reshape(6, 2) % 5.0
        >>> f = pkex.KernelExpansion(X, [1.0, 2.0, 3.0, 1.0, 2.0, 4.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f)(X).importance()
            mean |Shapley value|
        x1          0.746 ± 0.24
        x0         0.7364 ± 0.24
        ± 1 standard error over 6 rows, with this model
        """
        return Importance.of(self.values, self.about, self.std is not None)

    def totals(self) -> Totals:
        """Return what is said of all rows: their number, importance, error bound and classes.

        Returns
        -------
        Totals
            The totals over the rows, which a report shows.

        See Also
        --------
        pkex.Explanation.importance : The importance among them.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f)([[0.0, 1.0], [2.0, 1.0]]).totals().n_rows
        2
        """
        from pkex.results.totals import Totals

        return Totals.of(self)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation`, for shap's plots.

        It has one entry of data per feature: ``data`` has a number, ``display_data`` what shap
        prints. A column of text has integer codes and its text; a group of several columns has NaN,
        so that beeswarm shows it in grey and scatter not at all, and its columns spelled out.

        Most of shap's plots take one output: ``explanation[..., "a vs b"].to_shap()``, or shap's
        ``[:, :, "a vs b"]``. Those of one row take ``explanation.to_shap()[0]``. The plots that
        add up (waterfall, force, decision) need all features: of a selection they show the base
        value plus what was selected. What shap labels ``E[f(X)]`` is always the base value.

        Returns
        -------
        shap.Explanation
            The same values, with the base values, data and names.

        See Also
        --------
        pkex.Explanation.to_shapiq : For shapiq's plots.

        Examples
        --------
        ::

            shap.plots.beeswarm(explanation.to_shap())
            shap.plots.waterfall(explanation.to_shap()[0])
            shap.plots.scatter(explanation.to_shap()[:, "bmi"])
        """
        return interop.to_shap(self)

    def to_shapiq(self, row: int, output: str | int | None = None) -> Any:
        """Return the values of one row as `shapiq.InteractionValues` of order 1, index "SV".

        Parameters
        ----------
        row : int
            The number of the row, from 0.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        shapiq.InteractionValues
            The values of the row, with its base value.

        See Also
        --------
        pkex.Explanation.to_shap : For shap's plots.

        Examples
        --------
        ::

            explanation.to_shapiq(0).plot_force()
        """
        return interop.to_shapiq(self, row, output)

    def report(
        self,
        path: PathLike,
        *,
        title: str | None = None,
        details: Details = None,
        row_names: Sequence[int | str] | None = None,
        interactions: Interactions | None = None,
        influence: Influence | None = None,
    ) -> None:
        """Write a report that opens in a browser: one HTML file, written whole or not at all.

        It shows how the values were computed, the importance of the features, the values of all
        rows, a single row of choice with its waterfall, and each feature's dependence.

        Parameters
        ----------
        path : str or path
            Name of the file; an existing one is replaced.
        title : str, optional
            Heading of the report.
        details : mapping of str to anything, optional
            Facts that the explanation does not know, such as the model, shown as text.
        row_names : sequence of int or str, optional
            What to call the rows, e.g. their numbers in a larger table; by default the labels of
            the data frame that was explained, or numbers from 0.
        interactions : Interactions, optional
            Of the same rows: a section shows which features interact.
        influence : Influence, optional
            Of the same rows: a section shows the training rows behind each prediction.

        See Also
        --------
        pkex.Interactions : Shapley interactions.

        Examples
        --------
        >>> import os, tempfile, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [2.0, 1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explanation.report(os.path.join(folder, "report.html"), details={"model": f})
        ...     os.listdir(folder)
        ['report.html']
        """
        options = {"row_names": row_names, "interactions": interactions, "influence": influence}
        self._write_report(path, title=title, details=details, **options)

    @classmethod
    def concat(cls, explanations: Iterable[Explanation]) -> Explanation:
        """Return one explanation of the rows of several, in order, as one explainer made them.

        For tables that are explained in parts. They must agree in all but their rows.

        Parameters
        ----------
        explanations : iterable of Explanation
            The parts, in the order of their rows.

        Returns
        -------
        Explanation
            The explanation of all rows.

        See Also
        --------
        pkex.Explainer : Explains a model.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(12.0).reshape(6, 2) % 5.0
        >>> f = pkex.KernelExpansion(X, [1.0, 2.0, 3.0, 1.0, 2.0, 4.0], pkex.kernels.RBF())
        >>> explainer = pkex.Explainer(f)
        >>> whole = pkex.Explanation.concat(explainer(part) for part in (X[:4], X[4:]))
        >>> len(whole), bool(np.allclose(whole.values, explainer(X).values))
        (6, True)
        """
        return super().concat(explanations)

    def with_output_axis(self) -> tuple[Floats, Floats, Floats]:
        """Return values, base values and predictions with an axis of outputs, even of one.

        Returns
        -------
        tuple of three arrays
            Their last axis has the outputs.

        See Also
        --------
        pkex.Explanation : The arrays without this axis where there is one output.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
        >>> [array.shape for array in pkex.Explainer(f)([[0.0, 1.0]]).with_output_axis()]
        [(1, 2, 1), (1, 1), (1, 1)]
        """
        values, base_values, predictions = self.values, self.base_values, self.predictions
        if values.ndim == 3:
            return values, base_values, predictions
        return values[:, :, np.newaxis], base_values[:, np.newaxis], predictions[:, np.newaxis]

    def _check_sums(self) -> None:
        if self.removal is None and self.index != "IG":
            raise ValueError("it does not say how features are removed")
        if self.complete and self.efficient:
            values, base = self.values, self.base_values
            totals = base + values.sum(axis=1)
            sizes = np.abs(base) + np.abs(values).sum(axis=1)
            check_sums(totals, sizes, values.shape[1] + 2, self.predictions, self.additivity_error)

    def __getstate__(self) -> dict[str, Any]:
        _ = self.predicted_class  # without the model, which is not a part of an explanation
        return self.__dict__
