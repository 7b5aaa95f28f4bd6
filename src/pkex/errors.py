"""What pkex raises besides ValueError and TypeError, and messages that several places share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkex._util.validation import brief

if TYPE_CHECKING:
    from pkex.kernels.algebra import Kernel
    from pkex.kernels.normal_form import Term

__all__ = [
    "AdditivityError",
    "PrecisionWarning",
    "UnsupportedModelError",
    "no_neutral_removal",
    "not_finite",
    "two_distances",
]


class AdditivityError(RuntimeError):
    """Values and base value do not add up to the prediction: an error of pkex or of a kernel.

    Examples
    --------
    A kernel that is not the one the model was fitted with is found out:

    >>> import pkex
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from sklearn.svm import SVR
    >>> model = SVR(kernel=rbf_kernel).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> pkex.as_expansion(model, kernel=pkex.kernels.RBF(2.0))
    Traceback (most recent call last):
    pkex.errors.AdditivityError: the expansion that was read predicts ...
    """


class PrecisionWarning(UserWarning):
    """Coefficients are so large that rounding shows in the predictions, and so in the values.

    The values are right to `Explanation.error`, but that is more than a millionth of the standard
    deviation of the model's predictions.

    Examples
    --------
    >>> import warnings, pkex
    >>> huge = pkex.KernelExpansion([[0.0], [1e-9]], [1e12, -1e12], pkex.kernels.RBF())
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     explanation = pkex.Explainer(huge)([[1.0]])
    >>> caught[0].category
    <class 'pkex.errors.PrecisionWarning'>
    """


class UnsupportedModelError(TypeError):
    """The model is no kernel expansion that pkex can explain, or none that it can read.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.svm import SVR
    >>> model = SVR(kernel="sigmoid").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> pkex.Explainer(model)
    Traceback (most recent call last):
    pkex.errors.UnsupportedModelError: the kernel of SVR(kernel='sigmoid') is a tanh of a sum ...
    """


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
        f"the kernel gave NaN or infinite factors; its parts are {brief(term.leaves)}. Check its "
        "parameters against the scale of the data."
    )


def two_distances(kernel: Kernel) -> UnsupportedModelError:
    """Return the error for a product of two kernels of distances."""
    return UnsupportedModelError(
        f"{brief(kernel)} multiplies two kernels that are functions of a distance. Each of them is "
        "explained as a sum of some dozens of products over columns, so this would be a sum of a "
        "thousand. A product of one of them with kernels that factorise, such as RBF, is explained."
    )
