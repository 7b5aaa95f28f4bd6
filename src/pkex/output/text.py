"""Results as text: what a terminal shows, and the words that tables and reports have in common.

The rows of an explanation read as sums. The shares of an attribution are a table, followed by
remarks on how to read it; so are the means of an importance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import cell_text, name_of_rest
from pkex._util.p_values import lowest_adjusted, needed_permutations
from pkex._util.types import Floats
from pkex._util.words import NOISE, counted
from pkex.models.classes import apart, elsewhere, meaning
from pkex.output.spread import POSTERIOR, importance_notes

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution
    from pkex.results.explanation import Explanation
    from pkex.results.importance import Importance
    from pkex.results.sensitivity import Sensitivity

__all__ = [
    "OUTPUTS",
    "aligned",
    "attribution_headline",
    "attribution_text",
    "counted_rest",
    "explanation_text",
    "headline",
    "how_adjusted",
    "importance_text",
    "kernel_text",
    "leaves_out",
    "more_outputs",
    "most_important",
    "notes",
    "raw_text",
    "remarks",
    "sensitivity_headline",
    "sensitivity_remarks",
    "sensitivity_text",
    "shares",
    "verdict",
]


_LINES, _FEATURES = 6, 4  # of an explanation
_PLAYERS = 8  # of an attribution
OUTPUTS = 3  # of an importance
_NAMES = 5  # players named in a remark
_CLEARLY = 0.1  # p-value above which nothing is there
_OUTPUTS = 4  # of a sensitivity
_WORDS = {
    "MMD^2": {
        "neutral": "Neutral removal charges a column for being looked at: one that did not change "
        "has a share below 0 when others changed; removal='marginal' averages absent columns out.",
        "involved": "a share, but no change alone: involved, as the relation to other columns "
        "changed.",
        "weak": "a share, and alone too little to tell: a weak change, or one of the relation to "
        "other columns.",
        "negative": "a change alone, but a share below 0: the other columns show more without it.",
        "diluted": "MMD² of all features together is not significant (p = {:.3g}): one change "
        "among many features is diluted. {} has the smallest univariate p-value.",
    },
    "HSIC": {
        "neutral": "Neutral removal charges a column for being looked at: one that the target does "
        "not depend on has a share below 0 when there are others; removal='marginal' averages "
        "absent columns out.",
        "involved": "a share, but no dependence alone: involved, as the target depends on it "
        "together with other columns.",
        "weak": "a share, and alone too little to tell: a weak dependence, or one together with "
        "other columns.",
        "negative": "a dependence alone, but a share below 0: the other columns show more without "
        "it.",
        "diluted": "HSIC of all features together is not significant (p = {:.3g}): one dependence "
        "among many features is diluted. {} has the smallest univariate p-value.",
    },
}


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
    index = "" if explanation.index == "SV" else f"{explanation.index} values, "
    residual = f", residual {explanation.residual:.1e}" if explanation.efficient else ""
    return (
        f"Explanation({shape}, {index}{explanation.removal} removal, {rule.size}-node "
        f"{rule.family}, {error}{residual})"
    )


def notes(explanation: Explanation) -> list[str]:
    """Return what an absent feature is and what to beware of, each in a line."""
    absent, caution = explanation.absent, explanation.caution
    found = [] if absent is None else [f"absent features: {absent}"]
    if explanation.quantity is not None:
        found.insert(0, f"of the {explanation.quantity}{NOISE.get(explanation.quantity, '')}")
    if explanation.std is not None:
        found.append(f"{POSTERIOR} of the value")
    if not explanation.efficient:
        found.append(f"{explanation.index} values do not add up to prediction minus base value")
    return found + ([] if caution is None else [f"caution: {caution}"])


def explanation_text(explanation: Explanation) -> str:
    """Return the headline, what is absent and, when there are few rows, each of them as a sum."""
    what = meaning(explanation)
    said = [*([] if what is None else [what]), *notes(explanation)]
    lines = [headline(explanation), *(f"  {line}" for line in said)]
    values, base_values, predictions = explanation.with_output_axis()
    if predictions.size > _LINES:
        return "\n".join([*lines, *(f"  {note}" for note in _apart(explanation))])
    classes, names = _classes_of(explanation), explanation.row_names
    for row, output in np.ndindex(predictions.shape):
        if classes[row] and predictions.shape[1] > 1 and output == 0:
            lines.append(f"  row {names[row]}: {classes[row]}")
        phi = values[row, :, output]
        base, prediction = base_values[row, output], predictions[row, output]
        top = most_important(np.abs(phi), _FEATURES)
        terms = [(phi[i], explanation.feature_names[i]) for i in top]
        spread = _spreads(explanation, row, output)
        if explanation.efficient and leaves_out(explanation, top):
            rest = prediction - base - phi[top].sum()
            terms.append((rest, name_of_rest(explanation.feature_names)))
        total = "".join(
            f" {'-' if value < 0.0 else '+'} {abs(value):.4g}{spread.get(name, '')} ({name})"
            for value, name in terms
        )
        name = f", {explanation.outputs[output]}" if explanation.outputs else ""
        own = f" ({classes[row]})" if classes[row] and predictions.shape[1] == 1 else ""
        start = f"  row {names[row]}{own}{name}: {prediction:.4g}"
        if explanation.efficient:
            lines.append(f"{start} = {base:.4g} (base){total}")
        else:  # which is no equation
            each = ", ".join(f"{name} {value:+.4g}{spread.get(name, '')}" for value, name in terms)
            lines.append(f"{start} (prediction); {each}")
    return "\n".join(lines)


def _spreads(explanation: Explanation, row: int, output: int) -> dict[str, str]:
    """Return for each feature the standard deviation of its value, where there is one."""
    if explanation.std is None:
        return {}
    stds = explanation.std[row].reshape(len(explanation.players), -1)[:, output]
    pairs = zip(explanation.feature_names, stds, strict=True)
    return {name: f" ± {std:.2g}" for name, std in pairs}


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


def most_important(size: Floats, count: int) -> NDArray[np.intp]:
    """Return the players of the largest sizes, the largest first."""
    return np.argsort(-size, kind="stable")[:count]


def leaves_out(explanation: Explanation, shown: Sequence[int] | NDArray[np.intp]) -> bool:
    """Tell whether the features shown are not all that the prediction is made of."""
    return len(shown) < len(explanation.feature_names) or not explanation.complete


def kernel_text(kernel: object) -> str:
    """Return a kernel with six digits of each number.

    Examples
    --------
    >>> import pkex
    >>> kernel_text(pkex.kernels.RBF(282.17182478057583))
    'RBF(length_scale=282.172)'
    """
    return re.sub(r"\d+\.\d+(e[-+]\d+)?", lambda found: f"{float(found[0]):.6g}", str(kernel))


def counted_rest(explanation: Explanation, shown: int) -> str:
    """Return what to call the sum of all features but those shown."""
    left = len(explanation.feature_names) - shown
    if not explanation.complete:
        return "features that were not selected" if not left else "all other features"
    return counted(left, "other feature")


def raw_text(explanation: Explanation, row: int, player: int) -> str:
    """Return the raw values of a player's columns, each cut to a readable length."""
    texts = [cell_text(explanation.data[row, column]) for column in explanation.players[player]]
    return ", ".join(entry if len(entry) <= 24 else entry[:23] + "…" for entry in texts[:3]) + (
        ", …" if len(texts) > 3 else ""
    )


