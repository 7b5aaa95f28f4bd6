"""What a call of `mmd` or `hsic` depends on: neither chance, error states nor threads."""

from __future__ import annotations

import numpy as np
import pytest

import pkex
from pkex.kernels import Laplacian


def test_without_permutations_nothing_depends_on_chance():
    """Not even the median heuristic, which looks at some of the rows only."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(900, 2)), rng.normal(size=(700, 2)) * 1.5
    found = pkex.mmd(X, Z)
    assert np.array_equal(pkex.mmd(X, Z).values, found.values)
    order = rng.permutation(1600)
    both = np.concatenate([X, Z])[order]
    mixed = pkex.mmd(both[:900], both[900:])
    assert mixed.kernel == found.kernel  # whichever rows are in which sample
    y = rng.normal(size=1600)
    assert pkex.hsic(both, y).statistic == pkex.hsic(both, y, random_state=5).statistic


@pytest.mark.parametrize("statistic", [pkex.mmd, pkex.hsic])
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_errors_that_numpy_is_told_to_raise_are_not_raised(statistic, estimator):
    """Factors that underflow are 0, whatever np.seterr says."""

    def found():
        X, Z = np.random.default_rng(0).normal(size=(2, 40, 3))
        kernel = pkex.kernels.RBF(0.03)
        how = {"kernel": kernel, "estimator": estimator, "n_permutations": 9, "random_state": 0}
        result = statistic(X, Z, **how)
        bare = statistic(X, Z, kernel=kernel, estimator=estimator)  # computes `alone` late
        late = bare.univariate, bare.row_values, bare.component([0, 1])
        return result.values, result.null_values, result.univariate, *late

    expected = found()
    with np.errstate(all="raise"):
        for same, here in zip(expected, found(), strict=True):
            np.testing.assert_array_equal(here, same)


@pytest.mark.parametrize("kernel", [None, "median", Laplacian(3.0)], ids=repr)
@pytest.mark.parametrize("which", ["mmd", "hsic"])
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, which, kernel):
    """To the last bit: tasks are cut, and their results added, by sizes alone."""
    monkeypatch.setattr("pkex.statistics.attribution._LARGE", 0)
    monkeypatch.setattr("pkex.games.means._CELLS", 600)
    monkeypatch.setattr("pkex.statistics.low_rank._ROOTS", 2**14)
    monkeypatch.setattr("pkex.statistics.target_weights._PAIRS", 2**12)
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(2, 280, 7))
    Z[:, :2] += 0.5
    other = Z if which == "mmd" else X[:, 0] + X[:, 1] ** 2 + rng.normal(size=280)
    options = {"kernel": kernel, "n_permutations": 60, "random_state": 0}
    results = [getattr(pkex, which)(X, other, n_jobs=n_jobs, **options) for n_jobs in (1, 2, 3)]
    assert (results[0].test_p_values <= 0.1).any()
    names = (
        "values",
        "null_values",
        "univariate_values",
        "univariate_null_values",
        "rounding",
        "p_values",
    )
    for result in results[1:]:
        assert result.error_bound == results[0].error_bound
        for name in names:
            np.testing.assert_array_equal(getattr(result, name), getattr(results[0], name))


def test_a_call_of_a_few_milliseconds_stays_on_its_thread(monkeypatch):
    def refuse(*_):
        raise AssertionError("a thread was started")

    monkeypatch.setattr("pkex.games.threads._run_by_threads", refuse)
    X, Z = np.random.default_rng(0).normal(size=(2, 100, 20))
    pkex.mmd(X, Z, n_permutations=50, random_state=0, n_jobs=4)
    with pytest.raises(AssertionError, match="a thread was started"):
        pkex.mmd(np.tile(X, (4, 1)), Z, n_permutations=50, random_state=0, n_jobs=4)
