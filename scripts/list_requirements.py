"""Print what pyproject.toml says pkex and some of its extras need, as requirements for pip.

    python scripts/list_requirements.py [--lowest] [EXTRA ...]

Extras that an extra names are followed. With ``--lowest`` these are the lowest versions, those of
the build among them and of several bounds of one package the highest; `make lowest` runs the tests
with them. `make demo` installs what it needs while the kernel is compiled, and asks for it here.
Nothing is imported but the standard library, as nothing is installed yet.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"

_BOUND = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9][0-9.]*)")
_OURS = re.compile(r"pkex\[([a-z, ]+)\]")


def lowest(project: dict[str, Any], extras: list[str]) -> dict[str, str]:
    """Return the lowest version of every package that the extras need."""
    found: dict[str, str] = {}
    needs = [*project["build-system"]["requires"], *requirements(project, extras)]
    for requirement in needs:
        match = _BOUND.fullmatch(requirement)
        if match is None:
            raise ValueError(
                f"{requirement!r} in pyproject.toml is not of the form name>=version, so that it "
                "does not say which version is the lowest."
            )
        name, bound = match[1].lower(), match[2]
        found[name] = max(found.get(name, "0"), bound, key=_order)
    return found


def requirements(project: dict[str, Any], extras: list[str]) -> list[str]:
    """Return what pkex and the extras need, with extras of pkex followed."""
    optional: dict[str, list[str]] = project["project"]["optional-dependencies"]
    waiting, seen = list(extras), set[str]()
    found = list(project["project"]["dependencies"])
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in optional[extra]:
            ours = _OURS.fullmatch(requirement)
            if ours is None:
                found.append(requirement)
            else:
                waiting += [name.strip() for name in ours[1].split(",")]
    return found


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def main() -> None:
    """Print one requirement a line."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    extras = [word for word in sys.argv[1:] if word != "--lowest"]
    if len(extras) == len(sys.argv[1:]):
        print(*requirements(project, extras), sep="\n")
    else:
        print(*(f"{n}=={v}" for n, v in sorted(lowest(project, extras).items())), sep="\n")


if __name__ == "__main__":
    main()
