"""BLAS with one thread, while pkex has threads or workers of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["single_blas"]

_local = threading.local()
_lock = threading.Lock()
_libraries: Any = None  # looked for once
_users = 0
_limits: Any = None


@contextmanager
def single_blas() -> Iterator[None]:
    """Keep BLAS to one thread while pkex has threads of its own.

    The limit is one of the process: the first call that needs it sets it, the last one takes it
    back, however calls in several threads overlap.
    """
    global _libraries, _users, _limits
    with _lock:
        if _libraries is None:
            _libraries = ThreadpoolController()
        if _users == 0 and _limits is None:
            _limits = _libraries.limit(limits=1, user_api="blas")
        _users += 1
    _local.users = getattr(_local, "users", 0) + 1
    try:
        yield
    finally:
        _local.users -= 1
        with _lock:
            _users -= 1
            if _users == 0:
                _restore()


def _restore() -> None:
    global _limits
    if _limits is not None:
        _limits.restore_original_limits()
        _limits = None


def _before_fork() -> None:
    """Wait for threads that set the limit: the system's loader has a lock that a child keeps."""
    _lock.acquire()


def _after_fork_in_parent() -> None:
    _lock.release()


def _after_fork_in_child() -> None:
    """Forget the other threads, which a forked process does not have.

    The limit that they set is taken back when the next call leaves; BLAS is not touched here, as
    it may have locks of its own.
    """
    global _lock, _users
    _lock = threading.Lock()
    _users = getattr(_local, "users", 0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
