"""Exact Shapley values for kernel machines.

A model ``f(x) = sum_i alpha_i k(x, x_i) + offset`` with a product kernel is a `KernelExpansion`;
`Explainer` gives every feature its exact Shapley value, in time that grows about linearly with the
number of features. `mmd` and `hsic` do so for the difference of two samples and for the dependence
of a target on the columns, as an `Attribution`. `pkex.kernels` has the kernels, `pkex.games` the
semivalues and quadrature rules, `pkex.reference` the algorithms of the paper (PKeX-Shapley;
Mohammadi, Chau, Muandet).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pkex import errors, games, kernels, readers, reference
    from pkex.errors import (
        AdditivityError,
        PerformanceWarning,
        PrecisionWarning,
        UnsupportedModelError,
    )
    from pkex.explain.explainer import Explainer
    from pkex.explain.sensitivity import sensitivity
    from pkex.games.backend import show_config
    from pkex.models.expansion import KernelExpansion
    from pkex.readers import as_expansion
    from pkex.results.attribution import Attribution
    from pkex.results.explanation import Explanation
    from pkex.results.importance import Importance
    from pkex.results.interactions import Interactions
    from pkex.results.sensitivity import Sensitivity
    from pkex.results.sparse import SparseExplanation
    from pkex.statistics.drift import MMDDrift
    from pkex.statistics.hsic import hsic
    from pkex.statistics.mmd import mmd
    from pkex.statistics.selector import HSICSelector

__version__ = "0.1.0.dev0"

__all__ = [
    "AdditivityError",
    "Attribution",
    "Explainer",
    "Explanation",
    "HSICSelector",
    "Importance",
    "Interactions",
    "KernelExpansion",
    "MMDDrift",
    "PerformanceWarning",
    "PrecisionWarning",
    "Sensitivity",
    "SparseExplanation",
    "UnsupportedModelError",
    "as_expansion",
    "errors",
    "games",
    "hsic",
    "kernels",
    "mmd",
    "readers",
    "reference",
    "sensitivity",
    "show_config",
]

_HOMES = {  # the module of a name that is not a module; imported when the name is first used
    "AdditivityError": "errors",
    "Attribution": "results.attribution",
    "Explainer": "explain.explainer",
    "Explanation": "results.explanation",
    "HSICSelector": "statistics.selector",
    "Importance": "results.importance",
    "Interactions": "results.interactions",
    "KernelExpansion": "models.expansion",
    "MMDDrift": "statistics.drift",
    "PerformanceWarning": "errors",
    "PrecisionWarning": "errors",
    "Sensitivity": "results.sensitivity",
    "SparseExplanation": "results.sparse",
    "UnsupportedModelError": "errors",
    "as_expansion": "readers",
    "hsic": "statistics.hsic",
    "mmd": "statistics.mmd",
    "sensitivity": "explain.sensitivity",
    "show_config": "games.backend",
}


if not TYPE_CHECKING:  # or type checkers would take every name

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            value = getattr(import_module(f"pkex.{_HOMES[name]}"), name)
        elif name in __all__:
            value = import_module(f"pkex.{name}")
        else:
            raise AttributeError(f"module 'pkex' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
