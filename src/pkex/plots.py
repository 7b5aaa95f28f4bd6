"""What plots return: the displays of `pkex.output`; and the style of figures drawn by hand."""

from __future__ import annotations

from pkex.output.plots.bars import AttributionDisplay, ImportanceDisplay, MarginalsDisplay
from pkex.output.plots.beeswarm import BeeswarmDisplay
from pkex.output.plots.cohorts import CohortsDisplay
from pkex.output.plots.decision import DecisionDisplay
from pkex.output.plots.dependence import DependenceDisplay
from pkex.output.plots.display import Display
from pkex.output.plots.heatmap import HeatmapDisplay
from pkex.output.plots.interactions import InteractionsDisplay, NetworkDisplay
from pkex.output.plots.pair import PairDisplay
from pkex.output.plots.panel import ExplanationDisplay
from pkex.output.plots.sensitivity import PairsDisplay, SensitivityDisplay
from pkex.output.plots.theme import style
from pkex.output.plots.waterfall import RowDisplay, WaterfallDisplay

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
