"""Quotes of CSV that are never closed are refused; those closed too late are noted."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.svm import SVR

from pkex.cli import main
from pkex.tables import csv_blocks
from pkex.tables.files import Dialect, read_file
from pkex.tables.quotes import LineBreaks, find_unclosed
from pkex.tables.streams import FileStream
from tests._support.pairwise import pairwise

LETTERS = st.text(st.sampled_from('a",\n\r'), max_size=30)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(csv_blocks, "_BLOCK", 96)


def opened_in(text, delimiter=","):
    """Return the line of a quote that is never closed, character by character."""
    state, line, opened, place = "start", 1, None, 0
    while place < len(text):
        char, after = text[place], text[place + 1 : place + 2]
        line += char == "\n" or (char == "\r" and after != "\n")
        if state == "quoted":
            if char == '"' == after:
                place += 1
            elif char == '"':
                state = "cell"
        elif char in delimiter + "\r\n":
            state = "start"
        elif char == '"' and state == "start":
            state, opened = "quoted", line
        else:
            state = "cell"
        place += 1
    return opened if state == "quoted" else None


@given(st.lists(LETTERS, max_size=4))
@settings(deadline=None, max_examples=500)
def test_the_quote_is_found_wherever_blocks_are_cut(texts):
    blocks = [text for text in texts if text]
    assert find_unclosed(blocks, ",") == opened_in("".join(blocks))


def arrow(text):
    """Read as Arrow does by itself; None for what it refuses."""
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    try:
        return pyarrow.csv.read_csv(pa.BufferReader(text.encode()), None, options, convert)
    except pa.ArrowInvalid:
        return None


def read(path, in_parts, dialect=None):
    """Return the frame and the line breaks of a file that is read whole, or in parts."""
    if not in_parts:
        table = read_file(path, dialect or Dialect())
        return table.frame, table.line_breaks
    stream = FileStream.of(path, dialect or Dialect())
    chunks = list(stream.chunks(7))
    assert all(chunk.line_breaks == stream.line_breaks for chunk in chunks)
    return pd.concat([chunk.frame for chunk in chunks]), stream.line_breaks


@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "parts"])
@given(body=LETTERS)
@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_closed_reads_as_before_and_nothing_else_is_read(tmp_path, in_parts, body):
    text = "x,y\n" + body + "\n" * (not body.endswith('"'))
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    line, expected = opened_in(text), arrow(text)
    if line is not None:
        with pytest.raises(ValueError, match=rf"t\.csv has a quote in line {line} that is never"):
            read(path, in_parts)
    elif expected is not None and expected.num_rows:
        frame, breaks = read(path, in_parts)
        pd.testing.assert_frame_equal(frame, expected.to_pandas())
        cells = [cell for row in expected.to_pylist() for cell in row.values()]
        broken = [c for c in cells if isinstance(c, str) and ("\n" in c or "\r" in c)]
        assert (breaks.count if breaks else 0) == (len(broken) if len(broken) <= 2 else 0)


def rows(delimiter=",", end="\n"):
    """Return 200 lines of a table, the names first."""
    numbers = np.random.default_rng(0).normal(size=200).round(3)
    lines = [f"{number}{delimiter}k{i % 3}" for i, number in enumerate(numbers)]
    return [line + end for line in [f"size{delimiter}kind", *lines]]


def with_quotes(*places, delimiter=",", end="\n"):
    """Return the text of a table with a quote before the last cell of some rows, from 0."""
    lines = rows(delimiter, end)
    for row in places:
        lines[row + 1] = lines[row + 1].replace(f"{delimiter}k", f'{delimiter}"k')
    return "".join(lines)


@pairwise(
    encoding=["utf-8", "utf-8-sig", "latin-1", "utf-16", "gzip"],
    delimiter=[",", ";", "\t", "|", " "],
    end=["\n", "\r\n", "\r"],
    in_parts={"whole": False, "parts": True},
)
def test_a_quote_that_is_never_closed_is_refused(tmp_path, in_parts, end, delimiter, encoding):
    text = with_quotes(20, delimiter=delimiter, end=end)
    data = gzip.compress(text.encode()) if encoding == "gzip" else text.encode(encoding)
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    dialect = Dialect(delimiter, encoding="utf-8" if encoding == "gzip" else encoding)
    with pytest.raises(ValueError, match=r"t\.csv has a quote in line 22 that is never closed"):
        read(path, in_parts, dialect)


@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "parts"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"2', 2),
        ('a,b\n1,"2\n', 2),
        ('a,b\n1,"2\n\n\n', 2),
        ('a,b\n1,"', 2),
        ('a,b\n\n\n1,"x""\n', 4),
        ('a,b\n1,"two\nlines"\n2,"x\n', 4),
        ('a,b\n5" pipe,1\n4" pipe,2\n3,"x\n', 4),
        ('a,b\n"1,2\n3,4\n', 2),
        ('a,"b\n1,2\n3,4\n', 1),
    ],
)
def test_the_line_is_where_the_quote_opens(tmp_path, in_parts, text, line):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"has a quote in line {line} that is never closed"):
        read(path, in_parts)


def test_a_long_rest_of_a_file_is_refused(tmp_path):
    """Arrow refuses cells that are longer than its blocks, in words that do not help."""
    path = tmp_path / "t.csv"
    text = with_quotes(20) + "1.5,k0\n" * 400_000
    for more, words in (
        ("", "in line 22 that is never closed"),
        ('"\n1,k0\n', "that is closed too late"),
    ):
        path.write_text(text + more)
        for in_parts in (False, True):
            with pytest.raises(ValueError, match=rf"t\.csv .* quote {words}"):
                read(path, in_parts)


@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "parts"])
def test_quotes_that_are_closed_too_late_are_found(tmp_path, in_parts):
    path = tmp_path / "t.csv"
    path.write_text(with_quotes(20, 24))
    frame, breaks = read(path, in_parts)
    assert len(frame) == 196
    assert breaks == LineBreaks(1, "row 20 (counted from 0) of column kind", 5)
    lines = with_quotes(20, 24).replace("size,kind", ",kind")
    path.write_text(lines.replace(',"k', ",k").replace("\n", '\n"', 1).replace(",k2", '",k2', 1))
    assert read(path, in_parts)[1].where == "row 0 (counted from 0) of column number 1"
    path.write_text('size,"kind\n1,k0\n2,"\n3,k1\n')
    assert read(path, in_parts)[1] == LineBreaks(1, "the name of a column", 3)


@pytest.mark.parametrize("in_parts", [False, True], ids=["whole", "parts"])
@pytest.mark.parametrize("broken", [1, 4, 5, 400])
def test_line_breaks_are_told_where_they_are_few(tmp_path, in_parts, broken):
    """One in 100 rows is few; columns with many are comments, as people write them."""
    texts = ["two\nlines" if i < broken else 'say "hi", all' for i in range(400)]
    frame = pd.DataFrame({"size": np.arange(400.0), "text": texts})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found, breaks = read(tmp_path / "t.csv", in_parts)
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)
    assert (breaks.count if breaks else 0) == (broken if broken <= 4 else 0)


COMMANDS = {
    "explain": ["explain", "model.skops", "data.csv"],
    "parts": ["explain", "model.skops", "data.csv", "--part-rows", "50"],
    "background": ["explain", "model.skops", "good.csv", "--background", "data.csv"],
    "sensitivity": ["sensitivity", "model.skops", "data.csv"],
    "drift": ["drift", "good.csv", "data.csv", "--permutations", "39"],
    "dependence": ["dependence", "data.csv", "--target", "size", "--permutations", "39"],
}


@pytest.fixture
def files(tmp_path):
    good = "".join(rows())
    (tmp_path / "good.csv").write_text(good)
    table = pd.read_csv(tmp_path / "good.csv")[["size"]]
    skops.io.dump(SVR().fit(table, table["size"]), "model.skops")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_command_refuses_or_notes(files, command, capsys):
    (files / "data.csv").write_text(with_quotes(20))
    assert main(command) == 2
    assert "data.csv has a quote in line 22 that is never closed" in (
        " ".join(capsys.readouterr().err.split())
    )
    for places, others in (
        ((20, 24), "no other cell has"),
        ((20, 24, 60, 62), "1 other cell has"),
        ((20, 24, 60, 62, 70, 72), None),
    ):
        (files / "data.csv").write_text(with_quotes(*places))
        assert main([*command, "--json"]) in (0, 1)
        notes = json.loads(capsys.readouterr().out)["notes"]
        told = [note for note in notes if "line breaks" in note]
        assert len(told) == (others is not None)
        if told:
            start = "data.csv: row 20 (counted from 0) of column kind has 5 lines, and"
            assert told[0].startswith(f"{start} {others} line breaks.")
