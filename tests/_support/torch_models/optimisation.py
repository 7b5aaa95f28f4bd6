"""Models that people optimise with: several tasks, fidelities, logarithms, preferences."""

from __future__ import annotations

from typing import Any

import torch
from botorch.models import (
    KroneckerMultiTaskGP,
    ModelListGP,
    MultiTaskGP,
    SingleTaskGP,
    SingleTaskMultiFidelityGP,
    SingleTaskVariationalGP,
)
from botorch.models.pairwise_gp import PairwiseGP
from botorch.models.transforms.input import Normalize
from botorch.models.transforms.outcome import (
    ChainedOutcomeTransform,
    Log,
    Standardize,
    StratifiedStandardize,
)
from gpytorch.kernels import IndexKernel, RBFKernel
from gpytorch.means import LinearMean

from tests._support.torch_models.cases import (
    CODES,
    TASK_COLUMN,
    TWO,
    UNIT,
    TorchCase,
    X,
    Y,
    scaled,
    shaped,
    single,
    trained,
)

__all__ = ["MODELS", "PAIRS", "TASKS", "log_transform"]

_EDGES = (X[:, :TASK_COLUMN], X[:, TASK_COLUMN:])
TASKS = torch.cat([_EDGES[0], CODES[:, :1], _EDGES[1]], dim=1)
"""Rows with the tasks 0, 1, 2 in the third column."""

OTHER_CODES = torch.tensor([1.0, 4.0, 5.0], dtype=torch.float64)[CODES[:, :1].long()]
OTHER_TASKS = torch.cat([_EDGES[0], OTHER_CODES, _EDGES[1]], dim=1)
BESIDE = torch.cat([X[:, :2], OTHER_CODES, CODES[:, 1:]], dim=1)
FIDELITIES = 0.02 + 0.96 * UNIT  # 0 and 1 are ends, where there is no derivative


def moved(model: Any) -> Any:
    """Return a model whose parameters are not those it began with."""
    for number, parameter in enumerate(model.parameters()):
        steps = torch.arange(parameter.numel(), dtype=parameter.dtype).reshape(parameter.shape)
        parameter.data = parameter.data + 0.3 + 0.2 * torch.sin(number + 2.0 * steps)
    return model.eval()


def tasks(rows: Any = TASKS, **how: Any) -> Any:
    """Return what makes a model of several tasks, the tasks having noise of their own."""
    return lambda: moved(MultiTaskGP(rows, Y[:, None], task_feature=TASK_COLUMN, **how))


def uncorrelated() -> Any:
    """Return a model of tasks of which one has no covariance with another."""
    model = moved(MultiTaskGP(TASKS, Y[:, None], task_feature=TASK_COLUMN))
    kernel = IndexKernel(num_tasks=3, rank=1, active_dims=[TASK_COLUMN])
    kernel.covar_factor.data = torch.tensor([[0.0], [1.2], [-0.7]])
    model.covar_module.kernels[1] = kernel
    return model.double().eval()


def beside_codes() -> Any:
    """Return a model of tasks whose kernel of the data has a matrix for other codes."""
    kernel = RBFKernel(active_dims=[0, 1]) * IndexKernel(num_tasks=3, rank=2, active_dims=[3])
    return moved(MultiTaskGP(BESIDE, Y[:, None], task_feature=2, covar_module=kernel, **GIVEN))


def two_of_tasks() -> Any:
    """Return two models of several tasks, side by side."""
    return ModelListGP(tasks()(), tasks(mean_module=LinearMean(5), **STRATIFIED)())


def equally_scaled() -> Any:
    """Return a model whose tasks differ in their means, but not in their standard deviations."""
    transform = StratifiedStandardize(TASK_COLUMN, torch.arange(3))
    model = tasks(outcome_transform=transform)()
    transform.stdvs.fill_(2.0)
    transform._stdvs_sq.fill_(4.0)
    return model


def fidelity(**how: Any) -> Any:
    """Return what makes a model of several fidelities."""
    return lambda: moved(SingleTaskMultiFidelityGP(FIDELITIES, Y[:, None], **how))


def log_transform(n_outputs: int = 1, **how: Any) -> Any:
    """Return Log and Standardize, one after the other."""
    return ChainedOutcomeTransform(log=Log(**how), standardize=Standardize(n_outputs))


