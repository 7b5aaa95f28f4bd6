"""Readers of scikit-learn's kernel machines: their coefficients, in the sign their methods have.

Each returns the expansion together with the method of the model that it must agree with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from pkex._util.sparse import is_sparse, to_dense
from pkex._util.types import Floats
from pkex._util.validation import as_matrix, column_names
from pkex.errors import UnsupportedModelError
from pkex.kernels import RBF, Linear
from pkex.kernels.algebra import Kernel
from pkex.models.classes import CHOICES, Classes, ClassMeans, make_pairs
from pkex.models.expansion import KernelExpansion
from pkex.models.expansion_base import Data
from pkex.models.sums import combine_outputs, evolve, stack
from pkex.readers.bayes_opt import is_wrapped, read_wrapped_process
from pkex.readers.reading import TOL, Chain, Given, Reading, refuse_given, warn_user
from pkex.readers.sklearn.kernels import (
    from_gaussian_process,
    kernel_from_rate,
    no_sum_of_products,
    polynomial,
)
from pkex.readers.sklearn.log_odds import read_platt_scaled
from pkex.readers.sklearn.plain import call, check_fitted, frozen_predict, names_of
from pkex.readers.sklearn.posterior import make_laplace_posterior, make_posterior

__all__ = [
    "DECISION",
    "inlier",
    "pairwise",
    "read_against_the_rest",
    "read_by_pairs",
    "read_classification_machine",
    "read_gaussian_process",
    "read_gaussian_process_classifier",
    "read_kernel_pca",
    "read_kernel_ridge",
    "read_of_each_class",
    "read_one_class_machine",
    "read_regression_machine",
    "read_two_classes",
    "read_with_digits",
]


# what the points of the models are: data, both
_VECTORS, _TRAINING = "support vectors", "training points"
DECISION, LATENT = "decision function", "latent mean"

# how far predictions may be from the formula, relative to the largest, without and with a warning
_NOTICED, _TOO_MUCH = 1e-6, 1e-3


def read_regression_machine(model: Any, given: Given) -> Reading:
    """SVR and NuSVR: `predict`."""
    kernel, points = _machine(model, given)
    alpha = to_dense(model.dual_coef_)[0]
    data: Data | None = Data(points, _VECTORS, model.shape_fit_[0])
    if not points.shape[0]:  # every target lies within epsilon of the intercept: a constant
        points, alpha, data = np.zeros((1, points.shape[1])), np.zeros(1), None
    names = names_of(model, given)
    f = KernelExpansion(points, alpha, kernel, model.intercept_, names, background=data)
    return Reading(f, partial(call, model, "predict", given))


def read_one_class_machine(model: Any, given: Given) -> Reading:
    """OneClassSVM: `decision_function`, which is positive for inliers."""
    kernel, points = _machine(model, given)
    alpha, names = to_dense(model.dual_coef_)[0], names_of(model, given)
    data = Data(points, _VECTORS, model.shape_fit_[0])
    f = KernelExpansion(points, alpha, kernel, model.intercept_, names, background=data)
    predict = Chain(frozen_predict(model, given), inlier)
    classes = Classes(("outlier", "inlier"), (("inlier", "outlier"),), DECISION, predict)
    return Reading(f, partial(call, model, "decision_function", given), classes=classes)


def read_classification_machine(model: Any, given: Given) -> Reading:
    """SVC and NuSVC: the decision function; for k classes, the mean of those of its pairs.

    With ``probability=True`` and two classes ``outputs="log-odds"`` explains the log-odds. A
    positive value pushes towards the class, or for the one named first. The scores of
    ``decision_function_shape="ovr"`` count votes of the pairs; votes are steps, not sums of
    kernels, so no values can add up to them.
    """
    kernel, points = _machine(model, given)
    classes, dual = model.classes_, to_dense(model.dual_coef_)
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
    decide = partial(call, one_vs_one, "decision_function", given)
    predict = frozen_predict(model, given)
    if len(classes) == 2:
        reading = read_two_classes(Reading(f, decide), classes, DECISION, predict)
        return read_platt_scaled(model, reading, given)
    return read_by_pairs(Reading(f, decide), classes, DECISION, predict, given, positive=0)


def read_kernel_ridge(model: Any, given: Given) -> Reading:
    """KernelRidge: `predict`, for one or several targets."""
    check_fitted(model, "dual_coef_")
    kernel, points = pairwise(model, model.kernel, model.gamma, model.X_fit_, given)
    f = KernelExpansion(
        points,
        model.dual_coef_,
        kernel,
        0.0,
        names_of(model, given),
        background=_TRAINING,
        ridge=model.alpha,
    )
    return read_with_digits(model, f, partial(call, model, "predict", given))


def read_kernel_pca(model: Any, given: Given) -> Reading:
    """KernelPCA: `transform`, each component with the centring of the kernel.

    With scaled eigenvectors A the component is ``sum_i A_i kc(x, x_i)``, where the centred kernel
    kc subtracts the means over the training points; that is an expansion with the coefficients
    ``A_i - mean(A)`` and an intercept.
    """
    check_fitted(model, "eigenvectors_")
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
    return read_with_digits(model, f, partial(call, model, "transform", given))


def read_gaussian_process(model: Any, given: Given) -> Reading:
    """GaussianProcessRegressor: the mean, in the units of the target, and its posterior."""
    check_fitted(
        model, "X_train_", "It was not fitted; the prior of a Gaussian process is zero everywhere"
    )
    refuse_given(given, model)
    if is_wrapped(model.kernel_):
        return read_wrapped_process(model, given, read_gaussian_process)
    kernel = from_gaussian_process(model.kernel_, model.X_train_.shape[1])
    f = KernelExpansion(
        model.X_train_,
        model.alpha_ * model._y_train_std,
        kernel,
        model._y_train_mean,
        names_of(model, given),
        background=_TRAINING,
        posterior=make_posterior(model, kernel),
    )
    return Reading(f, partial(call, model, "predict", given))


def read_gaussian_process_classifier(model: Any, given: Given) -> Reading:
    """GaussianProcessClassifier: the latent mean; for several classes as the model has them.

    With ``multi_class="one_vs_one"`` that is, for each class, the mean over its pairs.
    """
    check_fitted(model, "base_estimator_")
    refuse_given(given, model)
    base, classes, names = model.base_estimator_, model.classes_, names_of(model, given)
    predict = frozen_predict(model, given)
    if len(classes) == 2:
        reading = Reading(_laplace(base, names), partial(_latent, base))
        return read_two_classes(reading, classes, LATENT, predict)
    parts = [_laplace(machine, names) for machine in base.estimators_]
    unnamed = [f"y{i}" for i in range(len(parts))]
    reading = Reading(stack(parts, unnamed), partial(_latents, tuple(base.estimators_)))
    if model.multi_class == "one_vs_rest":
        return read_against_the_rest(reading, classes, LATENT, predict)
    return read_by_pairs(reading, classes, LATENT, predict, given, positive=1)


def read_two_classes(
    reading: Reading, labels: Sequence[Any], number: str, predict: Callable[[Any], Any] | None
) -> Reading:
    """Return the reading of a machine whose positive values push towards the second class."""
    no, yes = map(str, labels)
    return replace(
        reading,
        expansion=evolve(reading.expansion, output_names=[f"{yes} vs {no}"]),
        classes=Classes((no, yes), ((yes, no),), number, predict),
    )


def read_against_the_rest(
    reading: Reading, labels: Sequence[Any], number: str, predict: Callable[[Any], Any]
) -> Reading:
    """Return the reading of machines that each tell one class from all others."""
    return read_of_each_class(reading, labels, f"{number} of each class against the rest", predict)


def read_of_each_class(
    reading: Reading, labels: Sequence[Any], number: str, predict: Callable[[Any], Any] | None
) -> Reading:
    """Return the reading of a model with one function for each class."""
    names = tuple(map(str, labels))
    return replace(
        reading,
        expansion=evolve(reading.expansion, output_names=names),
        classes=Classes(names, tuple((name, None) for name in names), number, predict),
    )


def read_by_pairs(
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
    0 or 1, positive values push towards.
    """
    names = tuple(map(str, labels))
    if given.outputs == "ovo":
        pairs = make_pairs(names, positive)
        titles = [f"{yes} vs {no}" for yes, no in pairs]
        classes = Classes(names, pairs, f"{number} of each pair of classes", predict)
        expansion = evolve(reading.expansion, output_names=titles)
        return replace(reading, expansion=expansion, classes=classes, choices=CHOICES)
    means = ClassMeans(len(names), positive)
    reading = replace(
        reading,
        expansion=combine_outputs(reading.expansion, means.weights, names),
        predict=Chain(reading.predict, means),
        choices=CHOICES,
    )
    means_number = f"mean {number} of each class against each other class"
    return read_of_each_class(reading, names, means_number, predict)


