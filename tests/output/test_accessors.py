"""``result.plot.kind`` has the signature and the docstring of the display that it draws."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.sparse import csr_array
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge

import pkex
from pkex import plots

pytestmark = pytest.mark.frontend

mpl.use("Agg")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3))
MODEL = pkex.KernelExpansion(X, RNG.normal(size=8), pkex.kernels.RBF(2.0))
PROCESS = GaussianProcessRegressor(alpha=0.1, optimizer=None).fit(X, X[:, 0])
ONE = pkex.Explainer(MODEL)(X)
SPARSE = pkex.KernelExpansion(csr_array(X), RNG.normal(size=8), pkex.kernels.RBF(2.0))
EXPLAINED = {
    "beeswarm": plots.BeeswarmDisplay,
    "decision": plots.DecisionDisplay,
    "dependence": plots.DependenceDisplay,
    "heatmap": plots.HeatmapDisplay,
    "waterfall": plots.WaterfallDisplay,
}
KINDS: list[tuple[Any, dict[str, Any]]] = [
    (ONE, EXPLAINED),
    (pkex.Explainer(SPARSE)(csr_array(X)), EXPLAINED),
    (ONE.importance(), {"": plots.ImportanceDisplay, "bar": plots.ImportanceDisplay}),
    (
        pkex.mmd(X, X + 1.0),
        {
            "": plots.AttributionDisplay,
            "bar": plots.AttributionDisplay,
            "marginals": plots.MarginalsDisplay,
        },
    ),
    (
        pkex.Explainer(MODEL).interactions(X),
        {
            "": plots.InteractionsDisplay,
            "heatmap": plots.InteractionsDisplay,
            "network": plots.NetworkDisplay,
            "pair": plots.PairDisplay,
        },
    ),
    (
        pkex.Explainer(MODEL, X).effects(["x0"]),
        {"": plots.EffectsDisplay, "curves": plots.EffectsDisplay},
    ),
    (
        pkex.Explainer(MODEL).gradients(X),
        {"": plots.GradientsDisplay, "lanes": plots.GradientsDisplay},
    ),
    (
        pkex.Explainer(MODEL).influence(X[:2]),
        {"": plots.InfluenceDisplay, "rows": plots.InfluenceDisplay},
    ),
    (
        pkex.Explainer(KernelRidge(kernel="rbf").fit(X, X[:, 0])).leave_one_out(),
        {"": plots.LeaveOneOutDisplay, "scatter": plots.LeaveOneOutDisplay},
    ),
    (
        pkex.sensitivity(MODEL, {f"x{i}": (0.0, 1.0) for i in range(3)}, order=2),
        {
            "": plots.SensitivityDisplay,
            "bar": plots.SensitivityDisplay,
            "pairs": plots.PairsDisplay,
        },
    ),
    (
        pkex.compare(PROCESS, X[0], X[1]),
        {"": plots.ComparisonDisplay, "bars": plots.ComparisonDisplay},
    ),
    (
        pkex.change(MODEL, X, X + 1.0, n_permutations=0),
        {"": plots.ChangeDisplay, "boxes": plots.ChangeDisplay},
    ),
]
CASES = [
    pytest.param(result, kind, display, id=f"{type(result).__name__}.{kind}")
    for result, kinds in KINDS
    for kind, display in kinds.items()
]


@pytest.mark.parametrize(("result", "kind", "display"), CASES)
def test_a_plot_has_the_signature_and_the_docstring_of_its_display(result, kind, display):
    draw = getattr(result.plot, kind) if kind else result.plot
    [_, *parameters] = inspect.signature(display.plot).parameters.values()
    assert list(inspect.signature(draw).parameters.values()) == parameters
    documented = draw if kind else type(result.plot).__call__
    assert inspect.getdoc(documented) == inspect.getdoc(display.plot)
    if kind:
        assert draw.__name__ == kind
        assert draw.__doc__ == getattr(type(result.plot), kind).__doc__
    needed = ["x1"] if "feature" in inspect.signature(draw).parameters else []
    assert type(draw(*needed)) is display


@pytest.mark.parametrize(("result", "kinds"), KINDS, ids=lambda one: type(one).__name__)
def test_every_kind_that_is_listed_is_documented(result, kinds):
    listed = repr(result.plot).partition(": ")[2].rstrip(">").split(", ")
    assert {kind for kind in kinds if kind} <= set(listed)
    for kind in listed:
        assert inspect.getdoc(getattr(result.plot, kind))


def test_every_call_makes_a_display():
    """So that a call does not change what an earlier one returned."""
    draw = ONE.plot.beeswarm
    first, second = draw(max_display=2), draw(plt.figure().subplots())
    assert first is not second
    assert first.figure_ is not second.figure_


def test_nothing_of_plots_is_imported_before_it_is_asked_for():
    """Neither matplotlib nor a display; a signature needs the display alone."""
    code = """
import inspect, sys, pkex
f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
plots = pkex.Explainer(f)([[0.0, 1.0]]).plot
repr(plots)
displays = {name for name in sys.modules if name.startswith("pkex.output.plots.")}
assert displays <= {f"pkex.output.plots.{name}" for name in ("accessors", "base")}, displays
inspect.signature(plots.beeswarm)
assert "pkex.output.plots.beeswarm" in sys.modules
assert "pkex.output.plots.heatmap" not in sys.modules
assert "matplotlib" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
