"""Input that would silently become other input is refused: wide integers, hidden entries, rows."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex
from pkex.cli import main
from pkex.tables.kinds import first_rounded

BASE = 2**60
LOW, HIGH = [BASE + i for i in range(6)], [BASE + 10 + i for i in range(6)]
OTHER = [0.5, 1.5, 2.5, 0.25, 1.25, 2.25]


# Integers that float64 rounds

CONTAINERS = {
    "array": lambda ids: np.array([ids, range(6)]).T,
    "unsigned": lambda ids: np.array([ids, range(6)], dtype=np.uint64).T,
    "negative": lambda ids: -np.array([ids, range(6)]).T,
    "list": lambda ids: np.array([ids, range(6)]).T.tolist(),
    "list with fractions": lambda ids: list(zip(ids, OTHER, strict=True)),
    "objects": lambda ids: np.array([ids, OTHER], dtype=object).T,
    "beyond 64 bits": lambda ids: np.array([[i << 20 | 1 for i in ids], OTHER], dtype=object).T,
    "beyond floats": lambda ids: np.array([[i << 1100 | 1 for i in ids], OTHER], dtype=object).T,
    "sparse": lambda ids: scipy.sparse.csr_array(np.array([ids, range(6)]).T),
    "pandas": lambda ids: pd.DataFrame({"x0": ids, "b": OTHER}),
    "pandas, may be missing": lambda ids: pd.DataFrame({"x0": pd.array(ids, "Int64"), "b": OTHER}),
    "pandas, objects": lambda ids: pd.DataFrame({"x0": pd.Series(ids, dtype=object), "b": OTHER}),
    "pandas, numbered": lambda ids: pd.DataFrame({0: ids, 1: OTHER}),
    "polars": lambda ids: pl.DataFrame({"x0": ids, "b": OTHER}),
    "arrow": lambda ids: pa.table({"x0": ids, "b": OTHER}),
    "decimals": lambda ids: pa.table({"x0": [Decimal(i) for i in ids], "b": OTHER}),
}
every_container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
SENTENCE = (
    r"column 'x0' of {} holds -?\d.* \(row \d\), an integer beyond 2\*\*53\. .* drop the column"
)


@every_container
def test_identifiers_are_refused(make):
    with pytest.raises(ValueError, match=SENTENCE.format("X")):
        pkex.mmd(make(LOW), make(HIGH))
    with pytest.raises(ValueError, match=SENTENCE.format("X")):
        pkex.hsic(make(LOW), OTHER)


def test_large_integers_that_float64_holds_are_taken():
    """Only what is lost is refused: multiples of 256 near 2**60 are floats as they are."""
    exact = np.array([[BASE + 256 * i] for i in range(6)])
    moved = (exact - BASE) / 256.0
    found = pkex.hsic(exact, OTHER, kernel="median-per-column").statistic
    assert found == pytest.approx(
        pkex.hsic(moved, OTHER, kernel="median-per-column").statistic, 1e-9
    )


def test_targets_and_references():
    with pytest.raises(ValueError, match="column 'y0' of y holds"):
        pkex.hsic(np.array([OTHER]).T, LOW)
    with pytest.raises(ValueError, match="column 'code' of y holds"):
        pkex.hsic(np.array([OTHER]).T, pd.Series(LOW, name="code"))
    with pytest.raises(ValueError, match="column 'x0' of X holds"):
        pkex.MMDDrift().fit(np.array([LOW, LOW]).T)


def test_identifiers_as_text_are_categories():
    texts = [pd.DataFrame({"id": [str(i) for i in ids]}) for ids in (LOW, HIGH)]
    assert pkex.mmd(*texts, estimator="biased").statistic > 0.0


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, object, float])
def test_first_rounded_of_every_kind(kind):
    assert first_rounded(np.arange(100).astype(kind)) is None
    assert first_rounded(np.array([], dtype=kind)) is None


@pytest.mark.parametrize("kind", [np.int64, np.uint64, object])
def test_first_rounded_agrees_with_python(kind):
    rng = np.random.default_rng(0)
    for shift in range(64):
        limit = 2**63 if kind is np.int64 else 2**64
        value = int(rng.integers(1, 2**62)) << shift >> int(rng.integers(0, 62))
        value = value % limit
        expected = None if int(float(value)) == value else (1, value)
        assert first_rounded(np.array([3, value], dtype=kind)) == expected
    least = np.array([-(2**63), -(2**63) + 1])
    assert first_rounded(least) == (1, -(2**63) + 1)


@pytest.mark.parametrize("kind", ["csv", "csv of 20 digits", "missing", "parquet", "decimals"])
def test_the_command_line_refuses_them_too(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    many = [BASE + i for i in range(20)]
    if kind == "csv of 20 digits":
        many = [10**19 + i for i in range(20)]
    values = [str(i) for i in many]
    if kind == "missing":
        values[3] = ""
    name = "a.csv"
    lines = [f"{value},{i}" for i, value in enumerate(values)]
    Path("a.csv").write_text("\n".join(["id,b", *lines]) + "\n")
    if kind in ("parquet", "decimals"):
        name = "a.parquet"
        ids = [Decimal(i) for i in many] if kind == "decimals" else many
        pyarrow.parquet.write_table(pa.table({"id": ids, "b": range(20)}), name)
    args = [name, name, "--permutations", "19", "--missing", "drop"]
    assert main(["drift", *args]) == 2
    said = capsys.readouterr().err
    assert f"column id of {name} holds {many[1]}, an integer beyond" in said
    assert "--categorical id" in said
    assert main(["drift", *args, "--columns", "b"]) == 0
    assert main(["drift", *args, "--categorical", "id"]) == 0


# Masked entries


def tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    return X, X[:, 0] - X[:, 1] ** 2


def masked(X):
    return np.ma.MaskedArray(X.copy(), mask=np.eye(*X.shape, dtype=np.bool_))


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["plain", "pipeline"])
def test_hidden_values_are_not_explained(steps):
    X, y = tables()
    model = make_pipeline(*steps, SVR()).fit(X, y)
    hidden = masked(X)
    words = "{} has masked entries; fill them or drop such rows first"
    for call, name in (
        (lambda: pkex.Explainer(model)(hidden), "X"),
        (lambda: pkex.Explainer(model)(list(hidden)), "X"),
        (lambda: pkex.Explainer(model, X).shap_values(hidden), "X"),
        (lambda: pkex.Explainer(model, hidden), "background"),
        (lambda: pkex.as_expansion(model).predict(hidden), "X"),
    ):
        with pytest.raises(ValueError, match=words.format(name)):
            call()
    nothing_hidden = np.ma.MaskedArray(X)
    assert np.isfinite(pkex.Explainer(model)(nothing_hidden).values).all()


def test_hidden_values_of_tables_and_expansions():
    X, y = tables()
    text = np.ma.MaskedArray(np.array([["a", "b"], ["c", "d"]]), mask=np.eye(2, dtype=bool))
    for call in (
        lambda: pkex.mmd(masked(X), X),
        lambda: pkex.mmd(X, masked(X)),
        lambda: pkex.mmd(list(masked(X)), X),
        lambda: pkex.mmd(text, text),
        lambda: pkex.hsic(masked(X), y),
        lambda: pkex.hsic(X, masked(y[:, None])[:, 0]),
        lambda: pkex.KernelExpansion(masked(X), y, pkex.kernels.RBF()),
        lambda: pkex.KernelExpansion(X, masked(y[:, None])[:, 0], pkex.kernels.RBF()),
    ):
        with pytest.raises(ValueError, match="masked entries"):
            call()


# One row


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["plain", "pipeline"])
def test_one_row_gets_our_sentence(steps):
    X, y = tables()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(*steps, SVR()).fit(X, y)
    explainer = pkex.Explainer(model)
    for row in (X[0], X[0].tolist(), tuple(X[0])):
        words = r"X must be two-dimensional.*shape \(3,\)\. Pass X\[:1\].*row.reshape\(1, -1\)"
        with pytest.raises(ValueError, match=words):
            explainer(row)
    for row in (frame.iloc[0], frame["a"], pl.Series("a", X[0])):
        with pytest.raises(
            ValueError, match=r"two-dimensional.*got a Series\. Pass a frame.*\[:1\]"
        ):
            explainer(row)
    with pytest.raises(
        ValueError, match=r"two-dimensional \(rows, columns\), got shape \(1, 30, 3\)"
    ):
        explainer(X[None])
    with pytest.raises(ValueError, match=r"background must be two-dimensional.*background\[:1\]"):
        pkex.Explainer(model, X[0])
    assert explainer(X[:1]).values.shape == (1, 3)
    assert explainer(X[0].reshape(1, -1)).values.shape == (1, 3)
