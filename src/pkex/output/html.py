"""Results in a notebook: tables whose cells are tinted by the size of what they hold.

Tints are transparent and the colour of the text is inherited, so that light and dark pages stay
legible. What comes from the data is text, never markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from pkex._util.cells import name_of_rest
from pkex._util.words import counted, listed
from pkex.models.classes import elsewhere, meaning
from pkex.output import palette
from pkex.output.spread import importance_notes
from pkex.output.text import (
    OUTPUTS,
    attribution_headline,
    headline,
    how_adjusted,
    kernel_text,
    leaves_out,
    more_outputs,
    most_important,
    notes,
    raw_text,
    sensitivity_headline,
    sensitivity_remarks,
    shares,
    verdict,
)

if TYPE_CHECKING:
    from pkex.explain.explainer import Explainer
    from pkex.results.attribution import Attribution
    from pkex.results.explanation import Explanation
    from pkex.results.importance import Importance
    from pkex.results.sensitivity import Sensitivity

__all__ = [
    "attribution_html",
    "cell",
    "explainer_html",
    "explanation_html",
    "importance_html",
    "line",
    "name_cell",
    "page",
    "sensitivity_html",
    "small",
]

_LINES, _FEATURES = 9, 8  # of an explanation
_PLAYERS = 20  # of an attribution or importance
_STYLE = "text-align: right; vertical-align: top; padding: 0.2em 0.6em"
_LEFT = _STYLE.replace("right", "left", 1)


def explanation_html(explanation: Explanation) -> str:
    """Return a table of the first rows and the most important features, each line a sum."""
    values, base, predictions = explanation.with_output_axis()
    n_rows, n_outputs = predictions.shape
    top = most_important(np.abs(values).sum(axis=(0, 2)), _FEATURES)
    others = explanation.efficient and leaves_out(explanation, top)
    n_shown = min(n_rows, max(1, _LINES // n_outputs))
    scale = np.abs(values[:n_shown][:, top]).max(initial=0.0) or 1.0

    predicted, other = explanation.predicted, elsewhere(explanation)
    titles = ["row", *(["predicted"] if predicted is not None else [])]
    titles += [*(["output"] if explanation.outputs else []), "base value"]
    titles += [explanation.feature_names[i] for i in top]
    titles += [*([name_of_rest(explanation.feature_names)] if others else []), "prediction"]
    lines, names = [], explanation[:n_shown].row_names
    for row, output in np.ndindex(n_shown, n_outputs):
        phi = values[row, top, output]
        cells = [cell(names[row])]
        if predicted is not None:
            most = None if other is None else other[row]
            note = f"largest output {most}" if most is not None else ""
            cells.append(cell(str(predicted[row]), note))
        if explanation.outputs:
            cells.append(cell(explanation.outputs[output]))
        cells.append(cell(f"{base[row, output]:.4g}"))
        cells += [
            cell(
                f"{value:+.4g}{_spread(explanation, row, i, output)}",
                raw_text(explanation, row, i),
                value / scale,
            )
            for value, i in zip(phi, top, strict=True)
        ]
        if others:
            rest = predictions[row, output] - base[row, output] - phi.sum()
            cells.append(cell(f"{rest:+.4g}"))
        cells.append(cell(f"<b>{predictions[row, output]:.4g}</b>", markup=True))
        lines.append("".join(cells))
    hidden = n_rows - n_shown
    more = f"and {hidden} more row{'s' if hidden != 1 else ''}" if hidden else ""
    what = meaning(explanation)
    said = "" if what is None else f"<div>{escape(what)}</div>"
    said += small(notes(explanation))
    return page(headline(explanation), said, titles, lines, line(more))


def explainer_html(explainer: Explainer) -> str:
    """Return a table of what was read of a model, and how it will be explained."""
    expansion = explainer.expansion
    parts, names = expansion.parts, explainer.player_names
    merged = len(names) < len(expansion.feature_names)
    made = f" made of {counted(len(expansion.feature_names), 'column')}" if merged else ""
    index = {"SV": "Shapley values", "BV": "Banzhaf values"}.get(explainer.index, explainer.index)
    exact = "to full precision" if explainer.tol is None else f"to {explainer.tol:g}"
    base = np.atleast_1d(explainer.expected_value)
    outputs = expansion.output_names or ()
    facts = {
        "model": explainer.problem.model.title,
        "kernel": "; ".join(map(kernel_text, explainer.problem.kernels)),
        "points": " + ".join(str(part.shape[0]) for part in parts),
        "absent features": f"{explainer.absent} ({explainer.removal} removal)",
        "players": f"{len(names)}{made}: {listed(names)}",
        "outputs": f"{len(base)}: {listed(outputs)}" if len(base) > 1 else "",
        "values": f"{index}, {exact}",
        "base value": ", ".join(f"{value:.4g}" for value in base[:OUTPUTS])
        + (", …" if len(base) > OUTPUTS else ""),
    }
    lines = [name_cell(label) + _text(said) for label, said in facts.items() if said]
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    call = small(["call it with rows to explain: explainer(X)"])
    return (
        '<div style="overflow-x: auto"><div>Explainer</div>'
        f"<table><tbody>{table}</tbody></table>{call}</div>"
    )


def attribution_html(attribution: Attribution) -> str:
    """Return a table of the largest shares, tinted by their size."""
    (_, *titles), *rows = shares(attribution, _PLAYERS)
    shown = attribution.values[attribution.order[:_PLAYERS]]
    scale = np.abs(shown).max(initial=0.0) or 1.0
    lines = [
        "".join([name_cell(name), cell(share, strength=value / scale), *map(cell, rest)])
        for (name, share, *rest), value in zip(rows, shown, strict=True)
    ]
    count = len(attribution.players)
    below = line(f"and {count - _PLAYERS} more; see to_frame()" if count > _PLAYERS else "")
    below += small([*how_adjusted(attribution), *attribution.remarks()])
    said = "".join(f"<div>{escape(sentence)}</div>" for sentence in verdict(attribution))
    said += small([attribution.absent])
    return page(attribution_headline(attribution), said, ["feature", *titles], lines, below)


def importance_html(importance: Importance) -> str:
    """Return a table of the means, tinted by their size."""
    several, count = importance.values.ndim == 2, len(importance.feature_names)
    outputs = importance.outputs[:OUTPUTS] if several else ("mean |value|",)
    tables = (importance.values, importance.standard_errors, importance.centred)
    means, errors, centred = (table.reshape(count, -1)[:, :OUTPUTS] for table in tables)
    scale = means.max(initial=0.0) or 1.0
    titles = ["feature"]
    for output in outputs:
        titles += [output, "centred"] if importance.neutral else [output]
    lines = []
    for player in importance.order[:_PLAYERS]:
        cells = [name_cell(importance.feature_names[player])]
        for mean, error, apart in zip(means[player], errors[player], centred[player], strict=True):
            spread = "" if np.isnan(error) else f" ± {error:.2g}"
            cells.append(cell(f"{mean:.4g}{spread}", strength=mean / scale))
            cells += [cell(f"{apart:.4g}")] if importance.neutral else []
        lines.append("".join(cells))
    title = f"Importance({count} feature{'s' if count != 1 else ''}, mean |value| over rows)"
    more = f"and {count - _PLAYERS} more; see to_frame()" if count > _PLAYERS else ""
    said = [*more_outputs(importance), *importance_notes(importance)]
    return page(title, "", titles, lines, line(more) + small(said))


def sensitivity_html(sensitivity: Sensitivity) -> str:
    """Return a table of the indices, tinted by their size."""
    several, count = sensitivity.shapley.ndim == 2, len(sensitivity.feature_names)
    outputs = sensitivity.outputs if several else ("",)
    kinds = {
        "first order": sensitivity.first_order,
        "Shapley": sensitivity.shapley,
        "total order": sensitivity.total_order,
    }
    tables = {kind: table.reshape(count, -1) for kind, table in kinds.items()}
    titles = ["input"]
    for output in outputs:
        titles += [f"{output} {kind}".strip() for kind in tables]
    lines = []
    for player in sensitivity.order[:_PLAYERS]:
        cells = [name_cell(sensitivity.feature_names[player])]
        for k in range(len(outputs)):
            shown = [table[player, k] for table in tables.values()]
            cells += [cell(f"{share:.4g}", strength=float(np.nan_to_num(share))) for share in shown]
        lines.append("".join(cells))
    more = f"and {count - _PLAYERS} more; see to_frame()" if count > _PLAYERS else ""
    said = small([f"inputs: {sensitivity.inputs}, independent of each other"])
    below = line(more) + small(sensitivity_remarks(sensitivity))
    return page(sensitivity_headline(sensitivity), said, titles, lines, below)


def page(title: str, said: str, titles: list[str], lines: list[str], below: str) -> str:
    """Return a table between a title and what is said below it; `lines` are cells."""
    head = "".join(f'<th style="{_STYLE}">{escape(entry)}</th>' for entry in titles)
    body = "".join(f"<tr>{each}</tr>" for each in lines)
    return (
        f'<div style="overflow-x: auto"><div>{escape(title)}</div>{said}'
        f'<table style="font-variant-numeric: tabular-nums"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{below}</div>"
    )


def line(text: str) -> str:
    """Return a line of text, if there is any."""
    return f"<div>{escape(text)}</div>" if text else ""


def small(lines: Iterable[str]) -> str:
    """Return lines of small text."""
    return "".join(f"<div><small>{escape(each)}</small></div>" for each in lines)


def name_cell(name: str) -> str:
    """Return the first cell of a line."""
    return f'<th style="{_LEFT}">{escape(name)}</th>'


def _text(said: str) -> str:
    return f'<td style="{_LEFT}; max-width: 50em; overflow-wrap: anywhere">{escape(said)}</td>'


def cell(content: str, note: str = "", strength: float = 0.0, *, markup: bool = False) -> str:
    """Return a cell, with a small note below and tinted where `strength` is not 0."""
    tint = ""
    if strength:
        colour = palette.RAISES if strength > 0.0 else palette.LOWERS
        tint = f"; background: {colour.tint(0.4 * min(1.0, abs(strength)))}"
    below = f'<br><small style="opacity: 0.7">{escape(note)}</small>' if note else ""
    shown = content if markup else escape(content)
    return f'<td style="{_STYLE}{tint}">{shown}{below}</td>'


def _spread(explanation: Explanation, row: int, player: int, output: int) -> str:
    """Return the standard deviation of a value, where it is known."""
    if explanation.std is None:
        return ""
    return f" ± {explanation.std[row, player].reshape(-1)[output]:.2g}"
