"""Readers of processes of several tasks, `MultiTaskGP` and `KroneckerMultiTaskGP`.

The kernel of a `MultiTaskGP` is one of the data times one of the task, ``K[t, t']``: a factor of
one column, which holds the codes of tasks. So it is an expansion with the task as a feature:

    m_t(x) + sum_i alpha_i k(x, x_i) K[t, t_i],    alpha = (k * K + noise)^-1 (y - m).

An outcome transform for each task, ``s_t f + b_t``, multiplies the kernel by ``s_t s_t'`` and
divides alpha_i by s_{t_i}. At a fixed task, the kernel is ``K[t, t] k`` and the points have scales
``d_i = K[t, t_i] / K[t, t]``: coefficients are ``d_i alpha_i``, and for A, what is inverted, stands
``A_ij / (d_i d_j)``. Points with ``d_i = 0`` go.

A `KroneckerMultiTaskGP` has the targets of all tasks at every point. Its task t has coefficients
``sum_s alpha_is K[t, s]`` and the prior ``K[t, t] k``; the data explain of it ``k(x, X) M k(X, x)``
with ``M_ij = sum_rs K[t, r] A^-1_{ir, js} K[s, t]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import torch
from linear_operator.utils.cholesky import psd_safe_cholesky

from pkex._util.types import Floats
from pkex._util.validation import default_names
from pkex.errors import UnsupportedModelError
from pkex.kernels import Categorical, Kernel, Linear, Product, Scale, Sum, Tabulated
from pkex.kernels.leaves import Dot, OnColumns
from pkex.models.expansion import KernelExpansion
from pkex.models.expansion_base import Data
from pkex.models.noise_levels import noise_levels
from pkex.models.posterior import Posterior
from pkex.models.preparation import Preparation
from pkex.models.sums import add_expansions, combine_outputs, stack
from pkex.readers import Given, Reading
from pkex.readers.gpytorch.copies import array, compute_exactly, tensor, working_copy
from pkex.readers.gpytorch.kernels import convert_covariance, convert_kernel, leaves, map_leaves
from pkex.readers.gpytorch.means import affine_mean
from pkex.readers.gpytorch.models import (
    PosteriorMean,
    check_prior,
    likelihood_noise,
    refuse_foreign,
    tolerance,
)
from pkex.readers.gpytorch.transforms import explain_logarithms, outcome_map, preparation
from pkex.readers.reading import Chain, check_task, refuse_given

__all__ = ["read_kronecker_tasks", "read_multi_task"]

_TRAINING = "training points"


def read_multi_task(model: Any, given: Given) -> Reading:
    """MultiTaskGP: the posterior mean, with the task as a feature or at a fixed task."""
    refuse_given(given, model)
    refuse_foreign(model)
    if hasattr(model, "load_mcmc_samples"):
        raise UnsupportedModelError(
            f"this {type(model).__name__} has a process of several tasks for each sample of its "
            "parameters, which is not supported. Explain a MultiTaskGP, or a ModelListGP with one "
            "sampled model for each task."
        )
    working, notes = explain_logarithms(working_copy(model))
    [rows] = working.train_inputs
    process = _TaskProcess.of(working, rows)
    check_task(given.task, process.codes, model)
    expansion = process.with_tasks() if given.task is None else process.at_task(given.task)
    predict: Callable[[Any], Floats] = PosteriorMean(working)
    if given.task is not None:
        predict = Chain(_Inserted(process.column, float(given.task)), predict)
    return Reading(expansion, predict, tolerance(expansion), tasks=process.codes, notes=notes)


def read_kronecker_tasks(model: Any, given: Given) -> Reading:
    """KroneckerMultiTaskGP: the posterior means of all tasks, as outputs."""
    refuse_given(given, model)
    working, notes = explain_logarithms(working_copy(model))
    [rows] = working.train_inputs
    if rows.ndim > 2:
        raise UnsupportedModelError(
            f"this {type(model).__name__} is a batch of models, which is not supported. Explain "
            "them one by one."
        )
    with compute_exactly():
        prior = working.mean_module(rows)
        task = array(working.covar_module.task_covar_module.covar_matrix.to_dense())
        within = working.covar_module.data_covar_module(rows).to_dense()
        noise = working.likelihood._shaped_noise_covar(rows.shape).to_dense()
        noisy = torch.kron(within, tensor(task)) + noise
        root = psd_safe_cholesky(noisy)
        left = (working.train_targets - prior).reshape(-1, 1)
        alpha = array(torch.cholesky_solve(left, root)).reshape(len(rows), -1)
        inverse = array(torch.cholesky_inverse(root)).reshape(2 * (len(rows), len(task)))
    kernel = convert_kernel(working.covar_module.data_covar_module, rows.shape[1])
    levels = array(noise.diagonal()).reshape(len(rows), -1)[0]
    points, before = array(rows), preparation(working, rows.shape[1], ())
    outputs = []
    for t, of_task in enumerate(task):
        scaled = float(of_task[t]) * kernel
        explained = np.einsum("r,irjs,s->ij", of_task, inverse, of_task) / of_task[t] ** 2
        with compute_exactly():
            half = array(psd_safe_cholesky(tensor(of_task[t]) * within))
        level = float(levels[t])
        posterior = Posterior(half, None, 0.0, level, core=half.T @ explained @ half)
        slope, offset = affine_mean(partial(_mean_of_output, working, t), points)
        expand = partial(KernelExpansion, preparation=before, background=Data(points, _TRAINING))
        coefficients = alpha @ of_task / of_task[t]
        outputs.append(
            add_expansions([
                expand(points, coefficients, scaled, offset, posterior=posterior),
                *([expand(slope[None], np.ones(1), Linear(), posterior=_certain(1))]
                  if slope.any() else []),
            ])
        )  # fmt: skip
    names = default_names("y", len(task))
    slopes, shifts = outcome_map(working, len(task))
    expansion = combine_outputs(stack(outputs, names), np.diag(slopes), names, shifts)
    return Reading(expansion, PosteriorMean(working), tolerance(expansion), notes=notes)


@dataclass(frozen=True, eq=False)
class _Inserted:
    """Rows with a column of one value more; a function that can be pickled."""

    column: int
    value: float

    def __call__(self, X: Any) -> Floats:
        return np.insert(np.asarray(X, dtype=np.float64), self.column, self.value, axis=1)


@dataclass(frozen=True, eq=False)
class _Removed:
    """Rows without a column; a function that can be pickled."""

    column: int

    def __call__(self, X: Any) -> Floats:
        return np.delete(np.asarray(X), self.column, axis=1)


@dataclass(frozen=True, eq=False)
class _TaskProcess:
    """A process of several tasks in the model's own units.

    Attributes
    ----------
    model : BoTorch model
        A `working_copy`.
    column : int
        Where rows have the task.
    codes : tuple of float
        The tasks, as rows have them.
    slopes, shifts : array of shape (n_tasks,)
        What the outcome transform does to each task.
    points : array of shape (n_points, n_columns)
        As the model sees them.
    kernel : Kernel
    alpha, variances, noise : array of shape (n_points,)
        Coefficients, and the variances of the prior and of the noise of the targets.
    root : array of shape (n_points, n_points)
        The Cholesky factor of the covariance of the targets.
    """

    model: Any
    column: int
    codes: tuple[float, ...]
    slopes: Floats
    shifts: Floats
    points: Floats
    kernel: Kernel
    alpha: Floats
    variances: Floats
    noise: Floats
    root: Floats

    @classmethod
    def of(cls, model: Any, rows: Any) -> _TaskProcess:
        """Return the process of a working copy, whose training inputs are `rows`."""
        column, codes = int(model._task_feature), tuple(map(float, _codes(model)))
        with compute_exactly():
            prior = check_prior(model.forward(rows), model)
            numbered = rows.clone()
            numbered[:, column] = model._map_tasks(rows[:, column])
            kernel = convert_covariance(prior.lazy_covariance_matrix, numbered, ())
            noisy = model.likelihood(prior, rows).covariance_matrix
            root = psd_safe_cholesky(noisy)
            left = (model.train_targets - prior.mean).unsqueeze(-1)
            alpha = torch.cholesky_solve(left, root).squeeze(-1)
            variances = prior.lazy_covariance_matrix.diagonal(dim1=-1, dim2=-2)
        kernel = map_leaves(kernel, partial(_with_codes, column=column, codes=codes))
        noise = likelihood_noise(model.likelihood, prior, rows)
        table = np.repeat(array(rows)[:1], len(codes), axis=0)
        table[:, column] = codes
        slopes, shifts = outcome_map(model, 1, tensor(table))
        arrays = (array(rows), kernel, array(alpha), array(variances), array(noise), array(root))
        return cls(model, column, codes, slopes, shifts, *arrays)

    def with_tasks(self) -> KernelExpansion:
        """Return the expansion with the task as a column."""
        if np.ptp(self.slopes) == 0.0 == np.ptp(self.shifts):
            shared = replace(self, slopes=np.ones_like(self.slopes), shifts=0.0 * self.shifts)
            weights = self.slopes[:1, None]
            return combine_outputs(shared._with_tasks(), weights, None, self.shifts[:1])
        return self._with_tasks()

    def _with_tasks(self) -> KernelExpansion:
        before = preparation(self.model, self.points.shape[1], ())
        data = Data(self.points, _TRAINING)
        expand = partial(KernelExpansion, preparation=before, background=data)
        scales = self.slopes[np.searchsorted(self.codes, self.points[:, self.column])]
        kernel = self.kernel
        if (self.slopes != 1.0).any():
            matrix: Any = np.outer(self.slopes, self.slopes)
            kernel *= Tabulated(matrix, self.codes, columns=(self.column,))
        means = [self._mean_at(code) for code in self.codes]
        slopes = self.slopes[:, None] * [slope for slope, _ in means]
        offsets = self.slopes * [offset for _, offset in means] + self.shifts
        same = np.ptp(offsets) == 0.0
        squares = scales**2
        levels = noise_levels(kernel, self.points, self.variances * squares, self.noise * squares)
        posterior = Posterior(scales[:, None] * self.root, None, *levels)
        intercept = offsets[0] if same else 0.0
        parts = [expand(self.points, self.alpha / scales, kernel, intercept, posterior=posterior)]
        anchors = np.zeros((len(self.codes), self.points.shape[1]))
        anchors[:, self.column] = self.codes
        indicator = Categorical(0.0, columns=(self.column,))
        if not same:
            parts.append(expand(anchors, offsets, indicator, posterior=_certain(len(anchors))))
        sloping = np.flatnonzero(slopes.any(axis=1))
        if len(sloping):
            others = tuple(j for j in range(self.points.shape[1]) if j != self.column)
            anchors[:, others] = slopes
            linear = Sum(tuple(Dot(columns=(j,)) for j in others)) * indicator
            known, ones = _certain(len(sloping)), np.ones(len(sloping))
            parts.append(expand(anchors[sloping], ones, linear, posterior=known))
        return add_expansions(parts)

    def at_task(self, task: float) -> KernelExpansion:
        """Return the expansion at one task, of rows without the task column."""
        number = self.codes.index(float(task))
        kernel, covariances = self._split(number)
        numbers = np.searchsorted(self.codes, self.points[:, self.column])
        ratios = (covariances / covariances[number])[numbers]
        kept, same = np.flatnonzero(ratios), numbers == number
        if not len(kept):
            raise UnsupportedModelError(
                f"the task {task:g} of this {type(self.model).__name__} depends on no data: its "
                "covariance with all tasks that have some is 0. Explain another task."
            )
        root: Any = self.root
        if len(kept) < len(ratios):  # the inverse of a block of the inverse
            half = np.linalg.inv(root)
            root = np.linalg.cholesky(np.linalg.inv((half.T @ half)[np.ix_(kept, kept)]))
        ratios = ratios[kept]
        points = np.delete(self.points, self.column, axis=1)
        kernel = float(covariances[number]) * kernel
        levels: tuple[float | None, float | None] = (0.0, None)
        if same.any():
            levels = noise_levels(kernel, points[same], self.variances[same], self.noise[same])
        signs = np.sign(ratios)  # of columns, so that the diagonal of the factor is positive
        root = root / ratios[:, None] * signs
        # targets of other tasks, divided by ratios, are not what they were fitted to
        posterior = Posterior(root, None, *levels, regression=bool(same[kept].all()))
        slope, offset = self._mean_at(float(task))
        before, data = self._preparation(float(task)), Data(points, _TRAINING)
        expand = partial(KernelExpansion, preparation=before, background=data)
        alpha = ratios * self.alpha[kept]
        parts = [expand(points[kept], alpha, kernel, offset, posterior=posterior)]
        if slope.any():
            parts.append(expand(slope[None], np.ones(1), Linear(), posterior=_certain(1)))
        weights, shift = self.slopes[[[number]]], self.shifts[[number]]
        return combine_outputs(add_expansions(parts), weights, None, shift)

    def _mean_at(self, code: float) -> tuple[Floats, float]:
        """Return slope and offset of the prior mean of a task."""
        points = np.delete(self.points, self.column, axis=1)
        return affine_mean(partial(self._mean, code), points)

    def _mean(self, code: float, rows: Floats) -> Floats:
        with compute_exactly():
            return array(self.model.forward(tensor(_Inserted(self.column, code)(rows))).mean)

    def _split(self, number: int) -> tuple[Kernel, Floats]:
        """Return the kernel of the data, without the task column, and covariances with a task."""
        factors = _factors(self.kernel)
        tables = [part for part in factors if _is_of_tasks(part, self.column)]
        others = [part for part in factors if not _is_of_tasks(part, self.column)]
        sees_task = any(
            isinstance(leaf, OnColumns) and (leaf.columns is None or self.column in leaf.columns)
            for part in others
            for leaf in leaves(part)
        )
        if not tables or not others or sees_task:
            raise UnsupportedModelError(
                f"the kernel of this {type(self.model).__name__} is not a kernel of the data times "
                "one of the task, so task= cannot fix the task. Leave it out, and pass a "
                "background of rows of one task: the task of rows like these has the value 0."
            )
        kernel = others[0] if len(others) == 1 else Product(tuple(others))
        covariances = np.prod([np.asarray(table.covariance)[number] for table in tables], axis=0)
        scale = np.prod([part.factor for part in _scales(self.kernel)])
        return map_leaves(float(scale) * kernel, self._without_column), covariances

    def _without_column(self, leaf: Kernel) -> Kernel:
        if not isinstance(leaf, OnColumns) or leaf.columns is None:
            return leaf
        return replace(leaf, columns=tuple(j - (j > self.column) for j in leaf.columns))

    def _preparation(self, task: float) -> Preparation | None:
        """Return what the model does to rows without the task column."""
        before = preparation(self.model, self.points.shape[1], ())
        if before is None:
            return None
        place = before.origins[self.column]
        origins = tuple(j - (j > place) for j in _Removed(self.column)([before.origins])[0])
        transform = Chain(Chain(_Inserted(place, task), before.transform), _Removed(self.column))
        return Preparation(transform, default_names("x", len(before.names) - 1), origins)


def _codes(model: Any) -> Any:
    """Return the tasks as rows have them, in the order of the task kernel."""
    return sorted(model._expected_task_values)


def _with_codes(leaf: Kernel, column: int, codes: tuple[float, ...]) -> Kernel:
    return replace(leaf, codes=codes) if _is_of_tasks(leaf, column) else leaf


def _is_of_tasks(kernel: Kernel, column: int) -> TypeGuard[Tabulated]:
    return isinstance(kernel, Tabulated) and kernel.columns == (column,)


def _factors(kernel: Kernel) -> list[Kernel]:
    """Return the kernels that a product is made of, without numbers in front."""
    if isinstance(kernel, Scale):
        return _factors(kernel.kernel)
    if isinstance(kernel, Product):
        return [factor for part in kernel.kernels for factor in _factors(part)]
    return [kernel]


def _scales(kernel: Kernel) -> list[Scale]:
    """Return the multiples among the factors of a product."""
    if isinstance(kernel, Scale):
        return [kernel, *_scales(kernel.kernel)]
    if isinstance(kernel, Product):
        return [scale for part in kernel.kernels for scale in _scales(part)]
    return []


def _certain(n_points: int) -> Posterior:
    """Return the posterior of a function that is known, at so many points."""
    return Posterior(np.eye(n_points), np.zeros((1, 1)), 0.0, 0.0)


def _mean_of_output(model: Any, output: int, rows: Floats) -> Floats:
    with compute_exactly():
        return array(model.mean_module(tensor(rows)))[:, output]
