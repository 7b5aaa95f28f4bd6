"""From the sources to an answer: a wheel in a new virtual environment, and its command line.

Run with ``pytest -m e2e``: it compiles, installs and needs a package registry, so it is not part of
the default run.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
import sklearn
import skops.io
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import pkex
from tests.games.test_backend import MANY_THREADS

ROOT = Path(__file__).parents[1]
RESULTS = ("report.html", "summary.json")


class Machine:
    """A virtual environment in a folder of its own, in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.call(sys.executable, "-m", "venv", "venv")
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")

    def call(
        self, *command: str | Path, code: int = 0, **more: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PKEX", "PYTHON", "VIRTUAL_ENV"))
        }
        clean |= {"PYTHONUTF8": "1", **more}
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env=clean,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def pip(self, *args: str | Path, **more: str) -> None:
        self.call(self.bin / "python", "-m", "pip", "--quiet", *args, code=0, **more)

    def pkex(self, *args: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.call(self.bin / "pkex", *args, code=code)

    def results(self, out: str) -> tuple[pd.DataFrame, dict[str, Any]]:
        folder = self.folder / out
        kind = "csv" if (folder / "values.csv").exists() else "parquet"
        assert sorted(p.name for p in folder.iterdir()) == [*RESULTS, f"values.{kind}"]
        assert "<!doctype html>" in (folder / "report.html").read_text(encoding="utf-8")
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        if kind == "parquet":
            return pd.read_parquet(folder / "values.parquet"), summary
        return pyarrow.csv.read_csv(folder / "values.csv").to_pandas(), summary


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.e2e
def test_wheel_to_answers(tmp_path):
    machine = Machine(tmp_path)
    machine.pip(
        *("wheel", ROOT, "--no-deps", "--wheel-dir", "dist"),
        f"--config-settings=build-dir={tmp_path / 'build'}",
    )
    [wheel] = (tmp_path / "dist").glob("pkex-*.whl")
    packed = zipfile.ZipFile(wheel).namelist()
    data = {"pkex/py.typed", "pkex/games/rules.json", "pkex/output/report/template.html"}
    assert data <= set(packed)
    assert not [name for name in packed if name.endswith((".cpp", ".hpp"))]

    # the same scikit-learn, as models are not made to be read by another
    machine.pip("install", wheel, f"scikit-learn=={sklearn.__version__}")
    refused = machine.pkex("--help", code=2)
    assert refused.stderr.count("\n") == 1
    command = f'pip install "{wheel}[cli]"'
    assert refused.stderr.endswith(f"{command}.\n")
    machine.pip(*shlex.split(command)[1:])  # as it says

    assert machine.pkex("--version").stdout == f"pkex {pkex.__version__}\n"
    where = machine.call(machine.bin / "python", "-c", "import pkex; print(pkex.__file__)").stdout
    assert where.startswith(str(tmp_path))
    facts = json.loads(machine.pkex("config", "--json").stdout)
    assert facts["pkex"] == pkex.__version__
    # a compiler that built the kernel here builds it there; call leaves PKEX_BACKEND out of both
    backend = "import pkex; print(pkex.show_config('dicts')['backend'])"
    assert facts["backend"] == machine.call(sys.executable, "-c", backend).stdout.strip()
    check_demo(machine)
    check_diabetes(machine)
    check_breast_cancer(machine)
    check_wine(machine)
    check_refusals(machine)


@pytest.mark.e2e
@pytest.mark.skipif(os.name == "nt", reason="CMake finds the compiler of Windows by itself")
def test_without_a_compiler_numpy_answers_in_any_number_of_threads(tmp_path):
    """As where there is none: nothing is set but the compilers, which fail."""
    machine = Machine(tmp_path)
    machine.pip(
        *("wheel", ROOT, "--no-deps", "--wheel-dir", "dist", "--no-cache-dir"),
        f"--config-settings=build-dir={tmp_path / 'build'}",
        CC="false",
        CXX="false",
    )
    [wheel] = (tmp_path / "dist").glob("pkex-*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith((".so", ".pyd"))]
    machine.pip("install", wheel)
    code = MANY_THREADS + "print(pkex.show_config('dicts')['backend'], pkex.__file__)"
    for _ in range(3):  # a new process each, as the first calls are those that race
        backend, where = machine.call(machine.bin / "python", "-c", code).stdout.split(maxsplit=1)
        assert backend == "numpy"
        assert where.startswith(str(tmp_path))
    asked = machine.call(machine.bin / "python", "-c", MANY_THREADS, code=1, PKEX_BACKEND="native")
    assert "installed without it" in asked.stderr
    values = "import pkex; print(pkex.Explainer(pkex.KernelExpansion([[1.0, 2.0]], [1.0], "
    values += "pkex.kernels.RBF()), [[0.0, 0.0]])([[1.0, 1.5]]).values.tolist())"
    found, expected = (
        json.loads(machine.call(python, "-c", values).stdout)
        for python in (machine.bin / "python", sys.executable)
    )
    same(found, expected)


def check_demo(machine):
    assert "197.8 = 149.7 (base) + 30.69 (bmi)" in machine.pkex("demo").stdout
    machine.pkex("demo", "--out", "demo")
    machine.pkex("explain", "demo/model.skops", "demo/diabetes.csv", "--out", "demo explained")
    table = pd.read_csv(machine.folder / "demo" / "diabetes.csv")
    model = skops.io.load(machine.folder / "demo" / "model.skops")
    values, _ = machine.results("demo explained")
    same(values["prediction"], model.predict(table.drop(columns="progression")))


def check_explain(machine, name, model, table, *args, **how):
    """Compare ``pkex explain`` on CSV and Parquet with the library; return the explanation."""
    skops.io.dump(model, machine.folder / f"{name}.skops")
    expected = pkex.Explainer(model, **how)(table)
    values, base, predictions = expected.with_output_axis()
    for kind in ("csv", "parquet"):
        out = f"{name} explained from {kind}"
        machine.pkex(
            *("explain", f"{name}.skops", f"{name}.{kind}", *args),
            *("--out", out, "--format", kind),
        )
        found, summary = machine.results(out)
        features = list(expected.feature_names)
        same(found[features], values.transpose(0, 2, 1).reshape(-1, len(features)))
        same(found["base_value"], base.ravel())
        same(found["prediction"], predictions.ravel())
        assert summary["result"]["removal"] == expected.removal
        importance = expected.importance()
        named = {entry["name"]: entry["importance"] for entry in summary["result"]["features"]}
        same([named[feature] for feature in features], importance.values.reshape(len(features), -1))


def check_drift(machine, name, table, rows, code):
    """Compare ``pkex drift`` between rows and the others with the library."""
    table[rows].to_csv(machine.folder / "reference.csv", index=False)
    table[~rows].to_parquet(machine.folder / "current.parquet", index=False)
    expected = pkex.mmd(
        table[rows],
        table[~rows],
        kernel="median-per-column",
        n_permutations=99,
        random_state=0,
    )
    out = f"{name} drift {code}"
    tables = ("reference.csv", "current.parquet", "--permutations", "99")
    printed = machine.pkex("drift", *tables, "--out", out, "--json", code=code).stdout
    check_attribution(machine, out, expected, printed)


def check_dependence(machine, name, table, target, kind):
    """Compare ``pkex dependence`` with the library."""
    expected = pkex.hsic(
        table.drop(columns=target),
        table[target],
        kernel="median-per-column",
        n_permutations=99,
        random_state=0,
    )
    out = f"{name} dependence"
    printed = machine.pkex(
        *("dependence", f"{name}.{kind}", "--target", target, "--top", "20%"),
        *("--permutations", "99", "--out", out, "--json"),
    ).stdout
    _, summary = check_attribution(machine, out, expected, printed)
    count = -(-len(expected.values) // 5)
    assert summary["result"]["selected"] == list(expected.to_frame().index[:count])


def check_attribution(machine, out, expected, printed):
    found, summary = machine.results(out)
    assert json.loads(printed) == summary
    frame = expected.to_frame().loc[found["feature"]]
    for column in frame:
        same(found[column], frame[column])
    same(summary["result"]["statistic"], expected.statistic)
    assert summary["result"]["p_value"] == expected.p_value
    return found, summary


def written(machine, name, table):
    table.to_csv(machine.folder / f"{name}.csv", index=False)
    table.to_parquet(machine.folder / f"{name}.parquet")
    return table


def check_diabetes(machine):
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    table = written(machine, "diabetes", X.assign(progression=y))
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
    check_explain(machine, "diabetes", model, X)
    groups = {"blood": ["s1", "s2", "s3", "s4", "s5", "s6"]}
    (machine.folder / "groups.json").write_text(json.dumps(groups), encoding="utf-8")
    background = ("--background", "diabetes.csv", "--background-rows", "0:50")
    machine.pkex(
        *("explain", "diabetes.skops", "diabetes.csv", "--groups", "groups.json", *background),
        *("--rows", "3:9,99", "--out", "grouped", "--quiet"),
    )
    rows = [*range(3, 9), 99]
    expected = pkex.Explainer(model, X[:50], groups=groups)(X.iloc[rows])
    found, _ = machine.results("grouped")
    assert list(found["row"]) == rows
    same(found[list(expected.feature_names)], expected.values)
    check_drift(machine, "diabetes", table, table["age"] < 50, 1)
    check_drift(machine, "diabetes", table, np.arange(len(table)) % 2 == 0, 0)
    check_dependence(machine, "diabetes", table, "progression", "csv")


def check_breast_cancer(machine):
    data = load_breast_cancer(as_frame=True)
    kinds = data.target_names[data.target]
    table = written(machine, "cancer", data.data.assign(diagnosis=kinds))
    model = make_pipeline(StandardScaler(), SVC()).fit(data.data, kinds)
    check_explain(machine, "cancer", model, data.data)
    check_drift(machine, "cancer", data.data, kinds == "malignant", 1)
    check_dependence(machine, "cancer", table, "diagnosis", "parquet")


def check_wine(machine):
    X, cultivar = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["first", "second", "third"])[cultivar]
    table = written(machine, "wine", X.assign(cultivar=names))
    process = GaussianProcessClassifier(RBF(3.0), optimizer=None)
    check_explain(machine, "wine", make_pipeline(StandardScaler(), process).fit(X, names), X)
    check_drift(machine, "wine", X, np.arange(len(X)) % 2 == 0, 0)
    check_dependence(machine, "wine", table, "cultivar", "csv")


def check_refusals(machine):
    before = sorted(machine.folder.iterdir())
    for args in (
        ("explain", "diabetes.csv", "diabetes.csv"),
        ("explain", "diabetes.skops", "wine.csv"),
        ("drift", "diabetes.csv", "wine.csv"),
        ("dependence", "nothing.csv", "--target", "a"),
        ("dependence", "wine.csv", "--target", "nothing"),
    ):
        refused = machine.pkex(*args, "--out", "refused", code=2)
        assert refused.stderr.startswith("Error: ")
        assert refused.stderr.count("\n") == 1
    assert sorted(machine.folder.iterdir()) == before
