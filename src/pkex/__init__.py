"""Exact Shapley values for kernel machines.

A model ``f(x) = sum_i alpha_i k(x, x_i) + offset`` with a product kernel is a `KernelExpansion`;
`Explainer` gives every feature its exact Shapley value, in time that grows about linearly with the
number of features. `pkex.kernels` has the kernels, `pkex.rules` the quadrature rules and their
proofs, `pkex.reference` the algorithms of the paper (PKeX-Shapley; Mohammadi, Chau, Muandet).
"""

from pkex import kernels, reference, rules
from pkex.backend import show_config
from pkex.errors import AdditivityError, UnsupportedModelError
from pkex.expansion import KernelExpansion
from pkex.explainer import Explainer
from pkex.explanation import Explanation
from pkex.readers import as_expansion

__version__ = "0.1.0.dev0"

__all__ = [
    "AdditivityError",
    "Explainer",
    "Explanation",
    "KernelExpansion",
    "UnsupportedModelError",
    "as_expansion",
    "kernels",
    "reference",
    "rules",
    "show_config",
]