def aligned(numbers: Any) -> list[str]:
    """Return signed numbers of a column with the same number of decimals.

    Examples
    --------
    >>> aligned([12.345, -0.5])
    ['+12.35', '-0.50']
    """
    largest = max(map(abs, numbers), default=0.0)
    if largest == 0.0:
        return ["+0"] * len(numbers)
    if not 1e-4 <= largest < 1e6:
        return [f"{number:+.3e}" for number in numbers]
    decimals = max(0, 3 - math.floor(math.log10(largest)))
    return [f"{number:+.{decimals}f}" for number in numbers]


def attribution_headline(attribution: Attribution) -> str:
    """Return the statistic, how it was estimated and from how many rows, in one line."""
    facts = [
        f"{attribution.statistic} = {attribution.total:.4g}",
        attribution.estimator,
        f"{' + '.join(map(str, attribution.n_rows))} rows",
        counted(len(attribution.players), "feature"),
    ]
    if attribution.standard_error is not None:
        facts[0] += f" ± {attribution.standard_error:.2g}"
    if attribution.error is not None:
        facts.append(f"error <= {attribution.error:.2g}")
    return f"Attribution({', '.join(facts)})"


def attribution_text(attribution: Attribution) -> str:
    """Return the headline, the verdict, what is absent, the largest shares and remarks."""
    cells = shares(attribution, _PLAYERS)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [attribution_headline(attribution)]
    lines += [f"  {said}" for said in [*verdict(attribution), attribution.absent]]
    for line in cells:
        padded = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        lines.append(f"  {'  '.join(padded)}".rstrip())
    count = len(attribution.players)
    if count > _PLAYERS:
        lines.append(f"  and {count - _PLAYERS} more; see to_frame()")
    said = [*how_adjusted(attribution), *attribution.remarks()]
    return "\n".join(lines + [f"  {sentence}" for sentence in said])


