"""The cover of a product of parameters has every pair of their values."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests._support.pairwise import cover, pairwise

SIZES = [
    (2, 2, 2),
    (21, 4, 2, 2),
    (2, 3, 4, 5),
    (1, 3, 1, 2),
    (10, 7, 4),
    (5, 5, 3, 2),
    (3, 3, 3, 3),
]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_pair_is_in_a_row(sizes):
    rows = cover(sizes)
    for i, j in combinations(range(len(sizes)), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(range(sizes[i]), range(sizes[j])))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_rows_are_few_different_and_the_same_every_time(sizes):
    rows = cover(sizes)
    assert rows == cover(sizes)
    assert len(rows) == len(set(rows))
    first, second = sorted(sizes)[-2:]
    assert first * second <= len(rows) <= 2 * first * second


def test_rows_beyond_the_cover_are_there_but_for_the_night():
    mark = pairwise(a=range(4), b=["x", "y", "z"], c={"yes": True, "no": False})
    names, rows = mark.args
    assert names == ("a", "b", "c")
    assert [row.values for row in rows] == list(product(range(4), "xyz", [True, False]))
    assert rows[0].id == "0-x-yes"
    often = [row.values for row in rows if not row.marks]
    for i, j in combinations(range(3), 2):
        pairs = {(row[i], row[j]) for row in often}
        assert pairs == {(row.values[i], row.values[j]) for row in rows}
    assert {mark.name for row in rows for mark in row.marks} == {"nightly"}
    assert len(often) < len(rows)


def test_two_axes_have_no_row_to_leave_out():
    with pytest.raises(ValueError, match="product of two axes"):
        pairwise(a=[1, 2], b=[3, 4])
