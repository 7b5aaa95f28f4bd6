"""Files of results: every format version is read, and whatever is wrong is a ValueError."""

import copy
import io
import json
import os
import pickle
import random
import struct
import tracemalloc
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.multioutput import MultiOutputRegressor
from sklearn.svm import SVC, SVR
from test_report import report

import pkex
from pkex import Attribution, Importance
from pkex.explanation import Explanation
from pkex.kernels import (
    RBF,
    Categorical,
    Constant,
    Custom,
    Linear,
    Matern,
    Periodic,
    ProductMatern,
    RationalQuadratic,
)
from pkex.output import npz
from pkex.output.kernel_data import Described, from_data, to_data

mpl.use("Agg")

FILES = Path(__file__).parent / "files"


def expansion():
    """Return the expansion that tests/files/explanation_v*.npz explain, and the rows."""
    rng = np.random.default_rng(0)
    points, alpha = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    names = ["age", "bmi", "bp"]
    f = pkex.KernelExpansion(points, alpha, pkex.kernels.RBF(1.5), [0.5, -0.5], names, ["a", "b"])
    return f, rng.normal(size=(4, 3))


def example():
    f, rows = expansion()
    return pkex.Explainer(f, removal="neutral", groups={"body": ["bmi", "bp"]})(rows)


PACK = {
    Explanation: npz.pack_explanation,
    Attribution: npz.pack_attribution,
    Importance: npz.pack_importance,
}


def content(result=None):
    """Return the header and the arrays that are saved of a result, by default an explanation."""
    result = result or example()
    arrays = PACK[type(result)](result)
    return json.loads(arrays.pop("header").tobytes()), arrays


def written(path, header, arrays, save=np.savez):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    with path.open("wb") as file:
        save(file, header=np.frombuffer(header, dtype=np.uint8), **arrays)
    return path


# Versions


@pytest.mark.parametrize("version", range(1, npz.EXPLANATION.version + 1))
def test_files_of_every_version_are_read(version):
    found = Explanation.load(FILES / f"explanation_v{version}.npz")
    expected = example()
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    np.testing.assert_allclose(found.base_values, expected.base_values, rtol=1e-12)
    np.testing.assert_allclose(found.predictions, expected.predictions, rtol=1e-12)
    np.testing.assert_array_equal(found.data, expected.data)
    for name in ("feature_names", "column_names", "players", "output_names", "removal", "complete"):
        assert getattr(found, name) == getattr(expected, name)
    assert isinstance(found.kernel, Described)  # their kernels are text
    assert repr(found.kernel) == "RBF(length_scale=1.5)"
    assert 0.0 <= found.residual < 1e-15


def test_text_of_the_first_version_is_read():
    found = Explanation.load(FILES / "explanation_v1_text.npz")
    assert found.column_names == ("city", "age")
    assert list(map(repr, found.data.flat)) == ["'Wien'", "1.0", "'Graz'", "nan", "'Linz'", "3.0"]
    assert found.values[1].round(4).tolist() == [-0.3007, 0.0827]


def test_a_field_that_is_not_there_is_none(tmp_path):
    header, arrays = content()
    del header["kernel"], header["kernels"]
    assert Explanation.load(written(tmp_path / "a.npz", header, arrays)).kernel is None


