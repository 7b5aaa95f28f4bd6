"""Messages of the commands, by Python's logging: on stderr, and with ``--log`` in a file.

All go to the logger ``pkex.cli``: notes at level INFO, warnings and detected drift at WARNING, what
ends a command at ERROR. A program that calls `pkex.cli.main` gets them through its own handlers.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pkex._util.terminal import escape_controls, wrap_lines

__all__ = ["LOGGER", "follow", "log_to_stderr"]

LOGGER = logging.getLogger("pkex.cli")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class _Stderr(logging.Handler):
    """Prints messages as people read them, in the width of the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, "result"):  # it stands on stdout
            return
        text = escape_controls(record.getMessage())
        start = "Error: " if record.levelno >= logging.ERROR else ""
        print(wrap_lines(start + text, sys.stderr), file=sys.stderr)


class _Formatter(logging.Formatter):
    """One line for a message, with its time in UTC."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        return time.strftime(datefmt or _TIME, time.gmtime(record.created))

    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))


@contextmanager
def log_to_stderr() -> Iterator[None]:
    """Print messages on stderr until the end; afterwards the logger is as it was."""
    level, handlers = LOGGER.level, list(LOGGER.handlers)
    LOGGER.setLevel(logging.INFO)
    LOGGER.addHandler(_Stderr())
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        for handler in LOGGER.handlers[:]:
            if handler not in handlers:
                LOGGER.removeHandler(handler)
                handler.close()


def follow(talks: bool, path: Path | None) -> None:
    """Print errors only unless the command `talks`; append all messages to a file, if one is given.

    The file is opened at once, before long work.
    """
    for handler in LOGGER.handlers:
        if isinstance(handler, _Stderr):
            handler.setLevel(logging.INFO if talks else logging.ERROR)
    if path is not None:
        try:
            handler = logging.FileHandler(path, encoding="utf-8")
        except OSError as error:
            raise ValueError(f"cannot write the log {path} ({error.strerror}).") from error
        handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s"))
        LOGGER.addHandler(handler)
