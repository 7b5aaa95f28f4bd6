"""Which hot loop runs: the native kernel where it was compiled, else the one in NumPy.

``PKEX_BACKEND=numpy`` forces NumPy, ``PKEX_BACKEND=native`` refuses to go on without the native
kernel; it is read once for every sum over pairs, so a test can switch. `show_config` tells what is
in use.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, overload

import numpy as np

from pkex._util.types import Players
from pkex._util.validation import brief
from pkex.games import numpy_backend
from pkex.games.protocols import Game
from pkex.games.rules import Ladder
from pkex.kernels.normal_form import Term

__all__ = ["Backend", "game_class", "native", "show_config"]

Config = dict[str, str]
Backend = Callable[[Term, Players, Ladder], Game]


def game_class() -> Backend:
    """Return the class whose `explain` is the hot loop."""
    compiled = native()
    return numpy_backend.NumPyGame if compiled is None else compiled.GAME


def native() -> Any:
    """Return what was compiled, as `_compiled` has it, or None where NumPy is to be used."""
    choice = os.environ.get("PKEX_BACKEND") or "auto"
    if choice not in ("auto", "native", "numpy"):
        raise ValueError(
            f"PKEX_BACKEND is {choice!r}; it can be 'auto', 'native' or 'numpy', or be left unset."
        )
    if choice == "numpy":
        return None
    from pkex.games import _compiled  # not before it is asked for

    if _compiled.GAME is not None:
        return _compiled
    if choice == "native":
        raise ImportError(
            "PKEX_BACKEND asks for the native kernel, but pkex was installed without it; "
            "install it again where a C++17 compiler is found, or unset PKEX_BACKEND."
        ) from _compiled.MISSING
    return None


@overload
def show_config(mode: Literal["stdout"] = ...) -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> Config: ...
def show_config(mode: Literal["stdout", "dicts"] = "stdout") -> Config | None:
    """Print how pkex was built and what it runs on, or return it as a dictionary.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Whether to print or to return, as in `numpy.show_config`.

    Examples
    --------
    >>> import pkex
    >>> sorted(pkex.show_config("dicts"))[:3]
    ['backend', 'compiler', 'instruction set']
    """
    if not isinstance(mode, str) or mode not in ("stdout", "dicts"):
        raise ValueError(f"mode must be 'stdout' or 'dicts', got {brief(mode)}.")
    compiled = native()
    built = {} if compiled is None else compiled.config()
    config = {
        "pkex": import_module("pkex").__version__,
        "backend": "numpy" if compiled is None else "native",
        "compiler": built.get("compiler", "none"),
        "instruction set": built.get("isa", "as NumPy chooses"),
        "instruction sets built": ", ".join(built.get("isas", ["none"])),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }
    if mode == "dicts":
        return config
    for name, value in config.items():
        print(f"{name:<24}{value}")
    return None