def classified(index):
    """Return the explanation of a classifier whose rows have labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    labels = np.array(["no", "maybe", "yes"])[np.arange(30) % 3]
    X.index = index
    return pkex.Explainer(SVC().fit(X, labels))(X[:6])


INDEXES = {
    "numbers": pd.Index(range(100, 130), name="patient"),
    "text": pd.Index([f"p{i}" for i in range(30)]),
    "dates": pd.date_range("2024-01-01", periods=30, tz="Europe/Vienna"),
    "several": pd.MultiIndex.from_product([["x", "y", "z"], range(10)], names=["site", None]),
    "tuples": pd.Index([(i, "a") for i in range(30)], tupleize_cols=False),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
def test_labels_and_classes_are_saved(index, tmp_path):
    explanation = classified(index)
    explanation.save(tmp_path / "a.npz")
    found = Explanation.load(tmp_path / "a.npz")
    for name in ("classes", "sides", "number", "absent"):
        assert getattr(found, name) is not None
        assert getattr(found, name) == getattr(explanation, name)
    np.testing.assert_array_equal(found.predicted, explanation.predicted)
    if isinstance(index[0], tuple) and index.nlevels == 1:  # which are kept as text
        assert list(found.row_labels) == [str(label) for label in index[:6]]
    else:
        assert list(found.row_labels) == list(index[:6])
        assert list(found.row_labels.names) == list(index.names)


# Damage


def _deep(levels):
    return b"[" * levels + b"]" * levels


HEADERS = {
    "nested": _deep(200_000),
    "nested in a field": b'{"format": "pkex.Explanation", "version": 1, "x": '
    + _deep(10**5)
    + b"}",
    "a number of many digits": b'{"format": "pkex.Explanation", "version": ' + b"9" * 10_000 + b"}",
    "no UTF-8": b'{"format": "\xff"}',
    "a list": b"[]",
    "nothing": b"",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_headers_that_are_no_header(header, tmp_path):
    path = written(tmp_path / "a.npz", header, content()[1])
    with pytest.raises(ValueError, match=r"a\.npz is damaged or was not written by"):
        Explanation.load(path)


def labelled(kind, labels):
    levels = [{"kind": kind, "labels": labels}]
    return {"several": False, "names": [None], "levels": levels}


CHANGES = {
    "values of text": lambda h, a: a.update(values=a["values"].astype(str)),
    "values of dates": lambda h, a: a.update(values=a["values"].astype("M8[s]")),
    "complex values": lambda h, a: a.update(values=a["values"] + 1j),
    "values of records": lambda h, a: a.update(values=np.zeros((4, 2, 2), dtype=[("x", "f8")])),
    "no predictions": lambda h, a: a.pop("predictions"),
    "no data": lambda h, a: a.pop("data"),
    "no removal": lambda h, a: h.pop("removal"),
    "names are numbers": lambda h, a: h.update(feature_names=[1, 2]),
    "names are a text": lambda h, a: h.update(feature_names="ab"),
    "names are null": lambda h, a: h.update(column_names=None),
    "removal is a list": lambda h, a: h.update(removal=["neutral"]),
    "complete is a number": lambda h, a: h.update(complete=1),
    "residual is a text": lambda h, a: h.update(residual="0"),
    "residual is a flag": lambda h, a: h.update(residual=True),
    "residual is too large": lambda h, a: h.update(residual=10**400),
    "residual is spelled": lambda h, a: h.update(residual={"float": "1e3"}),
    "players are fractions": lambda h, a: h.update(players=[[0.0], [1.0, 2.0]]),
    "players are negative": lambda h, a: h.update(players=[[-1], [1, 2]]),
    "rule is negative": lambda h, a: h.update(rule=-1),
    "rule is a flag": lambda h, a: h.update(rule=False),
    "rules are a mapping": lambda h, a: h.update(rules={}),
    "a rule is a list": lambda h, a: h.update(rules=[[]]),
    "a rule of two axes": lambda h, a: a.update(rule_0_nodes=a["rule_0_nodes"][None]),
    "weights for other nodes": lambda h, a: a.update(rule_0_weights=np.ones(9)),
    "version is a flag": lambda h, a: h.update(version=True),
    "version is 0": lambda h, a: h.update(version=0),
    "format is a list": lambda h, a: h.update(format=["pkex.Explanation"]),
    "cells are lists": lambda h, a: h.update(data=[[[1], 2, 3]] * 4),
    "one cell for three columns": lambda h, a: h.update(data=[[1]] * 4),
    "rows of text": lambda h, a: h.update(data=["abc"] * 4),
    "classes are a text": lambda h, a: h.update(classes="ab"),
    "sides are texts": lambda h, a: h.update(sides=["ab", "cd"]),
    "sides of three": lambda h, a: h.update(sides=[["a", "b", "c"]] * 2),
    "a side for one output": lambda h, a: h.update(sides=[["a", None]]),
    "predictions are lists": lambda h, a: h.update(predicted=[[1]] * 4),
    "too few predictions": lambda h, a: h.update(predicted=[1]),
    "labels are a list": lambda h, a: h.update(index=[1, 2, 3, 4]),
    "too few labels": lambda h, a: h.update(index=labelled("int64", [1])),
    "labels of another kind": lambda h, a: h.update(index=labelled("int64", list("abcd"))),
    "labels of no kind": lambda h, a: h.update(index=labelled("int999", [1, 2, 3, 4])),
    "labels that are no dates": lambda h, a: h.update(index=labelled("datetime64[ns]", ["x"] * 4)),
    "labels without levels": lambda h, a: h.update(index={"several": False, "names": []}),
    "values are not a number": lambda h, a: a["values"].fill(np.nan),
    "values are infinite": lambda h, a: a["values"].fill(np.inf),
    "values overflow": lambda h, a: a["values"].fill(1.5e308),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_parts_that_do_not_fit(change, tmp_path):
    header, arrays = content()
    change(header, arrays)
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))


@pytest.mark.parametrize("name", ["values", "base_values", "predictions"])
@pytest.mark.parametrize("version", [1, 2])
def test_values_that_no_longer_add_up_are_refused(name, version, tmp_path):
    header, arrays = content()
    header["version"] = version
    arrays[name].flat[1] += 1e-9
    path = written(tmp_path / "a.npz", header, arrays)
    with pytest.raises(ValueError, match=r"values of row 0 miss the prediction by 1e-09"):
        Explanation.load(path)
    header["complete"] = False  # a selection of features does not add up
    assert not Explanation.load(written(path, header, arrays)).complete


def test_an_honest_residual_is_accepted(tmp_path):
    """Predictions may miss the sum by what the explanation says, and rounding."""
    exact = example()
    missed = replace(exact, predictions=exact.predictions + 1e-9, residual=1e-9)
    missed.save(tmp_path / "a.npz")
    assert Explanation.load(tmp_path / "a.npz").residual == 1e-9


def test_rounding_of_many_values_is_accepted(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(50, 1000)) * 10.0 ** rng.uniform(-6.0, 6.0, size=(50, 1000))
    names = tuple(f"x{i}" for i in range(1000))
    made = replace(
        example()[:, :, "a"],
        values=values,
        base_values=np.full(50, 1e3),
        predictions=np.array([1e3 + sum(row) for row in values]),  # added one after the other
        data=np.zeros((50, 1000)),
        feature_names=names,
        column_names=names,
        players=tuple((i,) for i in range(1000)),
        residual=0.0,
        error=None,
    )
    made.save(tmp_path / "a.npz")
    Explanation.load(tmp_path / "a.npz")


# Hostile files


def test_a_small_archive_that_unpacks_to_a_large_one_is_refused(tmp_path):
    header, arrays = content(example()[:, :, "a"])
    n_rows = 2_000_000
    header.update(complete=False)
    arrays.update({name: np.zeros(n_rows) for name in ("base_values", "predictions")})
    arrays.update(values=np.zeros((n_rows, 2)), data=np.zeros((n_rows, 3)))
    path = written(tmp_path / "a.npz", header, arrays, np.savez_compressed)
    del arrays
    assert path.stat().st_size < 2**18
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed, which those of"):
        Explanation.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**21


def npy(shape, body=b"", kind="<f8"):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("values", npy((10**15, 2))),
        ("values", npy((10**15, 0))),
        ("values", npy((2**64, 2**64))),
        ("values", npy((0, 2, 10**9))),
        ("values", npy("(" * 200)),
        ("values", npy("9" * 60)),
        ("values", npy((1,), b"12345678", "|O")),
        ("values", b""),
        ("header", npy((10**12,), b"{}", "|u1")),
    ],
)
def test_arrays_that_claim_any_size(name, member, tmp_path):
    path = tmp_path / "a.npz"
    header, arrays = content()
    header["output_names"] = None
    written(tmp_path / "whole.npz", header, arrays)
    with zipfile.ZipFile(tmp_path / "whole.npz") as whole, zipfile.ZipFile(path, "w") as archive:
        for entry in whole.namelist():
            archive.writestr(entry, member if entry == f"{name}.npy" else whole.read(entry))
        if name == "values":
            empty = npy((0, 10**9)) if b"1000000000" in member else whole.read("base_values.npy")
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr("base_values.npy", empty)
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Explanation.load(path)


def test_a_table_of_empty_rows_is_not_made(tmp_path):
    """A header of a few megabytes must not make a table of rows times columns."""
    header, arrays = content()
    del arrays["data"]
    header.update(column_names=["x"] * 200_000, data=[[]] * 200_000)
    with pytest.raises(ValueError, match="row 0 has 0 cells for 200000 columns"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))


def changed_member(path, offset, value):
    """Return the file with two bytes of the first member's entries changed, in both headers."""
    data = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", offset), (b"PK\x01\x02", offset + 2)):
        start = data.index(signature)
        data[start + place : start + place + 2] = struct.pack("<H", value)
    return bytes(data)


