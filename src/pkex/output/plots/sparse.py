"""``explanation.plot()`` and ``explanation.plot.text(row)`` of sparse rows.

Plots are those of an `Explanation` of the columns that matter most, with all others as one more.

Tints of a text are transparent and its colour is inherited, so that light and dark pages stay
legible; what raises the prediction is underlined as well, so that colour is not all that tells it
from what lowers it. What comes from the data is text, never markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pkex._util.indexing import Axis, select
from pkex._util.lazy import lazy
from pkex._util.validation import brief
from pkex.output import palette
from pkex.output.plots.accessors import ExplanationPlots
from pkex.output.view.rows import REST, stored_entries
from pkex.tables.token_spans import Analyzed, Span, spans_of_words

if TYPE_CHECKING:
    from pkex.output.plots.drawing import Key
    from pkex.results.explanation import Explanation
    from pkex.results.sparse import SparseExplanation

__all__ = ["SparsePlots", "TextPlot"]

_COLUMNS = 200  # that plots are drawn of
_STRONGEST = 0.55  # tint of the largest value


class SparsePlots(ExplanationPlots):
    """The plots of a `SparseExplanation`: those of an `Explanation`, and `text`.

    Parameters
    ----------
    explanation : SparseExplanation
        The explanation to draw.

    See Also
    --------
    pkex.plots.ExplanationPlots : The plots of an `Explanation`.

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

    _given: SparseExplanation

    def __init__(self, explanation: SparseExplanation) -> None:
        self._given = explanation

    @lazy
    def _result(self) -> Explanation:
        return self._given.dense(_COLUMNS)

    def text(self, row: int, text: str | None = None, *, output: Key = None) -> TextPlot:
        """Return a document with its tokens tinted by their values, for notebooks and as HTML.

        Tokens are found as the model's vectorizer does it: lower case, accents, n-grams. Vermilion
        raises the prediction, blue lowers it; what is not a feature of the row stays plain.

        Parameters
        ----------
        row : int
            Number of the row.
        text : str, optional
            The document of the row, where the explainer was given rows and not documents; tokens
            are then the words of the document, without regard to case.
        output : str or int, optional
            Output to draw, by name or number; needed when there are several.

        Returns
        -------
        TextPlot
            The document, which a notebook shows.

        See Also
        --------
        Explanation.plot : The other plots.

        Examples
        --------
        >>> import pkex
        >>> from scipy.sparse import csr_array
        >>> points = csr_array([[0.0, 1.0], [1.0, 0.0]])
        >>> f = pkex.KernelExpansion(
        ...     points, [1.0, 2.0], pkex.kernels.RBF(), feature_names=["bad", "good"]
        ... )
        >>> pkex.Explainer(f)(csr_array([[0.0, 2.0]])).plot.text(0, "good, good")
        <TextPlot of 10 letters, 2 tokens>
        """
        explanation = self._given.select_output(output, "plot.text")
        [places] = select(row, [Axis("row", len(explanation))])
        if len(places) != 1:
            raise IndexError(f"plot.text shows one row; got {brief(row)}.")
        row = int(places[0])
        known = None if explanation.texts is None else explanation.texts[row]
        letters = known if text is None else text
        if letters is None:
            raise ValueError(
                "the explainer was given rows, not documents; pass the document of the row, "
                f"plot.text({row}, text)."
            )
        spans = self._spans(explanation, row, letters, letters == known)
        entries = (part.tolist() for part in stored_entries(explanation.values, row))
        phi = dict(zip(*entries, strict=True))
        groups = enumerate(explanation.feature_groups)
        owner = {column: feature for feature, columns in groups for column in columns}
        shown = [s._replace(column=owner[s.column]) for s in spans if owner[s.column] in phi]
        base, prediction = explanation.base_values[row], explanation.predictions[row]
        rest = [(REST[1:-1], f"{explanation.rest[row]:+.4g}")] if explanation.efficient else []
        facts = (("base value", f"{base:.4g}"), *rest, ("prediction", f"{prediction:.4g}"))
        names = {feature: explanation.feature_names[feature] for feature in phi}
        return TextPlot(letters, tuple(shown), phi, names, facts)

    def _spans(self, explanation: Any, row: int, text: str, is_known: bool) -> Any:
        """Return the spans of a text, by the vectorizer where it is known."""
        if isinstance(explanation.spans, Analyzed) or (is_known and explanation.spans is not None):
            return explanation.spans.of(row, text)
        stored, _ = stored_entries(explanation.data, row)
        return spans_of_words({explanation.column_names[j]: int(j) for j in stored}, text)


