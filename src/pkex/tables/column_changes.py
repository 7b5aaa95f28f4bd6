"""How a column differs between two tables, in a sentence in its units.

A sentence begins with the largest difference: values that are higher or lower, wider or narrower,
outside the range of the first table, or missing; categories that are new, gone, more or less
frequent. Mean and quantiles of numbers follow. Differences are compared by their standardised size
(`pkex.tables.differences`).

They describe what a test has detected; they are not tests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pkex._util.cells import format_cell, format_number, is_missing
from pkex._util.types import Cells, Floats
from pkex._util.words import pluralise
from pkex.tables.dates import day_text
from pkex.tables.differences import adjust_size, outside_size, share_size, superiority

__all__ = [
    "CategoryFacts",
    "ColumnChange",
    "NumberFacts",
    "describe_column",
    "percent",
]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_CLEAR = 2.0  # standard errors
_LISTED = 3  # categories of a kind in a sentence
_SHOWN = (0.05, 0.5, 0.95)
_KEPT = 20  # categories whose shares are kept
_NAMED = 3.0  # what a new or lost category counts more in the order of a sentence


@dataclass(frozen=True)
class NumberFacts:
    """The numbers of a column in one table; dates are days since 1970.

    All but `missing` are None where every cell is missing.
    """

    missing: float
    mean: float | None
    std: float | None
    minimum: float | None
    maximum: float | None
    quantiles: tuple[float, ...] | None

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        quantiles = None
        if self.quantiles is not None:
            quantiles = {f"{q:g}": x for q, x in zip(QUANTILES, self.quantiles, strict=True)}
        return vars(self) | {"quantiles": quantiles}


@dataclass(frozen=True)
class CategoryFacts:
    """The categories of a column in one table: shares of the cells that are not missing."""

    missing: float
    shares: tuple[tuple[str, float], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return {"missing": self.missing, "shares": dict(self.shares)}


@dataclass(frozen=True)
class ColumnChange:
    """How one column differs between two tables.

    Attributes
    ----------
    columns : tuple of str
        The column.
    kind : {"numeric", "date", "categorical"}
        What it holds.
    headline : str
        The largest difference in a few words; empty where none is clear.
    sentence : str
        All of it, with the name of the column.
    reference, current : NumberFacts or CategoryFacts
        The column in each of the tables.
    size : float
        The standardised size of the largest difference; of many categories as if there was one.
    """

    columns: tuple[str, ...]
    kind: Literal["numeric", "date", "categorical"]
    headline: str
    sentence: str
    reference: NumberFacts | CategoryFacts
    current: NumberFacts | CategoryFacts
    size: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain data, for JSON."""
        return {
            "columns": list(self.columns),
            "kind": self.kind,
            "headline": self.headline,
            "sentence": self.sentence,
            "reference": self.reference.as_dict(),
            "current": self.current.as_dict(),
        }


@dataclass(frozen=True)
class _Style:
    """How the numbers of a column are written, and what follows them."""

    write: Callable[[float], str]
    unit: str
    is_date: bool

    def deviations(self, facts: Sequence[NumberFacts]) -> str:
        """Return the standard deviations, from and to; those of dates are days."""
        stds = [one.std or 0.0 for one in facts]
        texts = [f"{std:.0f}" if 100.0 <= std < 1e9 else f"{std:.3g}" for std in stds]
        return " to ".join(texts) + (" days" if self.is_date else self.unit)


@dataclass(frozen=True)
class _Sentence:
    """One difference: its standardised size, and what is said of it."""

    size: float
    headline: str
    text: str
    extra: float = 0.0  # what it counts more in the order

    @property
    def rank(self) -> float:
        """The sort key: what comes first in a sentence."""
        return -self.size - self.extra


def describe_column(
    name: str,
    before: Cells,
    after: Cells,
    kind: Literal["numeric", "date", "categorical"],
    unit: str = "",
) -> ColumnChange:
    """Return how a column differs between two tables.

    Parameters
    ----------
    name : str
    before, after : arrays of cells
        Of the column in each table; None and NaN are missing. Dates are days since 1970.
    kind : {"numeric", "date", "categorical"}
    unit : str
        Of numbers, where it is known; sentences have it after the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> plans = np.repeat(["basic", "plus"], [60, 40]), np.repeat(["basic", "pro"], [60, 3])
    >>> print(describe_column("plan", *plans, "categorical").sentence)
    plan: category gone: plus (40 % to 0 %); more frequent: basic (60 % to 95.2 %); new ...
    >>> heights = np.linspace(150.0, 200.0, 101)
    >>> print(describe_column("height", heights, heights + 9.0, "numeric").sentence)
    height: higher values; mean from 175.0 to 184.0; quantiles (5, 50, 95 %) from 152.5, 175.0, ...
    """
    if kind == "categorical":
        return _describe_categories(name, before, after)
    return _describe_numbers(name, _floats(before), _floats(after), kind, unit)


