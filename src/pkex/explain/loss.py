"""Where the squared error of each row comes from: ``explainer.loss(X, y)``.

    (y - f_S)^2 = c^2 + 2 c h_S + h_S^2,      f_S = h_S + intercept,   c = intercept - y,

so the values of the error are those of the square plus 2 c times those of the model. The square is
a sum over pairs of points (`pkex.games.squares`); for few features all coalitions take fewer
operations (`pkex.games.coalitions`). Under interventional removal both are means over background
rows, and the square is inside the mean: ``E_b (y - f(x_S, b))^2``. With the product of marginals it
is the error of the mean prediction, ``(y - E f(x_S, B))^2``, as in SAGE.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from pkex._util.floats import UNIT
from pkex._util.progress import Forecast
from pkex._util.types import Floats
from pkex._util.validation import as_floats, refuse_dask
from pkex._util.words import SQUARED_ERROR, format_duration, pluralise
from pkex.errors import PerformanceWarning, PrecisionWarning, UnsupportedModelError
from pkex.explain.problem import PreparedRows, Problem
from pkex.explain.unsupported import refuse_conditional
from pkex.games.atoms import Atoms
from pkex.games.blas import single_blas
from pkex.games.coalitions import CoalitionSquares, prefers_coalitions
from pkex.games.engine import run_reduction
from pkex.games.hierarchy import Hierarchy
from pkex.games.layout import as_column_major
from pkex.games.points import WeightedPoints
from pkex.games.squares import SquareGame
from pkex.games.sums import GameSums, sort_rules
from pkex.models.noise import FEW_DIGITS
from pkex.models.products import MIXTURE_ERROR, as_products
from pkex.readers.reading import warn_user
from pkex.results.explanation import Explanation

__all__ = ["as_targets", "check_loss", "explain_loss"]


def check_loss(problem: Problem, asked: str) -> None:
    """Raise where a squared error has no meaning for the model or the kind of removal."""
    if problem.model.classes is not None:
        raise UnsupportedModelError(
            f"{asked} explains the squared error of a regression model, and {problem.model.title} "
            "is a classifier: its log loss is not a quadratic function of what pkex explains, so "
            "it has no exact values. pkex.permutation_importance(model, X, y) takes classifiers, "
            "with scoring='accuracy' or 'neg_log_loss'."
        )
    refuse_conditional(problem, asked, "the square of a conditional mean has no formula in pkex")
    if problem.removal == "neutral":
        raise ValueError(
            f"{asked} does not support neutral removal: without some features the model then "
            "predicts nothing, so there is no error to explain. Leave out removal='neutral', or "
            "pass a background."
        )


def explain_loss(
    problem: Problem, X: Any, y: Any, n_jobs: int | None, progress: bool
) -> Explanation:
    """Return the explanation of `Explainer.loss`."""
    check_loss(problem, "loss")
    refuse_dask(X, "X")
    prepared = problem.prepare(X)
    n_rows, n_outputs = len(prepared.parts[0]), problem.expansion.n_outputs
    targets = as_targets(y, n_rows, problem.base_value.shape)
    shifts = problem.intercept.reshape(-1) - targets.reshape(n_rows, n_outputs)
    pairs = list(zip(problem.games, prepared.parts, strict=True))
    by_part = [games.explain(x, n_jobs=n_jobs) for games, x in pairs]
    linear: GameSums = reduce(add, by_part)
    linear.check()
    problem.check_predictions(prepared.rows, linear.totals)
    error = reduce(add, [games.error(s, x) for (games, x), s in zip(pairs, by_part, strict=True)])
    square, of_square = _explain_square(problem, prepared, n_jobs, progress)
    additivity = square.check("the square of prediction minus intercept, minus its base value")
    arrays = _combine(linear, square, shifts)
    error = of_square + 2.0 * np.abs(shifts) * error + 24.0 * UNIT * shifts * shifts
    if linear.efficient:
        missed = square.residual + 2.0 * shifts * linear.residual
        error += np.abs(missed)
        additivity = float(np.abs(missed).max(initial=0.0))
        arrays["predictions"] = arrays["base_values"] + arrays["values"].sum(axis=1)
    _warn_of_digits(arrays, square.magnitudes)
    arrays["error_bound"] = error
    if problem.base_value.ndim == 0:
        arrays = {name: array[..., 0] for name, array in arrays.items()}
    return Explanation(
        replace(problem.about_rows(prepared.rows), quantity=SQUARED_ERROR),
        data=prepared.data,
        row_index=prepared.labels,
        rules=sort_rules({*linear.rules, *square.rules}),
        additivity_error=additivity,
        **arrays,
    )


def as_targets(y: Any, n_rows: int, outputs: tuple[int, ...]) -> Floats:
    """Return the targets of the rows as numbers, or raise where they do not fit the outputs."""
    targets = as_floats(y, "y")
    expected = (n_rows, *outputs)
    if targets.shape == (n_rows, 1) and expected in ((n_rows,), (n_rows, 1)):
        targets = targets.reshape(expected)
    if targets.shape != expected:
        raise ValueError(
            f"y must have shape {expected}, a target for each row of X"
            f"{' and each output' * bool(outputs)}; got {targets.shape}."
        )
    return targets


def _combine(linear: GameSums, square: GameSums, shifts: Floats) -> dict[str, Floats]:
    """Return values, base values and totals of the squared error, with an axis of outputs."""
    constant = shifts * shifts
    return {
        "values": square.values + 2.0 * shifts[:, None] * linear.values,
        "base_values": square.bases + 2.0 * shifts * linear.bases + constant,
        "predictions": square.totals + 2.0 * shifts * linear.totals + constant,
    }


def _explain_square(
    problem: Problem, prepared: PreparedRows, n_jobs: int | None, progress: bool
) -> tuple[GameSums, Floats]:
    """Return the values of the squares of the outputs without intercepts, and their error bound."""
    every = zip(problem.games, problem.expansion.parts, prepared.parts, strict=True)
    games = [(as_products(points, part, MIXTURE_ERROR), rows) for points, part, rows in every]
    parts, weights, backgrounds = [], [], []
    missed = np.zeros((len(prepared.parts[0]), problem.expansion.n_outputs))
    for points, rows in games:
        atoms = Atoms(points.plan, points.z)
        assert points.background is not None  # `check_loss` has seen to it
        parts.append((atoms, as_column_major(rows)))
        weights.append(atoms.spread(points.weights))
        backgrounds.append(points.background)
        missed += points.bound_missed(rows)
    squares = SquareGame(parts, np.concatenate(weights), backgrounds)
    form: SquareGame | CoalitionSquares = squares
    if _prefers_coalitions(squares):
        form = CoalitionSquares(squares)
    forecast = _forecast(squares, form.work, [points for points, _ in games], progress)
    with single_blas():
        options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "forecast": forecast}
        square: GameSums = run_reduction(form, **options)
    rate = 2.0 * square.rules[0].relative_error + form.roundings * UNIT
    # |h_S| is at most the root of the magnitudes, so a function off by e has a square that is off
    # by 2 e |h| + e^2, and a value, a mean of differences, by twice that
    sizes = np.sqrt(square.magnitudes)
    return square, rate * square.magnitudes + 2.0 * (2.0 * sizes * missed + missed * missed)


def _prefers_coalitions(form: SquareGame) -> bool:
    """Return whether all coalitions are cheaper than pairs; they have no weights in a hierarchy."""
    in_any_order = not isinstance(form.plan.measure, Hierarchy)
    return in_any_order and prefers_coalitions(form.plan.n_players, form.n_atoms)


def _forecast(
    form: SquareGame, work: float, games: list[WeightedPoints], progress: bool
) -> Forecast:
    """Return what warns of a loss that takes long: all pairs of atoms for every row."""
    averaged = form.means is not None
    each = "" if averaged else f", for each of {pluralise(form.n_background, 'background row')}"
    other = "" if averaged else " removal='product-of-marginals' needs no loop over them."
    bar = "" if progress else " progress=True shows a progress bar."
    n_points = sum(len(points.z) for points in games)
    few = _prefers_coalitions(form)
    needed = "sets of features in each of" if few else "pairs of"

    def announce(seconds: float) -> None:
        warn_user(
            f"the loss of {pluralise(form.n_rows, 'row')} will take about "
            f"{format_duration(seconds)}: a row needs all {needed} {form.n_atoms} products that "
            f"the model of {n_points} points is a sum of{each}. Fewer rows take less.{other}{bar}",
            PerformanceWarning,
        )

    return Forecast(work, announce)


def _warn_of_digits(arrays: dict[str, Floats], magnitudes: Floats) -> None:
    """Warn where rounding leaves few digits of the largest loss."""
    size = max(float(np.abs(array).max(initial=0.0)) for array in arrays.values())
    worst = UNIT * float(magnitudes.max(initial=0.0))
    if worst == 0.0 or size == 0.0 or (digits := math.log10(size / worst)) >= FEW_DIGITS:
        return
    warn_user(
        f"the coefficients of this model are large beside its errors: about {max(0, int(digits))} "
        "digits of the squared errors are left. More regularisation, a narrower kernel or "
        "no duplicate rows make the coefficients smaller.",
        PrecisionWarning,
    )
