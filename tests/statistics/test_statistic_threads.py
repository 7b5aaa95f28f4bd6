"""Verdicts, families and drift do not depend on the number of threads, to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pkex

SIZE = 280


@pytest.fixture(autouse=True)
def _many_tasks(monkeypatch):
    """Cut small calls as if they were large."""
    monkeypatch.setattr("pkex.statistics.attribution._LARGE", 0)
    monkeypatch.setattr("pkex.statistics.low_rank._ROOTS", 2**14)
    monkeypatch.setattr("pkex.games.permutations._TILE", 2**14)
    monkeypatch.setattr("pkex.statistics.quadratic_forms._MANY", 0)


def tables():
    """Return two samples with a column of categories and missing cells, the second one changed."""
    rng = np.random.default_rng(5)
    frames = [pd.DataFrame(rng.normal(size=(SIZE, 5)), columns=list("abcde")) for _ in range(2)]
    for frame in frames:
        frame["kind"] = rng.choice(["x", "y", "z"], size=SIZE)
        frame.loc[rng.random(SIZE) < 0.1, "e"] = np.nan
    frames[1]["a"] += 0.6
    return frames


CALLS = {
    "mmd": lambda X, Z, **how: pkex.mmd(X, Z, **how),
    "hsic": lambda X, _, **how: pkex.hsic(X, X["a"] ** 2 + 0.3 * X["b"], **how),
    "classes": lambda X, _, **how: pkex.hsic(X, X["kind"] == "x", **how),
    "blocks": lambda X, Z, **how: pkex.mmd(X, Z, block_size=100, **how),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("permutations", [0, 70])
def test_statistics(name, permutations):
    X, Z = tables()
    how = {"n_permutations": permutations, "random_state": 0}
    results = [CALLS[name](X, Z, n_jobs=n_jobs, **how) for n_jobs in (1, 2, 3)]
    arrays = ["values", "rounding", "univariate", "null_values", "univariate_null_values"]
    arrays += ["member_values", "member_null_values", "test_p_values", "p_values", "p_univariate"]
    assert (results[0].member_values is None) == (permutations == 0)
    for result in results[1:]:
        assert (result.statistic, result.p_value) == (results[0].statistic, results[0].p_value)
        for array in arrays if permutations else arrays[:3]:
            np.testing.assert_array_equal(getattr(result, array), getattr(results[0], array))


def test_drift():
    reference, batch = tables()
    answers = []
    for n_jobs in (1, 2, 3):
        drift = pkex.MMDDrift(n_permutations=70, random_state=0, n_jobs=n_jobs).fit(reference)
        detected, explained = drift.detect(batch), drift.explain(batch)
        answers.append((detected, explained.p_value, *explained.values, *explained.p_values))
    assert answers[0] == answers[1] == answers[2]
