"""What is printed where: for people, for programs, and for readers who leave."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from pkex._util.terminal import print_text
from pkex.cli._log import log_to_stderr
from pkex.cli._session import Session
from pkex.output.terminal import show
from pkex.output.text import align_numbers
from pkex.tables.files import FileTable

pytestmark = pytest.mark.frontend


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "options", "expected"),
    [
        (True, {}, True),
        (True, {"quiet": True}, False),
        (True, {"as_json": True}, False),
        (False, {}, False),
    ],
)
def test_progress_is_for_people_at_a_terminal(terminal, options, expected, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    assert Session(**options).progress is expected


def test_notes_are_said_once_and_kept(capsys):
    session = Session()
    with log_to_stderr():
        session.note("one")
        session.note("one")
    assert capsys.readouterr() == ("", "one\n")
    assert session.notes == ["one"]


def test_a_reader_who_leaves_is_no_error():
    code = "from pkex._util.terminal import print_text\n"
    code += "for _ in range(10**4): print_text('x' * 100)\nprint('y')"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.readline()
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 0


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("ascii", b"age ## +/- ?\n"),
        ("latin-1", b"age ## \xb1 ?\n"),
        ("cp437", b"age \xdb\xdb \xf1 ?\n"),
    ],
)
def test_a_terminal_gets_letters_that_it_has(encoding, expected, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    print_text("age ██ ± Ł")
    assert stream.buffer.getvalue() == expected


def test_long_lines_are_not_cut_in_files(capsys):
    show("x" * 500)
    assert capsys.readouterr().out == "x" * 500 + "\n"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([12.345, -0.5], ["+12.35", "-0.50"]),
        ([123456.0, 1.0], ["+123456", "+1"]),
        ([0.00123, -0.1], ["+0.0012", "-0.1000"]),
        ([1e-9], ["+1.000e-09"]),
        ([2e7, -1.0], ["+2.000e+07", "-1.000e+00"]),
        ([0.0], ["+0"]),
    ],
)
def test_numbers_of_a_column_have_the_same_decimals(numbers, expected):
    assert align_numbers(numbers) == expected


def test_a_table_of_many_columns_is_described_in_a_line(capsys):
    import pandas as pd

    frame = pd.DataFrame(0.0, index=range(3), columns=[f"x{i}" for i in range(100)])
    table = FileTable(Path("t.csv"), frame, dict.fromkeys(frame, "numeric"), 5)
    with log_to_stderr():
        Session().describe(table)
    assert capsys.readouterr().err.endswith("x10, x11 and 88 more.\n")
