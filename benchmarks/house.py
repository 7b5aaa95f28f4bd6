"""What calls cost beside an earlier source tree of pkex: whether rebuilding the house cost time.

    python -m benchmarks.house path/to/earlier/src [path/to/this/src]

Both trees need a compiled kernel. They are measured in turns, each time in a new process with that
tree on `PYTHONPATH`, and the median of the ratios of neighbours is printed. Without paths the
times of the tree in use are printed as JSON. One thread; times are those of the processor, as the
machine is shared, but for the import.
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


def measured_in(tree: Path) -> dict[str, float]:
    """Return the times of a tree, with that of its import, measured in new processes."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or imports would compile in every turn
    runs = [sys.executable, "-m", "benchmarks.house"], [sys.executable, "-X", "importtime", "-c"]
    output = subprocess.run(runs[0], env=environment, stdout=subprocess.PIPE, check=True).stdout
    log = subprocess.run(
        [*runs[1], "import pkex"], env=environment, stderr=subprocess.PIPE, check=True, text=True
    ).stderr
    cumulative = log.splitlines()[-1].split("|")[1]  # of the last line, in microseconds
    return {**json.loads(output), "import pkex": 1e-6 * float(cumulative)}


def compare(before: Path, now: Path) -> None:
    """Measure both trees in turns and print the median ratios."""
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
        here = Path(__file__).resolve().parents[1] / "src"
        compare(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else here)
    else:
        with threadpool_limits(1):
            print(json.dumps(measured()))
