"""What calls cost beside an earlier tree of pkex: whether rebuilding the house cost time.

    python -m benchmarks.house path/to/earlier/tree path/to/this/tree

Both trees hold a compiled kernel, as `pip install --no-deps --target TREE .` makes them. They are
measured in turns, each time in a new process with that tree on `PYTHONPATH`, whatever is installed
in editable mode, and the median of the ratios of neighbours is printed. Without paths the times of
the tree in use are printed as JSON. One thread; times are those of the processor, as the machine is
shared, but for the import.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

MOST = 1.05  # of the earlier time, which is called the same
TURNS = 20
POINTS, COLUMNS, ROWS = 450, 50, 100
ENOUGH = 0.1  # seconds of each case in a turn
# An editable installation finds its modules before those on `PYTHONPATH`.
START = (
    "import sys; sys.meta_path = [one for one in sys.meta_path "
    "if 'editable' not in getattr(one, '__module__', '')]; "
)


def cases() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield names and calls."""
    from sklearn.svm import SVR

    import pkex

    rng = np.random.default_rng(0)
    X = rng.normal(size=(POINTS, COLUMNS))
    model = SVR(epsilon=0.0).fit(X, X[:, 0] + 0.1 * rng.normal(size=POINTS))
    explainer = pkex.Explainer(model, n_jobs=1)
    yield "a row", partial(explainer, X[:1])
    yield f"{ROWS} rows", partial(explainer, X[:ROWS])
    yield "interactions of a row", partial(explainer.interactions, X[:1])
    few, other = rng.normal(size=(2, 200, 10))
    yield "mmd", partial(pkex.mmd, few, other, n_jobs=1)
    tested = partial(pkex.mmd, few, other, n_permutations=99, random_state=0, n_jobs=1)
    yield "mmd with permutations", tested


def measured() -> dict[str, float]:
    """Return the shortest times of the tree in use, in seconds."""
    times = {}
    for name, run in cases():
        run()
        best, spent = np.inf, 0.0
        while spent < ENOUGH:
            start = time.process_time()
            run()
            seconds = time.process_time() - start
            best, spent = min(best, seconds), spent + seconds
        times[name] = float(best)
    return times


def run_in(tree: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process that imports pkex from a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or imports would compile in every turn
    command = [sys.executable, *options, "-c", START + code]
    return subprocess.run(command, env=environment, capture_output=True, check=False, text=True)


def check_tree(tree: Path) -> None:
    """Refuse a tree that is not what is imported, or whose kernel is not compiled."""
    code = (
        "import pkex, pkex.games.native._kernel as k; print(pkex.__file__, k.__file__, sep='\\n')"
    )
    result = run_in(tree, code)
    places = result.stdout.splitlines()
    if result.returncode or not all(
        Path(p).resolve().is_relative_to(tree.resolve()) for p in places
    ):
        where = ", ".join(places) or result.stderr.strip().splitlines()[-1]
        raise SystemExit(
            f"pkex and its compiled kernel are not imported from {tree}: {where}. Make a tree that "
            "holds both with pip install --no-deps --target TREE ."
        )


def measured_in(tree: Path) -> dict[str, float]:
    """Return the times of a tree, with that of its import, measured in new processes."""
    result = run_in(tree, "import runpy; runpy.run_module('benchmarks.house', run_name='__main__')")
    result.check_returncode()
    log = run_in(tree, "import pkex", "-X", "importtime")
    log.check_returncode()
    cumulative = log.stderr.splitlines()[-1].split("|")[1]  # of the last line, in microseconds
    return {**json.loads(result.stdout), "import pkex": 1e-6 * float(cumulative)}


def compare(before: Path, now: Path) -> None:
    """Measure both trees in turns and print the median ratios."""
    for tree in (before, now):
        check_tree(tree)
    ratios: dict[str, list[float]] = {}
    best: dict[str, float] = {}
    for _ in range(TURNS):
        earlier, later = measured_in(before), measured_in(now)
        for name, seconds in later.items():
            ratios.setdefault(name, []).append(seconds / earlier[name])
            best[name] = min(best.get(name, np.inf), seconds)
    for name, every in ratios.items():
        median = float(np.median(every))
        print(
            f"{name:<24}{1e6 * best[name]:>12.1f} us, {median:>5.2f} of what it took "
            f"(at most {MOST}: {'yes' if median <= MOST else 'NO'})",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        earlier, this = map(Path, sys.argv[1:])
        compare(earlier, this)
    else:
        with threadpool_limits(1):
            print(json.dumps(measured()))
