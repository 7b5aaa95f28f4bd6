"""A run that was interrupted and resumed makes the files of a whole one, to the last byte."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

from pkex.cli import main
from pkex.tables import parts

X, Y = load_diabetes(return_X_y=True, as_frame=True)
PARTS = Path("out.pkex-parts")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    skops.io.dump(SVR(C=50.0).fit(X[:40], Y[:40]), "model.skops")
    table = X.copy()
    table.iloc[7, 0] = table.iloc[400, 0] = None
    table.to_csv("data.csv", index=False)
    X[:20].to_csv("background.csv", index=False)


def written(folder="out"):
    """Return the content of all files of a folder, by their names."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


class StopError(Exception):
    pass


def interrupted_after(count, patch):
    """Let a run fail when so many parts are written, or when they are to be joined."""
    write = parts.Parts.write
    done: list[object] = []

    def stop(*_):
        raise StopError("stopped")

    def part(*args):
        if len(done) == count:
            stop()
        write(*args)
        done.append(args[1])

    patch.setattr(parts.Parts, "write", part)
    patch.setattr(parts.Parts, "join", stop)


@pytest.mark.parametrize(
    ("count", "options"),
    [
        (1, []),
        (3, ["--format", "parquet"]),
        (3, ["--rows", "5:300"]),
        (8, ["--background", "background.csv", "--background-rows", "0:5"]),  # which are all
        (3, ["--interactions"]),
        (8, ["--force"]),
    ],
)
def test_all_files_are_those_of_a_whole_run(count, options, monkeypatch):
    command = ["explain", "model.skops", "data.csv", "--part-rows", "60", "--missing", "drop"]
    command += ["--out", "out", *options]
    assert main(command) == 0
    whole = written()
    if "--force" not in options:
        Path("out").rename("before")
    with monkeypatch.context() as patch:
        interrupted_after(count, patch)
        assert main(command) == 2
    assert main([*command, "--resume"]) == 0
    assert written() == whole


def test_warnings_of_parts_that_were_done_are_kept(monkeypatch, capsys):
    """Rounding shows in every part, with other numbers."""
    model = KernelRidge(alpha=1e-14, kernel="rbf", gamma=1e-2).fit(X[:40], Y[:40])
    skops.io.dump(model, "model.skops")
    command = ["explain", "model.skops", "data.csv", "--part-rows", "200", "--missing", "drop"]
    command += ["--out", "out"]
    assert main(command) == 0
    whole = written()
    notes = json.loads(whole["summary.json"])["notes"]
    assert any("rounding errors are visible" in note for note in notes)
    assert "rounding errors are visible" in " ".join(capsys.readouterr().err.split())
    Path("out").rename("before")
    with monkeypatch.context() as patch:
        interrupted_after(2, patch)
        assert main(command) == 2
    assert main([*command, "--resume"]) == 0
    assert written() == whole


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_stopped_is_resumed_to_the_same_bytes(stop):
    command = [sys.executable, "-m", "pkex", "explain", "model.skops", "data.csv", "--out", "out"]
    command += ["--part-rows", "8", "--n-jobs", "1", "--missing", "drop"]
    end = time.monotonic() + 240.0
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
        try:
            while len(list(PARTS.glob("*.parquet"))) < 3 and run.poll() is None:
                assert time.monotonic() < end
                time.sleep(0.02)
        finally:
            run.send_signal(stop)
    assert not Path("out").exists()
    assert main([*command[3:], "--resume"]) == 0
    resumed = written()
    assert main([*command[3:], "--force"]) == 0
    assert written() == resumed
