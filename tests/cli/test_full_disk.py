"""A disk that is full while parts are written: the file is named, and the run can go on."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.svm import SVR

from pkex.cli import main

X, Y = load_diabetes(return_X_y=True, as_frame=True)
PARTS = Path("out.pkex-parts")
EXPLAIN = ["explain", "model.skops", "data.csv", "--part-rows", "150", "--out", "out"]


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    skops.io.dump(SVR(C=50.0).fit(X[:40], Y[:40]), "model.skops")
    X.to_csv("data.csv", index=False)


def written(folder):
    """Return the content of all files of a folder, by their names; nothing of what is not there."""
    found = Path(folder)
    return {path.name: path.read_bytes() for path in found.iterdir()} if found.exists() else {}


def full_after(count, patch):
    """Let the disk be full after so many files: a write is sure of its place when it is synced."""
    sync = os.fsync
    done: list[int] = []

    def full(handle):
        if len(done) == count:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)
        done.append(handle)

    patch.setattr(os, "fsync", full)


@pytest.fixture
def whole():
    """The files of a run to which nothing happens."""
    assert main(EXPLAIN) == 0
    Path("out").rename("before")
    return written("before")


@pytest.mark.parametrize(
    ("count", "file", "done"),
    [
        (2, "part-000000.npz", "0 parts are"),
        (3, "part-000000.parquet", "0 parts are"),
        (4, "part-000001.npz", "1 part is"),
        (7, "part-000002.parquet", "2 parts are"),
    ],
)
def test_the_part_is_named_and_the_run_is_resumed(count, file, done, whole, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        full_after(count, patch)
        assert main([*EXPLAIN, "--quiet"]) == 2
    said, folder = " ".join(capsys.readouterr().err.split()), PARTS.resolve()
    assert f"could not write {folder}/{file} (No space left on device)" in said
    assert f"{done} done and kept in {folder}" in said
    assert "free space, then run the same command with --resume" in said
    n_done = (count - 2) // 2
    parts = [f"part-{n:06d}.{ending}" for n in range(n_done) for ending in ("npz", "parquet")]
    assert set(written(PARTS)) == {"README.txt", "run.json", *parts}
    assert not Path("out").exists()
    assert main([*EXPLAIN, "--resume"]) == 0
    assert written("out") == whole


@pytest.mark.parametrize(("count", "file"), [(0, "README.txt"), (1, "run.json")])
def test_before_the_first_part_nothing_is_left(count, file, whole, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        full_after(count, patch)
        assert main([*EXPLAIN, "--quiet"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"could not write {PARTS.resolve()}/{file} (No space left on device)" in said
    assert "nothing was left: free space, then run the same command again" in said
    assert not PARTS.exists()
    assert main(EXPLAIN) == 0
    assert written("out") == whole


def test_the_results_are_named_and_all_parts_are_kept(whole, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        full_after(2 + 2 * 3, patch)  # the next is the report
        assert main([*EXPLAIN, "--quiet"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "could not write out (No space left on device); nothing was left there" in said
    assert f"3 parts are done and kept in {PARTS.resolve()}" in said
    assert not Path("out").exists()
    assert main([*EXPLAIN, "--resume"]) == 0
    assert written("out") == whole


def test_without_a_directory_of_results_parts_are_temporary(tmp_path, monkeypatch, capsys):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with monkeypatch.context() as patch:
        full_after(4, patch)
        assert main(EXPLAIN[:-2]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "part-000001.npz (No space left on device)" in said
    assert "nothing was left: free space, or name another folder in TMPDIR" in said
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("more", [[], ["--interactions"]])
def test_writes_that_fail_half_way_leave_nothing(more, whole):
    """A real limit on the size of files: what is written before it is there until it is undone."""
    wide = pd.concat([X] * 3, ignore_index=True)
    wide.to_csv("data.csv", index=False)
    limit = (4096, resource.RLIM_INFINITY)
    done = subprocess.run(
        [sys.executable, "-m", "pkex", *EXPLAIN, *more],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert f"could not write {PARTS.resolve()}/part-000000.npz (File too large)" in said
    assert "Exception ignored" not in said
    assert set(written(PARTS)) == {"README.txt", "run.json"}
    assert main([*EXPLAIN, *more, "--resume"]) == 0
