"""The comparison in the README, which has no page around it."""

from __future__ import annotations

import textwrap

from benchmarks.page._format import difference, figure, versions
from benchmarks.page.peers import AMONG, DEFAULT, DEFAULT_AMONG, named, peers
from benchmarks.record import load

NOTES = {
    DEFAULT: " (`--exact`)",
    DEFAULT_AMONG: " (`--exact`)",
    AMONG: " (`--exact`)",
    "shapiq ProductKernel": ", the same game",
    "shap Permutation": ", 100 background rows, an estimate",
    "shap Sampling": ", the same",
    "shap Kernel": ", the same",
}


BEGIN, END = "<!-- made by python -m benchmarks.page -->", "<!-- until here -->"


TABLE = """\
Milliseconds for one row of an SVR with 450 training points, one thread, minimum over repeats
(`python -m benchmarks.peers`{versions}; a dash where a row was expected to take more than
{limit:g} s):
"""


WORDS = """\
With the same 100 background rows, that is on shap's own game, pkex takes {ours} ms for a row of 50
features and is exact; `PermutationExplainer` takes {permutation} of the largest value, and
`KernelExplainer` with `l1_reg=False` takes {kernel}. As it is set by default, `KernelExplainer`
keeps ten features and gives all others 0, which here puts it off by {default}
(`python -m benchmarks.removal`{versions}). A row costs {low} to {high} times as much as evaluating
its kernel factors alone, for 20 to 1000 features (`python -m benchmarks.native`). MMD between two
samples of 2000 rows and 50 columns takes {mmd} s with exact shares, and {many_mmd} s with 200
permutations; HSIC of 2000 rows takes {hsic} s, and {many_hsic} s with 200 permutations
(`python -m benchmarks.statistics`).
"""


def readme(text: str) -> str:
    """Return the README with its comparison made anew."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{comparison()}\n{END}{after}"


def comparison() -> str:
    """Return the table and the words of the README."""
    results, same_game, other = load("peers"), load("removal"), load("statistics")
    lines = [[*line[:2], *line[3:]] for line in peers(results, load("exact"), "SVR")]  # fewer sizes
    at_50 = same_game["d = 50"]
    ratios = [e["explain"] / e["evaluate"] for e in load("native")["row_us"].values()]

    def estimate(name: str) -> str:
        return f"{figure(at_50[name]['seconds'])} s and is off by {difference(at_50[name])}"

    limit = float(results["config"]["limit_seconds"])
    head = TABLE.format(versions=versions(results), limit=limit)
    words = WORDS.format(
        ours=figure(1e3 * at_50["pkex interventional"]["seconds"]),
        permutation=estimate("shap Permutation"),
        kernel=estimate("shap Kernel, all features"),
        default=difference(at_50["shap Kernel"]),
        versions=versions(same_game),
        low=f"{min(ratios):.1f}",
        high=f"{max(ratios):.1f}",
        mmd=figure(other["mmd"]["attribution"]),
        many_mmd=figure(other["mmd"]["permutations"]),
        hsic=figure(other["hsic"]["attribution"]),
        many_hsic=figure(other["hsic"]["permutations"]),
    )
    return "\n".join([wrapped(head), named(lines, NOTES), wrapped(words)])


def wrapped(words: str) -> str:
    """Return a paragraph in lines as long as those of the README."""
    return textwrap.fill(words, 138, break_on_hyphens=False) + "\n"
