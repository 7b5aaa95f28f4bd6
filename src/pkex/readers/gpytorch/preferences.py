"""The reader of `PairwiseGP`, which learns a utility from preferences between pairs of rows.

Laplace's approximation has the utilities u of the rows X that were compared, at the mode, and the
Hessian H of the negative log likelihood there. With ``K = k(X, X) = L L'`` the utility of a row is

    m(x) + k(x, X) K^-1 (u - m(X)),

and the data explain ``k(x, X) (I + H K)^-1 H k(X, z)`` of its covariance. H has no inverse, as
preferences say nothing of a constant. With ``M = L' H L`` this is ``k(x, X) L^-T C L^-1 k(X, z)``
and ``C = M (I + M)^-1``, as of a variational process.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from gpytorch.distributions import MultivariateNormal

from pkex.errors import UnsupportedModelError
from pkex.readers import Given, Reading
from pkex.readers.gpytorch.copies import compute_exactly, for_predictions
from pkex.readers.gpytorch.models import Process, refuse_foreign
from pkex.readers.reading import refuse_given

__all__ = ["read_pairwise_process"]

_NOTE = "Outputs are latent utilities: preferences determine them up to a constant"
# what the model's own deepcopy leaves out
_KEPT = (
    *("consolidated_datapoints", "consolidated_comparisons", "consolidated_indices"),
    *("unconsolidated_datapoints", "unconsolidated_comparisons"),
    *("utility", "covar", "covar_chol", "covar_inv", "likelihood_hess", "hlcov_eye"),
)


def read_pairwise_process(model: Any, given: Given) -> Reading:
    """PairwiseGP: the posterior mean of the latent utility."""
    refuse_given(given, model)
    refuse_foreign(model)
    if model.datapoints is None or model.comparisons is None:
        raise UnsupportedModelError(
            f"this {type(model).__name__} has no comparisons, so it cannot be explained: its "
            "prior does not depend on data. Call set_train_data first."
        )
    working = _copy(model)
    with compute_exactly():
        points = working.transform_inputs(working.datapoints)
        prior = _prior(working, points)
        left = (working.utility - prior.mean).unsqueeze(-1)
        root = working.covar_chol
        alpha = torch.cholesky_solve(left, root).squeeze(-1)
        seen = root.mT @ working.likelihood_hess @ root
        unit = torch.eye(root.shape[-1], dtype=root.dtype)
        core = torch.linalg.solve(unit + seen, seen)

    def forward(rows: Any) -> Any:
        return _prior(working, rows)

    reading = Process(
        working, forward, points, prior, alpha, "training points", root, core=0.5 * (core + core.mT)
    ).reading()
    return replace(reading, notes=(_NOTE,))


def _prior(working: Any, rows: Any) -> Any:
    return MultivariateNormal(working.mean_module(rows), working.covar_module(rows))


def _copy(model: Any) -> Any:
    """Return a copy for predictions, in float64 on the CPU."""
    copied = deepcopy(model)
    for name in _KEPT:
        value = getattr(model, name)
        setattr(copied, name, None if value is None else value.detach().clone())
    copied = for_predictions(copied)
    if copied.utility is None:
        copied._update(copied.transform_inputs(copied.datapoints))
    return copied
