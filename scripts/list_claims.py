"""List every measured figure of the documentation, with the command that gives it.

    python scripts/list_claims.py

A measured figure is a number with a unit of time or memory, or a number of times, outside of code.
It needs a command in its section, such as `python -m benchmarks.peers`. Lines end with the file of
results that the command stores, if there is one: tests make those pages anew and compare them. The
script fails where a figure has no command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
EXEMPT = {"changelog.md", "contributing.md", "mathematics.md"}  # history, and proofs

_FIGURE = re.compile(
    r"(?<![\w.])[\d.,]+ ?(?:ns|us|µs|ms|s|seconds|minutes|MB|GB|MiB|GiB)\b(?!\w)"
    r"|(?<![\w.])[\d.,]+(?: to [\d.,]+)? times as (?:fast|long|much|large)"
)
_COMMAND = re.compile(r"`((?:python\s+-m\s|python\s|make\s)[\w.\-/ ]+)`")
_CODE = re.compile(r"^```.*?^```|<!--.*?-->", re.MULTILINE | re.DOTALL)


class Claim(NamedTuple):
    """A measured figure, where it is, and the commands that its section names."""

    page: str
    line: int
    figure: str
    commands: tuple[str, ...]


def pages() -> list[Path]:
    """Return the pages that people read."""
    found = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [page for page in found if page.name not in EXEMPT]


def _spaced(command: str) -> str:
    return " ".join(command.split())


def claims(page: Path) -> Iterator[Claim]:
    """Yield the measured figures of a page."""
    text = page.read_text(encoding="utf-8")
    text = _CODE.sub(lambda code: "\n" * code.group().count("\n"), text)
    start = 1
    for section in re.split(r"(?m)^(?=#)", text):
        commands = tuple(dict.fromkeys(map(_spaced, _COMMAND.findall(section))))
        for number, line in enumerate(section.split("\n"), start):
            bare = re.sub(r"`[^`]*`", "", line)
            for figure in _FIGURE.findall(bare):
                yield Claim(page.relative_to(ROOT).as_posix(), number, figure, commands)
        start += section.count("\n")


def stored(command: str) -> str:
    """Return the file in which a benchmark stores its results, or nothing."""
    name = command.split()[-1].rpartition(".")[2].removeprefix("bench-")
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return path.relative_to(ROOT).as_posix() if path.is_file() else ""


def main() -> int:
    """Print the list; return 1 where a figure has no command."""
    every = [claim for page in pages() for claim in claims(page)]
    for claim in every:
        files = " ".join(filter(None, map(stored, claim.commands)))
        source = "; ".join(claim.commands) or "NO COMMAND"
        print(f"{claim.page}:{claim.line}: {claim.figure}: {source} {files}".rstrip())
    missing = sum(not claim.commands for claim in every)
    print(f"{len(every)} figures, {missing} without a command")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
