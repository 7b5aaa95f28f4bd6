"""What options of the command line do with a table, and what they refuse with which sentence."""

from __future__ import annotations

import pytest

from pkex.tables.files import Dialect
from pkex.tables.selection import check_numbers, choose_rows, handle_missing, read_table

pytestmark = pytest.mark.frontend


def table(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_text(content)
    return read_table(path, Dialect())


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("0", [0]),
        ("0:3,7", [0, 1, 2, 7]),
        ("8:", [8, 9]),
        ("-1", [9]),
        ("-2:", [8, 9]),
        ("::4", [0, 4, 8]),
        ("7,2,7,1:3", [7, 2, 1]),
        (" 1 , 3 : 5", [1, 3, 4]),
        ("5:100", [5, 6, 7, 8, 9]),
    ],
)
def test_rows_are_chosen_as_in_python(rows, expected, tmp_path):
    ten = table(tmp_path, "a\n" + "\n".join(map(str, range(10))))
    chosen = choose_rows(ten, rows)
    assert list(chosen.frame.index) == list(chosen.frame["a"]) == expected


@pytest.mark.parametrize("rows", ["", "a", "1,", "1:2:3:4", "0:5:0", "10", "-11", "5:5", "1.5"])
def test_rows_that_are_none_are_refused(rows, tmp_path):
    ten = table(tmp_path, "a\n" + "\n".join(map(str, range(10))))
    with pytest.raises(ValueError, match="row"):
        choose_rows(ten, rows)


def test_missing_values_are_refused_or_dropped_and_counted(tmp_path):
    gaps = table(tmp_path, "a,b,c\n1,x,true\n,y,false\n3,,true\n4,NA,\n5,z,true\n")
    with pytest.raises(ValueError, match="missing values") as caught:
        handle_missing(gaps, "refuse")
    assert "in 3 of 5 rows, in a (1), b (2), c (1): pass --missing drop" in str(caught.value)
    left = handle_missing(gaps, "drop")
    assert left.dropped == 3
    assert list(left.frame.index) == [0, 4]
    assert left.frame["c"].dtype == bool
    assert handle_missing(choose_rows(gaps.take(["a"]), "2:"), "refuse").dropped == 0
    with pytest.raises(ValueError, match=r"every row of .* has missing values"):
        handle_missing(table(tmp_path, "a,b\n1,\n2,\n"), "drop")


def test_columns_that_options_name_must_be_there(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n01,2\n02,3\n")
    with pytest.raises(ValueError, match=r"no column c, which --categorical names; it has a, b\."):
        read_table(path, Dialect(categorical=("a", "c")))
    with pytest.raises(ValueError, match=r"no column c, which --id names; it has a, b\."):
        read_table(path, Dialect(), row_names="c")
    assert list(read_table(path, Dialect(), row_names="a").frame["a"]) == ["01", "02"]


def test_another_encoding_is_named_by_its_option(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe\n1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"or name its encoding, e\.g\. --encoding latin-1\.$"):
        read_table(path, Dialect())
    assert read_table(path, Dialect(encoding="latin-1")).names == ["größe"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [("inf", "infinite numbers, the first in row 1"), (str(2**53 + 1), "pass --categorical a")],
)
def test_numbers_that_would_be_others_are_refused(cell, words, tmp_path):
    check_numbers(table(tmp_path, "a,b\n1,x\n2,y\n"))
    with pytest.raises(ValueError, match=words):
        check_numbers(table(tmp_path, f"a,b\n1,x\n{cell},y\n"))
