"""The view of an attribution: the verdict, the largest shares, and how to read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.p_values import lowest_adjusted, needed_permutations
from pkex._util.types import Floats
from pkex._util.words import counted
from pkex.output.view import Column, TableView, View, more, titled

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["attribution", "remarks", "shares"]

_NAMES = 5  # players named in a remark
_CLEARLY = 0.1  # p-value above which nothing is there
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


def attribution(result: Attribution, count: int) -> View:
    """Return the verdict, what is absent, the largest shares and remarks."""
    n_features = len(result.players)
    error = "" if result.standard_error is None else f" ± {result.standard_error:.2g}"
    adjusted = [f"p-values of features adjusted by Holm for {n_features} features"]
    if result.p_values is None:
        adjusted = ["no p-values; pass n_permutations=999"]
    elif n_features == 1:
        adjusted = []
    return View(
        titled(
            "Attribution",
            f"{result.statistic} = {result.total:.4g}{error}",
            result.estimator,
            f"{' + '.join(map(str, result.n_rows))} rows",
            counted(n_features, "feature"),
            "" if result.error is None else f"error <= {result.error:.2g}",
        ),
        lead=result.sentences(result.alpha) if result.n_permutations else (),
        notes=[result.absent],
        tables=[shares(result, count, _four_digits, ".2g", result.p_alone is not None)],
        more=more(n_features - count, where="to_frame()"),
        remarks=[*adjusted, *result.remarks()],
    )


def shares(
    result: Attribution, count: int, write: Callable[[Any], list[str]], style: str, alone: bool
) -> TableView:
    """Return the largest shares and their p-values; `alone` also what features do by themselves.

    `write` makes numbers text, and `style` is that of p-values.
    """
    order = result.order[:count]
    shown = result.values[order]
    scale = np.abs(shown).max(initial=0.0) or 1.0
    strengths = (shown / scale).tolist()

    def p_values(adjusted: Floats | None) -> list[Column]:
        cells = [] if adjusted is None else [f"{p:{style}}" for p in adjusted[order]]
        return [Column("p", cells)] if cells else []

    columns = [Column("share", write(shown), strengths=strengths), *p_values(result.p_holm)]
    if alone:
        columns.append(Column("alone", write(np.asarray(result.alone)[order])))
    columns += p_values(result.p_alone_holm)
    return TableView("feature", [result.feature_names[i] for i in order], columns)


def _four_digits(numbers: Any) -> list[str]:
    return [f"{number:+.4g}" for number in numbers]


def remarks(result: Attribution, alpha: float) -> list[str]:
    """See `Attribution.remarks`."""
    words, removal = _WORDS[result.statistic], result.removal
    found = [words["neutral"]] if removal == "neutral" else []
    p_share, p_alone = result.p_holm, result.p_alone_holm
    count, permutations = len(result.players), result.n_permutations
    lowest = lowest_adjusted(count, permutations)
    relabellings = result.n_relabellings
    if p_share is not None and lowest_adjusted(count, relabellings - 1) > alpha:
        rows = " + ".join(map(str, result.n_rows))
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
    if result.detected(alpha) and p_share is not None and p_alone is not None:
        plain, overall = np.asarray(result.p_alone), result.p_statistic
        if overall is not None and overall > alpha:
            least = result.feature_names[int(plain.argmin())]
            found.append(words["diluted"].format(overall, least))
        share, alone = p_share <= alpha, p_alone <= alpha
        for chosen, sentence in (
            (share & ~alone & (plain > _CLEARLY), words["involved"]),
            (share & ~alone & (plain <= _CLEARLY), words["weak"]),
            (alone & (result.values < 0.0), words["negative"]),
        ):
            if removal == "marginal" and chosen.any():
                found.append(f"{_listed(result, chosen)}: {sentence}")
    tested, n_rows = result.n_test_rows, sum(result.n_rows)
    if tested is not None and tested < n_rows:
        found.append(f"Columns were permuted alone on {tested} of {n_rows} rows.")
    return found


def _listed(result: Attribution, chosen: NDArray[np.bool_]) -> str:
    names = [result.feature_names[i] for i in result.order if chosen[i]]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
