"""`SparseExplanation`: the values of sparse rows, of what they store and of all the rest.

At the end, the way to the explanation of the columns they store, and to an importance. Nothing is
computed anew there: the values of features that are left out go to one more feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices
from pkex._util.validation import brief, is_index
from pkex.games.rules import Rule
from pkex.output import frames
from pkex.output.files import codec
from pkex.output.files.header import as_names, as_number, as_text, optional
from pkex.output.files.sparse_arrays import SparseArrays
from pkex.output.plots.sparse import SparsePlots
from pkex.output.view.rows import REST, row_sums, row_table
from pkex.results.base import Details, PathLike, RowResult, check_sums
from pkex.results.explanation import Explanation
from pkex.results.fields import PlotField
from pkex.results.importance import Importance
from pkex.tables.token_spans import Analyzed, Located

__all__ = ["SparseExplanation"]

_SUMS = ("rest", "base_values", "predictions")


@dataclass(frozen=True, eq=False, repr=False)
class SparseExplanation(RowResult):
    """Exact Shapley values of sparse rows: of each stored feature, and the sum of the others.

    An `Explainer` returns it for sparse rows of a model that was fitted on such, or for the
    documents of a pipeline. ``base_values + values.sum(axis=1) + rest`` is the prediction; `rest`
    is computed, so that this was a check. ``explanation[rows, outputs]`` selects from it.

    Parameters
    ----------
    about : About
        What all explanations of one explainer share. Its fields are attributes, too.
    values : CSR array of shape (n_rows, n_features), or a tuple of these, one for each output
        The values of the features that a row stores: of columns that are not 0, or of groups with
        such a column. The columns of `values` are the features, as `feature_names` says.
    rest : array of shape (n_rows,) or (n_rows, n_outputs)
        The sum of the values of all other features: what it says that these columns are 0.
    base_values : array of the shape of `rest`
        The value of the empty coalition.
    predictions : array of the shape of `rest`
        The predictions of the model.
    data : CSR array of shape (n_rows, n_columns)
        The rows that were explained; of documents what the vectorizer made of them.
    rules : tuple of Rule
        The rules used, the largest proven error first.
    additivity_error : float
        The largest ``|base + values + rest - prediction|``, which was checked to be rounding.
    error_bound : array of the shape of `rest`, optional
        A proven bound on the error of all numbers of the row, as in `Explanation`.
    predicted_class : array of shape (n_rows,), optional
        Of a classifier, the class that its `predict` gives to each row.
    row_index : pandas.Index, optional
        The index of a pandas series of documents; None for rows without such labels.
    texts : tuple of str, optional
        The documents that the rows were made from, where a pipeline took documents.
    spans : Analyzed or Located, optional
        The positions of tokens in the documents.

    See Also
    --------
    pkex.Explainer : Explains a model.
    pkex.Explanation : Shapley values of rows.

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

    AXES: ClassVar = {
        **dict.fromkeys((*_SUMS, "error_bound"), ("row", "output")),
        **dict.fromkeys(("predicted_class", "row_index"), ("row",)),
    }
    SELECTED: ClassVar = ("row", "output")
    VIEWS: ClassVar = (row_sums, row_table)
    _FRAME: ClassVar = frames.sparse_explanation
    plot = PlotField(SparsePlots)
    CODEC: ClassVar = codec.Codec(
        "SparseExplanation",
        2,
        (
            codec.ABOUT,
            codec.Kernels(),
            codec.Entries(removal=as_text, additivity_error=as_number, texts=optional(as_names)),
            codec.ROWS,
            codec.Rules(),
            codec.FloatArrays(_SUMS, ("error_bound",), finite=True),
            SparseArrays(),
        ),
    )

    values: Any
    rest: Floats
    base_values: Floats
    predictions: Floats
    data: Any
    rules: tuple[Rule, ...]
    additivity_error: float
    error_bound: Floats | None = None
    predicted_class: NDArray[Any] | None = None
    row_index: Any = None
    texts: tuple[str, ...] | None = None
    spans: Analyzed | Located | None = None

    def _take_arrays(self, positions: Mapping[str, Indices]) -> dict[str, Any]:
        outputs, _ = self.with_output_axis
        rows = positions.get("row", np.arange(len(self)))
        values = [outputs[k][rows] for k in positions.get("output", range(len(outputs)))]
        return super()._take_arrays(positions) | {
            "values": _without_output_axis(values),
            "data": self.data[rows],
            "texts": None if self.texts is None else tuple(self.texts[i] for i in rows),
            "spans": self.spans.select(rows) if isinstance(self.spans, Located) else self.spans,
        }

    @classmethod
    def _join_fields(cls, parts: Sequence[Any]) -> dict[str, Any]:
        from scipy.sparse import vstack

        outputs = zip(*(part.with_output_axis[0] for part in parts), strict=True)
        texts, spans = [part.texts for part in parts], parts[0].spans
        if isinstance(spans, Located):
            starts = np.cumsum([0, *map(len, parts)])
            tables = [
                part.spans.table + np.array([start, 0, 0, 0])
                for part, start in zip(parts, starts, strict=False)
            ]
            spans = Located(np.concatenate(tables))
        return super()._join_fields(parts) | {
            "values": _without_output_axis([vstack(each, format="csr") for each in outputs]),
            "data": vstack([part.data for part in parts], format="csr"),
            "texts": None if texts[0] is None else tuple(text for each in texts for text in each),
            "spans": spans,
        }

    @property
    def with_output_axis(self) -> tuple[tuple[Any, ...], Floats]:
        """Values of each output, and the rest with an axis of outputs, even of one.

        See Also
        --------
        pkex.SparseExplanation.dense : The values as one array.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from scipy.sparse import csr_array
        >>> f = pkex.KernelExpansion(csr_array(np.eye(3)[:2]), [2.0, 1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)(csr_array([[0.0, 2.0, 0.0]]))
        >>> values, rest = explanation.with_output_axis
        >>> len(values), rest.shape
        (1, (1, 1))
        """
        if isinstance(self.values, tuple):
            return self.values, self.rest
        return (self.values,), self.rest[:, None]

    def importance(self) -> Importance:
        """Return the mean absolute values over the rows of all features that some row stores.

        A feature counts as 0 in rows that do not store it: its part in their rest is left out. The
        rest is the last line, named ``(remaining features)``.

        Returns
        -------
        Importance
            The means, and their standard errors over the rows.

        See Also
        --------
        pkex.Explanation.importance : The importance of dense rows.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from scipy.sparse import csr_array
        >>> f = pkex.KernelExpansion(csr_array(np.eye(3)[:2]), [2.0, 1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)(csr_array([[0.0, 2.0, 0.0]]))
        >>> explanation.importance().values.round(4)
        array([1.119, 0.046])
        """
        if not len(self):
            raise ValueError("the explanation has no rows, so there is no mean over them.")
        values, rest = self.with_output_axis
        parts = [_means(one, rest[:, k]) for k, one in enumerate(values)]
        tables = [np.stack(part, axis=1) for part in zip(*parts, strict=True)]
        if not isinstance(self.values, tuple):
            tables = [table[:, 0] for table in tables]
        features = np.unique(values[0].indices)
        rows = np.append(features, len(self.feature_names))
        about, _ = self.about.select_features(features.tolist())
        names, groups = (*about.feature_names, REST), (*about.feature_groups, ())
        about = replace(about, feature_names=names, feature_groups=groups)
        means, errors, centred = (table[rows] for table in tables)
        return Importance(about, means, errors, centred, len(self))

    def dense(self, max_columns: int | None = None) -> Explanation:
        """Return the features that some row stores as an `Explanation`, for its plots and reports.

        Its last feature, ``(remaining features)``, is the rest, so that values add up. With
        `max_columns` the most important ones are kept, and the others go to the rest.

        Parameters
        ----------
        max_columns : int, optional
            How many features to keep at most; by default all that some row stores.

        Returns
        -------
        Explanation
            The same rows, with the rest as the last feature.

        See Also
        --------
        pkex.Explanation : Shapley values of rows.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from scipy.sparse import csr_array
        >>> f = pkex.KernelExpansion(csr_array(np.eye(3)[:2]), [2.0, 1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)(csr_array([[0.0, 2.0, 0.0]]))
        >>> explanation.dense().feature_names
        ('x1', '(remaining features)')
        """
        return _to_dense(self, max_columns)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` of the features that some row stores, made dense.

        The rest is one more feature, ``(remaining features)``, so that its plots add up.

        Returns
        -------
        shap.Explanation
            The values, with the base values, data and names.

        See Also
        --------
        pkex.SparseExplanation.dense : The explanation that is converted.

        Examples
        --------
        ::

            shap.plots.beeswarm(explanation.to_shap())
        """
        return self.dense().to_shap()

    def report(
        self,
        path: PathLike,
        *,
        max_columns: int = 30,
        title: str | None = None,
        details: Details = None,
        row_names: Sequence[int | str] | None = None,
    ) -> None:
        """Write a report that opens in a browser, as `Explanation.report` does, of what is `dense`.

        It has the `max_columns` features that matter most; the others are one feature more, with
        all that rows do not store.

        Parameters
        ----------
        path : str or path
            Name of the file; an existing one is replaced.
        max_columns : int, default 30
            How many features to show.
        title : str, optional
            Heading of the report.
        details : mapping of str to anything, optional
            Facts that the explanation does not know, such as the model, shown as text.
        row_names : sequence of int or str, optional
            What to call the rows; by default their labels, or numbers from 0.

        See Also
        --------
        pkex.Explanation.report : What the report shows.

        Examples
        --------
        >>> import os, tempfile, numpy as np, pkex
        >>> from scipy.sparse import csr_array
        >>> f = pkex.KernelExpansion(csr_array(np.eye(3)[:2]), [2.0, 1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)(csr_array([[0.0, 2.0, 0.0]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explanation.report(os.path.join(folder, "report.html"))
        ...     os.listdir(folder)
        ['report.html']
        """
        dense = self.dense(max_columns)
        dense.report(path, title=title, details=details, row_names=row_names)

    def _check_sums(self) -> None:
        if self.efficient:
            values, rest = self.with_output_axis
            sums = np.stack([np.asarray(one.sum(axis=1)).ravel() for one in values], axis=1)
            sizes = np.stack([np.asarray(abs(one).sum(axis=1)).ravel() for one in values], axis=1)
            base = self.base_values.reshape(rest.shape)
            most = int(np.diff(values[0].indptr).max(initial=0))
            sizes = np.abs(base) + sizes + np.abs(rest)
            predictions = self.predictions.reshape(rest.shape)
            check_sums(base + sums + rest, sizes, most + 3, predictions, self.additivity_error)


def _without_output_axis(values: Sequence[Any]) -> Any:
    """Return one table where there is one output, else a tuple of them."""
    return values[0] if len(values) == 1 else tuple(values)


def _means(values: Any, rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean absolute values, their standard errors, and the same about the means."""
    n_rows, n_features = values.shape

    def by_feature(entries: Floats, of_rest: Any) -> Floats:
        sums = np.bincount(values.indices, entries, n_features)
        return np.append(sums, np.sum(of_rest))

    sizes = np.abs(values.data)
    means = by_feature(sizes, np.abs(rest)) / n_rows
    errors = np.full(len(means), np.nan)
    stored = by_feature(np.ones_like(sizes), n_rows)
    if n_rows > 1:  # of what is stored about the mean, and of zeros
        gaps = (sizes - means[values.indices]) ** 2
        squares = by_feature(gaps, (np.abs(rest) - means[-1]) ** 2) + (n_rows - stored) * means**2
        errors = np.sqrt(squares / (n_rows - 1) / n_rows)
    middle = by_feature(values.data, rest) / n_rows
    centred = by_feature(np.abs(values.data - middle[values.indices]), np.abs(rest - middle[-1]))
    centred = (centred + (n_rows - stored) * np.abs(middle)) / n_rows
    return means, errors, centred


def _to_dense(explanation: SparseExplanation, max_columns: int | None) -> Explanation:
    """See `SparseExplanation.dense`."""
    if max_columns is not None and (not is_index(max_columns) or max_columns < 0):
        raise ValueError(
            f"max_columns must be a number of features, or None for all; got {brief(max_columns)}."
        )
    values, rest = explanation.with_output_axis
    features = np.unique(np.concatenate([one.indices for one in values]))
    if max_columns is not None and len(features) > max_columns:
        sums = [np.bincount(v.indices, np.abs(v.data), v.shape[1]) for v in values]
        sizes = np.sum(sums, axis=0)
        features = np.sort(features[np.argsort(-sizes[features], kind="stable")[:max_columns]])
    dense = np.stack([one[:, features].toarray() for one in values], axis=2)
    others = np.stack([np.asarray(one.sum(axis=1)).ravel() for one in values], axis=1)
    rest = rest + (others - dense.sum(axis=1))
    full = np.concatenate([dense, rest[:, None]], axis=1)
    several = isinstance(explanation.values, tuple)
    about, columns = explanation.about.select_features(features.tolist())
    cells = explanation.data[:, columns].toarray() if columns else np.empty((len(rest), 0))
    about = replace(
        about,
        feature_names=(*about.feature_names, REST),
        column_names=(*about.column_names, REST),
        feature_groups=(*about.feature_groups, (len(columns),)),
        complete=explanation.about.complete,
    )
    return Explanation(
        about,
        values=full if several else full[:, :, 0],
        base_values=explanation.base_values,
        data=np.column_stack([cells, np.full(len(rest), np.nan)]),
        rules=explanation.rules,
        additivity_error=explanation.additivity_error,
        predictions=explanation.predictions,
        error_bound=explanation.error_bound,
        predicted_class=explanation.predicted_class,
        row_index=explanation.row_index,
    )
