"""Ctrl-C and SIGTERM: leave at once, or clean up first while files are being written."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["clean_up_first", "leave_at_once"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def leave_at_once() -> None:
    """Make the signals end the process without waiting for threads that are in long work.

    Nothing is lost: a command keeps its results in memory until it writes all of them.
    """
    for number in _SIGNALS:
        signal.signal(number, _leave)


@contextmanager
def clean_up_first() -> Iterator[None]:
    """Make the signals exceptions, so that what is under way is undone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(number, _raise) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in zip(_SIGNALS, before, strict=True):
            signal.signal(number, handler)


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.stderr.write("\nInterrupted.\n")
    sys.stderr.flush()
    os._exit(128 + number)


def _raise(number: int, _frame: FrameType | None) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)
