"""Errors about kernels that several places raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkex._util.validation import brief
from pkex.errors import UnsupportedModelError

if TYPE_CHECKING:
    from pkex.kernels.algebra import Kernel
    from pkex.kernels.normal_form import Term

__all__ = ["no_neutral_removal", "not_finite", "two_distances"]


def no_neutral_removal(kernel: Kernel) -> UnsupportedModelError:
    """Return the error for a kernel with a linear part, where an absent feature has no factor."""
    return UnsupportedModelError(
        f"the kernel {brief(kernel)} has a linear part, a sum over columns or a power of one, and "
        "no factor of it could become 1, as neutral removal would have it. Leave out "
        "removal='neutral', or pass a background, Explainer(model, X_train[:100])."
    )


def not_finite(term: Term) -> ValueError:
    """Return the error for a kernel whose factors are no numbers."""
    return ValueError(
        f"the kernel gave NaN or infinite factors; its parts are {brief(term.leaves)}. Rescale the "
        "columns, for example with StandardScaler, or check the parameters of the kernel."
    )


def two_distances(kernel: Kernel) -> UnsupportedModelError:
    """Return the error for a product of two kernels of distances."""
    return UnsupportedModelError(
        f"{brief(kernel)} multiplies two kernels that are functions of a distance. Each of them is "
        "explained as a sum of dozens of products over columns or more; this would be a sum of "
        "thousands. A product of one of them and kernels that factorise, such as RBF, is explained."
    )
