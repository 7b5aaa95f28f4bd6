"""Long files on the command line: memory, an interruption, and a test that answers in a minute.

    python -m benchmarks.streaming                # all rows: some minutes
    python -m benchmarks.streaming --rows 100000  # to try it out

``pkex explain`` on 2 million rows of 20 columns as Parquet is run once as a whole, and once more,
killed by SIGKILL when half of its parts are there and resumed; the files of both are compared byte
by byte. ``pkex drift`` compares two tables of 200 000 rows of 20 columns. The tables are made here.
Times are of the clock, with what the processor was at work beside them; memory is the largest
resident set of the process (``ru_maxrss``), which on Linux is not below that of the process that
started it: so files are compared by their digests, and this one stays small.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import config, store
from pkex.tables.parts import hash_file

__all__ = ["main"]

NAME = "streaming"
ROWS, COLUMNS, PART = 2_000_000, 20, 13_107  # the latter is what 20 columns make of a part
DRIFT_ROWS = 200_000
SAME = (
    "values.parquet",
    "report.html",
    "interactions.parquet",
    "interactions.npz",
    "summary.json",
)


def table(path: Path, n_rows: int, seed: int, shift: float = 0.0) -> None:
    """Write a table of random numbers, a part at a time."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(COLUMNS)]
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, 100_000):
            X = rng.normal(size=(min(100_000, n_rows - start), COLUMNS))
            X[:, 0] += shift
            writer.write_table(pyarrow.table(dict(zip(names, X.T, strict=True)), schema=schema))


def model(path: Path) -> None:
    """Write a support vector machine."""
    import pandas
    import skops.io
    from sklearn.svm import SVR

    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(300, COLUMNS)), columns=[f"c{i}" for i in range(COLUMNS)])
    y = X["c0"] + X["c1"] * X["c2"]
    skops.io.dump(SVR(gamma=0.5 / COLUMNS, epsilon=0.5).fit(X, y), path)


def started(folder: Path, *args: str) -> subprocess.Popen[bytes]:
    """Start the command line in a folder."""
    command = [sys.executable, "-m", "pkex", *args, "--quiet"]
    return subprocess.Popen(command, cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1"})


def finished(process: subprocess.Popen[bytes], start: float) -> dict[str, float]:
    """Wait for a process, and return how long it took and how much memory."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "code": process.returncode,
        "seconds": time.perf_counter() - start,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss / 1e3,
    }


def explain(folder: Path, n_rows: int, *more: str) -> dict[str, Any]:
    """Explain a table whole and with an interruption, and compare the files."""
    model(folder / "model.skops")
    table(folder / "rows.parquet", n_rows, 1)
    args = ["explain", "model.skops", "rows.parquet", "--format", "parquet", *more]
    args += ["--part-rows", str(PART)]
    start = time.perf_counter()
    whole = finished(started(folder, *args, "--out", "whole"), start)
    start = time.perf_counter()
    process, parts = started(folder, *args, "--out", "again"), folder / "again.pkex-parts"
    while (done := len(list(parts.glob("*.parquet")))) < n_rows / PART / 2:
        if (folder / "again").exists():
            raise RuntimeError("the run was done before it could be killed: take more rows.")
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    killed = finished(process, start)
    start = time.perf_counter()
    resumed = finished(started(folder, *args, "--out", "again", "--resume"), start)
    names = [name for name in SAME if (folder / "whole" / name).exists()]
    same = [len({hash_file(folder / run / n) for run in ("whole", "again")}) == 1 for n in names]
    return {
        "rows": n_rows,
        "columns": COLUMNS,
        "whole": whole | {"rows_per_second": n_rows / whole["seconds"]},
        "killed": killed | {"parts": done},
        "resumed": resumed,
        "memory": max(whole["memory"], killed["memory"], resumed["memory"]),
        "compared": names,
        "same": all(same),
    }


def _summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return found


def drift(folder: Path, n_rows: int, kind: str) -> dict[str, Any]:
    """Compare two tables, one column of which is shifted a little."""
    import pandas

    names = []
    for number, shift in enumerate((0.0, 0.1)):
        path = folder / f"{number}.parquet"
        table(path, n_rows, 10 + number, shift)
        if kind == "csv":
            pandas.read_parquet(path).to_csv(path.with_suffix(".csv"), index=False)
        names.append(path.with_suffix(f".{kind}").name)
    start = time.perf_counter()
    found = finished(started(folder, "drift", *names, "--out", f"drift-{kind}"), start)
    summary = _summary(folder / f"drift-{kind}")
    said = [note for note in summary["notes"] if "sample" in note]
    return found | {"rows": n_rows, "drift": summary["result"]["drift"], "said": said}


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--interactions", action="store_true", help="with all pairs; not stored")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found: dict[str, Any] = {"config": config("pandas", "pyarrow")}
        more = ["--interactions"] if asked.interactions else []
        found["explain"] = explain(Path(place), asked.rows, *more)
        print(json.dumps(found["explain"], indent=1), flush=True)
        for kind in ("parquet", "csv"):
            found[kind] = drift(Path(place), min(DRIFT_ROWS, asked.rows), kind)
            print(json.dumps(found[kind], indent=1), flush=True)
    if asked.rows == ROWS and not asked.interactions:
        store(NAME, found)


if __name__ == "__main__":
    main()
