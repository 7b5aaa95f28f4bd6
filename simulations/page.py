"""The page on p-values, docs/p_values.md, from what the simulations stored.

python -m simulations.page
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

from pkex._util.files import write_atomically

ROOT = Path(__file__).parent.parent
SIMULATIONS = ("null_uniformity", "column_levels", "change", "power")
HEAD = """# Type I error of per-feature p-values

<!-- made by python -m simulations.page -->

A test should reject a true null hypothesis no more often than its significance level says. These
simulations check that for the statistic and for every feature.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for name in SIMULATIONS:
        stored = (ROOT / "simulations" / f"{name}.json").read_text(encoding="utf-8")
        parts.append(import_module(f"simulations.{name}").section(json.loads(stored)))
    return "\n".join(parts)


def write(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_atomically(path, lambda file: file.write(text.encode()), path.name)


def write_page() -> None:
    """Write the page."""
    write(ROOT / "docs" / "p_values.md", page())


if __name__ == "__main__":
    write_page()
