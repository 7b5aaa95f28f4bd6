"""What pkex raises besides ValueError and TypeError, and a message that several places share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkex._algebra import Term

__all__ = ["AdditivityError", "UnsupportedModelError", "not_finite"]


class AdditivityError(RuntimeError):
    """Values and base value do not add up to the prediction: an error of pkex or of a kernel."""


class UnsupportedModelError(TypeError):
    """The model is not a kernel expansion with product kernels, or not one that pkex can read."""


def not_finite(term: Term) -> ValueError:
    """Return the error for a kernel whose factors are no numbers."""
    return ValueError(
        f"the kernel gave NaN or infinite factors; its parts are {term.leaves!r}. Check its "
        "parameters against the scale of the data."
    )
