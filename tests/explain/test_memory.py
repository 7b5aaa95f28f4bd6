"""Memory of a call with many background rows is that of some blocks of work, and of the rows."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import pkex
from pkex.games.backend import game_class
from pkex.kernels import RBF

FEW, MANY = 100, 10_000
POINTS, COLUMNS = 100, 16
TABLE = 8 * MANY * COLUMNS  # bytes of the background
FACTORS = TABLE * POINTS  # and of its factors with all points, 128 MB, which no call may hold
MOST = 6 * 2**22 + 4 * TABLE  # six arrays of a block, of 4 MiB each, and copies of the background
KINDS = ("interventional", "product-of-marginals")


def explained(n_background, removal):
    """Explain a row with so many background rows."""
    rng = np.random.default_rng(0)
    expansion = pkex.KernelExpansion(
        rng.normal(size=(POINTS, COLUMNS)), rng.normal(size=POINTS), RBF(4.0)
    )
    background, rows = rng.normal(size=(n_background, COLUMNS)), rng.normal(size=(1, COLUMNS))
    return pkex.Explainer(expansion, background, removal=removal, n_jobs=1)(rows)


def peak(n_background, removal):
    """The most bytes that Python and NumPy hold at once, beyond those before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        explained(n_background, removal)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("removal", KINDS)
def test_arrays(removal, backend, monkeypatch):
    """Those of NumPy, on both backends."""
    monkeypatch.setenv("PKEX_BACKEND", "auto")
    if backend == "native" and game_class().__module__ != "pkex.games.native":
        pytest.skip("pkex was installed without the native kernel")
    monkeypatch.setenv("PKEX_BACKEND", backend)
    explained(FEW, removal)  # what is kept between calls is there
    assert peak(MANY, removal) - peak(FEW, removal) <= MOST < FACTORS / 4


SCRIPT = """
import resource, sys
sys.path.insert(0, {folder!r})
from test_memory import FEW, MANY, explained

unit = 1 if sys.platform == "darwin" else 1024
peaks = []
for n_background in (FEW, MANY):
    explained(n_background, {removal!r})
    peaks.append(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(peaks[1] - peaks[0])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no module resource")
@pytest.mark.parametrize("removal", KINDS)
def test_the_whole_process(removal, request):
    """With what the compiled module takes, which Python does not see."""
    script = SCRIPT.format(folder=str(request.path.parent), removal=removal)
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert int(found.stdout) <= MOST + 2**23 < FACTORS / 3  # an allocator takes some more


THREADS = """
import resource, sys
import numpy as np
import pkex

rng = np.random.default_rng(0)
points, weights = rng.normal(size=(5000, 200)), rng.normal(size=5000)
expansion = pkex.KernelExpansion(points, weights, pkex.kernels.RBF(20.0))
background, rows = rng.normal(size=(1000, 200)), rng.normal(size=(1, 200))
explainer = pkex.Explainer(expansion, background, n_jobs=int(sys.argv[1]))
explainer(rows)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no module resource")
def test_threads():
    """Threads hold little of their own: a large problem with eight takes what it takes with one."""
    peaks = []
    for n_jobs in ("1", "8"):
        command = [sys.executable, "-c", THREADS, n_jobs]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True).stdout))
    assert peaks[1] <= 1.5 * peaks[0]
