"""Tables in a terminal: nothing is cut, bars take the room that is left, or none."""

from __future__ import annotations

import io
import re
import sys

import pytest
from rich.cells import cell_len

from pkex.output.terminal import Bar, Sheet, _bars, cell, show
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.frontend

NAMES = ["age", "a rather long name", "名前の長い列", "bmi"]
VALUES = [2.0, -1.0, 0.5, 0.0]


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding="utf-8"):
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding)

    def isatty(self):
        return True

    @property
    def text(self):
        self.flush()
        return self.bytes.getvalue().decode(self.encoding)


def printed(monkeypatch, width, encoding="utf-8", lines=None, terminal=True, **options):
    """Return what is printed of a table in a terminal of this width."""
    stream = unchecked(Terminal(encoding) if terminal else io.TextIOWrapper(io.BytesIO(), encoding))
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")  # rich keeps the codes of a colour it has met
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in options.pop("env", {}).items():
        monkeypatch.setenv(name, value)
    if lines is None:
        lines = [
            [name, f"{value:+.2f}", "± 0.1", Bar(value, 2.0)]
            for name, value in zip(NAMES, VALUES, strict=True)
        ]
    heads = options.pop("heads", ["feature", "value", "", ""])
    outputs, n_outputs = options.pop("outputs", ()), options.pop("n_outputs", 0)
    show(cell("title", "bold"), Sheet(heads, lines, outputs, n_outputs, "use --output"))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120])
def test_names_and_values_are_whole_at_every_width(width, monkeypatch):
    said = re.sub(r"\x1b\[[0-9;]*m", "", printed(monkeypatch, width))
    lines = said.splitlines()
    assert max(map(cell_len, lines)) <= width
    for name, value in zip(NAMES, VALUES, strict=True):
        assert any(name in line and f"{value:+.2f}" in line for line in lines)
    assert ("█" in said) == (width >= 40)  # 18 + 5 + 5, gaps, and six for a bar


def test_names_that_have_no_room_stand_on_lines_of_their_own(monkeypatch):
    heads = ["feature", "value", "", "p", "total"]
    lines = [
        ["income of the household in the year before", "+1.234567", Bar(1, 1), "0.012", "+0.12345"],
        ["age", "-0.000012", Bar(0, 1), "1", "-0.00001"],
    ]
    said = printed(monkeypatch, 36, lines=lines, heads=heads)
    assert re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines() == [
        "title",
        "feature",
        "      value      p     total",
        "income of the household in the year",
        "before",
        "  +1.234567  0.012  +0.12345",
        "age",
        "  -0.000012      1  -0.00001",
    ]
    beside = re.sub(r"\x1b\[[0-9;]*m", "", printed(monkeypatch, 42, lines=lines, heads=heads))
    assert re.search(r"^age +-0\.000012 +1 +-0\.00001$", beside, re.M)


def test_bars_take_the_room_that_is_left(monkeypatch):
    longest = {}
    for width in (50, 60, 80, 200):
        said = printed(monkeypatch, width)
        longest[width] = max(len(bars) for bars in re.findall("█+", said))
    assert longest[50] < longest[60] < longest[80]
    assert longest[200] * 3 // 2 <= 41  # both sides together


def test_negative_bars_go_to_the_left_of_one_line():
    texts = [text.plain for text in _bars([Bar(v, 2.0) for v in VALUES], 25)]
    assert texts[0] == " " * 8 + "█" * 16
    assert texts[1] == "█" * 8
    assert texts[2] == " " * 8 + "█" * 4
    assert texts[3].strip() == ""
    assert len({text.find("█") for text in (texts[0], texts[2])}) == 1
    only = [text.plain for text in _bars([Bar(-1.0, 1.0), Bar(-0.5, 1.0)], 10)]
    assert only == ["█" * 10, " " * 5 + "█" * 5]
    halves = [text.plain for text in _bars([Bar(1.0, 1.0), Bar(0.25, 1.0)], 10)]
    assert halves == ["█" * 10, "██▌"]
    assert [t.plain for t in _bars([Bar(0.0, 0.0)], 10)] == [""]


def test_colours_are_of_the_palette_and_can_be_switched_off(monkeypatch):
    assert "\x1b[38;2;213;94;0m" in printed(monkeypatch, 80)
    assert "\x1b[38;2;0;114;178m" in printed(monkeypatch, 80)
    assert "38;2" not in printed(monkeypatch, 80, env={"NO_COLOR": "1"})


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_ascii_where_the_encoding_has_no_blocks(encoding, monkeypatch):
    lines = [["age", "+2.00", Bar(2.0, 2.0)], ["bmi", "-1.00", Bar(-1.0, 2.0)]]
    said = printed(monkeypatch, 80, encoding, lines, heads=["feature", "value", ""])
    assert "####" in said
    assert "?" not in said


def test_in_a_pipe_there_is_no_width(monkeypatch):
    said = printed(monkeypatch, 20, terminal=False)
    assert "\x1b" not in said
    assert "█" * 15 in said
    assert "± 0.1" in said


@pytest.mark.parametrize(("width", "shown"), [(30, 1), (45, 2), (80, 3)])
def test_outputs_that_do_not_fit_are_counted(width, shown, monkeypatch):
    heads = ["feature", "a vs b", "", "a vs c", "", "b vs c", ""]
    lines = [["age", *["0.1234", "± 0.01"] * 3]]
    places = [(1, 2), (3, 4), (5, 6)]
    said = printed(monkeypatch, width, lines=lines, heads=heads, outputs=places, n_outputs=45)
    assert [name in said for name in ("a vs b", "a vs c", "b vs c")] == [
        k < shown for k in range(3)
    ]
    assert f"and {45 - shown} more outputs; use --output" in " ".join(said.split())
    assert all(len(line) <= width for line in re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines())


def test_errors_are_left_out_before_values(monkeypatch):
    lines = [["a name of some letters", "0.1234", "± 0.01", Bar(1.0, 1.0)]]
    said = printed(monkeypatch, 32, lines=lines, heads=["feature", "value", "", ""])
    assert "0.1234" in said
    assert "±" not in said