@pytest.mark.parametrize(
    ("offset", "value"),
    [(8, 1), (8, 9), (8, 12), (8, 14), (8, 99), (6, 1), (6, 32), (6, 64), (4, 99)],
    ids=str,
)
def test_compressions_and_flags_of_other_archives(offset, value, tmp_path):
    path = tmp_path / "a.npz"
    written(path, *content())
    path.write_bytes(changed_member(path, offset, value))
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Explanation.load(path)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(path):
    with pytest.raises(ValueError, match="device or pipe, not a file saved by"):
        Explanation.load(path)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="device or pipe, not a file saved by"):
        Explanation.load(tmp_path / "pipe")


# Fuzzing


def loads(path, data, kind=Explanation):
    """Return whether a file is accepted; only a ValueError may come out."""
    path.write_bytes(data)
    try:
        found = kind.load(path)
    except ValueError as error:
        if not str(error).startswith(str(path)):  # one that was not said by load
            raise
        return False
    repr(found)
    found._repr_html_()
    return True


@pytest.mark.parametrize("seed", range(8))
def test_any_bytes_may_change(seed, tmp_path):
    rng = random.Random(seed)
    source = FILES / ("explanation_v1_text.npz" if seed % 2 else "explanation_v1.npz")
    whole = source.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 8])):
            start = directory if rng.random() < 0.4 else 0  # where damage is not found by a sum
            place = rng.randrange(start, len(data))
            if rng.random() < 0.8:
                data[place] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
            else:
                data[place : place + rng.randrange(20)] = rng.randbytes(rng.randrange(20))
        loads(tmp_path / "a.npz", bytes(data))


