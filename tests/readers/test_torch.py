"""Readers of GPyTorch and BoTorch; run by `make torch`, which installs what they need.

The oracle is the model's own posterior mean, at hybrids: rows with the columns of a coalition from
the row that is explained, and the others from the background.
"""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
from copy import deepcopy
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("gpytorch")  # `make torch` installs it

import torch
from botorch.models import ModelListGP
from scipy import stats

import pkex
from pkex import Explainer, UnsupportedModelError
from tests._support import torch_models as models
from tests._support.naive import shapley_by_enumeration
from tests._support.torch_models.cases import X, Y

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),  # of torch, about a product
]
torch.set_num_threads(1)

all_models = pytest.mark.parametrize("case", models.MODELS, ids=str)


def background(case):
    return case.table[3:9]


def size(case):
    """Return what a tolerance is relative to: the spread and size of predictions."""
    own = case.own(case.table)
    return np.ptp(own, axis=0) + np.abs(own).max(axis=0)


@all_models
def test_base_and_values_sum_to_the_models_own_mean(case):
    rows = case.table[:8]
    for rest in ((), (background(case),)) if case.own_data else ((background(case),),):
        explanation = case.explain(*rest)(rows)
        total = explanation.base_values + explanation.values.sum(axis=1)
        apart = np.abs(total.reshape(len(rows), -1) - case.own(rows))
        assert (apart <= case.tol * size(case)).all()
        assert explanation.values.shape[2:] == ((case.n_outputs,) if case.n_outputs > 1 else ())


# differences of float32 have few digits
@pytest.mark.parametrize("case", [case for case in models.MODELS if case.tol <= 1e-8], ids=str)
def test_gradients_are_differences_of_the_models_own_mean(case):
    rows, explain = case.table[:2], case.explain(background(case))
    if "warped" in case.name:  # a warp is steep at the ends of its range, and flat beyond them
        rows = 0.05 + 0.9 * rows
    try:
        values = explain.gradients(rows).values.reshape(2, rows.shape[1], -1)
    except (UnsupportedModelError, ValueError) as error:
        assert any(word in str(error) for word in ("derivative", "gradients are not available"))  # noqa: PT017
        return
    for column in range(rows.shape[1]):
        step = 1e-5 * (np.arange(rows.shape[1]) == column)
        difference = (case.own(rows + step) - case.own(rows - step)) / 2e-5
        assert (np.abs(values[:, column] - difference) <= 1e-4 * size(case)).all()


@all_models
def test_values_are_those_of_brute_force_over_hybrids(case):
    row, rows = case.table[-1], background(case)
    explanation = case.explain(rows)(row[None])

    def value(present):
        hybrids = rows.copy()
        hybrids[:, sorted(present)] = row[sorted(present)]
        return case.own(hybrids).mean(axis=0)

    expected = np.array(shapley_by_enumeration(value, rows.shape[1]), dtype=float)
    found = explanation.values[0].reshape(expected.shape)
    assert (np.abs(found - expected) <= case.tol * size(case)).all()
    assert (np.abs(expected).max(axis=0) > 1e-3 * size(case)).all()  # there is something to explain


@all_models
def test_the_uncertainty_of_values_is_that_of_the_models_own_posterior(case):
    """Values are weighted sums of predictions at hybrids, whose covariance the model has."""
    row, rows = case.table[-1], case.table[3:6]
    found = case.explain(rows)(row[None], return_std=True).std[0]
    assert found.shape == (len(row), case.n_outputs)[: found.ndim]
    if case.n_outputs > 1:
        return
    tables, weights = [], []
    for size in range(len(row) + 1):
        for present in map(list, combinations(range(len(row)), size)):
            spliced = rows.copy()
            spliced[:, present] = row[present]
            share = np.where(
                np.isin(range(len(row)), present),
                1.0 / (len(row) * comb(len(row) - 1, max(size - 1, 0))),
                -1.0 / (len(row) * comb(len(row) - 1, min(size, len(row) - 1))),
            )
            tables.append(spliced)
            weights.append(np.tile(share / len(rows), (len(rows), 1)))
    a, hybrids = np.concatenate(weights), np.concatenate(tables)
    covariance = a.T @ case.covariance(hybrids) @ a
    covariance -= case.jitter * (a.T @ a)  # which is noise of each hybrid
    expected = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    # the root of a variance has half of its digits; a float32 model has fewer to begin with
    assert np.abs(found - expected).max() <= max(1e-7, case.tol) * expected.max()


