"""The view of a change: the verdict, the differences of means, and the features that changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pkex._util.types import Floats
from pkex._util.words import join_names, pluralise
from pkex.output.text import align_numbers
from pkex.output.view import OUTPUTS, Column, TableView, View, more, number_column, title_of

if TYPE_CHECKING:
    from pkex.results.change import Change

__all__ = ["change", "change_remarks", "change_tables", "column_notes", "difference", "sentences"]

_ADJUSTED = "p-values adjusted for all tests (step-down maximum, {count} permutations)"
_COLUMNS = (
    "This does not mean that their columns changed: contributions also change by interactions "
    "with other columns{target}. pkex.mmd compares columns."
)
_TARGET = ", those to the error with the target"


def change(result: Change, count: int, n_outputs: int | None = None) -> View:
    """Return the verdict, the background, a table for each output, and notes."""
    n_features = len(result.feature_names)
    tables = change_tables(result, count)
    hidden = more(n_features - count, where="to_frame()")
    if n_outputs is not None and (hidden or len(tables) > n_outputs):
        hidden = "and more; see to_frame()"
    return View(
        title_of(
            "Change",
            f"{' + '.join(map(str, result.n_rows))} rows",
            pluralise(n_features, "feature"),
            "" if result.error_bound is None else f"error bound {result.error_bound:.1g}",
        ),
        lead=sentences(result, result.alpha),
        notes=[f"background: {result.about.background_info}"],
        tables=tables[:n_outputs],
        more=hidden,
        remarks=change_remarks(result, result.alpha),
    )


def sentences(result: Change, alpha: float) -> tuple[str, ...]:
    """Return the sentences of the verdict."""
    detected, lines = result.detected(alpha), []
    if detected is not None:
        start = "Change detected" if detected else "No change detected"
        lines.append(f"{start}, p = {result.p_value:.3g} (alpha = {alpha:g}).")
    n_outputs = len(result.output_names) or 1
    shown = [*range(n_outputs - result.has_loss)][:OUTPUTS]
    lines += [difference(result, k) for k in shown]
    if result.has_loss:
        lines.append(f"{difference(result, n_outputs - 1)} {_base_sentence(result)}")
    if detected:
        names = result.significant(alpha) if shown else ()
        losses = result.significant(alpha, output=n_outputs - 1) if result.has_loss else ()
        if names:
            lines.append(f"Features whose contribution changed: {join_names(names)}.")
        if losses:
            lines.append(f"Features whose contribution to the error changed: {join_names(losses)}.")
        if not (names or losses):
            lines.append("No single feature is significant.")
        lines += column_notes(result, alpha)
    return tuple(lines)


def column_notes(result: Change, alpha: float) -> list[str]:
    """Return that columns need not have changed, where features are named."""
    losses = result.has_loss and result.significant(alpha, output=len(result.output_names) - 1)
    if len(result.feature_names) == 1 or not (losses or result.significant(alpha)):
        return []
    return [_COLUMNS.format(target=_TARGET if losses else "")]


def difference(result: Change, k: int, *, tested: bool = True) -> str:
    """Return the means of an output in both tables, and their difference."""
    loss = result.has_loss and k == len(result.output_names) - 1
    several = len(result.output_names) - result.has_loss > 1
    what = f"Mean prediction{f' of {result.output_names[k]}' if several else ''}"
    what = "Mean squared error" if loss else what
    before, after = (
        float(np.ravel(part)[k]) for part in (result.totals_before, result.totals_after)
    )
    p_values = _format_tests(result.p_totals, k) if tested else ""
    means = f"{before:.4g} before, {after:.4g} after"
    return f"{what}: {means}, difference {after - before:+.4g}{p_values}."


def _base_sentence(result: Change) -> str:
    return (
        f"Not explained by any feature: {result.base_loss:+.4g}{_format_tests(result.p_bases, -1)}."
    )


def _format_tests(p_values: Floats | None, k: int) -> str:
    """Return the p-values of both tests of an output, if there are any."""
    if p_values is None:
        return ""
    mean, distribution = p_values.reshape(2, -1)[:, k]
    return f" (p = {mean:.3g}, of the distribution {distribution:.3g})"


def change_tables(result: Change, count: int) -> list[TableView]:
    """Return the largest changes of each output."""
    order, n_features = result.ranking[:count], len(result.feature_names)
    names = [result.feature_names[i] for i in order]
    outputs: Sequence[str] = result.output_names or ("",)

    def part(array: Floats, k: int) -> Floats:
        column: Floats = array.reshape(n_features, -1)[order, k]
        return column

    tables = []
    for k, output in enumerate(outputs):
        shown = part(result.differences, k)
        scale = np.abs(shown).max(initial=0.0) or 1.0
        columns = [
            Column("before", align_numbers(part(result.means_before, k))),
            Column("after", align_numbers(part(result.means_after, k))),
            Column("contribution", align_numbers(shown), strengths=(shown / scale).tolist()),
        ]
        if result.p_features is not None:
            for title, p_values in zip(("mean", "distribution"), result.p_features, strict=True):
                columns.append(number_column(f"p ({title})", part(p_values, k), ".2g"))
        several = len(outputs) > 1
        tables.append(TableView("feature", names, columns, output if several else "", output))
    return tables


def change_remarks(result: Change, alpha: float) -> list[str]:
    """Return how p-values are adjusted, whether there are enough of them, and notes."""
    if not result.n_permutations:
        return ["no p-values; pass n_permutations=999", *result.notes]
    remarks = [_ADJUSTED.format(count=result.n_permutations)]
    before, after = result.n_rows
    labellings = math.comb(before + after, before) // (2 if before == after else 1)
    for least, what in (
        (1.0 / labellings, f"{before} + {after} rows"),
        (1.0 / (result.n_permutations + 1), f"{result.n_permutations} permutations"),
    ):
        if least > alpha:
            remarks.append(f"With {what} no p-value is below about {least:.2g}, however clear.")
            break
    return remarks + result.notes
