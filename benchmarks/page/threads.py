"""The speed-up by a second thread."""

from __future__ import annotations

from benchmarks.page._format import figure, table
from benchmarks.record import load

THREADS = """\
## Threads

Milliseconds of calls with `n_jobs=1` and `n_jobs=2` on two cores, BLAS with one thread in both, and
of the latter the serial part, outside of tasks. A call of a few milliseconds stays on its thread.
Interactions, sparse rows and posterior draws in a sensitivity are in part many short NumPy steps,
between which threads wait for the interpreter: two gain less there. Results are the same to the
last bit. (`python -m benchmarks.threads`)
"""


MEMORY = """
Explaining 4 rows of a model of 5000 points and 200 columns with 1000 background rows takes
{one:.0f} MB with one thread, and {eight:.0f} MB with eight, the whole process counted.
"""


def section() -> list[str]:
    """Return the section on threads."""
    results = load("threads")
    lines = [
        [
            name,
            *(figure(1e3 * times[key]) for key in ("one", "two")),
            f"{times['speed-up']:.2f}",
            figure(1e3 * times["around"]),
        ]
        for name, times in results["calls"].items()
    ]
    head = ["", "one thread, ms", "two threads, ms", "speed-up", "serial part, ms"]
    parts = [THREADS, table(head, lines)]
    memory = results["memory"]
    return [*parts, MEMORY.format(one=memory["1"], eight=memory["8"])] if memory else parts
