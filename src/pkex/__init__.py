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

if TYPE_CHECKING:  # with `as`, which offers a name to those who import it from here
    from pkex import errors as errors
    from pkex import games as games
    from pkex import kernels as kernels
    from pkex import readers as readers
    from pkex import reference as reference
    from pkex.errors import AdditivityError as AdditivityError
    from pkex.errors import PerformanceWarning as PerformanceWarning
    from pkex.errors import PrecisionWarning as PrecisionWarning
    from pkex.errors import UnsupportedModelError as UnsupportedModelError
    from pkex.explain.change import change as change
    from pkex.explain.compare import compare as compare
    from pkex.explain.explainer import Explainer as Explainer
    from pkex.explain.permutation import permutation_importance as permutation_importance
    from pkex.explain.sage import sage as sage
    from pkex.explain.sensitivity import sensitivity as sensitivity
    from pkex.games.backend import show_config as show_config
    from pkex.models.expansion import KernelExpansion as KernelExpansion
    from pkex.models.posterior import Posterior as Posterior
    from pkex.readers import as_expansion as as_expansion
    from pkex.results.attribution import Attribution as Attribution
    from pkex.results.change import Change as Change
    from pkex.results.comparison import Comparison as Comparison
    from pkex.results.effects import Effects as Effects
    from pkex.results.explanation import Explanation as Explanation
    from pkex.results.gradients import Gradients as Gradients
    from pkex.results.importance import Importance as Importance
    from pkex.results.influence import Influence as Influence
    from pkex.results.interactions import Interaction as Interaction
    from pkex.results.interactions import Interactions as Interactions
    from pkex.results.leave_one_out import LeaveOneOut as LeaveOneOut
    from pkex.results.sensitivity import Sensitivity as Sensitivity
    from pkex.results.sparse import SparseExplanation as SparseExplanation
    from pkex.statistics.drift import MMDDrift as MMDDrift
    from pkex.statistics.hsic import hsic as hsic
    from pkex.statistics.mmd import mmd as mmd
    from pkex.statistics.selector import HSICSelector as HSICSelector

__version__ = "0.1.0.dev0"

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
__all__ = sorted({*_HOMES, *_MODULES})


if not TYPE_CHECKING:  # or type checkers would take every name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'pkex' has no attribute {name!r}")
        module = import_module(f"pkex.{name if name in _MODULES else _HOMES[name]}")
        globals()[name] = value = module if name in _MODULES else getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
