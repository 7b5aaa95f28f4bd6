"""The directory of results is there whole, or as it was before."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.svm import SVR

import pkex.output.report
from pkex.cli import _folder, main

pytestmark = pytest.mark.frontend


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A model and a table in the current directory, which is given."""
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(40, 3))
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    skops.io.dump(SVR().fit(frame, rows.sum(axis=1)), "model.skops")
    frame.to_csv("data.csv", index=False)
    return tmp_path


def found(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"directory"
        for path in folder.rglob("*")
    }


EXPLAIN = ["explain", "model.skops", "data.csv", "--out", "out"]
RESULTS = {"values.csv", "summary.json", "report.html"}


def test_the_directory_has_the_results_and_usual_permissions(files):
    assert main(EXPLAIN) == 0
    assert set(os.listdir("out")) == RESULTS
    os.mkdir("plain")
    assert Path("out").stat().st_mode == Path("plain").stat().st_mode


def test_an_empty_directory_is_filled_in_its_place(files):
    os.mkdir("out")
    place = Path("out").stat().st_ino
    assert main(EXPLAIN) == 0
    assert set(os.listdir("out")) == RESULTS
    assert Path("out").stat().st_ino == place  # it may be a mounted volume


@pytest.mark.parametrize("existing", [None, "empty", "results"])
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (OSError(28, "No space left on device"), 2, "(No space left on device); nothing was left"),
        (KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
@pytest.mark.parametrize("where", ["to_csv", "report", "rename"])
def test_nothing_half_written_is_left(
    existing, error, code, words, where, files, monkeypatch, capsys
):
    if existing == "empty":
        os.mkdir("out")
    elif existing == "results":
        assert main(EXPLAIN) == 0
    before = found(files)
    capsys.readouterr()
    rename = os.rename

    def fail(*args, **how):
        raise error

    def fail_at_report(old, new):
        if Path(new).name == "report.html" and Path(old).parent.name != "aside":
            raise error
        if Path(new).name == "out":
            raise error
        rename(old, new)

    with monkeypatch.context() as patch:
        if where == "to_csv":
            patch.setattr(pd.DataFrame, "to_csv", fail)
        elif where == "report":
            patch.setattr(pkex.output.report, "write", fail)
        else:
            patch.setattr(os, "rename", fail_at_report)
        assert main([*EXPLAIN, "--force", "--quiet"]) == code
    assert words in capsys.readouterr().err
    assert found(files) == before
    assert main([*EXPLAIN, "--force", "--quiet"]) == 0


def test_a_full_disk_leaves_nothing(files):
    """A real limit on the size of files stands for a disk that is full."""
    before = found(files)
    limit = (10_000, resource.RLIM_INFINITY)
    done = subprocess.run(
        [sys.executable, "-m", "pkex", *EXPLAIN],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 2
    assert "Error: could not write out (File too large); nothing was left there." in done.stderr
    assert found(files) == before


STOPS = pytest.mark.parametrize(
    ("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "kill"]
)


def stopped(command: list[str], kind: signal.Signals) -> tuple[int, str]:
    """Run a command, stop it when it has said something on stderr, and return how it ended."""
    run = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    try:
        run.stderr.readline()
        time.sleep(0.5)
        run.send_signal(kind)
        return run.wait(timeout=60), run.stderr.read()
    finally:
        run.kill()
        run.stderr.close()


@STOPS
def test_stopping_long_work_leaves_nothing(kind, code, files):
    rows = np.random.default_rng(0).normal(size=(4000, 60))
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(60)])
    model = SVR(epsilon=0.0, gamma=0.02).fit(frame[:1000], rows[:1000].sum(axis=1))
    skops.io.dump(model, "model.skops")
    frame.to_parquet("data.csv")
    before = found(files)
    # minutes of work, which begin as soon as the tables were read
    status, said = stopped(["-m", "pkex", *EXPLAIN, "--background", "data.csv"], kind)
    assert (status, said) == (code, "\nInterrupted.\n")
    assert found(files) == before


@STOPS
def test_stopping_while_files_are_written_leaves_nothing(kind, code, files):
    before = found(files)
    script = (
        "import sys, time, pandas, pkex.cli\n"
        "def slow(self, path, **how):\n"
        "    path.write_text('half')\n"
        "    print('writing', file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n"
        "pandas.DataFrame.to_csv = slow\n"
        "sys.exit(pkex.cli.main())\n"
    )
    status, said = stopped(["-c", script, *EXPLAIN, "--quiet"], kind)
    assert (status, said) == (code, "Interrupted.\n" if code == 130 else "")
    assert found(files) == before


def test_what_cannot_be_written_is_refused_before_the_work(files, monkeypatch, capsys):
    monkeypatch.setattr(pkex, "Explainer", None)  # there is no work

    def refusal(*args: str) -> str:
        before = found(files)
        assert main(["explain", "model.skops", "data.csv", *args]) == 2
        assert found(files) == before
        return str(capsys.readouterr().err)

    assert "data.csv is a file, but --out takes the name of a dir" in refusal("--out", "data.csv")
    assert "there is no directory" in refusal("--out", "nothing/out")
    os.mkdir("full")
    Path("full", "thesis.tex").write_text("years of work")
    assert "the directory full is not empty: choose another" in refusal("--out", "full")
    assert "holds 'thesis.tex', which pkex did not write" in refusal("--out", "full", "--force")
    assert "which pkex did not write" in refusal("--out", ".", "--force")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert "there is no permission to write out." in refusal("--out", "out")


def test_force_replaces_results_of_another_format(files):
    assert main(EXPLAIN) == 0
    assert main([*EXPLAIN, "--force", "--format", "parquet"]) == 0
    assert set(os.listdir("out")) == {"values.parquet", "summary.json", "report.html"}


def test_temporary_directories_of_other_runs_are_left_and_not_in_the_way(files, capsys):
    """Of a run that goes on, or that was killed: neither is a reason to refuse."""
    assert main(EXPLAIN) == 0
    other = Path("out", f".pkex-{'0123456789abcdef' * 2}.tmp")
    other.mkdir()
    (other / "values.csv").write_text("half")
    assert main(EXPLAIN) == 2
    assert "the directory out is not empty" in capsys.readouterr().err
    assert main([*EXPLAIN, "--force"]) == 0
    said = capsys.readouterr().err
    assert f"out holds {other.name}, of a run of pkex that is unfinished or was killed" in said
    assert set(os.listdir("out")) == {*RESULTS, other.name}
    assert (other / "values.csv").read_text() == "half"
    for name in RESULTS:
        Path("out", name).unlink()
    assert main(EXPLAIN) == 0  # a directory with nothing else in it is empty
    assert set(os.listdir("out")) == {*RESULTS, other.name}


@pytest.mark.parametrize("there", [False, True])
def test_the_faster_of_two_runs_is_not_overwritten(there, tmp_path):
    out = tmp_path / "out"
    if there:
        out.mkdir()

    def overtaken():
        with _folder.stage_files(out, False) as slow:
            (slow / "values.csv").write_text("slow")
            with _folder.stage_files(out, False) as fast:
                (fast / "values.csv").write_text("fast")

    with pytest.raises(ValueError, match="is not empty"):
        overtaken()
    assert (out / "values.csv").read_text() == "fast"
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(out) == ["values.csv"]
    with _folder.stage_files(out, True) as folder:
        (folder / "summary.json").write_text("forced")
    assert os.listdir(out) == ["summary.json"]


def test_files_that_are_replaced_keep_their_mode(files):
    assert main(EXPLAIN) == 0
    before = Path("out", "summary.json").stat().st_mode
    Path("out", "values.csv").chmod(0o600)
    assert main([*EXPLAIN, "--force"]) == 0
    assert Path("out", "values.csv").stat().st_mode & 0o777 == 0o600
    assert Path("out", "summary.json").stat().st_mode == before


def test_what_is_no_regular_file_is_not_replaced(files, capsys):
    for make in (
        lambda path: os.mkfifo(path),
        lambda path: path.mkdir(),
        lambda path: path.symlink_to(files / "data.csv"),
    ):
        folder = files / "odd"
        folder.mkdir()
        make(folder / "values.csv")
        mode = (folder / "values.csv").lstat().st_mode
        assert main([*EXPLAIN[:-1], "odd", "--force"]) == 2
        assert "'values.csv' in odd is not a regular file" in capsys.readouterr().err
        assert (folder / "values.csv").lstat().st_mode == mode
        folder.rename(files / f"done{mode}")
    os.mkfifo("pipe")
    assert main([*EXPLAIN[:-1], "pipe", "--force"]) == 2
    assert "pipe is not a directory, but --out" in capsys.readouterr().err


def test_a_link_to_a_directory_stays_a_link(files):
    os.mkdir("real")
    os.symlink("real", "out")
    assert main(EXPLAIN) == 0
    assert Path("out").is_symlink()
    assert set(os.listdir("real")) == RESULTS


def test_other_errors_pass_through_and_clean_up(tmp_path):
    with pytest.raises(ZeroDivisionError), _folder.stage_files(tmp_path / "out", False):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []
