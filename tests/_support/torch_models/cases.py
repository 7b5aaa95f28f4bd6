"""Fitted models of GPyTorch and BoTorch; none is trained for long, and all have odd parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import gpytorch
import numpy as np
import torch
from botorch.models import (
    KroneckerMultiTaskGP,
    MixedSingleTaskGP,
    ModelListGP,
    SingleTaskGP,
    SingleTaskVariationalGP,
)
from botorch.models.fully_bayesian import (
    FullyBayesianLinearSingleTaskGP,
    SaasFullyBayesianSingleTaskGP,
)
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.kernels import CategoricalKernel
from botorch.models.map_saas import EnsembleMapSaasSingleTaskGP
from botorch.models.pairwise_gp import PairwiseGP
from botorch.models.transforms.input import (
    ChainedInputTransform,
    FilterFeatures,
    InputStandardize,
    Log10,
    Normalize,
    Round,
    Warp,
)
from botorch.models.transforms.outcome import Log, Standardize
from botorch.posteriors import PosteriorList
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import (
    ConstantKernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    PolynomialKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
)
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch.variational import (
    CholeskyVariationalDistribution,
    DeltaVariationalDistribution,
    IndependentMultitaskVariationalStrategy,
    MeanFieldVariationalDistribution,
    NaturalVariationalDistribution,
    UnwhitenedVariationalStrategy,
    VariationalStrategy,
)
from sklearn.datasets import load_diabetes

from pkex import Explainer

Array = Any


def _data() -> tuple[Any, Any]:
    X, y = load_diabetes(return_X_y=True)
    return torch.tensor(X[:30, [0, 2, 3, 8]] * 20.0), torch.tensor(y[:30] / 80.0)


X, Y = _data()
CODES = torch.tensor(np.random.default_rng(0).integers(0, 3, size=(30, 2)), dtype=torch.float64)
MIXED = torch.cat([X[:, :3], CODES], dim=1)
TWO = torch.stack([Y, X[:, 0] * X[:, 1] - Y], dim=1)
BOUNDS = torch.stack([X.min(0).values, X.max(0).values])
UNIT = (X - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])
TASK_COLUMN = 2  # of models of several tasks


@dataclass(frozen=True)
class TorchCase:
    """A model to explain: what makes it, rows, and whether its points are data."""

    name: str
    make: Callable[[], Any]
    rows: Any = None
    n_outputs: int = 1
    own_data: bool = True
    jitter: float = 0.0  # of the prior, which the model's own covariance has on its diagonal
    tol: float = 1e-9  # relative to the spread of the predictions: float32 models have fewer digits
    task: float | None = None  # rows lack its column then
    noise_differs: bool = False  # from row to row

    def __str__(self) -> str:
        return self.name

    def model(self) -> Any:
        return _made(self.make)

    @property
    def table(self) -> Array:
        """The rows that are explained, as an array."""
        return (X if self.rows is None else self.rows).numpy().copy()

    @property
    def is_mixture(self) -> bool:
        """Whether it is a mixture over samples, or an ensemble."""
        return "Fully" in self.name or "Ensemble" in self.name

    @property
    def has_noise(self) -> bool:
        """Whether it has a likelihood, whose noise observations have."""
        return "Approximate" not in self.name and "Pairwise" not in self.name

    def explain(self, *background: Any, **options: Any) -> Explainer:
        """Return an explainer of the model."""
        return Explainer(self.model(), *background, task=self.task, **options)

    def complete(self, rows: Array) -> Array:
        """Return rows with the task, where it is fixed."""
        return rows if self.task is None else np.insert(rows, TASK_COLUMN, self.task, axis=1)

    def own(self, rows: Array) -> Array:
        """Return the model's own posterior mean, shape (n_rows, n_outputs)."""
        return posterior_mean(self.model(), self.complete(rows))

    def covariance(self, rows: Array) -> Array:
        """Return the model's own posterior covariance between rows, for one output."""
        return posterior_covariance(self.model(), self.complete(rows))

    def variances(self, rows: Array, observation_noise: bool) -> Array:
        """Return the variances of the model's own predictions, shape (n_rows, n_outputs)."""
        return own_variances(self.model(), self.complete(rows), observation_noise)


