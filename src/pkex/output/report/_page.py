"""The page of a report: template, style, script and data in one file.

The data are JSON in a script element that is not run. The page forbids itself every request, and
its only style and script are named by their hashes, so that nothing in the data can become either.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkex.output import palette

__all__ = ["finite", "html", "pack"]

_SINGLE_LIMIT = 1e6  # above, single precision has fewer digits than the page shows


def html(payload: dict[str, Any]) -> str:
    """Return the page."""
    style = palette.css() + _asset("report.css")
    scripts = ["report.js", f"{payload['kind']}.js"]
    scripts += ["interactions.js"] if "interactions" in payload else []
    script = "\n".join(map(_asset, scripts))
    title = escape(payload["title"]).encode("ascii", "xmlcharrefreplace").decode()
    data = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    return Template(_asset("template.html")).substitute(
        title=title,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=data.replace("<", "\\u003c"),  # nothing in it can end the element
    )


def pack(array: ArrayLike, *, exact: bool = False) -> dict[str, str]:
    """Return numbers as base64: with all digits if `exact`, else with those that the page shows.

    Examples
    --------
    >>> pack([1.0, 2.5])
    {'f4': 'AACAPwAAIEA='}
    >>> pack([20240131.0])
    {'f8': 'AAAAMHBNc0E='}
    """
    numbers = np.asarray(array, dtype=np.float64)
    sizes = np.abs(numbers[np.isfinite(numbers)])
    small = sizes.max(initial=0.0) < _SINGLE_LIMIT and sizes[sizes > 0].min(initial=1.0) > 1e-30
    kind = "f4" if small and not exact else "f8"
    return {kind: b64encode(numbers.astype(f"<{kind}").tobytes()).decode()}


def finite(numbers: ArrayLike) -> list[float | None]:
    """Return numbers with eight digits for JSON, which has no NaN: it becomes None."""
    array = np.asarray(numbers, dtype=np.float64)
    return [float(f"{x:.8g}") if np.isfinite(x) else None for x in array]


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
