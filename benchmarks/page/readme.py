"""The comparison in the README, which has no page around it."""

from __future__ import annotations

import textwrap

from benchmarks.page._format import machine, versions
from benchmarks.page.peers import dash, estimates, sizes
from benchmarks.record import load

SIZES = ("10", "50", "100")  # fewer than on the page


BEGIN, END = "<!-- made by python -m benchmarks.page -->", "<!-- until here -->"


INTERVENTIONAL = """\
Interventional values of one row with the same 100 background rows, for an SVR with 450 training
points: milliseconds on one thread, minimum over repeats, and the largest error relative to the
largest value (`python -m benchmarks.peers --game interventional`{versions}; {machine}).{dash}
"""


WORDS = """\
`KernelExplainer` is exact at 10 features. With more it samples, and by default it keeps ten
features and gives all others 0; "all features" is `l1_reg=False`. Errors are differences to pkex's
values, which full enumeration confirms where it is feasible, at 10 features.
"""


def readme(text: str) -> str:
    """Return the README with its comparison made anew."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{comparison()}\n{END}{after}"


def comparison() -> str:
    """Return the table and the words of the README."""
    results = load("interventional")
    facts = {"versions": versions(results), "machine": machine(results), "dash": dash(results)}
    chosen = [d for d in sizes(results, "SVR") if d in SIZES]
    parts = [
        wrapped(INTERVENTIONAL.format(**facts)),
        estimates(results, "SVR", chosen),
        wrapped(WORDS),
    ]
    return "\n".join(parts)


def wrapped(words: str) -> str:
    """Return a paragraph in lines as long as those of the README."""
    return textwrap.fill(words, 138, break_on_hyphens=False) + "\n"
