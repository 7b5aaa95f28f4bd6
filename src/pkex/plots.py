"""What plots return: the displays of `pkex.output`."""

from __future__ import annotations

from pkex.output.interaction_plots import HeatmapDisplay, NetworkDisplay, PairDisplay
from pkex.output.plots import AttributionDisplay, Display, ImportanceDisplay, MarginalsDisplay
from pkex.output.shap_plots import ShapDisplay

__all__ = [
    "AttributionDisplay",
    "Display",
    "HeatmapDisplay",
    "ImportanceDisplay",
    "MarginalsDisplay",
    "NetworkDisplay",
    "PairDisplay",
    "ShapDisplay",
]
