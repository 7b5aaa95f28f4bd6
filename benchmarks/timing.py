"""How everything here is timed: one thread, minimum over repeats, as the machine is shared."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["growth", "peak_memory", "resident", "seconds"]

_ENOUGH = 0.25


def seconds(run: Callable[[], object], *, repeats: int = 7, limit: float = 10.0) -> float:
    """Return the shortest time of a call.

    It is made at least `repeats` times, short ones until a quarter of a second is spent, and no
    more often than fits in `limit`.
    """
    best, spent, count = np.inf, 0.0, 0
    while count < repeats or spent < _ENOUGH:
        count += 1
        start = time.perf_counter()
        run()
        elapsed = time.perf_counter() - start
        best, spent = min(best, elapsed), spent + elapsed
        if spent > limit:
            break
    return float(best)


def growth(times: dict[int, float], small: int, large: int) -> float | None:
    """Return the exponent p of ``time ~ size^p`` between two sizes, where both were measured."""
    if small not in times or large not in times:
        return None
    return float(np.log(times[large] / times[small]) / np.log(large / small))


def peak_memory(run: Callable[[], object]) -> float:
    """Return by how many MB the resident memory rose at its peak during a call, on Linux."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the earlier peak
    before = _status("VmRSS")
    run()
    return max(0.0, (_status("VmHWM") - before) / 1e3)


def resident() -> float:
    """Return the largest resident memory of this process so far, in MB, on Linux."""
    return _status("VmHWM") / 1e3


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith(field)).split()[1])
