"""The kernel that is the same for all pairs of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import check_number
from pkex.kernels.algebra import Kernel
from pkex.kernels.derivatives import Gradient, Jet
from pkex.kernels.normal_form import Expansion, Summand

__all__ = ["Constant"]


@dataclass(frozen=True)
class Constant(Kernel):
    """The constant kernel, which does not depend on any column.

    Parameters
    ----------
    value : float, default 1.0
        Positive.

    See Also
    --------
    Scale : A kernel times a number.

    Examples
    --------
    >>> from pkex.kernels import RBF, Constant
    >>> (Constant(2.0) + RBF())([[0.0]], [[0.0]])
    array([[3.]])
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        value = check_number(self.value, "Constant value")
        if value <= 0.0:
            raise ValueError(f"Constant value must be positive, got {value!r}.")
        object.__setattr__(self, "value", value)

    @property
    def _constant(self) -> float:
        return self.value

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:  # noqa: ARG002
        return [Summand(self.value, ())]

    def gradient(self, x: Floats, z: Floats) -> Gradient:
        shape = np.broadcast_shapes(x.shape, z.shape)
        return Gradient(np.full(shape[:-1], self.value), np.zeros(shape))

    def jet(self, x: Floats) -> Jet:
        return self.gradient(x, x).extend(np.zeros((*x.shape, x.shape[1])))
