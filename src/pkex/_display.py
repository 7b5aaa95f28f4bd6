"""How an `Explanation` looks: in a terminal, where its rows read as sums, and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkex._classes import apart, elsewhere, meaning
from pkex.tables.cells import cell_text, name_of_rest

if TYPE_CHECKING:
    from pkex.explanation import Explanation

__all__ = ["headline", "html_table", "notes", "text"]

Floats = NDArray[np.float64]

_TEXT_LINES, _TEXT_FEATURES = 6, 4
_HTML_LINES, _HTML_FEATURES = 9, 8
_RAISES, _LOWERS = "255, 13, 87", "30, 136, 229"  # red and blue, as in shap's plots
_STYLE = "text-align: right; vertical-align: top; padding: 0.2em 0.6em"


def headline(explanation: Explanation) -> str:
    """Return the size, the kind of removal and how exact the values are, in one line."""
    nouns = ("row", "player", "output")
    shape = " x ".join(
        f"{size} {noun}{'s' if size != 1 else ''}"
        for size, noun in zip(explanation.values.shape, nouns, strict=False)
    )
    rule = explanation.rule
    if explanation.error is not None:
        error = f"error <= {explanation.error.max(initial=0.0):.2g}"
    elif any(used.is_fallback for used in explanation.rules):
        error = "exact up to rounding"
    elif explanation.removal == "neutral":
        error = f"relative error <= {rule.relative_error:.2g}"
    else:
        error = f"error <= {rule.relative_error:.2g} sum|alpha|"
    return (
        f"Explanation({shape}, {explanation.removal} removal, {rule.size}-node {rule.family}, "
        f"{error}, residual {explanation.residual:.1e})"
    )


def notes(explanation: Explanation) -> list[str]:
    """Return what an absent feature is and what to beware of, each in a line."""
    absent, caution = explanation.absent, explanation.caution
    found = [] if absent is None else [f"absent features: {absent}"]
    return found + ([] if caution is None else [f"caution: {caution}"])


def text(explanation: Explanation) -> str:
    """Return the headline, what is absent and, when there are few rows, each of them as a sum."""
    what = meaning(explanation)
    said = [*([] if what is None else [what]), *notes(explanation)]
    lines = [headline(explanation), *(f"  {line}" for line in said)]
    values, base_values, predictions = explanation._with_output_axis()
    if predictions.size > _TEXT_LINES:
        return "\n".join([*lines, *(f"  {note}" for note in _apart(explanation))])
    classes, names = _classes_of(explanation), explanation.row_names
    for row, output in np.ndindex(predictions.shape):
        if classes[row] and predictions.shape[1] > 1 and output == 0:
            lines.append(f"  row {names[row]}: {classes[row]}")
        phi = values[row, :, output]
        base, prediction = base_values[row, output], predictions[row, output]
        top = _most_important(np.abs(phi), _TEXT_FEATURES)
        terms = [(phi[i], explanation.feature_names[i]) for i in top]
        if _leaves_out(explanation, top):
            rest = prediction - base - phi[top].sum()
            terms.append((rest, name_of_rest(explanation.feature_names)))
        total = "".join(
            f" {'-' if value < 0.0 else '+'} {abs(value):.4g} ({name})" for value, name in terms
        )
        name = f", {explanation.outputs[output]}" if explanation.outputs else ""
        own = f" ({classes[row]})" if classes[row] and predictions.shape[1] == 1 else ""
        lines.append(f"  row {names[row]}{own}{name}: {prediction:.4g} = {base:.4g} (base){total}")
    return "\n".join(lines)


def _classes_of(explanation: Explanation) -> list[str]:
    """Return for each row what is said about its class; empty if there is none."""
    predicted, other = explanation.predicted, elsewhere(explanation)
    if predicted is None:
        return [""] * len(explanation)
    largest = [None] * len(predicted) if other is None else other
    return [
        f"predicted {own}{f', largest output {most}' if most is not None else ''}"
        for own, most in zip(predicted, largest, strict=True)
    ]


def _apart(explanation: Explanation) -> list[str]:
    """Return a line about rows whose largest output is not the predicted class, if there are."""
    other = elsewhere(explanation)
    count = 0 if other is None else sum(most is not None for most in other)
    return [apart(count, len(explanation))] if count else []


def html_table(explanation: Explanation) -> str:
    """Return a table of the first rows and the most important features, each line a sum."""
    values, base, predictions = explanation._with_output_axis()
    n_rows, n_outputs = predictions.shape
    top = _most_important(np.abs(values).sum(axis=(0, 2)), _HTML_FEATURES)
    others = _leaves_out(explanation, top)
    n_shown = min(n_rows, max(1, _HTML_LINES // n_outputs))
    scale = np.abs(values[:n_shown][:, top]).max(initial=0.0) or 1.0

    predicted, other = explanation.predicted, elsewhere(explanation)
    titles = ["row", *(["predicted"] if predicted is not None else [])]
    titles += [*(["output"] if explanation.outputs else []), "base value"]
    titles += [explanation.feature_names[i] for i in top]
    titles += [*([name_of_rest(explanation.feature_names)] if others else []), "prediction"]
    lines, names = [], explanation[:n_shown].row_names
    for row, output in np.ndindex(n_shown, n_outputs):
        phi = values[row, top, output]
        cells = [_cell(names[row])]
        if predicted is not None:
            most = None if other is None else other[row]
            note = f"largest output {most}" if most is not None else ""
            cells.append(_cell(str(predicted[row]), note))
        if explanation.outputs:
            cells.append(_cell(explanation.outputs[output]))
        cells.append(_cell(f"{base[row, output]:.4g}"))
        cells += [
            _cell(f"{value:+.4g}", _raw(explanation, row, i), value / scale)
            for value, i in zip(phi, top, strict=True)
        ]
        if others:
            rest = predictions[row, output] - base[row, output] - phi.sum()
            cells.append(_cell(f"{rest:+.4g}"))
        cells.append(_cell(f"<b>{predictions[row, output]:.4g}</b>", markup=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    hidden = n_rows - n_shown
    note = f"<div>and {hidden} more row{'s' if hidden != 1 else ''}</div>" if hidden else ""
    what = meaning(explanation)
    said = "" if what is None else f"<div>{escape(what)}</div>"
    said += "".join(f"<div><small>{escape(line)}</small></div>" for line in notes(explanation))
    head = "".join(f'<th style="{_STYLE}">{escape(title)}</th>' for title in titles)
    return (
        f'<div style="overflow-x: auto"><div>{escape(headline(explanation))}</div>{said}'
        f'<table style="font-variant-numeric: tabular-nums"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>{note}</div>"
    )


def _cell(content: str, note: str = "", strength: float = 0.0, *, markup: bool = False) -> str:
    """Return a cell, with a small note below and tinted where `strength` is not 0.

    The tint is transparent and the colour of the text inherited, so that both light and dark pages
    stay legible.
    """
    tint = ""
    if strength:
        colour = _RAISES if strength > 0.0 else _LOWERS
        tint = f"; background: rgba({colour}, {0.35 * min(1.0, abs(strength)):.2f})"
    below = f'<br><small style="opacity: 0.7">{escape(note)}</small>' if note else ""
    shown = content if markup else escape(content)
    return f'<td style="{_STYLE}{tint}">{shown}{below}</td>'


def _raw(explanation: Explanation, row: int, player: int) -> str:
    """Return the raw values of a player's columns, each cut to a readable length."""
    texts = [cell_text(explanation.data[row, column]) for column in explanation.players[player]]
    return ", ".join(entry if len(entry) <= 24 else entry[:23] + "…" for entry in texts[:3]) + (
        ", …" if len(texts) > 3 else ""
    )


def _most_important(size: Floats, count: int) -> NDArray[np.intp]:
    return np.argsort(-size, kind="stable")[:count]


def _leaves_out(explanation: Explanation, shown: Sequence[int] | NDArray[np.intp]) -> bool:
    """Tell whether the features shown are not all that the prediction is made of."""
    return len(shown) < len(explanation.feature_names) or not explanation.complete
