"""``pkex explain`` gives what the library gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from pkex.cli import main
from pkex.models.removal import NEUTRAL_NOTE
from tests._support.explain_command import X, Y, check, explain, save
from tests._support.written import Page, results

pytestmark = pytest.mark.frontend


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def svr():
    return save(SVR(C=50.0).fit(X, Y), target=Y)


def test_values_are_those_of_the_library(svr, capsys):
    explain()
    summary = check(pkex.Explainer(svr)(X))
    assert summary["inputs"]["data"]["ignored"] == ["target"]
    printed = capsys.readouterr()
    assert "data.csv: 60 rows; numeric: age, sex, bmi" in printed.err
    assert "ignored: target." in printed.err
    assert "mean |Shapley value| over 60 rows" in printed.out
    assert "Wrote values.csv, summary.json and report.html to out" in printed.out


@pytest.mark.parametrize("kind", ["blocks", "chain"])
def test_conditional_removal(kind, capsys):
    model = save(KernelRidge(kernel="rbf", gamma=5.0).fit(X[["bmi", "s1", "s2"]], Y))
    chosen = ["--conditional-model", kind] if kind == "chain" else []
    explain("--removal", "conditional", "--rows", "0:5", *chosen)
    out = capsys.readouterr().out
    options = {"removal": "conditional", "conditional_model": kind}
    explanation = pkex.Explainer(model, **options)(X[["bmi", "s1", "s2"]][:5])
    _, summary = results()
    facts = summary["result"]
    assert facts["removal"] == "conditional"
    assert facts["conditional_model"] == kind
    assert facts["blocks"] == [list(block) for block in explanation.blocks]
    assert facts["background_info"] == explanation.background_info
    assert explanation.notes[0] in out
    explain("--conditional-model", "chain", code=2)


def test_columns_are_found_by_name(svr):
    X[X.columns[::-1]].assign(more="text").to_csv("data.csv", index=False)
    explain()
    check(pkex.Explainer(svr)(X))


def test_columns_of_noise_rank_below_those_that_matter(capsys):
    """Twenty columns of which three matter, with all defaults; neutral removal by name."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(400, 20)), columns=[f"f{j}" for j in range(20)])
    y = 2.0 * table["f0"] + np.sin(2.0 * table["f1"]) + table["f0"] * table["f2"]
    model = save(SVR(C=10.0, gamma=1.0 / 20.0).fit(table, y), table)
    explain()
    summary = check(pkex.Explainer(model)(table))
    features = summary["result"]["features"]
    assert {entry["name"] for entry in features[:3]} == {"f0", "f1", "f2"}
    least = min(entry["importance"][0] for entry in features[:3])
    assert features[3]["importance"][0] < 0.5 * least
    said = "367 support vectors (of 400 training rows), features treated as independent"
    assert said == summary["result"]["background_info"]
    assert summary["result"]["notes"] == []
    printed = capsys.readouterr().out
    assert f"background: {said}" in printed
    assert "centred" not in printed
    explain("--removal", "neutral")
    summary = check(pkex.Explainer(model, removal="neutral")(table))
    features = summary["result"]["features"]
    assert [entry["name"] for entry in features[:3]] == ["f0", "f14", "f3"]
    assert features[1]["centred"][0] < 0.5 * features[1]["importance"][0]
    assert summary["result"]["notes"] == [NEUTRAL_NOTE]
    printed = capsys.readouterr().out
    assert "background: none; the kernel factor of a removed feature is 1 (neutral)" in printed
    assert "note: Neutral values include a constant offset per feature" in printed
    assert "centred" in printed.splitlines()[1]
    explain("--removal", "product-of-marginals", "--rows", "3")
    check(pkex.Explainer(model)(table[3:4]), [3])
    assert said in capsys.readouterr().out


