"""Models of GPyTorch and BoTorch: the list that is explained, and the list that is refused.

These need torch and are run by `make torch`, in an environment of their own. What they are compared
with is the models' own posterior mean, at rows that are put together from a row and a background.
"""

from tests._support.torch_models import cases, optimisation
from tests._support.torch_models.refusals import REFUSALS

__all__ = ["MODELS", "REFUSALS"]

MODELS = [*cases.MODELS, *optimisation.MODELS]
