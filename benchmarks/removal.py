"""What a value costs by the way removed features are replaced.

    python -m benchmarks.removal [--before PYTHON]

What an interventional and a marginal game cost beside a neutral one (game_costs.py), and with
``--before`` what calls cost beside the version in the environment of that interpreter, which
``make build/before/.installed`` builds (before.py). `benchmarks.peers` has interventional values
beside the estimates of other explainers.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.before import compared
from benchmarks.game_costs import measured
from benchmarks.record import config, store


def main(before: str | None) -> None:
    """Measure, print and store."""
    results: dict[str, Any] = {"config": config(), "games": measured()}
    if before is not None:
        results["before"] = compared(before)
    store("removal", results)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--before", metavar="PYTHON", help="of an earlier version of pkex")
        main(parser.parse_args().before)
