"""What an experiment is, and how its results are kept.

An experiment computes named parts, each of which is stored as soon as it is there. A run that was
interrupted goes on where it stopped, and what has been computed by then can be looked at.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

import pkex
from pkex._util.files import write_atomically

__all__ = ["Experiment", "Job", "Record", "read", "results", "write"]

Record: TypeAlias = dict[str, Any]  # as in the JSON file


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    Attributes
    ----------
    name : str
        How it is called on the command line; also the name of its file of results.
    title : str
        The heading of its section of the page.
    sizes : mapping of "smoke", "quick" and "full" to parameters
    run : function of a `Job`
        Computes all parts.
    draw : function from a record to figures by name
    section : function from a record to Markdown
        What the paper reports and what was found.
    partial : bool
        Whether an incomplete record can be drawn and described.
    """

    name: str
    title: str
    sizes: Mapping[str, Mapping[str, Any]]
    run: Callable[[Job], None]
    draw: Callable[[Record], dict[str, Figure]]
    section: Callable[[Record], str]
    partial: bool = False


@dataclass
class Job:
    """One run of an experiment: its parameters, where the data are, and what is done already."""

    experiment: Experiment
    parameters: Mapping[str, Any]
    path: Path
    data: Path | None = None
    size: str = "full"
    command: str = ""
    record: Record = field(default_factory=dict)

    def __post_init__(self) -> None:
        parameters = _plain(dict(self.parameters))
        before = read(self.path) if self.path.is_file() else {}
        if before.get("parameters") == parameters and not before["complete"]:
            self.record = before
            return
        self.record = {
            "experiment": self.experiment.name,
            "size": self.size,
            "parameters": parameters,
            "command": self.command,
            "started": _now(),
            "finished": None,
            "complete": False,
            "machine": _machine(),
            "parts": {},
        }

    def part(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the result of a part; compute and store it unless that has been done before."""
        parts = self.record["parts"]
        if name not in parts:
            start = time.perf_counter()
            result = _plain(compute())
            seconds = time.perf_counter() - start
            parts[name] = {"seconds": round(seconds, 3), "result": result}
            write(self.record, self.path)
            print(f"[{self.experiment.name}] {name}: {seconds:.1f} s", flush=True)
        return parts[name]["result"]

    def finish(self) -> Record:
        """Mark the results as complete and return them."""
        self.record |= {"finished": _now(), "complete": True}
        write(self.record, self.path)
        return self.record


def read(path: Path) -> Record:
    """Return the stored results."""
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    return record


def write(record: Record, path: Path) -> None:
    """Store results, whole or not at all."""
    text = json.dumps(record, indent=1, allow_nan=False)
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = (text + "\n").encode()  # a list of numbers is one line
    write_atomically(path, lambda file: file.write(content), path.name)


def results(record: Record, prefix: str = "") -> dict[str, Any]:
    """Return the results of the parts whose names start with `prefix`, by the rest of the name."""
    parts = record["parts"].items()
    return {name[len(prefix) :]: part["result"] for name, part in parts if name.startswith(prefix)}


def _plain(value: Any) -> Any:
    """Return arrays as lists and what is not finite as None, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _machine() -> dict[str, Any]:
    return {"processor": platform.machine(), "cores": os.cpu_count()} | pkex.show_config("dicts")
