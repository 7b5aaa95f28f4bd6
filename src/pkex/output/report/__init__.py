"""Reports: a result as one HTML file that opens without a network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pkex._util.cells import format_label
from pkex._util.files import write_atomically
from pkex._util.validation import brief, check_number, is_index
from pkex.output.report import (
    _attribution,
    _change,
    _effects,
    _explanation,
    _importance,
    _influence,
    _interactions,
    _page,
    _sensitivity,
)
from pkex.output.report._page import Fact, make_facts

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.influence import Influence
    from pkex.results.interactions import Interactions
    from pkex.results.totals import Totals

__all__ = ["write"]

# by kinds of results: those of two samples, with a verdict, and those without options
_COMPARED = {"attribution": _attribution, "change": _change}
_PLAIN = {"effects": _effects, "importance": _importance, "sensitivity": _sensitivity}
_PLAIN |= {"influence": _influence}
_KINDS = ("explanation", *_COMPARED, *_PLAIN)


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
    influence: Influence | None = None,
) -> None:
    """Write a report to `path`; an existing file is replaced atomically.

    Parameters
    ----------
    result : Explanation, Attribution, Effects, Importance, Sensitivity, Influence or Change
    path : str or path
        Name of the file, customarily ``*.html``.
    title : str, optional
        Heading of the report; by default it says what was computed.
    details : mapping of str to anything, optional
        Facts that the result does not know, such as the model or the file its rows came from;
        they are shown as text beside those that it does.
    sample_names : two strings, optional
        For an attribution or a change: what to call the two samples, e.g. ``("reference",
        "current")``, or the columns and the target; by default what the result calls them.
    alpha : float, optional
        For an attribution or a change with permutations: the significance level of the verdict; by
        default that of the result.
    row_names : sequence of int or str, optional
        For an explanation: what to call its rows, e.g. their numbers in the file that they came
        from; by default the labels of the frame that was explained, or numbers from 0.
    totals : Totals, optional
        For an explanation of a sample: importance and counts of all the rows that it is from, and
        the means of their pairs.
    interactions : Interactions, optional
        Of the same rows and features; shown in a separate section. With the means of all
        pairs in `totals` they may be of other rows.
    influence : Influence, optional
        Of the same rows as an explanation; shown in a separate section.

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
    facts, kind = _details(details), getattr(result, "KIND", None)
    for option, given, owners in (
        ("sample_names are", sample_names, _COMPARED),
        ("alpha is", alpha, _COMPARED),
        ("row_names are", row_names, ("explanation",)),
    ):
        if given is not None and kind in _KINDS and kind not in owners:
            raise ValueError(
                f"{option} for {' and '.join(f'{one}s' for one in owners)}; this result is not one."
            )
    if kind == "explanation":
        payload = _explanation.payload(result, _row_names(row_names, result), totals)
    elif kind in _COMPARED:
        alpha = result.alpha if alpha is None else _check_alpha(alpha)
        payload = _COMPARED[kind].payload(result, _pair(sample_names), alpha)
    elif kind in _PLAIN:
        payload = _PLAIN[kind].payload(result)
    else:
        raise TypeError(
            "a report shows an Explanation, an Attribution, Effects, an Importance, a Sensitivity, "
            f"an Influence or a Change, got {type(result).__name__}; pass what an Explainer, "
            "pkex.mmd, pkex.hsic, pkex.sensitivity or pkex.change returned."
        )
    if interactions is not None:
        if kind not in ("explanation", "attribution"):
            raise ValueError(
                "interactions are shown with an explanation or an attribution; a sensitivity has "
                "its pairs with order=2."
            )
        pairs = None if totals is None else totals.pairs
        payload["interactions"] = _interactions.payload(interactions, result, pairs)
        payload["facts"] += _interactions.facts(interactions, pairs)
    if influence is not None:
        _influence.check(influence, result)
        payload["influence"] = _influence.section(influence)
        payload["facts"] += _influence.facts(influence)
    payload |= {"kind": kind, "names": result.feature_names, "facts": facts + payload["facts"]}
    payload |= {"title": title or payload["title"], "version": import_module("pkex").__version__}
    content = _page.html(payload).encode()
    write_atomically(path, lambda file: file.write(content), "report.html")


def _details(details: Mapping[str, object] | None) -> list[Fact]:
    if details is None:
        return []
    if not isinstance(details, Mapping):
        raise TypeError(
            f"details must be a mapping such as {{'model': 'SVR'}}, got {type(details).__name__}."
        )
    return make_facts({str(name): str(value) for name, value in details.items()}, {})


def _pair(names: Sequence[str] | None) -> tuple[str, str] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != 2 or not all(isinstance(n, str) for n in names):
        raise ValueError(f"sample_names must be two strings, got {brief(names)}.")
    return names[0], names[1]


def _check_alpha(alpha: float) -> float:
    checked = check_number(alpha, "alpha")
    if not 0.0 < checked < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    return checked


def _row_names(given: Sequence[int | str] | None, explanation: Explanation) -> list[int | str]:
    """Return what to call the rows: numbers if all names are, else text."""
    names: Any = explanation.row_index
    if names is None:
        names = range(len(explanation))
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
    if all(is_index(entry) for entry in names):
        return [int(entry) for entry in names]
    return [format_label(entry) for entry in names]