def test_rows_and_background(svr, capsys):
    X[30:].to_parquet("background.parquet")
    explain("--rows", "3:5,50", "--background", "background.parquet", "--background-rows", ":20")
    chosen = X.iloc[[3, 4, 50]]
    summary = check(pkex.Explainer(svr, X[30:50])(chosen), [3, 4, 50])
    assert summary["inputs"]["background"]["rows"] == 20
    explain("--background", "background.parquet", "--removal", "product-of-marginals")
    check(pkex.Explainer(svr, X[30:], removal="product-of-marginals")(X))
    capsys.readouterr()
    explain("--rows", "7")
    assert "row 7: prediction" in capsys.readouterr().out
    X[:1].to_csv("data.csv", index=False)
    explain()
    assert "data.csv: 1 row; numeric: age" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_groups(kind, svr, capsys):
    groups = {"blood": ["s1", "s2", "s3"], "body": ["bmi", "bp"]}
    if kind == "json":
        Path("groups.json").write_text(json.dumps(groups))
    else:
        Path("groups.csv").write_text(
            "column,group\ns1,blood\ns2,blood\ns3,blood\nbmi,body\nbp,body\n"
        )
    explain("--groups", f"groups.{kind}")
    summary = check(pkex.Explainer(svr, groups=groups)(X))
    [blood] = [entry for entry in summary["result"]["features"] if entry["name"] == "blood"]
    assert blood["columns"] == ["s1", "s2", "s3"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("g.json", "[1, 2]", "must map groups to lists of columns"),
        ("g.json", '{"a": ["s1"], "a": ["s2"]}', "has the group a more than once: put all its"),
        ("g.json", '{"a": "s1"}', "must map groups to lists of columns"),
        ("g.json", "{", "is not JSON"),
        ("g.json", '{"a": ["s9"]}', "groups name the column 's9'"),
        ("g.csv", "a,b\n1,2\n", "must have two columns, column and group; it has a, b."),
        ("g.csv", "column,group\ns1,\n", "has missing values"),
    ],
)
def test_bad_groups_are_refused(name, content, words, svr, capsys):
    Path(name).write_text(content)
    explain("--groups", name, code=2)
    assert words in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_model_without_names_takes_those_of_the_table(capsys):
    model = save(SVR(C=50.0).fit(X.to_numpy(), Y), target=Y)
    explain(code=2)
    assert "takes 10 columns, but data.csv has 11" in capsys.readouterr().err
    columns = ",".join(X.columns)
    Path("g.json").write_text('{"blood": ["s1", "s2"], "first": [0, 1]}')
    explain("--columns", columns, "--groups", "g.json")
    groups = {"blood": [4, 5], "first": [0, 1]}
    values, _ = results()
    assert list(values) == [
        *("row", "first", "bmi", "bp", "blood", "s3", "s4", "s5", "s6"),
        *("base_value", "prediction"),
    ]
    expected = pkex.Explainer(model, groups=groups)(X.to_numpy())
    np.testing.assert_array_equal(values.iloc[:, 1:-2], expected.values)


def test_a_pipeline_with_text_missing_values_and_mixed_columns(capsys):
    table = X[["age", "bmi"]].assign(city=["Graz", "Wien", "Linz"] * 20)
    table.loc[5, "bmi"] = np.nan
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "bmi"]),
        (OneHotEncoder(sparse_output=False), ["city"]),
    )
    model = save(make_pipeline(steps, SVR(C=50.0)).fit(table, Y), table)
    explain(code=2)
    assert (
        "data.csv has missing values in 1 of 60 rows, in bmi (1): pass --missing drop to leave "
        "these rows out, --missing keep if the model has an imputer, or fill them first."
    ) in capsys.readouterr().err
    explain("--missing", "keep")
    check(pkex.Explainer(model)(table))
    explain("--missing", "drop")
    complete = table.dropna()
    summary = check(pkex.Explainer(model)(complete), complete.index)
    assert summary["inputs"]["data"]["rows_dropped"] == 1
    printed = capsys.readouterr().err
    assert "data.csv: 59 of 60 rows (1 dropped for missing values)" in printed
    assert "categorical: city (3 values)" in printed


