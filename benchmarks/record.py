"""How results are stored: as JSON in benchmarks/results, with what they were measured with."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pkex
from pkex._util.files import write_atomically

__all__ = ["config", "load", "store"]

RESULTS = Path(__file__).parent / "results"


def config(*peers: str) -> dict[str, str]:
    """Return how pkex was built, what it runs on and when, and the versions of other packages."""
    measured = {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "date": datetime.now(UTC).date().isoformat(),
    }
    return pkex.show_config("dicts") | measured | {name: version(name) for name in peers}


def processor() -> str:
    """Return what the processor calls itself."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(named), platform.processor() or "unknown")


def load(name: str) -> dict[str, Any]:
    """Return the stored results of a benchmark."""
    results: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return results


def store(name: str, results: dict[str, Any]) -> None:
    """Write the results of a benchmark, whole or not at all."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(results, indent=1) + "\n"
    path = RESULTS / f"{name}.json"
    write_atomically(path, lambda file: file.write(text.encode()), path.name)
