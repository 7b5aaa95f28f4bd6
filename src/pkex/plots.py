"""``result.plot`` of each result, the displays that plots return, and the style of figures."""

from pkex.output.plots.accessors import (
    AttributionPlots,
    ChangePlots,
    ComparisonPlots,
    EffectsPlots,
    ExplanationPlots,
    GradientsPlots,
    ImportancePlots,
    InfluencePlots,
    InteractionPlots,
    LeaveOneOutPlots,
    SensitivityPlots,
)
from pkex.output.plots.bars import AttributionDisplay, ImportanceDisplay, MarginalsDisplay
from pkex.output.plots.beeswarm import BeeswarmDisplay
from pkex.output.plots.change import ChangeDisplay
from pkex.output.plots.cohorts import CohortsDisplay
from pkex.output.plots.comparison import ComparisonDisplay
from pkex.output.plots.dependence import DependenceDisplay
from pkex.output.plots.display import Display
from pkex.output.plots.effects import EffectsDisplay
from pkex.output.plots.gradients import GradientsDisplay
from pkex.output.plots.heatmap import HeatmapDisplay
from pkex.output.plots.influence import InfluenceDisplay
from pkex.output.plots.interactions import InteractionsDisplay, NetworkDisplay, PairDisplay
from pkex.output.plots.leave_one_out import LeaveOneOutDisplay
from pkex.output.plots.panel import ExplanationDisplay
from pkex.output.plots.sensitivity import PairsDisplay, SensitivityDisplay
from pkex.output.plots.sparse import SparsePlots, TextPlot
from pkex.output.plots.theme import style
from pkex.output.plots.waterfall import DecisionDisplay, RowDisplay, WaterfallDisplay

__all__ = [
    "AttributionDisplay",
    "AttributionPlots",
    "BeeswarmDisplay",
    "ChangeDisplay",
    "ChangePlots",
    "CohortsDisplay",
    "ComparisonDisplay",
    "ComparisonPlots",
    "DecisionDisplay",
    "DependenceDisplay",
    "Display",
    "EffectsDisplay",
    "EffectsPlots",
    "ExplanationDisplay",
    "ExplanationPlots",
    "GradientsDisplay",
    "GradientsPlots",
    "HeatmapDisplay",
    "ImportanceDisplay",
    "ImportancePlots",
    "InfluenceDisplay",
    "InfluencePlots",
    "InteractionPlots",
    "InteractionsDisplay",
    "LeaveOneOutDisplay",
    "LeaveOneOutPlots",
    "MarginalsDisplay",
    "NetworkDisplay",
    "PairDisplay",
    "PairsDisplay",
    "RowDisplay",
    "SensitivityDisplay",
    "SensitivityPlots",
    "SparsePlots",
    "TextPlot",
    "WaterfallDisplay",
    "style",
]
