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
from typing import Literal, overload

import numpy as np

from pkex._validation import brief
from pkex.games import numpy_backend
from pkex.games.protocols import Game, Players
from pkex.games.rules import Ladder
from pkex.kernels.algebra import Term

__all__ = ["Backend", "game_class", "show_config"]

Config = dict[str, str]
Backend = Callable[[Term, Players, Ladder], Game]


def game_class() -> Backend:
    """Return the class whose `explain` is the hot loop."""
    choice = os.environ.get("PKEX_BACKEND") or "auto"
    if choice not in ("auto", "native", "numpy"):
        raise ValueError(
            f"PKEX_BACKEND is {choice!r}; it can be 'auto', 'native' or 'numpy', or be left unset."
        )
    if choice == "numpy":
        return numpy_backend.Game
    from pkex.games import _compiled  # not before it is asked for

    native: Backend | None = _compiled.GAME
    if native is not None:
        return native
    if choice == "native":
        raise ImportError(
            "PKEX_BACKEND asks for the native kernel, but pkex was installed without it; "
            "install it again where a C++17 compiler is found, or unset PKEX_BACKEND."
        ) from _compiled.MISSING
    return numpy_backend.Game


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
    native = game_class() is not numpy_backend.Game
    built = import_module("pkex.games._compiled").config() if native else {}
    config = {
        "pkex": import_module("pkex").__version__,
        "backend": "native" if native else "numpy",
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
