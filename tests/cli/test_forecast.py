"""How long a statistic takes is said before it starts, from samples of the same work."""

import time

import numpy as np
import pandas as pd
import pytest

import pkex
from pkex.cli import _statistics, main
from pkex.cli._statistics import advice
from pkex.statistics import duration
from pkex.statistics.duration import Rates, measure_rates
from tests._support.pairwise import pairwise

pytestmark = pytest.mark.frontend


class Clock:
    """A clock that only work moves: so many seconds for a pair, and for a permuted pair."""

    def __init__(self, monkeypatch, pair, permuted, units=None):
        self.now, self.pair, self.permuted, self.units = 0.0, pair, permuted, units
        self.rows = []
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def work(self, n_rows, permutations):
        self.rows.append(n_rows)
        units = min(n_rows, self.units or n_rows)
        self.now += self.pair * n_rows**2 + self.permuted * permutations * units**2


def true(clock, n_rows, block_size, permutations):
    """Return the seconds of all blocks, one after the other."""
    size = min(n_rows, block_size or n_rows)
    before = clock.now
    clock.work(size, permutations)
    return (clock.now - before) * n_rows / size


@pairwise(
    units=[None, 1536],
    permutations=[0, 99, 999],
    block_size=[None, 500, 2000, 10_000],
    n_rows=[3_000, 50_000, 400_000],
)
def test_the_forecast_is_right(n_rows, block_size, permutations, units, monkeypatch):
    clock = Clock(monkeypatch, 1e-7, 1e-9, units)
    rates = measure_rates(clock.work, n_rows, block_size, permutations, units)
    sampled = clock.now
    pairs = n_rows * min(n_rows, block_size or n_rows)
    assert max(clock.rows, default=0) ** 2 <= pairs / 16
    expected = true(clock, n_rows, block_size, permutations)
    assert sampled <= max(4.0, expected / 4.0)
    if rates is None:
        assert pairs < 16 * 256**2
    else:
        assert rates.seconds(n_rows, block_size) == pytest.approx(expected, rel=1e-6)


def test_a_sample_without_a_statistic_has_no_forecast():
    def constant(n_rows, permutations):
        raise ValueError("all columns are constant")

    assert measure_rates(constant, 100_000, None, 99) is None


def test_warnings_of_the_sample_are_not_said_twice():
    def warns(n_rows, permutations):
        import warnings

        warnings.warn("said with the work itself", stacklevel=1)

    assert measure_rates(warns, 5_000, None, 99) is not None


def test_what_to_do():
    rates = Rates(1e-7, 1e-6, 1536)
    assert advice(rates, 10_000, None) is None
    said = advice(rates, 400_000, None)
    assert said == "This will take about 4 hours: --block-size 2000 would take about 9 minutes."
    assert advice(rates, 400_000, 40_000).startswith(
        "This will take about 27 minutes: --block-size"
    )
    assert advice(rates, 400_000, 2000).endswith(
        "fewer --permutations or a smaller --block-size take less."
    )
    assert advice(Rates(1e-6, 0.0), 400_000, 2000).endswith(": a smaller --block-size takes less.")
    short = advice(Rates(5e-7, 4e-6, 1536), 12_000, None)  # blocks would take as long
    assert short.endswith(": fewer --permutations or a smaller --block-size take less.")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("a.csv", "b.csv"):
        frame = pd.DataFrame(rng.normal(size=(700, 2)), columns=["x", "y"])
        frame["kind"] = rng.choice(["u", "v"], size=700)
        frame.to_csv(name, index=False)


DRIFT = ["drift", "a.csv", "b.csv", "--permutations", "19"]
DEPEND = ["dependence", "a.csv", "--target", "y", "--permutations", "0"]


@pytest.mark.parametrize("command", [DRIFT, DEPEND, [*DRIFT, "--block-size", "600"]])
def test_the_commands_say_it_before_the_work(command, tables, monkeypatch, capsys):
    """The statistics are replaced: what comes with all rows is the work itself."""
    said, sizes = [], []
    monkeypatch.setattr(_statistics, "LONG", 0.0)
    monkeypatch.setattr(duration, "_START", 64)
    name = "mmd" if command[0] == "drift" else "hsic"
    real = getattr(pkex, name)

    def watched(X, Z, **options):
        sizes.append(len(X))
        said.append(capsys.readouterr().err)
        return real(X, Z, **options)

    monkeypatch.setattr(pkex, name, watched)
    assert main(command) in (0, 1)
    assert sizes[-1] == 700
    assert max(sizes[:-1]) < 700
    assert "This will take about" in said[-1]
    assert not any("This will take" in text for text in said[:-1])
    capsys.readouterr()
    sizes.clear()
    assert main([*command, "--quiet"]) in (0, 1)
    assert sizes == [700]  # nobody would read it
    assert capsys.readouterr().err == ""


def test_short_work_is_not_announced(tables, capsys):
    assert main(DRIFT) in (0, 1)
    assert "This will take" not in capsys.readouterr().err
