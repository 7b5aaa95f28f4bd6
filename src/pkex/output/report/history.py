"""The page that draws a history of drift tests: p-values, detected features, and every run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pkex._util.words import pluralise
from pkex.output.report import _page

__all__ = ["write_history"]

MAX_RUNS = 1000  # that the page shows, the last ones
_MAX_FEATURES = 30
_SHOWN = ("time", "current", "drift", "p_value", "alpha", "significant", "rows", "headline")


def write_history(
    runs: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str],
    *,
    name: str,
    unreadable: int = 0,
) -> None:
    """Write the page of a history; an existing file is replaced atomically.

    Parameters
    ----------
    runs : sequence of mappings
        The lines of the history, the oldest first.
    path : str or path
        Name of the file, customarily ``*.html``.
    name : str
        What to call the monitor.
    unreadable : int
        How many lines of the history are not runs.
    """
    _page.write(payload(runs, name, unreadable), path, "history.html")


def payload(runs: Sequence[Mapping[str, Any]], name: str, unreadable: int) -> dict[str, Any]:
    """Return all that the page needs, with nothing in it but text, numbers and lists of them."""
    shown = runs[-MAX_RUNS:]
    counts = Counter(feature for run in shown for feature in run["significant"])
    features = sorted(counts, key=lambda feature: (-counts[feature], feature))
    alarms, last = sum(bool(run["drift"]) for run in shown), shown[-1]
    hidden = len(runs) - len(shown)
    facts = {
        "Runs": len(runs),
        "Runs with drift": f"{alarms} of the last {len(shown)}" if hidden else alarms,
        "Last run": _moment(last),
        "Last p-value": f"{last['p_value']:.3g}",
        "First run": _moment(runs[0]),
        "Reference": _page.cut(str(last.get("reference", ""))),
        "Lines that are not runs": unreadable or None,
    }
    return {
        "kind": "history",
        "title": f"{name}: drift in {alarms} of {pluralise(len(shown), 'run')}",
        "facts": _page.make_facts(facts, {}),
        "names": features[:_MAX_FEATURES],
        "counts": [counts[feature] for feature in features[:_MAX_FEATURES]],
        "n_features": len(features),
        "hidden": hidden,
        "expected": sum(float(run["alpha"]) for run in shown),
        "runs": [_run(run) for run in shown],
    }


def _moment(run: Mapping[str, Any]) -> str:
    """Return the time of a run to the minute."""
    text = str(run["time"])
    return f"{text[:16].replace('T', ' ')} UTC" if text.endswith("+00:00") else _page.cut(text)


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a run."""
    known = {field: run[field] for field in _SHOWN if field in run}
    return known | {"changes": [str(text) for text in run.get("changes", [])]}
