"""Write the pages, the figure and the comparison in the README, each whole or not at all."""

from __future__ import annotations

from pathlib import Path

from benchmarks.page import page, readme, wide_and_long
from benchmarks.page.figure import draw
from pkex._util.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]


def write(path: Path, text: str) -> None:
    """Write a text file."""
    write_atomically(path, lambda file: file.write(text.encode()), path.name)


write(ROOT / "docs" / "benchmarks.md", page())
write(ROOT / "docs" / "wide_and_long.md", wide_and_long())
write(ROOT / "README.md", readme((ROOT / "README.md").read_text(encoding="utf-8")))
draw(ROOT / "docs" / "peers.png")
