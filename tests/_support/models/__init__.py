"""The shared list of fitted models: a model that joins it joins every test and the support page.

Nothing here goes through pkex's readers. What a model is, as a game, is written down a second time
(`oracle.py`) from the attributes that its `predict` uses and from scikit-learn's own kernel
functions, applied to the columns of one player or of those that are present. By default (marginal
removal) an absent player has the mean of its kernel factor over the points, which are data in all
these models; under neutral removal it has the factor 1. Kernels with a linear part have no such
factor: they come with a background, which absent columns take their values from under
interventional removal. Linear models keep no data and average over the background. For pipelines,
the input column that each prepared column is made from is written by hand.

Every file has the cases of one kind of model. A new model joins the list of its file; a new list
joins `MODELS` here. What is refused joins `REFUSALS` in `refusals.py`.
"""

from tests._support.models.calibrated import CALIBRATED
from tests._support.models.kernel_methods import RIDGES, UNSUPERVISED
from tests._support.models.landmarks import LANDMARKS
from tests._support.models.linear import LINEAR
from tests._support.models.pipelines import PIPELINES
from tests._support.models.processes import PROCESSES
from tests._support.models.refusals import REFUSALS
from tests._support.models.vector_machines import VECTOR_MACHINES
from tests._support.models.weights import LINEAR_MODELS
from tests._support.models.wrappers import WRAPPERS

__all__ = ["MODELS", "REFUSALS"]

MODELS = [
    *(*VECTOR_MACHINES, *RIDGES, *UNSUPERVISED, *PROCESSES, *LINEAR, *PIPELINES, *WRAPPERS),
    *(*LINEAR_MODELS, *LANDMARKS, *CALIBRATED),
]