def _laplace(machine: Any, names: Any) -> KernelExpansion:
    kernel = from_gaussian_process(machine.kernel_, machine.X_train_.shape[1])
    return KernelExpansion(
        machine.X_train_,
        machine.y_train_ - machine.pi_,
        kernel,
        0.0,
        names,
        background=_TRAINING,
        posterior=make_laplace_posterior(machine, kernel),
    )


def _latent(machine: Any, X: Any) -> Floats:
    mean: Floats = machine.kernel_(machine.X_train_, np.asarray(X)).T @ (
        machine.y_train_ - machine.pi_
    )
    return mean


def _latents(machines: tuple[Any, ...], X: Any) -> Floats:
    return np.stack([_latent(machine, X) for machine in machines], axis=1)


def inlier(signs: Any) -> Any:
    """Return the words for what one-class machines predict, 1 and -1."""
    return np.where(np.asarray(signs) > 0, "inlier", "outlier")


def _machine(model: Any, given: Given) -> tuple[Kernel, Any]:
    """Return the kernel of a fitted support vector machine, and its support vectors.

    These are sparse where it was fitted on sparse rows.
    """
    check_fitted(model, "dual_coef_")
    if callable(model.kernel):
        kernel = given.kernel or model.kernel
        points = given.points if given.points is not None else model._BaseLibSVM__Xfit
        return _callable_kernel(model, kernel), as_matrix(points, "points")[model.support_]
    if model.kernel == "precomputed":
        kernel, points = _precomputed(model, given, int(model.shape_fit_[0]))
        return kernel, points[model.support_]
    refuse_given(given, model)
    if model.kernel == "rbf":
        return kernel_from_rate("rbf", float(model._gamma)), model.support_vectors_
    if model.kernel == "linear":
        return Linear(), to_dense(model.support_vectors_)
    shown = f"{type(model).__name__}(kernel={model.kernel!r})"
    if model.kernel == "poly":
        kernel = polynomial(model.degree, float(model._gamma), float(model.coef0), shown)
        return kernel, to_dense(model.support_vectors_)
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
        return _callable_kernel(model, given.kernel or name), points
    refuse_given(given, model)
    if name == "linear":
        return Linear(), points
    if name in ("rbf", "laplacian", "chi2"):
        default = 1.0 if name == "chi2" else 1.0 / points.shape[1]
        return kernel_from_rate(name, default if gamma is None else float(gamma)), points
    shown = f"{type(model).__name__}(kernel={name!r})"
    if name in ("poly", "polynomial"):
        rate = 1.0 / points.shape[1] if gamma is None else float(gamma)
        others = getattr(model, "kernel_params", None) or {}  # of Nystroem, where its own are None
        degree, coef0 = others.get("degree", 3), others.get("coef0", 1.0)
        degree = degree if model.degree is None else model.degree
        coef0 = coef0 if model.coef0 is None else model.coef0
        return polynomial(float(degree), rate, float(coef0), shown), points
    raise no_sum_of_products(shown, name)