def verdict(attribution: Attribution) -> tuple[str, ...]:
    """Return the sentences of the verdict; none without permutations."""
    return attribution.sentences(attribution.alpha) if attribution.n_permutations else ()


def how_adjusted(attribution: Attribution) -> list[str]:
    """Return a sentence about the p-values of players, if there are several or none."""
    count = len(attribution.players)
    if attribution.p_values is None:
        return ["no p-values; pass n_permutations=999"]
    return [f"p-values of features adjusted by Holm for {count} features"] if count > 1 else []


def shares(attribution: Attribution, count: int) -> list[list[str]]:
    """Return a table of the largest shares, its heading first.

    What a player does alone has a column where it was tested, as that is known without computing.
    """
    shown = attribution.order[:count]
    by_itself = None if attribution.p_alone is None else attribution.alone
    columns: list[tuple[str, Floats | None, str]] = [
        ("share", attribution.values, "+.4g"),
        ("p", attribution.p_holm, ".2g"),
        ("alone", by_itself, "+.4g"),
        ("p", attribution.p_alone_holm, ".2g"),
    ]
    known = [(title, column, style) for title, column, style in columns if column is not None]
    heading = ["", *(title for title, _, _ in known)]
    return [
        heading,
        *(
            [attribution.feature_names[i], *(f"{column[i]:{style}}" for _, column, style in known)]
            for i in shown
        ),
    ]


def remarks(attribution: Attribution, alpha: float) -> list[str]:
    """See `Attribution.remarks`."""
    words, removal = _WORDS[attribution.statistic], attribution.removal
    found = [words["neutral"]] if removal == "neutral" else []
    p_share, p_alone = attribution.p_holm, attribution.p_alone_holm
    count, permutations = len(attribution.players), attribution.n_permutations
    lowest = lowest_adjusted(count, permutations)
    relabellings = attribution.n_relabellings
    if p_share is not None and lowest_adjusted(count, relabellings - 1) > alpha:
        rows = " + ".join(map(str, attribution.n_rows))
        found.append(
            f"With {rows} rows no adjusted p-value of {counted(count, 'feature')} is below "
            f"{lowest_adjusted(count, relabellings - 1):.2g}, however clear the case."
        )
    elif p_share is not None and lowest > alpha:
        found.append(
            f"With {permutations} permutations no adjusted p-value of {counted(count, 'feature')} "
            f"is below {lowest:.2g}, however clear the case: take "
            f"{needed_permutations(count, alpha)} or more."
        )
    if attribution.detected(alpha) and p_share is not None and p_alone is not None:
        plain, overall = np.asarray(attribution.p_alone), attribution.p_statistic
        if overall is not None and overall > alpha:
            least = attribution.feature_names[int(plain.argmin())]
            found.append(words["diluted"].format(overall, least))
        share, alone = p_share <= alpha, p_alone <= alpha
        for chosen, sentence in (
            (share & ~alone & (plain > _CLEARLY), words["involved"]),
            (share & ~alone & (plain <= _CLEARLY), words["weak"]),
            (alone & (attribution.values < 0.0), words["negative"]),
        ):
            if removal == "marginal" and chosen.any():
                found.append(f"{_listed(attribution, chosen)}: {sentence}")
    tested, n_rows = attribution.n_test_rows, sum(attribution.n_rows)
    if tested is not None and tested < n_rows:
        found.append(f"Columns were permuted alone on {tested} of {n_rows} rows.")
    return found


