"""What commands print in terminals of any width: no line is wider, no name and no value is cut."""

from __future__ import annotations

import re
import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest
import skops.io
from rich.cells import cell_len
from sklearn.svm import SVC, SVR

from pkex.cli import _session, main
from tests.cli.test_grid import Terminal

pytestmark = pytest.mark.frontend

LONG = "income of the household in the year before"
WIDTHS = [40, 60, 80, 120]
COMMANDS = {
    "explain": "explain svr.skops rows.csv --n-jobs 1",
    "a row": "explain svr.skops rows.csv --rows 0 --n-jobs 1",
    "classes": "explain svc.skops rows.csv --n-jobs 1",
    "pairs": "explain svc.skops rows.csv --outputs ovo --rows 0:5 --interactions --n-jobs 1",
    "drift": "drift rows.csv late.csv --permutations 19 --n-jobs 1",
    "dependence": "dependence rows.csv --target tails --permutations 19 --n-jobs 1",
    "sensitivity": "sensitivity svr.skops rows.csv --order 2 --n-jobs 1",
    "sensitivity of pairs": "sensitivity svc.skops rows.csv --outputs ovo --n-jobs 1",
    "change": "change svr.skops rows.csv late.csv --permutations 19 --n-jobs 1",
    "change of classes": "change svc.skops rows.csv late.csv --permutations 19 --n-jobs 1",
    "demo": "demo",
    "an error": "explain svr.skops other.csv",
    "help": "--help",
    "help of a command": "drift --help",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two models and tables whose columns have short and long names."""
    folder, rng = tmp_path_factory.mktemp("terminal"), np.random.default_rng(0)
    table = pd.DataFrame(
        {LONG: np.exp(rng.normal(10.0, 1.0, 40)), "x": rng.normal(size=40), "one": np.ones(40)}
    )
    table["tails"] = rng.standard_t(1.5, 40)
    y = np.sin(np.log(table[LONG])) - table["x"]
    skops.io.dump(SVR(gamma=0.2).fit(table, y), folder / "svr.skops")
    labels = [f"the class {k}" for k in pd.qcut(table["x"], 5, labels=False)]
    skops.io.dump(SVC(gamma=0.2).fit(table, labels), folder / "svc.skops")
    table.to_csv(folder / "rows.csv", index=False)
    table.assign(x=table["x"] + 2.0).to_csv(folder / "late.csv", index=False)
    table.rename(columns={"x": "another"}).to_csv(folder / "other.csv", index=False)
    return folder


def printed(monkeypatch, folder, command, width, encoding="utf-8"):
    """Return what a command prints in a terminal, without its colours."""
    out, err = Terminal(encoding), Terminal(encoding)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")  # rich keeps the codes of a colour it has met
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(_session.Session, "progress", False)  # which needs a terminal's number
    code = main(command.split())
    assert (code == 2) == ("other.csv" in command)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err.text + out.text)


@pytest.mark.parametrize(("name", "width"), list(product(COMMANDS, WIDTHS)))
def test_no_line_is_wider_than_the_terminal(name, width, folder, monkeypatch):
    said = printed(monkeypatch, folder, COMMANDS[name], width)
    assert max(map(cell_len, said.split("\n"))) <= width
    if name not in ("demo", "an error", "help", "help of a command"):
        # where a table is too narrow, the name stands on a line of its own
        assert re.search(r"^(x|x & tails|tails & x)\s+[-+0-9.]+", said, re.M)


@pytest.mark.parametrize("name", ["explain", "a row", "drift", "sensitivity"])
def test_also_in_ascii_where_signs_take_more_letters(name, folder, monkeypatch):
    said = printed(monkeypatch, folder, COMMANDS[name], 80, "ascii")
    assert max(map(len, said.split("\n"))) <= 80
    assert said.isascii()
    assert "?" not in said


@pytest.mark.parametrize("width", WIDTHS)
def test_names_and_values_are_whole(width, folder, monkeypatch):
    wide = printed(monkeypatch, folder, COMMANDS["explain"], 200)
    said = printed(monkeypatch, folder, COMMANDS["explain"], width)
    values = re.findall(r"^(?:x|one|tails) +([0-9.]+)", wide, re.M)
    assert re.findall(r"^(?:x|one|tails) +([0-9.]+)", said, re.M) == values
    assert len(values) == 3
    assert LONG in " ".join(re.sub(r" [0-9.]+$", "", said, flags=re.M).split())


@pytest.mark.parametrize("width", WIDTHS)
def test_help_has_every_option_whole_and_only_styles_a_terminal(width, folder, monkeypatch, capsys):
    said = printed(monkeypatch, folder, "explain --help", width)
    monkeypatch.undo()
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["explain", "--help"]) == 0
    piped = capsys.readouterr().out
    assert "\x1b" not in piped
    names = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", piped, re.M)
    assert len(names) > 25
    assert re.findall(r"^  (?:-\w, )?(--[a-z-]+)", said, re.M) == names
    # the lines of an example end in a backslash
    assert [word for word in said.split() if word != "\\"] == piped.split()


@pytest.mark.parametrize(
    ("setting", "styled"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_help_is_styled_where_the_terminal_has_colours(setting, styled, monkeypatch):
    out = Terminal("utf-8")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm-256color", **setting}.items():
        monkeypatch.setenv(name, value)
    assert main(["--help"]) == 0
    assert ("\x1b[1mUsage:" in out.text) == styled
    assert ("\x1b" in out.text) == styled
