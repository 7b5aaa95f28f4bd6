"""Views of explanations: each row as a sum, in words or in a line of a table.

Both take an `Explanation` or a `SparseExplanation`, whose rows store some values and sum up the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import others_name
from pkex._util.types import Floats
from pkex._util.words import NOISE, pluralise
from pkex.models import classes
from pkex.output.spread import POSTERIOR, describe_error
from pkex.output.text import cut, feature_text, leaves_out, rank_by_size, value_name
from pkex.output.view import Chip, Column, TableView, View, more, title_of

__all__ = ["REST", "explanation_notes", "row_sums", "row_table", "stored_entries"]

REST = "(remaining features)"
_SUMS, _TERMS = 6, 4  # rows in words, and features of each
_LINES, _FEATURES = 9, 8  # of a table
_CHIPS = 10  # values of a sparse row in a table
_LETTERS = 60  # of a document in a table

Place = tuple[int, int]  # of a row and an output
Term = tuple[str, float, str]  # name, value and standard deviation


def row_sums(explanation: Any) -> View:
    """Return the background and, when there are few rows, each of them as a sum.

    The first rows where they are sparse.
    """
    places = list(np.ndindex(_with_outputs(explanation.predictions).shape))
    hidden = len(places) - _SUMS
    if hidden > 0 and not _is_sparse(explanation):
        count = classes.count_disagreements(explanation)
        remarks = [classes.describe_disagreement(count, len(explanation))] if count else []
    else:
        other = classes.largest_output_class(explanation)
        remarks = [line for place in places[:_SUMS] for line in _sum(explanation, place, other)]
        remarks += filter(None, [more(hidden)])
    return _view(explanation, remarks=remarks)


def _sum(explanation: Any, place: Place, other: NDArray[Any] | None) -> list[str]:
    """Return a row as a sum of its largest values, below its class where outputs are several."""
    (row, output), several = place, explanation.predictions.ndim > 1
    both = (explanation.base_values, explanation.predictions)
    base, prediction = (float(_with_outputs(part)[place]) for part in both)
    title, predicted = f"row {explanation.row_names[row]}", ""
    if explanation.predicted_class is not None:
        labels = (f"predicted {explanation.predicted_class[row]}", _largest_output(other, row))
        predicted = ", ".join(filter(None, labels))
    above = [f"{title}: {predicted}"] if predicted and several and output == 0 else []
    title += f" ({predicted})" if predicted and not several else ""
    title += f", {explanation.output_names[output]}" if explanation.output_names else ""
    terms = _largest(explanation, place)[:_TERMS]
    if not explanation.efficient:  # which is not an equation
        values = ", ".join(f"{name} {value:+.4g}{spread}" for name, value, spread in terms)
        return [*above, f"{title}: {prediction:.4g} ({_noun(explanation)}); {values}"]
    if _is_sparse(explanation) or leaves_out(explanation, terms):
        rest = prediction - base - sum(value for _, value, _ in terms)
        terms.append((_name_of_rest(explanation), rest, ""))
    summands = "".join(
        f" {'-' if value < 0.0 else '+'} {abs(value):.4g}{spread} ({name})"
        for name, value, spread in terms
    )
    return [*above, f"{title}: {prediction:.4g} = {base:.4g} (base){summands}"]


def row_table(explanation: Any) -> View:
    """Return a table of the first rows, each line a sum."""
    base, predictions = map(_with_outputs, (explanation.base_values, explanation.predictions))
    n_rows, n_outputs = predictions.shape
    places = list(np.ndindex(min(n_rows, max(1, _LINES // n_outputs)), n_outputs))
    names, texts = explanation.row_names, getattr(explanation, "texts", None)
    columns = []
    if texts:
        columns.append(Column("text", [cut(texts[row], _LETTERS) for row, _ in places]))
    if explanation.predicted_class is not None:
        other = classes.largest_output_class(explanation)
        labels = [str(explanation.predicted_class[row]) for row, _ in places]
        largest = [_largest_output(other, row) for row, _ in places]
        columns.append(Column("predicted", labels, notes=largest))
    if explanation.output_names:
        columns.append(Column("output", [explanation.output_names[k] for _, k in places]))
    columns.append(Column("base value", [f"{base[place]:.4g}" for place in places]))
    columns += (_chips if _is_sparse(explanation) else _features)(explanation, places)
    prediction = [f"{predictions[place]:.4g}" for place in places]
    columns.append(Column(_noun(explanation), prediction, bold=True))
    lines = TableView("row", [names[row] for row, _ in places], columns)
    hidden = more(n_rows - len(places) // n_outputs, "row")
    return _view(explanation, tables=[lines], more=hidden)


def _features(explanation: Any, places: Sequence[Place]) -> list[Column]:
    """Return the most important features, and the sum of the others."""
    values, base, predictions = explanation.with_output_axis()
    top = rank_by_size(np.abs(values).sum(axis=(0, 2)), _FEATURES)
    shown = np.array([values[row, top, k] for row, k in places]).reshape(len(places), len(top))
    scale = np.abs(shown).max(initial=0.0) or 1.0
    columns = [
        Column(
            explanation.feature_names[i],
            [f"{value:+.4g}" for value in shown[:, at]],
            [_spread(explanation, place, i).strip() for place in places],
            (shown[:, at] / scale).tolist(),
            [feature_text(explanation, row, i) for row, _ in places],
        )
        for at, i in enumerate(top)
    ]
    if explanation.efficient and leaves_out(explanation, top):
        sums = zip(places, shown.sum(axis=1), strict=True)
        rest = [f"{predictions[place] - base[place] - total:+.4g}" for place, total in sums]
        columns.append(Column(_name_of_rest(explanation), rest))
    return columns


def _chips(explanation: Any, places: Sequence[Place]) -> list[Column]:
    """Return the largest values that each row stores, and the sum of what it does not store."""
    rows = [_largest(explanation, place) for place in places]
    scale = max((abs(terms[0][1]) for terms in rows if terms), default=0.0) or 1.0
    cells: list[list[Chip | str]] = []
    for terms in rows:
        cells.append([Chip(name, value, value / scale) for name, value, _ in terms[:_CHIPS]])
        cells[-1] += filter(None, [more(len(terms) - _CHIPS)])
    rest = [f"{_with_outputs(explanation.rest)[place]:+.4g}" for place in places]
    return [Column("largest values", cells), Column(REST, rest)][: 1 + explanation.efficient]


def explanation_notes(explanation: Any) -> list[str]:
    """Return the background and notes, each in a line."""
    about, notes = explanation.about, []
    if about.quantity is not None:
        notes.append(f"of the {about.quantity}{NOISE.get(about.quantity, '')}")
    if about.background_info is not None:
        notes.append(f"background: {about.background_info}")
    if getattr(explanation, "std", None) is not None:
        notes.append(POSTERIOR)
    if not explanation.efficient:
        sums = f"{_noun(explanation)} minus base value"
        notes.append(f"{value_name(explanation)}s do not add up to {sums}")
    return notes + [f"note: {note}" for note in explanation.notes]


def _view(explanation: Any, **shown: Any) -> View:
    """Return size, removal and error bound in a headline, and what is shown below it."""
    stored = ""
    sizes = [len(explanation), len(explanation.feature_names), *explanation.predictions.shape[1:]]
    if _is_sparse(explanation):
        values = explanation.with_output_axis[0][0]
        stored = f"{values.nnz / max(1, len(explanation)):.1f} stored per row"
    headline = title_of(
        type(explanation).__name__,
        " x ".join(map(pluralise, sizes, ("sample", "feature", "output"))),
        stored,
        "" if explanation.index == "SV" else f"{value_name(explanation)}s",
        explanation.removal,
        describe_error(explanation, explanation.error_bound),
    )
    what = classes.describe_output(explanation)
    return View(headline, [] if what is None else [what], explanation_notes(explanation), **shown)


def _largest(explanation: Any, place: Place) -> list[Term]:
    """Return the values of a row, the largest first."""
    row, output = place
    if _is_sparse(explanation):
        features, phi = stored_entries(explanation.with_output_axis[0][output], row)
    else:
        phi = explanation.with_output_axis()[0][row, :, output]
        features = np.arange(len(phi))
    names, order = explanation.feature_names, rank_by_size(np.abs(phi))
    return [(names[features[i]], float(phi[i]), _spread(explanation, place, i)) for i in order]


def stored_entries(table: Any, row: int) -> tuple[NDArray[Any], Floats]:
    """Return the columns that a row of a CSR array stores, and what it stores there."""
    here = slice(table.indptr[row], table.indptr[row + 1])
    return table.indices[here], table.data[here]


def _spread(explanation: Any, place: Place, feature: int) -> str:
    """Return the standard deviation of a value, where it is known."""
    if getattr(explanation, "std", None) is None:
        return ""
    row, output = place
    return f" ± {explanation.std[row, feature].reshape(-1)[output]:.2g}"


def _noun(explanation: Any) -> str:
    """Return what is explained: the prediction, or a quantity such as its squared error."""
    return str(explanation.quantity or "prediction")


def _is_sparse(explanation: Any) -> bool:
    return hasattr(explanation, "rest")


def _with_outputs(array: Floats) -> Floats:
    return array if array.ndim == 2 else array[:, np.newaxis]


def _name_of_rest(explanation: Any) -> str:
    return REST[1:-1] if _is_sparse(explanation) else others_name(explanation.feature_names)


def _largest_output(other: NDArray[Any] | None, row: int) -> str:
    """Return the class of the largest output, where it is not the predicted one."""
    return "" if other is None or other[row] is None else f"largest output {other[row]}"
