"""Reports: a result as one HTML file that opens without a network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pkex._util.validation import brief, check_number
from pkex.output.report import _influence, _interactions, _page

if TYPE_CHECKING:
    from pkex.results.influence import Influence
    from pkex.results.interactions import Interactions
    from pkex.results.totals import Totals

__all__ = ["write"]

# by kinds of results, each with a module and a script of its name: the options of their reports
_OPTIONS = {
    "attribution": ("sample_names", "alpha"),
    "change": ("sample_names", "alpha"),
    "explanation": ("row_names", "totals"),
    **dict.fromkeys(("effects", "importance", "influence", "sensitivity"), ()),
}


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
    kind = getattr(result, "KIND", None)
    if kind not in _OPTIONS:
        raise TypeError(
            "a report shows an Explanation, an Attribution, Effects, an Importance, a Sensitivity, "
            f"an Influence or a Change, got {type(result).__name__}."
        )
    if not isinstance(details, Mapping | None):
        raise TypeError(
            f"details must be a mapping such as {{'model': 'SVR'}}, got {type(details).__name__}."
        )
    options: dict[str, Any] = {"row_names": row_names, "totals": totals}
    options |= {"sample_names": _pair(sample_names), "alpha": _check_alpha(alpha)}
    for option, given in options.items():
        if given is not None and option not in _OPTIONS[kind]:
            owners = "s and ".join(one for one, taken in _OPTIONS.items() if option in taken)
            verb = "are" if option.endswith("s") else "is"
            raise ValueError(f"{option} {verb} for {owners}s; this result is not one.")
    taken = {option: options[option] for option in _OPTIONS[kind]}
    payload = import_module(f"{__name__}._{kind}").payload(result, **taken)
    if interactions is not None:
        if kind not in ("explanation", "attribution"):
            raise ValueError(
                "interactions are shown with an explanation or an attribution; a sensitivity has "
                "its pairs with order=2."
            )
        pairs = None if totals is None else totals.pairs
        payload["interactions"], facts = _interactions.section(interactions, result, pairs)
        payload["facts"] += facts
    if influence is not None:
        _influence.check(influence, result)
        payload["influence"] = _influence.section(influence)
        payload["facts"] += _influence.facts(influence)
    given = _page.make_facts({str(name): str(fact) for name, fact in (details or {}).items()}, {})
    payload |= {"kind": kind, "names": result.feature_names, "facts": given + payload["facts"]}
    _page.write(payload | {"title": title or payload["title"]}, path, "report.html")


def _pair(names: Sequence[str] | None) -> tuple[str, str] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != 2 or not all(isinstance(n, str) for n in names):
        raise ValueError(f"sample_names must be two strings, got {brief(names)}.")
    return names[0], names[1]


def _check_alpha(alpha: float | None) -> float | None:
    checked = None if alpha is None else check_number(alpha, "alpha")
    if checked is not None and not 0.0 < checked < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    return checked
