"""Views in a notebook: tables whose cells are tinted by the size of what they hold.

Tints are transparent and the colour of the text is inherited, so that light and dark pages stay
legible. What comes from the data is text, never markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from pkex._util.words import join_names, pluralise
from pkex.output import palette
from pkex.output.text import describe_groups, kernel_text
from pkex.output.view import OUTPUTS, Chip, Column, TableView, View

if TYPE_CHECKING:
    from pkex.explain.explainer import Explainer

__all__ = ["LINES", "draw", "explainer_html"]

LINES = 20  # of a table
_STYLE = "text-align: right; vertical-align: top; padding: 0.2em 0.6em"
_LEFT = _STYLE.replace("right", "left", 1)
_WRAPPED = f"{_LEFT}; max-width: 50em; overflow-wrap: anywhere"  # text without a title


def draw(view: View) -> str:
    """Return a view as a table between its headline and what is said below it.

    The tables of several outputs stand side by side.
    """
    first = view.tables[0]
    titles = [first.noun, *(title for table in view.tables for title in table.titles)]
    head = "".join(f'<th style="{_STYLE}">{escape(title)}</th>' for title in titles)
    columns = [column for table in view.tables for column in table.columns]
    names = [f'<th style="{_LEFT}">{escape(name)}</th>' for name in first.names]
    if first.noun == "row":  # whose names are numbers, as a rule
        columns.insert(0, Column("row", first.names))
        names = [""] * len(first.names)
    body = "".join(
        f"<tr>{name}{''.join(_cell(column, line) for column in columns)}</tr>"
        for line, name in enumerate(names)
    )
    return (
        f'<div style="overflow-x: auto">{_lines([view.headline, *view.lead])}{_small(view.notes)}'
        f'<table style="font-variant-numeric: tabular-nums"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{_lines([view.more] if view.more else [])}"
        f"{_small(view.remarks)}</div>"
    )


def explainer_html(explainer: Explainer) -> str:
    """Return a table of the model that was converted, and how it will be explained."""
    expansion = explainer.expansion
    parts, names = expansion.parts, explainer.feature_names
    merged = len(names) < len(expansion.feature_names)
    columns = f" made of {pluralise(len(expansion.feature_names), 'column')}" if merged else ""
    titles = {"SV": "Shapley values", "BV": "Banzhaf values"}
    index = titles.get(explainer.index, f"{explainer.index} values")
    exact = "to full precision" if explainer.tol is None else f"to {explainer.tol:g}"
    base = np.atleast_1d(explainer.expected_value)
    outputs = expansion.output_names or ()
    facts = {
        "model": explainer.problem.model.title,
        "kernel": "; ".join(map(kernel_text, explainer.problem.kernels)),
        "points": " + ".join(str(part.shape[0]) for part in parts),
        "removal": str(explainer.removal),
        "background": str(explainer.background_info or ""),
        "features": f"{len(names)}{columns}: {join_names(names)}",
        "outputs": f"{len(base)}: {join_names(outputs)}" if len(base) > 1 else "",
        "hierarchy": describe_groups(explainer) or "",
        "values": f"{index}, {exact}",
        "base value": ", ".join(f"{value:.4g}" for value in base[:OUTPUTS])
        + (", …" if len(base) > OUTPUTS else ""),
    }
    facts = {label: fact for label, fact in facts.items() if fact}
    table = TableView("", list(facts), [Column("", list(facts.values()))])
    return draw(
        View("Explainer", tables=[table], remarks=["call it with rows to explain: explainer(X)"])
    )


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"<div>{escape(line)}</div>" for line in lines)


def _small(lines: Iterable[str]) -> str:
    return "".join(f"<div><small>{escape(line)}</small></div>" for line in lines)


def _cell(column: Column, line: int) -> str:
    """Return a cell, with a small note below and tinted where its strength is not 0."""
    content, strength = column.cells[line], column.strengths[line] if column.strengths else 0.0
    tint = f"; background: {_tint(strength, 0.4)}" if strength else ""
    note = column.notes[line] if column.notes else ""
    below = f'<br><small style="opacity: 0.7">{escape(note)}</small>' if note else ""
    if isinstance(content, str):
        spread = column.spreads[line] if column.spreads else ""
        shown = escape(f"{content} {spread}" if spread else content)
    else:
        shown = f'<div style="text-align: left">{" ".join(map(_chip, content))}</div>'
    shown = f"<b>{shown}</b>" if column.bold else shown
    style = f"{_STYLE}{tint}" if column.title else _WRAPPED
    return f'<td style="{style}">{shown}{below}</td>'


def _chip(chip: Chip | str) -> str:
    """Return a named number, tinted; or what is said of more of them."""
    if isinstance(chip, str):
        return escape(chip)
    tint = _tint(chip.strength, 0.5)
    style = f"background: {tint}; padding: 0 0.3em; border-radius: 0.2em; white-space: nowrap"
    return f'<span style="{style}">{escape(chip.name)} {chip.value:+.3g}</span>'


def _tint(strength: float, most: float) -> str:
    colour = palette.RAISES if strength > 0.0 else palette.LOWERS
    return colour.tint(most * min(1.0, abs(strength)))
