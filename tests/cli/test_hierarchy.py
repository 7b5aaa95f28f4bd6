"""``pkex explain --hierarchy`` gives what the library gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge

import pkex
from pkex.cli import main
from tests._support.written import results

pytestmark = pytest.mark.frontend

NAMES = ["bmi", "s1", "s2"]
X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X[:60][NAMES], Y[:60]
MODEL = KernelRidge(kernel="rbf", gamma=5.0).fit(X, Y)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    skops.io.dump(MODEL, "model.skops")
    X.to_csv("data.csv", index=False)


def explain(hierarchy):
    options = ["--hierarchy", hierarchy, "--rows", "0:5", "--out", "out"]
    return main(["explain", "model.skops", "data.csv", *options])


@pytest.mark.parametrize("groups", [{"blood": ["s1", "s2"]}, "correlation"])
def test_values_are_those_of_the_library(groups):
    if isinstance(groups, dict):
        Path("groups.json").write_text(json.dumps(groups), encoding="utf-8")
    assert explain("groups.json" if isinstance(groups, dict) else groups) == 0
    explanation = pkex.Explainer(MODEL, hierarchy=groups)(X[:5])
    values, summary = results()
    assert explanation.index == "Owen"
    np.testing.assert_array_equal(values[NAMES], explanation.values)
    assert summary["result"]["index"] == "Owen"


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "JSON"), ('{"blood": ["s1", "unknown"]}', "unknown"), ("3", "nested groups")],
)
def test_a_hierarchy_that_cannot_be_used(text, message, capsys):
    Path("groups.json").write_text(text, encoding="utf-8")
    assert explain("groups.json") == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
