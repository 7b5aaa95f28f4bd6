"""``pkex change`` gives what the library gives, with the exit codes of ``pkex drift``."""

from __future__ import annotations

import json
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVR

import pkex
from pkex.cli import main
from tests._support.written import Page, results

pytestmark = pytest.mark.frontend

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(240, 3)), columns=["age", "bmi", "bp"])
TABLE["target"] = TABLE["age"] - TABLE["bmi"] + 0.2 * RNG.normal(size=240)
X = TABLE[["age", "bmi", "bp"]]
MODEL = SVR(C=10.0, gamma=0.1).fit(X[:60], TABLE["target"][:60])
BEFORE, AFTER = TABLE[60:140], TABLE[140:].assign(age=TABLE["age"] + 0.8)


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joblib.dump(MODEL, "model.joblib")
    for name, table in (("fit", TABLE[:60]), ("before", BEFORE), ("after", AFTER)):
        table.to_csv(f"{name}.csv", index=False)


def run(*options, before="before.csv", after="after.csv", model="model.joblib"):
    return main(["change", model, before, after, "--trust", *options])


def test_files_summary_report_and_text_agree(capsys):
    assert run("--target", "target", "--out", "out") == 1
    expected = pkex.change(
        MODEL,
        BEFORE[list(X)],
        AFTER[list(X)],
        y_before=BEFORE["target"],
        y_after=AFTER["target"],
        random_state=0,
    )
    values, summary = results()
    names = [expected.feature_names[i] for i in expected.ranking]
    assert list(values["output"]) == ["prediction"] * 3 + ["squared error"] * 3
    assert list(values["feature"]) == names * 2
    np.testing.assert_allclose(
        values["contribution"], expected.differences[expected.ranking].T.ravel(), rtol=1e-9
    )
    result = summary["result"]
    assert result["change"] is True
    assert summary["inputs"]["before"]["ignored"] == []  # the target is used
    assert result["p_value"] == expected.p_value
    assert [entry["name"] for entry in result["features"]] == names
    prediction, loss = result["outputs"]
    assert prediction["difference"] == pytest.approx(expected.prediction)
    assert prediction["significant"] == list(expected.significant()) == ["age"]
    assert loss["difference"] == pytest.approx(expected.loss)
    assert loss["base_difference"] == pytest.approx(expected.base_loss)
    shown = Page(Path("out/report.html")).data
    assert shown["kind"] == "change"
    assert " ".join(shown["verdict"]) == expected.verdict()
    assert [entry["label"] for entry in shown["facts"][:3]] == ["Model", "Before", "After"]
    printed = capsys.readouterr().out
    for shown_notes in (printed, result["notes"][0]):
        assert "does not mean that their columns changed" in shown_notes
    assert f"Change detected, p = {expected.p_value:.3g} (alpha = 0.05)." in printed
    assert "Features whose contribution changed: age." in printed


def test_no_change_exits_with_0_and_an_error_with_2(capsys):
    TABLE[60:100].to_csv("one.csv", index=False)
    TABLE[100:140].to_csv("two.csv", index=False)
    tables = {"before": "one.csv", "after": "two.csv"}
    assert run("--background", "fit.csv", "--json", **tables) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["result"]["change"] is False
    assert summary["inputs"]["background"]["rows"] == 60
    assert run("--target", "target", before="fit.csv") == 2
    assert "training rows of the model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--alpha", "2"], "--alpha must lie between 0 and 1"),
        (["--permutations", "9"], "9 permutations cannot reach a p-value of 0.05"),
        (["--target", "bmj"], "bmj"),
    ],
)
def test_bad_options_get_a_sentence(options, words, capsys):
    assert run(*options) == 2
    assert words in capsys.readouterr().err


def test_a_single_row_gets_a_sentence(capsys):
    TABLE[:1].to_csv("row.csv", index=False)
    assert run(after="row.csv") == 2
    assert "row.csv has 1 row; at least 2 are needed" in capsys.readouterr().err


def test_a_model_without_names_takes_groups_and_columns(capsys):
    joblib.dump(SVR().fit(X[:60].to_numpy(), TABLE["target"][:60]), "plain.joblib")
    Path("groups.json").write_text(json.dumps({"body": ["bmi", "bp"]}), encoding="utf-8")
    options = ("--columns", "age,bmi,bp", "--groups", "groups.json", "--json")
    assert run(*options, "--target", "target", model="plain.joblib") == 1
    features = json.loads(capsys.readouterr().out)["result"]["features"]
    names = {entry["name"]: entry["columns"] for entry in features}
    assert names == {"age": ["age"], "body": ["bmi", "bp"]}
