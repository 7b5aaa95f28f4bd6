"""``result.plot`` of each result, the displays that plots return, and the style of figures."""

from pkex.output.plots.accessors import AttributionPlots as AttributionPlots
from pkex.output.plots.accessors import ChangePlots as ChangePlots
from pkex.output.plots.accessors import ComparisonPlots as ComparisonPlots
from pkex.output.plots.accessors import EffectsPlots as EffectsPlots
from pkex.output.plots.accessors import ExplanationPlots as ExplanationPlots
from pkex.output.plots.accessors import GradientsPlots as GradientsPlots
from pkex.output.plots.accessors import ImportancePlots as ImportancePlots
from pkex.output.plots.accessors import InfluencePlots as InfluencePlots
from pkex.output.plots.accessors import InteractionPlots as InteractionPlots
from pkex.output.plots.accessors import LeaveOneOutPlots as LeaveOneOutPlots
from pkex.output.plots.accessors import SensitivityPlots as SensitivityPlots
from pkex.output.plots.bars import AttributionDisplay as AttributionDisplay
from pkex.output.plots.bars import ImportanceDisplay as ImportanceDisplay
from pkex.output.plots.bars import MarginalsDisplay as MarginalsDisplay
from pkex.output.plots.beeswarm import BeeswarmDisplay as BeeswarmDisplay
from pkex.output.plots.change import ChangeDisplay as ChangeDisplay
from pkex.output.plots.cohorts import CohortsDisplay as CohortsDisplay
from pkex.output.plots.comparison import ComparisonDisplay as ComparisonDisplay
from pkex.output.plots.dependence import DependenceDisplay as DependenceDisplay
from pkex.output.plots.display import Display as Display
from pkex.output.plots.effects import EffectsDisplay as EffectsDisplay
from pkex.output.plots.gradients import GradientsDisplay as GradientsDisplay
from pkex.output.plots.heatmap import HeatmapDisplay as HeatmapDisplay
from pkex.output.plots.influence import InfluenceDisplay as InfluenceDisplay
from pkex.output.plots.interactions import InteractionsDisplay as InteractionsDisplay
from pkex.output.plots.interactions import NetworkDisplay as NetworkDisplay
from pkex.output.plots.interactions import PairDisplay as PairDisplay
from pkex.output.plots.leave_one_out import LeaveOneOutDisplay as LeaveOneOutDisplay
from pkex.output.plots.panel import ExplanationDisplay as ExplanationDisplay
from pkex.output.plots.sensitivity import PairsDisplay as PairsDisplay
from pkex.output.plots.sensitivity import SensitivityDisplay as SensitivityDisplay
from pkex.output.plots.sparse import SparsePlots as SparsePlots
from pkex.output.plots.sparse import TextPlot as TextPlot
from pkex.output.plots.theme import style as style
from pkex.output.plots.waterfall import DecisionDisplay as DecisionDisplay
from pkex.output.plots.waterfall import RowDisplay as RowDisplay
from pkex.output.plots.waterfall import WaterfallDisplay as WaterfallDisplay

__all__ = sorted(name for name in dir() if not name.startswith("_"))
