"""Leave out examples of the native kernel where it was not compiled, and those of readers, pages
and helpers that import what is not installed; tell what failed in helpers; give each test the
random numbers it would get alone. Tests that need a package import it with `pytest.importorskip`.

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
    collect_ignore_glob += ["src/pkex/readers/gpytorch/*.py", "tests/_support/torch_models/*.py"]
    collect_ignore_glob += ["docs/guide/bayesian_optimisation.md"]
if find_spec("ax") is None or find_spec("baybe") is None:  # see `make torch`
    collect_ignore_glob += [
        "src/pkex/readers/ax.py",
        "tests/_support/search_space_models.py",
        "docs/howto/optimisers.md",
    ]
if find_spec("skopt") is None or find_spec("bayes_opt") is None:  # see `make torch`
    collect_ignore_glob += ["tests/_support/optimiser_models.py", "docs/howto/optimisers.md"]


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
