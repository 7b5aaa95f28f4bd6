"""What the report of an `Explanation` shows, as JSON.

All rows and features enter the importance. The plots have at most `MAX_ROWS` rows and the
`MAX_FEATURES` most important features; a row's waterfall is right all the same, because the largest
values of each row come along where they belong to other features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import format_label
from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.models.classes import describe_disagreement, describe_output, largest_output_class
from pkex.output.report import _page as page
from pkex.output.spread import POSTERIOR, importance_words, others_words, std_of_sums
from pkex.output.text import describe_groups, feature_text, kernel_text, leaves_out, value_name
from pkex.output.view.rows import explanation_notes

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.totals import Totals

__all__ = ["MAX_ROWS", "payload"]

MAX_ROWS, MAX_FEATURES = 1000, 40
WATERFALL = 12  # bars of one row
_MAX_CELLS = 400_000  # of all outputs together
# what the page takes as it is
_FACTS = ("output_names", "output_classes", "complete", "efficient", "quantity")


def payload(
    explanation: Explanation, row_names: Sequence[int | str] | None, totals: Totals | None
) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them.

    `totals` are those of more rows than the explanation has, which then is a sample of them.
    """
    names = _row_names(row_names, explanation)
    totals = totals or explanation.totals()
    importance, n_features = totals.importance, len(explanation.feature_names)
    shown, outputs = importance.ranking[:MAX_FEATURES], range((*explanation.values.shape, 1)[2])
    affordable = max(100, _MAX_CELLS // (len(shown) * len(outputs)))
    rows = page.sample_rows(len(explanation), min(MAX_ROWS, affordable))
    some = explanation[rows]
    each: list[Any] = [some.select_output(k, "report") for k in outputs]
    tables = {"mean": importance.values, "error": importance.standard_errors}
    tables |= {"centred": importance.centred} if importance.neutral else {}
    means = {name: page.by_output(table, n_features) for name, table in tables.items()}
    groups = [explanation.feature_groups[feature] for feature in shown]
    columns = sorted({c for group in groups for c in group})
    has_other_stds = some.cov is not None and some.complete
    return {
        "title": f"Which features drive the {explanation.quantity or 'predictions'}",
        "facts": _facts(explanation, totals),
        "n_rows": totals.n_rows,
        "rows": [page.cut(names[row]) for row in rows],
        "meaning": describe_output(explanation),
        "predicted_class": _classes(some.predicted_class),
        "largest_class": _classes(largest_output_class(some)),
        "value_name": value_name(explanation),
        "waterfall": WATERFALL,
        "importance": [{name: column[k] for name, column in means.items()} for k in outputs],
        "features": shown.tolist(),
        "feature_groups": [list(map(columns.index, group)) for group in groups],
        "columns": [
            {"name": explanation.column_names[c], **page.column_data(explanation.data[:, c], rows)}
            for c in columns
        ],
        "values": [page.pack(one.values[:, shown]) for one in each],
        "stds": None if some.std is None else [page.pack(one.std[:, shown]) for one in each],
        "other_stds": [page.pack(_other_std(one)) for one in each] if has_other_stds else None,
        "whiskers": {"rows": importance_words(importance), "posterior": _posterior(explanation)},
        "base": [page.pack(one.base_values, exact=True) for one in each],
        "predictions": [page.pack(one.predictions, exact=True) for one in each],
        "extras": [_extras(one, shown) for one in each],
        **{name: getattr(explanation, name) for name in _FACTS},
    }


def _row_names(given: Sequence[int | str] | None, explanation: Explanation) -> list[int | str]:
    """Return what to call the rows: numbers if all names are, else text."""
    names: Any = explanation.row_index if given is None else given
    if names is None:
        names = range(len(explanation))
    if len(names) != len(explanation):
        raise ValueError(
            f"row_names has {len(names)} entries, but the explanation has {len(explanation)} rows; "
            "give one for each."
        )
    for entry in () if given is None else given:
        if not is_index(entry) and not isinstance(entry, str):
            raise TypeError(f"row_names must be integers or text, got {brief(entry)}.")
    if all(is_index(entry) for entry in names):
        return [int(entry) for entry in names]
    return [format_label(entry) for entry in names]


def _posterior(explanation: Explanation) -> str | None:
    """Return what the whiskers of a row are; None without standard deviations."""
    if explanation.std is None:
        return None
    no_sums = not explanation.efficient or not leaves_out(explanation, range(WATERFALL))
    known = no_sums or (explanation.cov is not None and explanation.complete)
    return POSTERIOR if known else f"{POSTERIOR}{others_words(explanation)}"


def _other_std(one: Any) -> Floats:
    """Return the standard deviations of the sums that the waterfalls of an output end with.

    They are of all features but the `WATERFALL` largest of the row.
    """
    ranks = np.argsort(np.argsort(-np.abs(one.values), axis=1, kind="stable"), axis=1)
    return std_of_sums(one.cov, ranks >= WATERFALL)


def _classes(labels: NDArray[Any] | None) -> list[str | None] | None:
    """Return the texts of classes; None for what has no class."""
    if labels is None:
        return None
    return [None if label is None else page.cut(str(label)) for label in labels]


def _extras(one: Any, shown: NDArray[np.intp]) -> list[list[list[Any]]]:
    """Return, for each row, those of its largest values that belong to features not shown.

    Each is a feature, its Shapley value, its value in the data and, where known, its standard
    deviation.
    """
    if len(shown) == len(one.feature_names):
        return []

    def entry(row: int, feature: int) -> list[Any]:
        spread = [] if one.std is None else page.finite([one.std[row, feature]])
        [value] = page.finite([one.values[row, feature]])
        return [feature, value, feature_text(one, row, feature), *spread]

    largest = np.argsort(-np.abs(one.values), axis=1, kind="stable")[:, :WATERFALL]
    others = [np.setdiff1d(features, shown).tolist() for features in largest]
    return [[entry(row, feature) for feature in some] for row, some in enumerate(others)]


def _facts(explanation: Explanation, totals: Totals) -> list[page.Fact]:
    classes, kernels = explanation.classes, explanation.kernels
    n_outputs, n_shown = len(explanation.output_names), len(explanation)
    what = describe_output(explanation)
    notes = {"Removal": " ".join(map(_sentence, explanation_notes(explanation)))}
    if n_shown < totals.n_rows:
        notes["Rows"] = f"Plots show {n_shown} of them, sampled uniformly."
    if totals.apart:
        notes["Classes"] = _sentence(describe_disagreement(totals.apart, totals.n_rows))
    values = {
        "Rows": totals.n_rows,
        "Features": len(explanation.feature_groups),
        "Columns": len(explanation.column_names),
        "Outputs": n_outputs if n_outputs > 1 else None,
        "Output": None if what is None else _sentence(what),
        "Classes": None if classes is None else ", ".join(classes),
        "Values": None if explanation.index == "SV" else f"{value_name(explanation)}s",
        "Hierarchy": describe_groups(explanation),
        "Removal": explanation.removal,
        "Kernel": None if kernels is None else "; ".join(map(kernel_text, kernels)),
    }
    return page.make_facts(values, notes) + page.accuracy(explanation, totals.error)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
