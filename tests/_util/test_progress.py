"""A progress bar counts rows, and is seen in terminals of every kind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.svm import SVR

from pkex._util import progress as _progress

pytestmark = pytest.mark.frontend

terminals = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


def seen(args, cwd=None):
    """Return what a command prints, and what it says in a new terminal, of 0 rows and columns."""
    import pty

    ours, theirs = pty.openpty()
    assert os.get_terminal_size(theirs) == (0, 0)
    said = []

    def read():
        while True:
            try:
                said.append(os.read(ours, 10_000))
            except OSError:  # the other end is closed
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=theirs, cwd=cwd, check=True)
    os.close(theirs)
    reader.join()
    os.close(ours)
    return done.stdout.decode(), b"".join(said).decode()


@terminals
def test_in_a_terminal_without_a_size():
    """Where tqdm would say that the bar is hidden."""
    code = (
        "from pkex._util import progress as _progress; _progress._DELAY = 0.0; "
        "print(*_progress.show_progress(iter('abc'), [1, 2, 1], 8))"
    )
    printed, said = seen([sys.executable, "-c", code])
    assert printed.split() == ["a", "b", "c"]
    assert "8/8 [" in said
    assert "hidden" not in said


@terminals
def test_a_long_table_in_a_terminal_without_a_size(tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    skops.io.dump(SVR().fit(X[:40], y[:40]), tmp_path / "model.skops")
    X.to_csv(tmp_path / "data.csv", index=False)
    command = "-m pkex explain model.skops data.csv --out out --part-rows 100 --n-jobs 1"
    _, said = seen([sys.executable, *command.split()], tmp_path)
    assert "442/442 [" in said
    assert "hidden" not in said


def test_what_only_says_that_it_is_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with _progress.row_bar(3, delay=0.0) as bar:
        bar.update(3)
    assert "3/3 [" in capsys.readouterr().err


def test_a_forecast_is_made_of_the_work_alone(monkeypatch):
    """Of two stages with 3 and 1 of 100 units at 2 seconds each, and a long time before each."""
    now = [0.0]
    monkeypatch.setattr(_progress, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def work(sizes):
        for size in sizes:
            now[0] += 2.0 * size
            yield size

    announced: list[float] = []
    forecast = _progress.Forecast(100.0, announced.append)
    for sizes in ([1, 2], [1]):
        now[0] += 1000.0
        assert list(forecast.watch(work(sizes), sizes)) == sizes
    assert announced == [200.0]
    assert forecast.spent == 8.0


def test_a_bar_of_few_rows_moves_within_them(monkeypatch):
    shown = []

    class Bar(SimpleNamespace):
        n = 0

        def update(self, count):
            shown.append(self.n + count)

    monkeypatch.setattr(_progress, "row_bar", lambda n_rows, **_: nullcontext(Bar()))
    assert list(_progress.show_progress(iter("abc"), [1, 1, 2], 1)) == ["a", "b", "c"]
    assert list(map(str, shown)) == ["0.25", "0.5", "1"]
    shown.clear()
    assert list(_progress.show_progress(iter("ab"), [1, 2], 1000)) == ["a", "b"]
    assert list(map(str, shown)) == ["333", "1000"]