def test_warnings_become_notes(capsys):
    model = save(make_pipeline(PCA(2), SVR(C=50.0)).fit(X, Y))
    explain()
    printed = capsys.readouterr().err
    assert "Warning: " in printed
    with pytest.warns(UserWarning, match="combines columns"):
        expected = pkex.Explainer(model)(X)
    assert any("combines columns" in note for note in check(expected)["notes"])


def test_categories_that_look_like_numbers(capsys):
    table = X[["age"]].assign(zip=["01010", "02020", "03030"] * 20)
    encoder = make_column_transformer((OneHotEncoder(), ["zip"]), ("passthrough", ["age"]))
    model = save(make_pipeline(encoder, SVR()).fit(table, Y), table)
    explain(code=2)
    error = capsys.readouterr().err
    assert "Error: the model does not accept the columns as they were read" in error
    assert "--categorical reads numbers as text" in error
    explain("--categorical", "zip,town", code=2)
    assert "has no column town, which --categorical names" in capsys.readouterr().err
    explain("--categorical", "zip")
    check(pkex.Explainer(model)(table))


@pytest.fixture
def wine():
    table, cultivar = load_wine(return_X_y=True, as_frame=True)
    table = table.iloc[::4, :5]
    names = np.array(["red", "rosé", "white"])
    return save(make_pipeline(StandardScaler(), SVC()).fit(table, names[cultivar[::4]]), table)


def test_several_outputs_are_lines_or_one_is_chosen(wine, capsys):
    table = pd.read_csv("data.csv")
    expected = pkex.Explainer(wine)(table)
    explain()
    values, summary = results()
    assert list(values["output"][:3]) == list(expected.output_names)
    names = list(expected.feature_names)
    np.testing.assert_array_equal(
        values[names].to_numpy().reshape(len(table), 3, -1), expected.values.transpose(0, 2, 1)
    )
    np.testing.assert_array_equal(
        values["prediction"].to_numpy().reshape(-1, 3), expected.predictions
    )
    assert [entry["name"] for entry in summary["result"]["outputs"]] == list(expected.output_names)
    assert list(values["predicted_class"][::3]) == wine.predict(table).tolist()
    printed = capsys.readouterr().out
    assert re.search("feature +red +rosé +white", printed)
    assert "mean decision function of each class against each other class: positive" in printed
    counts = pd.Series(wine.predict(table)).value_counts()
    assert f"predicted: red ({counts['red']}), rosé ({counts['rosé']})" in printed
    assert summary["result"]["classes"]["predicted_counts"] == counts.to_dict()
    assert [entry["positive"] for entry in summary["result"]["outputs"]] == ["red", "rosé", "white"]
    for choice in (expected.output_names[1], "1"):
        explain("--output", choice)
        check(expected[:, :, 1])
    explain("--output", "blue", code=2)
    assert "there is no output 'blue'; the outputs are red, rosé, white" in capsys.readouterr().err


def test_pairs_of_classes_can_be_asked_for(wine, capsys):
    table = pd.read_csv("data.csv")
    explain("--outputs", "ovo")
    values, summary = results()
    assert list(values["output"][:3]) == ["red vs rosé", "red vs white", "rosé vs white"]
    outputs = summary["result"]["outputs"]
    assert (outputs[0]["positive"], outputs[0]["negative"]) == ("red", "rosé")
    explain("--outputs", "ovo", "--output", "red vs rosé", "--rows", "3")
    check(pkex.Explainer(wine, outputs="ovo")(table[3:4])[..., 0], [3])
    printed = capsys.readouterr().out
    assert f"row 3 (predicted {wine.predict(table)[3]}): red vs rosé " in printed
    assert "positive values push towards red, negative ones towards rosé" in printed
    explain("--rows", "3")
    assert f"row 3: predicted {wine.predict(table)[3]}" in capsys.readouterr().out


def test_a_model_without_a_choice_of_outputs(svr, capsys):
    explain("--outputs", "ovo", code=2)
    assert "this SVR has no choice of outputs" in capsys.readouterr().err


# ------------------------------------------------------------------------------------ names of rows


