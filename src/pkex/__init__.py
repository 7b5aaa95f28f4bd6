"""Exact Shapley values for kernel machines.

A model ``f(x) = sum_i alpha_i k(x, x_i) + intercept`` with a product kernel is a `KernelExpansion`;
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
    from pkex.explain.change import change
    from pkex.explain.compare import compare
    from pkex.explain.explainer import Explainer
    from pkex.explain.permutation import permutation_importance
    from pkex.explain.sage import sage
    from pkex.explain.sensitivity import sensitivity
    from pkex.games.backend import show_config
    from pkex.models.expansion import KernelExpansion
    from pkex.models.posterior import Posterior
    from pkex.readers import as_expansion
    from pkex.results.attribution import Attribution
    from pkex.results.change import Change
    from pkex.results.comparison import Comparison
    from pkex.results.effects import Effects
    from pkex.results.explanation import Explanation
    from pkex.results.gradients import Gradients
    from pkex.results.importance import Importance
    from pkex.results.influence import Influence
    from pkex.results.interactions import Interaction, Interactions
    from pkex.results.leave_one_out import LeaveOneOut
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
    "Change",
    "Comparison",
    "Effects",
    "Explainer",
    "Explanation",
    "Gradients",
    "HSICSelector",
    "Importance",
    "Influence",
    "Interaction",
    "Interactions",
    "KernelExpansion",
    "LeaveOneOut",
    "MMDDrift",
    "PerformanceWarning",
    "Posterior",
    "PrecisionWarning",
    "Sensitivity",
    "SparseExplanation",
    "UnsupportedModelError",
    "as_expansion",
    "change",
    "compare",
    "errors",
    "games",
    "hsic",
    "kernels",
    "mmd",
    "permutation_importance",
    "readers",
    "reference",
    "sage",
    "sensitivity",
    "show_config",
]

_MODULES = {"errors", "games", "kernels", "readers", "reference"}
_HOMES = {  # the module of a name, imported when the name is first used
    "AdditivityError": "errors",
    "Attribution": "results.attribution",
    "Change": "results.change",
    "Comparison": "results.comparison",
    "Effects": "results.effects",
    "Explainer": "explain.explainer",
    "Explanation": "results.explanation",
    "Gradients": "results.gradients",
    "HSICSelector": "statistics.selector",
    "Importance": "results.importance",
    "Influence": "results.influence",
    "Interaction": "results.interactions",
    "Interactions": "results.interactions",
    "KernelExpansion": "models.expansion",
    "LeaveOneOut": "results.leave_one_out",
    "MMDDrift": "statistics.drift",
    "PerformanceWarning": "errors",
    "Posterior": "models.posterior",
    "PrecisionWarning": "errors",
    "Sensitivity": "results.sensitivity",
    "SparseExplanation": "results.sparse",
    "UnsupportedModelError": "errors",
    "as_expansion": "readers",
    "change": "explain.change",
    "compare": "explain.compare",
    "hsic": "statistics.hsic",
    "mmd": "statistics.mmd",
    "permutation_importance": "explain.permutation",
    "sage": "explain.sage",
    "sensitivity": "explain.sensitivity",
    "show_config": "games.backend",
}


if not TYPE_CHECKING:  # or type checkers would take every name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'pkex' has no attribute {name!r}")
        module = import_module(f"pkex.{name if name in _MODULES else _HOMES[name]}")
        globals()[name] = value = module if name in _MODULES else getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
