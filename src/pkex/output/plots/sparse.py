"""``explanation.plot()`` and ``explanation.plot.text(row)`` of sparse rows.

Plots are those of an `Explanation` of the columns that matter most, with all others as one more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.lazy import lazy
from pkex._util.validation import brief, is_index
from pkex.output.plots.accessors import ExplanationPlots
from pkex.output.plots.text import TextPlot
from pkex.output.token_spans import Analyzed, spans_of
from pkex.output.view.rows import REST

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.sparse import SparseExplanation

__all__ = ["SparsePlots"]

_COLUMNS = 200  # that plots are drawn of


class SparsePlots(ExplanationPlots):
    """The plots of a `SparseExplanation`: those of an `Explanation`, and `text`.

    Examples
    --------
    >>> import pkex
    >>> from scipy.sparse import csr_array
    >>> points = csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)(csr_array([[0.0, 2.0]]))
    >>> explanation.plot()
    <WaterfallDisplay in ax_ of figure_>
    """

    _title = "a SparseExplanation"

    def __init__(self, explanation: SparseExplanation) -> None:
        self._sparse = explanation

    @lazy
    def _result(self) -> Explanation:
        return self._sparse.dense(_COLUMNS)

    def text(
        self, row: int, text: str | None = None, *, output: str | int | None = None
    ) -> TextPlot:
        """Return a text with its tokens tinted by their values, for notebooks and as HTML.

        Tokens are found as the model's vectorizer does it: lower case, accents, n-grams. Vermilion
        raises the prediction, blue lowers it; what is no feature of the row stays plain.

        Parameters
        ----------
        row : int
        text : str, optional
            The text that the row was made from, where the explainer was given rows and no texts;
            tokens are then the words of the text, without regard to case.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        TextPlot
        """
        explanation = self._sparse.select_output(output, "plot.text")
        if not is_index(row) or not -len(explanation) <= row < len(explanation):
            raise IndexError(
                f"there is no row {brief(row)}; the rows are numbered 0 to {len(explanation) - 1}."
            )
        row = int(row) % len(explanation)
        known = None if explanation.texts is None else explanation.texts[row]
        if text is None and known is None:
            raise ValueError(
                "the rows were not made from texts that pkex has seen: pass that of the row, "
                f"plot.text({row}, text)."
            )
        letters = known if text is None else text
        assert letters is not None
        spans = self._spans(explanation, row, letters, letters == known)
        values = explanation.values
        here = slice(values.indptr[row], values.indptr[row + 1])
        phi = dict(zip(values.indices[here].tolist(), values.data[here].tolist(), strict=True))
        owner = {j: p for p, player in enumerate(explanation.players) for j in player}
        shown = [s._replace(column=owner[s.column]) for s in spans if owner[s.column] in phi]
        facts = [("base value", f"{explanation.base_values[row]:.4g}")]
        if explanation.efficient:
            facts.append((REST[1:-1], f"{explanation.rest[row]:+.4g}"))
        facts.append(("prediction", f"{explanation.predictions[row]:.4g}"))
        names = {player: explanation.feature_names[player] for player in phi}
        return TextPlot(letters, tuple(shown), phi, names, tuple(facts))

    def _spans(self, explanation: Any, row: int, text: str, own: bool) -> Any:
        """Return the spans of a text, by the vectorizer where it is known."""
        if isinstance(explanation.spans, Analyzed) or (own and explanation.spans is not None):
            return explanation.spans.of(row, text)
        from sklearn.feature_extraction.text import CountVectorizer

        stored = explanation.data.indices[explanation.data.indptr[row] :][
            : np.diff(explanation.data.indptr)[row]
        ]
        columns = {explanation.column_names[j]: int(j) for j in stored}
        most = max((len(name.split()) for name in columns), default=1)
        words = CountVectorizer(token_pattern=r"(?u)\b\w+\b", ngram_range=(1, max(1, most)))
        return spans_of(words, columns, text)
