"""Readers of exact Gaussian processes: `ExactGP` as users write it, and BoTorch's models.

With the training points X, targets y, the prior mean m and the covariance K of the prior with the
noise of the likelihood on its diagonal, the posterior mean is

    m(x) + k(x, X) alpha,    alpha = (K + noise)^-1 (y - m(X)).

A model of several outputs is a batch of such processes, one for each output; one that was sampled
is a batch of as many processes as there are samples, and its mean is theirs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from linear_operator.operators import DiagLinearOperator
from linear_operator.utils.cholesky import psd_safe_cholesky
from linear_operator.utils.warnings import NumericalWarning

from pkex._util.types import Floats
from pkex._util.validation import default_names
from pkex._util.words import join_names
from pkex.errors import UnsupportedModelError
from pkex.kernels import Linear, Matern
from pkex.kernels.algebra import Kernel
from pkex.models.expansion import KernelExpansion
from pkex.models.expansion_base import Data
from pkex.models.noise_levels import noise_levels
from pkex.models.posterior import Posterior, SampleMixture
from pkex.models.sums import add_expansions, combine_outputs, stack
from pkex.readers import Given, Reading, read
from pkex.readers.gpytorch.copies import array, compute_exactly, take_slice, tensor, working_copy
from pkex.readers.gpytorch.kernels import convert_covariance, leaves
from pkex.readers.gpytorch.means import affine_mean
from pkex.readers.gpytorch.transforms import explain_logarithms, outcome_map, preparation
from pkex.readers.reading import check_task, refuse_given

__all__ = [
    "PosteriorMean",
    "Process",
    "check_prior",
    "likelihood_noise",
    "read_ensemble_process",
    "read_exact_process",
    "read_model_list",
    "read_sampled_process",
    "refuse_foreign",
    "tolerance",
]

Index = tuple[int, ...]

_TRAINING = "training points"


@dataclass(frozen=True, eq=False)
class PosteriorMean:
    """The model's own posterior mean at some rows; a function that can be pickled."""

    model: Any

    def __call__(self, X: Any) -> Floats:
        """Return the mean, shape (n_rows, n_outputs)."""
        rows = tensor(X)
        with compute_exactly(), warnings.catch_warnings():
            # of covariances, which are not asked for here
            warnings.simplefilter("ignore", NumericalWarning)
            if not hasattr(self.model, "posterior"):
                mean = self.model(rows).mean
            else:
                posterior = self.model.posterior(rows)
                sampled = hasattr(posterior, "mixture_mean")
                mean = posterior.mixture_mean if sampled else posterior.mean
        return array(mean).reshape(len(rows), -1)


def read_exact_process(model: Any, given: Given) -> Reading:
    """ExactGP and its subclasses, SingleTaskGP, MixedSingleTaskGP: the posterior mean."""
    return _read_exact(model, given, sampled=False)


def read_sampled_process(model: Any, given: Given) -> Reading:
    """SaasFullyBayesianSingleTaskGP and its relatives: the mean over the samples."""
    if model.covar_module is None:
        raise UnsupportedModelError(
            f"this {type(model).__name__} was not fitted, so it cannot be explained: call "
            "fit_fully_bayesian_model_nuts first."
        )
    return _read_exact(model, given, sampled=True)


def read_ensemble_process(model: Any, given: Given) -> Reading:
    """EnsembleMapSaasSingleTaskGP: the mean over the processes of the ensemble."""
    return _read_exact(model, given, sampled=True)


def read_model_list(model: Any, given: Given) -> Reading:
    """ModelListGP: the posterior means of its models side by side, all at a task or at none."""
    refuse_given(given, model)
    readings = [read(each) for each in model.models]
    tasks = tuple(sorted(set().union(*(each.tasks for each in readings))))
    check_task(given.task, tasks, model)
    if given.task is not None:
        at_task = Given(task=given.task)
        pairs = zip(model.models, readings, strict=True)
        readings = [read(each, at_task) if reading.tasks else reading for each, reading in pairs]
    widths = {len(each.expansion.feature_names) for each in readings}
    if len(widths) > 1:
        known = " and ".join(map(str, sorted(widths)))
        fixes = "Fix the task of those that have one with task=, or explain" if tasks else "Explain"
        raise UnsupportedModelError(
            f"the models of this {type(model).__name__} take different numbers of columns "
            f"({known}), so no row fits all of them. {fixes} them one by one."
        )
    names = default_names("y", sum(each.expansion.n_outputs for each in readings))
    expansion = stack([each.expansion for each in readings], names)
    predict = partial(_side_by_side, tuple(each.predict for each in readings))
    tol = max(each.tol for each in readings)
    return Reading(expansion, predict, tol, tasks=tasks, notes=_join_notes(readings))


