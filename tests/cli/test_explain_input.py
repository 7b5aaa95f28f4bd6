"""``pkex explain`` with names, options, tables and models that do not fit; influence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex
from pkex.cli import main
from tests._support.explain_command import X, Y, check, explain, save
from tests._support.written import results

pytestmark = pytest.mark.frontend


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def svr():
    return save(SVR(C=50.0).fit(X, Y), target=Y)


def test_names_are_text_in_the_terminal(capsys):
    names = ["[red]a[/red]", "b\x1b[2Jc", "<script>"]
    table = pd.DataFrame(X.to_numpy()[:, :3], columns=names)
    save(SVR(C=50.0).fit(table, Y), table)
    explain()
    printed = capsys.readouterr()
    assert "[red]a[/red]" in printed.out
    assert r"b\x1b[2Jc" in printed.out
    assert "\x1b" not in printed.out + printed.err
    assert "<script>alert" not in Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["row", "prediction", "base_value", "output"])
def test_a_feature_named_as_an_added_column_can_be_renamed(name, capsys):
    table = X[["age", "bmi"]].rename(columns={"age": name})
    model = save(SVR(C=50.0).fit(table, Y), table)
    explain(code=2)
    assert f"a feature is named '{name}'" in capsys.readouterr().err
    Path("g.json").write_text(json.dumps({f"my_{name}": [name]}))
    explain("--groups", "g.json")
    check(pkex.Explainer(model, groups={f"my_{name}": [name]})(table))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--rows", "60"], "there is no row 60 in data.csv, which has 60."),
        (["--rows", "a:b"], "rows 'a:b' cannot be read"),
        (["--columns", "age"], "the model was fitted with column names"),
        (["--background-rows", "0:5"], "--background-rows needs --background."),
        (
            ["--removal", "interventional"],
            "--removal interventional needs a background: pass",
        ),
        (["--background", "nothing.csv"], "there is no file nothing.csv."),
        (["--tol", "-1"], "tol must be"),
        (["--n-jobs", "0"], "Error: --n-jobs must not be 0: give a number of threads, or -1"),
        (["--encoding", "klingon"], "there is no encoding 'klingon'"),
    ],
)
def test_wrong_options_are_one_sentence(args, words, svr, capsys):
    explain(*args, code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("Error: ")
    assert words in error
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "data.csv is empty"),
        (b"age,bmi\n", "data.csv has no rows, only the names of columns."),
        (b"age,bmi\n1,2\n3\n", "data.csv is ragged: line 3: expected 2 columns, got 1: 3."),
        ("größe\n1\n".encode("latin-1"), "data.csv is not text in utf-8"),
        (b"age,age\n1,2\n", "data.csv has more than one column named age"),
        (b"age,bmi\n1,2\n", "data.csv has no column sex, bp, s1"),
        (b"age,sex,bmi,bp,s1,s2,s3,s4,s5,s6\n1,1,1,1,1,1,1,1,1,a\n", "could not convert"),
        (b"age,sex,bmi,bp,s1,s2,s3,s4,s5,s6\n1,1,1,1,1,1,1,1,1,inf\n", "infinity"),
    ],
)
def test_bad_tables_are_one_sentence(content, words, svr, capsys):
    Path("data.csv").write_bytes(content)
    explain(code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("Error: ")
    assert words in error
    assert not Path("out").exists()


def test_bad_models_are_one_sentence(svr, capsys):
    skops.io.dump(DummyRegressor().fit(X, Y), "model.skops")
    for content, words in (
        (None, "DummyRegressor is not a supported model."),
        (b"no model", "model.skops is not a model: save one"),
        (b"\x80\x04K\x01.", "model.skops is a pickle, and reading one may run any code"),
    ):
        if content is not None:
            Path("model.skops").write_bytes(content)
        explain(code=2)
        [error] = [line for line in capsys.readouterr().err.splitlines() if "Error" in line]
        assert words in error
        assert not Path("out").exists()
    explain("--trust", code=2)
    assert "int is not a supported model" in capsys.readouterr().err
    assert main(["explain", ".", "data.csv"]) == 2
    assert capsys.readouterr().err == "Error: . is a directory, not a model file.\n"


def test_influence_is_that_of_the_library(capsys):
    model = save(make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=0.5)).fit(X, Y))
    explain("--influence", "3", "--rows", "0:4", "--trust")
    expected = pkex.Explainer(model).influence(X[:4], top=3)
    loaded = pkex.Influence.load("out/influence.npz")
    assert (loaded.values == expected.values).all()
    assert (loaded.feature_values == expected.feature_values).all()
    frame = pd.read_csv("out/influence.csv")
    np.testing.assert_allclose(frame["influence"], expected.values.ravel(), rtol=1e-12)
    assert results()[1]["result"]["influence"] == {
        "kind": "leave-one-out",
        "n_train": 60,
        "n_shown": 3,
    }
    assert "training rows behind the predictions" in capsys.readouterr().out
    assert '"influence"' in Path("out/report.html").read_text(encoding="utf-8")


def test_influence_is_for_rows_in_one_piece(capsys):
    save(SVR().fit(X, Y))
    explain("--influence", "3", "--part-rows", "10", code=2)
    assert "choose some with --rows" in capsys.readouterr().err
