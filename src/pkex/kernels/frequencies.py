"""`InverseFrequency`: the kernel of a column of categories whose MMD is the chi-squared statistic.

With ``k(a, b) = [a = b] / pi_a``, and p and q the frequencies of the categories in two samples of n
and m rows, the biased MMD^2 is ``sum_a (p_a - q_a)^2 / pi_a``. Where ``pi`` are the frequencies in
both samples together, that is ``1/n + 1/m`` times Pearson's chi-squared statistic of the table of
counts: of the expected counts ``n pi_a`` and ``m pi_a`` the observed ones differ by
``n m / (n + m) (p_a - q_a)`` each. A rare category counts as much as a frequent one, while a
`Categorical` factor nearly overlooks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.leaves import ColumnKernel

__all__ = ["InverseFrequency", "inverse_frequencies"]


@dataclass(frozen=True, repr=False)
class InverseFrequency(ColumnKernel):
    """One over the frequency of a category where two are equal, else 0; for codes 0, 1, ...

    Parameters
    ----------
    rates : tuple of tuples of float
        For each column one over the frequencies of its categories.
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    >>> InverseFrequency(((2.0, 4.0, 4.0),))([[0.0], [1.0]], [[1.0]])
    array([[0.],
           [4.]])
    """

    rates: Sequence[Sequence[float]]

    def factors(self, x: Floats, z: Floats) -> Floats:
        """Return the factors of all columns."""
        result = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(z)))
        for column, rates in enumerate(self.rates):
            left, right = x[..., column], z[..., column]
            known = np.asarray(rates)[left.astype(np.intp)]
            np.multiply(known, left == right, out=result[..., column])
        return result


def inverse_frequencies(codes: Floats) -> tuple[float, ...]:
    """Return one over the frequencies of the codes 0, 1, ... of a column.

    >>> inverse_frequencies(np.array([0.0, 1.0, 0.0, 2.0]))
    (2.0, 4.0, 4.0)
    """
    counts = np.bincount(codes.astype(np.intp))
    return tuple((len(codes) / np.maximum(counts, 1)).tolist())