def read_with_digits(model: Any, f: KernelExpansion, predict: Callable[[Any], Any]) -> Reading:
    """Return the reading of a model that calls `sklearn.metrics.pairwise`, if that is exact enough.

    scikit-learn's rbf_kernel computes squared distances as ``|x|^2 + |z|^2 - 2 x z``, which loses
    digits far from 0. As long as predictions hardly notice, the formula is what is explained.
    """
    if model.kernel != "rbf" or not isinstance(f.kernel, RBF):
        return Reading(f, predict)
    scaled = f.kept_points / f.kernel.length_scale
    tol = TOL + 16.0 * 2.0**-52 * float((scaled * scaled).sum(axis=1).max())
    if tol <= _NOTICED:
        return Reading(f, predict, tol)
    rows = f.kept_points[:: max(1, f.shape[0] // 50)]
    ours = f.predict(rows)
    theirs = np.asarray(predict(rows)).reshape(ours.shape)
    size = np.maximum(np.abs(theirs).max(axis=0), np.abs(ours).max(axis=0))
    share = float(np.max(np.abs(ours - theirs).max(axis=0) / np.where(size > 0.0, size, 1.0)))
    problem = (
        f"the columns of this {type(model).__name__} lie so far from 0 that scikit-learn's rbf "
        "kernel loses digits, and predictions are off by"
    )
    todo = "Centre or scale the columns, for example with StandardScaler, and refit."
    if not share <= _TOO_MUCH:
        raise UnsupportedModelError(
            f"{problem} more than {_TOO_MUCH:g} of the largest: Shapley values would explain a "
            f"different function. {todo}"
        )
    if share > _NOTICED:
        warn_user(
            f"{problem} {share:.0e} of the largest. The values are those of the exact kernel. "
            f"{todo}",
        )
    return Reading(f, predict, tol)


def _callable_kernel(model: Any, kernel: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    shown = getattr(kernel, "__name__", type(kernel).__name__)
    raise UnsupportedModelError(
        f"{type(model).__name__} has a custom kernel ({shown}), which pkex cannot factor over "
        "features; pass the same kernel as a pkex kernel: pkex.as_expansion(model, kernel=...)."
    )


def _precomputed(model: Any, given: Given, n_points: int) -> tuple[Kernel, Floats]:
    if given.kernel is None or given.points is None:
        raise UnsupportedModelError(
            f"{type(model).__name__} was fitted with kernel='precomputed' and stores neither its "
            "kernel nor its points; pass both: pkex.as_expansion(model, kernel=..., "
            "points=X_train)."
        )
    points = as_matrix(given.points, "points", names=column_names(given.points, "points"))
    if len(points) != n_points:
        raise ValueError(
            f"points has {len(points)} rows, but this {type(model).__name__} was fitted on the "
            f"kernel matrix of {n_points} points; pass exactly these, in their order."
        )
    return _callable_kernel(model, given.kernel), points