ODD = [None, True, -1, 0, 1, 2**63, 10**30, 10**400, 1.5, 1e308, "", "x", "\ud800", [], [[]], {}]
ODD += [{"float": "nan"}, {"float": "inf"}, {"float": []}, [None], [1, "a", 2.5], [[0], [1, 2]]]


def mutated(value, rng):
    """Return a copy of a JSON value in which something, somewhere, is another."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        value = copy.copy(value)
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if rng.random() < 0.1:
            del value[key]
        else:
            value[key] = mutated(value[key], rng)
        return value
    return copy.deepcopy(rng.choice(ODD))


@pytest.mark.parametrize("seed", range(8))
def test_any_part_of_the_header_may_change(seed, tmp_path):
    rng = random.Random(seed)
    name = "explanation_v1_text.npz" if seed % 2 else "explanation_v1.npz"
    start = classified(INDEXES["several"]) if seed % 4 == 3 else Explanation.load(FILES / name)
    header, arrays = content(start)
    accepted = 0
    for _ in range(150):
        buffer, changed = io.BytesIO(), header
        for _ in range(rng.choice([1, 1, 2, 4])):
            changed = mutated(changed, rng)
            changed = changed if isinstance(changed, dict) else header
        document = json.dumps(changed).encode()
        np.savez(buffer, header=np.frombuffer(document, dtype=np.uint8), **arrays)
        accepted += loads(tmp_path / "a.npz", buffer.getvalue())
    assert accepted < 100  # most changes are found


@pytest.mark.parametrize("seed", range(4))
def test_any_array_may_change(seed, tmp_path):
    rng = np.random.default_rng(seed)
    header, arrays = content()
    for _ in range(100):
        changed = dict(arrays)
        name = str(rng.choice(list(arrays)))
        array = changed[name]
        changed[name] = [
            array[..., np.newaxis],
            array[:0],
            array.ravel(),
            array.astype(np.float32),
            array.astype(np.int8),
            array.astype(bool),
            array.astype(">f8"),
            np.asfortranarray(array)[::-1],
            np.array(3.0),
            np.full_like(array, rng.choice([np.nan, np.inf, 1e308, 5e-324])),
            np.zeros(rng.integers(0, 5, size=rng.integers(0, 6))),
        ][rng.integers(11)]
        buffer = io.BytesIO()
        document = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(buffer, header=document, **changed)
        loads(tmp_path / "a.npz", buffer.getvalue())


def test_arrays_of_either_byte_order_and_layout(tmp_path):
    header, arrays = content()
    arrays["values"] = np.asfortranarray(arrays["values"].astype(">f8"))
    found = Explanation.load(written(tmp_path / "a.npz", header, arrays))
    assert found.values.dtype == np.dtype(float)
    np.testing.assert_array_equal(found.values, example().values)


# Kernels


def cosine(x, z):
    return np.cos(x - z)


TREES = [
    RBF([1.0, 1 / 3]),
    2.5 * RBF(0.5).on(0, 3) * Categorical([0.1, 0.2]).on(1, 2),
    ProductMatern(1.5, nu=2.5) + Constant(0.1) * Linear(),
    Periodic(0.7, 24.0, columns=(4,)) * (RBF(1e-300) + Constant(3.0)),
    Matern([1.0, 2.0], nu=0.8) + RationalQuadratic(0.5, alpha=2.0).on(1),
]


@pytest.mark.parametrize("kernel", TREES, ids=str)
def test_kernels_come_back(kernel):
    again = from_data(json.loads(json.dumps(to_data(kernel))))
    assert again == kernel
    assert repr(again) == repr(kernel)


def test_a_file_that_says_matern_means_the_product_over_columns():
    """As it did when the name had that meaning."""
    old = {"kind": "Matern", "columns": None, "length_scale": 1.5, "nu": 2.5}
    assert from_data(old) == ProductMatern(1.5, nu=2.5)
    assert to_data(Matern(1.5, nu=2.5))["kind"] == "EuclideanMatern"


def test_a_kernel_of_ones_own_comes_back_as_its_description(tmp_path):
    points = np.random.default_rng(0).normal(size=(5, 2))
    kernel = RBF(2.0) * Custom(cosine)
    explanation = pkex.Explainer(pkex.KernelExpansion(points, np.ones(5), kernel))(points)
    assert explanation.kernel is kernel
    explanation.save(tmp_path / "a.npz")
    found = Explanation.load(tmp_path / "a.npz").kernel
    assert repr(found) == repr(kernel) == "RBF(length_scale=2.0) * Custom(function=cosine)"
    assert found.kernels[0] == RBF(2.0)
    with pytest.raises(ValueError, match="kept its description only and cannot be evaluated"):
        found(points)


@dataclass(frozen=True, repr=False)
class Wide(RBF):
    """A kernel with the fields of one of pkex's, but not one of them."""