@pytest.mark.parametrize("case", [c for c in models.MODELS if not c.is_mixture], ids=str)
def test_bands_of_effects_are_those_of_the_models_own_posterior(case):
    """The covariance of a partial dependence is that of means of predictions over the rows."""
    rows = case.table[3:7]
    effects = case.explain(rows).effects([0], grid_resolution=3, return_std=True)
    grid = effects.grid[0]
    assert effects.cov[0].shape[:2] == (len(grid), len(grid))
    if case.n_outputs > 1:
        return
    table = np.tile(rows, (len(grid), 1))
    table[:, 0] = np.repeat(grid, len(rows))
    full = case.covariance(table) - case.jitter * np.eye(len(table))
    expected = full.reshape(len(grid), len(rows), len(grid), len(rows)).mean(axis=(1, 3))
    # a difference of prior and data; GPyTorch finds distances as |x|^2 + |z|^2 - 2 x z, and a
    # float32 model has fewer digits
    assert np.abs(effects.cov[0] - expected).max() <= max(1e-7, case.tol) * np.abs(full).max()


@pytest.mark.parametrize("case", [c for c in models.MODELS if not c.is_mixture], ids=str)
def test_the_variance_is_the_models_own_with_and_without_noise(case):
    """`posterior(X, observation_noise=...)` of BoTorch, and a likelihood of GPyTorch."""
    rows, explain = case.table[-2:], case.explain(case.table[3:5])

    def apart(option, expected):
        """How far it is from what is expected, beyond its error bound."""
        found = explain.explain_variance(rows, observation_noise=option)
        shape = (len(rows), case.n_outputs)
        gap = np.abs(found.predictions.reshape(shape) - expected) - found.error_bound.reshape(shape)
        return gap.max()

    own = case.variances(rows, False)
    # GPyTorch finds distances as |x|^2 + |z|^2 - 2 x z; float32 models have fewer digits
    atol = 10.0 * max(1e-7, case.tol) * own.max()
    assert apart(None, own) <= atol
    assert apart(False, own - case.jitter) <= atol
    if case.noise_differs:  # one for each training row
        with pytest.raises(UnsupportedModelError, match="differs from row to row"):
            apart(True, own)
        return
    if not case.has_noise:
        with pytest.raises(UnsupportedModelError, match="noise of this model is unknown"):
            apart(True, own)
        return
    noisy = case.variances(rows, True)
    assert apart(True, noisy) <= atol
    assert (noisy > own + 10.0 * atol).all()  # there is noise to see


@all_models
def test_rows_as_tensors_arrays_and_frames(case):
    rows = case.table[:3]
    explain = case.explain(torch.tensor(background(case)))
    expected = explain(rows).values
    frame = pd.DataFrame(rows, columns=[f"p{j}" for j in range(rows.shape[1])])
    tensor = torch.tensor(rows, requires_grad=True)
    for given in (tensor, tensor.detach(), frame, rows.tolist()):
        assert np.array_equal(explain(given).values, expected)


@all_models
def test_points_are_data_or_a_background_is_asked_for(case):
    if case.own_data:
        explain = case.explain()
        assert explain.removal == "product-of-marginals"
        assert "training points" in explain.background_info
    else:
        with pytest.raises(ValueError, match=r"finds none in this model.*pass some rows"):
            case.explain()


@all_models
def test_explainers_pickle(case):
    explain = case.explain(background(case))
    again = pickle.loads(pickle.dumps(explain))
    assert np.array_equal(again(case.table[:2]).values, explain(case.table[:2]).values)


@pytest.mark.parametrize("refusal", models.REFUSALS, ids=str)
@pytest.mark.filterwarnings("ignore")  # of BoTorch, about the scale of data
def test_what_cannot_be_explained_is_refused_with_a_sentence(refusal):
    model = refusal.make()
    with pytest.raises(UnsupportedModelError) as caught:
        Explainer(model)
    for words in refusal.words:
        assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def test_there_are_as_many_models_as_promised():
    assert len(models.MODELS) >= 25
    assert len({case.name for case in models.MODELS}) == len(models.MODELS)


@pytest.mark.filterwarnings("ignore")  # of Ax, about objectives without thresholds
def test_the_list_of_the_support_page_is_what_the_script_makes():
    """`python scripts/make_torch_list.py`, then `make_support.py`, after a change of these."""
    script = Path(__file__).parents[2] / "scripts" / "make_torch_list.py"
    spec = importlib.util.spec_from_file_location("make_torch_list", script)
    make_torch_list = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_torch_list)
    text = make_torch_list.made()
    assert make_torch_list.LIST.read_text(encoding="utf-8") == text
    found = json.loads(text)
    untested = {name for name, cases in found["cases"].items() if not cases}
    assert all("refused" in found["readers"][name] for name in untested)