def on_log_scale(model: Any, posterior: Any) -> Any:
    """Return the distribution of the logarithm, of the posterior of a model with Log."""
    if hasattr(posterior, "posteriors"):  # of a list of models
        pairs = zip(model.models, posterior.posteriors, strict=True)
        return PosteriorList(*(on_log_scale(*pair) for pair in pairs))
    has_log = any(isinstance(part, Log) for part in model.modules())
    return posterior._posterior if has_log else posterior


def posterior_mean(model, rows) -> Array:
    """Return the posterior mean as a user asks for it."""
    kind = next(iter(model.parameters())).dtype
    rows = torch.as_tensor(np.asarray(rows), dtype=kind)
    with torch.no_grad(), gpytorch.settings.fast_pred_var(False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.eval()
        if isinstance(model, ExactGP | ApproximateGP) and not hasattr(model, "posterior"):
            found = model(rows).mean
        else:
            posterior = on_log_scale(model, model.posterior(rows))
            sampled = hasattr(posterior, "mixture_mean")
            found = posterior.mixture_mean if sampled else posterior.mean
    return found.reshape(len(rows), -1).double().numpy()


def posterior_covariance(model, rows) -> Array:
    """Return the posterior covariance between rows, of a model with one output."""
    rows = torch.as_tensor(rows, dtype=next(iter(model.parameters())).dtype)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.eval()
        if isinstance(model, PairwiseGP):  # which adds to the diagonal what it needs to be positive
            seen, rows = map(model.transform_inputs, (model.datapoints, rows))
            cross = model.covar_module(rows, seen).to_dense()
            hessian, unit = model.likelihood_hess, torch.eye(len(seen), dtype=seen.dtype)
            gain = torch.linalg.solve(hessian @ model.covar + unit, hessian @ cross.T)
            return (model.covar_module(rows).to_dense() - cross @ gain).numpy()
        found = model.posterior(rows) if hasattr(model, "posterior") else model(rows)
        found = on_log_scale(model, found)
        if hasattr(found, "mixture_covariance_matrix"):
            return found.mixture_covariance_matrix.double().numpy()
        found = getattr(found, "distribution", found)
        return found.covariance_matrix.double().numpy()


def own_variances(model, rows, observation_noise) -> Array:
    """Return the variances that the model's own prediction has, shape (n_rows, n_outputs)."""
    rows = torch.as_tensor(rows, dtype=next(iter(model.parameters())).dtype)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.eval()
        if isinstance(model, KroneckerMultiTaskGP):  # BoTorch's takes the noise of tasks for equal
            found = model(model.transform_inputs(rows))
            variance = (model.likelihood(found) if observation_noise else found).variance
            has_transform = hasattr(model, "outcome_transform")
            return (variance * (model.outcome_transform.stdvs**2 if has_transform else 1.0)).numpy()
        if hasattr(model, "posterior"):
            found = model.posterior(rows, observation_noise=observation_noise)
        else:
            found = model.likelihood(model(rows)) if observation_noise else model(rows)
        return on_log_scale(model, found).variance.double().numpy().reshape(len(rows), -1)


@cache
def _made(make: Callable[[], Any]) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of BoTorch, about scaling
        return make()


class Plain(ExactGP):
    """What users of GPyTorch write."""

    def __init__(self, mean, kernel, rows=X, targets=Y, likelihood=None):
        super().__init__(rows, targets, likelihood or quiet())
        self.mean_module, self.covar_module = mean, kernel

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Summed(Plain):
    """One that adds and multiplies covariances itself, with noise on the diagonal."""

    def __init__(self, mean, kernel, other):
        super().__init__(mean, kernel)
        self.other = other

    def forward(self, x):
        covariance = 0.7 * self.covar_module(x) + self.other(x)
        return MultivariateNormal(self.mean_module(x), covariance.add_jitter(1e-4))


class ForBoTorch(Plain, GPyTorchModel):
    """One that BoTorch can optimise."""

    _num_outputs = 1


class Sparse(ApproximateGP):
    """A variational process over a few inducing points."""

    def __init__(self, strategy=VariationalStrategy, distribution=CholeskyVariationalDistribution):
        points = X[::4].clone()
        super().__init__(strategy(self, points, distribution(len(points)),
                                  learn_inducing_locations=True))  # fmt: skip
        self.mean_module, self.covar_module = ConstantMean(), scaled(RBFKernel(ard_num_dims=4))

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class SparsePair(ApproximateGP):
    """Two variational processes side by side."""

    def __init__(self):
        points, batch = X[::4].clone(), torch.Size([2])
        distribution = CholeskyVariationalDistribution(len(points), batch_shape=batch)
        base = VariationalStrategy(self, points, distribution)
        super().__init__(IndependentMultitaskVariationalStrategy(base, num_tasks=2))
        self.mean_module = ConstantMean(batch_shape=batch)
        self.covar_module = ScaleKernel(RBFKernel(batch_shape=batch), batch_shape=batch)

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def quiet(noise=0.1):
    """Return a likelihood with a given noise."""
    likelihood = GaussianLikelihood()
    likelihood.noise = noise
    return likelihood


def scaled(kernel, scale=1.7):
    """Return a kernel in front of which stands a factor."""
    module = ScaleKernel(kernel)
    module.outputscale = scale
    return module


def shaped(kernel):
    """Return a kernel with parameters that differ by column, and are not those it began with."""
    for name, parameter in kernel.named_parameters():
        steps = torch.linspace(0.3, 1.1, parameter.numel()).reshape(parameter.shape)
        parameter.data = parameter.data + steps + (0.5 if "period" in name else 0.0)
    return kernel


def exact(mean, kernel, **how):
    return lambda: Plain(mean, shaped(kernel), **how).double()


def trained(model, steps=3):
    """Return a variational model after some steps, so that nothing is as it began."""
    torch.manual_seed(1)
    model = model.double().train()
    inner = model.model if hasattr(model, "model") else model
    targets = TWO if getattr(model, "num_outputs", 1) == 2 else Y
    optimizer = torch.optim.Adam(model.parameters(), lr=0.2)
    for _ in range(steps):
        optimizer.zero_grad()
        found = inner(X if not hasattr(model, "transform_inputs") else model.transform_inputs(X))
        mean = found.mean
        loss = ((mean - (targets if mean.shape == targets.shape else TWO)) ** 2).mean()
        (loss + found.variance.mean()).backward()
        optimizer.step()
    return model.eval()


def doubtful(model):
    """Return a variational model with a covariance that is larger than the prior's here and there.

    So the matrix in the place of an inverse is not positive.
    """
    model = trained(model)
    distribution = model.variational_strategy._variational_distribution
    size = len(distribution.variational_mean)
    distribution.chol_variational_covar.data = torch.diag(torch.linspace(0.2, 1.8, size).double())
    return model


def natural():
    """Return a variational model with natural parameters, which Adam does not train."""
    model = Sparse(distribution=NaturalVariationalDistribution).double().eval()
    model(X)  # which initialises it, and keeps what it computed
    model.variational_strategy._clear_cache()
    distribution = model.variational_strategy._variational_distribution
    steps = torch.linspace(1.0, 3.0, len(distribution.natural_vec), dtype=torch.float64)
    distribution.natural_vec.data = 2.0 * torch.cos(5.0 * steps)
    distribution.natural_mat.data = -0.5 * (torch.diag(steps) + 0.1)
    return model


def single(**how):
    """Return a BoTorch model with parameters of its own."""
    y = how.pop("y", Y[:, None])
    rows = how.pop("rows", X)
    return lambda: fitted(SingleTaskGP(rows, y, **how))


def fitted(model):
    shaped(model.covar_module)
    return model.eval()


def sampled(cls=SaasFullyBayesianSingleTaskGP, n_samples=5, y=Y[:, None], **how):
    """Return a model with given samples in place of those that NUTS would draw."""
    model = cls(UNIT, y, **how)
    batch = (n_samples,) if y.shape[1] == 1 else (n_samples, 2)
    torch.manual_seed(3)
    samples = {
        "mean": torch.randn(*batch, dtype=torch.float64),
        "outputscale": torch.rand(*batch, dtype=torch.float64) + 0.5,
        "noise": torch.rand(*batch, 1, dtype=torch.float64) + 0.1,
        "lengthscale": torch.rand(*batch, 1, 4, dtype=torch.float64) + 0.5,
        "weight_variance": torch.rand(*batch, 4, dtype=torch.float64) + 0.5,
    }
    if how.get("use_input_warping"):
        samples |= {f"c{k}": torch.rand(*batch, 4, dtype=torch.float64) + 0.7 for k in (0, 1)}
    model.load_mcmc_samples(samples)
    return model.eval()


def variational(**how):
    model = SingleTaskVariationalGP(X, how.pop("y", Y[:, None]), inducing_points=8, **how)
    return trained(model)


ARD = {"ard_num_dims": 4}
MODELS = [
    TorchCase("ExactGP RBF", exact(ZeroMean(), RBFKernel())),
    TorchCase("ExactGP Scale RBF ARD, constant mean", exact(ConstantMean(),
              scaled(RBFKernel(**ARD)))),
    TorchCase("ExactGP in float32", lambda: Plain(ConstantMean(), scaled(RBFKernel()), X.float(),
              Y.float()), tol=1e-3),
    TorchCase("ExactGP Matern 1/2 ARD", exact(ConstantMean(), scaled(MaternKernel(0.5, **ARD))),
              tol=1e-6),  # GPyTorch's distance from a point to itself is 1e-8
    TorchCase("ExactGP Matern 3/2", exact(ConstantMean(), scaled(MaternKernel(1.5)))),
    TorchCase("ExactGP Matern 5/2 ARD", exact(ConstantMean(), scaled(MaternKernel(2.5, **ARD)))),
    TorchCase("ExactGP RQ ARD", exact(ConstantMean(), scaled(RQKernel(**ARD)))),
    TorchCase("ExactGP Periodic ARD", exact(ConstantMean(), scaled(PeriodicKernel(**ARD)))),
    TorchCase("ExactGP Linear", exact(ConstantMean(), LinearKernel())),
    TorchCase("ExactGP Linear ARD + RBF", exact(ZeroMean(), LinearKernel(**ARD) + RBFKernel())),
    TorchCase("ExactGP Polynomial", exact(ConstantMean(), scaled(PolynomialKernel(2), 0.1))),
    TorchCase("ExactGP sum over active_dims", exact(ConstantMean(),
              scaled(RBFKernel(active_dims=(0, 2), ard_num_dims=2))
              + scaled(MaternKernel(2.5, active_dims=(1, 3))) + ConstantKernel())),
    TorchCase("ExactGP product over active_dims", exact(ConstantMean(),
              scaled(RBFKernel(active_dims=(3, 0)) * PeriodicKernel(active_dims=(1,))
                     * MaternKernel(1.5, active_dims=(2,))))),
    TorchCase("ExactGP linear mean", exact(LinearMean(4), scaled(RBFKernel(**ARD)))),
    TorchCase("ExactGP fixed noise", exact(ConstantMean(), scaled(RBFKernel()),
              likelihood=FixedNoiseGaussianLikelihood(torch.linspace(0.05, 0.3, 30))),
              noise_differs=True),
    TorchCase("ExactGP that adds covariances in forward", lambda: Summed(ConstantMean(),
              shaped(scaled(RBFKernel(**ARD))), shaped(MaternKernel(1.5))).double(), jitter=1e-4),
    TorchCase("ExactGP with BoTorch's posterior", lambda: ForBoTorch(ConstantMean(),
              shaped(scaled(RBFKernel(**ARD)))).double()),
    TorchCase("SingleTaskGP", single()),
    TorchCase("SingleTaskGP Normalize, Standardize", single(input_transform=Normalize(4))),
    TorchCase("SingleTaskGP InputStandardize, no outcome transform",
              single(input_transform=InputStandardize(4), outcome_transform=None)),
    TorchCase("SingleTaskGP Normalize of some columns", single(
              input_transform=Normalize(4, indices=[0, 3]))),
    TorchCase("SingleTaskGP Round, Normalize", single(input_transform=ChainedInputTransform(
              r=Round(integer_indices=[1, 2], approximate=False), n=Normalize(4)))),
    TorchCase("SingleTaskGP Warp", single(rows=UNIT, input_transform=Warp(4, [0, 2],
              batch_shape=torch.Size([]))), UNIT),
    TorchCase("SingleTaskGP Log10", single(rows=UNIT + 0.1, input_transform=Log10([1])),
              UNIT + 0.1),
    TorchCase("SingleTaskGP FilterFeatures", single(input_transform=FilterFeatures(
              torch.tensor([3, 1])))),
    TorchCase("SingleTaskGP Matern 5/2, given noise", single(train_Yvar=0.2 + 0.0 * Y[:, None],
              covar_module=scaled(MaternKernel(2.5, **ARD)))),
    TorchCase("SingleTaskGP linear mean", single(mean_module=LinearMean(4))),
    TorchCase("SingleTaskGP, 2 outputs", single(y=TWO, input_transform=Normalize(4)), n_outputs=2),
    TorchCase("ModelListGP", lambda: ModelListGP(single(input_transform=Normalize(4))(),
              single(y=TWO[:, 1:], covar_module=scaled(MaternKernel(1.5)))()), n_outputs=2),
    TorchCase("MixedSingleTaskGP", lambda: fitted(MixedSingleTaskGP(MIXED, Y[:, None],
              cat_dims=[3, 4])), MIXED),
    TorchCase("MixedSingleTaskGP, categories alone", lambda: fitted(MixedSingleTaskGP(CODES,
              Y[:, None], cat_dims=[0, 1])), CODES),
    TorchCase("SingleTaskGP CategoricalKernel", single(rows=MIXED, covar_module=scaled(
              RBFKernel(active_dims=(0, 1, 2)) * CategoricalKernel(active_dims=(3, 4),
              ard_num_dims=2))), MIXED),
    TorchCase("SaasFullyBayesianSingleTaskGP", sampled, UNIT),
    TorchCase("SaasFullyBayesianSingleTaskGP Standardize, warped", lambda: sampled(
              outcome_transform=Standardize(1), use_input_warping=True), UNIT),
    TorchCase("FullyBayesianLinearSingleTaskGP", lambda: sampled(FullyBayesianLinearSingleTaskGP),
              UNIT),
    TorchCase("EnsembleMapSaasSingleTaskGP", lambda: fitted(EnsembleMapSaasSingleTaskGP(UNIT,
              Y[:, None], taus=torch.tensor([0.1, 0.5, 2.0]), num_taus=3)), UNIT),
    TorchCase("EnsembleMapSaasSingleTaskGP Normalize", lambda: fitted(EnsembleMapSaasSingleTaskGP(
              X, Y[:, None], num_taus=2, taus=torch.tensor([0.1, 1.0]),
              input_transform=Normalize(4)))),
    TorchCase("ApproximateGP", lambda: trained(Sparse()), own_data=False, jitter=1e-6),
    TorchCase("ApproximateGP natural", natural, own_data=False, jitter=1e-6),
    TorchCase("ApproximateGP delta", lambda: trained(Sparse(
              distribution=DeltaVariationalDistribution)), own_data=False, jitter=1e-6),
    TorchCase("ApproximateGP less certain than its prior", lambda: doubtful(Sparse()),
              own_data=False, jitter=1e-6),
    TorchCase("ApproximateGP unwhitened, mean field", lambda: trained(Sparse(
              UnwhitenedVariationalStrategy, MeanFieldVariationalDistribution)), own_data=False),
    TorchCase("ApproximateGP, 2 outputs", lambda: trained(SparsePair()), n_outputs=2,
              own_data=False, jitter=1e-6),
    TorchCase("SingleTaskVariationalGP", variational, jitter=1e-6),
    TorchCase("SingleTaskVariationalGP Normalize", lambda: variational(
              input_transform=Normalize(4, bounds=BOUNDS)), jitter=1e-6),
]  # fmt: skip
