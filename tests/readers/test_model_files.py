"""Model files: safe by default, and refused with a sentence that says how to go on."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
import skops.io._protocol
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVR

import pkex
from pkex.readers.model_files import load_model
from tests._support.models import MODELS

pytestmark = pytest.mark.frontend

ROWS = np.arange(12.0).reshape(6, 2) % 5.0
OWN = {  # models that hold a function, or a tree with a state of its own: skops cannot vouch
    "SVR with a function as kernel",
    "KernelRidge with a function as kernel",
    "FunctionTransformer one-to-one",
    "FunctionTransformer of one's own",
    "ColumnTransformer by functions",
    "SplineTransformer",
    "SelectKBest",
}


def svr(**options):
    return SVR(**options).fit(ROWS, ROWS.sum(axis=1))


class Trap:
    """What a pickle can do: run something when it is read."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)


@pytest.mark.parametrize("case", MODELS, ids=str)
def test_the_models_that_pkex_reads_are_read_from_skops(case, tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(case.model(), path)
    if case.name in OWN or case.name.startswith("KernelDensity"):
        with pytest.raises(ValueError, match="holds types that may run code"):
            load_model(path)
        return
    own = case.own_output(model=load_model(path))
    np.testing.assert_allclose(own, case.own_output(), rtol=1e-12)


def test_a_type_that_is_not_known_is_named_and_can_be_trusted(tmp_path):
    path = tmp_path / "density.skops"
    skops.io.dump(KernelDensity().fit(ROWS), path)
    with pytest.raises(ValueError, match="KDTree") as caught:
        load_model(path)
    sentence = str(caught.value)
    types = sentence.split("pass ")[1].split(", or --trust")[0].split("--trust-type ")[1:]
    assert len(types) == 2
    assert isinstance(load_model(path, types=[name.strip() for name in types]), KernelDensity)
    assert isinstance(load_model(path, trust=True), KernelDensity)
    with pytest.raises(ValueError, match="holds types that may run code"):
        load_model(path, types=[types[0].strip()])


def test_kernels_of_pkex_are_trusted_but_not_functions(tmp_path):
    path = tmp_path / "model.skops"
    kernels = pkex.kernels
    for kernel in (
        kernels.RBF((0.5, 2.0)),
        2.0 * kernels.Laplacian(2.0) + kernels.RBF(),
        kernels.RBF() * kernels.Cauchy(),
    ):
        skops.io.dump(svr(kernel=kernel), path)
        assert load_model(path).kernel == kernel
    skops.io.dump(FunctionTransformer(partial(np.clip, a_min=0.0)).fit(ROWS), path)
    with pytest.raises(ValueError, match=r"functools\.partial"):
        load_model(path)


def posing_method(schema):
    """A method of any name, said to be the trusted type numpy.dtype."""
    inside = {key: schema.pop(key) for key in list(schema) if key not in OF_THE_FILE}
    schema |= {"__module__": "numpy", "__class__": "dtype", "__loader__": "MethodNode"}
    schema["content"] = {"func": "set_params", "obj": inside}


def posing_operator(schema):
    """What calls any method later, said to be of a module of scikit-learn."""
    schema.clear()
    schema |= {"__module__": "sklearn.svm", "__class__": "methodcaller", "protocol": PROTOCOL}
    schema |= {"__loader__": "OperatorFuncNode", "attrs": as_schema(("fit",))}


def posing_generator(schema):
    """A call of any function of numpy.random, where the name of a bit generator should stand."""
    schema.clear()
    schema |= as_schema(np.random.default_rng(0))
    name = schema["content"]["bit_generator"]["content"]["bit_generator"]
    assert name["content"] == '"PCG64"'
    name["content"] = '"set_state"'


OF_THE_FILE = ("protocol", "_skops_version")
PROTOCOL = skops.io._protocol.PROTOCOL


def as_schema(value):
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(value))) as archive:
        return json.loads(archive.read("schema.json"))


@pytest.mark.parametrize("pose", [posing_method, posing_operator, posing_generator])
def test_a_file_cannot_choose_the_name_that_it_is_trusted_by(pose, tmp_path, monkeypatch):
    """It could with skops 0.11, the last of these until 0.14."""
    called: list[object] = []
    monkeypatch.setattr(np.random, "set_state", called.append)
    path, changed = tmp_path / "model.skops", tmp_path / "changed.skops"
    skops.io.dump(svr(), path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(changed, "w") as copy:
        schema = json.loads(archive.read("schema.json"))
        pose(schema)
        for name in {*archive.namelist()} - {"schema.json"}:
            copy.writestr(name, archive.read(name))
        copy.writestr("schema.json", json.dumps(schema))
    with pytest.raises(ValueError, match=r"malicious file|holds types that may run code"):
        load_model(changed, types=["sklearn.svm.methodcaller"])
    assert not called


@pytest.mark.parametrize("compress", [0, 3, "gzip", "bz2", "xz", "lzma"])
def test_pickles_are_read_only_with_trust(compress, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("model.joblib")
    joblib.dump(svr(), path, compress=compress)
    with pytest.raises(ValueError, match=r"model\.joblib is a pickle, .* pass --trust"):
        load_model(path)
    assert isinstance(load_model(path, trust=True), SVR)
    joblib.dump(Trap(), path, compress=compress)
    with pytest.raises(ValueError, match="reading one may run any code"):
        load_model(path)
    assert not Path("trapped").exists()


def test_a_plain_pickle_is_one_too(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(svr()))
    with pytest.raises(ValueError, match="is a pickle"):
        load_model(path)
    assert isinstance(load_model(path, trust=True), SVR)


def test_a_renamed_pickle_stays_one(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match="is a pickle"):
        load_model(path)


@pytest.mark.parametrize("trust", [False, True])
def test_what_is_no_model_is_refused(trust, tmp_path):
    path = tmp_path / "model.skops"
    for content in (b"", b"a,b\n1,2\n", b"PK\x03\x04", b"PAR1", b"\x00" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"model\.skops is not a model: save one with skops"):
            load_model(path, trust)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(ValueError, match="is not a model"):
        load_model(path, trust)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(ValueError, match=r"model\.skops cannot be read as a model \("):
        load_model(path, trust)
    with pytest.raises(ValueError, match="is a directory, not a model file"):
        load_model(tmp_path, trust)
    with pytest.raises(ValueError, match=r"there is no file .*nothing\.skops"):
        load_model(tmp_path / "nothing.skops", trust)


def test_a_damaged_pickle_is_refused(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(svr())[:100])
    with pytest.raises(ValueError, match=r"model\.pkl cannot be read as a model \("):
        load_model(path, trust=True)
    path.write_bytes(pickle.dumps(svr()).replace(b"sklearn.svm", b"skleern.svm"))
    with pytest.raises(ValueError, match=r"needs skleern, which is not installed here"):
        load_model(path, trust=True)