def test_a_kernel_derived_from_one_of_pkex_is_not_taken_for_it():
    found = from_data(to_data(Wide(2.0)))
    assert isinstance(found, Described)
    assert repr(found) == "Wide(length_scale=2.0)"


def test_several_kernels_are_all_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.column_stack([X[:, 0], X[:, 1] ** 2])
    models = [SVR(gamma=gamma) for gamma in (0.5, 2.0)]
    chain = MultiOutputRegressor(SVR()).fit(X, y)
    chain.estimators_ = [model.fit(X, t) for model, t in zip(models, y.T, strict=True)]
    explanation = pkex.Explainer(chain)(X[:3])
    assert explanation.kernels == (RBF.from_gamma(0.5), RBF.from_gamma(2.0))
    assert explanation.kernel is None
    explanation.save(tmp_path / "a.npz")
    assert Explanation.load(tmp_path / "a.npz").kernels == explanation.kernels
    assert content(explanation)[0]["kernel"] == "; ".join(map(repr, explanation.kernels))


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"kind": "Custom", "function": "print"},
        {"kind": "Kernel"},
        {"kind": ["RBF"]},
        {"kind": "described", "text": 1},
        {"kind": "RBF", "length_scale": -1.0},
        {"kind": "RBF", "length_scale": "1"},
        {"kind": "RBF", "length": 1.0},
        {"kind": "Sum", "kernels": [1.0]},
        {"kind": "Scale", "factor": 2.0, "kernel": None},
    ],
    ids=str,
)
def test_what_is_no_kernel(data, tmp_path):
    header, arrays = content()
    header["kernels"] = [data]
    with pytest.raises(ValueError, match=r"a\.npz is damaged: its parts do not fit together"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))


