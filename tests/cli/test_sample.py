"""``pkex drift`` and ``pkex dependence`` on tables that are too long for all pairs of rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pkex
from pkex.cli import _statistics, main
from pkex.tables import streams
from pkex.tables.files import Dialect
from pkex.tables.selection import read_sample
from tests._support.written import results

pytestmark = pytest.mark.frontend

FEW = ["--permutations", "39", "--n-jobs", "1"]
N = 900


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    """Tables with an order: the first half of each is another population than the second."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, shift in (("old", 0.0), ("new", 0.0), ("moved", 1.0)):
        half = np.repeat([0.0, 4.0], N // 2)
        table = {"a": half + rng.normal(size=N), "b": rng.normal(size=N) + shift}
        pd.DataFrame(table | {"kind": np.where(half > 0, "x", "y")}).to_csv(
            f"{name}.csv", index=False
        )


def run(*args, code=0):
    assert main([*args, *FEW, "--out", "out", "--force"]) == code
    return results()


@pytest.mark.parametrize("small", [True, False])
def test_the_statistic_is_that_of_an_even_sample(small, monkeypatch, capsys):
    if not small:
        monkeypatch.setattr(streams, "_SMALL", 10)
        monkeypatch.setattr(streams, "_BATCH", 64)
    values, summary = run("drift", "old.csv", "moved.csv", "--sample", "200", "--seed", "3", code=1)
    assert "old.csv: random sample of 200 of 900 rows (seed 3)" in (capsys.readouterr().err)
    frames = []
    for number, name in enumerate(("old", "moved")):
        rows = np.random.default_rng([3, number]).choice(N, 200, replace=False)
        frames.append(pd.read_csv(f"{name}.csv").iloc[np.sort(rows)])
    expected = pkex.mmd(*frames, n_permutations=39, random_state=3, kernel="median-per-column")
    total = pytest.approx(expected.statistic, rel=1e-13)  # order of sums
    assert summary["result"]["statistic"] == total
    assert summary["result"]["p_value"] == expected.p_value
    assert summary["result"]["sample"] == 200
    facts = summary["inputs"]["current"]
    assert (facts["rows"], facts["rows_in_file"]) == (200, N)
    assert values["feature"][0] == "b"


def test_an_ordered_table_does_not_drift_against_its_like(monkeypatch):
    """Consecutive rows would be of one population, and differ from the whole."""
    monkeypatch.setattr(_statistics, "SAMPLE", 200)
    monkeypatch.setattr(streams, "_SMALL", 10)
    _, summary = run("drift", "old.csv", "new.csv")
    assert not summary["result"]["drift"]
    assert summary["result"]["sample"] == 200


def test_all_rows_by_request_and_in_blocks(monkeypatch, capsys):
    monkeypatch.setattr(_statistics, "SAMPLE", 200)
    _, summary = run("drift", "old.csv", "new.csv", "--sample", "all")
    assert summary["result"]["sample"] is None
    assert summary["inputs"]["current"]["rows"] == N
    assert "random sample" not in capsys.readouterr().err
    values, summary = run("drift", "old.csv", "new.csv", "--block-size", "100")
    assert summary["inputs"]["current"]["rows"] == N
    assert (values["standard_error"] > 0.0).all()
    assert not summary["result"]["drift"]
    _, summary = run("dependence", "old.csv", "--target", "kind")
    assert summary["inputs"]["data"]["rows"] == 200
    assert summary["result"]["selected"][0] == "a"


def test_missing_values_anywhere_are_refused_or_dropped_from_the_sample(capsys):
    table = pd.read_csv("old.csv")
    table.loc[5, "a"] = np.nan
    table.to_csv("old.csv", index=False)
    args = ["drift", "old.csv", "new.csv", "--sample", "100"]
    refused = [*args, *FEW, "--missing", "refuse"]
    assert main(refused) == 2
    assert "old.csv has missing values among its 900 rows, in a (1)" in capsys.readouterr().err
    assert main([*refused, "--columns", "b,kind"]) == 0
    assert main([*refused, "--exclude", "a"]) == 0
    table.loc[::2, "a"] = np.nan
    table.to_csv("old.csv", index=False)
    _, summary = run(*args, "--missing", "drop")
    facts = summary["inputs"]["reference"]
    assert facts["rows"] + facts["rows_dropped"] == 100
    assert 30 < facts["rows"] < 70


@pytest.mark.parametrize("text", ["none", "1", "-5", "1e4", "0.5"])
def test_a_sample_that_is_no_number_is_refused(text, capsys):
    assert main(["drift", "old.csv", "new.csv", "--sample", text]) == 2
    assert "cannot be read: give a number of rows, or all." in capsys.readouterr().err


def test_every_row_is_as_likely_as_any_other():
    """Of 400 samples of 90 of 900 rows each row is in 40, with a standard deviation of 6."""
    counts = np.zeros(N)
    frame = pd.read_csv("old.csv")
    frame.iloc[:, :1].to_parquet("old.parquet")
    for seed in range(400):
        rng = np.random.default_rng([seed, 0])
        counts[rng.choice(N, 90, replace=False)] += 1
    sample = read_sample(Path("old.parquet"), Dialect(), (), 90, (399, 0), "refuse")
    expected = np.sort(np.random.default_rng([399, 0]).choice(N, 90, replace=False))
    assert list(sample.frame.index) == list(expected)
    assert abs(counts - 40).max() < 6 * 4.5
    thirds = counts.reshape(3, -1).mean(axis=1)
    assert np.ptp(thirds) < 2.0


def test_the_summary_says_so():
    assert main(["drift", "old.csv", "new.csv", *FEW, "--sample", "100", "--out", "out"]) in (0, 1)
    with open("out/summary.json", encoding="utf-8") as file:
        assert any("random sample of 100" in note for note in json.load(file)["notes"])
