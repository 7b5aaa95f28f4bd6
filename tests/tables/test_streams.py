"""Files in chunks have the columns that they have when read whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pkex.tables import csv_blocks, streams
from pkex.tables.files import Dialect, read_file
from pkex.tables.streams import FileStream, is_small

pytestmark = pytest.mark.frontend

CELLS = {
    "integer": ["0", "1", "7", "-12", " 3"],
    "long": ["9007199254740993", "12345678901234567890123", "4"],
    "number": ["0.5", "1e3", "-2.25", "inf", "nan"],
    "boolean": ["true", "false", "TRUE", "0", "1"],
    "date": ["2020-01-01", "1999-12-31"],
    "time": ["10:00", "23:59:59"],
    "stamp": ["2020-01-01 10:00:00", "2020-01-01T10:00:00Z", "2020-01-01 10:00:00.125"],
    "missing": ["", "NA", "null"],
    "text": ["a", "ä", '"a, b"', '"two\nlines"', '"say ""hi"""', "1 2"],
}


@pytest.fixture(autouse=True)
def _in_small_blocks(monkeypatch):
    monkeypatch.setattr(csv_blocks, "_BLOCK", 96)
    monkeypatch.setattr(streams, "_BATCH", 5)


def same(path, dialect=None, n_rows=7):
    """Compare a file in chunks with the file read whole."""
    dialect = dialect or Dialect()
    whole = read_file(path, dialect)
    stream = FileStream.of(path, dialect)
    assert list(stream.names) == whole.names
    assert stream.kinds == whole.kinds
    assert stream.total == whole.total
    assert stream.ignored == whole.ignored
    assert stream.rounded == whole.rounded
    assert stream.missing == whole.frame.isna().sum().to_dict()
    chunks = list(stream.chunks(n_rows))
    assert [len(chunk.frame) for chunk in chunks[:-1]] == [n_rows] * (len(chunks) - 1)
    pd.testing.assert_frame_equal(pd.concat([chunk.frame for chunk in chunks]), whole.frame)
    rows = np.arange(whole.total)[1::3]
    if rows.size:
        picked = stream.pick(rows)
        assert list(picked.frame.index) == list(rows)
        pd.testing.assert_frame_equal(picked.frame, whole.frame.iloc[rows], check_dtype=False)
    return stream


columns = st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=3, unique=True).flatmap(
    lambda kinds: st.lists(
        st.sampled_from([cell for kind in kinds for cell in CELLS[kind]]), min_size=24, max_size=24
    )
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(table=st.lists(columns, min_size=2, max_size=4))
def test_csv_columns_have_the_kinds_that_they_have_when_read_whole(table, tmp_path):
    path = tmp_path / "t.csv"
    lines = [",".join(f"c{j}" for j in range(len(table))), *map(",".join, zip(*table, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    same(path)


@pytest.mark.parametrize(
    ("early", "late", "kind"),
    [
        ("1", "1.5", "numeric"),
        ("1", "x", "categorical"),
        ("1", "true", "categorical"),
        ("7", "true", "categorical"),
        ("", "x", "categorical"),
        ("", "3", "numeric"),
        ("2020-01-01", "2020-01-01 10:00:00", "date"),
        ("2020-01-01", "10:00", "categorical"),
        ("1.5", "x", "categorical"),
        ("1.5", "true", "categorical"),
    ],
)
def test_the_last_line_may_change_the_kind_of_a_column(early, late, kind, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + f"{early},1\n" * 200 + f"{late},2\n")
    assert same(path).kinds == {"a": kind, "b": "numeric"}


def test_long_integers_are_known_wherever_they_stand(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2.5\n" * 90 + "123456789012345678901,1e20\n")
    assert same(path).rounded == {"a": 123456789012345678901}


def test_other_dialects_and_compressed_files(tmp_path):
    text = "a;b;;c\n" + "".join(f"{i},5;é{i % 3};x;{i}\n" for i in range(60))
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("latin-1"))
    dialect = Dialect(decimal=",", encoding="latin-1", categorical=("c",))
    stream = same(path, dialect)
    assert stream.kinds == {"a": "numeric", "b": "categorical", "c": "categorical"}
    assert stream.levels == {"b": 3, "c": 60}
    path.write_bytes(gzip.compress(("\ufeff" + text).encode()))
    same(path, Dialect(decimal=",", categorical=("c",)))


def test_parquet_in_chunks(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=50),
            "whole": pd.array([None if i == 33 else i for i in range(50)], dtype="Int64"),
            "flag": [None if i == 40 else i % 2 == 0 for i in range(50)],
            "text": [f"t{i % 4}" for i in range(50)],
            "code": pd.Categorical(rng.integers(0, 3, 50)),
            "day": pd.date_range("2020-01-01", periods=50),
        },
        index=[f"row {i}" for i in range(50)],
    )
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=17)
    whole, stream = read_file(path, Dialect()), FileStream.of(path, Dialect())
    assert stream.kinds == whole.kinds
    assert stream.ignored == whole.ignored == ("__index_level_0__",)
    assert stream.missing == whole.frame.isna().sum().to_dict()
    got = pd.concat([chunk.frame.astype({"code": object}) for chunk in stream.chunks(8)])
    pd.testing.assert_frame_equal(got, whole.frame.astype({"code": object}))
    pa.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(ValueError, match="more than one column named a"):
        FileStream.of(path, Dialect())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n\n",
        b"a,b\n",
        b"a,b\n" + b"1,2\n" * 90 + b"3\n",
        b"a,b\n" + b"1,2\n" * 90 + b"3,4,5\n",
        b"a,b,a\n1,2,3\n",
        b"a\n" + b"x\n" * 200 + "n\xf8\n".encode("latin-1"),
        b"a,b\n" + b"1,2\n" * 90 + b"1,\x002\n",
        b"PK\x03\x04rest",
        b"PAR1rest",
        b"\x1f\x8brest",
        gzip.compress(b"a,b\n" + b"1,2\n" * 90, mtime=0)[:-12],
    ],
)
def test_bad_files_are_refused_as_when_read_whole(content, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.csv") as whole:
        read_file(path, Dialect())
    with pytest.raises(ValueError, match=r"t\.csv") as chunked:
        list(FileStream.of(path, Dialect()).chunks(10))
    cut = str(whole.value).split("(")[0]  # what the libraries say may differ
    assert str(chunked.value).startswith(cut)
    assert type(chunked.value) is type(whole.value)


def test_what_is_no_file_or_no_encoding_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is a directory"):
        FileStream.of(tmp_path, Dialect())
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="there is no encoding 'nonsense'"):
        FileStream.of(tmp_path / "t.csv", Dialect(encoding="nonsense"))


def test_small_files_are_told_from_large_ones(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    assert is_small(path)
    assert is_small(tmp_path / "nothing.csv")
    with path.open("wb") as file:
        file.truncate(2**24 + 1)
    assert not is_small(path)
    wide = Path(tmp_path, "t.parquet")
    pa.parquet.write_table(pa.table({"a": np.zeros(3 * 10**6)}), wide)
    assert wide.stat().st_size < 2**21
    assert not is_small(wide)
