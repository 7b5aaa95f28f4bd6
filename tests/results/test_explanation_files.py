"""Explanation in files: saved, loaded, replaced, damaged."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from pkex import Explanation
from pkex.games import rules
from tests._support.explanations import (
    ONE,
    SEVERAL,
    TABLE,
    TEXT,
    assert_equal,
    assert_same,
    changed,
    everything,
)
from tests._support.stored import content, written

pytestmark = pytest.mark.frontend


@everything
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_what_was_saved_is_loaded(tmp_path, explanation, kind):
    path = kind(tmp_path / "explanation.npz")
    explanation.save(path)
    again = Explanation.load(path)
    assert_same(again, explanation)
    assert again.rule in again.rules
    assert again.rules.index(again.rule) == explanation.rules.index(explanation.rule)
    assert len(again.rules) == len(explanation.rules)
    for old, new in zip(explanation.rules, again.rules, strict=True):
        assert_equal(old.nodes, new.nodes)
        assert_equal(old.weights, new.weights)
        for name in ("family", "max_players", "max_lam", "any_factors", "relative_error"):
            assert getattr(old, name) == getattr(new, name)
            assert type(getattr(old, name)) is type(getattr(new, name))
    assert repr(again) == repr(explanation)
    assert os.listdir(tmp_path) == ["explanation.npz"]


@everything
def test_pickle(explanation):
    assert_same(pickle.loads(pickle.dumps(explanation)), explanation)


def test_every_kind_of_cell_is_saved(tmp_path):
    import pandas

    cells = ["Wien", "", "Zürich \U0001f600", None, True, False, 3, 2**70, 0.1, -0.0]
    cells += [np.float32(0.5)]
    cells += [np.int64(7), np.str_("x"), np.bool_(True), float("inf"), -np.inf, float("nan")]
    cells += [pandas.NA, "null", "nan"]
    table = np.empty((len(cells), 4), dtype=object)
    table[:] = [[cell] * 4 for cell in cells]
    explanation = changed(ONE[: len(cells)], data=table)
    explanation.save(tmp_path / "cells.npz")
    again = Explanation.load(tmp_path / "cells.npz").data[:, 0]
    expected = [*cells[:10], 0.5, 7, "x", True, float("inf"), -np.inf, float("nan"), None]
    expected += ["null", "nan"]
    assert list(map(repr, again)) == list(map(repr, expected))


def test_the_rule_of_the_largest_error_comes_first(tmp_path):
    header, arrays = content(
        changed(ONE, rules=(*ONE.rules, rules.exact(9)), additivity_error=np.nan)
    )
    header["rule"] = len(ONE.rules)  # as files had it that kept this rule apart
    again = Explanation.load(written(tmp_path / "other.npz", header, arrays))
    assert again.rule is again.rules[0]
    assert (again.rule.size, len(again.rules)) == (5, len(ONE.rules) + 1)
    assert np.isnan(again.additivity_error)


def test_the_file_holds_no_pickle_and_plain_json(tmp_path):
    path = tmp_path / "a file without suffix"
    TEXT.save(path)
    with np.load(path, allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes(), parse_constant=pytest.fail)
    assert (header["format"], header["version"]) == ("pkex.Explanation", 3)


def test_an_existing_file_is_replaced_and_a_link_followed(tmp_path):
    path, link = tmp_path / "a.npz", tmp_path / "link.npz"
    path.write_text("old")
    link.symlink_to(path)
    ONE.save(link)
    assert link.is_symlink()
    assert_same(Explanation.load(path), ONE)
    SEVERAL.save(path)
    assert_same(Explanation.load(link), SEVERAL)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    ONE.save(path)

    def full(file, array, **how):
        file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="no space"):
        SEVERAL.save(path)
    assert_same(Explanation.load(path), ONE)
    assert os.listdir(tmp_path) == ["a.npz"]


def test_where_it_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="is a directory; give the name of a file"):
        ONE.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no directory .*nowhere"):
        ONE.save(tmp_path / "nowhere" / "a.npz")
    table = TABLE.copy()
    table[2, 1] = object()
    with pytest.raises(ValueError, match=r"column 'zip' of the data holds <object.*convert"):
        changed(ONE, data=table).save(tmp_path / "a.npz")
    assert not os.listdir(tmp_path)


def rewritten(path, change):
    """Save an explanation whose header `change` has edited."""
    ONE.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h, a: h.update(version=4), "format version 4, but this pkex reads up to 3; update"),
        (lambda h, a: h.update(version="new"), "not written by"),
        (lambda h, a: h.update(format="other"), "its format is 'other'"),
        (lambda h, a: h.pop("format"), "not written by"),
        (lambda h, a: h.pop("feature_groups"), "damaged: its parts do not fit"),
        (lambda h, a: h.update(feature_groups=3), "damaged: its parts do not fit"),
        (lambda h, a: h.update(rule=99), "damaged"),
        (lambda h, a: a.pop("values"), "damaged"),
        (lambda h, a: a.pop("rule_0_nodes"), "damaged"),
        (lambda h, a: a.update(values=a["values"][1:]), "damaged.*must have shape"),
        (lambda h, a: h.update(data=[[1]]), "damaged"),
    ],
)
def test_a_file_with_other_contents_is_refused(tmp_path, change, words):
    rewritten(tmp_path / "a.npz", change)
    with pytest.raises(ValueError, match=words):
        Explanation.load(tmp_path / "a.npz")


def test_what_is_no_explanation_is_refused(tmp_path):
    path, one_array = tmp_path / "a.npz", io.BytesIO()
    np.save(one_array, np.ones(3))
    with pytest.raises(FileNotFoundError):
        Explanation.load(path)
    with pytest.raises(ValueError, match="is a directory, not a file saved by"):
        Explanation.load(tmp_path)
    for write in (
        lambda: path.write_bytes(b""),
        lambda: path.write_text("age,bmi\n1,2\n"),
        lambda: path.write_bytes(pickle.dumps({"values": 1})),
        lambda: path.write_bytes(one_array.getvalue()),
        lambda: np.savez(path, values=np.ones(3)),
        lambda: np.savez(path, header=np.array([{"format": 1}], dtype=object)),
        lambda: np.savez(path, header=np.frombuffer(b"[1]", dtype=np.uint8)),
        lambda: np.savez(path, header=np.frombuffer(b"\xff{", dtype=np.uint8)),
    ):
        write()
        with pytest.raises(ValueError, match=r"a\.npz is damaged or was not written by"):
            Explanation.load(path)


def test_a_damaged_file_is_refused(tmp_path):
    whole, path = tmp_path / "whole.npz", tmp_path / "a.npz"
    ONE.save(whole)
    content = whole.read_bytes()
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="damaged"):
            Explanation.load(path)
    with zipfile.ZipFile(whole) as archive:
        start = archive.getinfo("values.npy").header_offset
    at = content.index(ONE.values.tobytes(), start)
    path.write_bytes(content[:at] + b"\x00" * 8 + content[at + 8 :])
    with pytest.raises(ValueError, match=r"damaged.*CRC"):
        Explanation.load(path)
