"""``pkex drift`` and ``pkex dependence`` give what the library gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from sklearn.datasets import load_wine

import pkex
from pkex.cli import main
from tests._support.written import Page, results

pytestmark = pytest.mark.frontend

WINE, CULTIVAR = load_wine(return_X_y=True, as_frame=True)
WINE = WINE.iloc[:, :6]
HOW: dict[str, Any] = {"kernel": "median-per-column", "n_permutations": 99, "random_state": 0}
FEW = ["--permutations", "99"]


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WINE[::2].to_csv("even.csv", index=False)
    WINE[1::2].to_parquet("odd.parquet", index=False)
    WINE[CULTIVAR == 0].to_csv("first.csv", index=False)
    WINE[CULTIVAR == 1].to_csv("second.csv", index=False)
    kinds = np.array(["a", "b", "c"])[CULTIVAR]
    WINE.assign(kind=kinds, hour="12:00:00").to_csv("wine.csv", index=False)


def check(attribution):
    """Compare the files with an attribution."""
    values, summary = results()
    frame = attribution.to_frame()
    assert list(values["feature"]) == list(frame.index)
    for name in frame:
        np.testing.assert_array_equal(values[name], frame[name])
    result = summary["result"]
    assert result["statistic"] == attribution.statistic
    assert result["p_value"] == attribution.p_value
    assert result["p_statistic"] == attribution.p_statistic
    assert result["additivity_error"] == attribution.additivity_error
    assert [one["contribution"] for one in result["features"]] == list(frame["contribution"])
    shown = Page(Path("out/report.html")).data
    assert shown["alpha"] == result["alpha"]
    labels = ["Reference", "Current"] if summary["command"] == "drift" else ["Table", "Target"]
    assert [entry["label"] for entry in shown["facts"][:2]] == labels
    return values, summary


def test_drift_is_exit_code_1(capsys):
    assert main(["drift", "first.csv", "second.csv", *FEW, "--out", "out"]) == 1
    expected = pkex.mmd(WINE[CULTIVAR == 0], WINE[CULTIVAR == 1], **HOW)
    _, summary = check(expected)
    assert summary["result"]["drift"] is True
    printed = capsys.readouterr()
    assert f", p = 0.01 (alpha = 0.05); MMD² = {expected.statistic:.4g}" in printed.out
    assert "first.csv: 59 rows; numeric: alcohol, malic_acid" in printed.err


def test_no_drift_is_exit_code_0(capsys):
    assert main(["drift", "even.csv", "odd.parquet", *FEW, "--out", "out"]) == 0
    _, summary = check(pkex.mmd(WINE[::2], WINE[1::2], **HOW))
    assert summary["result"]["drift"] is False
    assert capsys.readouterr().out.startswith("No drift detected, p = ")


def test_options_of_drift():
    args = ["drift", "first.csv", "second.csv", "--columns", "hue,alcohol,ash,magnesium"]
    WINE[CULTIVAR == 0].assign(hue=1.0).to_csv("first.csv", index=False)
    WINE[CULTIVAR == 1].assign(hue=1.1).to_csv("second.csv", index=False)
    Path("groups.json").write_text('{"rest": ["ash", "magnesium"]}')
    more = ["--groups", "groups.json", "--kernel", "median", "--seed", "7", "--block-size", "40"]
    assert main([*args, *more, "--alpha", "0.1", "--permutations", "19", "--out", "out"]) == 1
    first, second = (pyarrow.csv.read_csv(f"{n}.csv").to_pandas() for n in ("first", "second"))
    columns = ["hue", "alcohol", "ash", "magnesium"]
    expected = pkex.mmd(
        first[columns],
        second[columns],
        kernel="median",
        groups={"rest": ["ash", "magnesium"]},
        n_permutations=19,
        block_size=40,
        random_state=7,
    )
    values, summary = check(expected)
    assert "standard_error" in values
    assert summary["inputs"]["reference"]["columns"] == dict.fromkeys(columns, "numeric")


def test_categories_are_told_apart_and_the_choice_is_printed(capsys):
    for name, rows in (("first.csv", CULTIVAR == 0), ("second.csv", CULTIVAR == 1)):
        table = WINE[rows][["ash"]].assign(code=1, flag=True, size="s", hour="12:00:00")
        table.loc[table.index[::2], ["code", "size"]] = [2, "m"]
        table.to_csv(name, index=False)
    assert main(["drift", "first.csv", "second.csv", *FEW, "--categorical", "code"]) == 1
    printed = capsys.readouterr().err.splitlines()[0]
    assert printed == (
        "first.csv: 59 rows; numeric: ash; categorical: code (2 values), flag (1 value), "
        "size (2 values); ignored: hour."
    )


def test_missing_values_are_refused_dropped_or_tested(capsys):
    gaps = WINE.copy()
    gaps.iloc[[3, 5], 0] = np.nan
    gaps.to_csv("gaps.csv", index=False)
    refused = ["drift", "even.csv", "gaps.csv", "--missing", "refuse", "--out", "out"]
    assert main(refused) == 2
    assert "gaps.csv has missing values in 2 of 178 rows, in alcohol (2)" in capsys.readouterr().err
    assert not Path("out").exists()
    assert main(["drift", "even.csv", "gaps.csv", *FEW, "--missing", "drop", "--out", "out"]) == 0
    _, summary = check(pkex.mmd(WINE[::2], gaps.dropna(), **HOW))
    assert summary["inputs"]["current"]["rows_dropped"] == 2
    assert "gaps.csv: 176 of 178 rows (2 dropped for missing values)" in capsys.readouterr().err
    assert main(["drift", "even.csv", "gaps.csv", *FEW, "--out", "out", "--force"]) == 0
    _, summary = check(pkex.mmd(WINE[::2], gaps, **HOW))
    assert summary["inputs"]["current"]["rows_dropped"] == 0


def test_more_columns_in_the_current_table_are_ignored_fewer_are_refused(capsys):
    WINE[1::2].assign(more=1.0).to_csv("more.csv", index=False)
    assert main(["drift", "even.csv", "more.csv", *FEW]) == 0
    assert "ignored: more." in capsys.readouterr().err
    assert main(["drift", "more.csv", "even.csv"]) == 2
    assert "Error: even.csv has no column more; it has alcohol" in capsys.readouterr().err


def test_depend_ranks_and_selects(capsys):
    args = ["dependence", "wine.csv", "--target", "kind", "--top", "30%", *FEW, "--out", "out"]
    assert main(args) == 0
    table = pyarrow.csv.read_csv("wine.csv").to_pandas()
    expected = pkex.hsic(table[list(WINE)], table["kind"], **HOW)
    values, summary = check(expected)
    assert list(values["selected"]) == [True, True] + [False] * 4
    assert summary["result"]["selected"] == list(values["feature"][:2])
    printed = capsys.readouterr()
    assert "wine.csv: 178 rows; numeric: alcohol" in printed.err
    assert "ignored: hour." in printed.err
    assert "target: kind (categorical)." in printed.err
    assert "and 4 more" in printed.out


@pytest.mark.parametrize(
    ("top", "count"), [("1", 1), ("6", 6), ("50%", 3), ("20%", 2), ("100%", 6), ("0.1 %", 1)]
)
def test_top_is_a_count_or_a_share(top, count, capsys):
    args = ["dependence", "wine.csv", "--target", "kind", "--permutations", "0", "--json"]
    assert main([*args, "--top", top]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["result"]["selected"]) == count
    assert summary["result"]["p_value"] is summary["result"]["p_statistic"] is None


def test_a_numeric_target_can_be_one_of_categories(capsys):
    WINE.assign(kind=CULTIVAR).to_csv("wine.csv", index=False)
    args = ["dependence", "wine.csv", "--target", "kind", *FEW, "--out", "out", "--force"]
    assert main(args) == 0
    check(pkex.hsic(WINE, CULTIVAR, **HOW))
    assert main([*args, "--categorical", "kind"]) == 0
    check(pkex.hsic(WINE, CULTIVAR.astype(str), **HOW))
    assert "target: kind (categorical)." in capsys.readouterr().err


def test_without_permutations_there_is_no_test(capsys):
    assert main(["dependence", "wine.csv", "--target", "kind", "--permutations", "0"]) == 0
    printed = capsys.readouterr().out
    assert "not tested" in printed
    assert "p-value" not in printed


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("drift even.csv nothing.csv", "there is no file nothing.csv."),
        ("drift even.csv . ", ". is a directory, but a CSV or Parquet file is needed."),
        ("drift even.csv odd.parquet --columns a,ash", "even.csv has no column a; it has"),
        ("drift even.csv odd.parquet --alpha 0", "--alpha must lie between 0 and 1, got 0."),
        ("drift even.csv odd.parquet --alpha 0.00001", "pass --permutations 99999 or more."),
        ("drift even.csv odd.parquet --permutations 0", "pass --permutations 19 or more."),
        ("drift wine.csv wine.csv --columns hour", "neither numeric nor categorical"),
        ("drift even.csv text.csv", "column ash is numeric in even.csv but categorical in text"),
        ("drift even.csv one.csv", "one.csv has 1 row; at least 2 are needed to compare datasets."),
        ("drift one.csv even.csv", "one.csv has 1 row; at least 2 are needed to compare datasets."),
        (
            "drift even.csv gaps.csv --missing drop",
            "gaps.csv has 1 row without missing values; at least 2 are needed to compare datasets.",
        ),
        (
            "drift even.csv infinite.csv --missing drop",
            "column ash of infinite.csv has infinite numbers, the first in row 2: replace them",
        ),
        ("drift infinite.csv even.csv --missing drop", "column ash of infinite.csv has infinite"),
        (
            "dependence infinite.csv --target ash --missing drop",
            "column ash of infinite.csv has inf",
        ),
        ("drift even.csv odd.parquet --n-jobs 0", "--n-jobs must not be 0"),
        ("drift times.csv times.csv", "times.csv has no numeric or categorical column."),
        ("drift even.csv odd.parquet --block-size 1", "block_size must be an integer"),
        (
            "drift even.csv odd.parquet --categorical ash,zip",
            "even.csv has no column zip, which --categorical names; it has alcohol",
        ),
        (
            "dependence wine.csv --target kind --categorical kin",
            "wine.csv has no column kin, which --categorical names; it has alcohol",
        ),
        ("dependence wine.csv --target nothing", "wine.csv has no column nothing; it has alcohol"),
        (
            "dependence wine.csv --target hour",
            "the target hour is neither numeric nor categorical.",
        ),
        ("dependence wine.csv --target kind --columns kind,ash", "kind is the target"),
        (
            "dependence wine.csv --target kind --columns hour,ash",
            "column hour of wine.csv is neither",
        ),
        ("dependence wine.csv --target kind --top 0", "--top '0' cannot be read"),
        ("dependence wine.csv --target kind --top 7", "give a number from 1 to 6"),
        ("dependence wine.csv --target kind --top half", "--top 'half' cannot be read"),
        ("dependence wine.csv --target kind --top 101%", "--top '101%' cannot be read"),
        ("dependence lone.csv --target a", "lone.csv has no column besides the target a."),
        ("dependence lone.csv --target a --n-jobs 0", "--n-jobs must not be 0"),
        ("dependence one.csv --target ash", "one.csv has 1 row; at least 2 are needed to measure"),
        (
            "dependence same.csv --target a",
            "the target a is constant: it cannot depend on a feature.",
        ),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(args, words, capsys):
    WINE[1::2].assign(ash="text").to_csv("text.csv", index=False)
    WINE[:1].to_csv("one.csv", index=False)
    pd.DataFrame({"hour": ["12:00:00", "13:00:00"]}).to_csv("times.csv", index=False)
    Path("lone.csv").write_text("a\n1\n2\n3\n")
    Path("same.csv").write_text("a,b\n1,1\n1,2\n1,3\n")
    WINE[:2].assign(ash=[1.0, np.nan]).to_csv("gaps.csv", index=False)
    WINE[:4].assign(ash=[1.0, np.nan, -np.inf, 2.0]).to_csv("infinite.csv", index=False)
    assert main([*args.split(), "--out", "out"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    error = printed.err.splitlines()[-1]
    assert error.startswith("Error: ")
    assert words in error
    assert not Path("out").exists()


def test_a_changed_column_is_found_among_many_by_default(tmp_path, capsys):
    X, Z = np.random.default_rng(0).normal(size=(2, 50, 40))
    Z[:, 7] += 3.0
    for name, rows in (("old.csv", X), ("new.csv", Z)):
        pd.DataFrame(rows).add_prefix("c").to_csv(tmp_path / name, index=False)
    old, new = str(tmp_path / "old.csv"), str(tmp_path / "new.csv")
    assert main(["drift", old, new, "--json"]) == 1
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["n_permutations"] == 999
    assert [one["name"] for one in result["features"] if one["p_adjusted"] <= 0.05] == ["c7"]
    assert main(["dependence", old, "--target", "c0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["n_permutations"] == 999
