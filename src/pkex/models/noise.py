"""Whether rounding hides what a model says: coefficients so large that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex.models.expansion import KernelExpansion

__all__ = ["EIGHT_ROUNDINGS", "FEW_DIGITS", "Noise"]


EIGHT_ROUNDINGS = 8.0 * UNIT
"""What a sum may be off by, as a share of the sizes of its terms, before anybody is warned: a term
goes through a few roundings, and these rarely all have the same sign."""

FEW_DIGITS = 4.0
"""A warning says how many digits are correct where they are fewer than tables show of a number."""

_NOTICED = 1e-6  # of the standard deviation of the predictions
_CONSTANT = 2.0**-40  # predictions that vary by less than this share of their size do not vary
_TINY = 1e-290  # noise below is that of numbers that underflow
_SIZES = 2**21  # entries of a kernel matrix held at once


class Noise:
    """What rounding makes of a model's predictions, beside how much these vary.

    Parameters
    ----------
    expansion : KernelExpansion
    data : sequence of arrays or CSR arrays
        For each part of the expansion the rows that predictions vary over.
    """

    def __init__(self, expansion: KernelExpansion, data: Sequence[Any]) -> None:
        self.expansion, self.data = expansion, data

    def describe(
        self, sizes: Floats, residual: float, missed: Floats | None, prepared: list[Any]
    ) -> str | None:
        """Return a warning when rounding is over a millionth of what the predictions vary by.

        Rounding shows in what sums miss, `residual` at most, unless a tolerance lets it be larger
        (then `missed` is None), or not, where it cancels; so eight roundings of the sum of
        ``|alpha_i k(x, x_i)|`` count as well, which `sizes` are not below.
        """
        if self._is_constant:
            return None  # there is nothing that rounding could hide
        largest = sizes.item() if sizes.size == 1 else float(sizes.max(initial=0.0))
        shown = 0.0 if missed is None else residual
        if max(shown, EIGHT_ROUNDINGS * largest) <= self._surely_fine:
            return None
        noise = EIGHT_ROUNDINGS * self._sizes(prepared).max(axis=0, initial=0.0)
        if missed is not None:
            noise = np.maximum(noise, np.abs(missed).max(axis=0, initial=0.0))
        noticed = np.flatnonzero(~(noise <= np.maximum(_NOTICED * self._spread_of_100, _TINY)))
        if not noticed.size:
            return None
        which = noticed[0]
        return (
            "the coefficients of this model are so large that rounding errors are visible: its "
            f"predictions and values are uncertain by about {noise[which]:.1e}, and the standard "
            f"deviation of its predictions is {self._spread_of_100[which]:.2g}. "
            "explanation.error_bound has a bound for each row. More regularisation, a narrower "
            "kernel or removing duplicate rows makes the coefficients smaller."
        )

    def _sizes(self, prepared: list[Any]) -> Floats:
        """Return the sums of ``|alpha_i k(x, x_i)|``, shape (n_rows, n_outputs)."""
        n_rows = int(prepared[0].shape[0])
        total = np.zeros((n_rows, self.expansion.n_outputs))
        for part, rows in zip(self.expansion.parts, prepared, strict=True):
            alpha = np.abs(part.alpha)
            step = max(1, _SIZES // part.shape[0])
            for start in range(0, n_rows, step):
                block = slice(start, start + step)
                total[block] += np.abs(part.gram(rows[block])) @ alpha
        return total

    @lazy
    def _is_constant(self) -> bool:
        """Whether no column takes part in any kernel."""
        parts = self.expansion.parts
        forms = [part.form for part in parts]
        return not any(form.powers or any(t.leaves for t in form.terms) for form in forms)

    @lazy
    def _surely_fine(self) -> float:
        """Noise below which no warning is needed, with a margin, so that a few rows suffice."""
        return float(1e-3 * _NOTICED * self.spread(10).min())

    @lazy
    def _spread_of_100(self) -> Floats:
        return self.spread(100)

    def spread(self, count: int) -> Floats:
        """Return the standard deviation of the predictions over some data, for each output.

        These are rows of the background or the points; where the predictions do not vary, it is
        their size. In a sum of expansions each part has its data, and the largest counts.
        """
        every = []
        for part, rows in zip(self.expansion.parts, self.data, strict=True):
            some = rows[:: -(-rows.shape[0] // count)]
            predictions = part.gram(some) @ part.alpha + part.intercepts
            size = np.abs(predictions).max(axis=0)
            unit = np.where(size > 0.0, size, 1.0)  # so that squares do not overflow
            spread = unit * (predictions / unit).std(axis=0)
            every.append(np.where(spread > _CONSTANT * size, spread, size))
        largest: Floats = np.max(every, axis=0)
        return largest
