"""`Explanation`: the values, what they refer to, and how exact they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import label_text
from pkex._util.floats import usual_errors
from pkex._util.indexing import Axis, select
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.games.rules import Rule
from pkex.kernels import Kernel
from pkex.models.absent import CAUTION
from pkex.output import frames, html, text
from pkex.output.files import explanation as files
from pkex.output.interop import shap, shapiq
from pkex.output.plots.accessors import ExplanationPlots
from pkex.results.concat import joined
from pkex.results.importance import Importance

if TYPE_CHECKING:
    from pkex.results.interactions import Interactions

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Exact Shapley values of some rows.

    ``explanation[rows, features, outputs]`` selects from it; see `__getitem__`.

    Attributes
    ----------
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
        What is explained, where it is not what the model predicts: "predictive variance".

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

    values: Floats
    base_values: Floats
    data: NDArray[Any]
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    players: tuple[tuple[int, ...], ...]
    output_names: tuple[str, ...] | None
    rule: Rule
    rules: tuple[Rule, ...]
    residual: float
    removal: str = "neutral"
    predictions: Floats = None  # type: ignore[assignment]  # set below
    complete: bool = True
    kernels: tuple[Kernel, ...] | None = None
    absent: str | None = None
    error: Floats | None = None
    classes: tuple[str, ...] | None = None
    sides: tuple[tuple[str, str | None], ...] | None = None
    number: str | None = None
    # no default on the class, so that `__getattr__` is asked where it is not known yet
    predicted: NDArray[Any] | None = field(default_factory=lambda: None)
    row_labels: Any = None
    index: str = "SV"
    efficient: bool = True
    std: Floats | None = None
    cov: Floats | None = None
    quantity: str | None = None

    def __post_init__(self) -> None:
        _check_shapes(self)
        if self.predictions is None:
            total = self.base_values + self.values.sum(axis=1)
            object.__setattr__(self, "predictions", total)

    @classmethod
    def _made(cls, **parts: Any) -> Explanation:
        """Return an explanation of parts that are known to fit together; the others are defaults.

        A row is explained in less time than it takes to check them.
        """
        explanation = object.__new__(cls)
        explanation.__dict__.update(parts)
        return explanation

    def _ask_later(self, predict: Callable[[Any], Any], rows: Any) -> None:
        """Leave the predicted classes to be found when they are first looked at.

        A model takes longer to predict the class of a row than it takes to explain it.
        """
        self.__dict__["_asked"] = (predict, rows)

    def __getattr__(self, name: str) -> Any:
        asked = self.__dict__.get("_asked") if name == "predicted" else None
        if asked is None:
            if name == "predicted" and name in self.__dict__:  # found by another thread meanwhile
                return self.__dict__[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        predict, rows = asked
        self.__dict__["predicted"] = np.asarray(usual_errors(predict)(rows))
        self.__dict__.pop("_asked", None)
        return self.__dict__["predicted"]

    def __getstate__(self) -> dict[str, Any]:
        _ = self.predicted  # without the model, which is no part of an explanation
        return {name: part for name, part in self.__dict__.items() if name != "_asked"}

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return text.explanation_text(self)

    def _repr_html_(self) -> str:
        return html.explanation_html(self)

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
    def kernel(self) -> Kernel | None:
        """The kernel of the model; None where it is not known, or where `kernels` has several."""
        known = self.kernels or ()
        return known[0] if len(known) == 1 else None

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs; empty when there is one and it has no name."""
        if self.output_names is None and self.values.ndim == 3:
            return tuple(f"y{i}" for i in range(self.values.shape[2]))
        return self.output_names or ()

    @property
    def caution(self) -> str | None:
        """What to beware of when reading values of neutral removal; None under the others."""
        return CAUTION if self.removal == "neutral" else None

    @property
    def row_names(self) -> tuple[str, ...]:
        """What to call the rows: the labels of `row_labels` as text, or their numbers from 0."""
        if self.row_labels is None:
            return tuple(map(str, range(len(self))))
        return tuple(map(label_text, self.row_labels))

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
        axes = [Axis("row", len(self)), Axis("feature", len(self.players), self.feature_names)]
        if self.values.ndim == 3:
            axes.append(Axis("output", self.values.shape[2], self.outputs))
        rows, features, *outputs = select(key, axes)
        values = self.values[np.ix_(rows, features, *outputs)]
        base_values = self.base_values[np.ix_(rows, *outputs)]
        predictions = self.predictions[np.ix_(rows, *outputs)]
        error = None if self.error is None else self.error[np.ix_(rows, *outputs)]
        std, cov = self.std, self.cov
        std = None if std is None else std[np.ix_(rows, features, *outputs)]
        cov = None if cov is None else cov[np.ix_(rows, features, features, *outputs)]
        names, sides = self.output_names, self.sides
        if outputs:
            names = tuple(self.outputs[k] for k in outputs[0])
            sides = None if sides is None else tuple(sides[k] for k in outputs[0])
            if len(names) == 1:
                values, base_values = values[:, :, 0], base_values[:, 0]
                predictions = predictions[:, 0]
                error = None if error is None else error[:, 0]
                std = None if std is None else std[..., 0]
                cov = None if cov is None else cov[..., 0]
        players, columns = self.players, tuple(range(len(self.column_names)))
        if len(features) < len(players) or (features != np.arange(len(players))).any():
            players = tuple(players[i] for i in features)
            columns = tuple(dict.fromkeys(column for player in players for column in player))
            players = tuple(tuple(map(columns.index, player)) for player in players)
        return replace(
            self,
            values=values,
            base_values=base_values,
            predictions=predictions,
            error=error,
            std=std,
            cov=cov,
            data=self.data[rows][:, columns],
            feature_names=tuple(self.feature_names[i] for i in features),
            column_names=tuple(self.column_names[i] for i in columns),
            players=players,
            output_names=names,
            sides=sides,
            predicted=None if self.predicted is None else self.predicted[rows],
            row_labels=None if self.row_labels is None else self.row_labels[rows],
            complete=self.complete and len(features) == len(self.players),
        )

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
        ± one standard error over the rows, with this model
        """
        neutral = self.removal == "neutral"
        return Importance.of(self.values, self.feature_names, self.outputs, neutral)

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
        return shapiq.to_shapiq(self._one_output(output, "to_shapiq"), row)

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
        chosen = self if output is None else self._one_output(output, "to_frame")
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation to a file, which `load` reads; an existing file is replaced.

        The file is an npz archive with a JSON header, without pickle, and named exactly `path`. It
        is written whole or not at all. A file that is replaced keeps its mode, a link stays a link
        to it, and what is no regular file is refused.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explanation:
        """Return the explanation that `save` wrote to `path`, in this version of pkex or before.

        A file is safe to load whatever its origin: nothing in it is run, and reading it takes
        memory in proportion to its size. That base values and values add up to the predictions is
        checked again.

        Raises
        ------
        ValueError
            When the file is damaged, is no explanation, or was written by a newer pkex; also when
            its values do not add up.
        """
        return files.load(cls, path)

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
        return joined(cls, explanations)

    def _with_output_axis(self) -> tuple[Floats, Floats, Floats]:
        """Return values, base values and predictions with an axis of outputs, even of one."""
        values, base_values, predictions = self.values, self.base_values, self.predictions
        if values.ndim == 3:
            return values, base_values, predictions
        return values[:, :, np.newaxis], base_values[:, np.newaxis], predictions[:, np.newaxis]

    def _one_output(self, output: str | int | None, caller: str) -> Explanation:
        """Return the explanation of one output."""
        if self.values.ndim == 3:
            if output is None:
                raise ValueError(
                    f"the explanation has {len(self.outputs)} outputs; choose one, e.g. "
                    f"{caller}(output={self.outputs[0]!r})."
                )
            one = self[:, :, output]
            if one.values.ndim == 3:
                raise IndexError(f"{caller} takes one output, got {brief(output)}.")
            return one
        if output is not None:
            select(output, [Axis("output", 1, self.outputs)])
        return self


def _check_shapes(explanation: Explanation) -> None:
    """Refuse parts that do not fit together."""
    values, data = explanation.values, explanation.data
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] == 1):
        raise ValueError(
            "values must have shape (n_rows, n_players), or (n_rows, n_players, n_outputs) for "
            f"several outputs; got {values.shape}."
        )
    totals = values.shape[:1] + values.shape[2:]
    n_outputs = 1 if values.ndim == 2 else values.shape[2]
    n_players, n_columns = values.shape[1], len(explanation.column_names)
    for name, found, expected in (
        ("base_values", explanation.base_values.shape, totals),
        ("predictions", np.shape(explanation.predictions), totals),
        ("error", getattr(explanation.error, "shape", None), totals),
        ("std", getattr(explanation.std, "shape", None), values.shape),
        (
            "cov",
            getattr(explanation.cov, "shape", None),
            (*values.shape[:2], n_players, *values.shape[2:]),
        ),
        ("data", data.shape, (values.shape[0], n_columns)),
        ("feature_names", (len(explanation.feature_names),), (n_players,)),
        ("players", (len(explanation.players),), (n_players,)),
        ("output_names", (len(explanation.outputs or (0,)),), (n_outputs,)),
        (
            "sides",
            (n_outputs if explanation.sides is None else len(explanation.sides),),
            (n_outputs,),
        ),
        (
            "row_labels",
            (values.shape[0] if explanation.row_labels is None else len(explanation.row_labels),),
            values.shape[:1],
        ),
        ("predicted", getattr(explanation.predicted, "shape", values.shape[:1]), values.shape[:1]),
    ):
        optional = ("predictions", "error", "std", "cov")
        unknown = name in optional and getattr(explanation, name) is None
        if found != expected and not unknown:
            raise ValueError(
                f"{name} must have shape {expected} to go with values of shape {values.shape} and "
                f"{n_columns} columns; got {found}."
            )
    columns = [column for player in explanation.players for column in player]
    if columns and not 0 <= min(columns) <= max(columns) < n_columns:
        raise ValueError(f"players must consist of columns 0 to {n_columns - 1} of the data.")
