"""Reports: an `Explanation` or an `Attribution` as one HTML file that opens without a network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pkex._files import write_whole
from pkex.attribution import Attribution
from pkex.explanation import Explanation
from pkex.report import _attribution, _explanation, _page
from pkex.report._facts import Fact, fact

__all__ = ["write"]


def write(
    result: Explanation | Attribution,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    details: Mapping[str, object] | None = None,
    sample_names: Sequence[str] | None = None,
) -> None:
    """Write a report to `path`; an existing file is replaced, whole or not at all.

    Parameters
    ----------
    result : Explanation or Attribution
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

    Examples
    --------
    >>> import pkex.report, tempfile, pathlib
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.5]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "report.html")
    ...     pkex.report.write(explanation, path, details={"model": "two points"})
    ...     "<!doctype html>" in path.read_text(encoding="utf-8")
    True
    """
    facts = _details(details)
    if isinstance(result, Explanation):
        if sample_names is not None:
            raise ValueError("sample_names are for attributions; an explanation has one table.")
        payload = _explanation.payload(result, title, facts)
    elif isinstance(result, Attribution):
        payload = _attribution.payload(result, title, facts, _pair(sample_names))
    else:
        raise TypeError(
            f"a report shows an Explanation or an Attribution, got {type(result).__name__}; pass "
            "what an Explainer, pkex.mmd or pkex.hsic returned."
        )
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
        raise ValueError(f"sample_names must be two strings, got {names!r}.")
    return names[0], names[1]