def test_kernels_inside_kernels_without_end(tmp_path):
    header, arrays = content()
    nested = to_data(RBF(1.0))
    for _ in range(200):
        nested = {"kind": "Product", "kernels": [{"kind": "Sum", "kernels": [nested]}]}
    header["kernels"] = [nested]
    with pytest.raises(ValueError, match="stands where a kernel should"):
        Explanation.load(written(tmp_path / "a.npz", header, arrays))


# Attributions and importances

SAMPLES = [pd.DataFrame({"a": x, "b": z, "town": np.where(x > 0, "Graz", "Wien")}) for x, z in
           np.random.default_rng(0).normal(size=(2, 2, 40))]  # fmt: skip
ATTRIBUTIONS = {
    "mmd": lambda: pkex.mmd(*SAMPLES),
    "mmd with permutations": lambda: pkex.mmd(*SAMPLES, n_permutations=39, random_state=0),
    "neutral": lambda: pkex.mmd(*SAMPLES, n_permutations=9, random_state=0, removal="neutral"),
    "blocks": lambda: pkex.mmd(*SAMPLES, block_size=20, random_state=0),
    "groups": lambda: pkex.mmd(*SAMPLES, groups={"both": ["a", "town"]}),
    "hsic": lambda: pkex.hsic(SAMPLES[0], SAMPLES[1]["a"], n_permutations=19, random_state=0),
    "hsic of text": lambda: pkex.hsic(SAMPLES[0], SAMPLES[0]["town"]),
    "own kernel": lambda: pkex.mmd(*(t[["a", "b"]] for t in SAMPLES), kernel=Custom(cosine)),
}
every_attribution = pytest.mark.parametrize("make", ATTRIBUTIONS.values(), ids=ATTRIBUTIONS.keys())


def same(left, right):
    if left is None or right is None:
        return left is right
    return np.array_equal(np.asarray(left), np.asarray(right), equal_nan=True)


