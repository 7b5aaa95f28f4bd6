"""Tables from files: what is read, and what is refused with which sentence."""

from __future__ import annotations

import gzip
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from pkex.tables.files import Dialect, read_file
from pkex.tables.frames import as_table

pytestmark = pytest.mark.frontend

PLAIN = Dialect()


def table(tmp_path, content, name="t.csv", **dialect):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_file(path, Dialect(**dialect))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty: a line with names and at least one row are needed."),
        (" \n\n", "is empty: a line with names and at least one row are needed."),
        ("a,b\n", "has no rows, only the names of columns."),
        ("a,b\n1,2\n3\n", "is ragged: line 3: expected 2 columns, got 1: 3."),
        ("a,b\n1,2\n3,4,5\n", "is ragged: line 3: expected 2 columns, got 3: 3,4,5."),
        ("a,b\n1,2,3\n4,5,6\n", "is ragged: line 2: expected 2 columns, got 3: 1,2,3."),
        ('a,b\n"1,2\n3,4\n', "has a quote in line 2 that is never closed"),
        ("a,b,a\n1,2,3\n", "has more than one column named a: rename them"),
        ("café\n1\n".encode("latin-1"), "(line 1 has the byte 0xe9)"),
        ("a\nx\nn\xf8\n".encode("latin-1"), "is not text in utf-8 (line 3 has the byte 0xf8)"),
        ("a,b\n1,2\n".encode("utf-16"), "is not text in utf-8"),
        (b"a,b\n1,\x002\n", "is neither CSV nor Parquet: it has zero bytes in it."),
        (b"PK\x03\x04rest", "is a spreadsheet or an archive, neither CSV nor Parquet"),
        (b"PAR1rest", "is a damaged Parquet file"),
        (b"\x1f\x8brest", "is a damaged gzip file"),
    ],
)
def test_bad_files_are_refused_with_a_sentence(content, words, tmp_path):
    with pytest.raises(ValueError, match=r"t\.csv") as caught:
        table(tmp_path, content)
    assert words in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is a directory, but a CSV or Parquet file is needed"):
        read_file(tmp_path, PLAIN)
    with pytest.raises(ValueError, match=r"there is no file .*nothing\.csv"):
        read_file(tmp_path / "nothing.csv", PLAIN)


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"delimiter": "ab"}, "cannot be read as CSV"),
        ({"decimal": "ab"}, "cannot be read as CSV"),
    ],
)
def test_a_wrong_dialect_is_refused(dialect, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        table(tmp_path, "a,b\n1,2\n", **dialect)


def test_columns_are_told_apart(tmp_path):
    content = "n,f,text,yes,day,code\n1,0.5,x,true,2021-01-01,01\n2,inf,y,false,2021-01-02,02\n"
    found = table(tmp_path, content)
    assert found.kinds == {
        "n": "numeric",
        "f": "numeric",
        "text": "categorical",
        "yes": "categorical",
        "day": "date",
        "code": "numeric",
    }
    found = table(tmp_path, content, categorical=("code", "day"))
    assert list(found.frame["code"]) == ["01", "02"]
    assert list(found.frame["day"]) == ["2021-01-01", "2021-01-02"]
    assert found.of_kind("other") == []


def test_numbers_are_read_to_the_last_digit(tmp_path):
    numbers = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.linspace(-300, 300, 1000)
    pd.DataFrame({"a": numbers}).to_csv(tmp_path / "t.csv", index=False)
    assert (read_file(tmp_path / "t.csv", PLAIN).frame["a"].to_numpy() == numbers).all()


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        ("a;b\n1,5;x\n2,5;y\n", {"decimal": ","}),
        ("a\tb\n1.5\tx\n2.5\ty\n", {}),
        ("a|b\n1.5|x\n2.5|y\n", {}),
        ("a b\n1.5 x\n2.5 y\n", {"delimiter": " "}),
        ("a\tb\n1.5\tx\n2.5\ty\n", {"delimiter": r"\t"}),
        ("\ufeffa,b\r\n1.5,x\r\n2.5,y\r\n", {}),
        ("a,b\n1.5,x\n2.5,y\n".encode("utf-16"), {"encoding": "utf-16"}),
        (gzip.compress(b"a,b\n1.5,x\n2.5,y\n", mtime=0), {}),
        (',a,b\n0,1.5,x\n1,2.5,"y"\n', {}),
        ("a,b,\n1.5,x,\n2.5,y,\n", {}),
    ],
)
def test_dialects_of_csv(content, dialect, tmp_path):
    found = table(tmp_path, content, **dialect).frame
    assert found.to_dict("list") == {"a": [1.5, 2.5], "b": ["x", "y"]}