def _listed(attribution: Attribution, chosen: NDArray[np.bool_]) -> str:
    names = [attribution.feature_names[i] for i in attribution.order if chosen[i]]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def importance_text(importance: Importance) -> str:
    """Return the means with their standard errors, the largest first, of the first outputs."""
    names, neutral = importance.feature_names, importance.neutral
    width = max(map(len, names))
    outputs = importance.outputs if importance.values.ndim == 2 else ("mean |value|",)
    known = not np.isnan(importance.standard_errors).all()
    extra = f"{'centred':>13}" if neutral else ""
    lines = [" " * width + "".join(f"  {name:>20}{extra}" for name in outputs[:OUTPUTS])]
    tables = (importance.values, importance.standard_errors, importance.centred)
    columns, errors, centred = (table.reshape(len(names), -1)[:, :OUTPUTS] for table in tables)
    for player in importance.order:
        cells = zip(columns[player], errors[player], centred[player], strict=True)
        shown = "".join(
            f"  {value:>11.4g} {f'± {error:<6.2g}' if known else '':<8}"
            + (f"{alone:>13.4g}" if neutral else "")
            for value, error, alone in cells
        )
        lines.append(f"{names[player]:<{width}}{shown}".rstrip())
    return "\n".join([*lines, *more_outputs(importance), *importance_notes(importance)])


def more_outputs(importance: Importance) -> list[str]:
    """Return a line about the outputs that are not shown, if there are."""
    count = len(importance.outputs) - OUTPUTS
    several = importance.values.ndim == 2 and count > 0
    return [f"and {counted(count, 'more output')}; see to_frame()"] if several else []


def sensitivity_headline(sensitivity: Sensitivity) -> str:
    """Return how many inputs there are and what the variance is, in one line."""
    count = len(sensitivity.players)
    facts = [f"{count} input{'s' if count != 1 else ''}"]
    if sensitivity.shapley.ndim == 1:
        facts.append(f"variance {float(sensitivity.variance):.4g}")
    else:
        facts.append(f"{sensitivity.shapley.shape[1]} outputs")
    return f"Sensitivity({', '.join(facts)})"


def sensitivity_remarks(sensitivity: Sensitivity) -> list[str]:
    """Return of what, what is left to interactions, and what to beware of, each in a line."""
    number = sensitivity.number
    found = [] if number is None else [f"output: {number}"]
    if sensitivity.shapley.ndim == 1:
        share = max(0.0, float(sensitivity.interactions))
        found.append(f"interactions: {share:.2g} of the variance")
    return found + sensitivity.notes


def sensitivity_text(sensitivity: Sensitivity) -> str:
    """Return the headline, the inputs, the largest indices and remarks."""
    lines = [sensitivity_headline(sensitivity)]
    lines.append(f"  inputs: {sensitivity.inputs}, independent of each other")
    several = sensitivity.shapley.ndim == 2
    outputs = sensitivity.outputs if several else ("",)
    order = sensitivity.order[:_PLAYERS]
    width = max(map(len, sensitivity.feature_names))
    kinds = ("first order", "Shapley", "total order")
    for k, output in enumerate(outputs[:_OUTPUTS]):
        tables = (sensitivity.first_order, sensitivity.shapley, sensitivity.total_order)
        first, shapley, total = (table[:, k] if several else table for table in tables)
        if several:
            lines.append(f"  {output}: variance {sensitivity.variance[k]:.4g}")
        lines.append("  " + " " * width + "".join(f"  {kind}" for kind in kinds))
        for i in order:
            numbers = zip((first, shapley, total), kinds, strict=True)
            cells = "".join(f"  {table[i]:>{len(kind)}.4g}" for table, kind in numbers)
            lines.append(f"  {sensitivity.feature_names[i]:<{width}}{cells}")
    count = len(sensitivity.players)
    if count > _PLAYERS or len(outputs) > _OUTPUTS:
        lines.append("  and more; see to_frame()")
    return "\n".join(lines + [f"  {remark}" for remark in sensitivity_remarks(sensitivity)])