@every_attribution
def test_a_loaded_attribution_answers_what_it_holds(make, tmp_path):
    attribution = make()
    attribution.save(tmp_path / "a.npz")
    found = Attribution.load(tmp_path / "a.npz")
    for name in (
        "values", "total", "p_value", "p_values", "p_holm", "p_bh", "p_alone", "p_alone_holm",
        "null_values", "null_totals", "null_band", "n_rows", "n_test_rows", "n_permutations",
        "standard_error", "standard_errors", "order", "rounding", "residual", "block_size",
    ):  # fmt: skip
        assert same(getattr(found, name), getattr(attribution, name)), name
    for name in (
        "statistic", "estimator", "removal", "feature_names", "column_names", "categorical",
        "players", "sample_names", "absent",
    ):  # fmt: skip
        assert getattr(found, name) == getattr(attribution, name)
    assert [rule.size for rule in found.rules] == [rule.size for rule in attribution.rules]
    assert repr(found.kernel) == repr(attribution.kernel)
    assert repr(found.target_kernel) == repr(attribution.target_kernel)
    assert repr(found) == repr(attribution)
    assert found._repr_html_() == attribution._repr_html_()
    assert found.remarks() == attribution.remarks()
    assert found.samples is None
    frame = attribution.to_frame()
    if attribution.p_alone is None:
        frame = frame.drop(columns="alone")
    else:
        assert same(found.alone, attribution.alone)
    pd.testing.assert_frame_equal(found.to_frame(), frame)
    again = tmp_path / "again.npz"
    found.save(again)
    assert repr(Attribution.load(again)) == repr(attribution)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(attribution)


@every_attribution
def test_a_loaded_attribution_says_what_it_cannot_do(make, tmp_path):
    make().save(tmp_path / "a.npz")
    found = Attribution.load(tmp_path / "a.npz")
    words = r"was loaded from a file, which does not hold the samples: .* cannot be computed; make"
    asked = [lambda: found.row_values, lambda: found.value([0]), lambda: found.component([0])]
    asked += [found.plot.marginals]
    asked += [lambda: found.alone] if found.p_alone is None else []
    for ask in asked:
        with pytest.raises(ValueError, match=words):
            ask()
    assert found.plot().marginal_axes_ == []
    pyplot.close("all")
    data = report(found, tmp_path).data
    assert data["marginals"] == []
    assert data["loaded"] is True
    assert (data["alone"] is None) == (found.p_alone is None)
    assert report(make(), tmp_path).data["loaded"] is False


def test_what_was_computed_before_is_saved(tmp_path):
    attribution = pkex.mmd(*SAMPLES)
    assert attribution.alone.shape == (3,)
    attribution.save(tmp_path / "a.npz")
    found = Attribution.load(tmp_path / "a.npz")
    assert same(found.alone, attribution.alone)
    pd.testing.assert_frame_equal(found.to_frame(), attribution.to_frame())


@pytest.mark.parametrize("select", [lambda e: e, lambda e: e[..., "a"], lambda e: e[0, :, "a"]])
def test_a_loaded_importance_is_the_same(select, tmp_path):
    importance = select(example()).importance()
    importance.save(tmp_path / "a.npz")
    found = Importance.load(tmp_path / "a.npz")
    for name in ("values", "standard_errors", "centred"):
        assert same(getattr(found, name), getattr(importance, name))
    assert found.feature_names == importance.feature_names
    assert found.output_names == importance.output_names
    assert found.neutral is importance.neutral is True
    assert repr(found) == repr(importance)
    assert found._repr_html_() == importance._repr_html_()


RESULTS = {
    Explanation: example,
    Attribution: ATTRIBUTIONS["mmd with permutations"],
    Importance: lambda: example().importance(),
}


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_a_file_of_another_result_is_refused(kind, tmp_path):
    RESULTS[kind]().save(tmp_path / "a.npz")
    for other in set(RESULTS) - {kind}:
        words = rf"not written by {other.__name__}\.save \(its format is 'pkex\.{kind.__name__}'"
        with pytest.raises(ValueError, match=words):
            other.load(tmp_path / "a.npz")


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_a_newer_file_is_recognised(kind, tmp_path):
    header, arrays = content(RESULTS[kind]())
    header["version"] += 1
    with pytest.raises(ValueError, match=r"but this pkex reads up to [12]; update pkex to read it"):
        kind.load(written(tmp_path / "a.npz", header, arrays))


