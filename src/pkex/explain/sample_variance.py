"""Where the variance of the means of a mixture's samples comes from.

The samples of a mixture, such as those of a fully Bayesian model, have means m_s. Beside the mean
of their variances, the variance of the mixture has that of these means (law of total variance):

    1/S sum_s (m_s - mean)^2 = 1/S sum_s (h_s + c_s)^2,

with h_s what kernels have of ``m_s - mean``, and c_s the constant of it. The squares of the h_s are
games of pairs of atoms (`pkex.games.squares`), and 2 c_s h_s is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.progress import Forecast
from pkex._util.types import Floats
from pkex._util.words import format_duration, pluralise
from pkex.errors import PerformanceWarning
from pkex.explain.problem import PreparedRows, Problem
from pkex.games.atoms import Atoms
from pkex.games.blas import single_blas
from pkex.games.coalitions import CoalitionSquares, prefers_coalitions
from pkex.games.engine import run_reduction
from pkex.games.hierarchy import Hierarchy
from pkex.games.layout import as_column_major
from pkex.games.points import WeightedPoints
from pkex.games.rules import Rule
from pkex.games.squares import MeanSquareGame
from pkex.games.sums import GameSums
from pkex.models.expansion import KernelExpansion
from pkex.models.posterior import SampleMixture
from pkex.models.products import MIXTURE_ERROR, as_products
from pkex.readers.reading import warn_user

__all__ = ["SampleVariance", "explain_sample_variance"]


Part = tuple[WeightedPoints, KernelExpansion, Floats]


class SampleVariance(NamedTuple):
    """The values of the variance of the means, with an axis of outputs.

    Attributes
    ----------
    arrays : dict of str to array
        Those of an `Explanation`, by name.
    rules : tuple of Rule
    residual : float
        How far values are from adding up, at most.
    rounding : array of shape (rows, outputs)
        What rounding may move the variance by.
    """

    arrays: dict[str, Floats]
    rules: tuple[Rule, ...]
    residual: float
    rounding: Floats


def explain_sample_variance(
    problem: Problem,
    prepared: PreparedRows,
    mixture: SampleMixture,
    n_jobs: int | None,
    progress: bool,
) -> SampleVariance:
    """Return the values of the variance of the means of one mixture's samples."""
    every = zip(problem.games, problem.expansion.parts, prepared.parts, strict=True)
    chosen = [(games, part, rows) for games, part, rows in every if _is_of(part, mixture)]
    samples = [part.posterior.sample for _, part, _ in chosen if part.posterior is not None]
    n_samples, n_outputs = mixture.n_samples, problem.expansion.n_outputs
    offsets = np.zeros((n_samples, n_outputs))
    for sample, (_, part, _) in zip(samples, chosen, strict=True):
        offsets[sample] += part.intercepts
    offsets -= offsets.mean(axis=0)
    game, missed = _make_game(chosen, samples, n_samples, None)
    if _form(game) is game:  # of coalitions, the number of atoms matters little
        game, missed = _make_game(chosen, samples, n_samples, MIXTURE_ERROR)
    square = _explain_squares(game, n_samples, n_jobs, progress)
    residual = square.check("the variance of the samples' means minus its base value")
    arrays, error = _sum_samples(square, game, missed, n_samples)
    arrays["predictions"] += n_samples * (offsets * offsets).sum(axis=0)
    arrays["base_values"] += n_samples * (offsets * offsets).sum(axis=0)
    for sample, (games, _, rows) in zip(samples, chosen, strict=True):
        factor = 2.0 * n_samples * offsets[sample]
        if not factor.any():
            continue
        linear = games.explain(rows, n_jobs=n_jobs)
        arrays["values"] += factor * linear.values
        arrays["predictions"] += factor * linear.totals
        arrays["base_values"] += factor * linear.bases
        error += np.abs(factor) * games.error(linear, rows)
    rounding = UNIT * (n_samples * _over_samples(square.magnitudes, n_samples))
    if square.efficient:
        sums = arrays["base_values"] + arrays["values"].sum(axis=1)
        missing = np.abs(sums - arrays["predictions"])
        error += missing
        residual = float(missing.max(initial=0.0))
    return SampleVariance(arrays | {"error_bound": error}, square.rules, residual, rounding)


