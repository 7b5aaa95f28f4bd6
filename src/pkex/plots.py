"""What plots return: the displays of `pkex.output.plots`."""

from __future__ import annotations

from pkex.output.plots import (
    AttributionDisplay,
    Display,
    ImportanceDisplay,
    MarginalsDisplay,
    ShapDisplay,
)

__all__ = [
    "AttributionDisplay",
    "Display",
    "ImportanceDisplay",
    "MarginalsDisplay",
    "ShapDisplay",
]
