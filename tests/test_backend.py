"""Which backend runs, and what is said about it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

import pkex
from pkex import backend, twin


def test_the_twin_can_be_forced(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    assert backend.game_class() is twin.Game
    assert pkex.show_config("dicts")["backend"] == "numpy"


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "gpu")
    with pytest.raises(ValueError, match="PKEX_BACKEND is 'gpu'"):
        backend.game_class()


def test_a_missing_native_kernel_is_told_only_when_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "pkex.native", None)  # as if it had not been compiled
    monkeypatch.setenv("PKEX_BACKEND", "native")
    with pytest.raises(ImportError, match=r"installed without it.*C\+\+17"):
        backend.game_class()
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    assert backend.game_class() is twin.Game


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
        pkex.show_config("yaml")


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
    call = [sys.executable, "-c", code.format(n_jobs=n_jobs)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"started\n"
        time.sleep(0.5)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]
        print(f"stopped after {time.perf_counter() - start:.2f} s")
    assert b"KeyboardInterrupt" in errors
    assert process.returncode == -signal.SIGINT


def test_importing_pkex_imports_nothing_optional():
    """Heavy and optional packages are imported when used."""
    code = (
        "import sys, pkex; heavy = {'matplotlib', 'pandas', 'shap', 'shapiq', 'tqdm', "
        "'sklearn.svm'}; print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
