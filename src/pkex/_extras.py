"""Libraries that are extras: imported where they are used, with a sentence where they are not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["optional"]


def optional(module: str, requirement: str) -> Any:
    """Import a module that is needed only here, or say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise ImportError(
            f'this needs {module}, which is not installed: pip install "{requirement}".'
        ) from error