def _floats(cells: Cells) -> Floats:
    """Return numbers, NaN where they are missing."""
    if cells.dtype.kind == "f":
        return cells.astype(np.float64)
    return np.array([math.nan if is_missing(cell) else float(cell) for cell in cells])


def _describe_numbers(
    name: str, before: Floats, after: Floats, kind: Literal["numeric", "date"], unit: str
) -> ColumnChange:
    facts = _number_facts(before), _number_facts(after)
    known = before[~np.isnan(before)], after[~np.isnan(after)]
    parts = _missing_part(before, after)
    rest: list[str] = []
    if len(known[0]) and len(known[1]):
        style = _Style(_writer(known, kind), f" {unit}" if unit else "", kind == "date")
        parts += _number_parts(known, facts, style)
        means = [style.write(column.mean()) for column in known]
        ends = [np.quantile(column, _SHOWN) for column in known]
        shown = [", ".join(map(style.write, quantiles)) for quantiles in ends]
        rest.append(f"mean from {means[0]} to {means[1]}{style.unit}")
        rest.append(f"quantiles (5, 50, 95 %) from {shown[0]} to {shown[1]}{style.unit}")
    clear = sorted((p for p in parts if p.size >= _CLEAR), key=lambda part: part.rank)
    texts = [part.text for part in clear]
    gaps = [p.text for p in _missing_part(before, after) if p not in clear]
    headline, size = (clear[0].headline, clear[0].size) if clear else ("", 0.0)
    sentence = f"{name}: {'; '.join(texts + rest + gaps)}."
    return ColumnChange((name,), kind, headline, sentence, *facts, size)


def _number_parts(
    known: tuple[Floats, Floats],
    facts: tuple[NumberFacts, NumberFacts],
    style: _Style,
) -> list[_Sentence]:
    """Return what is said of location or spread, whichever changed more, or of the range."""
    before, after = known
    write, unit = style.write, style.unit
    n, m = len(before), len(after)
    error = math.sqrt((n + m + 1) / (3.0 * n * m))
    location = superiority(before, after)
    middle = np.median(np.concatenate(known))
    spread = superiority(np.abs(before - middle), np.abs(after - middle))
    low, high = before.min(), before.max()
    beyond = np.maximum(after - high, low - after)
    count, wild = int(np.sum(beyond > 0.0)), int(np.sum(beyond > high - low))
    outside, excess = count / m, outside_size(count, m / (n + m))
    effect = max(abs(location), abs(spread))
    # a change of location or spread also takes numbers out of the range, but fewer than it moves,
    # and hardly any as far again as the range is wide
    few = effect < 3.0 * error or outside >= 0.8 * effect
    few |= 2 * wild >= count and outside_size(wild, m / (n + m)) >= _CLEAR
    if excess >= _CLEAR and few and outside < 0.5:
        far = after[np.argmax(beyond)]
        share = percent(outside)
        text = (
            f"{share} of values outside the reference range of {write(low)} to {write(high)}, "
            f"as far as {write(far)}{unit}"
        )
        return [_Sentence(excess, f"{share} outside the reference range", text)]
    parts = []
    if abs(location) >= abs(spread):
        word = "higher" if location > 0.0 else "lower"
        medians = " to ".join(write(float(np.median(column))) for column in known)
        headline = f"median {medians}{unit}"
        parts.append(_Sentence(abs(location) / error, headline, f"{word} values"))
    else:
        word = "wider" if spread > 0.0 else "narrower"
        stds = style.deviations(facts)
        text = f"{word} spread, standard deviation from {stds}"
        parts.append(_Sentence(abs(spread) / error, f"standard deviation {stds}", text))
    return parts


def _number_facts(column: Floats) -> NumberFacts:
    known = column[~np.isnan(column)]
    missing = 1.0 - len(known) / len(column)
    if not len(known):
        return NumberFacts(missing, None, None, None, None, None)
    std = float(known.std(ddof=1)) if len(known) > 1 else None
    quantiles = tuple(float(q) for q in np.quantile(known, QUANTILES))
    ends = float(known.min()), float(known.max())
    return NumberFacts(missing, float(known.mean()), std, *ends, quantiles)


def _writer(known: Sequence[Floats], kind: str) -> Callable[[float], str]:
    """Return what writes numbers of a column: with the digits that its spread asks for."""
    if kind == "date":
        whole = all((column == np.floor(column)).all() for column in known)
        return lambda day: day_text(round(day) if whole else day)
    low, high = np.quantile(np.concatenate(known), [0.05, 0.95])
    width = float(high - low) or float(np.ptp(np.concatenate(known)))
    if not 1e-4 <= width < 1e9:
        return lambda number: f"{number:.4g}"
    decimals = max(0, 2 - math.floor(math.log10(width)))
    integers = all((column == np.floor(column)).all() for column in known)

    def write(number: float) -> str:
        if abs(number) >= 1e9:
            return format_number(number)
        return f"{number:z.{0 if integers and number == round(number) else decimals}f}"

    return write


