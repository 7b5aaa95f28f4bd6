"""Views of explanations: each row as a sum, in words or in a line of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import name_of_rest
from pkex._util.words import NOISE, counted
from pkex.models.classes import apart, elsewhere, meaning
from pkex.output.spread import POSTERIOR
from pkex.output.text import leaves_out, most_important, raw_text
from pkex.output.view import Chip, Column, TableView, View, more, titled

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.sparse import SparseExplanation

__all__ = [
    "REST",
    "explanation_notes",
    "explanation_sums",
    "explanation_table",
    "sparse_sums",
    "sparse_table",
]

REST = "(all other columns)"
_SUMS, _TERMS = 6, 4  # rows in words, and features of each
_LINES, _FEATURES = 9, 8  # of a table
_SPARSE_LINES, _CHIPS = 8, 10  # of a table of sparse rows
_LETTERS = 60  # of a document in a table

Place = tuple[int, ...]  # of a row and an output


def explanation_sums(explanation: Explanation) -> View:
    """Return what an absent feature is and, when there are few rows, each of them as a sum."""
    values, base_values, predictions = explanation.with_output_axis()
    n_outputs, other = predictions.shape[1], elsewhere(explanation)
    if predictions.size > _SUMS:
        count = 0 if other is None else sum(most is not None for most in other)
        said = [apart(count, len(explanation))] if count else []
        return _explanation_view(explanation, remarks=said)
    names, sums = explanation.row_names, []
    for row, output in np.ndindex(predictions.shape):
        own = ""
        if explanation.predicted is not None:
            said = [f"predicted {explanation.predicted[row]}", _largest_output(other, row)]
            own = ", ".join(filter(None, said))
        if own and n_outputs > 1 and output == 0:
            sums.append(f"row {names[row]}: {own}")
        phi = values[row, :, output]
        base, prediction = base_values[row, output], predictions[row, output]
        top = most_important(np.abs(phi), _TERMS)
        terms = [
            (explanation.feature_names[i], phi[i], _spread(explanation, row, i, output, " "))
            for i in top
        ]
        if explanation.efficient and leaves_out(explanation, top):
            rest = prediction - base - phi[top].sum()
            terms.append((name_of_rest(explanation.feature_names), rest, ""))
        title = f"row {names[row]}" + (f" ({own})" if own and n_outputs == 1 else "")
        title += f", {explanation.outputs[output]}" if explanation.outputs else ""
        if explanation.efficient:
            sums.append(f"{title}: {prediction:.4g} = {_sum(base, terms)}")
        else:  # which is no equation
            each = ", ".join(f"{name} {value:+.4g}{after}" for name, value, after in terms)
            sums.append(f"{title}: {prediction:.4g} (prediction); {each}")
    return _explanation_view(explanation, remarks=sums)


def explanation_table(explanation: Explanation) -> View:
    """Return a table of the first rows and the most important features, each line a sum."""
    values, base, predictions = explanation.with_output_axis()
    n_outputs = predictions.shape[1]
    top = most_important(np.abs(values).sum(axis=(0, 2)), _FEATURES)
    n_shown = min(len(explanation), max(1, _LINES // n_outputs))
    places = list(np.ndindex(n_shown, n_outputs))
    scale = np.abs(values[:n_shown][:, top]).max(initial=0.0) or 1.0
    columns = [
        Column(
            explanation.feature_names[i],
            [f"{values[row, i, k]:+.4g}" for row, k in places],
            [_spread(explanation, row, i, k) for row, k in places],
            [values[row, i, k] / scale for row, k in places],
            [raw_text(explanation, row, i) for row, _ in places],
        )
        for i in top
    ]
    if explanation.efficient and leaves_out(explanation, top):
        sums = [values[row, top, k].sum() for row, k in places]
        others = [predictions[p] - base[p] - total for p, total in zip(places, sums, strict=True)]
        title = name_of_rest(explanation.feature_names)
        columns.append(Column(title, [f"{value:+.4g}" for value in others]))
    names = explanation[:n_shown].row_names
    other = elsewhere(explanation)
    largest = [_largest_output(other, row) for row, _ in places]
    shown = _table(explanation, places, names, explanation.outputs, columns, largest)
    return _explanation_view(explanation, **shown)


def sparse_sums(explanation: SparseExplanation) -> View:
    """Return the first rows as sums of their largest values."""
    outputs = explanation.outputs if isinstance(explanation.values, tuple) else ("",)
    _, rest = explanation.with_output_axis
    base = explanation.base_values.reshape(rest.shape)
    predictions = explanation.predictions.reshape(rest.shape)
    places, sums = list(np.ndindex(rest.shape)), []
    for row, k in places[:_SUMS]:
        largest = _largest(explanation, row, k)
        terms = [(name, value, "") for name, value in largest[:_TERMS]]
        if len(largest) > _TERMS:
            others = sum(value for _, value in largest[_TERMS:])
            terms.append((f"{len(largest) - _TERMS} more", others, ""))
        if explanation.efficient:
            terms.append((REST[1:-1], float(rest[row, k]), ""))
        title = f"row {row}" + (f", {outputs[k]}" if outputs[k] else "")
        if explanation.predicted is not None:
            title += f" (predicted {explanation.predicted[row]})"
        sign = "=" if explanation.efficient else "; from"
        sums.append(f"{title}: {predictions[row, k]:.4g} {sign} {_sum(base[row, k], terms)}")
    if len(places) > _SUMS:
        sums.append(more(len(places) - _SUMS))
    return _sparse_view(explanation, remarks=sums)


def sparse_table(explanation: SparseExplanation) -> View:
    """Return a table of the first rows, each with its largest values."""
    values, rest = explanation.with_output_axis
    n_shown = min(len(explanation), max(1, _SPARSE_LINES // rest.shape[1]))
    places = list(np.ndindex(n_shown, rest.shape[1]))
    scale = max((float(np.abs(v[:n_shown].data).max(initial=0.0)) for v in values), default=0.0)
    cells: list[list[Chip | str]] = []
    for row, k in places:
        largest = _largest(explanation, row, k)
        cells.append([Chip(name, v, v / (scale or 1.0)) for name, v in largest[:_CHIPS]])
        cells[-1] += [f"and {len(largest) - _CHIPS} more"] if len(largest) > _CHIPS else []
    columns = [Column("largest values", cells)]
    if explanation.efficient:
        columns.append(Column(REST, [f"{rest[place]:+.4g}" for place in places]))
    outputs = explanation.outputs if isinstance(explanation.values, tuple) else ()
    names = list(map(str, range(n_shown)))
    return _sparse_view(explanation, **_table(explanation, places, names, outputs, columns))


def explanation_notes(explanation: Explanation) -> list[str]:
    """Return what an absent feature is and what to beware of, each in a line."""
    quantity = explanation.quantity
    first = [] if quantity is None else [f"of the {quantity}{NOISE.get(quantity, '')}"]
    spreads = [] if explanation.std is None else [f"{POSTERIOR} of the value"]
    return first + _notes(explanation, spreads, "prediction minus base value")


def _notes(explanation: Any, spreads: Sequence[str], whole: str) -> list[str]:
    notes = [] if explanation.absent is None else [f"absent features: {explanation.absent}"]
    notes += spreads
    if not explanation.efficient:
        notes.append(f"{explanation.index} values do not add up to {whole}")
    return notes + ([] if explanation.caution is None else [f"note: {explanation.caution}"])


def _explanation_view(explanation: Explanation, **shown: Any) -> View:
    rule = explanation.rule
    if explanation.error is not None:
        error = f"error <= {explanation.error.max(initial=0.0):.2g}"
    elif any(used.is_fallback for used in explanation.rules):
        error = "exact up to rounding"
    elif explanation.removal == "neutral":
        error = f"relative error <= {rule.relative_error:.2g}"
    else:
        error = f"error <= {rule.relative_error:.2g} sum|alpha|"
    exact = [f"{rule.size}-node {rule.family}", error]
    headline = _headline(explanation, explanation.values.shape, "", exact)
    return _view(explanation, headline, explanation_notes(explanation), shown)


def _sparse_view(explanation: SparseExplanation, **shown: Any) -> View:
    values, _ = explanation.with_output_axis
    sizes = [len(explanation), len(explanation.feature_names), len(values)]
    stored = f"{values[0].nnz / max(1, len(explanation)):.1f} stored a row"
    error = [] if explanation.error is None else [f"error <= {explanation.error.max():.2g}"]
    headline = _headline(explanation, sizes[: 2 + (len(values) > 1)], stored, error)
    return _view(explanation, headline, _notes(explanation, [], "the prediction"), shown)


def _headline(explanation: Any, sizes: Sequence[int], stored: str, exact: Sequence[str]) -> str:
    """Return the size, the kind of removal and how exact the values are, in one line."""
    nouns = ("row", "player", "output")
    return titled(
        type(explanation).__name__,
        " x ".join(map(counted, sizes, nouns)),
        stored,
        "" if explanation.index == "SV" else f"{explanation.index} values",
        f"{explanation.removal} removal",
        *exact,
        f"residual {explanation.residual:.1e}" if explanation.efficient else "",
    )


def _view(explanation: Any, headline: str, notes: list[str], shown: dict[str, Any]) -> View:
    what = meaning(explanation)
    return View(headline, [] if what is None else [what], notes, **shown)


def _largest_output(other: NDArray[Any] | None, row: int) -> str:
    """Return the class of the largest output, where it is not the predicted one."""
    return "" if other is None or other[row] is None else f"largest output {other[row]}"


def _sum(base: Any, terms: Iterable[tuple[str, float, str]]) -> str:
    """Return the right side of an equation."""
    return f"{base:.4g} (base)" + "".join(
        f" {'-' if value < 0.0 else '+'} {abs(value):.4g}{after} ({name})"
        for name, value, after in terms
    )


def _spread(explanation: Explanation, row: int, player: int, output: int, before: str = "") -> str:
    """Return the standard deviation of a value, where it is known."""
    if explanation.std is None:
        return ""
    return f"{before}± {explanation.std[row, player].reshape(-1)[output]:.2g}"


def _table(
    explanation: Any,
    places: Sequence[Place],
    names: Sequence[str],
    outputs: Sequence[str],
    columns: Sequence[Column],
    largest: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a table whose lines begin with base values and end with predictions."""
    n_rows = len(explanation)
    first = []
    texts = getattr(explanation, "texts", None)
    if texts:
        first.append(Column("text", [_short(texts[row]) for row, _ in places]))
    if explanation.predicted is not None:
        labels = [str(explanation.predicted[row]) for row, _ in places]
        first.append(Column("predicted", labels, notes=largest))
    if outputs:
        first.append(Column("output", [outputs[k] for _, k in places]))
    base, predictions = (
        [f"{part.reshape(n_rows, -1)[place]:.4g}" for place in places]
        for part in (explanation.base_values, explanation.predictions)
    )
    ends = Column("base value", base), Column("prediction", predictions, bold=True)
    lines = [*first, ends[0], *columns, ends[1]]
    return {
        "tables": [TableView("row", [names[row] for row, _ in places], lines)],
        "more": more(n_rows - len(names), "row"),
    }


def _largest(explanation: SparseExplanation, row: int, output: int) -> list[tuple[str, float]]:
    """Return the values of a row with their names, the largest first."""
    values = explanation.with_output_axis[0][output]
    here = slice(values.indptr[row], values.indptr[row + 1])
    order = np.argsort(-np.abs(values.data[here]), kind="stable")
    names = explanation.feature_names
    players, phi = values.indices[here], values.data[here]
    return [(names[players[i]], float(phi[i])) for i in order]


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
