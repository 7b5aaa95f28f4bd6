"""Leave out doctests of the native kernel where it was not compiled, and tests that have a target
of their own where what they need is not installed; tell what failed in helpers.

Assertions in modules that tests share are told with their values, as those in tests are.
"""

import sys
from importlib.util import find_spec

import pytest

pytest.register_assert_rewrite("tests._support")

collect_ignore_glob = []
try:
    import pkex.games.native  # noqa: F401
except ImportError:
    collect_ignore_glob += ["src/pkex/games/native/*.py"]
if find_spec("gpytorch") is None:  # see `make torch`
    collect_ignore_glob += ["src/pkex/readers/gpytorch/*.py", "tests/readers/test_torch.py"]
    collect_ignore_glob += [
        "tests/_support/torch_models/*.py",
        "docs/guide/bayesian_optimisation.md",
    ]
if find_spec("optuna") is None or find_spec("pyHSICLasso") is None:  # not for lowest versions
    collect_ignore_glob += ["tests/test_experiments*.py"]
if find_spec("skopt") is None or find_spec("bayes_opt") is None:  # see `make torch`
    collect_ignore_glob += [
        "tests/readers/test_optimisers.py",
        "tests/_support/optimiser_models.py",
    ]
    collect_ignore_glob += ["docs/howto/optimisers.md"]
if find_spec("playwright") is None:  # see `make browser`
    collect_ignore_glob += [
        "tests/output/test_accessibility.py",
        "tests/output/test_report_browser.py",
        "tests/output/test_report_legible.py",
    ]
if find_spec("nbconvert") is None:  # see `make notebook`
    collect_ignore_glob += ["tests/test_notebook_run.py"]


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    """Close what an example drew: matplotlib warns of more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
