"""From a fitted model to a `KernelExpansion`.

A reader is a function from a model to a `Reading`. It is found by the dotted name of the model's
class, or of a class it derives from, with the private parts of the module's path left out
(``sklearn.svm.SVR``), so that no library is imported before one of its models is read. Libraries
can add theirs with `register`.

Every reading is guarded: the expansion's prediction is compared with the model's own on a few
points when it is read, and where the model prepares its columns first, also on some rows of every
call of an Explainer. A disagreement is an error, never a wrong explanation. A few points cannot
show what a subclass does elsewhere, so one that overrides `predict` is not read as the class it
derives from. The `Guard` of its library has what a subclass may override.

>>> import pkex
>>> "sklearn.svm.SVR" in pkex.readers.supported()
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate
from pkex.errors import UnsupportedModelError
from pkex.kernels.algebra import Kernel
from pkex.models.classes import Classes, check_choice
from pkex.models.expansion import KernelExpansion
from pkex.readers._guard import BOTORCH, GPYTORCH, SKLEARN, Guard
from pkex.readers.reading import Given, Reader, Reading, check_reading, check_task

__all__ = [
    "Classes",
    "Given",
    "Guard",
    "Reading",
    "as_expansion",
    "read",
    "register",
    "supported",
]


@dataclass(frozen=True)
class _Entry:
    """A reader, or the path "module:function" of one that is not imported yet, and its guard."""

    reader: str | Reader
    guard: Guard

    def load(self) -> Reader:
        if not isinstance(self.reader, str):
            return self.reader
        module, _, name = self.reader.partition(":")
        reader: Reader = getattr(import_module(module), name)
        return reader


_readers: dict[str, _Entry] = {}


def register(*names: str, guard: Guard | None = None) -> Callable[[Reader], Reader]:
    """Return a decorator that registers a reader for classes of these dotted names.

    The reader is called with the model and what the user gave along with it, and returns a
    `Reading`, whose expansion is compared with the model before it is used. It also reads
    subclasses, unless they override methods that the guard does not leave free; such a class
    needs a reader that is registered under its name.

    Parameters
    ----------
    *names : str
        E.g. "mylibrary.MyMachine", without private parts of the module's path.
    guard : Guard, optional
        What a subclass may override. By default what it may in scikit-learn: how it is fitted,
        described and scored, such as `fit` and `score`, but nothing that predicts.

    Returns
    -------
    callable
        The decorator, which returns the reader unchanged.

    See Also
    --------
    pkex.readers.Reading : What a reader returns.
    pkex.readers.Guard : What a subclass may override.
    pkex.readers.supported : Lists the classes that have a reader.

    Examples
    --------
    >>> from pkex.readers import Reading, register
    >>> @register("mylibrary.MyMachine")
    ... def read_my_machine(model, given):
    ...     kernel = pkex.kernels.RBF(model.width)
    ...     f = pkex.KernelExpansion(
    ...         model.points, model.alpha, kernel, background="training points"
    ...     )
    ...     return Reading(f, model.predict)
    """

    def add(reader: Reader) -> Reader:
        _readers.update(dict.fromkeys(names, _Entry(reader, guard or Guard())))
        return reader

    return add


def supported() -> tuple[str, ...]:
    """Return the dotted names of the classes that have a reader.

    Returns
    -------
    tuple of str
        The names, sorted, without private parts of the module's path.

    See Also
    --------
    pkex.readers.register : Registers a reader.
    pkex.as_expansion : Converts a fitted model.

    Examples
    --------
    >>> from pkex.readers import supported
    >>> "sklearn.svm.SVR" in supported()
    True
    """
    return tuple(sorted(_readers))


def as_expansion(
    model: Any,
    *,
    kernel: Kernel | None = None,
    points: ArrayLike | None = None,
    outputs: str | None = None,
    task: float | None = None,
) -> KernelExpansion:
    """Convert a fitted model to a kernel expansion.

    Parameters
    ----------
    model : fitted estimator
        A support vector machine, kernel ridge regression, Gaussian process, kernel PCA or density,
        or linear model of scikit-learn, a pipeline, search or other wrapper around one, or a
        Gaussian process of GPyTorch, BoTorch or an optimiser; `pkex.readers.supported` lists all.
    kernel : Kernel, optional
        The pkex kernel that the model was trained with, for models with ``kernel="precomputed"``
        or a callable kernel.
    points : array of shape (n_samples, n_columns), optional
        The training points, for models with ``kernel="precomputed"``; a data frame gives the names
        of the columns. Such a model has seen a matrix only, so that nothing but the number of the
        points can be checked.
    outputs : {"classes", "ovo", "log-odds"}, optional
        What to explain of a classifier that decides between pairs of three classes or more, such
        as `SVC`. "classes", the default: for each class the mean of its pair functions, positive
        where it pushes towards the class. "ovo": the function of each pair. "log-odds", the default
        for a calibrated classifier: the logarithm of the ratio of its probabilities, where that
        is an expansion. Also the name of an objective of an optimiser that has several.
    task : number, optional
        The task at which to explain a process of several tasks, such as BoTorch's `MultiTaskGP`;
        its rows then lack the task column. By default the task is a feature.

    Returns
    -------
    KernelExpansion
        The function that the model predicts with; an expansion is returned as it is.

    Raises
    ------
    UnsupportedModelError
        When the model is not a kernel expansion, or one with a kernel that cannot be explained.

    See Also
    --------
    pkex.KernelExpansion : A model as pkex explains it.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.svm import SVR
    >>> pkex.as_expansion(SVR(gamma=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]))
    KernelExpansion(3 points, 1 columns, 1 output, kernel=RBF(length_scale=1.0))
    """
    if isinstance(model, KernelExpansion):
        if kernel is not None or points is not None:
            raise ValueError(
                "a KernelExpansion already has its kernel and points; leave out kernel= and "
                "points=."
            )
        check_choice(outputs, (), model)
        check_task(task, (), model)
        return model
    reading = read(model, Given(kernel=kernel, points=points, outputs=outputs, task=task))
    check_choice(outputs, reading.choices, model)
    check_task(task, reading.tasks, model)
    return reading.expansion


@default_errstate
def read(model: Any, given: Given | None = None) -> Reading:
    """Return the reading of a model by the reader of its class: for readers of wrappers.

    Parameters
    ----------
    model : fitted estimator
        As in `as_expansion`.
    given : Given, optional
        What the reader of the wrapper was given.

    Returns
    -------
    Reading
        The expansion, after it was compared with the model on a few points.

    See Also
    --------
    pkex.as_expansion : Converts a fitted model.
    pkex.readers.register : Registers a reader.

    Examples
    --------
    >>> from pkex.readers import read, register
    >>> @register("mylibrary.MySearch")
    ... def read_my_search(model, given):
    ...     return read(model.best_model, given)
    """
    if isinstance(model, type):
        raise UnsupportedModelError(
            f"{model.__name__} is a class; pass a fitted instance: {model.__name__}().fit(X, y)."
        )
    for cls in type(model).__mro__:
        entry = _readers.get(_public_name(cls))
        if entry is not None:
            reader = entry.load()
            entry.guard.check(model, cls)
            return check_reading(reader(model, given or Given()))
    raise UnsupportedModelError(
        f"{type(model).__name__} is not a supported model. {_nearest(model)}pkex converts "
        "scikit-learn's support vector machines, kernel ridge regression, Gaussian processes, "
        "kernel PCA and density, linear models, pipelines, searches and other wrappers around "
        "them (pkex.readers.supported() lists all); another model f(x) = sum_i alpha_i k(x, x_i) "
        "+ intercept can be passed as pkex.KernelExpansion(points, coefficients, kernel, "
        "intercept)."
    )


_HOLDERS = ("model", "surrogate", "estimator", "gp", "generator", "generation_strategy", "adapter")


def _nearest(model: Any) -> str:
    """Return a sentence that names what is supported nearest to a model: inside, or beside it."""
    for name in (*_HOLDERS, *(f"_{name}" for name in _HOLDERS)):
        inside = getattr(model, "__dict__", {}).get(name)
        names = [_public_name(cls) for cls in type(inside).__mro__]
        if any(each in _readers for each in names):
            return f"Its attribute {name!r}, a {type(inside).__name__}, is supported: pass that. "
    library = type(model).__module__.partition(".")[0]
    kinds = [name.rpartition(".")[2] for name in _readers if name.startswith(f"{library}.")]
    if library != "sklearn" and kinds:
        return f"Of {library} it converts {', '.join(sorted(kinds))}. "
    return ""


def _public_name(cls: type) -> str:
    path = [part for part in cls.__module__.split(".") if not part.startswith("_")]
    return ".".join([*path, cls.__qualname__])


_SKLEARN = {
    "models": {
        "svm.SVR": "read_regression_machine",
        "svm.NuSVR": "read_regression_machine",
        "svm.SVC": "read_classification_machine",
        "svm.NuSVC": "read_classification_machine",
        "svm.OneClassSVM": "read_one_class_machine",
        "kernel_ridge.KernelRidge": "read_kernel_ridge",
        "decomposition.KernelPCA": "read_kernel_pca",
        "gaussian_process.GaussianProcessRegressor": "read_gaussian_process",
        "gaussian_process.GaussianProcessClassifier": "read_gaussian_process_classifier",
    },
    "wrappers": {
        "pipeline.Pipeline": "read_pipeline",
        "linear_model.RANSACRegressor": "read_consensus",
        "model_selection.BaseSearchCV": "read_search",
        "frozen.FrozenEstimator": "read_frozen",
        "compose.TransformedTargetRegressor": "read_transformed_target",
        "multioutput.MultiOutputRegressor": "read_multi_output",
        "multiclass.OneVsRestClassifier": "read_one_vs_rest",
        "multiclass.OneVsOneClassifier": "read_one_vs_one",
    },
    "density": {"neighbors.KernelDensity": "read_kernel_density"},
    "calibrated": {"calibration.CalibratedClassifierCV": "read_calibrated"},
    "linear": {
        "linear_model.LinearModel": "read_linear_regression",
        "linear_model.BaseSGDRegressor": "read_linear_regression",
        "linear_model.LinearClassifierMixin": "read_linear_classifier",
        "linear_model.RidgeClassifier": "read_linear_classifier",  # a linear regression inside
        "linear_model.RidgeClassifierCV": "read_linear_classifier",
        "linear_model.SGDOneClassSVM": "read_linear_one_class",
    },
}
for _module, _names in _SKLEARN.items():
    for _name, _function in _names.items():
        _path = f"pkex.readers.sklearn.{_module}:{_function}"
        _readers[f"sklearn.{_name}"] = _Entry(_path, SKLEARN)

_TORCH = {
    "models": {
        "gpytorch.models.exact_gp.ExactGP": "read_exact_process",
        "gpytorch.models.model_list.IndependentModelList": "read_model_list",
        "botorch.models.gp_regression.SingleTaskGP": "read_exact_process",
        "botorch.models.fully_bayesian.AbstractFullyBayesianSingleTaskGP": "read_sampled_process",
        "botorch.models.map_saas.EnsembleMapSaasSingleTaskGP": "read_ensemble_process",
    },
    "tasks": {
        "botorch.models.multitask.MultiTaskGP": "read_multi_task",
        "botorch.models.multitask.KroneckerMultiTaskGP": "read_kronecker_tasks",
    },
    "preferences": {"botorch.models.pairwise_gp.PairwiseGP": "read_pairwise_process"},
    "variational": {
        "gpytorch.models.approximate_gp.ApproximateGP": "read_approximate_process",
        "botorch.models.approximate_gp.SingleTaskVariationalGP": "read_variational_model",
    },
}
for _module, _names in _TORCH.items():
    for _name, _function in _names.items():
        _path = f"pkex.readers.gpytorch.{_module}:{_function}"
        _readers[_name] = _Entry(_path, GPYTORCH if _name.startswith("gpytorch.") else BOTORCH)

# scikit-optimize's regressor derives from scikit-learn's, and its predict has gradients besides
_SKOPT = "skopt.learning.gaussian_process.gpr.GaussianProcessRegressor"
_readers[_SKOPT] = _Entry("pkex.readers.sklearn.models:read_gaussian_process", Guard())
# an optimiser holds the model that is read; users change how it looks for points
_BAYES_OPT = "bayes_opt.bayesian_optimization.BayesianOptimization"
_HOLDER = Guard(outputs=["predict"], free=["*"])
_readers[_BAYES_OPT] = _Entry("pkex.readers.bayes_opt:read_optimiser", _HOLDER)
_OPTIMISERS = {
    "baybe.campaign.Campaign": "read_campaign",
    "baybe.surrogates.gaussian_process.core.GaussianProcessSurrogate": "read_gaussian_surrogate",
    "baybe.surrogates.composite.CompositeSurrogate": "read_composite_surrogate",
    "baybe.surrogates.base.Surrogate": "read_other_surrogate",
    "ax.api.client.Client": "read_client",
    "ax.adapter.torch.TorchAdapter": "read_torch_adapter",
    "ax.adapter.base.Adapter": "read_other_adapter",
}
for _name, _function in _OPTIMISERS.items():
    _library = _name.partition(".")[0]
    _guard = Guard(outputs=["predict", "posterior"], free=["*"], library=_library)
    _readers[_name] = _Entry(f"pkex.readers.{_library}:{_function}", _guard)
