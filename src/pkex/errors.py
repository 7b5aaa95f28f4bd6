"""What pkex raises and warns with besides ValueError, TypeError and UserWarning.

>>> import pkex
>>> issubclass(pkex.errors.UnsupportedModelError, TypeError)
True
"""

__all__ = ["AdditivityError", "PerformanceWarning", "PrecisionWarning", "UnsupportedModelError"]


class AdditivityError(RuntimeError):
    """Values and base value do not add up to the prediction: an error of pkex or of a kernel.

    See Also
    --------
    pkex.Explainer : Explains a model.

    Examples
    --------
    A kernel other than the one that the model was fitted with is noticed:

    >>> import pkex
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from sklearn.svm import SVR
    >>> model = SVR(kernel=rbf_kernel).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> pkex.as_expansion(model, kernel=pkex.kernels.RBF(2.0))
    Traceback (most recent call last):
    pkex.errors.AdditivityError: the converted model predicts ...
    """


class PerformanceWarning(UserWarning):
    """A call is going to take longer than a minute; the message says how long.

    See Also
    --------
    pkex.Explainer : Explains a model.

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

    The values are right to `Explanation.error_bound`, but that is more than a millionth of the
    standard deviation of the model's predictions.

    See Also
    --------
    pkex.Explainer : Explains a model.

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
    """The model is not a kernel expansion that pkex can explain or convert.

    See Also
    --------
    pkex.Explainer : Explains a model.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.svm import SVR
    >>> model = SVR(kernel="sigmoid").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> pkex.Explainer(model)
    Traceback (most recent call last):
    pkex.errors.UnsupportedModelError: the kernel of SVR(kernel='sigmoid') does not factor ...
    """
