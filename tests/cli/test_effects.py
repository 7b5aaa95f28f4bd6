"""``pkex effects``: curves of a model from a file."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from pkex.cli import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["demo", "--out", "demo"])
    return tmp_path


def test_values_summary_and_report(files, capsys):
    capsys.readouterr()
    arguments = ["effects", "demo/model.skops", "demo/diabetes.csv", "--out", "curves"]
    assert main([*arguments, "--features", "bmi,bmi&s5", "--grid-resolution", "5"]) == 0
    assert "bmi & s5" in capsys.readouterr().out
    values = pd.read_csv("curves/values.csv")
    assert len(values) == 5 + 25
    summary = json.loads((files / "curves/summary.json").read_text(encoding="utf-8"))
    effects = summary["result"]["effects"]
    assert [each["features"] for each in effects] == [["bmi"], ["bmi", "s5"]]
    assert effects[0]["lowest"][0] == pytest.approx(values["average"][:5].min())
    assert (files / "curves/report.html").exists()


def test_an_unknown_feature_is_refused(files, capsys):
    assert main(["effects", "demo/model.skops", "demo/diabetes.csv", "--features", "none"]) == 2
    assert "--features names 'none'" in capsys.readouterr().err
