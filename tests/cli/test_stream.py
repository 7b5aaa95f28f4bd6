"""``pkex explain`` in parts gives what it gives in one piece, also after an interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_diabetes, load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import pkex
from pkex.cli import _part_pairs, _stream, main
from tests._support.written import Page, results

pytestmark = pytest.mark.frontend

X, Y = load_diabetes(return_X_y=True, as_frame=True)
PARTS = Path("out.pkex-parts")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def svr():
    model = SVR(C=50.0).fit(X[:40], Y[:40])
    skops.io.dump(model, "model.skops")
    X.assign(name=[f"p{i}" for i in range(len(X))]).to_csv("data.csv", index=False)
    return model


def explain(*args, code=0):
    found = main(["explain", "model.skops", "data.csv", "--out", "out", *args])
    assert found == code


def numbers(summary):
    """The summary, whose numbers of a table in parts are those of one piece but for rounding."""
    return json.loads(json.dumps(summary), parse_float=lambda text: round(float(text), 9))


@pytest.mark.parametrize("table_format", ["csv", "parquet"])
@pytest.mark.parametrize("more", [[], ["--id", "name"], ["--rows", "5:300"]])
def test_parts_make_the_files_of_one_piece(svr, table_format, more, capsys):
    """The report shows all rows, as there are fewer than it samples."""
    explain("--format", table_format, *more)
    values, summary = results() if table_format == "csv" else _parquet()
    page = Page(Path("out/report.html")).data
    capsys.readouterr()
    explain("--format", table_format, "--part-rows", "60", "--force", *more)
    assert not PARTS.exists()
    assert not Path("out/.pkex-parts").exists()
    again, told = results() if table_format == "csv" else _parquet()
    pd.testing.assert_frame_equal(again, values, rtol=1e-12)
    assert numbers(told) == numbers(summary)
    shown = Page(Path("out/report.html")).data
    assert shown["rows"] == page["rows"]
    assert shown["n_rows"] == page["n_rows"]
    assert shown["importance"] == page["importance"]
    count = 295 if "--rows" in more else 442
    assert f"mean |Shapley value| over {count} rows" in capsys.readouterr().out


@pytest.mark.parametrize("output", [[], ["--output", "class_1"]])
def test_interactions_in_parts_are_those_of_one_piece(output, capsys):
    """Heat map, table and plots: all rows are in the sample, as there are few."""
    table, classes = load_wine(return_X_y=True, as_frame=True)
    model = SVC(gamma=1e-4).fit(table, np.array(["class_0", "class_1", "class_2"])[classes])
    skops.io.dump(model, "model.skops")
    table.to_csv("data.csv", index=False)
    explain("--interactions", *output)
    printed, [_, summary] = capsys.readouterr().out, results()
    page = Page(Path("out/report.html")).data["interactions"]
    pairs, whole = pd.read_csv("out/interactions.csv"), pkex.Interactions.load(NPZ)
    explain("--interactions", *output, "--part-rows", "50", "--force")
    assert capsys.readouterr().out == printed
    told = results()[1]
    assert numbers(told) == numbers(summary)
    again, shown = pkex.Interactions.load(NPZ), Page(Path("out/report.html")).data["interactions"]
    key = ["first", "second", *(["output"] if "output" in pairs else [])]
    ordered = [frame.sort_values(key).reset_index(drop=True) for frame in (pairs, _pairs())]
    pd.testing.assert_frame_equal(*ordered, rtol=1e-11)
    np.testing.assert_array_equal(again.pairs, whole.pairs)
    np.testing.assert_array_equal(again.main, whole.main)
    assert list(again.row_index) == list(whole.row_index)
    assert shown.keys() == page.keys()
    assert shown["values"] == page["values"]
    assert shown["n_rows"] == page["n_rows"] == len(table)
    assert [[pair[:2] for pair in top] for top in shown["top"]] == [
        [pair[:2] for pair in top] for top in page["top"]
    ]


NPZ = "out/interactions.npz"


def _pairs():
    return pd.read_csv("out/interactions.csv")


def test_interactions_of_many_rows_are_means_over_all_and_a_sample(svr, monkeypatch, capsys):
    monkeypatch.setattr(_stream, "MAX_ROWS", 30)
    monkeypatch.setattr(_part_pairs, "_CELLS", 700)  # 7 rows at once
    monkeypatch.setattr(_part_pairs, "_SAMPLE", 2100)  # of 21 rows
    explain("--interactions", "--part-rows", "60")
    expected = pkex.Explainer(svr).interactions(X)
    for line in _pairs().itertuples():
        values = expected[line.first, line.second]
        assert line.mean_abs == pytest.approx(np.abs(values).mean(), rel=1e-11)
        assert line.mean == pytest.approx(values.mean(), rel=1e-9, abs=1e-12)
    sample = pkex.Interactions.load(NPZ)
    assert len(sample) == 21
    rows = [int(label) for label in sample.row_index]
    assert max(np.diff(rows)) > 1  # no block of consecutive rows
    np.testing.assert_allclose(sample.pairs, expected.pairs[rows], rtol=1e-9, atol=1e-12)
    page = Page(Path("out/report.html")).data
    assert page["interactions"]["n_rows"] == 442
    facts = {entry["label"]: entry for entry in page["facts"]}
    assert "Plots of pairs show 21 rows, sampled uniformly." in facts["Interactions"]["note"]
    assert "interactions.npz has a random sample of 21 rows" in capsys.readouterr().err


def test_interactions_are_resumed_to_the_same_files(svr, monkeypatch):
    options = ["--part-rows", "60", "--interactions"]
    explain(*options)
    names = ("values.csv", "interactions.csv", "interactions.npz", "report.html")
    whole = {name: Path("out", name).read_bytes() for name in names}
    Path("out").rename("before")
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        explain(*options, code=2)
    explain(*options[:2], "--resume", code=2)  # without interactions it is another run
    explain(*options, "--resume")
    assert {name: Path("out", name).read_bytes() for name in names} == whole


def _parquet():
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    return pd.read_parquet("out/values.parquet"), summary


def test_classes_and_neutral_removal_in_parts(capsys):
    table, classes = load_wine(return_X_y=True, as_frame=True)
    model = SVC(gamma=1e-4).fit(table, classes)
    skops.io.dump(model, "model.skops")
    table.to_parquet("data.csv")
    explain("--removal", "neutral")
    printed, [values, summary] = capsys.readouterr().out, results()
    explain("--removal", "neutral", "--part-rows", "50", "--force")
    assert capsys.readouterr().out == printed
    again, told = results()
    pd.testing.assert_frame_equal(again, values, rtol=1e-12)
    assert numbers(told) == numbers(summary)
    assert sum(told["result"]["classes"]["predicted_counts"].values()) == len(table)


def test_without_files_the_same_table_is_printed(svr, capsys):
    assert main(["explain", "model.skops", "data.csv"]) == 0
    printed = capsys.readouterr().out
    assert main(["explain", "model.skops", "data.csv", "--part-rows", "100"]) == 0
    assert capsys.readouterr().out == printed
    assert os.listdir() == ["model.skops", "data.csv"] or len(os.listdir()) == 2


def test_missing_values_in_parts(capsys):
    table = X.copy()
    table.iloc[100:170, 3] = np.nan
    table.iloc[7, 0] = np.nan
    table.to_csv("data.csv", index=False)
    skops.io.dump(SVR(C=50.0).fit(X[:40], Y[:40]), "model.skops")
    explain("--part-rows", "60", code=2)
    assert "missing values among its 442 rows, in age (1), bp (70)" in capsys.readouterr().err
    assert not PARTS.exists()
    explain("--part-rows", "30", "--missing", "drop")
    values, summary = results()
    assert list(values["row"]) == [i for i in range(442) if i != 7 and not 100 <= i < 170]
    assert summary["inputs"]["data"]["rows_dropped"] == 71
    assert summary["inputs"]["data"]["rows"] == 371
    assert "71 rows dropped for missing values" in capsys.readouterr().err
    table["age"] = np.nan
    table.to_csv("data.csv", index=False)
    explain("--part-rows", "60", "--missing", "drop", "--force", code=2)
    assert "every row of data.csv has missing values" in capsys.readouterr().err
    model = make_pipeline(SimpleImputer(), SVR(C=50.0)).fit(X[:40], Y[:40])
    skops.io.dump(model, "model.skops")
    table["age"] = X["age"]
    table.to_csv("data.csv", index=False)
    explain("--part-rows", "60", "--missing", "keep", "--force")
    values, _ = results()
    expected = pkex.Explainer(model)(table)
    np.testing.assert_allclose(values["prediction"], expected.predictions, rtol=1e-12)


class StopError(Exception):
    pass


def stop_after(count, monkeypatch):
    """Let the command fail after so many parts."""
    work = _stream._explain_part
    done: list[object] = []

    def part(*args):
        if len(done) == count:
            raise StopError("stopped")
        work(*args)
        done.append(args[1])

    monkeypatch.setattr(_stream, "_explain_part", part)
    return done


def test_resume_goes_on_to_the_same_files(svr, monkeypatch, capsys):
    options = ["--part-rows", "60", "--format", "parquet"]
    explain(*options)
    names = ("values.parquet", "report.html")
    whole = {name: Path("out", name).read_bytes() for name in names}
    Path("out").rename("before")
    with monkeypatch.context() as patch:
        stop_after(3, patch)
        explain(*options, code=2)
    assert not Path("out").exists()
    assert "--resume" in (PARTS / "README.txt").read_text()
    assert len(list(PARTS.glob("*.parquet"))) == 3
    explain(*options, code=2)
    assert "holds parts of an interrupted run: continue with --resume" in (capsys.readouterr().err)
    with monkeypatch.context() as patch:
        done = stop_after(99, patch)
        explain(*options, "--resume")
        assert done == [3, 4, 5, 6, 7]
    assert not PARTS.exists()
    assert {name: Path("out", name).read_bytes() for name in names} == whole
    assert "3 of 8 parts were done before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: skops.io.dump(SVR(C=5.0).fit(X[:40], Y[:40]), "model.skops"), "differs in model"),
        (lambda: X[::-1].to_csv("data.csv", index=False), "differs in table"),
        (lambda: ["--removal", "neutral"], "differs in --removal"),
        (lambda: ["--rows", "0:300"], "differs in --rows"),
        (lambda: ["--part-rows", "70"], "differs in --part-rows"),
        (lambda: ["--background", "data.csv"], "differs in background"),
        (lambda: "version", "differs in version"),
    ],
)
def test_resume_is_refused_for_another_run(change, words, svr, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        stop_after(2, patch)
        explain("--part-rows", "60", code=2)
    changed = change()
    if changed == "version":
        monkeypatch.setattr(pkex, "__version__", "0.0.0")
    more = changed if isinstance(changed, list) else []
    explain("--part-rows", "60", "--resume", *more, code=2)
    assert words in capsys.readouterr().err
    assert len(list(PARTS.glob("*.parquet"))) == 2
    explain("--part-rows", "60", "--force", *more)
    assert not PARTS.exists()


def test_resume_needs_a_directory_and_says_when_there_is_nothing_to_do(svr, capsys):
    assert main(["explain", "model.skops", "data.csv", "--resume"]) == 2
    assert "--resume needs the --out DIR of the interrupted run." in (capsys.readouterr().err)
    explain("--resume")
    assert "is explained in one piece: there is nothing to resume" in capsys.readouterr().err
    explain("--part-rows", "100", "--resume", "--force")
    assert len(results()[0]) == 442


def test_damaged_and_busy_parts(svr, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        stop_after(2, patch)
        explain("--part-rows", "60", code=2)
    part = PARTS / "part-000001.parquet"
    good = part.read_bytes()
    part.write_bytes(b"PAR1 and no more")
    explain("--part-rows", "60", "--resume", code=2)
    assert "is damaged" in capsys.readouterr().err
    part.write_bytes(good)
    fcntl = pytest.importorskip("fcntl")
    lock = os.open(PARTS, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    explain("--part-rows", "60", "--resume", code=2)
    assert "another run of pkex is at work in" in capsys.readouterr().err
    os.close(lock)
    (PARTS / "run.json").unlink()
    explain("--part-rows", "60", "--resume", code=2)
    assert "does not say what its parts are of" in capsys.readouterr().err


def test_rows_of_a_long_table_in_another_order_are_refused_or_picked(svr, capsys):
    explain("--part-rows", "60", "--rows", "9,3:6")
    assert list(results()[0]["row"]) == [9, 3, 4, 5]
    explain("--part-rows", "60", "--rows", "200:300,3:6", "--force", code=2)
    assert "which are read in the order of the file" in capsys.readouterr().err


def test_plots_of_many_rows_show_a_sample(monkeypatch, svr):
    monkeypatch.setattr(_stream, "MAX_ROWS", 20)
    explain("--part-rows", "30")
    page = Page(Path("out/report.html")).data
    assert len(page["rows"]) == 20
    assert page["n_rows"] == 442
    assert page["facts"][2] == {
        "label": "Rows",
        "value": "442",
        "note": "Plots show 20 of them, sampled uniformly.",
    }
    importance = pkex.Explainer(svr)(X).importance()
    np.testing.assert_allclose(page["importance"][0]["mean"], importance.values, rtol=1e-7)


def test_a_killed_run_is_resumed(svr, tmp_path):
    """SIGKILL leaves no time to clean up; the last part may be lost, and no more."""
    command = [sys.executable, "-m", "pkex", "explain", "model.skops", "data.csv", "--out", "out"]
    command += ["--part-rows", "8", "--n-jobs", "1"]
    end = time.monotonic() + 240.0
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
        try:
            while len(list(PARTS.glob("*.parquet"))) < 3 and run.poll() is None:
                assert time.monotonic() < end
                time.sleep(0.02)
        finally:
            run.send_signal(signal.SIGKILL)
    assert not Path("out").exists()
    explain("--part-rows", "8", "--resume")
    values, _ = results()
    np.testing.assert_allclose(values["prediction"], svr.predict(X), rtol=1e-9)
