"""Whether the tests of other tools in `simulations.power` are what these tools compute.

    python -m simulations.power_peers evidently        # needs evidently 0.7
    python -m simulations.power_peers alibi-detect     # needs alibi-detect 0.13 with torch

Runs a tool on the first data sets of every row of that simulation, and compares its p-values, or
its statistic and verdicts, with those of the formulas. pkex is not needed, so each of the tools may
be installed in a separate environment.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from typing import Any

import numpy as np
import pandas as pd

from simulations.power import (
    CHANGES,
    LEVEL,
    LEVELS,
    mmd_rows,
    p_of_column,
    permuted_mmd,
    tables,
)

SETS = 4


def check_evidently(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, float]:
    """Return how far apart the p-values of a data set are."""
    evidently = importlib.import_module("evidently")
    metrics = importlib.import_module("evidently.metrics")
    numbers = [name for name in first.columns if name not in LEVELS]
    definition = evidently.DataDefinition(
        numerical_columns=numbers, categorical_columns=list(LEVELS)
    )
    samples = [
        evidently.Dataset.from_pandas(part, data_definition=definition) for part in (second, first)
    ]
    report = evidently.Report([metrics.ValueDrift(column=name) for name in first.columns])
    drifts = report.run(*samples).dict()["metrics"]
    gaps = [
        abs(float(drift["value"]) - p_of_column(first[name], second[name]))
        for name, drift in zip(first.columns, drifts, strict=True)
    ]
    return {"p-values": max(gaps)}


def check_alibi_detect(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, float]:
    """Return how far apart the statistics of a data set are, and whether the verdicts differ."""
    torch = importlib.import_module("torch")
    detectors: Any = importlib.import_module("alibi_detect.cd")
    X, Z = mmd_rows(first.dropna(), second.dropna())
    torch.manual_seed(0)
    detector = detectors.MMDDrift(
        X.astype(np.float32), backend="pytorch", p_val=LEVEL, n_permutations=199, device="cpu"
    )
    theirs = detector.predict(Z.astype(np.float32))["data"]
    ours = permuted_mmd(X, Z)
    verdict = np.mean(ours >= ours[0] - 1e-12) <= LEVEL
    return {
        "statistic": abs(float(theirs["distance"]) - float(ours[0])),
        "verdicts": float(bool(theirs["is_drift"]) != verdict),
    }


CHECKS = {"evidently": check_evidently, "alibi-detect": check_alibi_detect}


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description="Check the formulas of other tools.")
    parser.add_argument("tool", choices=CHECKS)
    parser.add_argument("--sets", type=int, default=SETS)
    options = parser.parse_args()
    gaps = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in CHANGES:
            gaps += [CHECKS[options.tool](*tables(name, k)) for k in range(options.sets)]
            print(name, gaps[-options.sets :], flush=True)
    print(f"{len(gaps)} data sets; largest difference of")
    for what in gaps[0]:
        differences = [gap[what] for gap in gaps]
        print(f"  {what}: {max(differences):.2g}; different in {np.count_nonzero(differences)}")


if __name__ == "__main__":
    main()
