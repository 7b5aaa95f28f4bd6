"""Three distances of the rows of two tables at once: what a family of kernels is made of.

SciPy has them one by one; the compiled loop reads the tables once for all three.
"""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats
from pkex.games.backend import native

__all__ = ["measure_distances"]


def measure_distances(x: Floats, z: Floats, scales: Floats, out: Floats | None = None) -> Floats:
    """Return ``sum_j (d_j / a_j)^2``, ``sum_j |d_j| / b_j`` and ``sum_j (d_j / c_j)^2``.

    Parameters
    ----------
    x : array of shape (rows, columns)
    z : array of shape (points, columns)
    scales : array of shape (3, columns)
        a, b and c; d are the differences of two rows.
    out : array of shape (3, rows, points), optional
        Where to write them.

    Returns
    -------
    array of shape (3, rows, points)

    Examples
    --------
    >>> import numpy as np
    >>> from pkex.games.distances import measure_distances
    >>> measure_distances(np.array([[1.0, 4.0]]), np.zeros((1, 2)), np.ones((3, 2)))[:, 0, 0]
    array([17.,  5., 17.])
    """
    distances = np.empty((3, len(x), len(z))) if out is None else out
    compiled = native()
    with np.errstate(over="ignore", divide="ignore"):
        inverse = 1.0 / scales
    limits = np.finfo(np.float64)
    if compiled is not None and ((inverse >= limits.tiny) & (inverse <= limits.max)).all():
        compiled.measure_distances(x, np.asfortranarray(z), inverse, distances)
        return distances
    from scipy.spatial.distance import cdist

    a, b, c = scales
    distances[0], distances[2] = (cdist(x / s, z / s, "sqeuclidean") for s in (a, c))
    distances[1] = cdist(x / b, z / b, "cityblock")
    return distances
