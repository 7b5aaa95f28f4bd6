"""What annotations do not allow, or do not know."""

from __future__ import annotations

from typing import Any


def unchecked(value: Any) -> Any:
    """Return the value without a type: a wrong argument, or an object of a narrower class."""
    return value
