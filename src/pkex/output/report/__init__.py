"""Reports: a result as one HTML file that opens without a network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pkex._util.cells import label_text
from pkex._util.files import write_whole
from pkex._util.validation import brief, is_index, number
from pkex.output.report import _attribution, _explanation, _interactions, _page, _sensitivity
from pkex.output.report._facts import Fact, fact

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.interactions import Interactions
    from pkex.results.totals import Totals

__all__ = ["write"]


def write(
    result: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    details: Mapping[str, object] | None = None,
    sample_names: Sequence[str] | None = None,
    alpha: float | None = None,
    row_names: Sequence[int | str] | None = None,
    totals: Totals | None = None,
    interactions: Interactions | None = None,
) -> None:
    """Write a report to `path`; an existing file is replaced, whole or not at all.

    Parameters
    ----------
    result : Explanation, Attribution or Sensitivity
    path : str or path
        Name of the file, customarily ``*.html``.
    title : str, optional
        Heading of the report; by default it says what was computed.
    details : mapping of str to anything, optional
        Facts that the result does not know, such as the model or the file its rows came from;
        they are shown as text beside those that it does.
    sample_names : two strings, optional
        For an attribution: what to call the two samples, e.g. ``("reference", "current")``, or
        the columns and the target; by default what the attribution calls them.
    alpha : float, optional
        For an attribution with permutations: the significance level of the verdict; by default that
        of the attribution.
    row_names : sequence of int or str, optional
        For an explanation: what to call its rows, e.g. their numbers in the file that they came
        from; by default the labels of the frame that was explained, or numbers from 0.
    totals : Totals, optional
        For an explanation of a sample: importance and counts of all the rows that it is from, and
        the means of their pairs.
    interactions : Interactions, optional
        Of the same rows and features; shown as a section of their own. With the means of all
        pairs in `totals` they may be of other rows.

    Examples
    --------
    >>> import pkex.output.report, tempfile, pathlib
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.5]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "report.html")
    ...     pkex.output.report.write(explanation, path, details={"model": "two points"})
    ...     "<!doctype html>" in path.read_text(encoding="utf-8")
    True
    """
    facts = _details(details)
    kind = getattr(result, "REPORT", None)
    if kind == "explanation":
        if sample_names is not None:
            raise ValueError("sample_names are for attributions; an explanation has one table.")
        if alpha is not None:
            raise ValueError("alpha is for attributions; an explanation has no test.")
        names = _row_names(row_names, result)
        payload = _explanation.payload(result, title, facts, names, totals)
    elif kind == "attribution":
        if row_names is not None:
            raise ValueError("row_names are for explanations; an attribution shows no rows.")
        level = result.alpha if alpha is None else _level(alpha)
        payload = _attribution.payload(result, title, facts, _pair(sample_names), level)
    elif kind == "sensitivity":
        if sample_names is not None or row_names is not None or alpha is not None:
            raise ValueError(
                "sample_names, row_names and alpha are for other results; a sensitivity has "
                "neither samples nor rows nor a test."
            )
        payload = _sensitivity.payload(result, title, facts)
    else:
        raise TypeError(
            "a report shows an Explanation, an Attribution or a Sensitivity, got "
            f"{type(result).__name__}; pass what an Explainer, pkex.mmd, pkex.hsic or "
            "pkex.sensitivity returned."
        )
    if interactions is not None:
        if kind == "sensitivity":
            raise ValueError(
                "interactions are shown with an explanation or an attribution; a sensitivity has "
                "its pairs with order=2."
            )
        pairs = None if totals is None else totals.pairs
        payload["interactions"] = _interactions.payload(interactions, result, pairs)
        payload["facts"] = payload["facts"] + _interactions.facts(interactions, pairs)
    payload["version"] = import_module("pkex").__version__
    content = _page.html(payload).encode()
    write_whole(path, lambda file: file.write(content), "report.html")


def _details(details: Mapping[str, object] | None) -> list[Fact]:
    if details is None:
        return []
    if not isinstance(details, Mapping):
        raise TypeError(
            f"details must be a mapping such as {{'model': 'SVR'}}, got {type(details).__name__}."
        )
    return [fact(str(name), value) for name, value in details.items()]


def _pair(names: Sequence[str] | None) -> tuple[str, str] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != 2 or not all(isinstance(n, str) for n in names):
        raise ValueError(f"sample_names must be two strings, got {brief(names)}.")
    return names[0], names[1]


def _level(alpha: float) -> float:
    level = number(alpha, "alpha")
    if not 0.0 < level < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    return level


def _row_names(given: Sequence[int | str] | None, explanation: Explanation) -> list[int | str]:
    """Return what to call the rows: numbers if all names are, else text."""
    names: Any = explanation.row_labels
    if given is not None:
        names = given
        if len(names) != len(explanation):
            raise ValueError(
                f"row_names has {len(names)} entries, but the explanation has {len(explanation)} "
                "rows; give one for each."
            )
        wrong = [entry for entry in names if not is_index(entry) and not isinstance(entry, str)]
        if wrong:
            raise TypeError(f"row_names must be integers or text, got {brief(wrong[0])}.")
    elif explanation.row_labels is None:
        return list(range(len(explanation)))
    if all(is_index(entry) for entry in names):
        return [int(entry) for entry in names]
    return [label_text(entry) for entry in names]