def _pairs() -> Any:
    torch.manual_seed(5)
    pairs = torch.randint(0, len(X), (45, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    better = (Y[pairs[:, 0]] > Y[pairs[:, 1]])[:, None]
    return torch.where(better, pairs, pairs.flip(1))


PAIRS = _pairs()


def preferences(**how: Any) -> Any:
    """Return a model of pairs of rows, of which the first was preferred."""
    model = PairwiseGP(X, PAIRS, **how)
    kernel = model.covar_module.base_kernel
    kernel.lengthscale = torch.tensor([[0.7, 1.3, 0.9, 1.1]], dtype=torch.float64)
    model._update(model.transform_inputs(model.datapoints))
    return model.eval()


STRATA = StratifiedStandardize(TASK_COLUMN, torch.arange(3))
STRATIFIED = {"outcome_transform": STRATA}
LEFT_OUT = [j for j in range(5) if j != TASK_COLUMN]
GIVEN = {"train_Yvar": 0.1 + 0.0 * Y[:, None]}
SEPARATE = {"input_transform": Normalize(5, indices=LEFT_OUT), **GIVEN}
MODELS = [
    TorchCase("MultiTaskGP", tasks(), TASKS, noise_differs=True),
    TorchCase("MultiTaskGP at a task", tasks(), task=1.0),
    TorchCase("MultiTaskGP Normalize, tasks 1, 4 and 5", tasks(OTHER_TASKS, **SEPARATE),
              OTHER_TASKS),
    TorchCase("MultiTaskGP Normalize, one of the tasks 1, 4 and 5", tasks(OTHER_TASKS,
              **SEPARATE), task=4.0),
    TorchCase("MultiTaskGP StratifiedStandardize", tasks(**STRATIFIED), TASKS,
              noise_differs=True),
    TorchCase("MultiTaskGP StratifiedStandardize at a task", tasks(**STRATIFIED), task=2.0),
    TorchCase("MultiTaskGP linear mean, given noise", tasks(mean_module=LinearMean(5),
              **GIVEN), TASKS),
    TorchCase("MultiTaskGP linear mean at a task", tasks(mean_module=LinearMean(5),
              **GIVEN), task=0.0),
    TorchCase("MultiTaskGP with uncorrelated tasks", uncorrelated, TASKS, noise_differs=True),
    TorchCase("MultiTaskGP at a task without correlation", uncorrelated, task=0.0),
    TorchCase("MultiTaskGP at a task of negative correlation", uncorrelated, task=1.0),
    TorchCase("MultiTaskGP beside other codes", beside_codes, BESIDE),
    TorchCase("MultiTaskGP beside other codes, at a task", beside_codes, BESIDE[:, [0, 1, 3]],
              task=4.0),
    TorchCase("MultiTaskGP StratifiedStandardize of equal scales", equally_scaled, TASKS,
              noise_differs=True),
    TorchCase("KroneckerMultiTaskGP", lambda: moved(KroneckerMultiTaskGP(X, TWO)), n_outputs=2),
    TorchCase("KroneckerMultiTaskGP Normalize, Standardize", lambda: moved(KroneckerMultiTaskGP(
              X, TWO, input_transform=Normalize(4), outcome_transform=Standardize(2))),
              n_outputs=2),
    TorchCase("SingleTaskMultiFidelityGP LinearTruncatedFidelityKernel",
              fidelity(data_fidelities=[3]), FIDELITIES),
    TorchCase("SingleTaskMultiFidelityGP DownsamplingKernel, ExponentialDecayKernel",
              fidelity(data_fidelities=[1], iteration_fidelity=3, linear_truncated=False),
              FIDELITIES),
    TorchCase("SingleTaskGP Log, Standardize", single(y=Y[:, None] + 1.0,
              outcome_transform=log_transform())),
    TorchCase("SingleTaskGP Log", single(y=Y[:, None] + 1.0, outcome_transform=Log())),
    TorchCase("SingleTaskVariationalGP Log", lambda: trained(SingleTaskVariationalGP(
              X, Y[:, None] + 1.0, inducing_points=8, outcome_transform=Log())), jitter=1e-6),
    TorchCase("ModelListGP, one with Log", lambda: ModelListGP(
              shaped_model(SingleTaskGP(X, Y[:, None] + 1.0, outcome_transform=log_transform())),
              single(y=TWO[:, 1:], covar_module=scaled(RBFKernel(ard_num_dims=4)))()),
              n_outputs=2),
    TorchCase("ModelListGP of MultiTaskGP", two_of_tasks, TASKS, n_outputs=2, noise_differs=True),
    TorchCase("ModelListGP of MultiTaskGP at a task", two_of_tasks, task=1.0, n_outputs=2),
    TorchCase("PairwiseGP", preferences),
    TorchCase("PairwiseGP Normalize", lambda: preferences(input_transform=Normalize(4))),
]  # fmt: skip


def shaped_model(model: Any) -> Any:
    """Return a model with parameters of its own."""
    shaped(model.covar_module)
    return model.eval()
