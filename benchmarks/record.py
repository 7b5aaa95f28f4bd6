"""How results are stored: as JSON in benchmarks/results, with what they were measured with."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pkex
from pkex._util.files import write_whole

__all__ = ["config", "load", "store"]

RESULTS = Path(__file__).parent / "results"


def config(*peers: str) -> dict[str, str]:
    """Return how pkex was built, what it runs on, and the versions of other packages."""
    return pkex.show_config("dicts") | {name: version(name) for name in peers}


def load(name: str) -> dict[str, Any]:
    """Return the stored results of a benchmark."""
    results: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return results


def store(name: str, results: dict[str, Any]) -> None:
    """Write the results of a benchmark, whole or not at all."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(results, indent=1) + "\n"
    path = RESULTS / f"{name}.json"
    write_whole(path, lambda file: file.write(text.encode()), path.name)
