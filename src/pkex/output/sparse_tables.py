"""Explanations of sparse rows as text, HTML and frames, and as explanations of a few columns."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.extras import optional
from pkex._util.types import Floats
from pkex._util.words import counted
from pkex.models.classes import meaning
from pkex.output import palette
from pkex.output.html import cell, line, page, small
from pkex.results.importance import Importance

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.sparse import SparseExplanation

__all__ = ["REST", "made_dense", "sparse_frame", "sparse_html", "sparse_importance", "sparse_text"]


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


def sparse_importance(explanation: SparseExplanation) -> Importance:
    """See `SparseExplanation.importance`."""
    if not len(explanation):
        raise ValueError("the explanation has no rows, so there is no mean over them.")
    values, rest = explanation.with_output_axis
    found = [_means(one, rest[:, k]) for k, one in enumerate(values)]
    means, errors, centred = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    if not isinstance(explanation.values, tuple):
        means, errors, centred = means[:, 0], errors[:, 0], centred[:, 0]
    kept = np.append(np.unique(values[0].indices), len(explanation.feature_names))
    means, errors, centred = means[kept], errors[kept], centred[kept]
    every = (*explanation.feature_names, REST)
    names = tuple(every[player] for player in kept)
    neutral = explanation.removal == "neutral"
    return Importance(means, errors, names, explanation.outputs, centred, neutral)


def _means(values: Any, rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean absolute values, their standard errors, and the same about the means."""
    n_rows, n_players = values.shape

    def by_player(entries: Floats, of_rest: Any) -> Floats:
        sums = np.bincount(values.indices, entries, n_players)
        return np.append(sums, np.sum(of_rest))

    sizes = np.abs(values.data)
    means = by_player(sizes, np.abs(rest)) / n_rows
    errors = np.full(len(means), np.nan)
    if n_rows > 1:  # of what is stored about the mean, and of zeros
        stored = by_player(np.ones_like(sizes), n_rows)
        gaps = (sizes - means[values.indices]) ** 2
        squares = by_player(gaps, (np.abs(rest) - means[-1]) ** 2) + (n_rows - stored) * means**2
        errors = np.sqrt(squares / (n_rows - 1) / n_rows)
    middle = by_player(values.data, rest) / n_rows
    stored = by_player(np.ones_like(sizes), n_rows)
    centred = by_player(np.abs(values.data - middle[values.indices]), np.abs(rest - middle[-1]))
    centred = (centred + (n_rows - stored) * np.abs(middle)) / n_rows
    return means, errors, centred


def made_dense(explanation: SparseExplanation, max_columns: int | None) -> Explanation:
    """See `SparseExplanation.dense`."""
    from pkex.results.explanation import Explanation

    values, rest = explanation.with_output_axis
    kept = np.unique(np.concatenate([one.indices for one in values]))
    if max_columns is not None and len(kept) > max_columns:
        sums = [np.bincount(v.indices, np.abs(v.data), v.shape[1]) for v in values]
        sizes = np.sum(sums, axis=0)
        kept = np.sort(kept[np.argsort(-sizes[kept], kind="stable")[:max_columns]])
    dense = np.stack([one[:, kept].toarray() for one in values], axis=2)
    others = np.stack([np.asarray(one.sum(axis=1)).ravel() for one in values], axis=1)
    rest = rest + (others - dense.sum(axis=1))
    full = np.concatenate([dense, rest[:, None]], axis=1)
    several = isinstance(explanation.values, tuple)
    columns = [j for player in kept for j in explanation.players[player]]
    place = {column: i for i, column in enumerate(columns)}
    cells = explanation.data[:, columns].toarray() if columns else np.empty((len(rest), 0))
    players = [tuple(place[j] for j in explanation.players[player]) for player in kept]
    return Explanation(
        values=full if several else full[:, :, 0],
        base_values=explanation.base_values,
        predictions=explanation.predictions,
        data=np.column_stack([cells, np.full(len(rest), np.nan)]),
        feature_names=(*(explanation.feature_names[j] for j in kept), REST),
        column_names=(*(explanation.column_names[j] for j in columns), REST),
        players=(*players, (len(columns),)),
        output_names=explanation.output_names,
        rule=explanation.rule,
        rules=explanation.rules,
        residual=explanation.residual,
        removal=explanation.removal,
        absent=explanation.absent,
        error=explanation.error,
        kernels=explanation.kernels,
        classes=explanation.classes,
        sides=explanation.sides,
        number=explanation.number,
        predicted=explanation.predicted,
        index=explanation.index,
        efficient=explanation.efficient,
    )
