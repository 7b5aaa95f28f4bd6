"""Derivatives of kernels, and the rules for sums and products.

`Gradient` is a kernel with its derivatives by the columns of the first argument, for pairs of rows.
`Jet` is a kernel at pairs of equal rows, with the derivatives by both arguments: the covariance of
the derivatives of a Gaussian process is ``d^2 k(x, z) / dx_j dz_l`` at z = x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pkex._util.types import Floats
from pkex.kernels.messages import no_derivative

__all__ = ["Differentiable", "Gradient", "Jet", "differentiate_product", "place_columns"]


class Gradient(NamedTuple):
    """A kernel and its slopes, of shapes (...) and (..., n_columns)."""

    worth: Floats
    slopes: Floats

    def scale(self, factor: float) -> Gradient:
        """Return the derivatives of the kernel times a number."""
        return Gradient(factor * self.worth, factor * self.slopes)

    def plus(self, other: Gradient) -> Gradient:
        """Return the derivatives of the sum of two kernels."""
        return Gradient(self.worth + other.worth, self.slopes + other.slopes)

    def times(self, other: Gradient) -> Gradient:
        """Return the derivatives of the product of two kernels."""
        slopes = self.slopes * other.worth[..., None] + self.worth[..., None] * other.slopes
        return Gradient(self.worth * other.worth, slopes)

    def extend(self, mixed: Floats) -> Jet:
        """Return the same with second derivatives."""
        return Jet(self.worth, self.slopes, mixed)


class Jet(NamedTuple):
    """A kernel of rows with themselves, its slopes by one argument, and by one of each."""

    worth: Floats
    slopes: Floats
    mixed: Floats

    def scale(self, factor: float) -> Jet:
        """Return the derivatives of the kernel times a number."""
        return Jet(factor * self.worth, factor * self.slopes, factor * self.mixed)

    def plus(self, other: Jet) -> Jet:
        """Return the derivatives of the sum of two kernels."""
        return Jet(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def times(self, other: Jet) -> Jet:
        """Return the derivatives of the product of two kernels.

        Kernels are symmetric, so slopes by both arguments agree where the arguments are equal.
        """
        first, second = Gradient(*self[:2]), Gradient(*other[:2])
        crossed = self.slopes[:, :, None] * other.slopes[:, None, :]
        mixed = self.mixed * other.worth[:, None, None] + self.worth[:, None, None] * other.mixed
        return first.times(second).extend(mixed + crossed + crossed.transpose(0, 2, 1))


class Differentiable:
    """Derivatives of any kernel: they raise an error unless a kernel overrides these methods."""

    def gradient(self, x: Floats, z: Floats) -> Gradient:  # noqa: ARG002
        """Return the kernel and its derivative by every column of `x`, elementwise.

        Parameters
        ----------
        x, z : array of shape (..., n_columns)
            Values that broadcast, columns along the last axis.

        Returns
        -------
        Gradient
            `worth`, of shape (...), and `slopes`, of shape (..., n_columns); NaN where the kernel
            has no derivative, as at the kink of a Laplacian.

        Raises
        ------
        UnsupportedModelError
            When the kernel has no derivatives, such as `Categorical`.

        See Also
        --------
        jet : The second derivative that the variance of a gradient needs.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import RBF
        >>> worth, slopes = RBF().gradient(np.array([0.0, 0.0]), np.array([1.0, 1.0]))
        >>> slopes.round(4)
        array([0.3679, 0.3679])
        """
        raise no_derivative(self)

    def jet(self, x: Floats) -> Jet:  # noqa: ARG002
        """Return the kernel of rows with themselves, and its derivatives by both arguments.

        Parameters
        ----------
        x : array of shape (n_rows, n_columns)
            The rows.

        Returns
        -------
        Jet
            `worth`, of shape (n_rows,), `slopes` by one argument, of shape (n_rows, n_columns),
            and `mixed`, the second derivatives by a column of each argument, of shape
            (n_rows, n_columns, n_columns): the prior covariance of the gradient.

        Raises
        ------
        UnsupportedModelError
            When the sample paths of a Gaussian process with this kernel have no derivative.

        See Also
        --------
        gradient : The first derivatives for pairs of rows.

        Examples
        --------
        >>> import numpy as np
        >>> from pkex.kernels import RBF
        >>> RBF([1.0, 2.0]).jet(np.zeros((1, 2))).mixed
        array([[[1.  , 0.  ],
                [0.  , 0.25]]])
        """
        raise no_derivative(self)


def differentiate_product(factors: Floats, slopes: Floats) -> Gradient:
    """Return the product of all factors, and its derivative by each, times its slope.

    The product of all factors but one comes from the products before and after it, since a factor
    may be 0.
    """
    before, after = np.ones_like(factors), np.ones_like(factors)
    np.cumprod(factors[..., :-1], axis=-1, out=before[..., 1:])
    np.cumprod(factors[..., :0:-1], axis=-1, out=after[..., -2::-1])
    return Gradient(before[..., -1] * factors[..., -1], slopes * before * after)


def place_columns(slopes: Floats, columns: Sequence[int] | None, n_columns: int) -> Floats:
    """Return slopes by the columns that a kernel is limited to among those of all columns."""
    if columns is None:
        return slopes
    every = np.zeros((*slopes.shape[:-1], n_columns))
    every[..., list(columns)] = slopes
    return every