@dataclass(frozen=True)
class TextPlot:
    """A document with its tokens tinted: a notebook shows it, and `html` returns it as HTML.

    Parameters
    ----------
    text : str
        The document.
    spans : tuple of Span
        Start and end of each token in the document, with its column.
    values : dict of int to float
        Shapley value of each column that the row stores.
    names : dict of int to str
        Names of these columns.
    facts : tuple of (str, str)
        The line below the document: base value, remaining features, prediction.

    See Also
    --------
    pkex.plots.SparsePlots.text : Draws it.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> texts = ["good and cheap", "a good day", "bad and dear", "a bad idea"]
    >>> model = make_pipeline(TfidfVectorizer(), SVC()).fit(texts, [1, 1, 0, 0])
    >>> plot = pkex.Explainer(model)(["A good idea"]).plot.text(0)
    >>> plot
    <TextPlot of 11 letters, 2 tokens>
    >>> ">good</span>" in plot.html()
    True
    """

    text: str
    spans: tuple[Span, ...]
    values: dict[int, float]
    names: dict[int, str]
    facts: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"<TextPlot of {len(self.text)} letters, {len(self.spans)} tokens>"

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return the document as HTML.

        Returns
        -------
        str
            A ``<div>`` to put in a page.

        See Also
        --------
        pkex.plots.SparsePlots.text : Draws the document of a row.

        Examples
        --------
        >>> import pkex.plots
        >>> pkex.plots.TextPlot("hello", (), {}, {}, ()).html()[:21]
        '<div class="pkex-text'
        """
        largest = max(map(abs, self.values.values()), default=0.0) or 1.0
        body = "".join(
            self._piece(self.text[start:stop], columns, largest)
            for start, stop, columns in _pieces(self.text, self.spans)
        )
        facts = " &#183; ".join(f"{escape(name)} {escape(value)}" for name, value in self.facts)
        key = f"{_tint('raises', 1.0)} {_tint('lowers', -1.0)} the prediction"
        return (
            '<div class="pkex-text" style="max-width: 60em">'
            f'<p style="white-space: pre-wrap; line-height: 1.7; margin: 0 0 0.4em">{body}</p>'
            f'<p style="opacity: 0.8; font-size: 90%; margin: 0">{facts} &#183; {key}</p></div>'
        )

    def _piece(self, letters: str, columns: Sequence[int], largest: float) -> str:
        """Return some letters, tinted by the sum of the values of the tokens that cover them."""
        if not columns:
            return escape(letters)
        title = ", ".join(f"{self.names[j]}: {self.values[j]:+.4g}" for j in columns)
        value = sum(self.values[j] for j in columns) / largest
        return _tint(letters, max(-1.0, min(1.0, value)), title)


def _tint(letters: str, strength: float, title: str = "") -> str:
    """Return letters as HTML, tinted from -1 to 1."""
    shade = palette.RAISES if strength > 0.0 else palette.LOWERS
    style = f"background: {shade.tint(_STRONGEST * abs(strength))}; border-radius: 0.2em"
    if strength > 0.0:
        style += f"; box-shadow: inset 0 -0.12em {shade.tint(max(0.25, abs(strength)))}"
    tip = f' title="{escape(title)}"' if title else ""
    return f'<span style="{style}"{tip}>{escape(letters)}</span>'


def _pieces(text: str, spans: Sequence[Span]) -> list[tuple[int, int, list[int]]]:
    """Cut a text where tokens begin or end; each piece with the columns that cover it."""
    edges = sorted({0, len(text), *(s.start for s in spans), *(s.stop for s in spans)})
    pieces = []
    for start, stop in pairwise(edges):
        columns = [s.column for s in spans if s.start <= start and stop <= s.stop]
        pieces.append((start, stop, list(dict.fromkeys(columns))))
    return pieces