def test_a_column_without_a_name_is_left_out_and_named(tmp_path):
    assert table(tmp_path, ",a\n0,1\n1,2\n").ignored == ("(column 1, without a name)",)


def test_names_that_stand_twice_in_parquet_are_told(tmp_path):
    path = tmp_path / "a.parquet"
    columns = [pa.array([1, 2]), pa.array([3, 4]), pa.array([5, 6])]
    pyarrow.parquet.write_table(pa.table(columns, names=["a", "b", "a"]), path)
    with pytest.raises(ValueError, match="more than one column named a: rename them"):
        read_file(path, Dialect())


def test_parquet_is_found_by_its_content(tmp_path):
    frame = pd.DataFrame(
        {
            "a": [1.5, 2.5],
            "b": pd.Categorical(["x", "y"]),
            "money": [Decimal("1.10"), Decimal("2.20")],
            "lists": [[1], [2]],
        },
        index=pd.Index([7, 8], name="patient"),
    )
    frame.to_parquet(tmp_path / "t.csv")  # whatever it is called
    found = read_file(tmp_path / "t.csv", PLAIN)
    assert found.kinds == {
        "a": "numeric",
        "b": "categorical",
        "money": "numeric",
        "lists": "other",
    }
    assert found.ignored == ("patient",)  # the labels of the rows are no column
    assert list(found.frame.index) == [0, 1]
    assert list(found.frame["money"]) == [1.1, 2.2]
    numbers = read_file(tmp_path / "t.csv", Dialect(categorical=("a",))).frame
    assert list(numbers["a"]) == ["1.5", "2.5"]


def test_text_of_every_arrow_type_is_categorical(tmp_path):
    types = {"plain": pa.string(), "large": pa.large_string()}
    if int(pa.__version__.split(".")[0]) >= 21:  # the first that writes them
        types["view"] = pa.string_view()
    columns = {name: pa.array(["01", "02"], type=kind) for name, kind in types.items()}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    for categorical in ((), tuple(types)):
        found = read_file(tmp_path / "t.parquet", Dialect(categorical=categorical))
        assert found.of_kind("categorical") == list(types)
        assert found.frame.to_dict("list") == {name: ["01", "02"] for name in types}


def test_categories_of_pandas_are_categorical_whatever_they_hold(tmp_path):
    frame = pd.DataFrame({"number": [1, 2, 1]})
    for name, values in {
        "whole": [3, 1, 3],
        "real": [0.5, 1.5, 0.5],
        "gaps": [3, None, 3],
        "text": ["x", "y", "x"],
        "flag": [True, False, True],
        "day": pd.to_datetime(["2021-01-01", "2021-01-02", "2021-01-01"]),
    }.items():
        frame[name] = pd.Categorical(values)
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_file(tmp_path / "t.parquet", PLAIN)
    assert found.of_kind("numeric") == ["number"]
    assert found.of_kind("categorical") == list(frame.columns[1:])
    for name in frame.columns[1:]:
        assert isinstance(found.frame[name].dtype, pd.CategoricalDtype)
        assert found.frame[name].astype(object).equals(frame[name].astype(object))
    as_text = read_file(tmp_path / "t.parquet", Dialect(categorical=("whole", "number"))).frame
    assert list(as_text["whole"]) == ["3", "1", "3"]


def test_a_column_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"t\.csv has no column c, d; it has a, b\."):
        table(tmp_path, "a,b\n1,2\n").take(["a", "c", "d"])


def test_a_file_and_its_frame_have_the_same_kinds(tmp_path):
    """What the command line takes for categories, `mmd` and `hsic` do; and nothing else."""
    frame = pd.DataFrame(
        {
            "float": [0.5, 1.5],
            "half": np.array([0.5, 1.5], dtype=np.float32),
            "whole": [1, 2],
            "small": np.array([1, 2], dtype=np.uint8),
            "text": ["x", "y"],
            "digits": ["1", "2"],
            "flag": [True, False],
            "level": pd.Categorical(["p", "q"]),
            "code": pd.Categorical([1, 2]),
            "money": [Decimal("1.10"), Decimal("2.20")],
            "day": pd.to_datetime(["2021-01-01", "2021-01-02"]),
            "span": pd.to_timedelta([1, 2], unit="h"),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_file(tmp_path / "t.parquet", PLAIN)
    for name in frame.columns:
        kind = found.kinds[name]
        if kind != "other":  # durations, which frames have in days and commands ignore
            assert as_table(frame[[name]], "X").categorical == (kind == "categorical",)
            assert as_table(found.frame[[name]], "X").categorical == (kind == "categorical",)
    assert found.of_kind("date") == ["day"]
    assert found.of_kind("other") == ["span"]
    assert found.of_kind("categorical") == ["text", "digits", "flag", "level", "code"]
