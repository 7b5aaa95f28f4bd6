"""What the report of an `Attribution` shows, as JSON: contributions, tests and marginals."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.types import Floats
from pkex.output.columns import Points, Shares, describe_column, varied_columns
from pkex.output.report._page import Fact, accuracy, finite, make_facts
from pkex.output.text import kernel_text
from pkex.output.view.changes import Change, describe_changes, headline
from pkex.tables.column_changes import percent

if TYPE_CHECKING:
    from pkex.results.attribution import Attribution

__all__ = ["payload"]

MAX_MARGINALS = 12
_GROUP_COLUMNS = 3  # columns of a group that are drawn

# what the page takes as it is; of arrays, NaN is null
_FACTS = ("statistic", "p_value", "p_statistic", "n_permutations", "block_size")
_ARRAYS = ("values", "standard_errors", "p_values", "p_adjusted")
_TITLES = {
    "MMD^2": "Which features differ between the two samples",
    "HSIC": "Which features the target depends on",
}
_NOTES = {
    "p-value": "Of the verdict, which combines the joint test and the univariate tests.",
    "Significance level": "A p-value of at most this is statistically significant.",
    "Rows of the column tests": "Single columns are permuted on these rows; labels on all rows.",
}


def payload(
    attribution: Attribution, sample_names: tuple[str, str] | None, alpha: float | None
) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    alpha = attribution.alpha if alpha is None else alpha
    two_samples = attribution.target_kernel is None
    named = attribution.sample_names
    samples = sample_names or ((named[0], named[1]) if two_samples else ("X", named[0]))
    low, high = (None, None) if attribution.null_band is None else attribution.null_band
    changes = describe_changes(attribution, alpha)
    return {
        "title": _title(attribution, changes, alpha),
        "changes": [_change(change) for change in changes],
        "facts": _facts(attribution, alpha),
        "statistic_name": _statistic(attribution),
        "samples": samples,
        "two_samples": two_samples,
        "targets": [] if two_samples else [samples[1], *named[1:]],
        "alpha": alpha,
        "ranking": attribution.ranking.tolist(),
        "verdict": attribution.verdict(alpha) if attribution.n_permutations else "",
        "univariate": finite(attribution.univariate) if attribution.has_univariate else None,
        "remarks": attribution.remarks(alpha),
        "null_low": finite(low),
        "null_high": finite(high),
        "p_univariate": finite(attribution.p_univariate_adjusted),
        "null_statistics": _histogram(attribution.null_statistics),
        "marginals": _marginals(attribution, samples, alpha),
        "loaded": attribution.samples is None,
        **{name: getattr(attribution, name) for name in _FACTS},
        **{name: finite(getattr(attribution, name)) for name in _ARRAYS},
    }


def _title(attribution: Attribution, changes: tuple[Change, ...], alpha: float) -> str:
    """Return the heading: what drifted and how; for other results, the question."""
    if attribution.target_kernel is not None or not attribution.n_permutations:
        return _TITLES[attribution.statistic_name]
    return headline(attribution, alpha, changes)


def _change(change: Change) -> dict[str, Any]:
    """Return what the page says of a changed column; the sentence begins with its name."""
    subject = " and ".join(change.columns)
    text = change.sentence.removeprefix(f"{subject}: ")
    return {"columns": list(change.columns), "subject": subject, "text": text}


def _histogram(totals: Floats | None) -> dict[str, Any] | None:
    """Return the histogram of the statistic over permutations."""
    if totals is None:
        return None
    counts, edges = np.histogram(totals, bins=min(40, max(5, int(2 * len(totals) ** (1 / 3)))))
    return {"edges": finite(edges), "counts": counts.tolist()}


def _marginals(
    attribution: Attribution, samples: tuple[str, str], alpha: float
) -> list[dict[str, Any]]:
    """Return the plots of columns of the first features, significant ones before others.

    Constant columns are left out.
    """
    significant, names = attribution.significant(alpha), attribution.feature_names
    ranking = sorted(attribution.ranking.tolist(), key=lambda i: names[i] not in significant)
    marginals = []
    for feature, columns in islice(varied_columns(attribution, ranking), MAX_MARGINALS):
        panels = [_panel(attribution, c, samples) for c in columns[:_GROUP_COLUMNS]]
        marginals.append({"feature": feature, "panels": panels})
    return marginals


def _panel(attribution: Attribution, column: int, samples: tuple[str, str]) -> dict[str, Any]:
    """Return the plot of a column as JSON."""
    drawn = describe_column(attribution, column, samples)
    panel: dict[str, Any] = {"column": attribution.column_names[column]}
    if isinstance(drawn, Points):
        return panel | {"kind": "scatter", "x": finite(drawn.x), "y": finite(drawn.y)}
    if not isinstance(drawn, Shares):
        boxes = [finite(box) for box in drawn.quantiles]
        return panel | {"kind": "boxes", "categories": drawn.categories, "boxes": boxes}
    named = zip(drawn.series, np.round(drawn.shares, 5), strict=True)
    series = [{"name": name, "shares": finite(shares)} for name, shares in named]
    gaps = [percent(share) for share in drawn.missing]
    note = {"note": f"missing cells: {', '.join(gaps)}; shares of the others"} if gaps else {}
    if drawn.edges is None:
        return panel | {"kind": "bars", "categories": drawn.categories, "series": series} | note
    bins = {"edges": finite(drawn.edges), "beyond": round(drawn.beyond, 5)}
    return panel | {"kind": "histogram", **bins, "series": series} | note


def _facts(attribution: Attribution, alpha: float) -> list[Fact]:
    statistic, target = _statistic(attribution), attribution.target_kernel
    error, background = attribution.standard_error, attribution.about.background_info or ""
    values = {
        statistic: f"{attribution.statistic:.4g}{'' if error is None else f' ± {error:.2g}'}",
        "Rows": " and ".join(map(str, attribution.n_rows)),
        "Features": len(attribution.feature_groups),
        "Columns": len(attribution.column_names),
        "Removal": attribution.removal,
        "Background": background or None,
        "Estimator": attribution.estimator,
        "Rows of the column tests": attribution.n_test_rows,
        "Kernel": kernel_text(attribution.kernel),
        "Target kernel": None if target is None else kernel_text(target),
    }
    if attribution.n_permutations:
        values |= {
            "Permutations": attribution.n_permutations,
            "p-value": f"{attribution.p_value:.3g}",
            f"p of {statistic}": f"{attribution.p_statistic:.3g}",
            "Significance level": f"{alpha:g}",
        }
    notes = dict(_NOTES)
    if error is not None:
        notes[statistic] = f"± 1 standard error over blocks of {attribution.block_size} rows."
    return make_facts(values, notes) + accuracy(attribution, attribution.error_bound)


def _statistic(attribution: Attribution) -> str:
    return attribution.statistic_name.replace("^2", "²")
