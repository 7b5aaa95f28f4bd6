"""Models of GPyTorch and BoTorch that are refused, with words of the sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from botorch.models import KroneckerMultiTaskGP, SingleTaskGP, SingleTaskMultiFidelityGP
from botorch.models.fully_bayesian_multitask import SaasFullyBayesianMultiTaskGP
from botorch.models.kernels import DownsamplingKernel
from botorch.models.pairwise_gp import PairwiseGP
from botorch.models.transforms.input import AppendFeatures
from botorch.models.transforms.outcome import ChainedOutcomeTransform, Log, Power
from gpytorch.distributions import MultitaskMultivariateNormal
from gpytorch.kernels import CosineKernel, MultitaskKernel, RBFKernel, SpectralMixtureKernel
from gpytorch.likelihoods import MultitaskGaussianLikelihood
from gpytorch.means import ConstantMean, Mean, MultitaskMean
from gpytorch.variational import CiqVariationalStrategy

from tests._support.torch_models.cases import CODES, TWO, UNIT, Plain, Sparse, X, Y, sampled, single


@dataclass(frozen=True)
class Refusal:
    """A model that is refused, and words of the sentence that says why and what to do."""

    name: str
    make: Callable[[], Any]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


class Squares(Mean):
    """A mean that is no affine function."""

    def forward(self, x):
        return (x**2).sum(-1)


class Deep(Plain):
    """A process behind a network."""

    def __init__(self):
        super().__init__(ConstantMean(), RBFKernel())
        self.network = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())

    def forward(self, x):
        return super().forward(self.network(x))


class Calls(Plain):
    """A process that makes its predictions in another way."""

    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class OfTasks(Plain):
    """A process of two outputs at once."""

    def __init__(self):
        mean = MultitaskMean(ConstantMean(), num_tasks=2)
        kernel = MultitaskKernel(RBFKernel(), num_tasks=2, rank=1)
        super().__init__(mean, kernel, X, TWO, MultitaskGaussianLikelihood(num_tasks=2))

    def forward(self, x):
        return MultitaskMultivariateNormal(self.mean_module(x), self.covar_module(x))


class OwnKernel(RBFKernel):
    """A kernel of somebody's own."""


class OwnPosterior(SingleTaskGP):
    """A BoTorch model that says something else."""

    def posterior(self, X, **kwargs):
        return super().posterior(2.0 * X, **kwargs)


def unsampled():
    model = sampled()
    model.covar_module = None
    return model


def doubled(rows):
    return rows.sum(-1, keepdim=True).unsqueeze(-2)


TASKED = torch.cat([X, CODES[:, :1]], dim=1)


def sampled_tasks():
    return SaasFullyBayesianMultiTaskGP(TASKED, Y[:, None], task_feature=4)


def backwards():
    """Return a model with the logarithm behind a scaling."""
    model = single()()
    model.outcome_transform = ChainedOutcomeTransform(s=model.outcome_transform, log=Log())
    return model


REFUSALS = [
    Refusal("SpectralMixtureKernel", lambda: Plain(ConstantMean(), SpectralMixtureKernel(
            2, ard_num_dims=4)), ("SpectralMixtureKernel", "RBFKernel", "shap.KernelExplainer")),
    Refusal("CosineKernel", lambda: Plain(ConstantMean(), CosineKernel()), ("CosineKernel",)),
    Refusal("a kernel of one's own", lambda: Plain(ConstantMean(), OwnKernel()), ("OwnKernel",)),
    Refusal("a mean that is not affine", lambda: Plain(Squares(), RBFKernel()),
            ("not an affine function", "LinearMean")),
    Refusal("a network in front of the kernel", Deep, ("transforms its rows", "Normalize")),
    Refusal("a __call__ of one's own", lambda: Calls(ConstantMean(), RBFKernel()),
            ("Calls overrides ExactGP.__call__", "plain ExactGP")),
    Refusal("a posterior of one's own", lambda: OwnPosterior(X, Y[:, None]),
            ("OwnPosterior overrides SingleTaskGP.posterior", "plain SingleTaskGP")),
    Refusal("several outputs at once", OfTasks, ("MultitaskMultivariateNormal", "ModelListGP")),
    Refusal("SaasFullyBayesianMultiTaskGP", sampled_tasks, ("each sample", "ModelListGP")),
    Refusal("KroneckerMultiTaskGP, a batch", lambda: KroneckerMultiTaskGP(
            torch.stack([X, X]), torch.stack([TWO, TWO])), ("batch of models", "one by one")),
    Refusal("PairwiseGP without comparisons", lambda: PairwiseGP(None, None),
            ("no comparisons", "set_train_data")),
    Refusal("LinearTruncatedFidelityKernel of two fidelities", lambda: SingleTaskMultiFidelityGP(
            UNIT, Y[:, None], data_fidelities=[3], iteration_fidelity=2),
            ("LinearTruncatedFidelityKernel", "not a sum of products", "linear_truncated=False")),
    Refusal("two LinearTruncatedFidelityKernels", lambda: SingleTaskMultiFidelityGP(
            UNIT, Y[:, None], data_fidelities=[2, 3]), ("multiplies two radial kernels",)),
    Refusal("DownsamplingKernel of two columns", lambda: Plain(ConstantMean(),
            DownsamplingKernel(active_dims=(0, 1)), UNIT), ("DownsamplingKernel", "2 columns")),
    Refusal("ExactGP without data", lambda: Plain(ConstantMean(), RBFKernel(), None, None),
            ("no training data",)),
    Refusal("SAAS without samples", unsampled, ("not fitted", "fit_fully_bayesian_model_nuts")),
    Refusal("outcome transform Power", single(y=Y[:, None] + 1.0, outcome_transform=Power(0.5)),
            ("Power", "not affine", "transformed target")),
    Refusal("outcome transforms Standardize, Log", backwards,
            ("Log", "not affine", "in front of it")),
    Refusal("input transform AppendFeatures", single(input_transform=AppendFeatures(f=doubled,
            transform_on_train=True), covar_module=RBFKernel()), ("AppendFeatures", "combine")),
    Refusal("a batch of models", lambda: SingleTaskGP(torch.stack([UNIT, UNIT]),
            torch.stack([Y, Y])[:, :, None]), ("batch of models", "one by one")),
    Refusal("CiqVariationalStrategy", lambda: Sparse(CiqVariationalStrategy),
            ("CiqVariationalStrategy", "UnwhitenedVariationalStrategy")),
]  # fmt: skip
