"""Explanations of sparse rows as text, HTML and frames."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import optional
from pkex._util.words import counted
from pkex.models.classes import meaning
from pkex.output import palette
from pkex.output.html import cell, line, page, small

if TYPE_CHECKING:
    from pkex.results.sparse import SparseExplanation

__all__ = ["REST", "sparse_frame", "sparse_html", "sparse_text"]


REST = "(all other columns)"
_LINES, _FEATURES = 6, 4  # of the text
_ROWS, _SHOWN = 8, 10  # of the table
_LETTERS = 60  # of a text in the table


def _headline(explanation: SparseExplanation) -> str:
    """Return the size, the kind of removal and how exact the values are, in one line."""
    values, _ = explanation.with_output_axis
    stored = values[0].nnz / max(1, len(explanation))
    several = f" x {counted(len(values), 'output')}" if len(values) > 1 else ""
    index = "" if explanation.index == "SV" else f"{explanation.index} values, "
    error = "" if explanation.error is None else f", error <= {explanation.error.max():.2g}"
    residual = f", residual {explanation.residual:.1e}" if explanation.efficient else ""
    return (
        f"SparseExplanation({counted(len(explanation), 'row')} x "
        f"{counted(len(explanation.feature_names), 'player')}{several}, {stored:.1f} stored a row, "
        f"{index}{explanation.removal} removal{error}{residual})"
    )


def _notes(explanation: SparseExplanation) -> list[str]:
    found = [] if explanation.absent is None else [f"absent features: {explanation.absent}"]
    if not explanation.efficient:
        found.append(f"{explanation.index} values do not add up to the prediction")
    if explanation.caution is not None:
        found.append(f"note: {explanation.caution}")
    return found


def _largest(explanation: SparseExplanation, row: int, output: int) -> list[tuple[str, float]]:
    """Return the values of a row with their names, the largest first."""
    values = explanation.with_output_axis[0][output]
    here = slice(values.indptr[row], values.indptr[row + 1])
    order = np.argsort(-np.abs(values.data[here]), kind="stable")
    names = explanation.feature_names
    players, phi = values.indices[here], values.data[here]
    return [(names[players[i]], float(phi[i])) for i in order]


def sparse_text(explanation: SparseExplanation) -> str:
    """Return what a terminal shows: rows as sums of their largest values."""
    what = meaning(explanation)  # type: ignore[arg-type]
    said = [*([] if what is None else [what]), *_notes(explanation)]
    lines = [_headline(explanation), *(f"  {note}" for note in said)]
    own = explanation.predicted
    outputs = explanation.outputs if isinstance(explanation.values, tuple) else ("",)
    _, rest = explanation.with_output_axis
    base = explanation.base_values.reshape(rest.shape)
    predictions = explanation.predictions.reshape(rest.shape)
    pairs = list(np.ndindex(rest.shape))
    for row, k in pairs[:_LINES]:
        found = _largest(explanation, row, k)
        shown = found[:_FEATURES]
        if len(found) > _FEATURES:
            others = sum(value for _, value in found[_FEATURES:])
            shown.append((f"{len(found) - _FEATURES} more", others))
        if explanation.efficient:
            shown.append((REST[1:-1], float(rest[row, k])))
        terms = " ".join(f"{'-' if v < 0 else '+'} {abs(v):.4g} ({n})" for n, v in shown)
        title = f"row {row}" + (f", {outputs[k]}" if outputs[k] else "")
        title += "" if own is None else f" (predicted {own[row]})"
        sign = "=" if explanation.efficient else "; from"
        lines.append(
            f"  {title}: {predictions[row, k]:.4g} {sign} {base[row, k]:.4g} (base) {terms}"
        )
    if len(pairs) > _LINES:
        lines.append(f"  and {len(pairs) - _LINES} more")
    return "\n".join(lines)


def sparse_html(explanation: SparseExplanation) -> str:
    """Return a table of the first rows, each with its largest values, tinted by their size."""
    values, rest = explanation.with_output_axis
    base = explanation.base_values.reshape(rest.shape)
    predictions = explanation.predictions.reshape(rest.shape)
    texts, several = explanation.texts, isinstance(explanation.values, tuple)
    n_shown = min(len(explanation), max(1, _ROWS // rest.shape[1]))
    scale = max((float(np.abs(v[:n_shown].data).max(initial=0.0)) for v in values), default=0.0)
    titles = ["row", *(["text"] if texts else [])]
    titles += [*(["predicted"] if explanation.predicted is not None else [])]
    titles += [*(["output"] if several else [])]
    titles += ["base value", "largest values"]
    titles += [*([REST] if explanation.efficient else []), "prediction"]
    lines = []
    for row, k in np.ndindex(n_shown, rest.shape[1]):
        cells = [cell(str(row))]
        if texts:
            cells.append(cell(_short(texts[row])))
        if explanation.predicted is not None:
            cells.append(cell(str(explanation.predicted[row])))
        if several:
            cells.append(cell(explanation.outputs[k]))
        cells.append(cell(f"{base[row, k]:.4g}"))
        found = _largest(explanation, row, k)
        chips = " ".join(_chip(name, value, scale or 1.0) for name, value in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        cells.append(cell(f'<div style="text-align: left">{chips}{more}</div>', markup=True))
        if explanation.efficient:
            cells.append(cell(f"{rest[row, k]:+.4g}"))
        cells.append(cell(f"<b>{predictions[row, k]:.4g}</b>", markup=True))
        lines.append("".join(cells))
    hidden = len(explanation) - n_shown
    what = meaning(explanation)  # type: ignore[arg-type]
    said = "" if what is None else f"<div>{escape(what)}</div>"
    said += small(_notes(explanation))
    more = f"and {counted(hidden, 'more row')}" if hidden else ""
    return page(_headline(explanation), said, titles, lines, line(more))


def _chip(name: str, value: float, scale: float) -> str:
    shade = palette.RAISES if value > 0.0 else palette.LOWERS
    tint = shade.tint(0.5 * min(1.0, abs(value) / scale))
    style = f"background: {tint}; padding: 0 0.3em; border-radius: 0.2em; white-space: nowrap"
    return f'<span style="{style}">{escape(name)} {value:+.3g}</span>'


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def sparse_frame(explanation: SparseExplanation) -> Any:
    """See `SparseExplanation.to_frame`."""
    pandas = optional("pandas", "pandas")
    values, data = explanation.values, explanation.data
    lines = []
    for row in range(len(explanation)):
        here = slice(values.indptr[row], values.indptr[row + 1])
        stored = slice(data.indptr[row], data.indptr[row + 1])
        cells = dict(zip(data.indices[stored].tolist(), data.data[stored].tolist(), strict=True))
        phi, players = values.data[here], values.indices[here]
        for i in np.argsort(-np.abs(phi), kind="stable"):
            columns = explanation.players[players[i]]
            cell = cells.get(columns[0], 0.0) if len(columns) == 1 else np.nan
            lines.append((row, explanation.feature_names[players[i]], cell, phi[i]))
        lines.append((row, REST, np.nan, explanation.rest[row]))
    return pandas.DataFrame(lines, columns=["row", "feature", "data", "value"])
