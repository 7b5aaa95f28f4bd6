"""Dask through joblib: the results of one process to the last bit, also when a worker is lost."""

from __future__ import annotations

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from numpy.testing import assert_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.svm import SVR

import pkex
from pkex.games import cluster, sources
from pkex.games.threads import run_in_order
from tests._support.asked import OF_PROCESSES, QUESTIONS, arrays_of
from tests._support.unchecked import unchecked

pytestmark = pytest.mark.cluster

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 12))
MODEL = SVR(C=10.0).fit(X, X[:, 0] + np.sin(X[:, 1] * X[:, 2]))


@pytest.fixture(autouse=True)
def _in_many_blocks(monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 2**17)


@pytest.fixture
def dask(client):
    with joblib.parallel_config(backend="dask"):
        yield client


@pytest.fixture
def counted(monkeypatch):
    """How often blocks went to the cluster."""
    calls = []
    send = cluster._run_by_dask

    def counting(run, tasks, client):
        calls.append(len(tasks))
        return send(run, tasks, client)

    monkeypatch.setattr(cluster, "_run_by_dask", counting)
    return calls


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("removal", ["product-of-marginals", "interventional", "neutral"])
def test_values_are_those_of_one_process(dask, counted, monkeypatch, removal, backend):
    monkeypatch.setenv("PKEX_BACKEND", backend)
    background = X[:20] if removal == "interventional" else None
    explainer = pkex.Explainer(MODEL, background, removal=removal)
    rows = X[:60] if backend == "numpy" else X
    found = explainer(rows)
    assert counted
    with joblib.parallel_config(backend="threading", n_jobs=1):
        expected = pkex.Explainer(MODEL, background, removal=removal, n_jobs=1)(rows)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    np.testing.assert_array_equal(found.error_bound, expected.error_bound)


@pytest.mark.filterwarnings("ignore")  # of few digits and long work
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question(dask, monkeypatch, question):
    monkeypatch.setattr(sources, "_BLOCK", 400)
    small = pkex.KernelExpansion(X[:23, :5], X[:23, 5], pkex.kernels.RBF(1.3))
    found = arrays_of(QUESTIONS[question](pkex.Explainer(small, X[30:40, :5]), X[:7, :5]))
    with joblib.parallel_config(backend="threading", n_jobs=1):
        explainer = pkex.Explainer(small, X[30:40, :5], n_jobs=1)
        expected = arrays_of(QUESTIONS[question](explainer, X[:7, :5]))
    assert_equal(found, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("question", OF_PROCESSES)
def test_every_question_of_a_process(dask, counted, question):
    kernel = gp.RBF(2.0)
    process = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)
    process.fit(X[:23, :5], X[:23, 5])
    found = arrays_of(OF_PROCESSES[question](pkex.Explainer(process, X[30:40, :5]), X[:7, :5]))
    with joblib.parallel_config(backend="threading", n_jobs=1):
        explainer = pkex.Explainer(process, X[30:40, :5], n_jobs=1)
        expected = arrays_of(OF_PROCESSES[question](explainer, X[:7, :5]))
    assert_equal(found, expected)


@pytest.mark.parametrize("block_size", [None, 100])
def test_mmd_and_hsic_with_permutations(dask, counted, monkeypatch, block_size):
    monkeypatch.setattr("pkex.statistics.attribution._LARGE", 0)  # small calls stay here
    if block_size is not None:  # whose own blocks are cut by the workers
        monkeypatch.setattr(sources, "_BLOCK", 2**22)
    how = {"n_permutations": 99, "random_state": 0, "block_size": block_size}
    y = X[:, 0] + 0.1 * X[:, 3]
    found = [pkex.mmd(X[:300], X[300:] + 0.1, **how), pkex.hsic(X, y, **how)]
    assert counted
    with joblib.parallel_config(backend="threading", n_jobs=1):
        one = {"n_jobs": 1} | how
        expected = [pkex.mmd(X[:300], X[300:] + 0.1, **one), pkex.hsic(X, y, **one)]
    for mine, other in zip(found, expected, strict=True):
        assert mine.statistic == other.statistic
        assert mine.p_value == other.p_value
        np.testing.assert_array_equal(mine.values, other.values)
        np.testing.assert_array_equal(mine.p_values, other.p_values)
        np.testing.assert_array_equal(mine.univariate, other.univariate)
        np.testing.assert_array_equal(mine.null_values, other.null_values)
        np.testing.assert_array_equal(mine.univariate_null_values, other.univariate_null_values)
        np.testing.assert_array_equal(mine.member_null_values, other.member_null_values)


