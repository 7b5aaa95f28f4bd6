"""The joblib backends of Ray and Spark: no more is promised than right results.

Blocks are the same wherever they are done, and are added here in their order, so that the results
are those of one process to the last bit.
"""

from __future__ import annotations

import os
import sys

import joblib
import numpy as np
import pytest
from sklearn.svm import SVR

import pkex
from pkex.games import cluster, sources

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]  # theirs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6))
Y = X[:, 0] + np.sin(X[:, 1] * X[:, 2])
MODEL = SVR(C=10.0).fit(X, Y)


@pytest.fixture(scope="module")
def ray():
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield "ray"
    ray.shutdown()


@pytest.fixture(scope="module")
def spark():
    from joblibspark import register_spark
    from pyspark.sql import SparkSession

    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    started = session.getOrCreate()
    register_spark()
    yield "spark"
    started.stop()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name)
        else:
            os.environ[name] = value


@pytest.fixture(params=["ray", "spark"])
def backend(request, monkeypatch):
    """Inside of the backend, with small blocks, so that there are several."""
    monkeypatch.setattr(sources, "_BLOCK", 2**15)
    monkeypatch.setattr("pkex.statistics.attribution._LARGE", 0)  # small calls stay here
    sent = []
    send = cluster._run_by_joblib

    def counting(run, tasks, n_jobs):
        sent.append(len(tasks))
        return send(run, tasks, n_jobs)

    monkeypatch.setattr(cluster, "_run_by_joblib", counting)
    with joblib.parallel_config(backend=request.getfixturevalue(request.param), n_jobs=2):
        yield sent


def here(compute):
    """What one process and one thread gives."""
    with joblib.parallel_config(backend="threading", n_jobs=1):
        return compute(n_jobs=1)


def test_values_and_interactions(backend):
    def values(**how):
        return pkex.Explainer(MODEL, X[:20], **how)(X)

    def pairs(**how):
        return pkex.Explainer(MODEL, **how).interactions(X[:60])

    found, together = values(), pairs()
    assert backend
    expected, others = here(values), here(pairs)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.error_bound, expected.error_bound)
    np.testing.assert_array_equal(together.pairs, others.pairs)


@pytest.mark.parametrize("name", ["mmd", "hsic"])
def test_statistics_with_p_values(backend, name):
    def statistic(**how):
        how |= {"n_permutations": 49, "random_state": 0}
        if name == "mmd":
            return pkex.mmd(X[:100], X[100:] + 0.3, **how)
        return pkex.hsic(X, Y, **how)

    found = statistic()
    assert backend
    expected = here(statistic)
    assert found.statistic == expected.statistic
    assert found.p_value == expected.p_value
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.p_values, expected.p_values)
    np.testing.assert_array_equal(found.univariate, expected.univariate)
