"""``pkex sensitivity`` gives what the library gives."""

from __future__ import annotations

import json
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.svm import SVC, SVR

import pkex
from pkex.cli import main
from tests._support.written import Page, results

pytestmark = pytest.mark.frontend

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:80, :4], Y[:80]
MODEL = SVR(C=50.0).fit(X, Y)


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joblib.dump(MODEL, "model.joblib")
    X.assign(target=Y).to_csv("table.csv", index=False)


def run(*options, model="model.joblib", table="table.csv"):
    return main(["sensitivity", model, table, "--trust", *options])


def test_files_summary_and_report_have_the_indices(capsys):
    assert run("--order", "2", "--out", "out") == 0
    expected = pkex.sensitivity(MODEL, X, order=2)
    values, summary = results()
    alone = values["with"].fillna("") == ""
    single, pairs = values[alone], values[~alone]
    order = [expected.feature_names[i] for i in expected.ranking]
    assert list(single["feature"]) == order
    for kind in ("first_order", "shapley", "total_order"):
        shares = getattr(expected, kind)[expected.ranking]
        np.testing.assert_array_equal(single[kind].astype(float), shares)
    assert len(pairs) == 6
    np.testing.assert_array_equal(
        pairs["second_order"], expected.second_order[np.triu_indices(4, 1)]
    )
    assert summary["command"] == "sensitivity"
    assert summary["inputs"]["data"]["ignored"] == ["target"]
    result = summary["result"]
    assert result["outputs"][0]["variance"] == expected.variance
    assert [entry["name"] for entry in result["features"]] == order
    assert result["features"][0]["shapley"] == [expected.shapley[expected.ranking[0]]]
    shown = Page(Path("out/report.html")).data
    assert shown["kind"] == "sensitivity"
    assert [entry["label"] for entry in shown["facts"][:2]] == ["Model", "Table"]
    assert shown["rankings"] == [expected.ranking.tolist()]
    printed = capsys.readouterr().out
    assert "fractions of the variance" in printed
    assert "largest pair: " in printed
    assert "the columns of 80 rows, independent of each other" in printed


def test_groups_and_columns_of_a_model_without_names(capsys):
    joblib.dump(SVR(C=50.0).fit(X.to_numpy(), Y), "plain.joblib")
    Path("groups.json").write_text(json.dumps({"body": ["bmi", "bp"]}), encoding="utf-8")
    options = ("--columns", "age,sex,bmi,bp", "--groups", "groups.json", "--json")
    assert run(*options, model="plain.joblib") == 0
    summary = json.loads(capsys.readouterr().out)
    names = {entry["name"]: entry["columns"] for entry in summary["result"]["features"]}
    assert names == {"age": ["age"], "sex": ["sex"], "body": ["bmi", "bp"]}


def test_several_outputs(capsys):
    classes = np.digitize(Y, [90.0, 160.0])
    joblib.dump(SVC().fit(X, classes), "classes.joblib")
    assert run("--out", "out", model="classes.joblib") == 0
    values, summary = results()
    assert list(dict.fromkeys(values["output"].astype(str))) == ["0", "1", "2"]
    assert [entry["name"] for entry in summary["result"]["outputs"]] == ["0", "1", "2"]
    assert len(summary["result"]["features"][0]["shapley"]) == 3
    assert "input  0 first-order  0 Shapley" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--order", "3"), "order must be 1 or 2"),
        (("--columns", "age"), "leave out --columns"),
        (("--outputs", "ovo"), "outputs"),
    ],
    ids=str,
)
def test_errors_are_a_sentence(options, said, capsys):
    assert run(*options) == 2
    assert said in capsys.readouterr().err


def test_missing_values_are_dropped_when_told_to(capsys):
    X.assign(age=X["age"].mask(X.index == 3)).to_csv("holes.csv", index=False)
    assert run(table="holes.csv") == 2
    assert "--missing", "drop" in capsys.readouterr().err
    assert run("--missing", "drop", table="holes.csv") == 0
    assert "the columns of 79 rows" in capsys.readouterr().out
