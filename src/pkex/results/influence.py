"""`Influence`: which training rows stand behind predictions and their Shapley values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import format_label
from pkex._util.types import Floats, Indices
from pkex.output.files import header as entry
from pkex.output.files.codec import ABOUT, CellTable, Codec, Content, Entries, FloatArrays, Kernels
from pkex.output.influence_frame import influence_frame
from pkex.output.plots.accessors import InfluencePlots
from pkex.output.view.influence import influence
from pkex.results.base import Result
from pkex.results.fields import PlotField

__all__ = ["Influence"]


@dataclass(frozen=True)
class _Lines:
    """The fields `train_rows`, `train_targets` and `train_index` in a file."""

    def pack(self, result: Any, content: Content) -> None:
        content.arrays["train_rows"] = np.asarray(result.train_rows, dtype=np.int64)
        targets = result.train_targets
        if targets is not None and targets.dtype.kind == "f":
            content.arrays["train_targets"] = targets
        elif targets is not None:
            content.header["train_targets"] = entry.to_json(targets.tolist(), "train_targets")
        content.header["train_index"] = entry.to_json(result.train_index, "train_index")

    def unpack(self, content: Content, fields: dict[str, Any]) -> None:
        lines, count = content.arrays["train_rows"], fields["n_train"]
        if lines.dtype.kind != "i" or (lines.size and not 0 <= lines.min() <= lines.max() < count):
            raise ValueError("train_rows are not rows of the training table")
        fields["train_rows"] = lines
        fields["train_index"] = entry.optional(entry.as_index)(content.header.get("train_index"))
        fields["train_targets"] = content.arrays.get("train_targets")
        if content.header.get("train_targets") is not None:
            fields["train_targets"] = np.array(entry.as_cells(content.header["train_targets"]))


@dataclass(frozen=True, eq=False, repr=False)
class Influence(Result):
    """Which training rows stand behind the predictions of some rows, and behind each value.

    Made by `Explainer.influence`. `kind` says what the numbers are. "leave-one-out", of kernel
    ridge regression and Gaussian processes: the prediction with all training rows minus that of
    the model fitted without row i, with hyperparameters, scaling, target normalisation, intercept
    and background held. "representer", of support vector machines and other models: the term
    ``alpha_i k(x, x_i)`` of row i in the prediction; the terms and the intercept sum to it, and no
    refit is claimed. All are in the units of the prediction.

    Parameters
    ----------
    about : About
        What all results have: `feature_names`, `column_names`, `feature_groups`, `output_names`,
        `removal`, `background_info` and others.
    values : array of shape (n_rows, n_shown) or (n_rows, n_shown, n_outputs)
        The influence of training rows on each prediction; `n_shown` is ``top``, or the number of
        training rows.
    feature_values : array of shape (n_rows, n_shown, n_features[, n_outputs])
        Their influence on each Shapley value.
    base_values : array like `values`
        Their influence on the base value. With the influence on all Shapley values of a row it
        sums to `values`.
    train_rows : array of int of shape (n_rows, n_shown)
        Which training rows these are: the most influential first with ``top``. Identical rows of a
        "representer" count as one.
    predictions : array of shape (n_rows,) or (n_rows, n_outputs)
        The predictions.
    kind : {"leave-one-out", "representer"}
        What the numbers are.
    train_noun : str
        What the training rows are: "training points", "support vectors", or "training rows" of a
        table of which the model keeps some.
    n_train : int
        How many training rows there are.
    additivity_error : float
        By how much `base_values` and `feature_values` miss `values`; NaN for an index whose values
        do not add up.
    data : array of shape (n_rows, n_columns)
        The explained rows.
    variance : array like `values`, or None
        Of a Gaussian process: by how much the variance of the latent function grows without the
        training row.
    row_index : pandas.Index, optional
        What a pandas frame called the explained rows.
    train_data : array of shape (n_train, n_columns), or None
        The training rows as the user has them; None where a pipeline keeps prepared rows only.
    train_targets : array of shape (n_train,) or (n_train, n_outputs), or None
        Their targets: those of ``y_train``, or those that the coefficients come from.
    train_index : pandas.Index, optional
        What a pandas frame called the training rows.
    input_notes : tuple of str
        What is assumed of the training; see `notes`.

    See Also
    --------
    pkex.Explainer.influence : Computes the influence.
    pkex.LeaveOneOut : Which training rows the model itself does not predict.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> model = KernelRidge(kernel="rbf", alpha=0.1).fit(X, X[:, 0])
    >>> influence = pkex.Explainer(model).influence(X[:2], top=3)
    >>> influence.train_rows[:, 0]
    array([ 6, 12])
    >>> influence.feature_values.shape
    (2, 3, 2)
    >>> sums = influence.base_values + influence.feature_values.sum(axis=2)
    >>> bool(abs(sums - influence.values).max() < 1e-12)
    True
    """

    AXES: ClassVar = {
        "values": ("row", "train_row", "output"),
        "feature_values": ("row", "train_row", "feature", "output"),
        "base_values": ("row", "train_row", "output"),
        "variance": ("row", "train_row", "output"),
        "train_rows": ("row", "train_row"),
        "predictions": ("row", "output"),
        "data": ("row", "column"),
        "row_index": ("row",),
        "train_data": ("line", "column"),
        "train_index": ("line",),
    }
    SELECTED: ClassVar = ("row", "feature", "output")
    SAME: ClassVar = ("kind", "n_train", "train_names", "input_notes")
    VIEWS: ClassVar = (influence, influence)
    _FRAME: ClassVar = influence_frame
    plot = PlotField(InfluencePlots)
    CODEC: ClassVar = Codec(
        "Influence",
        1,
        (
            ABOUT,
            Kernels(),
            Entries(
                kind=entry.one_of("leave-one-out", "representer"),
                train_noun=entry.as_text,
                n_train=entry.as_count,
                additivity_error=entry.as_number,
                row_index=entry.optional(entry.as_index),
                input_notes=lambda value: () if value is None else entry.as_names(value),
            ),
            _Lines(),
            FloatArrays(("values", "feature_values", "base_values", "predictions"), finite=True),
            FloatArrays(optional=("variance",), finite=True),
            CellTable(),
            CellTable(optional=True, name="train_data"),
        ),
    )

    values: Floats
    feature_values: Floats
    base_values: Floats
    train_rows: Indices
    predictions: Floats
    kind: str
    train_noun: str
    n_train: int
    additivity_error: float
    data: NDArray[Any]
    variance: Floats | None = None
    row_index: Any = None
    train_data: NDArray[Any] | None = None
    train_targets: NDArray[Any] | None = None
    train_index: Any = None
    input_notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        return (("line", self.n_train),)

    def _take(self, positions: dict[str, Indices]) -> Self:
        result, targets = super()._take(positions), self.train_targets
        if "output" not in positions or targets is None or targets.ndim < 2:
            return result
        chosen = targets[:, positions["output"]]
        return replace(result, train_targets=chosen[:, 0] if chosen.shape[1] == 1 else chosen)

    @classmethod
    def _join_fields(cls, parts: Sequence[Any]) -> dict[str, Any]:
        if len({part.values.shape[1] for part in parts}) > 1:
            raise ValueError(
                "influences differ in the number of training rows per row: pass the same top."
            )
        error = float(np.max([part.additivity_error for part in parts]))
        return super()._join_fields(parts) | {"additivity_error": error}

    def _check_sums(self) -> None:
        sums = self.base_values + self.feature_values.sum(axis=2)
        allowed = self.additivity_error + 1e-12 * np.abs(self.feature_values).sum(axis=2)
        if self.efficient and self.complete and not (np.abs(sums - self.values) <= allowed).all():
            raise ValueError("the influence on base value and values does not sum to the influence")

    @property
    def row_names(self) -> tuple[str, ...]:
        """What to call the explained rows: labels of a frame, or their numbers from 0.

        See Also
        --------
        pkex.Influence.train_names : What to call the training rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f).influence([[0.0, 1.0]]).row_names
        ('0',)
        """
        labels = range(len(self)) if self.row_index is None else self.row_index
        return tuple(map(format_label, labels))

    @property
    def train_names(self) -> tuple[str, ...]:
        """What to call the training rows: labels of a frame, or their numbers from 0.

        See Also
        --------
        pkex.Influence.row_names : What to call the explained rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f).influence([[0.0, 1.0]]).train_names
        ('0', '1')
        """
        labels = range(self.n_train) if self.train_index is None else self.train_index
        return tuple(map(format_label, labels))

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the numbers, such as which sample weights they assume.

        See Also
        --------
        pkex.Explainer.influence : Takes ``y_train`` and ``sample_weight``.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.kernel_ridge import KernelRidge
        >>> model = KernelRidge(kernel="rbf").fit([[0.0], [1.0]], [0.0, 9.0])
        >>> print(*pkex.Explainer(model).influence([[0.5]]).notes)
        Sample weights are taken as 1: the model keeps none. Pass y_train to check, or sample_weight
        >>> pkex.Explainer(model).influence([[0.5]], y_train=[0.0, 9.0]).notes
        []
        """
        return [*super().notes, *self.input_notes]
