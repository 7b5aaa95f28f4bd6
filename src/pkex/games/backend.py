"""Which backend runs: the compiled one where there is one, else NumPy.

``PKEX_BACKEND=numpy`` forces NumPy, ``PKEX_BACKEND=native`` raises without the compiled backend; it
is read once for every sum over pairs, so a test can switch. `show_config` prints what is in use.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from functools import cache
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
    """Return the class of games of the backend in use."""
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
    compiled = _load_compiled()
    if compiled.GAME is not None:
        return compiled
    if choice == "native":
        raise ImportError(
            "PKEX_BACKEND asks for the compiled backend, but pkex was installed without it; "
            "install it again where a C++17 compiler is found, or unset PKEX_BACKEND."
        ) from compiled.MISSING
    return None


@cache
def _load_compiled() -> Any:
    """Return the module of what was compiled, which is not imported before it is asked for."""
    return import_module("pkex.games._compiled")


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

    Returns
    -------
    dict or None
        Names and values with ``mode="dicts"``; else nothing.

    See Also
    --------
    numpy.show_config : The same for NumPy.

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
