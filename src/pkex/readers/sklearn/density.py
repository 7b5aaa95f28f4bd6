"""Reader of scikit-learn's kernel density estimate."""

from __future__ import annotations

import math
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError
from pkex.kernels import RBF, Laplacian, Matern
from pkex.kernels.algebra import Kernel
from pkex.models.expansion import KernelExpansion
from pkex.readers.reading import Given, Reading, refuse_given
from pkex.readers.sklearn.kernels import no_sum_of_products
from pkex.readers.sklearn.plain import call, check_fitted, names_of

__all__ = ["read_kernel_density"]

# the order of the norm behind the names that KernelDensity has for it
_ORDERS = {"euclidean": 2, "l2": 2, "minkowski": 2, "p": 2, "manhattan": 1, "l1": 1, "cityblock": 1}


def read_kernel_density(model: Any, given: Given) -> Reading:
    """KernelDensity: the density itself, not its logarithm, which is not a sum."""
    check_fitted(model, "tree_")
    refuse_given(given, model)
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
            f"KernelDensity with kernel={model.kernel!r} and metric={model.metric!r} is not a sum "
            "of products over columns; gaussian with the Euclidean metric is, and exponential "
            "with the Euclidean metric or metric='manhattan'. Refit with one of these."
        )
    weights = model.tree_.sample_weight
    alpha = np.ones(len(points)) if weights is None else np.array(weights)
    exact = copy(model)
    exact.rtol = exact.atol = 0.0
    density = partial(_density, exact)
    # the norm of the kernel is taken from the model's own density at one of its points
    worth = float(kernel(points[:1], points)[0] @ alpha)
    with np.errstate(over="ignore"):
        unit = float(density(points[:1])[0]) / worth
    if not 0.0 < unit < math.inf:
        raise UnsupportedModelError(
            f"the density of this KernelDensity over {points.shape[1]} columns is too "
            f"{'small' if unit == 0.0 else 'large'} for double precision; scale the columns or "
            "choose another bandwidth."
        )
    names = names_of(model, given)
    f = KernelExpansion(points, alpha * unit, kernel, 0.0, names, background="training points")
    return Reading(f, density)


def _density(model: Any, X: Any) -> Floats:
    density: Floats = np.exp(call(model, "score_samples", Given(), X))
    return density
