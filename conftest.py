"""Leave out doctests of the native kernel where it was not compiled, and tests that have a target
of their own where what they need is not installed; tell what failed in helpers; give each test the
random numbers it would get alone.

Assertions in modules that tests share are told with their values, as those in tests are.
"""

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

pytest.register_assert_rewrite("tests._support")

collect_ignore_glob = []
try:
    import pkex.games.native  # noqa: F401
except ImportError:
    collect_ignore_glob += ["src/pkex/games/native/*.py"]
if find_spec("gpytorch") is None:  # see `make torch`
    collect_ignore_glob += ["src/pkex/readers/gpytorch/*.py", "tests/readers/test_torch*.py"]
    collect_ignore_glob += [
        "tests/_support/torch_models/*.py",
        "docs/guide/bayesian_optimisation.md",
    ]
if find_spec("optuna") is None or find_spec("pyHSICLasso") is None:  # not for lowest versions
    collect_ignore_glob += ["tests/test_experiments*.py"]
if find_spec("ax") is None or find_spec("baybe") is None:  # see `make torch`
    collect_ignore_glob += [
        "src/pkex/readers/ax.py",
        "tests/_support/search_space_models.py",
        "tests/readers/test_search_spaces.py",
        "docs/howto/optimisers.md",
    ]
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
    """Close what a test or an example drew: matplotlib warns of more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def _generators(item: pytest.Item) -> list[np.random.Generator]:
    parent = item.getparent(pytest.Module)
    module = None if parent is None else parent.obj  # None for the examples of a page
    values = () if module is None else vars(module).values()
    return [value for value in values if isinstance(value, np.random.Generator)]


_STATES: dict[int, Any] = {}  # of every generator at the head of a module, by its id


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the states of generators once all modules of tests are imported."""
    for item in session.items:
        for generator in _generators(item):
            _STATES[id(generator)] = generator.bit_generator.state


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start generators anew: otherwise a test's numbers depend on the tests before it, which
    differ with the tests that are chosen and with the process that runs them.
    """
    for generator in _generators(item):
        generator.bit_generator.state = _STATES[id(generator)]
