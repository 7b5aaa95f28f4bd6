"""Training rows: what leaving one out changes, against actual refits with all else held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pkex
from pkex import Explainer, UnsupportedModelError
from tests._support.training_rows import BACKGROUND, NOISE, ROWS, TWO, WEIGHTS, X, Y, ridge

ARD = gp.RBF([0.8, 1.1, 1.7])
# cond(A) <= 1e6 in all cases (checked below), so refits agree to 1e6 roundings and some
CLOSE = 1e-9


@dataclass(frozen=True)
class Refit:
    """A model, and the same fitted to some rows, whose output is scaled and shifted."""

    name: str
    model: Any
    refit: Callable[[Any], Any]
    y: Any = field(default_factory=lambda: Y)
    slope: Any = 1.0
    shift: Any = 0.0
    prepare: Callable[[Any], Any] = np.asarray
    sample_weight: Any = None

    def __str__(self) -> str:
        return self.name


def process(**how):
    return GaussianProcessRegressor(**{"kernel": ARD, "alpha": 0.05, "optimizer": None} | how)


def normalised():
    mean, std = Y.mean(), Y.std()
    model = process(normalize_y=True).fit(X, Y)
    scaled = (Y - mean) / std
    return Refit("normalize_y", model, lambda k: process().fit(X[k], scaled[k]), Y, std, mean)


def piped():
    scaler = StandardScaler().fit(X)
    model = make_pipeline(StandardScaler(), ridge()).fit(X, Y)
    return Refit(
        "pipeline",
        model,
        lambda k: ridge().fit(scaler.transform(X)[k], Y[k]),
        prepare=scaler.transform,
    )


def target_scaled():
    model = TransformedTargetRegressor(ridge(), transformer=StandardScaler()).fit(X, Y)
    mean, std = Y.mean(), Y.std()
    scaled = (Y - mean) / std
    return Refit("target", model, lambda k: ridge().fit(X[k], scaled[k]), Y, std, mean)


WHITE = 2.0 * gp.RBF(1.3) + gp.WhiteKernel(0.1)
REFITS = [
    Refit("ridge", ridge().fit(X, Y), lambda k: ridge().fit(X[k], Y[k])),
    Refit(
        "weighted ridge",
        ridge().fit(X, Y, sample_weight=WEIGHTS),
        lambda k: ridge().fit(X[k], Y[k], sample_weight=WEIGHTS[k]),
        sample_weight=WEIGHTS,
    ),
    Refit("two outputs", ridge().fit(X, TWO), lambda k: ridge().fit(X[k], TWO[k]), TWO),
    Refit(
        "two alphas",
        ridge(alpha=[0.1, 0.7]).fit(X, TWO),
        lambda k: ridge(alpha=[0.1, 0.7]).fit(X[k], TWO[k]),
        TWO,
    ),
    Refit(
        "polynomial ridge",
        ridge(kernel="poly", degree=2).fit(X, Y),
        lambda k: ridge(kernel="poly", degree=2).fit(X[k], Y[k]),
    ),
    Refit(
        "laplacian ridge",
        ridge(kernel="laplacian").fit(X, Y),
        lambda k: ridge(kernel="laplacian").fit(X[k], Y[k]),
    ),
    Refit("ARD", process().fit(X, Y), lambda k: process().fit(X[k], Y[k])),
    Refit(
        "noise per row",
        process(alpha=NOISE).fit(X, Y),
        lambda k: process(alpha=NOISE[k]).fit(X[k], Y[k]),
    ),
    Refit(
        "white kernel",
        process(kernel=WHITE, alpha=1e-8).fit(X, Y),
        lambda k: process(kernel=WHITE, alpha=1e-8).fit(X[k], Y[k]),
    ),
    Refit("process of two", process().fit(X, TWO), lambda k: process().fit(X[k], TWO[k]), TWO),
    Refit(
        "wrapped processes",
        MultiOutputRegressor(process()).fit(X, TWO),
        lambda k: MultiOutputRegressor(process()).fit(X[k], TWO[k]),
        TWO,
    ),
    Refit(
        "wrapped ridges",
        MultiOutputRegressor(ridge()).fit(X, TWO),
        lambda k: MultiOutputRegressor(ridge()).fit(X[k], TWO[k]),
        TWO,
    ),
    normalised(),
    piped(),
    target_scaled(),
]
all_refits = pytest.mark.parametrize("case", REFITS, ids=str)
REMOVALS = {
    "interventional": lambda case: (case.prepare(BACKGROUND), {}),
    "product-of-marginals": lambda case: (case.prepare(X), {"removal": "product-of-marginals"}),
    "banzhaf": lambda case: (case.prepare(BACKGROUND), {"index": "BV"}),
}


def raw(removal):
    background = X if removal == "product-of-marginals" else BACKGROUND
    options: dict[str, Any] = REMOVALS[removal](REFITS[0])[1]
    return background, options


def without(i):
    return np.arange(len(X)) != i


@all_refits
def test_leaving_out_a_row_changes_predictions_and_values_as_a_refit_does(case):
    for removal in REMOVALS if case.name in ("ridge", "normalize_y") else ("interventional",):
        background, options = raw(removal)
        explainer = Explainer(case.model, background, **options)
        influence = explainer.influence(ROWS, y_train=case.y, sample_weight=case.sample_weight)
        whole = explainer(ROWS)
        assert influence.kind == "leave-one-out"
        np.testing.assert_allclose(influence.predictions, whole.predictions, atol=CLOSE)
        prepared, _ = REMOVALS[removal](case)
        for i in range(len(X)):
            other = case.refit(without(i))
            left = Explainer(other, prepared, **options)(case.prepare(ROWS))
            predictions = left.predictions * case.slope + case.shift
            change = whole.predictions - predictions
            np.testing.assert_allclose(influence.values[:, i], change, rtol=0, atol=CLOSE)
            own = other.predict(case.prepare(ROWS)) * case.slope + case.shift
            np.testing.assert_allclose(whole.predictions - own, change, rtol=0, atol=CLOSE)
            split = whole.values - left.values * case.slope
            np.testing.assert_allclose(influence.feature_values[:, i], split, rtol=0, atol=CLOSE)
            base = whole.base_values - (left.base_values * case.slope + case.shift)
            np.testing.assert_allclose(influence.base_values[:, i], base, rtol=0, atol=CLOSE)


def test_the_matrices_of_these_cases_are_well_conditioned():
    for case in REFITS:
        for part in pkex.as_expansion(case.model).parts:
            matrix = part.kernel(part.points) + (0.0 if part.ridge is None else part.ridge[0])
            if part.posterior is not None:
                matrix = part.posterior.cholesky @ part.posterior.cholesky.T
            assert np.linalg.cond(matrix + 0.1 * np.eye(len(X)) * (part.ridge is not None)) <= 1e6


@pytest.mark.parametrize("name", ["ARD", "noise per row", "white kernel", "normalize_y"])
def test_variance_grows_as_that_of_a_refit(name):
    case = next(case for case in REFITS if case.name == name)
    influence = Explainer(case.model).influence(ROWS)
    before = case.model.predict(ROWS, return_std=True)[1] ** 2
    assert influence.variance is not None
    for i in range(len(X)):
        after = (case.refit(without(i)).predict(ROWS, return_std=True)[1] * case.slope) ** 2
        np.testing.assert_allclose(influence.variance[:, i], after - before, rtol=0, atol=CLOSE)


@all_refits
def test_leave_one_out_predicts_as_refits_do(case):
    table = pd.DataFrame(X, columns=["a", "b", "c"], index=list("abcdefghijklmnopqrstuvwx"))
    given = {"y_train": case.y, "sample_weight": case.sample_weight}
    result = Explainer(case.model).leave_one_out(X_train=table.to_numpy(), **given)
    rows = case.prepare(X)
    for i in range(len(X)):
        other = case.refit(without(i))
        prediction = other.predict(rows[i : i + 1])[0] * case.slope + case.shift
        np.testing.assert_allclose(result.predictions[i], prediction, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(result.residuals[i], case.y[i] - prediction, atol=CLOSE)
    assert (result.std is None) == (not isinstance(case.model, GaussianProcessRegressor)) or (
        case.name == "wrapped processes"
    )


def test_log_density_is_that_of_an_observation():
    result = Explainer(process(alpha=NOISE).fit(X, Y)).leave_one_out()
    assert result.std is not None
    assert result.log_density is not None
    for i in range(len(X)):
        k = without(i)
        mean, std = process(alpha=NOISE[k]).fit(X[k], Y[k]).predict(X[i : i + 1], return_std=True)
        spread = np.sqrt(std[0] ** 2 + NOISE[i])
        np.testing.assert_allclose(result.std[i], spread, atol=CLOSE)
        np.testing.assert_allclose(
            result.log_density[i], stats.norm.logpdf(Y[i], mean[0], spread), atol=CLOSE
        )


@all_refits
def test_top_has_the_same_numbers_of_the_most_influential_rows(case):
    explainer = Explainer(case.model, X, removal="product-of-marginals")
    given = {"sample_weight": case.sample_weight}
    every, few = explainer.influence(ROWS, **given), explainer.influence(ROWS, top=5, **given)
    sizes = np.abs(every.values).reshape(len(ROWS), len(X), -1).sum(axis=2)
    assert (few.train_rows == np.argsort(-sizes, axis=1, kind="stable")[:, :5]).all()
    for name in ("values", "base_values", "feature_values", "variance"):
        whole, some = getattr(every, name), getattr(few, name)
        if whole is not None:
            places = few.train_rows.reshape(len(ROWS), 5, *(1,) * (whole.ndim - 2))
            chosen = np.take_along_axis(whole, places, axis=1)
            np.testing.assert_allclose(some, chosen, rtol=1e-11, atol=1e-14)


def test_a_frame_names_rows_and_a_pipeline_needs_the_table_for_feature_values():
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"p{i}" for i in range(len(X))])
    model = make_pipeline(StandardScaler(), ridge()).fit(frame, Y)
    explainer = Explainer(model)
    bare, full = (
        explainer.influence(frame[:2], top=2),
        explainer.influence(frame[:2], X_train=frame),
    )
    assert bare.train_data is None
    assert bare.train_names[3] == "3"
    assert full.train_names[3] == "p3"
    assert full.train_data is not None
    assert (full.train_data == X).all()
    table = full.to_frame()
    assert list(table.columns[:2]) == ["influence", "target"]
    assert table.loc[("p0", "p3"), "train_b"] == X[3, 1]
    np.testing.assert_allclose(table.loc["p0", "target"], Y)


def test_weights_that_nobody_checked_are_a_note(tmp_path):
    explainer = Explainer(ridge().fit(X, Y, sample_weight=WEIGHTS))
    results = explainer.influence(ROWS, X_train=X, top=2), explainer.leave_one_out()
    for result in results:
        assert "Sample weights are taken as 1" in repr(result)
        result.save(tmp_path / "result.npz")
        assert type(result).load(tmp_path / "result.npz").notes == result.notes
    results[0].report(tmp_path / "report.html")
    assert "Sample weights are taken as 1" in (tmp_path / "report.html").read_text("utf-8")
    assert explainer.influence(ROWS, sample_weight=WEIGHTS).notes == []
    assert Explainer(RIDGE).leave_one_out(y_train=Y).notes == []
    assert Explainer(PROCESS).influence(ROWS).notes == []
    assert Explainer(MACHINE).influence(ROWS).notes == []


def test_a_step_may_round_columns_without_variance_differently():
    table = np.column_stack([X, X[:, 0] + X[:, 1]])  # so that the last component is rounding
    for last in (ridge(), SVR()):
        with pytest.warns(UserWarning, match="combines columns"):
            explainer = Explainer(make_pipeline(PCA(), last).fit(table, Y), table[:4])
        assert explainer.influence(table[:2], X_train=table, y_train=Y).n_train == len(X)
        with pytest.raises(ValueError, match="X_train is not the table"):
            explainer.influence(table[:2], X_train=table + 1e-3)


def test_targets_are_checked_up_to_rounding_relative_to_their_spread():
    twice, y = np.concatenate([X, X[:3]]), np.append(Y, Y[:3] + 1.0)  # coefficients of 5e9
    result = Explainer(process(alpha=1e-10).fit(twice, y)).leave_one_out(y_train=y)
    assert (result.targets == y).all()
    far = Explainer(process(normalize_y=True).fit(X, Y + 1e7))
    assert len(far.leave_one_out(y_train=Y + 1e7)) == len(X)
    with pytest.raises(ValueError, match="y_train is not the target"):
        far.leave_one_out(y_train=Y[::-1] + 1e7)


def test_lines_are_counted_as_what_they_are():
    one = Explainer(ridge().fit(X[:1], Y[:1]), BACKGROUND).influence(ROWS)
    assert "3 samples x 1 training point," in repr(one)
    count = len(MACHINE.support_)
    assert count < len(X)
    assert f" x {count} support vectors," in repr(Explainer(MACHINE).influence(ROWS))
    few, whole = (Explainer(MACHINE).influence(ROWS, X_train=table) for table in (None, X))
    assert "  support vector  " in repr(few)  # whose numbers are not those of training rows
    assert few.plot().ax_.get_title(loc="left").startswith("support vectors behind row 0")
    assert " x 24 training rows," in repr(whole)
    assert "  training row  " in repr(whole)


def test_parts_are_joined_where_they_agree():
    explainer = Explainer(RIDGE, BACKGROUND)
    whole, few = explainer.influence(X, top=3), explainer.influence(X, top=2)
    parts = [explainer.influence(X[:5], top=3), explainer.influence(X[5:], top=3)]
    joined = pkex.Influence.concat(parts)
    np.testing.assert_allclose(joined.feature_values, whole.feature_values, rtol=1e-12)
    assert joined.additivity_error == max(part.additivity_error for part in parts)
    with pytest.raises(ValueError, match="pass the same top"):
        pkex.Influence.concat([whole, few])
    fewer = Explainer(ridge().fit(X[1:], Y[1:]), BACKGROUND).influence(X, top=3)
    with pytest.raises(ValueError, match="n_train"):
        pkex.Influence.concat([whole, fewer])
    machine = Explainer(SVR(gamma=0.4).fit(X, Y), BACKGROUND).influence(X, X_train=X, top=3)
    with pytest.raises(ValueError, match="kind"):
        pkex.Influence.concat([whole, machine])


RIDGE, MACHINE = ridge().fit(X, Y), SVR().fit(X, Y)
PROCESS = process().fit(X, Y)
BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "fewer rows": (
        RIDGE,
        {"X_train": X[1:]},
        "X_train has 23 rows, but the model was fitted on 24",
    ),
    "other order": (RIDGE, {"X_train": X[::-1]}, "row 0 differs from the training point"),
    "other rows": (MACHINE, {"X_train": X + 1.0}, "are not among its rows"),
    "other target": (RIDGE, {"y_train": Y + 1.0}, "row 0 has .* pass sample_weight"),
    "shape of the target": (RIDGE, {"y_train": TWO}, "y_train must have shape"),
    "weights of a process": (PROCESS, {"sample_weight": WEIGHTS}, "is for kernel ridge"),
    "weights of a machine": (MACHINE, {"sample_weight": WEIGHTS}, "is for kernel ridge"),
    "weight of 0": (RIDGE, {"sample_weight": 0.0 * Y}, "Rows of weight 0 have no effect"),
    "no table": (MACHINE, {"y_train": Y}, "y_train needs X_train"),
    "length of labels": (MACHINE, {"X_train": X, "y_train": Y[1:]}, "but X_train 24 rows"),
    "top": (RIDGE, {"top": 0}, "top must be a number of training rows"),
    "top as text": (RIDGE, {"top": "3"}, "top must be a number of training rows"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_an_error(name):
    model, given, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        Explainer(model).influence(ROWS, **given)


def test_a_result_that_is_too_large_names_its_size(monkeypatch):
    monkeypatch.setattr("pkex.explain.influence._LARGEST", 1000)
    with pytest.raises(ValueError, match=r"3 x 24 x 3 x 1 numbers, 0\.0 GB.*top=10"):
        Explainer(RIDGE).influence(ROWS)
    assert Explainer(RIDGE).influence(ROWS, top=2).values.shape == (3, 2)


def test_models_without_training_rows_are_not_supported():
    with pytest.raises(UnsupportedModelError, match="not training rows"):
        Explainer(Ridge().fit(X, Y), BACKGROUND).influence(ROWS)
    with pytest.raises(UnsupportedModelError, match="has none"):
        Explainer(MACHINE).leave_one_out(y_train=Y)


def test_values_are_called_what_they_are():
    influence = Explainer(MACHINE, BACKGROUND, index="BV").influence(ROWS, top=2)
    assert "on BV values" in repr(influence)
    bar = influence.plot().figure_.axes[0].child_axes[0]
    assert bar.get_ylabel() == "influence on the BV value"


def test_a_singular_matrix_is_not_inverted():
    twice = np.concatenate([X, X])
    f = pkex.KernelExpansion(twice, np.zeros(48), pkex.kernels.RBF(), ridge=0.0)
    with pytest.raises(UnsupportedModelError, match="larger alpha"):
        Explainer(f).leave_one_out()
    with pytest.raises(ValueError, match="ridge must be a number"):
        pkex.KernelExpansion(X, Y, pkex.kernels.RBF(), ridge=-1.0)


def test_few_digits_are_a_warning():
    model = process(kernel=gp.RBF(30.0), alpha=1e-13).fit(X, Y)
    with pytest.warns(pkex.PrecisionWarning, match="badly conditioned"):
        Explainer(model).influence(ROWS)


def test_flipped_labels_have_the_largest_residuals():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(400, 5))
    labels = np.sign(table[:, 0] + table[:, 1] * table[:, 2])
    flipped = rng.choice(400, 20, replace=False)
    labels[flipped] *= -1.0
    model = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.5).fit(table, labels)
    suspects = Explainer(model).leave_one_out().ranking[:30]
    assert len(set(suspects) & set(flipped)) >= 15


def test_a_wrong_unit_is_the_row_that_distorts_a_value():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(200, 4))
    y = table[:, 0] + 0.5 * table[:, 1] + 0.1 * rng.normal(size=200)
    y[17] *= 100.0
    model = GaussianProcessRegressor(gp.RBF(2.0), alpha=0.1, optimizer=None).fit(table, y)
    near = table[17:18] + 0.3
    influence = Explainer(model).influence(near, top=1)
    assert influence.train_rows[0, 0] == 17
