"""The median distance of a column: found without all distances, compared with all distances."""

from __future__ import annotations

import numpy as np
import pytest

from pkex.kernels.bandwidth import median_distance, median_distances

rng = np.random.default_rng(0)
COLUMNS = {
    "normal": lambda n: rng.normal(size=n),
    "three values": lambda n: rng.integers(0, 3, n).astype(float),
    "nearly constant": lambda n: np.where(rng.random(n) < 0.1, 1.0, 0.0),
    "heavy tails": lambda n: rng.standard_cauchy(n) * 10.0 ** rng.integers(-300, 300),
    "far from 0": lambda n: np.round(rng.normal(size=n), 1) + 1e6,
    "two clusters": lambda n: rng.normal(size=n) + np.where(np.arange(n) % 2, 100.0, 0.0),
    "an outlier": lambda n: np.append(rng.normal(size=n - 1), 1e9),
    "equal steps": lambda n: np.arange(float(n)),
    "constant": lambda n: np.full(n, 3.0),
    "beyond the largest number": lambda n: np.where(np.arange(n) % 2, 1.5e308, -1.5e308),
    "subnormal": lambda n: 5e-324 * rng.integers(0, 3, n),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_median_is_that_of_all_distances(kind):
    for n in [*range(1, 12), 60, 255, 300, 999]:
        column = COLUMNS[kind](n)[:, None]
        expected = median_distance(column, 1000, None)
        np.testing.assert_allclose(median_distances(column, 1000, None), [expected], rtol=1e-12)
