"""Methods without a maintained package, written from their formulas.

Each takes a `Sample`: coalitions with regression weights and the values of one or several games on
them. With all coalitions in the sample each returns the exact Shapley values.
"""

from experiments.baselines.bishap import bishap, bivariate
from experiments.baselines.coalitions import Coalitions, Sample, kernel_shap
from experiments.baselines.gemfix import gemfix

__all__ = ["Coalitions", "Sample", "bishap", "bivariate", "gemfix", "kernel_shap"]
