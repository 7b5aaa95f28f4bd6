"""Files of attributions and importances, and what all kinds of results have alike."""

import io
import json
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import pkex
from pkex import Attribution, Importance
from pkex.kernels import (
    RBF,
    Custom,
)
from pkex.kernels.data import to_data
from pkex.results.explanation import Explanation
from tests._support.stored import content, cosine, example, loads, mutated, written
from tests.output.test_report import report

pytestmark = pytest.mark.frontend

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
        "values", "statistic", "p_value", "p_statistic", "p_values", "p_adjusted", "p_bh",
        "p_univariate", "p_univariate_adjusted", "alpha",
        "null_values", "null_statistics", "null_band", "n_rows", "n_test_rows", "n_permutations",
        "standard_error", "standard_errors", "ranking", "rounding", "additivity_error",
        "block_size",
    ):  # fmt: skip
        assert same(getattr(found, name), getattr(attribution, name)), name
    for name in (
        "statistic_name", "estimator", "removal", "feature_names", "column_names", "categorical",
        "feature_groups", "sample_names", "background_info",
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
    if attribution.p_univariate is None:
        frame = frame.drop(columns="univariate")
    else:
        assert same(found.univariate, attribution.univariate)
    pd.testing.assert_frame_equal(found.to_frame(), frame)
    again = tmp_path / "again.npz"
    found.save(again)
    assert repr(Attribution.load(again)) == repr(attribution)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(attribution)


@every_attribution
def test_a_loaded_attribution_says_what_it_cannot_do(make, tmp_path):
    make().save(tmp_path / "a.npz")
    found = Attribution.load(tmp_path / "a.npz")
    words = r"was loaded from a file, which does not store the samples, so .* computed"
    asked = [lambda: found.row_values, lambda: found.value([0]), lambda: found.component([0])]
    asked += [found.plot.marginals]
    asked += [lambda: found.univariate] if found.p_univariate is None else []
    for ask in asked:
        with pytest.raises(ValueError, match=words):
            ask()
    assert found.plot().marginal_axes_ == []
    pyplot.close("all")
    data = report(found, tmp_path).data
    assert data["marginals"] == []
    assert data["loaded"] is True
    assert (data["univariate"] is None) == (found.p_univariate is None)
    assert report(make(), tmp_path).data["loaded"] is False


def test_what_was_computed_before_is_saved(tmp_path):
    attribution = pkex.mmd(*SAMPLES)
    assert attribution.univariate.shape == (3,)
    attribution.save(tmp_path / "a.npz")
    found = Attribution.load(tmp_path / "a.npz")
    assert same(found.univariate, attribution.univariate)
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


RESULTS: dict[Any, Any] = {
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
    with pytest.raises(
        ValueError, match=r"but this pkex reads up to [1-3]; update pkex to read it"
    ):
        kind.load(written(tmp_path / "a.npz", header, arrays))


ATTRIBUTION_CHANGES = {
    "no values": lambda h, a: a.pop("values"),
    "no rounding": lambda h, a: a.pop("rounding"),
    "another value": lambda h, a: a["values"].__setitem__(0, a["values"][0] + 1e-9),
    "another total": lambda h, a: h.update(statistic=1.0),
    "values are not a number": lambda h, a: a["values"].fill(np.nan),
    "null values of other players": lambda h, a: a.update(null_values=np.zeros((39, 2))),
    "no null values": lambda h, a: a.update(null_values=np.zeros((0, 3))),
    "infinite null values": lambda h, a: a["null_values"].fill(np.inf),
    "alone of fewer permutations": lambda h, a: a.update(univariate_null_values=np.zeros((9, 3))),
    "alone of other players": lambda h, a: a.update(univariate_values=np.zeros(2)),
    "no kernel": lambda h, a: h.pop("kernel"),
    "a target": lambda h, a: h.update(target_kernel=to_data(RBF(1.0))),
    "another statistic": lambda h, a: h.update(statistic="TV"),
    "another removal": lambda h, a: h.update(removal="conditional"),
    "one sample": lambda h, a: h.update(n_rows=[80]),
    "one name": lambda h, a: h.update(sample_names=["X"]),
    "no players": lambda h, a: h.update(feature_groups=[], feature_names=[]),
    "columns that are not there": lambda h, a: h.update(feature_groups=[[0], [1], [3]]),
    "one kind for three columns": lambda h, a: h.update(categorical=[True]),
    "a level above 1": lambda h, a: h.update(alpha=5.0),
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
    "removal is a number": lambda h, a: h.update(removal=1),
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
