"""The game of shap, and what a game costs by what stands in for absent features."""

from __future__ import annotations

from typing import Any

from benchmarks.page._format import NAMES, difference, figure, table, versions
from benchmarks.record import load

REMOVAL = """\
## The same game as shap

Interventional values of one row with the same 100 background rows, for an SVR with 450 training
points. The percentage is the largest difference to the exact values in one run, relative to the
largest value. Marginal removal is a game of its own: its difference is no error.
(`python -m benchmarks.removal`{versions})

At 10 features `KernelExplainer` goes through all coalitions and is exact; with more it samples. As
it is set by default it then keeps ten features and gives all others the value 0
(`l1_reg="num_features(10)"`): where more than ten matter, as here, that makes nearly all of its
difference. The last line has all features (`l1_reg=False`); what is left there, and with
`PermutationExplainer`, comes from sampling and differs from run to run.
"""


GAME_COSTS = """\
## A game, by what stands in for absent features

Nanoseconds for one pair of points, and one background row where there are rows: 450 points, 100
background rows, an RBF kernel with gamma = 1/d, standard normal data. In brackets how many times as
long as a neutral game of the same size; what is aimed at is at most {most}. A statistic is the sum
over all pairs of one sample, as in MMD and HSIC. (`python -m benchmarks.game_costs`)
"""


def removal(results: dict[str, Any]) -> str:
    """Return times and differences of the interventional game."""
    sizes = [key for key in results if key.startswith("d = ")]
    lines = []
    for name in results[sizes[0]]:
        cells = []
        for size in sizes:
            entry = results[size][name]
            far = "exact" if entry["relative_difference"] < 1e-12 else difference(entry)
            cells.append(f"{figure(1e3 * entry['seconds'])} ms, {far}")
        lines.append([NAMES[name], *cells])
    return table(["", *(size.removeprefix("d = ") + " features" for size in sizes)], lines)


def game_costs(results: dict[str, Any]) -> list[str]:
    """Return what a game costs by the kind of removal, where that was measured."""
    games = dict(results.get("games", {}))
    if not games:
        return []
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


def section() -> list[str]:
    """Return the sections on the game of shap and on what a game costs."""
    results = load("removal")
    return [REMOVAL.format(versions=versions(results)), removal(results), *game_costs(results)]
