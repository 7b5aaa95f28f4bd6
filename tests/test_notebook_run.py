"""A notebook in a kernel of its own: every table, and every picture once."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.notebook
nbformat = pytest.importorskip("nbformat")
nbconvert = pytest.importorskip("nbconvert.preprocessors")

SETUP = """\
%matplotlib inline
import numpy as np, pkex
from matplotlib import pyplot as plt
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) + [0.0, 1.0, 0.0]
f = pkex.KernelExpansion(X, rng.normal(size=(40, 2)), pkex.kernels.RBF(2.0))
explainer = pkex.Explainer(f)
both = explainer(Z)
explanation = both[..., "y0"]
attribution = pkex.mmd(X, Z, n_permutations=19, random_state=0)
"""
TABLES = ["explainer", "explanation", "explanation.importance()", "attribution"]
PICTURES = [
    "explanation.plot()",
    "explanation[0].plot()",
    "both.plot()",
    "explanation.plot.bar()",
    "explanation.plot.bar(cohorts='x1')",
    "explanation.plot.beeswarm()",
    "explanation.plot.waterfall(3)",
    "explanation.plot.dependence('x1', color='x0')",
    "explanation.plot.heatmap()",
    "explanation.plot.decision()",
    "explanation.importance().plot()",
    "attribution.plot()",
    "attribution.plot.marginals()",
    "display = explanation.plot()\ndisplay",
    "figure, ax = plt.subplots()\nexplanation.plot(ax)",
]


def run(cells):
    """Return the outputs of each cell."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    executor = nbconvert.ExecutePreprocessor(timeout=120, kernel_name="python3")
    done, _ = executor.preprocess(notebook, {})
    return [cell.outputs for cell in done.cells]


def pictures(outputs):
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_every_table_and_every_picture_once():
    setup, *found = run([SETUP, *TABLES, *PICTURES])
    assert not setup
    for cell, outputs in zip(TABLES, found, strict=False):
        [output] = outputs
        assert "<table" in output["data"]["text/html"], cell
        assert "text/plain" in output["data"]
    for cell, outputs in zip(PICTURES, found[len(TABLES) :], strict=True):
        assert pictures(outputs) == 1, cell


MEDDLING = [
    "plt.ioff();",
    "plt.ion(); plt.rcParams['figure.facecolor'] = (1, 1, 1, 0)",
    "plt.style.use('dark_background')",
    "import shap; shap.plots.waterfall(explanation.to_shap()[0], show=False); plt.close('all')",
    "import matplotlib; matplotlib.use('Agg')",
]


def test_once_whatever_others_did_to_matplotlib():
    shown = ["explanation[0].plot()", "attribution.plot()"]
    cells = [cell for meddling in MEDDLING for cell in (meddling, *shown)]
    _, *found = run([SETUP, *cells])
    for cell, outputs in zip(cells, found, strict=True):
        assert pictures(outputs) == (cell in shown), cell
