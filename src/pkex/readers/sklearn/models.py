"""Readers of scikit-learn's kernel machines: their coefficients, in the sign their methods have.

Each returns the expansion together with the method of the model that it must agree with.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from pkex._util.sparse import is_sparse
from pkex._util.types import Floats
from pkex._util.validation import as_matrix, column_names
from pkex.errors import UnsupportedModelError
from pkex.kernels import RBF, Laplacian, Linear, Matern
from pkex.kernels.algebra import Kernel
from pkex.models.classes import CHOICES, Classes, ClassMeans, pairs_of
from pkex.models.expansion import Data, KernelExpansion
from pkex.models.sums import combined, evolve, stack
from pkex.readers.bayes_opt import is_wrapped, wrapped_process
from pkex.readers.reading import TOL, Chain, Given, Reading, nothing, outside
from pkex.readers.sklearn.kernels import (
    from_gaussian_process,
    no_sum_of_products,
    of_rate,
    polynomial,
)
from pkex.readers.sklearn.log_odds import platt_scaled
from pkex.readers.sklearn.plain import call, dense, fitted, names_of, own_predict
from pkex.readers.sklearn.posterior import posterior_of

__all__ = [
    "DECISION",
    "against_the_rest",
    "by_pairs",
    "classification_machine",
    "gaussian_process",
    "gaussian_process_classifier",
    "inlier",
    "kernel_density",
    "kernel_pca",
    "kernel_ridge",
    "of_each_class",
    "one_class_machine",
    "pairwise",
    "regression_machine",
    "two_classes",
    "with_digits",
]


# what the points of the models are: data, both
_VECTORS, _TRAINING = "support vectors", "training points"
DECISION, LATENT = "decision function", "latent mean"

# how far predictions may be from the formula, relative to the largest, without and with a warning
_NOTICED, _TOO_MUCH = 1e-6, 1e-3

# the order of the norm behind the names that KernelDensity has for it
_ORDERS = {"euclidean": 2, "l2": 2, "minkowski": 2, "p": 2, "manhattan": 1, "l1": 1, "cityblock": 1}


def regression_machine(model: Any, given: Given) -> Reading:
    """SVR and NuSVR: `predict`."""
    kernel, points = _machine(model, given)
    alpha = dense(model.dual_coef_)[0]
    data: Data | None = Data(points, _VECTORS, model.shape_fit_[0])
    if not points.shape[0]:  # every target lies within epsilon of the intercept: a constant
        points, alpha, data = np.zeros((1, points.shape[1])), np.zeros(1), None
    names = names_of(model, given)
    f = KernelExpansion(points, alpha, kernel, model.intercept_, names, background=data)
    return Reading(f, partial(call, model, "predict", given))


def one_class_machine(model: Any, given: Given) -> Reading:
    """OneClassSVM: `decision_function`, which is positive for inliers."""
    kernel, points = _machine(model, given)
    alpha, names = dense(model.dual_coef_)[0], names_of(model, given)
    data = Data(points, _VECTORS, model.shape_fit_[0])
    f = KernelExpansion(points, alpha, kernel, model.intercept_, names, background=data)
    predict = Chain(own_predict(model, given), inlier)
    classes = Classes(("outlier", "inlier"), (("inlier", "outlier"),), DECISION, predict)
    return Reading(f, partial(call, model, "decision_function", given), classes=classes)


def classification_machine(model: Any, given: Given) -> Reading:
    """SVC and NuSVC: the decision function; for k classes, the mean of those of its pairs.

    With ``probability=True`` and two classes ``outputs="log-odds"`` explains the log-odds. A
    positive value speaks for the class, or for the one named first. The scores of
    ``decision_function_shape="ovr"`` count votes of the pairs; votes are steps, not sums of
    kernels, so no values can add up to them.
    """
    kernel, points = _machine(model, given)
    classes, dual = model.classes_, dense(model.dual_coef_)
    if len(classes) == 2:
        alpha = dual[0]
    else:
        pairs = list(combinations(range(len(classes)), 2))
        ends = np.concatenate([[0], np.cumsum(model.n_support_)])
        alpha = np.zeros((dual.shape[1], len(pairs)))
        for column, (i, j) in enumerate(pairs):
            # libsvm's layout: row j - 1 for the vectors of class i < j, row i for those of class j
            alpha[ends[i] : ends[i + 1], column] = dual[j - 1, ends[i] : ends[i + 1]]
            alpha[ends[j] : ends[j + 1], column] = dual[i, ends[j] : ends[j + 1]]
    data, names = Data(points, _VECTORS, model.shape_fit_[0]), names_of(model, given)
    f = KernelExpansion(points, alpha, kernel, model.intercept_, names, background=data)
    one_vs_one = copy(model)
    one_vs_one.decision_function_shape, one_vs_one.break_ties = "ovo", False
    own = partial(call, one_vs_one, "decision_function", given)
    predict = own_predict(model, given)
    if len(classes) == 2:
        reading = two_classes(Reading(f, own), classes, DECISION, predict)
        return platt_scaled(model, reading, given)
    return by_pairs(Reading(f, own), classes, DECISION, predict, given, positive=0)


def kernel_ridge(model: Any, given: Given) -> Reading:
    """KernelRidge: `predict`, for one or several targets."""
    fitted(model, "dual_coef_")
    kernel, points = pairwise(model, model.kernel, model.gamma, model.X_fit_, given)
    f = KernelExpansion(
        points, model.dual_coef_, kernel, 0.0, names_of(model, given), background=_TRAINING
    )
    return with_digits(model, f, partial(call, model, "predict", given))


def kernel_pca(model: Any, given: Given) -> Reading:
    """KernelPCA: `transform`, each component with the centring of the kernel.

    With scaled eigenvectors A the component is ``sum_i A_i kc(x, x_i)``, where the centred kernel
    kc subtracts the means over the training points; that is an expansion with the coefficients
    ``A_i - mean(A)`` and an offset.
    """
    fitted(model, "eigenvectors_")
    gamma = model.gamma if model.gamma is not None else getattr(model, "gamma_", None)
    kernel, points = pairwise(model, model.kernel, gamma, model.X_fit_, given)
    used = model.eigenvalues_ > 0.0
    scaled = np.zeros_like(model.eigenvectors_)
    scaled[:, used] = model.eigenvectors_[:, used] / np.sqrt(model.eigenvalues_[used])
    scaled = scaled.astype(np.float64)
    centre = model._centerer
    f = KernelExpansion(
        points,
        scaled - scaled.mean(axis=0),
        kernel,
        (np.float64(centre.K_fit_all_) - centre.K_fit_rows_.astype(np.float64)) @ scaled,
        names_of(model, given),
        model.get_feature_names_out() if scaled.shape[1] > 1 else None,
        background=_TRAINING,
    )
    return with_digits(model, f, partial(call, model, "transform", given))


def kernel_density(model: Any, given: Given) -> Reading:
    """KernelDensity: the density itself, not its logarithm, which is no sum."""
    fitted(model, "tree_")
    nothing(given, model)
    points = np.asarray(model.tree_.data)
    parameters = dict(model.metric_params or {})
    order = parameters.pop("p", _ORDERS.get(model.metric))
    if model.kernel == "gaussian" and order == 2 and not parameters:
        kernel: Kernel = RBF(float(model.bandwidth_))
    elif model.kernel == "exponential" and order == 1 and not parameters:
        kernel = Laplacian(float(model.bandwidth_))
    elif model.kernel == "exponential" and order == 2 and not parameters:
        kernel = Matern(float(model.bandwidth_), nu=0.5)
    elif model.kernel in ("tophat", "epanechnikov", "linear", "cosine"):
        raise no_sum_of_products(f"KernelDensity(kernel={model.kernel!r})", "cut off")
    else:
        raise UnsupportedModelError(
            f"KernelDensity with kernel={model.kernel!r} and metric={model.metric!r} is no sum of "
            "products over columns; gaussian with the Euclidean metric is, and exponential with "
            "the Euclidean metric or metric='manhattan'."
        )
    weights = model.tree_.sample_weight
    alpha = np.ones(len(points)) if weights is None else np.array(weights)
    exact = copy(model)
    exact.rtol = exact.atol = 0.0
    own = partial(_density, exact)
    # the norm of the kernel is taken from the model's own density at one of its points
    worth = float(kernel(points[:1], points)[0] @ alpha)
    with np.errstate(over="ignore"):
        unit = float(own(points[:1])[0]) / worth
    if not 0.0 < unit < math.inf:
        raise UnsupportedModelError(
            f"the density of this KernelDensity over {points.shape[1]} columns is too "
            f"{'small' if unit == 0.0 else 'large'} for double precision; scale the columns or "
            "choose another bandwidth."
        )
    names = names_of(model, given)
    f = KernelExpansion(points, alpha * unit, kernel, 0.0, names, background=_TRAINING)
    return Reading(f, own)


def gaussian_process(model: Any, given: Given) -> Reading:
    """GaussianProcessRegressor: the mean, in the units of the target, and its posterior."""
    fitted(
        model, "X_train_", "It was not fitted; the prior of a Gaussian process is zero everywhere"
    )
    nothing(given, model)
    if is_wrapped(model.kernel_):
        return wrapped_process(model, given, gaussian_process)
    kernel = from_gaussian_process(model.kernel_, model.X_train_.shape[1])
    f = KernelExpansion(
        model.X_train_,
        model.alpha_ * model._y_train_std,
        kernel,
        model._y_train_mean,
        names_of(model, given),
        background=_TRAINING,
        posterior=posterior_of(model, kernel),
    )
    return Reading(f, partial(call, model, "predict", given))


def gaussian_process_classifier(model: Any, given: Given) -> Reading:
    """GaussianProcessClassifier: the latent mean; for several classes as the model has them.

    With ``multi_class="one_vs_one"`` that is, for each class, the mean over its pairs.
    """
    fitted(model, "base_estimator_")
    nothing(given, model)
    base, classes, names = model.base_estimator_, model.classes_, names_of(model, given)
    predict = own_predict(model, given)
    if len(classes) == 2:
        reading = Reading(_laplace(base, names), partial(_latent, base))
        return two_classes(reading, classes, LATENT, predict)
    parts = [_laplace(machine, names) for machine in base.estimators_]
    unnamed = [f"y{i}" for i in range(len(parts))]
    reading = Reading(stack(parts, unnamed), partial(_latents, tuple(base.estimators_)))
    if model.multi_class == "one_vs_rest":
        return against_the_rest(reading, classes, LATENT, predict)
    return by_pairs(reading, classes, LATENT, predict, given, positive=1)


def two_classes(
    reading: Reading, labels: Sequence[Any], number: str, predict: Callable[[Any], Any] | None
) -> Reading:
    """Return the reading of a machine whose positive values speak for the second class."""
    no, yes = map(str, labels)
    return replace(
        reading,
        expansion=evolve(reading.expansion, output_names=[f"{yes} vs {no}"]),
        classes=Classes((no, yes), ((yes, no),), number, predict),
    )


def against_the_rest(
    reading: Reading, labels: Sequence[Any], number: str, predict: Callable[[Any], Any]
) -> Reading:
    """Return the reading of machines that each tell one class from all others."""
    return of_each_class(reading, labels, f"{number} of each class against the rest", predict)


def of_each_class(
    reading: Reading, labels: Sequence[Any], number: str, predict: Callable[[Any], Any] | None
) -> Reading:
    """Return the reading of a model with one function for each class."""
    names = tuple(map(str, labels))
    return replace(
        reading,
        expansion=evolve(reading.expansion, output_names=names),
        classes=Classes(names, tuple((name, None) for name in names), number, predict),
    )


def by_pairs(
    reading: Reading,
    labels: Sequence[Any],
    number: str,
    predict: Callable[[Any], Any],
    given: Given,
    *,
    positive: int,
) -> Reading:
    """Return the reading of machines that each tell two of k classes apart, as it is wanted.

    Pairs come in the order of `itertools.combinations`; `positive` says which class of a pair,
    0 or 1, positive values speak for.
    """
    names = tuple(map(str, labels))
    if given.outputs == "pairs":
        sides = pairs_of(names, positive)
        titles = [f"{yes} vs {no}" for yes, no in sides]
        classes = Classes(names, sides, f"{number} of each pair of classes", predict)
        expansion = evolve(reading.expansion, output_names=titles)
        return replace(reading, expansion=expansion, classes=classes, choices=CHOICES)
    means = ClassMeans(len(names), positive)
    reading = replace(
        reading,
        expansion=combined(reading.expansion, means.weights, names),
        own=Chain(reading.own, means),
        choices=CHOICES,
    )
    said = f"mean {number} of each class against each other class"
    return of_each_class(reading, names, said, predict)


def _laplace(machine: Any, names: Any) -> KernelExpansion:
    kernel = from_gaussian_process(machine.kernel_, machine.X_train_.shape[1])
    alpha = machine.y_train_ - machine.pi_
    return KernelExpansion(machine.X_train_, alpha, kernel, 0.0, names, background=_TRAINING)


def _latent(machine: Any, X: Any) -> Floats:
    mean: Floats = machine.kernel_(machine.X_train_, np.asarray(X)).T @ (
        machine.y_train_ - machine.pi_
    )
    return mean


def _latents(machines: tuple[Any, ...], X: Any) -> Floats:
    return np.stack([_latent(machine, X) for machine in machines], axis=1)


def _density(model: Any, X: Any) -> Floats:
    density: Floats = np.exp(call(model, "score_samples", Given(), X))
    return density


def inlier(signs: Any) -> Any:
    """Return the words for what one-class machines predict, 1 and -1."""
    return np.where(np.asarray(signs) > 0, "inlier", "outlier")


def _machine(model: Any, given: Given) -> tuple[Kernel, Any]:
    """Return the kernel of a fitted support vector machine, and its support vectors.

    These are sparse where it was fitted on sparse rows.
    """
    fitted(model, "dual_coef_")
    if callable(model.kernel):
        kernel = given.kernel or model.kernel
        points = given.points if given.points is not None else model._BaseLibSVM__Xfit
        return _own_kernel(model, kernel), as_matrix(points, "points")[model.support_]
    if model.kernel == "precomputed":
        kernel, points = _precomputed(model, given, int(model.shape_fit_[0]))
        return kernel, points[model.support_]
    nothing(given, model)
    if model.kernel == "rbf":
        return of_rate("rbf", float(model._gamma)), model.support_vectors_
    if model.kernel == "linear":
        return Linear(), dense(model.support_vectors_)
    shown = f"{type(model).__name__}(kernel={model.kernel!r})"
    if model.kernel == "poly":
        kernel = polynomial(model.degree, float(model._gamma), float(model.coef0), shown)
        return kernel, dense(model.support_vectors_)
    raise no_sum_of_products(shown, model.kernel)


def pairwise(
    model: Any, name: Any, gamma: float | None, training: Any, given: Given
) -> tuple[Kernel, Any]:
    """Return the kernel of a model that calls `sklearn.metrics.pairwise`, and its points.

    Points are sparse where the model was fitted on sparse rows.
    """
    if name == "precomputed":
        return _precomputed(model, given, len(training))
    points = training if is_sparse(training) else np.asarray(training)
    if callable(name):
        return _own_kernel(model, given.kernel or name), points
    nothing(given, model)
    if name == "linear":
        return Linear(), points
    if name in ("rbf", "laplacian", "chi2"):
        default = 1.0 if name == "chi2" else 1.0 / points.shape[1]
        return of_rate(name, default if gamma is None else float(gamma)), points
    shown = f"{type(model).__name__}(kernel={name!r})"
    if name in ("poly", "polynomial"):
        rate = 1.0 / points.shape[1] if gamma is None else float(gamma)
        others = getattr(model, "kernel_params", None) or {}  # of Nystroem, where its own are None
        degree, coef0 = others.get("degree", 3), others.get("coef0", 1.0)
        degree = degree if model.degree is None else model.degree
        coef0 = coef0 if model.coef0 is None else model.coef0
        return polynomial(float(degree), rate, float(coef0), shown), points
    raise no_sum_of_products(shown, name)


def with_digits(model: Any, f: KernelExpansion, own: Callable[[Any], Any]) -> Reading:
    """Return the reading of a model that calls `sklearn.metrics.pairwise`, if that is exact enough.

    scikit-learn's rbf_kernel computes squared distances as ``|x|^2 + |z|^2 - 2 x z``, which loses
    digits far from 0. As long as predictions hardly notice, the formula is what is explained.
    """
    if model.kernel != "rbf" or not isinstance(f.kernel, RBF):
        return Reading(f, own)
    scaled = f.kept_points / f.kernel.length_scale
    tol = TOL + 16.0 * 2.0**-52 * float((scaled * scaled).sum(axis=1).max())
    if tol <= _NOTICED:
        return Reading(f, own, tol)
    rows = f.kept_points[:: max(1, f.shape[0] // 50)]
    ours = f.predict(rows)
    theirs = np.asarray(own(rows)).reshape(ours.shape)
    size = np.maximum(np.abs(theirs).max(axis=0), np.abs(ours).max(axis=0))
    share = float(np.max(np.abs(ours - theirs).max(axis=0) / np.where(size > 0.0, size, 1.0)))
    said = (
        f"the columns of this {type(model).__name__} lie so far from 0 that scikit-learn's rbf "
        "kernel loses digits, and predictions are off by"
    )
    todo = "Centre or scale the columns, for example with StandardScaler, and refit."
    if not share <= _TOO_MUCH:
        raise UnsupportedModelError(
            f"{said} more than {_TOO_MUCH:g} of the largest: values would explain another "
            f"function. {todo}"
        )
    if share > _NOTICED:
        warnings.warn(
            f"{said} {share:.0e} of the largest. The values are those of the exact kernel. {todo}",
            stacklevel=outside(),
        )
    return Reading(f, own, tol)


def _own_kernel(model: Any, kernel: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    shown = getattr(kernel, "__name__", type(kernel).__name__)
    raise UnsupportedModelError(
        f"{type(model).__name__} has a kernel of its own ({shown}), whose factors cannot be read "
        "off; pass the same kernel as a pkex kernel: pkex.as_expansion(model, kernel=...)."
    )


def _precomputed(model: Any, given: Given, n_points: int) -> tuple[Kernel, Floats]:
    if given.kernel is None or given.points is None:
        raise UnsupportedModelError(
            f"{type(model).__name__} was fitted with kernel='precomputed' and knows neither its "
            "kernel nor its points; pass both: "
            "pkex.as_expansion(model, kernel=..., points=X_train)."
        )
    points = as_matrix(given.points, "points", names=column_names(given.points, "points"))
    if len(points) != n_points:
        raise ValueError(
            f"points has {len(points)} rows, but this {type(model).__name__} was fitted on the "
            f"kernel matrix of {n_points} points; pass exactly these, in their order."
        )
    return _own_kernel(model, given.kernel), points
