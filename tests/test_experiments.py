"""The experiments: runner, results, loaders, protocols, and a run of everything at smoke size."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold, cross_val_score

from tests._support.naive import kernel_deficit, shapley
from tests._support.unchecked import unchecked

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what packages say when they are imported
    pytest.importorskip("optuna")  # not for lowest versions
    pytest.importorskip("pyHSICLasso")
    from experiments import data, figures, hsic, protocols, selectors, training
    from experiments.__main__ import NAMES, experiment, main
    from experiments.digits import rbf_shapley
    from experiments.mmd import MARGINAL, PAPER, samples
    from experiments.page import page, table
    from experiments.record import Experiment, Job, read, results, write
    from experiments.stability import blocked, gp_on_regression
import pkex
from pkex import reference

pytestmark = pytest.mark.experiments
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", NAMES)
def test_smoke_run(name, tmp_path, capsys):
    main([name, "--smoke", "--output", str(tmp_path)])
    record = read(tmp_path / f"{name}.json")
    assert record["complete"]
    assert record["size"] == "smoke"
    assert record["command"] == f"python -m experiments {name} --smoke"
    text = (tmp_path / "experiments.md").read_text(encoding="utf-8")
    pictures = list(tmp_path.glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size > 5_000
        assert picture.with_suffix(".svg").read_text(encoding="utf-8").startswith("<?xml")
        assert f"(./{picture.name})" in text
    assert experiment(name).title in text
    assert "**The paper** reports" in text
    assert "nan" not in text
    assert f"[{name}]" in capsys.readouterr().out


def test_page_is_made_again_from_results(tmp_path):
    main(["time", "--smoke", "--output", str(tmp_path)])
    before = (tmp_path / "experiments.md").read_text(encoding="utf-8")
    (tmp_path / "experiments.md").unlink()
    main(["--page", "--output", str(tmp_path)])
    assert (tmp_path / "experiments.md").read_text(encoding="utf-8") == before


def test_the_page_of_the_documentation_is_made_from_the_results(tmp_path, monkeypatch):
    for path in ROOT.glob("experiments/results/*.json"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(figures, "save", lambda *_: None)  # the text alone
    main(["--page", "--output", str(tmp_path)])
    made = (tmp_path / "experiments.md").read_text(encoding="utf-8").replace("(./", "(experiments/")
    shown = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert shown == made, "run python -m experiments --page"


def test_changed_parameter_makes_a_partial_run(tmp_path):
    main(["time", "--smoke", "--set", "sizes=[4]", "--output", str(tmp_path)])
    record = read(tmp_path / "time.json")
    assert record["size"] == "partial"
    assert list(results(record, "d = ")) == ["4"]
    assert "--set sizes=[4]" in record["command"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no experiment 'nothing'; choose from time"),
        (["time", "--smoke", "--set", "rows=3"], "time has no parameter rows; it has sizes"),
        (["time", "--set", "rows"], "'rows' is not of the form KEY=JSON"),
        (["--page"], "there are no results in"),
        (
            [
                "hsic",
                "--smoke",
                "--set",
                'printed=["sonar"]',
                "--set",
                "clean=[]",
                "--data",
                "none",
            ],
            "hsic stopped: there is no file none/sonar.csv.gz. The data set is UCI 151",
        ),
    ],
)
def test_bad_command_is_refused(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as refused:
        main([*arguments, "--output", str(tmp_path)])
    assert message in f"{refused.value} {capsys.readouterr().err}"


def job(tmp_path, parameters=None):
    nothing = Experiment("some", "Some", {}, lambda job: None, lambda record: {}, lambda record: "")
    return Job(nothing, parameters or {"n": (1, 2)}, tmp_path / "some.json")


def test_interrupted_run_goes_on_where_it_stopped(tmp_path):
    assert job(tmp_path).part("a", lambda: np.array([1.0, np.nan])) == [1.0, None]
    again = job(tmp_path)
    assert again.part("a", lambda: pytest.fail("computed twice")) == [1.0, None]
    again.finish()
    assert job(tmp_path).record["parts"] == {}  # a complete run starts anew


def test_other_parameters_start_anew(tmp_path):
    job(tmp_path).part("a", lambda: 1)
    assert job(tmp_path, {"n": 3}).record["parts"] == {}


def test_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "some.json"
    write({"a": 1}, path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write({"a": float("nan")}, path)
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["some.json"]


def test_page_wraps_text_and_keeps_tables():
    wide = table(["a" * 60, "b" * 60], [["1", "2"]])
    one = Experiment("some", "Some", {}, None, None, lambda record: f"{'word ' * 50}\n\n{wide}")
    record = {
        "size": "quick", "complete": False, "parts": {"a": {"seconds": 200.0}}, "command": "run",
        "parameters": {"n": [1, 2]}, "started": "2026-01-02T03:04:05", "finished": None,
    }  # fmt: skip
    text = page([(one, record, ["picture"])], "folder")
    assert wide in text
    prose = [line for line in text.splitlines() if not line.startswith(("|", "!", "<"))]
    assert max(map(len, prose)) <= 100
    assert "(folder/picture.png)" in text
    assert "n = 1 2" in text
    assert "3 min" in text
    assert "not complete" in " ".join(text.split())
    noted = page([(one, record | {"note": "A part was added later."}, [])], "folder")
    assert "left out. A part was added later.*" in " ".join(noted.split())


def test_our_selector_is_set_against_the_papers_in_the_same_folds():
    shared = dict.fromkeys(protocols.CLEAN_ROWS, 0.5) | {"random features": 0.65}
    del shared["product of marginals (ours)"]
    parts = {"PKeX-Shapley": (0.4, 0.6), "product of marginals (ours)": (0.5, 0.9)}
    record: dict[str, Any] = {"parts": {}}
    for i in range(2):
        paper = shared | {"PKeX-Shapley": parts["PKeX-Shapley"][i]}
        ours = {"product of marginals (ours)": parts["product of marginals (ours)"][i]}
        record["parts"][f"sonar: clean: fold {i}"] = {"result": paper}
        record["parts"][f"sonar: clean by ours: fold {i}"] = {"result": ours}
    text = hsic._ours(record)
    assert "+0.200 ± 0.100 on sonar" in text  # gains of 0.1 and 0.3
    assert "all six methods on sonar, and below random features on none" in text
    del (
        record["parts"]["sonar: clean by ours: fold 0"],
        record["parts"]["sonar: clean by ours: fold 1"],
    )
    assert "| product of marginals (ours) | not run |" in hsic._clean_table(record)
    assert "not run in the clean protocol" in hsic._ours(record)


def test_experiments_play_the_papers_game_and_ours_is_the_default():
    rng = np.random.default_rng(0)
    X, Z, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), rng.normal(size=20)
    paper = pkex.hsic(X, y, kernel="median", removal="neutral", estimator="biased").values
    np.testing.assert_array_equal(selectors.hsic_shapley(X, y, 0), paper)
    np.testing.assert_array_equal(selectors.hsic_marginal(X, y, 0), pkex.hsic(X, y).values)
    found = pkex.mmd(X, Z, **PAPER)
    assert (found.removal, found.estimator) == ("neutral", "unbiased")
    other = pkex.mmd(X, Z, **MARGINAL)
    assert other.removal == "product-of-marginals"
    assert other.kernel == found.kernel
    np.testing.assert_allclose(other.statistic, found.statistic, rtol=0, atol=1e-15)


# data


def test_sets_that_come_with_scikit_learn():
    wisconsin = data.load("wisconsin")
    assert wisconsin.X.shape == (569, 30)
    assert pd.Series(wisconsin.y).value_counts().to_dict() == {"benign": 357, "malignant": 212}
    first, second = data.diabetes_by_sex()
    assert (len(first), len(second), first.shape[1]) == (235, 207, 9)
    assert "sex" not in first


def test_table_is_read_from_a_folder(tmp_path, monkeypatch):
    frame = pd.DataFrame(np.arange(194.0 * 34).reshape(194, 34)).rename(columns={33: "time"})
    frame.to_csv(tmp_path / "breastcancer.csv.gz", index=False)
    monkeypatch.setenv("PKEX_DATA", str(tmp_path))
    found = data.load("breastcancer")
    assert found.X.shape == (194, 33)
    assert not found.is_classification
    np.testing.assert_array_equal(found.y, frame["time"])
    thinned = data.load("breastcancer", tmp_path).thinned(3)
    np.testing.assert_array_equal(thinned.y, frame["time"][[0, 96, 193]])
    np.testing.assert_array_equal(thinned.X, frame.iloc[[0, 96, 193], :-1])


@pytest.mark.parametrize("name", [name for name in data.SOURCES if name != "wisconsin"])
def test_missing_file_says_where_it_can_be_had(name, tmp_path):
    with pytest.raises(data.MissingDataError, match=r"archive.ics.uci.edu/dataset/\d+, CC BY 4.0"):
        data.load(name, tmp_path)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), "has 2 rows and 2 columns"),
        (pd.DataFrame(np.full((194, 34), np.nan)), "has missing values"),
    ],
)
def test_other_table_is_refused(frame, message, tmp_path):
    frame.to_csv(tmp_path / "breastcancer.csv.gz", index=False)
    with pytest.raises(ValueError, match=message):
        data.load("breastcancer", tmp_path)


def test_unknown_set_is_refused():
    with pytest.raises(KeyError, match="known are sonar, wisconsin"):
        data.load("iris")


# protocols


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classify", [True, False])
def test_gp_protocol_is_cross_validation(classify):
    X, y = load_breast_cancer(return_X_y=True) if classify else load_diabetes(return_X_y=True)
    X, y = X[:60, :3], y[:60]
    scoring = "accuracy" if classify else "neg_mean_absolute_percentage_error"
    folds = KFold(5, shuffle=True, random_state=42)
    expected = cross_val_score(
        training.gp_model(classify=classify), X, y, cv=folds, scoring=scoring
    )
    found = training.gp_cross_validation(X, y, classify=classify)
    np.testing.assert_allclose(found if classify else -found, expected)


def test_tuned_svr_is_the_best_of_the_trials():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    found = training.tune_svr(X, X[:, 0], trials=10, seed=0)
    assert 1e-5 <= found["C"] <= 1e5
    assert 1e-5 <= found["gamma"] <= 1e3
    assert found["r2"] >= training.tune_svr(X, X[:, 0], trials=3, seed=0)["r2"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("name", [*selectors.SELECTORS, *selectors.OURS, "published HSICLasso"])
def test_selector_puts_the_one_informative_column_first(name, classify):
    known = selectors.SELECTORS | selectors.OURS
    select = known.get(name, selectors.PUBLISHED["HSICLasso"])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = np.where(X[:, 3] > 0.0, "a", "b") if classify else np.tanh(X[:, 3])
    scores = select(X, y, 0)
    assert scores.shape == (5,)
    if not name.startswith("published"):  # covariates that hold the answer blur it
        assert np.argmax(scores) == 3


def test_clean_protocol_leaves_identifiers_and_constants_out(monkeypatch):
    seen = []

    def fold(X, y, train, test, fold, selectors, draws=0):
        seen.append((X, set(subjects[train]) & set(subjects[test]), len(train)))
        return {}

    monkeypatch.setattr(protocols, "_fold", fold)
    rng = np.random.default_rng(0)
    subjects = np.repeat(np.arange(10.0), 5)
    frame = pd.DataFrame({"subject#": subjects, "a": rng.normal(size=50), "constant": 1.0})
    found = data.DataSet("some", frame, rng.normal(size=50), data.SOURCES["parkinsons"])

    class Parts:
        def part(self, name, compute):
            return compute()

    protocols.clean(unchecked(Parts()), found, max_rows=30, draws=1)
    assert len(seen) == 10  # five folds, for the paper's methods and for ours
    for X, shared, n_train in seen:
        np.testing.assert_array_equal(X, frame[["a"]])
        assert not shared
        assert n_train == 30


def test_what_is_said_of_printed_means_is_counted_in_the_record():
    found = hsic.PRINTED_MEANS["sonar"]
    order = list(selectors.SELECTORS)
    parts: dict[str, Any] = {
        "sonar: printed: chosen": {method: [[i]] for i, method in enumerate(order)}
    }
    for i, method in enumerate(order):
        mean = found[i] + (0.005 if method in ("PKeX-Shapley", "MI") else 0.0)
        parts[f"sonar: printed: {i}"] = [mean - 0.01, mean + 0.01]
    record = {
        "size": "quick",
        "parameters": {"seeds": 1, "clean_rows": 10},
        "parts": {name: {"result": part} for name, part in parts.items()},
    }
    text = " ".join(hsic.section(record).split())
    assert "; of the other methods, 3 of 4 give it on sonar. One row" in text
    assert "A stable sort gives" not in text
    assert "A stable sort gives 0.926" in hsic.section(record | {"size": "full"})
    assert "of the other methods" not in hsic.section(record | {"parts": {}})
    assert 'Cells marked "not run" are' in text


def test_student_columns_differ_and_the_others_do_not():
    X, Z = samples(4000, "student", 0)
    ratios = Z.std(axis=0) / X.std(axis=0)
    assert np.abs(ratios[:10] - 1.0).max() < 0.1
    assert ratios[10:].min() > 1.2
    X, Z = samples(4000, "equal", 0)
    assert X.shape == Z.shape == (4000, 20)
    assert np.abs(Z.std(axis=0) / X.std(axis=0) - 1.0).max() < 0.1


# the judge of the stability table


def test_many_digits_agree_with_the_slow_twin():
    rng = np.random.default_rng(0)
    points, alpha, x = rng.normal(size=(3, 7)), rng.normal(size=3), rng.normal(size=7)
    deficits = [
        [kernel_deficit("rbf", a, b, length_scale=1.7) for a, b in zip(x, point, strict=True)]
        for point in points
    ]
    expected = [float(value) for value in shapley(deficits, list(alpha))]
    np.testing.assert_allclose(rbf_shapley(points, alpha, x, 1.7), expected, rtol=2e-16)


def test_blocks_of_points_add_up():
    model, rows = gp_on_regression(6, samples=40)
    machine = pkex.as_expansion(model).parts[0]
    whole = blocked(reference.prefix_suffix, machine, rows[0])
    parts = blocked(reference.prefix_suffix, machine, rows[0], megabytes=0.002)
    expected = pkex.Explainer(model, removal="neutral")(rows[:1]).values[0]
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(parts, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