def test_drift_is_detected_as_in_one_process(dask, counted, monkeypatch):
    monkeypatch.setattr("pkex.statistics.attribution._LARGE", 0)
    drift = pkex.MMDDrift(n_permutations=99, random_state=0).fit(X[:300])
    found = drift.detect(X[300:] + 0.1)
    assert counted
    with joblib.parallel_config(backend="threading", n_jobs=1):
        assert drift.detect(X[300:] + 0.1) == found


def slow(task):
    time.sleep(0.05)
    return task, os.getpid()


def test_all_workers_have_work_from_the_start(dask):
    """Left alone, Dask waits a while before it gives the second task to another worker."""
    [first, second] = run_in_order(slow, [0, 1], -1)
    assert first[1] != second[1]


def first_waits(task):
    time.sleep(1.0 if task == 0 else 0.01)
    return time.time()


def test_a_long_task_does_not_keep_others_waiting(dask):
    ends = list(run_in_order(first_waits, list(range(40)), -1))
    assert sum(end < ends[0] for end in ends) > 10  # than are sent at first


def test_a_killed_worker_loses_nothing(dask):
    """One of two workers is killed while blocks are under way."""
    client = dask
    pids = client.run(os.getpid)
    victim = next(iter(pids.values()))

    def kill():
        time.sleep(0.6)
        os.kill(victim, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    found = list(run_in_order(slow, list(range(60)), -1))
    thread.join()
    assert [task for task, _ in found] == list(range(60))
    client.wait_for_workers(2)


def test_values_are_whole_after_a_worker_was_killed(dask):
    explainer = pkex.Explainer(MODEL, X[:100])
    victim = next(iter(dask.run(os.getpid).values()))
    timer = threading.Timer(0.5, lambda: os.kill(victim, signal.SIGKILL))
    timer.start()
    found = explainer(X)
    timer.join()
    expected = pkex.Explainer(MODEL, X[:100], n_jobs=1)
    with joblib.parallel_config(backend="threading", n_jobs=1):
        np.testing.assert_array_equal(found.values, expected(X).values)
    dask.wait_for_workers(2)


def test_data_that_all_workers_lost_are_sent_again(dask, monkeypatch):
    """The first attempt fails as Dask fails when all copies of the points are gone."""
    from distributed.client import FutureCancelledError

    batches, calls = cluster._batches, []

    def lossy(run, tasks, client):
        calls.append(len(tasks))
        for number, results in enumerate(batches(run, tasks, client)):
            if len(calls) < 3 and number == 2:
                raise FutureCancelledError(key="k", reason="lost")
            yield results

    monkeypatch.setattr(cluster, "_batches", lossy)
    found = list(run_in_order(slow, list(range(12)), -1))
    assert [task for task, _ in found] == list(range(12))
    assert len(calls) == 3
    assert calls[0] == 12
    assert calls[1] < 12

    def hopeless(run, tasks, client):
        raise FutureCancelledError(key="k", reason="lost")
        yield

    monkeypatch.setattr(cluster, "_batches", hopeless)
    with pytest.raises(RuntimeError, match="workers of the Dask cluster were lost 4 times"):
        list(run_in_order(slow, list(range(12)), -1))


def failing(task):
    raise ZeroDivisionError(f"task {task}")


def test_an_error_of_a_block_is_raised_here(dask):
    with pytest.raises(ZeroDivisionError, match="task 0"):
        list(run_in_order(failing, list(range(5)), -1))


def test_leaving_early_cancels_what_is_under_way(dask):
    results = run_in_order(slow, list(range(400)), -1)
    next(results)
    unchecked(results).close()
    end = time.monotonic() + 20.0
    while any(dask.processing().values()):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_interrupt_leaves_a_cluster_that_can_be_used_again(dask):
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(run_in_order(slow, list(range(4000)), -1))
    timer.join()
    assert [task for task, _ in run_in_order(slow, [1, 2, 3], -1)] == [1, 2, 3]


def nested(task):
    with joblib.parallel_config(backend="threading", n_jobs=4):
        return [threading.get_ident(), *run_in_order(lambda _: threading.get_ident(), [1, 2], -1)]


def test_inside_a_worker_there_is_one_thread_and_no_submission(client):
    """In a task of Dask joblib's nesting level is 0."""
    found = client.submit(nested, 0).result()
    assert len(set(found)) == 1
    with joblib.parallel_config(backend="dask"):
        for idents in run_in_order(nested, [0, 1, 2], -1):
            assert len(set(idents)) == 1


def test_one_job_stays_here(dask, counted):
    assert [os.getpid()] * 3 == list(run_in_order(lambda _: os.getpid(), [1, 2, 3], 1))
    assert not counted


def test_progress(dask, capsys, monkeypatch):
    monkeypatch.setattr("pkex._util.progress._DELAY", 0.0)
    pkex.Explainer(MODEL, X[:20])(X, progress=True)
    assert "100%" in capsys.readouterr().err
