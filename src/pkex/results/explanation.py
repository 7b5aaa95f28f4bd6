"""`Explanation`: the values, what they refer to, and how exact they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.games.rules import Rule
from pkex.output import frames, html, text
from pkex.output.files.archive import Format
from pkex.output.files.codec import (
    ABOUT,
    ROWS,
    CellTable,
    Codec,
    Entries,
    FloatArrays,
    Kernels,
    Rules,
)
from pkex.output.files.header import as_number, as_text
from pkex.output.interop import shap, shapiq
from pkex.output.plots.accessors import ExplanationPlots
from pkex.output.view.rows import explanation_sums, explanation_table
from pkex.results.base import Deferred, Result, check_sums, row_names
from pkex.results.importance import Importance

if TYPE_CHECKING:
    from pkex.results.interactions import Interactions
    from pkex.results.totals import Totals

__all__ = ["Explanation"]


_PREDICTED: Any = Deferred()


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Exact Shapley values of some rows.

    ``explanation[rows, features, outputs]`` selects from it; see `__getitem__`.

    Attributes
    ----------
    about : About
        What all explanations of one explainer share: names, removal, kernels, classes. Its fields
        are attributes of the explanation, too.
    values : array of shape (n_rows, n_players) or (n_rows, n_players, n_outputs)
        The attributions; with `base_values` they sum to the prediction.
    base_values : array of shape (n_rows,) or (n_rows, n_outputs)
        The value of the empty coalition.
    data : array of shape (n_rows, n_columns)
        The rows that were explained: float64, or object where the table has text.
    feature_names : tuple of str
        Names of the players: columns, or groups of columns.
    column_names : tuple of str
        Names of the columns of `data`.
    players : tuple of tuples of int
        The columns of each player.
    output_names : tuple of str, or None
    rule : Rule
        The rule with the largest proven error among those used. ``rule.relative_error`` bounds the
        relative error of the integral of every pair under neutral removal, and the error relative
        to 1 under the others; where a kernel's factors leave [0, 1] and [-1, 1], respectively, the
        rule is exact up to rounding, which such factors may amplify.
    rules : tuple of Rule
        All rules used: each pair takes the cheapest one that covers it.
    residual : float
        The largest ``|base + sum of values - prediction|``, which was checked to be rounding.
    error : array of shape (n_rows,) or (n_rows, n_outputs), or None
        A proven bound, in the units of the prediction: no value of the row, no base value and no
        prediction is further than this from what exact arithmetic gives for the model's stored
        numbers. It holds the certificate of the rule, rounding, and the row's residual. None where
        it is not known.
    removal : str
        The game: "marginal", "interventional" or "neutral".
    absent : str or None
        What an absent feature is, to be read after "absent features:", e.g. "averaged over the
        model's 450 training points, columns independent". None where it is not known.
    predictions : array of shape (n_rows,) or (n_rows, n_outputs)
        ``base_values + values.sum(axis=1)``, over all features: a selection of features keeps the
        predictions of the explanation it was taken from.
    complete : bool
        Whether all features are there; False after a selection of some.
    kernels : tuple of Kernel, or None
        The different kernels of the model, most often one. A kernel of the user's own comes back
        from a file as its description, which prints and cannot be evaluated. None where they are
        not known.
    kernel : Kernel or None
        The kernel, where there is one.
    classes : tuple of str, or None
        Of a classifier: its classes.
    sides : tuple of (str, str or None), or None
        Of a classifier: for each output the class that positive values speak for, and the one that
        negative values speak for, or None where they speak against the first.
    number : str or None
        Of a classifier: what `predictions` are, e.g. "decision function".
    predicted : array of shape (n_rows,) or None
        Of a classifier: the class that its own `predict` gives to each row. A support vector
        machine counts votes of pairs, so that another class may have the largest output. It is
        asked when this is first looked at.
    row_labels : pandas.Index or None
        What a pandas frame called its rows; None for rows without such labels.
    index : str
        Which values these are: "SV" for Shapley's, "BV" for Banzhaf's, or the name of another
        measure.
    efficient : bool
        Whether they add up: base value and values give the prediction. Only Shapley values do.
    std : array like `values`, or None
        Of a Gaussian process, where it was asked for: the posterior standard deviation of every
        value, that of the latent function.
    cov : array of shape (n_rows, n_players, n_players) or with n_outputs at the end, or None
        Likewise, the posterior covariances of the values of a row.
    quantity : str or None
        What is explained, where it is not what the model predicts: "predictive variance", or
        "latent variance", which has no observation noise in it.

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
    >>> explanation.absent
    "averaged over the model's 2 points, columns independent"
    """

    REPORT: ClassVar = "explanation"
    AXES: ClassVar = {
        "values": ("row", "feature", "output"),
        "base_values": ("row", "output"),
        "predictions": ("row", "output"),
        "error": ("row", "output"),
        "std": ("row", "feature", "output"),
        "cov": ("row", "feature", "feature", "output"),
        "data": ("row", "column"),
        "predicted": ("row",),
        "row_labels": ("row",),
    }
    SELECTED: ClassVar = ("row", "feature", "output")
    CODEC: ClassVar = Codec(
        # version 2: more fields, each of which may be missing; kernels are data; dates and times
        Format("Explanation", 2),
        (
            ABOUT,
            Kernels(),
            Entries({"removal": as_text, "residual": as_number}),
            ROWS,
            Rules(),
            FloatArrays(("values", "base_values", "predictions")),
            FloatArrays(("error", "std", "cov"), optional=True),
            CellTable(),
        ),
    )

    values: Floats
    base_values: Floats
    data: NDArray[Any]
    rules: tuple[Rule, ...]
    residual: float
    predictions: Floats = None  # type: ignore[assignment]  # set below
    error: Floats | None = None
    std: Floats | None = None
    cov: Floats | None = None
    predicted: NDArray[Any] | None = _PREDICTED
    row_labels: Any = None

    def __post_init__(self) -> None:
        if self.predictions is None:
            total = self.base_values + self.values.sum(axis=1)
            object.__setattr__(self, "predictions", total)
        super().__post_init__()

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return text.draw(explanation_sums(self))

    def _repr_html_(self) -> str:
        return html.draw(explanation_table(self))

    @property
    def plot(self) -> ExplanationPlots:
        """Plots: ``explanation.plot()`` draws what fits; see `ExplanationPlots` for all kinds.

        Examples
        --------
        ::

            explanation.plot()  # a beeswarm of many rows, the waterfall of one
            explanation.plot.waterfall(0)
            explanation.plot.bar(cohorts="sex")
            explanation.plot.dependence("bmi", color="age")
            explanation.plot.heatmap()
            explanation.plot.decision()
        """
        return ExplanationPlots(self)

    @property
    def rule(self) -> Rule:
        """The rule with the largest proven error."""
        return self.rules[0]

    @property
    def index(self) -> str:
        """Which values these are: "SV" for Shapley's, or the name of another semivalue."""
        return self.about.index

    @property
    def efficient(self) -> bool:
        """Whether base value and values add up to the prediction."""
        return self.about.efficient

    @property
    def quantity(self) -> str | None:
        """What is explained, where it is not what the model predicts."""
        return self.about.quantity

    @property
    def complete(self) -> bool:
        """Whether all features are there; False after a selection of some."""
        return self.about.complete

    @property
    def row_names(self) -> tuple[str, ...]:
        """What to call the rows: the labels of `row_labels` as text, or their numbers from 0."""
        return row_names(self.row_labels, len(self))

    def __getitem__(self, key: Any) -> Explanation:
        """Select rows, features and outputs: ``explanation[rows, features, outputs]``.

        Rows are chosen by number, features and outputs by name or number, and each by a slice, a
        list or a boolean mask, too; what is left out is kept whole, and ``...`` stands for what is
        left out before the end, as in ``explanation[..., "a vs b"]``.

        The result is an `Explanation` again. Its rows and features stay axes even when one is
        chosen, so ``explanation[0]`` has values of shape (1, n_players); a single output does not,
        so ``explanation[..., "a vs b"]`` has values of shape (n_rows, n_players). `data` is cut to
        the columns of the chosen features, while `predictions` stay those of the model.

        Raises
        ------
        KeyError
            For a name that is not there; the message has those that are.
        IndexError
            For a number out of range and whatever else cannot be chosen.
        """
        chosen: Explanation = super().__getitem__(key)
        return chosen

    def importance(self) -> Importance:
        """Return the mean absolute value of each feature over the rows, with standard errors.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X = np.arange(12.0).reshape(6, 2) % 5.0
        >>> f = pkex.KernelExpansion(X, [1.0, 2.0, 3.0, 1.0, 2.0, 4.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f)(X).importance()
                    mean |value|
        x1        0.746 ± 0.24
        x0       0.7364 ± 0.24
        ± 1 standard error over 6 rows, with this model
        """
        return Importance.of(self.values, self.about, self.std is not None)

    def totals(self) -> Totals:
        """Return what is said of all rows: their number, importance, error bound and classes."""
        from pkex.results.totals import Totals

        return Totals.of(self)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation`, for shap's plots.

        It has one entry of data per player: ``data`` has a number, ``display_data`` what shap
        prints. A column of text has integer codes and its text; a group of several columns has NaN,
        so that beeswarm shows it in grey and scatter not at all, and its columns spelled out.

        Most of shap's plots take one output: ``explanation[..., "a vs b"].to_shap()``, or shap's
        own ``[:, :, "a vs b"]``. Those of one row take ``explanation.to_shap()[0]``. The plots that
        add up (waterfall, force, decision) need all features: of a selection they show the base
        value plus what was selected. What shap labels ``E[f(X)]`` is the base value, whatever the
        removal.

        Returns
        -------
        shap.Explanation

        Examples
        --------
        ::

            shap.plots.beeswarm(explanation.to_shap())
            shap.plots.waterfall(explanation.to_shap()[0])
            shap.plots.scatter(explanation.to_shap()[:, "bmi"])
        """
        return shap.to_shap(self)

    def to_shapiq(self, row: int, output: str | int | None = None) -> Any:
        """Return the values of one row as `shapiq.InteractionValues` of order 1, index "SV".

        Parameters
        ----------
        row : int
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        shapiq.InteractionValues
        """
        return shapiq.to_shapiq(self.select_output(output, "to_shapiq"), row)

    def to_frame(self, output: str | int | None = None, *, totals: bool = True) -> Any:
        """Return a pandas data frame with one line per row and one column per feature.

        It has the index of the frame that was explained, if that was one of pandas.

        Parameters
        ----------
        output : str or int, optional
            Which output. By default all: when there are several, the columns have two levels,
            output and feature, so that ``frame["a vs b"]`` is the frame of one output.
        totals : bool, default True
            Whether columns ``base_value`` and ``prediction`` follow the features. The features and
            the base value sum to the prediction, unless only some features were selected.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> pkex.Explainer(f)([[0.0, 1.0]]).to_frame().round(4)
               x0   x1  base_value  prediction
        0 -0.2161  0.1      2.4357      2.3196
        """
        chosen = self if output is None else self.select_output(output, "to_frame")
        return frames.explanation_frame(chosen, totals)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        details: Mapping[str, object] | None = None,
        row_names: Sequence[int | str] | None = None,
        interactions: Interactions | None = None,
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
            Of the same rows, ``explainer.interactions(X)``: a section shows which features act
            together.

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
        from pkex.output.report import write

        names = row_names
        write(self, path, title=title, details=details, row_names=names, interactions=interactions)

    @classmethod
    def concat(cls, explanations: Iterable[Explanation]) -> Explanation:
        """Return one explanation of the rows of several, in order, as one explainer made them.

        For tables that are explained in parts: by a loop over files, or by the workers of a
        cluster. They must agree in all but their rows.

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
        """Return values, base values and predictions with an axis of outputs, even of one."""
        values, base_values, predictions = self.values, self.base_values, self.predictions
        if values.ndim == 3:
            return values, base_values, predictions
        return values[:, :, np.newaxis], base_values[:, np.newaxis], predictions[:, np.newaxis]

    def _check_sums(self) -> None:
        if self.complete and self.efficient:
            values, base = self.values, self.base_values
            with np.errstate(over="ignore", invalid="ignore"):
                totals = base + values.sum(axis=1)
                sizes = np.abs(base) + np.abs(values).sum(axis=1)
            check_sums(totals, sizes, values.shape[1] + 2, self.predictions, self.residual)

    def __getstate__(self) -> dict[str, Any]:
        _ = self.predicted  # without the model, which is not a part of an explanation
        return self.__dict__
