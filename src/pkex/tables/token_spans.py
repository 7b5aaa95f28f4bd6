"""Where the tokens of a text stand in it, as a vectorizer of scikit-learn cuts it.

A vectorizer lists tokens without their places. It first makes the text plain (lower case, accents
stripped) and then finds tokens in that from left to right. So the plain text is made letter by
letter, with the place of each letter, and the tokens are looked for in their order. Tokens of
several words reach from the first to the last of them; those of letters are looked for everywhere.
A custom tokenizer may return something else than parts of the text (stems): then every
word is analysed by itself, and stands for what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Analyzed", "Located", "Span", "spans_of", "spans_of_words"]

_WORD = re.compile(r"\S+")


class Span(NamedTuple):
    """Letters `start` to `stop` of a text are a token, that of a column."""

    start: int
    stop: int
    column: int


@dataclass(frozen=True, eq=False)
class Analyzed:
    """Spans found by the vectorizer that made the rows.

    Attributes
    ----------
    vectorizer : CountVectorizer or TfidfVectorizer
    names : sequence of str
        The token of each column.
    """

    vectorizer: Any
    names: Sequence[str]

    def of(self, row: int, text: str) -> list[Span]:  # noqa: ARG002  (any text may be given)
        """Return the spans of a text, by where they start."""
        columns = {name: column for column, name in enumerate(self.names)}
        return spans_of(self.vectorizer, columns, text)


@dataclass(frozen=True, eq=False)
class Located:
    """Spans that were found before, as a file has them.

    Attributes
    ----------
    table : array of shape (n_spans, 4)
        Row, start, stop and column of each.
    """

    table: NDArray[np.int64]

    def of(self, row: int, text: str) -> list[Span]:  # noqa: ARG002  (it is the text of the row)
        """Return the spans of the text of a row."""
        return [Span(*map(int, entry[1:])) for entry in self.table[self.table[:, 0] == row]]

    def select(self, rows: NDArray[np.intp]) -> Located:
        """Return the spans of some rows, numbered anew."""
        parts = [self.table[self.table[:, 0] == row] for row in rows]
        for number, part in enumerate(parts):
            part[:, 0] = number
        return Located(np.concatenate([*parts, np.empty((0, 4), dtype=np.int64)]))


def spans_of(vectorizer: Any, columns: dict[str, int], text: str) -> list[Span]:
    """Return where the tokens of a text stand that are columns.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> vectorizer = CountVectorizer(ngram_range=(1, 2)).fit(["so good food"])
    >>> columns = {name: i for i, name in enumerate(vectorizer.get_feature_names_out())}
    >>> [tuple(span) for span in spans_of(vectorizer, columns, "Good food!")]
    [(0, 4, 1), (0, 9, 2), (5, 9, 0)]
    """
    if callable(vectorizer.analyzer):
        return _by_word(vectorizer, columns, text)
    plain, places = _plain(vectorizer.build_preprocessor(), text)
    if plain is None:
        return _by_word(vectorizer, columns, text)
    if vectorizer.analyzer != "word":
        tokens = set(vectorizer.build_analyzer()(text)).intersection(columns)
        spans = [(at, columns[token]) for token in tokens for at in _everywhere(token, plain)]
        return sorted(Span(places[a], places[b - 1] + 1, column) for (a, b), column in spans)
    tokens = vectorizer.build_tokenizer()(plain)
    ends = _in_order(tokens, plain)
    if ends is None:
        return _by_word(vectorizer, columns, text)
    stop_words = vectorizer.get_stop_words() or ()
    kept = [(t, e) for t, e in zip(tokens, ends, strict=True) if t not in stop_words]
    fewest, most = vectorizer.ngram_range
    spans = []
    for size in range(fewest, most + 1):
        for first in range(len(kept) - size + 1):
            some = kept[first : first + size]
            column = columns.get(" ".join(token for token, _ in some))
            if column is not None:
                a, b = some[0][1][0], some[-1][1][1]
                spans.append(((a, b), column))
    return sorted(Span(places[a], places[b - 1] + 1, column) for (a, b), column in spans)


def spans_of_words(columns: dict[str, int], text: str) -> list[Span]:
    """Return where words or sequences of words stand that are columns, without regard to case.

    Examples
    --------
    >>> [tuple(span) for span in spans_of_words({"good": 0, "good food": 1}, "Good food!")]
    [(0, 4, 0), (0, 9, 1)]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    most = max((len(name.split()) for name in columns), default=1)
    words = CountVectorizer(token_pattern=r"(?u)\b\w+\b", ngram_range=(1, max(1, most)))
    return spans_of(words, columns, text)


def _plain(preprocess: Any, text: str) -> tuple[str | None, list[int]]:
    """Return the text that tokens are found in, and where each of its letters comes from.

    None if the text is changed by more than its letters one by one.
    """
    parts, places = [], []
    for place, letter in enumerate(text):
        part = preprocess(letter)
        parts.append(part)
        places += [place] * len(part)
    joined = "".join(parts)
    return (joined if joined == preprocess(text) else None), places


def _in_order(tokens: Sequence[str], plain: str) -> list[tuple[int, int]] | None:
    """Return where each token stands, or None if one does not."""
    ends, at = [], 0
    for token in tokens:
        start = plain.find(token, at)
        if start < 0:
            return None
        at = start + len(token)
        ends.append((start, at))
    return ends


def _everywhere(token: str, plain: str) -> Iterator[tuple[int, int]]:
    """Yield where a token of letters stands; it may begin or end with spaces of no text."""
    letters = token.strip()
    for match in re.finditer(f"(?={re.escape(letters)})", plain) if letters else ():
        yield match.start(), match.start() + len(letters)


def _by_word(vectorizer: Any, columns: dict[str, int], text: str) -> list[Span]:
    """Return a span for every word that has a token of its own."""
    analyze = vectorizer.build_analyzer()
    spans = []
    for word in _WORD.finditer(text):
        for token in dict.fromkeys(analyze(word[0])):
            if token in columns:
                spans.append(Span(word.start(), word.end(), columns[token]))
    return spans
