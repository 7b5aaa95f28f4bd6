"""Errors about kernels that several places raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkex._util.validation import brief
from pkex.errors import UnsupportedModelError

if TYPE_CHECKING:
    from pkex.kernels.algebra import Kernel
    from pkex.kernels.normal_form import Term

__all__ = ["no_derivative", "no_neutral_removal", "not_finite", "rough_paths", "two_distances"]


def no_neutral_removal(kernel: Kernel) -> UnsupportedModelError:
    """Return the error for a kernel with a dot product, where no factor can become 1."""
    return UnsupportedModelError(
        f"the kernel {brief(kernel)} has a dot-product part, linear or polynomial, which does not "
        "factor over features. Neutral removal sets the kernel factor of a removed feature to 1, "
        "so it does not support this kernel. Leave out removal='neutral', or pass a background, "
        "Explainer(model, X_train[:100])."
    )


def not_finite(term: Term) -> ValueError:
    """Return the error for a kernel whose factors are NaN or infinite."""
    return ValueError(
        f"the kernel gave NaN or infinite factors; its parts are {brief(term.leaves)}. Rescale the "
        "columns, for example with StandardScaler, or check the parameters of the kernel."
    )


def two_distances(kernel: Kernel) -> UnsupportedModelError:
    """Return the error for a product of two radial kernels."""
    return UnsupportedModelError(
        f"{brief(kernel)} multiplies two radial kernels. Each of them is explained as a sum of "
        "dozens of products over columns or more; their product would be a sum of thousands. "
        "A product of one radial kernel and kernels that factor over columns, such as RBF, is "
        "supported."
    )


def no_derivative(kernel: Any, method: str = "slopes") -> UnsupportedModelError:
    """Return the error for a kernel that does not differentiate itself."""
    title = type(kernel).__name__
    reason, advice = f"it has no method `{method}`", f"write a ColumnKernel with `{method}`"
    if title in ("Categorical", "Tabulated"):
        reason, advice = "categories have no values between them", "use Shapley values"
    return UnsupportedModelError(
        f"gradients are not available for {brief(kernel)}: {reason}. The kernels of pkex for "
        f"numeric columns have them; {advice}."
    )


def rough_paths(kernel: Kernel) -> UnsupportedModelError:
    """Return the error for a Gaussian process whose sample paths have no derivative."""
    return UnsupportedModelError(
        f"the gradient has no standard deviation under {brief(kernel)}: the sample paths of this "
        "Gaussian process have no derivative. Leave out return_std, or fit a smoother kernel such "
        "as RBF, or Matern with nu = 1.5 or 2.5."
    )
