"""The pages' examples run in an empty folder, so that they can save files, and draw off screen.

Readers that they register are gone after them.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import pytest

from pkex import readers

# This list takes the place of the one in the folder above, which has the same pages.
collect_ignore_glob = ["gallery/*"]  # made by Sphinx from examples/gallery
if find_spec("gpytorch") is None:  # see `make torch`
    collect_ignore_glob += ["guide/bayesian_optimisation.md"]
if find_spec("skopt") is None or find_spec("bayes_opt") is None:
    collect_ignore_glob += ["howto/optimisers.md"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    warnings.simplefilter("ignore", PendingDeprecationWarning)  # of matplotlib, inside shap
    monkeypatch.setattr(readers, "_readers", dict(readers._readers))