def _join_notes(readings: list[Reading]) -> tuple[str, ...]:
    """Return the notes of the outputs of a list, which say of which output they are."""
    notes, first = {each.notes for each in readings}, 0
    if len(notes) == 1:
        return readings[0].notes
    named = []
    for each in readings:
        last = first + each.expansion.n_outputs
        names = join_names([f"y{k}" for k in range(first, last)])
        named += [f"{names}: {note}" for note in each.notes]
        first = last
    return tuple(named)


def _read_exact(model: Any, given: Given, *, sampled: bool) -> Reading:
    refuse_given(given, model)
    refuse_foreign(model)
    if model.train_inputs is None or model.train_targets is None:
        raise UnsupportedModelError(
            f"this {type(model).__name__} has no training data, so it cannot be explained: its "
            "prior does not depend on data. Set training data first."
        )
    if len(model.train_inputs) > 1:
        raise UnsupportedModelError(
            f"this {type(model).__name__} takes {len(model.train_inputs)} inputs, as models of "
            "several tasks do; models of one table are supported. Explain a model of one task."
        )
    working, notes = explain_logarithms(working_copy(model))
    [rows] = working.train_inputs
    with compute_exactly():
        prior = check_prior(working.forward(rows), model)
        convert_covariance(prior.lazy_covariance_matrix, rows, (0,) * len(prior.batch_shape))
        noisy = working.likelihood(prior, *working.train_inputs).covariance_matrix
        left = (working.train_targets - prior.mean).unsqueeze(-1)
        root = psd_safe_cholesky(noisy)
        alpha = torch.cholesky_solve(left, root).squeeze(-1)
    noise = likelihood_noise(working.likelihood, prior, *working.train_inputs)
    process = Process(working, working.forward, rows, prior, alpha, _TRAINING, root, noise)
    return replace(process.reading(n_samples=len(alpha) if sampled else 1), notes=notes)


def likelihood_noise(likelihood: Any, prior: Any, *inputs: Any) -> Any:
    """Return the variances that a likelihood adds to a distribution; None if it is not Gaussian."""
    with compute_exactly():
        no_signal = MultivariateNormal(prior.mean, DiagLinearOperator(0.0 * prior.mean))
        noisy = likelihood(no_signal, *inputs)
        if not isinstance(noisy, MultivariateNormal):
            return None
        return noisy.lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2)


def check_prior(prior: Any, model: Any) -> Any:
    """Return what `forward` of a model returned, if it is the distribution of one output."""
    if type(prior) is MultivariateNormal:
        return prior
    raise UnsupportedModelError(
        f"the forward of this {type(model).__name__} returns a {type(prior).__name__}; a "
        "MultivariateNormal of one output is supported. Use one model for each output, such as "
        "ModelListGP."
    )