def test_a_model_is_read_as_it_is_now():
    """Reading changes nothing of it, and training it further changes no explanation."""
    case = models.MODELS[1]
    model = pickle.loads(pickle.dumps(case.model())).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    explain = Explainer(model)
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    expected = explain(case.table[:2]).values
    model.covar_module.outputscale = 5.0
    assert np.array_equal(explain(case.table[:2]).values, expected)


def test_a_model_that_has_predicted_is_read_with_its_caches():
    case = models.MODELS[1]
    model = pickle.loads(pickle.dumps(case.model())).eval()
    model(torch.tensor(case.table[:2]))  # leaves tensors with a history
    values = Explainer(model)(case.table[:2]).values
    np.testing.assert_allclose(values, case.explain()(case.table[:2]).values, rtol=1e-12)


def test_float32_models_are_explained_in_float64():
    [case] = [case for case in models.MODELS if case.name == "ExactGP in float32"]
    explanation = case.explain()(torch.tensor(case.table[:2], dtype=torch.float32))
    assert explanation.values.dtype == np.float64
    assert explanation.additivity_error < 1e-12


def test_nothing_of_torch_is_imported_before_such_a_model_is_passed():
    code = (
        "import pkex, sys; from sklearn.svm import SVR; "
        "pkex.Explainer(SVR().fit([[0.0], [1.0]], [0.0, 1.0])); "
        "print([m for m in ('torch', 'gpytorch', 'botorch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_groups_and_neutral_removal_go_with_them():
    case = models.MODELS[1]
    explanation = case.explain(groups={"both": [0, 1]}, removal="neutral")(case.table[:2])
    assert explanation.feature_names == ("both", "x2", "x3")
    assert pkex.as_expansion(case.model()).points.shape == (30, 4)


def named_case(name):
    [case] = [case for case in models.MODELS if case.name == name]
    return case


def test_sensitivity_takes_the_names_of_a_frame_and_of_a_mapping():
    case = named_case("SingleTaskGP Normalize, Standardize")
    frame = pd.DataFrame(case.table, columns=list("abcd"))
    found = pkex.sensitivity(case.model(), frame, groups={"both": ["a", "c"]})
    assert found.feature_names == ("both", "b", "d")
    ranges = {name: (float(frame[name].min()), float(frame[name].max())) for name in frame}
    found = pkex.sensitivity(case.model(), ranges)
    assert found.feature_names == tuple("abcd")
    assert "in the order of the mapping" in found.inputs
    assert case.explain()(frame[:2]).feature_names == tuple("abcd")


def test_leaving_out_a_row_changes_what_a_refit_with_everything_held_does():
    case = named_case("SingleTaskGP Normalize, Standardize")
    model, rows = case.model(), case.table[:3]
    explainer = Explainer(model, background(case))
    influence, left_out = explainer.influence(rows, X_train=case.table), explainer.leave_one_out()
    whole = explainer(rows)
    for i in range(len(case.table)):
        kept = np.arange(len(case.table)) != i
        other = deepcopy(model).train()  # which has its inputs as they came
        other.input_transform.learn_coefficients = False
        [inputs], targets = other.train_inputs, other.train_targets
        other.set_train_data(inputs[..., kept, :], targets[..., kept], strict=False)
        explain = Explainer(other.eval(), background(case))
        refitted = explain(rows)
        close = 1e-9 * float(size(case)[0])
        change = whole.predictions - refitted.predictions
        np.testing.assert_allclose(influence.values[:, i], change, rtol=0.0, atol=close)
        split = whole.values - refitted.values
        np.testing.assert_allclose(influence.feature_values[:, i], split, rtol=0.0, atol=close)
        prediction = explain.expansion.predict(case.table[i : i + 1])
        np.testing.assert_allclose(left_out.predictions[i], prediction[0], rtol=0.0, atol=close)


@pytest.mark.parametrize("name", ["MultiTaskGP", "MultiTaskGP StratifiedStandardize"])
def test_targets_of_all_tasks_are_those_that_were_fitted(name):
    case = named_case(name)
    np.testing.assert_allclose(case.explain().leave_one_out().targets, Y.numpy(), rtol=1e-9)


def test_predictions_of_several_tasks_are_the_models_own():
    """With all tasks as a feature or at one of them, to ten digits."""
    cases = [case for case in models.MODELS if "MultiTaskGP" in case.name]
    assert len(cases) >= 15
    for case in cases:
        found = case.explain(background(case))(case.table).predictions
        own = case.own(case.table).reshape(found.shape)
        np.testing.assert_allclose(found, own, rtol=1e-10, atol=1e-10, err_msg=str(case))


@pytest.mark.parametrize("name", ["MultiTaskGP at a task", "ModelListGP of MultiTaskGP at a task"])
def test_draws_at_a_task_are_refused_where_importance_has_them(name):
    case = named_case(name)
    with pytest.raises(UnsupportedModelError, match=r"several tasks .*importance\(X, n_draws"):
        pkex.sensitivity(case.model(), case.table, n_draws=19, task=case.task)
    found = case.explain(background(case)).importance(case.table[:2], n_draws=19, random_state=0)
    assert (found.interval(0.9)[1] > 0.0).all()


@pytest.mark.parametrize("task", [3, True, "1", np.array([0.0, 1.0])], ids=repr)
def test_what_is_no_task_of_a_model_is_refused(task):
    with pytest.raises(ValueError, match=r"this MultiTaskGP has the tasks 0, 1, 2; got task="):
        Explainer(named_case("MultiTaskGP").model(), task=task)


def test_models_of_a_list_without_tasks_keep_their_columns_at_a_task():
    tasked = named_case("MultiTaskGP at a task")
    plain = named_case("SingleTaskGP")
    several = ModelListGP(tasked.model(), plain.model())
    rows = tasked.table
    found = Explainer(several, rows[:9], task=1.0)(rows[-3:], return_std=True)
    for output, case in enumerate((tasked, plain)):
        one = case.explain(rows[:9])(rows[-3:], return_std=True)
        np.testing.assert_allclose(found.values[..., output], one.values, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.std[..., output], one.std, rtol=1e-9)
    with pytest.raises(UnsupportedModelError, match=r"columns \(4 and 5\).*with task=, or explain"):
        Explainer(several, rows[:9])
    with pytest.raises(ValueError, match=r"this ModelListGP has the tasks 0, 1, 2; got task=7"):
        Explainer(several, rows[:9], task=7)
    with pytest.raises(ValueError, match="this ModelListGP has no tasks"):
        Explainer(ModelListGP(plain.model(), plain.model()), rows[:9], task=1)


def test_nothing_is_said_of_targets_of_other_tasks_at_a_task():
    explainer = named_case("MultiTaskGP at a task").explain()
    with pytest.raises(UnsupportedModelError, match="leave_one_out needs"):
        explainer.leave_one_out()
    influence = explainer.influence(X[:1].numpy())
    assert influence.kind == "representer"
    assert influence.train_targets is None


def test_sensitivity_refuses_ranges_of_columns_that_a_model_rounds():
    case = named_case("SingleTaskGP Round, Normalize")
    ranges = dict.fromkeys(range(4), (-1.0, 1.6))
    with pytest.raises(ValueError, match=r"rounds the column 'x1'.*stats\.randint\(-1, 3\)"):
        pkex.sensitivity(case.model(), ranges)
    found = pkex.sensitivity(case.model(), ranges | {1: [-1, 0, 1], 2: stats.randint(-1, 3)})
    rows = np.array(np.meshgrid([0.2], [-1.0, 0.0, 1.0], [1.0], [0.0])).reshape(4, 3).T
    fixed = pkex.sensitivity(case.model(), {0: 0.2, 1: [-1, 0, 1], 2: 1.0, 3: 0.0})
    assert fixed.variance == pytest.approx(case.own(rows).var(), rel=1e-6)
    assert found.shapley.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["MixedSingleTaskGP", "SingleTaskGP CategoricalKernel"])
def test_sensitivity_refuses_ranges_of_categories(name):
    case = named_case(name)
    ranges = dict.fromkeys(range(5), (-1.0, 1.0))
    with pytest.raises(ValueError, match=r"'x3' holds categories.*stats\.randint\(0, 3\)"):
        pkex.sensitivity(case.model(), ranges)
    codes = {3: stats.randint(0, 3), 4: stats.randint(0, 4)}
    [note] = pkex.sensitivity(case.model(), ranges | codes).notes
    assert note == "The model has never seen some of the categories (x4)"
