"""`SparseExplanation`: the values of sparse rows, of what they store and of all the rest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.indexing import Axis, select
from pkex._util.types import Floats
from pkex.games.rules import Rule
from pkex.kernels.algebra import Kernel
from pkex.models.absent import CAUTION
from pkex.output import sparse_tables
from pkex.output.files import sparse as files
from pkex.output.plots.sparse import SparsePlots
from pkex.output.token_spans import Analyzed, Located
from pkex.results.explanation import Explanation
from pkex.results.importance import Importance

__all__ = ["SparseExplanation"]


@dataclass(frozen=True, eq=False, repr=False)
class SparseExplanation:
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

    values: Any
    rest: Floats
    base_values: Floats
    predictions: Floats
    data: Any
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    players: tuple[tuple[int, ...], ...]
    output_names: tuple[str, ...] | None
    rules: tuple[Rule, ...]
    residual: float
    removal: str
    absent: str | None = None
    error: Floats | None = None
    index: str = "SV"
    efficient: bool = True
    kernels: tuple[Kernel, ...] | None = None
    classes: tuple[str, ...] | None = None
    sides: tuple[tuple[str, str | None], ...] | None = None
    number: str | None = None
    predicted: NDArray[Any] | None = None
    texts: tuple[str, ...] | None = None
    spans: Analyzed | Located | None = None

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def __repr__(self) -> str:
        return sparse_tables.sparse_text(self)

    def _repr_html_(self) -> str:
        return sparse_tables.sparse_html(self)

    @property
    def plot(self) -> SparsePlots:
        """Plots: ``explanation.plot()`` draws what fits, ``explanation.plot.text(0)`` a text."""
        return SparsePlots(self)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs; empty when there is one and it has no name."""
        if self.output_names is None and isinstance(self.values, tuple):
            return tuple(f"y{k}" for k in range(len(self.values)))
        return self.output_names or ()

    @property
    def rule(self) -> Rule:
        """The rule with the largest proven error."""
        return self.rules[0]

    @property
    def caution(self) -> str | None:
        """What to beware of when reading values of neutral removal; None under the others."""
        return CAUTION if self.removal == "neutral" else None

    def __getitem__(self, key: Any) -> SparseExplanation:
        """Select rows, and outputs where there are several: ``explanation[rows, outputs]``.

        Rows stay an axis even when one is chosen; a single output does not.
        """
        several = isinstance(self.values, tuple)
        axes = [Axis("row", len(self))]
        axes += [Axis("output", len(self.outputs), self.outputs)] if several else []
        rows, *chosen = select(key, axes)
        numbers = chosen[0] if chosen else np.zeros(1, dtype=np.intp)
        values = tuple(self.with_output_axis[0][k][rows] for k in numbers)
        one = len(numbers) == 1

        def cut(part: Floats) -> Floats:
            chosen: Floats = part.reshape(len(self), -1)[np.ix_(rows, numbers)]
            return chosen[:, 0] if one else chosen

        names, sides = self.output_names, self.sides
        if several:
            names = tuple(self.outputs[k] for k in numbers)
            sides = None if sides is None else tuple(sides[k] for k in numbers)
        spans = self.spans.chosen(rows) if isinstance(self.spans, Located) else self.spans
        return replace(
            self,
            values=values[0] if one else values,
            rest=cut(self.rest),
            base_values=cut(self.base_values),
            predictions=cut(self.predictions),
            error=None if self.error is None else cut(self.error),
            data=self.data[rows],
            output_names=names,
            sides=sides,
            predicted=None if self.predicted is None else self.predicted[rows],
            texts=None if self.texts is None else tuple(self.texts[i] for i in rows),
            spans=spans,
        )

    @property
    def with_output_axis(self) -> tuple[tuple[Any, ...], Floats]:
        """Values of each output, and the rest with an axis of outputs, even of one."""
        if isinstance(self.values, tuple):
            return self.values, self.rest
        return (self.values,), self.rest[:, None]

    def one_output(self, output: str | int | None) -> SparseExplanation:
        """Return the explanation of one output, which has to be named where there are several."""
        if not isinstance(self.values, tuple):
            if output is not None:
                select(output, [Axis("output", 1, self.outputs)])
            return self
        if output is None:
            raise ValueError(
                f"the explanation has {len(self.outputs)} outputs; choose one, e.g. "
                f"output={self.outputs[0]!r}."
            )
        return self[:, output]

    def to_frame(self, output: str | int | None = None) -> Any:
        """Return a pandas data frame: a line for each value, and one for the rest of a row.

        The columns are ``row``, ``feature``, ``data`` and ``value``; the values of a row come
        largest first, its rest, named ``(all other columns)``, last. `data` is NaN for a group.
        """
        return sparse_tables.sparse_frame(self.one_output(output))

    def importance(self) -> Importance:
        """Return the mean absolute values over the rows of all players that some row stores.

        A player counts as 0 in rows that do not store it: its part in their rest is left out. The
        rest is the last line, named ``(all other columns)``.
        """
        return sparse_tables.sparse_importance(self)

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
        return sparse_tables.made_dense(self, max_columns)

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation to a file, which `load` reads; as `Explanation.save` does.

        Texts are in it, with the places of their tokens; the vectorizer is not.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SparseExplanation:
        """Return the explanation that `save` wrote to `path`; as `Explanation.load` does."""
        return files.load(cls, path)