ATTRIBUTION_CHANGES = {
    "no values": lambda h, a: a.pop("values"),
    "no rounding": lambda h, a: a.pop("rounding"),
    "another value": lambda h, a: a["values"].__setitem__(0, a["values"][0] + 1e-9),
    "another total": lambda h, a: h.update(total=1.0),
    "values are not a number": lambda h, a: a["values"].fill(np.nan),
    "null values of other players": lambda h, a: a.update(null_values=np.zeros((39, 2))),
    "no null values": lambda h, a: a.update(null_values=np.zeros((0, 3))),
    "infinite null values": lambda h, a: a["null_values"].fill(np.inf),
    "alone of fewer permutations": lambda h, a: a.update(alone_null_values=np.zeros((9, 3))),
    "alone of other players": lambda h, a: a.update(alone=np.zeros(2)),
    "no kernel": lambda h, a: h.pop("kernel"),
    "a target": lambda h, a: h.update(target_kernel=to_data(RBF(1.0))),
    "another statistic": lambda h, a: h.update(statistic="TV"),
    "another removal": lambda h, a: h.update(removal="conditional"),
    "one sample": lambda h, a: h.update(n_rows=[80]),
    "one name": lambda h, a: h.update(sample_names=["X"]),
    "no players": lambda h, a: h.update(players=[], feature_names=[]),
    "columns that are not there": lambda h, a: h.update(players=[[0], [1], [3]]),
    "one kind for three columns": lambda h, a: h.update(categorical=[True]),
    "no rules": lambda h, a: h.update(rules=[]),
    "tests of no rows": lambda h, a: h.update(n_test_rows=None),
}


@pytest.mark.parametrize("change", ATTRIBUTION_CHANGES.values(), ids=ATTRIBUTION_CHANGES.keys())
def test_parts_of_an_attribution_that_do_not_fit(change, tmp_path):
    header, arrays = content(ATTRIBUTIONS["mmd with permutations"]())
    path = written(tmp_path / "a.npz", header, arrays)
    Attribution.load(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Attribution.load(written(path, header, arrays))


IMPORTANCE_CHANGES = {
    "no values": lambda h, a: a.pop("values"),
    "no standard errors": lambda h, a: a.pop("standard_errors"),
    "other outputs": lambda h, a: h.update(output_names=["a", "b", "c"]),
    "no features": lambda h, a: h.update(feature_names=[]),
    "one feature": lambda h, a: h.update(feature_names=["age"]),
    "neutral is a number": lambda h, a: h.update(neutral=1),
    "centred for one output": lambda h, a: a.update(centred=a["centred"][:, 0]),
    "infinite": lambda h, a: a.update(values=np.full((2, 2), np.inf)),
    "a cube": lambda h, a: a.update({name: array[None] for name, array in a.items()}),
}


@pytest.mark.parametrize("change", IMPORTANCE_CHANGES.values(), ids=IMPORTANCE_CHANGES.keys())
def test_parts_of_an_importance_that_do_not_fit(change, tmp_path):
    header, arrays = content(example().importance())
    change(header, arrays)
    with pytest.raises(ValueError, match=r"a\.npz is damaged"):
        Importance.load(written(tmp_path / "a.npz", header, arrays))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_any_part_of_any_result_may_change(kind, seed, tmp_path):
    rng = random.Random(seed)
    makers = {Attribution: list(ATTRIBUTIONS.values())}.get(kind, [RESULTS[kind]])
    header, arrays = content(makers[seed % len(makers)]())
    accepted = 0
    for _ in range(60):
        changed, buffer, parts = header, io.BytesIO(), dict(arrays)
        for _ in range(rng.choice([1, 1, 2, 4])):
            changed = mutated(changed, rng)
            changed = changed if isinstance(changed, dict) else header
        if rng.random() < 0.3:
            name = rng.choice(list(parts))
            parts[name] = rng.choice([parts[name][:1], parts[name][None], parts[name] * np.nan])
        document = json.dumps(changed).encode()
        np.savez(buffer, header=np.frombuffer(document, dtype=np.uint8), **parts)
        accepted += loads(tmp_path / "a.npz", buffer.getvalue(), kind)
    assert accepted < 45  # most changes are found
