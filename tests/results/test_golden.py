"""Files that an earlier version saved: a reader gets from them what it always got."""

from __future__ import annotations

import copy
import json
import math

import pytest

from tests._support.golden.facts import (
    FOLDER,
    RENAMED,
    ROUNDING,
    differences,
    frame,
    plain,
    selections,
    value,
)
from tests._support.golden.make import KINDS, RESULTS, loaded

RECORDS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.json"))
}

NEW_NAMES = {"p_members", "member_names"}  # of records in the names of today
every_file = pytest.mark.parametrize("name", RECORDS)


def open_file(name):
    return loaded(name, RECORDS[name]["kind"])


def attributes(result, recorded):
    renamed = RENAMED.get(type(result).__name__, {})
    if not NEW_NAMES.isdisjoint(recorded):
        renamed = {}
    return {name: value(result, renamed.get(name, name)) for name in recorded}


def selected(record):
    """Return the recorded selections, their attributes under the names of today."""
    renamed = RENAMED.get(record["kind"], {})
    return {
        words: {renamed.get(name, name): part for name, part in chosen.items()}
        if isinstance(chosen, dict)
        else chosen
        for words, chosen in record["selections"].items()
    }


def test_there_is_a_file_of_every_kind_of_result():
    assert {record["kind"] for record in RECORDS.values()} == {kind.__name__ for kind in KINDS}
    assert sorted(RECORDS) == sorted(RESULTS) == sorted(path.stem for path in FOLDER.glob("*.npz"))


@every_file
def test_the_fields_of_a_file_are_what_they_were(name):
    expected = RECORDS[name]["fields"]
    assert differences(expected, attributes(open_file(name), expected), 0.0) == []


@every_file
def test_what_is_derived_from_a_file_is_what_it_was(name):
    expected, result = RECORDS[name], open_file(name)
    derived = attributes(result, expected["derived"])
    assert differences(expected["derived"], derived, ROUNDING) == []
    assert differences(expected["frame"], plain(frame(result)), ROUNDING) == []
    assert differences(selected(expected), selections(result), ROUNDING, more=True) == []


@every_file
def test_a_file_looks_as_it_did(name):
    assert repr(open_file(name)).splitlines() == RECORDS[name]["repr"]


@every_file
def test_a_file_that_is_saved_again_holds_the_same(name, tmp_path):
    result = open_file(name)
    result.save(tmp_path / "again.npz")
    again = type(result).load(tmp_path / "again.npz")
    expected = RECORDS[name]["fields"]
    assert differences(expected, attributes(again, expected), 0.0) == []


@every_file
def test_a_number_that_moves_by_its_last_digit_is_noticed(name):
    record = RECORDS[name]["fields"]
    for field, entry in record.items():
        if isinstance(entry, dict) and entry.get("floats"):
            moved = copy.deepcopy(record)
            number = math.nextafter(float.fromhex(entry["floats"][-1]), math.inf)
            moved[field]["floats"][-1] = number.hex()
            if number == number:
                assert len(differences(record, moved, 0.0)) == 1, field


@pytest.mark.parametrize(
    "one",
    [None, True, 1, "a", [1, 2], {"floats": ["0x1.0p+0"]}, {"shape": [1], "floats": ["nan"]}],
)
@pytest.mark.parametrize("rounding", [0.0, ROUNDING])
def test_what_is_another_thing_is_noticed(one, rounding):
    others = [False, 0, "b", [1], [1, 3], {"floats": ["0x1.1p+0"]}, {"shape": [2], "floats": []}]
    for other in others:
        assert differences(one, one, rounding) == []
        assert differences(one, other, rounding) != []
