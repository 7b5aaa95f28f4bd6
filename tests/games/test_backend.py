"""Which backend runs, and what is said about it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pkex
from pkex._util.lazy import lazy
from pkex.games import backend, blas, numpy_backend, plan, sources
from pkex.statistics import attribution
from tests._support.unchecked import unchecked


def test_numpy_can_be_forced(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    assert backend.game_class() is numpy_backend.NumPyGame
    assert pkex.show_config("dicts")["backend"] == "numpy"


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "gpu")
    with pytest.raises(ValueError, match="PKEX_BACKEND is 'gpu'"):
        backend.game_class()


def in_a_new_process(code, **environment):
    """Run code with the time limit of a safety net, and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={k: v for k, v in os.environ.items() if k != "PKEX_BACKEND"} | environment,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# As if the native kernel had not been compiled: its package is there, its module is not found.
WITHOUT_A_COMPILER = """
import sys, time
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    tries = 0
    def find_spec(self, name, path=None, target=None):
        if name == "pkex.games.native._kernel":
            Missing.tries += 1
            time.sleep(0.05)  # so that all threads come while the first import is under way
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
MANY_THREADS = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np, pkex
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(2, 40, 3))
f = pkex.KernelExpansion(rng.normal(size=(30, 3)), rng.normal(size=30), pkex.kernels.RBF())
calls = [
    lambda: pkex.Explainer(f, n_jobs=2)(X).values,
    lambda: pkex.Explainer(f, Z, n_jobs=2)(X).values,
    lambda: pkex.mmd(X, Z, n_permutations=9, n_jobs=2).values,
]
with ThreadPoolExecutor(16) as pool:
    futures = [pool.submit(call) for _ in range(20) for call in calls]
    for i, future in enumerate(futures):
        assert np.array_equal(future.result(), futures[i % 3].result())
"""


def test_without_a_compiler_threads_do_not_disturb_each_other():
    code = WITHOUT_A_COMPILER + MANY_THREADS
    code += "print(pkex.show_config('dicts')['backend'], Missing.tries)"
    assert in_a_new_process(code) == "numpy 1\n"


def test_a_missing_native_kernel_is_told_only_when_asked_for():
    code = WITHOUT_A_COMPILER + (
        "import os\nfrom pkex.games import backend, numpy_backend\n"
        "assert backend.game_class() is numpy_backend.NumPyGame\n"
        "os.environ['PKEX_BACKEND'] = 'native'\n"
        "try: backend.game_class()\n"
        "except ImportError as error: print(error, '|', error.__cause__)"
    )
    found = in_a_new_process(code)
    assert re.fullmatch(r".*installed without it.*C\+\+17.*\| No module named .*_kernel'\n", found)


def test_numpy_does_not_load_the_native_kernel():
    code = "import sys, pkex; pkex.show_config('dicts'); print('pkex.games.native' in sys.modules)"
    assert in_a_new_process(code, PKEX_BACKEND="numpy") == "False\n"


@pytest.mark.parametrize("background", [None, 20])
def test_the_backend_is_chosen_once_for_a_call(background, monkeypatch):
    """Not in its threads, where another thread of the user may be changing the environment."""
    rng = np.random.default_rng(0)
    f = pkex.KernelExpansion(rng.normal(size=(30, 3)), np.ones(30), pkex.kernels.RBF())
    rows = None if background is None else rng.normal(size=(background, 3))
    explain = pkex.Explainer(f, rows, n_jobs=2)
    asked: Any = []
    chosen = backend.game_class()
    for module in (plan, attribution):
        monkeypatch.setattr(module, "game_class", lambda: asked.append(1) or chosen)
    monkeypatch.setattr(sources, "_BLOCK", 300)  # so that there are many blocks
    explain(rng.normal(size=(40, 3)))
    assert len(asked) == 1
    asked.clear()
    x = rng.normal(size=(40, 3))
    found = pkex.mmd(x[:20], x[20:] + 1.0, n_jobs=2, n_permutations=19, random_state=0)
    assert found.n_test_rows
    assert len(asked) == 1


FORKS = """
import os, threading
import numpy as np, pkex
from pkex.games.blas import single_blas
rng = np.random.default_rng(0)
X = rng.normal(size=(2, 3))
f = pkex.KernelExpansion(rng.normal(size=(5, 3)), np.ones(5), pkex.kernels.RBF())
explain = pkex.Explainer(f, n_jobs=1)
expected = explain(X).values
stop = threading.Event()

def work():
    while not stop.is_set():
        with single_blas():
            explain(X)

def forked(child):
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def child():
    with single_blas():
        assert np.array_equal(explain(X).values, expected)
    os._exit(0)
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


@needs_fork
def test_a_process_can_be_forked_while_threads_explain():
    code = FORKS + (
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "codes = {forked(child) for _ in range(200)}\n"
        "stop.set()\n"
        "print(codes)"
    )
    assert in_a_new_process(code, PYTHONWARNINGS="ignore") == "{0}\n"


@needs_fork
def test_a_forked_process_does_not_inherit_the_lock_of_a_thread():
    """A fork waits for the lock; BLAS is limited by a thread that the child does not have."""
    code = FORKS + (
        "from pkex.games import blas\n"
        "held = threading.Event()\n"
        "def hold():\n"
        "    with single_blas():\n"
        "        with blas._lock:\n"
        "            held.set()\n"
        "            stop.wait(1)\n"
        "        stop.wait()\n"
        "thread = threading.Thread(target=hold)\n"
        "thread.start()\n"
        "held.wait()\n"
        "def unlimited():\n"
        "    assert blas._lock.acquire(timeout=30)\n"
        "    blas._lock.release()\n"
        "    with single_blas():\n"
        "        assert blas._users == 1\n"
        "    assert blas._limits is None\n"
        "    child()\n"
        "print(forked(unlimited), blas._lock.locked())\n"
        "stop.set()\n"
    )
    assert in_a_new_process(code, PYTHONWARNINGS="ignore") == "0 False\n"


def test_libraries_are_looked_for_once(monkeypatch):
    """The system's loader has a lock meanwhile, which a process that is forked then would keep."""
    monkeypatch.setattr(blas, "_libraries", None)
    looked: Any = []
    real = unchecked(blas).ThreadpoolController
    monkeypatch.setattr(
        blas,
        "ThreadpoolController",
        lambda: looked.append(blas._lock.locked()) or real(),
    )
    for _ in range(3):
        with blas.single_blas():
            limits = {lib["num_threads"] for lib in real().info() if lib["user_api"] == "blas"}
            assert limits <= {1}
    assert looked == [True]  # with the lock, which a fork waits for