def _make_game(
    chosen: Sequence[Part], samples: Sequence[int], n_samples: int, tol: float | None
) -> tuple[MeanSquareGame, Floats]:
    """Return the squares of the samples' functions, and what the functions may be off by."""
    parts, weights, backgrounds = [], [], []
    missed: Any = 0.0
    for sample, (games, part, rows) in zip(samples, chosen, strict=True):
        centred = np.eye(n_samples)[sample] - 1.0 / n_samples
        of_part = (part.alpha[:, None, :] * centred[:, None]).reshape(len(part.alpha), -1)
        points = as_products(games, part, tol).with_weights(of_part)
        assert points.background is not None  # `check_posteriors` has seen to it
        atoms = Atoms(points.plan, points.z)
        parts.append((atoms, as_column_major(rows)))
        weights.append(atoms.spread(of_part))
        backgrounds.append(points.background)
        missed = missed + points.bound_missed(rows)
    return MeanSquareGame(parts, np.concatenate(weights), backgrounds), missed


def _is_of(part: Any, mixture: SampleMixture) -> bool:
    return part.posterior is not None and part.posterior.mixture is mixture


def _over_samples(array: Floats, n_samples: int) -> Floats:
    """Return the sums over samples, which come before the outputs in the last axis."""
    summed: Floats = array.reshape(*array.shape[:-1], n_samples, -1).sum(axis=-2)
    return summed


def _sum_samples(
    square: GameSums, game: MeanSquareGame, missed: Floats, n_samples: int
) -> tuple[dict[str, Floats], Floats]:
    """Return the arrays of squares of the samples' shares, times their number, and error bounds."""
    form = _form(game)
    rate = 2.0 * square.rules[0].relative_error + form.roundings * UNIT
    # as in `pkex.explain.loss`: of a function that is off by e, |h| at most the root of magnitudes
    off = 2.0 * (2.0 * np.sqrt(square.magnitudes) * missed + missed * missed)
    error = n_samples * _over_samples(rate * square.magnitudes + off, n_samples)
    bases = np.broadcast_to(square.bases, square.totals.shape)
    arrays = {
        "values": n_samples * _over_samples(square.values, n_samples),
        "predictions": n_samples * _over_samples(square.totals, n_samples),
        "base_values": n_samples * _over_samples(bases, n_samples),
    }
    return arrays, error


def _form(game: MeanSquareGame) -> MeanSquareGame | CoalitionSquares:
    """Return the game, or its enumeration where that takes fewer operations."""
    any_order = not isinstance(game.plan.measure, Hierarchy)
    if any_order and not game.averaged and prefers_coalitions(game.plan.n_players, game.n_atoms):
        return CoalitionSquares(game)
    return game


def _explain_squares(
    game: MeanSquareGame, n_samples: int, n_jobs: int | None, progress: bool
) -> GameSums:
    """Return the values of the squares of all samples' functions."""
    form = _form(game)
    needed = "pairs of" if form is game else "sets of features in each of"
    bar = "" if progress else " progress=True shows a progress bar."

    def announce(seconds: float) -> None:
        warn_user(
            f"the variance of {pluralise(game.n_rows, 'row')} will take about "
            f"{format_duration(seconds)}: the variance of the means of a mixture of {n_samples} "
            f"processes needs all {needed} {game.n_atoms} products. Fewer rows or samples take "
            f"less, and so does another kernel, such as RBF.{bar}",
            PerformanceWarning,
        )

    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    with single_blas():
        square: GameSums = run_reduction(form, forecast=Forecast(form.work, announce), **options)
    return square
