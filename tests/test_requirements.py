"""What is declared is installed: by `make demo`, and in the lowest versions by `make lowest`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from list_requirements import lowest, requirements

pytestmark = pytest.mark.frontend

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_bound_of_what_users_install_is_one_that_is_tested():
    """An extra with a bound of its own below that of another would be tested by nobody."""
    tested = lowest(PROJECT, ["test", "rules"])
    optional = PROJECT["project"]["optional-dependencies"]
    for extra in optional:
        for requirement in optional[extra]:
            name, _, bound = requirement.partition(">=")
            if name in tested:
                assert bound == tested[name], f"{requirement} in {extra}"
    assert {"numpy", "scikit-learn", "skops", "nanobind", "shapiq"} <= set(tested)


def test_extras_are_followed_and_the_highest_bound_counts():
    project = {
        "build-system": {"requires": ["builder>=0.11"]},
        "project": {
            "dependencies": ["numpy>=2.9"],
            "optional-dependencies": {
                "a": ["pkex[b, a]", "numpy>=2.10", "Tool>=1"],
                "b": ["other>=3.0.1"],
                "c": ["unbound"],
            },
        },
    }
    assert lowest(project, ["a"]) == {
        "builder": "0.11",
        "numpy": "2.10",
        "tool": "1",
        "other": "3.0.1",
    }
    with pytest.raises(ValueError, match=r"'unbound'.*not of the form name>=version"):
        lowest(project, ["c"])


def test_what_the_demo_installs_is_what_its_extra_says():
    found = requirements(PROJECT, ["demo"])
    optional = PROJECT["project"]["optional-dependencies"]
    assert set(found) == {
        *PROJECT["project"]["dependencies"],
        *optional["plots"],
        *(need for need in optional["demo"] if not need.startswith("pkex[")),
    }