@needs_fork
def test_a_fork_inside_a_call_leaves_the_call_in_order():
    code = FORKS + (
        "from pkex.games import blas\n"
        "def inside():\n"
        "    with single_blas():\n"
        "        pid = os.fork()\n"
        "    assert (blas._users, blas._limits) == (0, None)\n"
        "    os._exit(0) if pid == 0 else os._exit(os.waitpid(pid, 0)[1])\n"
        "print(forked(inside))"
    )
    assert in_a_new_process(code, PYTHONWARNINGS="ignore") == "0\n"


def test_properties_that_are_kept_have_no_lock():
    """One object's value can be computed while another thread computes that of another object."""
    started, raise_if_cancelled = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, wait):
            self.wait = wait

        @lazy
        def value(self):
            if self.wait:
                started.set()
                assert raise_if_cancelled.wait(60)
            return object()

    first, second = Slow(True), Slow(False)
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    assert started.wait(60)
    found = []
    other = threading.Thread(target=lambda: found.append(second.value), daemon=True)
    other.start()
    other.join(10)
    raise_if_cancelled.set()
    thread.join()
    assert found == [second.value]
    for path in Path(pkex.__file__).parent.rglob("*.py"):
        assert path.name == "lazy.py" or "cached_property" not in path.read_text("utf-8"), path


def compiled_for_x86():
    return "v2" in pkex.show_config("dicts")["instruction sets built"].split(", ")


def config_of_a_new_process(**environment):
    code = "import pkex\ntry: pkex.show_config()\nexcept ValueError as error: print(error)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return result.stdout


@pytest.mark.skipif(not compiled_for_x86(), reason="needs the native kernel, on x86-64")
def test_the_instruction_set_can_be_lowered_and_a_wrong_name_is_refused():
    """It is read once, hence the new processes."""
    assert re.search(r"^instruction set +v2$", config_of_a_new_process(PKEX_ISA="v2"), re.M)
    refused = config_of_a_new_process(PKEX_ISA="avx2")
    assert refused == "PKEX_ISA must be v2, v3 or v4, got 'avx2'.\n"


def test_the_configuration_is_printed(capsys):
    assert pkex.show_config() is None
    printed = capsys.readouterr().out
    for name in ("pkex", "backend", "compiler", "instruction set", "numpy"):
        assert name in printed
    with pytest.raises(ValueError, match="mode must be"):
        pkex.show_config(unchecked("yaml"))


# Where tests run in the background, interrupts are ignored, and what they start inherits that.
INTERRUPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
LONG = """
import numpy as np, pkex
rng = np.random.default_rng(0)
f = pkex.KernelExpansion(rng.normal(size=(1000, 100)), np.ones(1000), pkex.kernels.RBF(0.1))
background = rng.normal(size=(500, 100)) if {general} else None
explain = pkex.Explainer(f, background, n_jobs={n_jobs})
print("started", flush=True)
explain(rng.normal(size=(200000, 100)))
"""
STATISTICS = """
import numpy as np, pkex
X, Z = np.random.default_rng(0).normal(size=(2, 20000, 200))
print("started", flush=True)
pkex.mmd(X, Z, n_permutations=1000, n_jobs={n_jobs})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send to a process")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "code",
    [LONG.replace("{general}", "False"), LONG.replace("{general}", "True"), STATISTICS],
    ids=["neutral", "interventional", "statistics"],
)
def test_ctrl_c_stops_a_long_call(code, n_jobs):
    """It takes minutes when left alone; an interrupt ends it between two blocks."""
    call = [sys.executable, "-c", INTERRUPT + code.format(n_jobs=n_jobs)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"started\n"
        time.sleep(0.5)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]
        print(f"stopped after {time.perf_counter() - start:.2f} s")
    assert b"KeyboardInterrupt" in errors
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize(
    ("name", "heavy"),
    [
        # its kernels come from a package that also has the median heuristic, which needs it
        ("KernelExpansion", "scipy"),
        ("Explainer", "pkex.explain.posterior"),  # which needs scipy.linalg
        ("Explainer", "pandas"),
        ("Explanation", "matplotlib"),
    ],
)
def test_what_is_heavy_is_imported_when_it_is_needed(name, heavy):
    code = f"import sys, pkex; pkex.{name}; print({heavy!r} in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
