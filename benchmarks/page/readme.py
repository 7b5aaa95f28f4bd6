"""The comparison in the README, which has no page around it."""

from __future__ import annotations

import textwrap
from typing import Any

from benchmarks.page._format import figure, machine, versions
from benchmarks.page.peers import dash, estimates, sizes, times
from benchmarks.record import load

SIZES = ("10", "50", "100", "200", "500", "1000")  # fewer than on the page


BEGIN, END = "<!-- made by python -m benchmarks.page -->", "<!-- until here -->"


INTERVENTIONAL = """\
Interventional values of one row with the same 100 background rows, for an SVR with 450 training
points: milliseconds on one thread, minimum over repeats, and the largest error relative to the
largest value (`python -m benchmarks.peers`{versions}; {machine}).{dash}
"""


NEUTRAL = """\
Neutral values, as in the paper, which all of these compute exactly: milliseconds for one row of the
same model (`python -m benchmarks.peers`{versions}; {machine}).{dash}
"""


WORDS = """\
`KernelExplainer` is exact at 10 features. With more it samples, and by default it keeps ten
features and gives all others 0; "all features" is `l1_reg=False`. A row of neutral values costs
{low} to {high} times as much as evaluating its kernel factors alone, for 20 to 1000 features
(`python -m benchmarks.native`; {native}). MMD between two samples of 2000 rows and 50 columns takes
{mmd} s with exact contributions, and {many_mmd} s with 200 permutations; HSIC of 2000 rows takes
{hsic} s, and {many_hsic} s with 200 permutations (`python -m benchmarks.statistics`; {statistics}).
"""


def readme(text: str) -> str:
    """Return the README with its comparison made anew."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{comparison()}\n{END}{after}"


def comparison() -> str:
    """Return the tables and the words of the README."""
    estimated, exact, other = load("interventional"), load("neutral"), load("statistics")
    native = load("native")
    ratios = [e["explain"] / e["evaluate"] for e in native["row_us"].values()]

    def head(words: str, results: dict[str, Any]) -> str:
        facts = {"versions": versions(results), "machine": machine(results), "dash": dash(results)}
        return wrapped(words.format(**facts))

    def chosen(results: dict[str, Any]) -> list[str]:
        return [d for d in sizes(results, "SVR") if d in SIZES]

    words = WORDS.format(
        low=f"{min(ratios):.1f}",
        high=f"{max(ratios):.1f}",
        native=machine(native),
        statistics=machine(other),
        mmd=figure(other["mmd"]["attribution"]),
        many_mmd=figure(other["mmd"]["permutations"]),
        hsic=figure(other["hsic"]["attribution"]),
        many_hsic=figure(other["hsic"]["permutations"]),
    )
    parts = [
        head(INTERVENTIONAL, estimated),
        estimates(estimated, "SVR", chosen(estimated)),
        head(NEUTRAL, exact),
        times(exact, load("exact"), "SVR", chosen(exact)),
        wrapped(words),
    ]
    return "\n".join(parts)


def wrapped(words: str) -> str:
    """Return a paragraph in lines as long as those of the README."""
    return textwrap.fill(words, 138, break_on_hyphens=False) + "\n"
