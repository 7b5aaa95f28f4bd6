"""The view of an attribution: the verdict, the largest contributions, and how to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pkex._util.p_values import needed_permutations, smallest_adjusted_p_value
from pkex._util.types import Floats
from pkex._util.words import join_names, pluralise
from pkex.output.text import LINES, align_numbers
from pkex.output.view import Column, TableView, View, more, number_column, title_of
from pkex.output.view.changes import describe_changes, differing_columns

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["MEMBER_WORDS", "attribution", "contributions", "remarks", "verdict"]

MEMBER_WORDS = {
    "rbf": "RBF kernels of several widths over all features",
    "laplacian": "a Laplacian kernel over all features",
    "energy": "the energy distance over all features",
    "kernel": "the kernel over all features",
    "univariate": "the feature that stands out most by itself",
}
"""The members of the family of the verdict, for a sentence; see `Attribution.detected_by`."""

_CHANGES = 5  # columns about which the text of a result has a sentence
_CLEARLY = 0.1  # p-value above which nothing is there
_WORDS = {
    "MMD^2": {
        "statistic": "MMD²",
        "effect": "change",
        "without": "did not change has a negative contribution when others changed",
        "joint": "dependence on other columns changed",
        "weak": "in the dependence on",
    },
    "HSIC": {
        "statistic": "HSIC",
        "effect": "dependence",
        "without": "the target does not depend on has a negative contribution beside others",
        "joint": "target depends on it jointly with other columns",
        "weak": "jointly with",
    },
}
_NEUTRAL = (
    "Neutral contributions are shifted: a column that {without}; "
    'use removal="product-of-marginals".'
)
_JOINT = "significant contribution without a univariate {effect}: the {joint}."
_EXTREME = (
    "significant contribution, and a clear difference of the column itself, though the univariate "
    "test is not significant: it hardly depends on a few extreme values."
)
_WEAK = (
    "significant contribution, inconclusive univariate test: a weak {effect}, or one {weak} other "
    "columns."
)
_NEGATIVE = (
    "univariate {effect} with a negative contribution: the other columns show more without it."
)
_DILUTED = (
    "{statistic} of all features together is not significant (p = {p:.3g}); the {effect} was "
    "detected by {member}{least}."
)


def attribution(result: Attribution, count: int = LINES) -> View:
    """Return the verdict, the background, the largest contributions and remarks."""
    n_features = len(result.feature_groups)
    error = "" if result.standard_error is None else f" ± {result.standard_error:.2g}"
    method = " by Holm" * result.adjusted_by_holm
    adjusted = [f"p-values of features adjusted{method} for {n_features} features"]
    if result.p_values is None:
        adjusted = ["no p-values; pass n_permutations=999"]
    elif n_features == 1:
        adjusted = []
    return View(
        title_of(
            "Attribution",
            f"{result.statistic_name} = {result.statistic:.4g}{error}",
            result.estimator,
            f"{' + '.join(map(str, result.n_rows))} rows",
            pluralise(n_features, "feature"),
            "" if result.index == "SV" else f"{result.index} values",
            "" if result.error_bound is None else f"error bound {result.error_bound:.1g}",
        ),
        lead=verdict(result, result.alpha, _CHANGES),
        notes=[f"background: {result.about.background_info}"],
        tables=[contributions(result, count, result.p_univariate is not None)],
        more=more(n_features - count, where="to_frame()"),
        remarks=[*adjusted, *result.remarks()],
    )


def verdict(result: Attribution, alpha: float, count: int | None = None) -> list[str]:
    """Return the sentences of the verdict, and below them what happened to `count` columns."""
    if not result.n_permutations:
        return []
    changes = [change.sentence for change in describe_changes(result, alpha)]
    left = len(changes) - len(changes[:count])
    rest = [f"and {left} more that changed"] if left else []
    return [*result.sentences(alpha), *changes[:count], *rest]


def contributions(result: Attribution, count: int, univariate: bool) -> TableView:
    """Return the largest contributions and their p-values, with univariate statistics or not."""
    order = result.ranking[:count]
    shown = result.values[order]
    scale = np.abs(shown).max(initial=0.0) or 1.0

    def p_values(adjusted: Floats | None) -> list[Column]:
        return [] if adjusted is None else [number_column("p (adjusted)", adjusted[order], ".2g")]

    contribution = Column("contribution", align_numbers(shown), strengths=(shown / scale).tolist())
    columns = [contribution, *p_values(result.p_adjusted)]
    if univariate:
        columns.append(Column("univariate", align_numbers(np.asarray(result.univariate)[order])))
    columns += p_values(result.p_univariate_adjusted)
    return TableView("feature", [result.feature_names[i] for i in order], columns)


def remarks(result: Attribution, alpha: float) -> list[str]:
    """See `Attribution.remarks`."""
    words, averaged = _WORDS[result.statistic_name], result.removal == "product-of-marginals"
    sentences = [] if averaged else [_NEUTRAL.format(**words)]
    p_adjusted, p_univariate = result.p_adjusted, result.p_univariate_adjusted
    permutations = result.n_permutations
    rows = f"{' + '.join(map(str, result.n_rows))} rows"
    # Holm multiplies p-values by the number of features; step-down maxima do not
    by_holm, count = result.adjusted_by_holm, len(result.feature_groups)
    count = count if by_holm else 1
    lowest_of = f"adjusted p-value of {pluralise(count, 'feature')}" if by_holm else "p-value"
    enough = f": take {needed_permutations(count, alpha)} or more"
    for draws, what, advice in (
        (result.n_relabellings - 1, rows, ""),
        (permutations, f"{permutations} permutations", enough),
    ):
        lowest = smallest_adjusted_p_value(count, draws)
        if p_adjusted is not None and lowest > alpha:
            sentences.append(
                f"With {what} no {lowest_of} is below {lowest:.2g}, however clear the case{advice}."
            )
            break
    if result.detected(alpha) and p_adjusted is not None and p_univariate is not None:
        plain, univariate = np.asarray(result.p_univariate), p_univariate <= alpha
        member, least = str(result.detected_by), ""
        if result.p_statistic is not None and result.p_statistic > alpha:
            if member == "univariate":
                least = f", {result.feature_names[int(p_univariate.argmin())]}"
            facts = {"p": result.p_statistic, "member": MEMBER_WORDS[member], "least": least}
            sentences.append(_DILUTED.format(**words, **facts))
        jointly = (p_adjusted <= alpha) & ~univariate
        extreme = np.zeros_like(jointly)
        for feature in np.flatnonzero(jointly).tolist():
            extreme[feature] = bool(differing_columns(result, feature, alpha))
        for chosen, sentence in (
            (jointly & ~extreme & (plain > _CLEARLY), _JOINT),
            (jointly & ~extreme & (plain <= _CLEARLY), _WEAK),
            (extreme, _EXTREME),
            (univariate & (result.values < 0.0), _NEGATIVE),
        ):
            if averaged and chosen.any():
                names = [result.feature_names[i] for i in result.ranking if chosen[i]]
                sentences.append(f"{join_names(names)}: {sentence.format(**words)}")
    tested, n_rows = result.n_test_rows, sum(result.n_rows)
    if tested is not None and tested < n_rows:
        sentences.append(f"Columns were permuted one at a time on {tested} of {n_rows} rows.")
    return sentences
