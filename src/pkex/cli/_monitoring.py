"""What ``pkex drift`` leaves behind for those who watch it: a history of runs, and metrics.

The history has one line of JSON for each run, and a page beside it that draws all of them. Metrics
are a file in the OpenMetrics text format with the last run alone. Both are checked before the work
and written after it; an error leaves them as they were.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pkex
from pkex._util.files import write_atomically
from pkex.cli._options import DriftOptions

__all__ = ["Monitor", "openmetrics", "read_history"]

_FORMAT = "pkex.history"
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "time": str,
    "drift": bool,
    "p_value": (int, float),
    "alpha": (int, float),
    "significant": list,
    "headline": str,
}
"""What every run has, and the page of the history needs."""


class Monitor:
    """The files that runs are reported to, as the options name them.

    Parameters
    ----------
    options : DriftOptions
        Of which `history` and `metrics` count.
    """

    def __init__(self, options: DriftOptions) -> None:
        self.history, self.metrics = options.history, options.metrics
        for option, path in (("--history", self.history), ("--metrics", self.metrics)):
            if path is not None:
                _check(option, path)
        self.page = None if self.history is None else self.history.with_suffix(".html")
        if self.history is not None:
            if self.page == self.history:
                raise ValueError(
                    f"--history {self.history} would be its own page: name it e.g. "
                    f"{self.history.with_suffix('.jsonl')}."
                )
            read_history(self.history)
        if self.metrics is not None and self.metrics in (self.history, self.page):
            raise ValueError(f"--history and --metrics both write {self.metrics}: name another.")

    def report(self, inputs: Mapping[str, Any], result: Mapping[str, Any], headline: str) -> None:
        """Add a run to the history and its page, and write its metrics."""
        now = datetime.now(UTC)
        if self.history is not None and self.page is not None:
            from pkex.output.report.history import write_history

            _append(self.history, _run(now, inputs, result, headline))
            runs, unreadable = read_history(self.history)
            write_history(runs, self.page, name=self.history.stem, unreadable=unreadable)
        if self.metrics is not None:
            text = openmetrics(self.metrics.stem, now.timestamp(), inputs, result)
            content = text.encode()
            write_atomically(self.metrics, lambda file: file.write(content), "drift.prom")


def _check(option: str, path: Path) -> None:
    """Refuse a file that cannot be written."""
    if path.is_dir():
        raise ValueError(f"{option} {path} is a directory, but the name of a file is needed.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"there is no directory {path.parent} for {option} {path.name}.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ValueError(f"there is no permission to write {path}, which {option} names.")


def _run(
    now: datetime, inputs: Mapping[str, Any], result: Mapping[str, Any], headline: str
) -> dict[str, Any]:
    """Return the line of a run; fields of summary.json keep their names."""
    same = (
        "drift",
        "p_value",
        "alpha",
        "statistic",
        "p_statistic",
        "n_permutations",
        "significant",
    )
    return {
        "format": _FORMAT,
        "version": 1,
        "pkex": pkex.__version__,
        "time": now.isoformat(timespec="seconds"),
        "reference": inputs["reference"]["path"],
        "current": inputs["current"]["path"],
        "rows": [inputs[table]["rows"] for table in ("reference", "current")],
        "headline": headline,
        **{name: result[name] for name in same},
        "changes": [change["sentence"] for change in result["changes"]],
    }


def _append(path: Path, run: Mapping[str, Any]) -> None:
    """Append a line in one piece, after the end of a line that another run did not finish."""
    line = json.dumps(run, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            line = line if file.read(1) == b"\n" else b"\n" + line
        file.write(line)


def read_history(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the runs of a history, the oldest first, and how many lines cannot be read.

    A file that is not there has no runs. One in which no line is a run is refused, so that nothing
    is appended to another kind of file.
    """
    runs, unreadable = [], 0
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    for line in text.splitlines():
        try:
            run = json.loads(line)
        except ValueError:
            run = None
        if _is_run(run):
            runs.append(run)
        else:
            unreadable += bool(line.strip())
    if unreadable and not runs:
        raise ValueError(f"{path} is not a history of pkex: none of its lines is a run.")
    return runs, unreadable


def _is_run(run: Any) -> bool:
    """Return whether a line of a history is a run that its page can draw."""
    return (
        isinstance(run, dict)
        and run.get("format") == _FORMAT
        and all(isinstance(run.get(name), kind) for name, kind in _FIELDS.items())
        and 0.0 < run["p_value"] <= 1.0
        and 0.0 < run["alpha"] < 1.0
        and isinstance(run.get("changes", []), list)
        and all(isinstance(name, str) for name in run["significant"])
    )


def openmetrics(
    monitor: str, timestamp: float, inputs: Mapping[str, Any], result: Mapping[str, Any]
) -> str:
    """Return a run in the OpenMetrics text format, which Prometheus and its exporters read.

    Every sample has the label `monitor`, so that files of several monitors go together. Paths are
    not labels: those of batches change, and every new one would be a new time series.
    """
    families: list[tuple[str, str, str, list[tuple[dict[str, str], float]]]] = [
        ("drift", "", "Whether drift was detected.", [({}, float(result["drift"]))]),
        ("drift_p_value", "", "p-value of the overall test.", [({}, result["p_value"])]),
        ("drift_alpha", "", "Significance level.", [({}, result["alpha"])]),
        ("drift_statistic", "", "Squared MMD of all features.", [({}, result["statistic"])]),
        (
            "drift_rows",
            "",
            "Rows compared.",
            [({"table": name}, inputs[name]["rows"]) for name in ("reference", "current")],
        ),
    ]
    features = {one["name"]: one for one in result["features"]}
    for name, text, read in (
        ("significant", "Whether the feature is significant.", None),
        ("contribution", "Contribution to the statistic.", "contribution"),
        ("p_adjusted", "Adjusted p-value of the contribution.", "p_adjusted"),
        ("p_univariate_adjusted", "Adjusted p-value by itself.", "p_univariate_adjusted"),
    ):
        samples = [
            (
                {"feature": feature},
                float(feature in result["significant"]) if read is None else entry[read],
            )
            for feature, entry in features.items()
            if read is None or entry.get(read) is not None
        ]
        families.append((f"drift_feature_{name}", "", text, samples))
    last = "drift_last_run_timestamp_seconds"
    families.append((last, "seconds", "Unix time of the run.", [({}, round(timestamp, 3))]))
    lines = [line for family in families for line in _family(monitor, *family)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(
    monitor: str, name: str, unit: str, text: str, samples: list[tuple[dict[str, str], float]]
) -> Iterator[str]:
    """Yield the lines of a metric."""
    full = f"pkex_{name}"
    yield f"# TYPE {full} gauge"
    if unit:
        yield f"# UNIT {full} {unit}"
    yield f"# HELP {full} {text}"
    for labels, value in samples:
        pairs = ({"monitor": monitor} | labels).items()
        inside = ",".join(f'{label}="{_escape(entry)}"' for label, entry in pairs)
        yield f"{full}{{{inside}}} {_number(value)}"


def _escape(text: str) -> str:
    return (
        re.sub(r"\r\n?", "\n", text).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    )


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0.0 else "-Inf"
    return (
        str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    )
