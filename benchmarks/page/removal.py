"""What a game costs, by what replaces removed features."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import figure, table
from benchmarks.record import load

GAME_COSTS = """\
## Cost of a pair of points, by removal

Nanoseconds for one pair of points, and one background row where there are rows: 450 points, 100
background rows, an RBF kernel with gamma = 1/d, standard normal data. In brackets: how many times
as long as with neutral removal; the aim is at most {most}. A statistic is the sum
over all pairs of one sample, as in MMD and HSIC. (`python -m benchmarks.game_costs`)
"""

BEFORE = """\
Compared with the version before other removals used [series](mathematics.md) in signed exponents,
for the kernels that gain least from them: how many times as long a call takes now, with 20 and with
100 features. Timings scatter by a few hundredths. (`python -m benchmarks.removal --before PYTHON`)
"""


def game_costs(results: dict[str, Any]) -> list[str]:
    """Return what a game costs by the kind of removal."""
    games = dict(results["games"])
    most = games.pop("most")
    lines = []
    for name in next(iter(games.values()))["nanoseconds"]:
        cells = []
        for found in games.values():
            ratio = found["ratios"].get(name)
            beside = "" if ratio is None else f" ({ratio:.2f})"
            cells.append(figure(found["nanoseconds"][name]) + beside)
        lines.append([name, *cells])
    return [GAME_COSTS.format(most=most), table(["features", *games], lines)]


def before(results: dict[str, Any]) -> list[str]:
    """Return how long calls take beside an earlier version."""
    cases = results["before"]["cases"]
    lines: dict[str, dict[str, list[str]]] = {}
    for key, times in cases.items():
        name, _, kind = key.rsplit(", ", 2)
        lines.setdefault(name, {}).setdefault(kind, []).append(f"{times['ratio']:.2f}")
    kinds = list(next(iter(lines.values())))
    rows = [[name, *("; ".join(found[kind]) for kind in kinds)] for name, found in lines.items()]
    return [BEFORE, table(["", *kinds], rows)]


def section() -> list[str]:
    """Return the section on what a game costs."""
    results = load("removal")
    return [*game_costs(results), *before(results)]
