"""What plots return: the displays of `pkex.output`; and the style of pictures drawn by hand."""

from __future__ import annotations

from pkex.output.displays.beeswarm import BeeswarmDisplay
from pkex.output.displays.cohorts import CohortsDisplay
from pkex.output.displays.decision import DecisionDisplay
from pkex.output.displays.dependence import DependenceDisplay
from pkex.output.displays.heatmap import HeatmapDisplay
from pkex.output.displays.interactions import InteractionsDisplay, NetworkDisplay
from pkex.output.displays.pair import PairDisplay
from pkex.output.displays.panel import ExplanationDisplay
from pkex.output.displays.sensitivity import PairsDisplay, SensitivityDisplay
from pkex.output.displays.waterfall import RowDisplay, WaterfallDisplay
from pkex.output.plots import AttributionDisplay, Display, ImportanceDisplay, MarginalsDisplay
from pkex.output.theme import style

__all__ = [
    "AttributionDisplay",
    "BeeswarmDisplay",
    "CohortsDisplay",
    "DecisionDisplay",
    "DependenceDisplay",
    "Display",
    "ExplanationDisplay",
    "HeatmapDisplay",
    "ImportanceDisplay",
    "InteractionsDisplay",
    "MarginalsDisplay",
    "NetworkDisplay",
    "PairDisplay",
    "PairsDisplay",
    "RowDisplay",
    "SensitivityDisplay",
    "WaterfallDisplay",
    "style",
]
