"""A text whose tokens are tinted by their values, as HTML.

Tints are transparent and the colour of the text is inherited, so that light and dark pages stay
legible; what raises the prediction is underlined as well, so that colour is not all that tells it
from what lowers it. What comes from the data is text, never markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from pkex.output import palette
from pkex.output.token_spans import Span

__all__ = ["TextPlot"]

_STRONGEST = 0.55  # tint of the largest value


@dataclass(frozen=True)
class TextPlot:
    """A text with its tokens tinted: a notebook shows it, and `html` returns it as HTML.

    Attributes
    ----------
    text : str
    spans : tuple of Span
        Where tokens stand in the text, each with its column.
    values : dict of int to float
        The value of each column that the row stores.
    names : dict of int to str
        What the columns are called.
    facts : tuple of (str, str)
        What stands below: base value, rest, prediction.

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
        """Return it as a piece of HTML."""
        largest = max(map(abs, self.values.values()), default=0.0) or 1.0
        body = "".join(
            self._piece(self.text[start:stop], columns, largest)
            for start, stop, columns in _pieces(self.text, self.spans)
        )
        facts = " &#183; ".join(f"{escape(name)} {escape(said)}" for name, said in self.facts)
        key = f"{_tinted('raises', 1.0)} {_tinted('lowers', -1.0)} the prediction"
        return (
            '<div class="pkex-text" style="max-width: 60em">'
            f'<p style="white-space: pre-wrap; line-height: 1.7; margin: 0 0 0.4em">{body}</p>'
            f'<p style="opacity: 0.8; font-size: 90%; margin: 0">{facts} &#183; {key}</p></div>'
        )

    def _piece(self, letters: str, columns: Sequence[int], largest: float) -> str:
        """Return some letters, tinted by the sum of the values of the tokens that cover them."""
        if not columns:
            return escape(letters)
        said = ", ".join(f"{self.names[j]}: {self.values[j]:+.4g}" for j in columns)
        value = sum(self.values[j] for j in columns) / largest
        return _tinted(letters, max(-1.0, min(1.0, value)), said)


def _tinted(letters: str, strength: float, said: str = "") -> str:
    """Return letters as HTML, tinted from -1 to 1."""
    shade = palette.RAISES if strength > 0.0 else palette.LOWERS
    style = f"background: {shade.tint(_STRONGEST * abs(strength))}; border-radius: 0.2em"
    if strength > 0.0:
        style += f"; box-shadow: inset 0 -0.12em {shade.tint(max(0.25, abs(strength)))}"
    title = f' title="{escape(said)}"' if said else ""
    return f'<span style="{style}"{title}>{escape(letters)}</span>'


def _pieces(text: str, spans: Sequence[Span]) -> list[tuple[int, int, list[int]]]:
    """Cut a text where tokens begin or end; each piece with the columns that cover it."""
    edges = sorted({0, len(text), *(s.start for s in spans), *(s.stop for s in spans)})
    pieces = []
    for start, stop in pairwise(edges):
        columns = [s.column for s in spans if s.start <= start and stop <= s.stop]
        pieces.append((start, stop, list(dict.fromkeys(columns))))
    return pieces
