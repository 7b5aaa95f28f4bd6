"""`SparseExplanation`: the values of sparse rows, of what they store and of all the rest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices
from pkex.games.rules import Rule
from pkex.output import frames, html, text
from pkex.output.files.archive import Format
from pkex.output.files.codec import ABOUT, ROWS, Codec, Entries, FloatArrays, Kernels, Rules
from pkex.output.files.header import as_names, as_number, as_text, maybe
from pkex.output.files.sparse import SparseArrays
from pkex.output.plots.sparse import SparsePlots
from pkex.output.token_spans import Analyzed, Located
from pkex.output.view.rows import sparse_sums, sparse_table
from pkex.results.base import Result, check_sums
from pkex.results.explanation import Explanation
from pkex.results.importance import Importance

__all__ = ["SparseExplanation"]


@dataclass(frozen=True, eq=False, repr=False)
class SparseExplanation(Result):
    """Exact Shapley values of sparse rows: of what they store one by one, of all the rest as one.

    An `Explainer` returns it for sparse rows of a model that was fitted on such, or for the texts
    of a pipeline. ``base_values + values.sum(axis=1) + rest`` is the prediction; `rest` is
    computed, so that this was a check. ``explanation[rows, outputs]`` selects from it.

    Attributes
    ----------
    values : CSR array of shape (n_rows, n_players), or a tuple of these, one for each output
        The values of the players that a row stores: of columns that are not 0, or of groups with
        such a column. With groups the columns of `values` are the players, as `feature_names` says.
    rest : array of shape (n_rows,) or (n_rows, n_outputs)
        The sum of the values of all other players: what it says that these columns are 0.
    base_values, predictions : arrays of the shape of `rest`
    data : CSR array of shape (n_rows, n_columns)
        The rows that were explained; of texts what the vectorizer made of them.
    feature_names : tuple of str
        Names of the players: columns, or groups of columns.
    column_names : tuple of str
        Names of the columns of `data`.
    players : tuple of tuples of int
        The columns of each player.
    output_names : tuple of str, or None
    rules : tuple of Rule
        The rules used, the largest proven error first.
    residual : float
        The largest ``|base + values + rest - prediction|``, which was checked to be rounding.
    removal, absent, index, efficient, kernels, classes, sides, number
        As in `Explanation`.
    predicted : array of shape (n_rows,) or None
        Of a classifier, the class that its `predict` gives to each row.
    error : array of the shape of `rest`, or None
        A proven bound, as in `Explanation`: no value of the row, no base value and no prediction is
        further from what exact arithmetic gives.
    texts : tuple of str, or None
        The texts that the rows were made from, where a pipeline took texts.
    spans : Analyzed, Located or None
        Where tokens stand in the texts.

    Examples
    --------
    >>> import pkex
    >>> from scipy.sparse import csr_array
    >>> points = csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f, removal="neutral")(csr_array([[0.0, 2.0, 0.0]]))
    >>> explanation.values.toarray().round(4), explanation.rest.round(4)
    (array([[ 0.    , -1.7826,  0.    ]]), array([-0.4467]))
    """

    AXES: ClassVar = dict.fromkeys(
        ("rest", "base_values", "predictions", "error"), ("row", "output")
    ) | dict.fromkeys(("predicted", "row_labels"), ("row",))
    SELECTED: ClassVar = ("row", "output")
    CODEC: ClassVar = Codec(
        Format("SparseExplanation", 1),
        (
            ABOUT,
            Kernels(),
            Entries({"removal": as_text, "residual": as_number, "texts": maybe(as_names)}),
            ROWS,
            Rules(),
            FloatArrays(("rest", "base_values", "predictions"), finite=True),
            FloatArrays(("error",), finite=True, optional=True),
            SparseArrays(),
        ),
    )

    values: Any
    rest: Floats
    base_values: Floats
    predictions: Floats
    data: Any
    rules: tuple[Rule, ...]
    residual: float
    error: Floats | None = None
    predicted: NDArray[Any] | None = None
    row_labels: Any = None
    texts: tuple[str, ...] | None = None
    spans: Analyzed | Located | None = None

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def __repr__(self) -> str:
        return text.draw(sparse_sums(self))

    def _repr_html_(self) -> str:
        return html.draw(sparse_table(self))

    @property
    def plot(self) -> SparsePlots:
        """Plots: ``explanation.plot()`` draws what fits, ``explanation.plot.text(0)`` a text."""
        return SparsePlots(self)

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

    def __getitem__(self, key: Any) -> SparseExplanation:
        """Select rows, and outputs where there are several: ``explanation[rows, outputs]``.

        Rows stay an axis even when one is chosen; a single output does not.
        """
        chosen: SparseExplanation = super().__getitem__(key)
        return chosen

    def _cut(self, chosen: Mapping[str, Indices]) -> dict[str, Any]:
        sets, _ = self.with_output_axis
        rows = chosen.get("row", np.arange(len(self)))
        values = tuple(sets[k][rows] for k in chosen.get("output", range(len(sets))))
        spans = self.spans.chosen(rows) if isinstance(self.spans, Located) else self.spans
        return super()._cut(chosen) | {
            "values": values[0] if len(values) == 1 else values,
            "data": self.data[rows],
            "texts": None if self.texts is None else tuple(self.texts[i] for i in rows),
            "spans": spans,
        }

    @classmethod
    def _joined(cls, parts: Sequence[Any]) -> dict[str, Any]:
        from scipy.sparse import vstack

        sets = zip(*(part.with_output_axis[0] for part in parts), strict=True)
        values = tuple(vstack(each, format="csr") for each in sets)
        texts, spans = [part.texts for part in parts], parts[0].spans
        if isinstance(spans, Located):
            starts = np.cumsum([0, *map(len, parts)])
            tables = [
                part.spans.table + np.array([start, 0, 0, 0])
                for part, start in zip(parts, starts, strict=False)
            ]
            spans = Located(np.concatenate(tables))
        return super()._joined(parts) | {
            "values": values[0] if len(values) == 1 else values,
            "data": vstack([part.data for part in parts], format="csr"),
            "texts": None if texts[0] is None else tuple(text for each in texts for text in each),
            "spans": spans,
        }

    @property
    def with_output_axis(self) -> tuple[tuple[Any, ...], Floats]:
        """Values of each output, and the rest with an axis of outputs, even of one."""
        if isinstance(self.values, tuple):
            return self.values, self.rest
        return (self.values,), self.rest[:, None]

    def to_frame(self, output: str | int | None = None) -> Any:
        """Return a pandas data frame: a line for each value, and one for the rest of a row.

        The columns are ``row``, ``feature``, ``data`` and ``value``; the values of a row come
        largest first, its rest, named ``(all other columns)``, last. `data` is NaN for a group.
        """
        return frames.sparse_frame(self.select_output(output, "to_frame"))

    def importance(self) -> Importance:
        """Return the mean absolute values over the rows of all players that some row stores.

        A player counts as 0 in rows that do not store it: its part in their rest is left out. The
        rest is the last line, named ``(all other columns)``.
        """
        from pkex.results.sparse_to_dense import importance_of

        return importance_of(self)

    def dense(self, max_columns: int | None = None) -> Explanation:
        """Return the players that some row stores as an `Explanation`, for its plots and reports.

        Its last feature, ``(all other columns)``, is the rest, so that values add up. With
        `max_columns` the most important ones are kept, and the others go to the rest.

        Examples
        --------
        >>> import pkex
        >>> from scipy.sparse import csr_array
        >>> points = csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
        >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f)(csr_array([[0.0, 2.0, 0.0]])).dense().feature_names
        ('x1', '(all other columns)')
        """
        from pkex.results.sparse_to_dense import to_dense

        return to_dense(self, max_columns)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` of the players that some row stores, made dense.

        The rest is one more feature, ``(all other columns)``, so that its plots add up.
        """
        return self.dense().to_shap()

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        max_columns: int = 30,
        title: str | None = None,
        details: Mapping[str, object] | None = None,
        row_names: Sequence[int | str] | None = None,
    ) -> None:
        """Write a report that opens in a browser, as `Explanation.report` does, of what is `dense`.

        It has the `max_columns` players that matter most; the others are one feature more, with
        all that rows do not store.
        """
        made = self.dense(max_columns)
        made.report(path, title=title, details=details, row_names=row_names)

    def _check_sums(self) -> None:
        if self.efficient:
            values, rest = self.with_output_axis
            sums = np.stack([np.asarray(one.sum(axis=1)).ravel() for one in values], axis=1)
            sizes = np.stack([np.asarray(abs(one).sum(axis=1)).ravel() for one in values], axis=1)
            base = self.base_values.reshape(rest.shape)
            most = int(np.diff(values[0].indptr).max(initial=0))
            sizes = np.abs(base) + sizes + np.abs(rest)
            predictions = self.predictions.reshape(rest.shape)
            check_sums(base + sums + rest, sizes, most + 3, predictions, self.residual)