@dataclass(frozen=True, eq=False)
class Process:
    """A Gaussian process, or a batch of them: one for each sample, or output, or both.

    Attributes
    ----------
    model : GPyTorch or BoTorch model
        A `working_copy`, which says what is done to rows and outcomes, and predicts.
    forward : callable
        From rows to the prior.
    points : tensor of shape (..., n_points, n_columns)
        As the kernel sees them.
    prior : MultivariateNormal
        What `forward` returned for the points.
    alpha : tensor of shape (..., n_points)
    data : str, Data or None
        The background: a text says that it is the points, and what to call them.
    root : tensor of shape (..., n_points, n_points)
        The Cholesky factor of the covariance of the targets, or of values at inducing points.
    noise : tensor of shape (..., n_points), optional
        The variances of the noise that the likelihood gives to the targets.
    core : tensor of shape (..., n_points, n_points), optional
        Of a variational process: see `pkex.Posterior`.
    jitter : float, default 0.0
        What the model adds to the variance of a row besides.
    """

    model: Any
    forward: Callable[[Any], Any]
    points: Any
    prior: Any
    alpha: Any
    data: Data | str | None
    root: Any
    noise: Any = None
    core: Any = None
    jitter: float = 0.0

    def reading(self, n_samples: int = 1) -> Reading:
        """Return the reading; of samples, which are the first axis of the batch, their mean."""
        shape = tuple(self.alpha.shape[:-1])
        n_outputs = int(np.prod(shape, dtype=int)) // n_samples
        batches = len(getattr(self.model, "_input_batch_shape", ()))
        if len(shape) > (n_samples > 1) + (n_outputs > 1) or batches > (n_samples > 1):
            raise UnsupportedModelError(
                f"this {type(self.model).__name__} is a batch of models with different training "
                "data, which is not supported. Explain them one by one."
            )
        outputs: list[list[KernelExpansion]] = [[] for _ in range(n_outputs)]
        mixture = SampleMixture(n_samples) if n_samples > 1 else None
        for number, index in enumerate(np.ndindex(*shape)):
            for part in self._parts(index, mixture, number // n_outputs):
                share = combine_outputs(part, np.full((1, 1), 1.0 / n_samples), None)
                outputs[number % n_outputs].append(share)
        names = default_names("y", n_outputs) if n_outputs > 1 else None
        expansion = add_expansions(outputs[0])
        if names is not None:
            expansion = stack([add_expansions(each) for each in outputs], names)
        slope, shift = outcome_map(self.model, n_outputs)
        scaled = combine_outputs(expansion, np.diag(slope), names, shift)
        return Reading(scaled, PosteriorMean(self.model), tolerance(scaled))

    def _parts(
        self, index: Index, mixture: SampleMixture | None, sample: int
    ) -> list[KernelExpansion]:
        """Return the parts of one process: its kernel, and the slope of its prior mean."""
        points = take_slice(self.points, index, 2)
        kernel = convert_covariance(self.prior.lazy_covariance_matrix, self.points, index)
        slope, offset = affine_mean(partial(self._mean, index), points)
        data = Data(points, self.data) if isinstance(self.data, str) else self.data
        before = preparation(self.model, points.shape[1], index)
        alpha = take_slice(self.alpha, index, 1)
        expansion = partial(KernelExpansion, preparation=before, background=data)
        posterior = replace(self._posterior(index, kernel, points), mixture=mixture, sample=sample)
        parts = [expansion(points, alpha, kernel, offset, posterior=posterior)]
        if slope.any():
            certain = Posterior(
                np.ones((1, 1)), np.zeros((1, 1)), 0.0, 0.0, mixture=mixture, sample=sample
            )
            parts.append(expansion(slope[None], np.ones(1), Linear(), posterior=certain))
        return parts

    def _posterior(self, index: Index, kernel: Kernel, points: Floats) -> Posterior:
        """Return the posterior of one process; a model's own variance has no likelihood in it."""
        with compute_exactly():
            prior = self.prior.lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2)
        variances = take_slice(prior, index, 1) + self.jitter
        given = np.zeros(1) if self.noise is None else take_slice(self.noise, index, 1)
        noise, observed = noise_levels(kernel, points, variances, given)
        core = None if self.core is None else take_slice(self.core, index, 2)
        observed = None if self.noise is None else observed
        return Posterior(take_slice(self.root, index, 2), None, noise, observed, core=core)

    def _mean(self, index: Index, rows: Floats) -> Floats:
        """Return the prior mean at some rows as the kernel sees them."""
        batch = self.points.shape[:-2]
        with compute_exactly():
            mean = self.forward(tensor(rows).expand(*batch, *rows.shape)).mean
        return take_slice(mean, index, 1)


def tolerance(expansion: KernelExpansion) -> float:
    """Return how far GPyTorch's own mean may be from the formula.

    It finds distances as ``|x|^2 + |z|^2 - 2 x z``, which is off by rounding at a row that is near
    a point, and the root of that by 1e-8, which a Matern kernel of nu = 1/2 is linear in.
    """
    rough = any(
        isinstance(kernel, Matern) and kernel.nu == 0.5
        for part in expansion.parts
        for kernel in leaves(part.kernel)
    )
    return 1e-6 if rough else 1e-10


def refuse_foreign(model: Any) -> None:
    """Refuse models whose posterior is computed by somebody else than the libraries."""
    method = getattr(type(model), "posterior", None)
    if method is not None and not method.__module__.startswith("botorch."):
        raise UnsupportedModelError(
            f"{type(model).__name__} overrides BoTorch's posterior, so pkex cannot infer its "
            "predictions. Register a converter for the class with pkex.readers.register."
        )


def _side_by_side(functions: tuple[Callable[[Any], Floats], ...], X: Any) -> Floats:
    return np.concatenate([function(X).reshape(len(X), -1) for function in functions], axis=1)
