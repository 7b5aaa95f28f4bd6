"""Whether what is known about a class holds for a model whose class derives from it.

A reader knows one class, and its reading is compared with the model on a few points only, which
cannot show what a subclass does elsewhere. So a model is read as that class if its methods are
those of the class, but for some that say nothing about a prediction. Which these are differs from
library to library: users of scikit-learn replace `fit` and `score`, while the models of GPyTorch
are always subclasses that write a `forward`. Hence a reader is registered with the guard of its
library.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pkex.errors import UnsupportedModelError

__all__ = ["BOTORCH", "GPYTORCH", "SKLEARN", "Guard"]

_OUTPUTS = frozenset({"predict", "decision_function", "transform", "score_samples"})

# how a model is found, described and judged, and the way back
_FREE = frozenset(
    {
        *("fit", "fit_predict", "fit_transform", "inverse_transform", "sample", "sample_y"),
        *("score", "get_feature_names_out", "get_metadata_routing", "get_params", "set_params"),
        *("set_output", "log_marginal_likelihood", "_constrained_optimization", "_run_search"),
        "set_*_request",  # which scikit-learn gives to every class
    }
)


@dataclass(frozen=True)
class Guard:
    """What a subclass may override and still be converted as the class it derives from.

    A model is refused if it, or its class where that derives from the class that is read, has one
    of the `outputs` overridden, or any other method of that class that is not `free`. Special
    methods, such as ``__len__``, are free unless they are among the outputs.

    Parameters
    ----------
    outputs : collection of str, optional
        The methods by which a model predicts, which are looked for also where the class that is
        read lacks them; by default those of scikit-learn, e.g. ``predict``.
    free : collection of str, optional
        Methods that a subclass may override, or patterns of their names such as
        ``set_*_request``; by default those of scikit-learn's estimators that do not predict, e.g.
        ``fit``. For a class that users always derive from, what they write; the reader must read
        all that matters of it.
    library : str, optional
        A package whose own subclasses of the class that is read are not looked at, as the reader
        was tested with them.

    See Also
    --------
    pkex.readers.register : Registers a converter.

    Examples
    --------
    A Gaussian process of GPyTorch is called, and its users write a ``forward`` that returns the
    mean and the covariance of the prior:

    >>> from pkex.readers import Guard, Reading, register
    >>> guard = Guard(outputs=["__call__"], free=["forward"])
    >>> @register("mylibrary.MyProcess", guard=guard)
    ... def read_my_process(model, given):
    ...     kernel = pkex.kernels.RBF(model.covar_module.width)
    ...     f = pkex.KernelExpansion(model.points, model.weights, kernel)
    ...     return Reading(f, model)
    """

    outputs: Collection[str] = _OUTPUTS
    free: Collection[str] = _FREE
    library: str | None = None

    def __post_init__(self) -> None:
        for name in ("outputs", "free"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(method, str) for method in given):
                raise TypeError(
                    f"{name} of a Guard must be names of methods, e.g. ['predict'], got {given!r}."
                )
            object.__setattr__(self, name, frozenset(given))

    def leaves_free(self, method: str) -> bool:
        """Return whether a subclass may override a method of this name.

        Parameters
        ----------
        method : str
            The name of the method.

        Returns
        -------
        bool
            True for free and special methods, unless they are among the outputs.

        See Also
        --------
        pkex.readers.Guard.check : Refuses a model by its class.

        Examples
        --------
        >>> from pkex.readers import Guard
        >>> Guard().leaves_free("fit"), Guard().leaves_free("predict")
        (True, False)
        """
        if method in self.outputs:
            return False
        special = method.startswith("__") and not method.startswith("__getattr")
        return special or any(fnmatchcase(method, pattern) for pattern in self.free)

    def check(self, model: Any, base: type) -> None:
        """Refuse a model that overrides methods of `base`, the class that is converted.

        Parameters
        ----------
        model : fitted estimator
            An instance of `base` or of a subclass.
        base : type
            The class that the reader was registered for.

        Raises
        ------
        UnsupportedModelError
            When the model, or its class, overrides a method that is not free.

        See Also
        --------
        pkex.readers.Guard.leaves_free : Says whether one method may be overridden.
        pkex.readers.register : Registers a reader.

        Examples
        --------
        >>> from pkex.readers import Guard
        >>> from sklearn.svm import SVR
        >>> class Clipped(SVR):
        ...     def predict(self, X):
        ...         return super().predict(X).clip(0.0)
        >>> Guard().check(Clipped(), SVR)
        Traceback (most recent call last):
        pkex.errors.UnsupportedModelError: Clipped overrides SVR.predict, so pkex cannot ...
        """
        methods = {n for cls in base.__mro__ for n, v in vars(cls).items() if hasattr(v, "__get__")}
        fixed = {name for name in methods.union(self.outputs) if not self.leaves_free(name)}
        overrides = [(f"this {type(model).__name__}", getattr(model, "__dict__", {}))]
        for cls in type(model).__mro__:
            known = issubclass(cls, base) and cls.__module__.partition(".")[0] == self.library
            if cls not in base.__mro__ and not known:
                overrides.append((cls.__name__, vars(cls)))
        libraries = {self.library, base.__module__.partition(".")[0]}
        classes = (c for c in type(model).__mro__ if c.__module__.partition(".")[0] in libraries)
        plain = next(classes, base).__name__  # as the user knows it
        for title, attributes in overrides:
            for name in sorted(fixed.intersection(attributes)):
                raise UnsupportedModelError(
                    f"{title} overrides {plain}.{name}, so pkex cannot infer its predictions. "
                    f"Explain a plain {plain}, or the model inside if it is a wrapper, or register "
                    "a converter for the class with pkex.readers.register."
                )


SKLEARN = Guard(library="sklearn")  # whose own subclasses are in the tests

# Users of these write classes, whose `forward` is read by what it returns. What must be the
# library's own is how a prediction is made of it.
_POSTERIOR = ("__call__", "_get_train_prior_distribution", "_get_test_prior_mean_and_covariances")
GPYTORCH = Guard(outputs=_POSTERIOR, free=["*"], library="gpytorch")
BOTORCH = Guard(
    outputs=[*_POSTERIOR, "posterior", "transform_inputs"], free=["*"], library="botorch"
)