def _describe_categories(name: str, before: Cells, after: Cells) -> ColumnChange:
    counts = [
        Counter(format_cell(cell) for cell in cells if not is_missing(cell))
        for cells in (before, after)
    ]
    totals = [sum(count.values()) for count in counts]
    every = []
    for category in sorted(counts[0] | counts[1]):
        pair = counts[0][category], counts[1][category]
        shares = [k / max(1, total) for k, total in zip(pair, totals, strict=True)]
        every.append(_Category(category, shares[0], shares[1], share_size(pair, totals)))
    every.sort(key=lambda one: (-abs(one.size), -abs(one.after - one.before)))
    parts = _category_parts(every) + _missing_part(before, after)
    parts.sort(key=lambda part: part.rank)
    reference, current = (
        CategoryFacts(
            _gaps(cells) / len(cells), tuple((one.name, one.shares[k]) for one in every[:_KEPT])
        )
        for k, cells in enumerate((before, after))
    )
    sentence = "; ".join(part.text for part in parts) or "the same frequencies"
    headline = parts[0].headline if parts else ""
    size = adjust_size(max((part.size for part in parts), default=0.0), len(every) + 1)
    return ColumnChange(
        (name,), "categorical", headline, f"{name}: {sentence}.", reference, current, size
    )


@dataclass(frozen=True)
class _Category:
    """A category, its share in each table, and the standardised difference of these."""

    name: str
    before: float
    after: float
    size: float

    @property
    def shares(self) -> tuple[float, float]:
        return self.before, self.after


def _category_parts(every: Sequence[_Category]) -> list[_Sentence]:
    """Return what is said of new and lost categories, and of those more or less frequent."""
    both = [one for one in every if one.before and one.after]
    moved = [one for one in both if abs(one.size) >= _CLEAR] or both[: len(both) == len(every)]
    more = [one for one in moved if one.after > one.before]
    fewer = [one for one in moved if one.after < one.before]
    parts = []
    for words, headline, some in (
        (("new category", "new categories"), "new category {}", _where(every, "before")),
        (("category gone", "categories gone"), "category {} gone", _where(every, "after")),
        (("more frequent",) * 2, "{} more frequent", more),
        (("less frequent",) * 2, "{} less frequent", fewer),
    ):
        if not some:
            continue
        listed = [f"{one.name} ({_from_to(*one.shares)})" for one in some[:_LISTED]]
        others, title = some[_LISTED:], words[len(some) > 1]
        if others:
            together = (sum(one.shares[k] for one in others) for k in (0, 1))
            listed.append(f"{pluralise(len(others), 'other')} (together {_from_to(*together)})")
        short = headline.format(some[0].name)
        if len(some) > 1 and "categor" in title:
            short = f"{len(some)} {title}"
        extra = _NAMED if "categor" in title else 0.0
        parts.append(_Sentence(abs(some[0].size), short, f"{title}: {', '.join(listed)}", extra))
    return parts


def _where(every: Sequence[_Category], table: str) -> list[_Category]:
    """Return the categories that a table has not."""
    return [one for one in every if not getattr(one, table)]


def _gaps(cells: Cells) -> int:
    """Return how many cells are missing."""
    return int(np.isnan(cells).sum()) if cells.dtype.kind == "f" else sum(map(is_missing, cells))


def _missing_part(before: Cells, after: Cells) -> list[_Sentence]:
    """Return what is said of missing cells, if there are any."""
    totals = [len(before), len(after)]
    counts = [_gaps(cells) for cells in (before, after)]
    if not any(counts):
        return []
    change = _from_to(*(count / total for count, total in zip(counts, totals, strict=True)))
    size = abs(share_size(counts, totals))
    return [_Sentence(size, f"missing cells {change}", f"missing cells from {change}")]


def _from_to(before: float, after: float) -> str:
    return f"{percent(before)} to {percent(after)}"


def percent(share: float) -> str:
    """Return a share in percent, with two digits.

    Examples
    --------
    >>> percent(0.0), percent(0.0312), percent(0.2), percent(0.9971), percent(1.0)
    ('0 %', '3.1 %', '20 %', '99.7 %', '100 %')
    """
    number = 100.0 * share
    if number in (0.0, 100.0) or 10.0 <= number <= 90.0:
        return f"{number:.0f} %"
    decimals = 1
    while decimals < 6 and round(min(number, 100.0 - number), decimals) == 0.0:
        decimals += 1
    return f"{number:.{decimals}f} %"