@pytest.fixture
def named():
    """A model and a table whose rows have codes that look like numbers."""
    codes = [f"{i:04d}" for i in range(100, 160)]
    return save(SVR(C=50.0).fit(X, Y), patient=codes, target=Y), codes


def test_rows_are_named_by_a_column(named, capsys):
    model, codes = named
    explain("--id", "patient", "--rows", "5:9")
    values, summary = results()
    text = Path("out/values.csv").read_text(encoding="utf-8").splitlines()
    assert text[0].startswith("patient,row,age,")
    assert text[1].startswith("0105,5,")
    assert list(values["row"]) == [5, 6, 7, 8]
    np.testing.assert_array_equal(values[list(X)], pkex.Explainer(model)(X[5:9]).values)
    assert summary["inputs"]["data"]["ignored"] == ["target"]
    assert Page(Path("out/report.html")).data["rows"] == codes[5:9]
    capsys.readouterr()
    explain("--id", "patient", "--rows", "7")
    assert "row 0107: prediction" in capsys.readouterr().out


def test_the_column_that_names_rows_is_kept_out_of_a_model_without_names():
    model = SVR(C=50.0).fit(X.to_numpy(), Y)
    save(model, X.assign(id=range(60))[["id", *X]])
    X[:9].to_csv("background.csv", index=False)
    explain("--id", "id", "--background", "background.csv")
    values, _ = results()
    assert list(values.columns[:3]) == ["id", "row", "age"]
    expected = pkex.Explainer(model, X[:9].to_numpy())(X.to_numpy()).values
    np.testing.assert_array_equal(values[list(X)], expected)
    X.assign(id=range(60)).to_csv("background.csv", index=False)
    explain("--id", "id", "--background", "background.csv")
    explain("--id", "id", "--background", "data.csv", "--background-rows", "0:3", "--rows", "9")
    assert list(results()[0]["id"]) == [9]


def test_names_of_rows_with_missing_values_and_several_outputs(wine):
    table = pd.read_csv("data.csv").assign(row=[*"abcdefghi"] * 5)
    table.loc[2, "ash"] = np.nan
    table.loc[3, "row"] = None
    table.to_csv("data.csv", index=False)
    explain("--id", "row", "--missing", "drop", "--rows", "0:5")
    values, _ = results()
    assert list(values.columns[:2]) == ["row", "output"]  # the column itself, not a number
    assert Page(Path("out/report.html")).data["rows"] == ["a", "b", "missing", "e"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "has no column nobody, which --id names"),
        ("age", "the column age is a feature of the model"),
        ("output", "the column 'output' of --id is named like"),
        ("prediction", "the column 'prediction' of --id is named like"),
    ],
)
def test_a_column_that_cannot_name_rows(name, words, capsys):
    save(SVC().fit(X, Y > 100), output=1, prediction=2)
    explain("--id", name, code=2)
    assert words in capsys.readouterr().err


def test_an_output_of_one(svr, capsys):
    explain("--output", "0", code=2)
    assert "leave out --output" in capsys.readouterr().err
    model = save(SVC().fit(X, np.where(Y > 100, "ill", "well")))
    [name] = pkex.Explainer(model)(X).output_names
    explain("--output", name)
    check(pkex.Explainer(model)(X))


def test_parquet_in_and_out(svr):
    X.to_parquet("data.csv")
    explain("--format", "parquet")
    values = pd.read_parquet("out/values.parquet")
    expected = pkex.Explainer(svr)(X)
    np.testing.assert_array_equal(values[list(X)], expected.values)


def test_json_is_the_summary_and_nothing_else(svr, capsys):
    explain("--json", "--rows", "0")
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out) == results()[1]
    assert json.loads(printed.out)["result"]["features"][0]["standard_error"] == [None]
    explain("--quiet")
    assert capsys.readouterr() == ("", "")


def test_without_a_directory_nothing_is_written(svr):
    before = set(Path().iterdir())
    assert main(["explain", "model.skops", "data.csv"]) == 0
    assert set(Path().iterdir()) == before
