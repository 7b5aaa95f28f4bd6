"""Sobol indices and Shapley effects of functions drawn from the posterior of a Gaussian process.

By pathwise conditioning (Matheron's rule; Wilson et al. 2021), with ``A = K + noise``,

    f(x) = f_prior(x) + sum_i v_i k(x, x_i),      v = A^-1 (y - f_prior(points) - eps),

is a draw from the posterior where f_prior is one from the prior and eps one of the noise. Of the
model ``alpha = A^-1 y`` is known, so ``v = alpha - A^-1 (f_prior(points) + eps)``. A variational
process with the core C (`pkex.Posterior`) has values at its points that are uncertain by ``I - C``
when whitened: it adds ``L^-T (I - C)^1/2 z`` with independent normal z. A mixture divides the draws
evenly among its samples, at random.

Here f_prior is a sum of random waves (`pkex.kernels.spectral`), which a draw shares with the others
but for their weights. Waves and kernels are products over columns, so the indices of every draw are
exact: see `pkex.games.draw_moments`.

*Error of the waves.* Finitely many have a covariance near that of the kernel. A function
``l_x(f) = f(x) - k_x' A^-1 f(points)`` has the variance ``sum_m v_m |l_x(wave m)|^2`` under the
waves, which with that of the noise is the posterior variance of the draws at x. It is compared with
that of the process at random rows of the inputs, and waves are doubled until the root of the mean
square of the difference is below 10 % of the mean variance, or there are 2048.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats, Indices, Players
from pkex.errors import UnsupportedModelError
from pkex.explain.posterior import require_posteriors
from pkex.explain.problem import Problem
from pkex.games.atoms import Atoms
from pkex.games.blas import single_blas
from pkex.games.draw_moments import (
    Centred,
    DrawBlock,
    DrawGame,
    DrawSums,
    centre_kernel,
    centre_waves,
)
from pkex.games.engine import run_reduction
from pkex.games.layout import as_column_major
from pkex.games.moments import Bundles
from pkex.games.plan import Plan
from pkex.kernels.bounded import restrict_to_box
from pkex.kernels.spectral import Frequencies, draw_frequencies
from pkex.models.expansion import KernelExpansion
from pkex.models.inputs import Inputs, bundle_inputs
from pkex.models.posterior import Posterior, SampleMixture
from pkex.models.preparation import prepare_groups
from pkex.models.products import MIXTURE_ERROR

__all__ = ["check_drawable", "divide_draws", "draw_indices", "wave_blocks"]

_FEATURES = (256, 2048)  # waves of a part, at first and at most
_CLOSE = 0.1  # error of the posterior variance at which more waves are not needed
_CHECKED = 256  # rows at which that is looked at
_DIAGONAL = 1e-7  # of the largest entry of K + noise: what K may be off elsewhere
_TILE = 2**16  # factors of a tile of pairs of atoms


def check_drawable(problem: Problem) -> None:
    """Raise where there is no posterior, or a kernel without random features."""
    require_posteriors(problem, "sensitivity with n_draws")
    for part in problem.expansion.parts:
        if part.posterior is not None and part.posterior.mixing.any():
            draw_frequencies(part.kernel, part.shape[1], 1, np.random.default_rng(0))


def draw_indices(
    problem: Problem,
    inputs: Inputs,
    order: int,
    n_draws: int,
    random: np.random.Generator,
    n_jobs: int | None,
) -> dict[str, Any]:
    """Return the indices of functions drawn from the posterior of a model, by name.

    Arrays have the shape (draws, features, outputs), without the last axis for one output.
    """
    columns, bundles = bundle_inputs(inputs, problem.feature_groups)
    side = max(16, math.isqrt(_TILE // bundles.weights.shape[1]))
    blocks: list[DrawBlock] = []
    error, n_outputs = 0.0, problem.expansion.n_outputs
    parts = problem.expansion.parts
    posteriors = [part.posterior for part in parts if part.posterior is not None]
    places = divide_draws(posteriors, n_draws, random)
    every = zip(parts, posteriors, inputs.rows, places, strict=True)
    for part, posterior, rows, of_part in every:
        if not len(of_part):
            continue
        inside = prepare_groups(part, columns)
        numbers = (of_part[:, None] * n_outputs + np.arange(n_outputs)).ravel()
        if not posterior.mixing.any():
            blocks.append(_known_block(part, rows, inside, bundles, numbers))
            continue
        picked = _pick_rows(rows, inside, bundles, random)
        drawn, off = _draw_part(part, picked, len(of_part), random)
        waves = wave_blocks(rows, inside, bundles, drawn.waves, drawn.wave_weights, side)
        waves += _kernel_blocks(part, rows, inside, bundles, drawn.point_weights, side)
        blocks += [replace(block, draws=numbers) for block in waves]
        error = max(error, off)
    with single_blas():
        game = DrawGame(blocks, bundles, pairs=order == 2, n_draws=n_draws * n_outputs)
        sums: DrawSums = run_reduction(game, n_jobs=n_jobs)
    return _fractions(sums, n_draws) | {"draws_error": error}


class _Drawn(NamedTuple):
    """The weights of a part of the draws, shape (waves or points, draws times outputs)."""

    waves: Frequencies
    wave_weights: NDArray[np.complex128]
    point_weights: Floats


def _draw_part(
    part: KernelExpansion, rows: Floats, n_draws: int, random: np.random.Generator
) -> tuple[_Drawn, float]:
    """Return a part of the draws, and the error of their posterior variance at some rows."""
    posterior, points = part.posterior, part.points
    assert posterior is not None  # which was required
    noise = _noise(part, posterior)
    waves, error = _choose_waves(part, posterior, rows, noise, random)
    at_points = np.exp(1j * (points @ waves.rates.T))
    n_processes, n_outputs = posterior.mixing.shape
    shape = (n_processes, n_draws)
    normal = random.normal(size=(2, len(waves.variances), *shape))
    omega = (normal[0] + 1j * normal[1]) * np.sqrt(waves.variances)[:, None, None]
    prior = np.tensordot(at_points, omega, 1).real
    prior += random.normal(size=(len(points), *shape)) * np.sqrt(noise)[:, None, None]
    whitened = posterior.whiten(prior.reshape(len(points), -1))
    if posterior.core is not None:
        whitened -= _root_of_rest(posterior.core) @ random.normal(size=whitened.shape)
    update = replace(posterior, core=None).coefficients(whitened).reshape(prior.shape)
    mixed, updates = (np.einsum("mrs,ro->mso", one, posterior.mixing) for one in (omega, update))
    # a part of a mixture has a share of its process
    count = 1 if posterior.mixture is None else posterior.mixture.n_samples
    mixed, point_weights = count * mixed, count * (part.alpha[:, None, :] - updates)
    width = n_draws * n_outputs
    drawn = _Drawn(waves, mixed.reshape(-1, width), point_weights.reshape(-1, width))
    return drawn, error


def divide_draws(
    posteriors: Sequence[Posterior], n_draws: int, random: np.random.Generator
) -> list[Indices]:
    """Return the numbers of the draws that have each process: all, or as many as each sample."""
    samples: dict[SampleMixture, Indices] = {}
    places = []
    for posterior in posteriors:
        mixture = posterior.mixture
        if mixture is None:
            places.append(np.arange(n_draws))
            continue
        if mixture not in samples:
            chosen = random.permutation(mixture.n_samples)
            samples[mixture] = chosen[np.arange(n_draws) % mixture.n_samples]
        places.append(np.flatnonzero(samples[mixture] == posterior.sample))
    return places


def _root_of_rest(core: Floats) -> Floats:
    """Return a root of what the core leaves of the unit matrix, which is a covariance."""
    levels, vectors = np.linalg.eigh(np.eye(len(core)) - core)
    root: Floats = (vectors * np.sqrt(np.maximum(levels, 0.0))) @ vectors.T
    return root


def _noise(part: KernelExpansion, posterior: Posterior) -> Floats:
    """Return the variances of the noise of the training points, ``A - K``."""
    matrix = posterior.cholesky @ posterior.cholesky.T
    gap = matrix - part.kernel.matrix(part.points, part.points)
    noise = np.diagonal(gap).copy()
    np.fill_diagonal(gap, 0.0)
    size = _DIAGONAL * float(np.abs(matrix).max())
    if float(np.abs(gap).max(initial=0.0)) > size or float(noise.min()) < -size:
        raise UnsupportedModelError(
            "posterior draws need training points with independent noise, but K + noise of this "
            "model differs from its kernel matrix off the diagonal, as that of several tasks does "
            "at one of them. Leave out n_draws for the indices of the posterior mean; "
            "explainer.importance(X, n_draws=...) has intervals for such models, too."
        )
    return np.maximum(noise, 0.0)


def _choose_waves(
    part: KernelExpansion,
    posterior: Posterior,
    rows: Floats,
    noise: Floats,
    random: np.random.Generator,
) -> tuple[Frequencies, float]:
    """Return enough waves, and the relative error of the posterior variance with them."""
    points, n_columns = part.points, part.shape[1]
    count, most = _FEATURES
    waves = draw_frequencies(part.kernel, n_columns, count, random)  # refuses kernels without any
    white = posterior.whiten(part.kernel.matrix(points, rows))
    betas = replace(posterior, core=None).coefficients(white)
    variance = float(waves.variances.sum())  # of a stationary kernel, everywhere
    exact = variance - (white * posterior.weigh(white)).sum(axis=0)
    of_noise = noise @ (betas * betas) + (white * (white - posterior.weigh(white))).sum(axis=0)
    while True:
        left = np.exp(1j * (rows @ waves.rates.T))
        left -= betas.T @ np.exp(1j * (points @ waves.rates.T))
        of_draws = (left.real**2 + left.imag**2) @ waves.variances + of_noise
        mean = max(float(exact.mean()), 1e-12 * variance)
        error = math.sqrt(float(((of_draws - exact) ** 2).mean())) / mean
        if error <= _CLOSE or 2 * count > most:
            return waves, error
        count *= 2
        waves = draw_frequencies(part.kernel, n_columns, count, random)


def _pick_rows(
    rows: Floats, inside: Players, bundles: Bundles, random: np.random.Generator
) -> Floats:
    """Return random rows of independent bundles of columns."""
    picked = np.repeat(rows[:1], _CHECKED, axis=0)
    for number, columns in enumerate(inside):
        places = random.choice(len(rows), _CHECKED, p=bundles.weights[:, number])
        picked[:, list(columns)] = rows[places][:, list(columns)]
    return picked


def wave_blocks(
    rows: Floats,
    inside: Players,
    bundles: Bundles,
    waves: Frequencies,
    weights: NDArray[Any],
    side: int,
) -> list[DrawBlock]:
    """Return the atoms of waves in blocks of some side, with their weights."""

    def centre(some: slice) -> Centred:
        rates = waves.rates[some]
        phases = [rows[:, list(columns)] @ rates[:, list(columns)].T for columns in inside]
        return centre_waves(phases, bundles)

    return [
        DrawBlock([(1.0, partial(centre, some))], weights[some])
        for some in _slices(len(weights), side)
    ]


def _kernel_blocks(
    part: KernelExpansion,
    rows: Floats,
    inside: Players,
    bundles: Bundles,
    weights: Floats,
    side: int,
) -> list[DrawBlock]:
    """Return the kernels at the training points in blocks of some side, with their weights."""
    n_points, n_columns = part.points.shape
    kernel = restrict_to_box(part.kernel, rows, part.points, MIXTURE_ERROR)
    terms = kernel.terms(n_columns, MIXTURE_ERROR)
    atoms = Atoms(Plan.of(terms, inside, general=True), as_column_major(part.points))
    columns = as_column_major(rows)

    def centre(start: int, some: slice) -> Centred:
        wanted = slice(start + some.start, start + some.stop)
        return centre_kernel(atoms.factors(columns, wanted), bundles)

    starts = [(term.coefficient, k * n_points) for k, term in enumerate(atoms.plan.terms)]
    start = len(starts) * n_points
    for single in atoms.plan.singles:
        if single.player is None:  # a constant, which has one atom and does not vary
            start += 1
        else:
            starts.append((single.term.coefficient, start))
            start += n_points
    return [
        DrawBlock([(c, partial(centre, begin, some)) for c, begin in starts], weights[some])
        for some in _slices(n_points, side)
    ]


def _known_block(
    part: KernelExpansion, rows: Floats, inside: Players, bundles: Bundles, numbers: Indices
) -> DrawBlock:
    """Return a part that is the same in all draws, such as the slope of a prior mean."""
    terms = part.kernel.terms(part.points.shape[1], MIXTURE_ERROR)
    atoms = Atoms(Plan.of(terms, inside, general=True), as_column_major(part.points))
    posterior = part.posterior
    count = 1 if posterior is None or posterior.mixture is None else posterior.mixture.n_samples
    weights = count * atoms.spread(part.alpha)
    columns = as_column_major(rows)

    def centre() -> Centred:
        return centre_kernel(atoms.factors(columns), bundles)

    n_draws = len(numbers) // weights.shape[1]
    return DrawBlock([(1.0, centre)], np.tile(weights, (1, n_draws)), numbers)


def _slices(count: int, side: int) -> list[slice]:
    n_blocks = math.ceil(count / side)
    edges = [count * k // n_blocks for k in range(n_blocks + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _fractions(sums: DrawSums, n_draws: int) -> dict[str, Any]:
    """Return the indices as fractions of the variance of each draw, draws first."""

    def shaped(array: Floats) -> Floats:
        split = np.moveaxis(array.reshape(*array.shape[:-1], n_draws, -1), -2, 0)
        return np.ascontiguousarray(split[..., 0] if split.shape[-1] == 1 else split)

    scale = np.where(sums.variance > 0.0, sums.variance, np.nan)
    arrays = {
        "first_order_draws": shaped(sums.first / scale),
        "total_order_draws": shaped(sums.total / scale),
        "shapley_draws": shaped(sums.shapley / scale),
        "variance_draws": shaped(sums.variance),
    }
    if sums.pairs is not None:
        arrays["second_order_draws"] = shaped(sums.pairs / scale)
    return arrays
