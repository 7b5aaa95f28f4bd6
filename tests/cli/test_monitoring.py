"""Drift in production: files of options, history, metrics, logs, dates, saved references."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pkex
from pkex.cli import main
from pkex.cli._monitoring import openmetrics, read_history
from tests._support.openmetrics import read_openmetrics
from tests._support.written import EVIL, Page, results

pytestmark = pytest.mark.frontend

RNG = np.random.default_rng(132)
FEW = ["--permutations", "99"]
DRIFT = ["drift", "old.csv", "new.csv", *FEW]


def table(shift=0.0):
    rows = pd.DataFrame(RNG.normal(size=(60, 3)).round(3), columns=["a", "b", "id"])
    rows["a"] += shift
    return rows.assign(kind=RNG.choice(["u", "v"], 60))


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("old.csv", index=False)
    table(2.0).to_csv("new.csv", index=False)


def summary_of(args, capsys):
    code = main([*args, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_excluded_columns_are_left_out_wherever_they_are(capsys):
    pd.read_csv("new.csv").drop(columns="id").to_csv("new.csv", index=False)
    code, summary = summary_of([*DRIFT, "--exclude", "id,kind"], capsys)
    assert code == 1
    assert list(summary["inputs"]["reference"]["columns"]) == ["a", "b"]
    assert summary["inputs"]["reference"]["ignored"] == ["id", "kind"]
    _, both = summary_of([*DRIFT, "--columns", "a,b,kind", "--exclude", "kind"], capsys)
    assert both["result"]["p_value"] == summary["result"]["p_value"]
    dependence = ["dependence", "old.csv", "--target", "a", *FEW, "--exclude", "id"]
    assert list(summary_of(dependence, capsys)[1]["inputs"]["data"]["columns"]) == [
        "a",
        "b",
        "kind",
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("drift old.csv new.csv --exclude ib", "old.csv has no column ib, which --exclude names"),
        ("drift old.csv new.csv --exclude a,b,id,kind", "besides those of --exclude"),
        ("dependence old.csv --target a --exclude a", "a is the target: leave it out of --exclude"),
        ("drift old.csv new.csv --history no/runs.jsonl", "there is no directory no for --history"),
        ("drift old.csv new.csv --history .", "--history . is a directory"),
        ("drift old.csv new.csv --history runs.html", "would be its own page"),
        ("drift old.csv new.csv --history old.csv", "old.csv is not a history of pkex"),
        ("drift old.csv new.csv --history r.jsonl --metrics r.jsonl", "both write r.jsonl"),
        ("drift old.csv new.csv --metrics no/a.prom", "there is no directory no for --metrics"),
        ("drift old.csv new.csv --log no/a.log", "cannot write the log"),
        ("drift old.csv new.csv --config none.toml", "there is no file none.toml"),
        ("drift old.csv new.csv --config old.csv", "old.csv is not a TOML file"),
        ("drift old.csv new.csv --missing keep", "Invalid value for '--missing'"),
        ("explain old.csv new.csv --missing separate", "Invalid value for '--missing'"),
    ],
)
def test_errors_are_one_sentence_before_the_work(args, words, capsys):
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert main(args.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err.splitlines()[-1]
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_options_from_a_file_give_way_to_those_of_the_command_line(capsys):
    Path("jobs").mkdir()
    Path("jobs/pkex.toml").write_text(
        '[drift]\nalpha = 0.2\nexclude = ["id", "kind"]\npermutations = 99\nn-jobs = 1\n'
        'history = "runs.jsonl"\njson = true\n[dependence]\ntarget = "b"\n'
    )
    args = ["drift", "old.csv", "new.csv", "--config", "jobs/pkex.toml"]
    assert main(args) == 1
    summary = json.loads(capsys.readouterr().out)
    assert summary["result"]["alpha"] == 0.2
    assert summary["result"]["n_permutations"] == 99
    assert list(summary["inputs"]["reference"]["columns"]) == ["a", "b"]
    assert len(read_history(Path("jobs/runs.jsonl"))[0]) == 1  # beside the file that names it
    assert main([*args, "--alpha", "0.05", "--exclude", "a"]) in (0, 1)
    summary = json.loads(capsys.readouterr().out)
    assert summary["result"]["alpha"] == 0.05
    assert list(summary["inputs"]["reference"]["columns"]) == ["b", "id", "kind"]
    code, summary = summary_of(
        ["dependence", "old.csv", *FEW, "--config", "jobs/pkex.toml"], capsys
    )
    assert (code, summary["result"]["target"]) == (0, "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[drift]\nalpa = 1", "pkex drift has no option 'alpa'; it has alpha, "),
        ("[drift]\nreference = 'a'", "reference in [drift] is an argument"),
        ("alpha = 1", "has alpha outside the table of a command"),
        ("[drifts]\nalpha = 1", "has drifts outside the table of a command"),
        ("[drift]\nquiet = 1", "quiet must be true or false, got 1"),
        ("[drift]\nalpha = true", "alpha must be text or a number, got True"),
        ("[drift]\nalpha = [1]", "alpha takes one value, got a list"),
        ("[drift]\nalpha = 'high'", "Invalid value for '--alpha'"),
        ("[drift]\nconfig = 'a'", "has no option 'config'"),
    ],
)
def test_a_wrong_file_of_options_is_refused(text, words, capsys):
    Path("pkex.toml").write_text(text)
    assert main(["drift", "old.csv", "new.csv", "--config", "pkex.toml"]) == 2
    assert words in capsys.readouterr().err


def test_both_helps_tell_the_option_from_the_command(capsys):
    assert main(["drift", "--help"]) == 0
    assert "pkex config, without dashes, prints" in " ".join(capsys.readouterr().out.split())
    assert main(["config", "--help"]) == 0
    assert "--config FILE" in capsys.readouterr().out


def test_the_history_has_a_line_a_run_and_survives_a_broken_one():
    args = [*DRIFT, "--history", "runs.jsonl", "--quiet"]
    assert main(args) == 1
    with Path("runs.jsonl").open("a") as file:
        file.write('{"format": "pkex.his')  # a run that was killed
    assert main(args) == 1
    assert main(["drift", "old.csv", "old.csv", *FEW, "--history", "runs.jsonl", "-q"]) == 0
    runs, unreadable = read_history(Path("runs.jsonl"))
    assert ([run["drift"] for run in runs], unreadable) == ([True, True, False], 1)
    assert runs[0]["headline"].startswith("Drift detected: a (median ")
    page = Page(Path("runs.html"))
    assert page.data["title"] == "runs: drift in 2 of 3 runs"
    assert page.data["expected"] == pytest.approx(0.15)
    assert page.data["names"] == ["a"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"p_value": None},
        {"p_value": 0},
        {"alpha": "0.05"},
        {"significant": "a"},
        {"significant": [1]},
        {"time": 5},
        {"headline": None},
        {"changes": None},
    ],
)
def test_a_run_that_the_page_cannot_draw_counts_as_unreadable(wrong):
    args = [*DRIFT, "--history", "runs.jsonl", "--quiet"]
    assert main(args) == 1
    [run] = read_history(Path("runs.jsonl"))[0]
    with Path("runs.jsonl").open("a") as file:
        file.write(json.dumps(run | wrong) + "\n")
    assert main(args) == 1
    runs, unreadable = read_history(Path("runs.jsonl"))
    assert (len(runs), unreadable) == (2, 1)
    facts = {fact["label"]: fact["value"] for fact in Page(Path("runs.html")).data["facts"]}
    assert facts["Lines that are not runs"] == "1"


def test_metrics_escape_names_and_replace_the_file():
    for name in ("old.csv", "new.csv"):
        pd.read_csv(name).rename(columns={"b": 'b\\"x'}).to_csv(name, index=False)
    Path("drift.prom").write_text("something old")
    assert main([*DRIFT, "--metrics", "drift.prom", "--quiet"]) == 1
    samples = read_openmetrics(Path("drift.prom").read_text())
    features = {dict(labels).get("feature") for _, labels in samples}
    assert features == {None, "a", 'b\\"x', "id", "kind"}
    monitor = frozenset({("monitor", "drift")})
    assert samples["pkex_drift_last_run_timestamp_seconds", monitor] > 1.7e9
    rows = frozenset({("monitor", "drift"), ("table", "current")})
    assert samples["pkex_drift_rows", rows] == 60


def test_metrics_of_any_number_and_name_are_read_back():
    feature = {"contribution": -1.5e-12, "p_adjusted": 1.0, "p_univariate_adjusted": None}
    names = ["", "a\nb", "\\n", '"', EVIL, "ü", "a,b={}"]
    result = {
        "drift": False,
        "p_value": 0.25,
        "alpha": 0.01,
        "statistic": float("inf"),
        "significant": names[:1],
        "features": [feature | {"name": name} for name in names],
    }
    inputs = {"reference": {"rows": 10**7}, "current": {"rows": 2}}
    samples = read_openmetrics(openmetrics("x", 1.5, inputs, result))
    assert samples["pkex_drift_statistic", frozenset({("monitor", "x")})] == float("inf")
    for name in names:
        key = frozenset({("monitor", "x"), ("feature", name)})
        assert samples["pkex_drift_feature_contribution", key] == -1.5e-12
        assert samples["pkex_drift_feature_significant", key] == (name == "")


def test_messages_go_through_logging(caplog, capsys):
    with caplog.at_level(logging.INFO, "pkex.cli"):
        assert main([*DRIFT, "--log", "run.log", "--quiet"]) == 1
    assert capsys.readouterr().err == ""
    levels = [(record.name, record.levelname) for record in caplog.records]
    assert levels[-1] == ("pkex.cli", "WARNING")
    assert caplog.records[-1].getMessage().startswith("Drift detected: a (median ")
    assert ("pkex.cli", "INFO") in levels
    assert main(["drift", "old.csv", "none.csv", "--log", "run.log", "--quiet"]) == 2
    assert capsys.readouterr().err == "Error: there is no file none.csv.\n"
    lines = Path("run.log").read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["INFO", "INFO", "WARNING", "ERROR"]
    assert all(line[:2] == "20" and line[19] == "Z" for line in lines)
    assert logging.getLogger("pkex.cli").handlers == []


def test_dates_are_days_and_the_command_says_so(capsys):
    days = pd.date_range("2024-01-01", periods=60)
    for name, shift in (("old.csv", 0), ("new.csv", 90)):
        frame = pd.read_csv(name).assign(day=days + pd.Timedelta(days=shift))
        frame.loc[3, "day"] = pd.NaT
        frame.to_csv(name, index=False)
    assert main([*DRIFT, "--columns", "day,b", "--out", "out"]) == 1
    printed = capsys.readouterr()
    assert "date: day" in printed.err
    assert "day is used as days since 1970-01-01" in printed.err
    _, summary = results()
    [change] = [one for one in summary["result"]["changes"] if one["columns"] == ["day"]]
    assert change["kind"] == "date"
    assert change["headline"] == "median 2024-01-31 to 2024-04-30"
    expected = [pd.read_csv(name, parse_dates=["day"])[["day", "b"]] for name in DRIFT[1:3]]
    again = pkex.mmd(*expected, n_permutations=99, random_state=0)
    assert again.p_value == summary["result"]["p_value"]
    assert [one.as_dict() for one in again.changes()] == summary["result"]["changes"]
    for name in ("old.csv", "new.csv"):  # with a time, in a Parquet file
        pd.read_csv(name, parse_dates=["day"]).to_parquet(name.replace("csv", "parquet"))
    _, other = summary_of(
        ["drift", "old.parquet", "new.parquet", *FEW, "--columns", "day,b"], capsys
    )
    assert other["result"]["changes"] == summary["result"]["changes"]


def test_a_column_that_is_empty_in_one_table_is_tested(capsys):
    pd.read_csv("new.csv").assign(kind=None, b=np.nan).to_csv("new.csv", index=False)
    code, summary = summary_of([*DRIFT, "--columns", "b,kind"], capsys)
    assert code == 1
    sentences = [change["sentence"] for change in summary["result"]["changes"]]
    assert any(one.startswith("kind: ") and "0 % to 100 %" in one for one in sentences)
    assert any(one.startswith("b: missing cells from 0 % to 100 %") for one in sentences)


@pytest.mark.parametrize("missing", ["separate", "drop"])
def test_a_saved_reference_gives_what_the_dataset_gives(missing, capsys):
    old = pd.read_csv("old.csv").assign(day=pd.date_range("2024-01-01", periods=60), flag=True)
    old.loc[:5, ["a", "kind"]] = None
    new = pd.read_csv("new.csv").assign(day=pd.date_range("2024-03-01", periods=60), flag=False)
    old.to_csv("old.csv", index=False)
    new.assign(more=1)[["more", *new.columns[::-1]]].to_csv("new.csv", index=False)
    saved = pkex.MMDDrift(missing=missing).fit(old)
    saved.save("reference.npz")
    args = [*FEW, "--seed", "3"]
    _, one = summary_of(["drift", "old.csv", "new.csv", "--missing", missing, *args], capsys)
    _, two = summary_of(["drift", "reference.npz", "new.csv", *args], capsys)
    assert two["inputs"]["reference"]["columns"] == one["inputs"]["reference"]["columns"]
    for name in ("drift", "p_value", "statistic", "significant", "changes", "headline", "features"):
        assert two["result"][name] == one["result"][name], name
    assert two["inputs"]["current"]["ignored"] == ["more"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("exclude", "a"), ("columns", "a"), ("missing", "drop"), ("kernel", "median")],
)
def test_options_that_a_saved_reference_has_are_refused(option, value, capsys):
    pkex.MMDDrift().fit(pd.read_csv("old.csv")).save("reference.npz")
    assert main(["drift", "reference.npz", "new.csv", f"--{option}", value]) == 2
    assert f"which has its own --{option}" in capsys.readouterr().err


def test_a_saved_reference_needs_names_and_its_columns(capsys):
    pkex.MMDDrift().fit(pd.read_csv("old.csv")[["a", "b"]].to_numpy()).save("array.npz")
    assert main(["drift", "array.npz", "new.csv"]) == 2
    assert "without names of columns: fit it with a data frame" in capsys.readouterr().err
    pkex.MMDDrift().fit(pd.read_csv("old.csv").assign(more=1.0)).save("reference.npz")
    assert main(["drift", "reference.npz", "new.csv"]) == 2
    assert "new.csv has no column more" in capsys.readouterr().err
    Path("other.npz").write_bytes(b"PK\x03\x04")
    assert main(["drift", "other.npz", "new.csv"]) == 2
    assert "Error: " in capsys.readouterr().err
