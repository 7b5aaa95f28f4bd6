"""What pkex raises and warns with besides ValueError, TypeError and UserWarning.

>>> import pkex
>>> issubclass(pkex.errors.UnsupportedModelError, TypeError)
True
"""

from __future__ import annotations

__all__ = [
    "AdditivityError",
    "PerformanceWarning",
    "PrecisionWarning",
    "UnsupportedModelError",
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


class PerformanceWarning(UserWarning):
    """A call is going to take longer than a minute; the message says how long.

    Examples
    --------
    Where that is as expected:

    >>> import warnings, pkex
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", pkex.PerformanceWarning)
    ...     f = pkex.KernelExpansion([[0.0], [1.0]], [1.0, 2.0], pkex.kernels.RBF())
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
