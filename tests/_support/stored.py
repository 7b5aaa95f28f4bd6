"""Files of results that tests share: how they are made, changed and read."""

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.svm import SVC

import pkex
from pkex.results.explanation import Explanation

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


def content(result=None):
    """Return the header and the arrays that are saved of a result, by default an explanation."""
    result = result or example()
    arrays = result.CODEC.pack(result)
    return json.loads(arrays.pop("header").tobytes()), arrays


def written(path, header, arrays, save=np.savez):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    with path.open("wb") as file:
        save(file, header=np.frombuffer(header, dtype=np.uint8), **arrays)
    return path


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


def cosine(x, z):
    return np.cos(x - z)
