"""What the report of an `Attribution` shows, as JSON: bars, bands, p-values, alone, marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.output.columns import Points, Shares, is_constant, picture
from pkex.output.report._facts import Fact, accuracy, fact, features
from pkex.output.report._page import finite
from pkex.output.text import kernel_text

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["payload"]

MAX_MARGINALS = 12
_GROUP_COLUMNS = 3  # columns of a group that are drawn

_TITLES = {
    "MMD^2": "Which columns differ between the two samples",
    "HSIC": "Which columns the target depends on",
}


def payload(
    attribution: Attribution,
    title: str | None,
    details: list[Fact],
    sample_names: tuple[str, str] | None,
    alpha: float,
) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    two_samples = attribution.target_kernel is None
    samples = sample_names or _sample_names(attribution)
    errors = attribution.standard_errors
    return {
        "kind": "attribution",
        "title": title or _TITLES[attribution.statistic],
        "facts": details + _facts(attribution, alpha),
        "statistic": _statistic(attribution),
        "samples": samples,
        "two_samples": two_samples,
        "targets": [] if two_samples else [samples[1], *attribution.sample_names[1:]],
        "alpha": alpha,
        "names": attribution.feature_names,
        "order": attribution.order.tolist(),
        "total": attribution.total,
        "verdict": attribution.verdict(alpha) if attribution.n_permutations else "",
        "p_value": attribution.p_value,
        "p_statistic": attribution.p_statistic,
        "n_permutations": attribution.n_permutations,
        "values": finite(attribution.values),
        "alone": finite(attribution.alone) if attribution.knows_alone else None,
        "remarks": attribution.remarks(alpha),
        "errors": None if errors is None else finite(errors),
        "block_size": attribution.block_size,
        **_null(attribution),
        "marginals": _marginals(attribution, samples),
        "loaded": attribution.samples is None,
    }


def _sample_names(attribution: Attribution) -> tuple[str, str]:
    names = attribution.sample_names
    if attribution.target_kernel is None:
        return names[0], names[1]
    return "X", names[0]


def _null(attribution: Attribution) -> dict[str, Any]:
    """Return what permutations say: bands, p-values, those by Holm, a histogram of totals."""
    band, totals = attribution.null_band, attribution.null_totals
    tests = {
        "p": attribution.p_values,
        "holm": attribution.p_holm,
        "alone_holm": attribution.p_alone_holm,
    }
    if band is None or totals is None:
        return dict.fromkeys(("null_low", "null_high", *tests, "null_totals"))
    counts, edges = np.histogram(totals, bins=min(40, max(5, int(2 * len(totals) ** (1 / 3)))))
    return {
        "null_low": finite(band[0]),
        "null_high": finite(band[1]),
        **{name: finite(p) for name, p in tests.items() if p is not None},
        "null_totals": {"edges": finite(edges), "counts": counts.tolist()},
    }


def _marginals(attribution: Attribution, samples: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the pictures of columns of the first players, without constant ones."""
    if attribution.samples is None:
        return []
    found: list[dict[str, Any]] = []
    for player in attribution.order.tolist():
        columns = [c for c in attribution.players[player] if not is_constant(attribution, c)]
        if columns and len(found) < MAX_MARGINALS:
            panels = [
                {"column": attribution.column_names[c], **_panel(attribution, c, samples)}
                for c in columns[:_GROUP_COLUMNS]
            ]
            found.append({"feature": player, "panels": panels})
    return found


def _panel(attribution: Attribution, column: int, samples: tuple[str, str]) -> dict[str, Any]:
    """Return the picture of a column as JSON."""
    drawn = picture(attribution, column, samples)
    if isinstance(drawn, Points):
        return {"kind": "scatter", "x": finite(drawn.x), "y": finite(drawn.y)}
    if not isinstance(drawn, Shares):
        boxes = [finite(box) for box in drawn.quantiles]
        return {"kind": "boxes", "categories": drawn.categories, "boxes": boxes}
    series = [
        {"name": name, "shares": finite(np.round(shares, 5))}
        for name, shares in zip(drawn.series, drawn.shares, strict=True)
    ]
    if drawn.edges is None:
        return {"kind": "bars", "categories": drawn.categories, "series": series}
    bins = {"edges": finite(drawn.edges), "beyond": round(drawn.beyond, 5)}
    return {"kind": "histogram", **bins, "series": series}


def _facts(attribution: Attribution, alpha: float) -> list[Fact]:
    total, error = f"{attribution.total:.4g}", attribution.standard_error
    facts = [fact(_statistic(attribution), total)]
    if error is not None:
        note = f"With its standard error over blocks of {attribution.block_size} rows."
        facts = [fact(_statistic(attribution), f"{total} ± {error:.2g}", note)]
    if attribution.p_value is not None:
        note = (
            "Of the verdict: is anything there, in all features together or in one alone? From "
            f"{attribution.n_permutations} permutations."
        )
        facts.append(fact("p-value", f"{attribution.p_value:.3g}", note))
        note = "One-sided, of all features together, from the same permutations."
        facts.append(
            fact(f"p of {_statistic(attribution)}", f"{attribution.p_statistic:.3g}", note)
        )
        note = "A p-value of at most this is statistically significant."
        facts.append(fact("Significance level", f"{alpha:g}", note))
    rows = " and ".join(str(count) for count in attribution.n_rows)
    facts += [fact("Rows", rows), features(attribution)]
    how = attribution.absent.partition(": ")[2]
    facts.append(fact("Absent columns", attribution.removal, f"{how[0].upper()}{how[1:]}."))
    facts.append(fact("Estimator", attribution.estimator))
    if attribution.n_test_rows is not None:
        note = "Columns are permuted one at a time on so many rows, the labels on all."
        facts.append(fact("Rows of the column tests", attribution.n_test_rows, note))
    facts.append(fact("Kernel", kernel_text(attribution.kernel)))
    if attribution.target_kernel is not None:
        facts.append(fact("Kernel of the target", kernel_text(attribution.target_kernel)))
    if attribution.error is not None:
        note = "Of every value and the total, in their units; proven, not estimated."
        facts.append(fact("Error", f"≤ {attribution.error:.2g}", note))
    return facts + accuracy(attribution, "the integral of each pair of points")


def _statistic(attribution: Attribution) -> str:
    return attribution.statistic.replace("^2", "²")
