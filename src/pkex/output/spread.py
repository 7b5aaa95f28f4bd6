"""How uncertain or exact a number is: standard deviations of sums, and what to call them.

A plot, a table and a report call the same thing the same way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._util.cells import is_number
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex._util.words import pluralise

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.importance import Importance

__all__ = [
    "BOXES",
    "DOTS",
    "LEVEL",
    "POSTERIOR",
    "describe_error",
    "deviations",
    "has_intervals",
    "importance_notes",
    "importance_words",
    "interval_words",
    "others_std",
    "others_words",
    "outside_words",
    "posterior_interval",
    "std_of_sums",
]


POSTERIOR = "± 1 posterior standard deviation"
LEVEL = 0.9  # of posterior intervals that are shown
BOXES = "box: IQR, whiskers: 5 to 95 %, line:\u00a0median"
DOTS = "dots: means of the draws, bars: of the posterior mean"  # beside such intervals
_FEWEST = 19  # draws that have such an interval: the smallest and the largest


def has_intervals(draws: Floats | None) -> bool:
    """Tell whether there are enough posterior draws for the intervals that are shown."""
    return draws is not None and len(draws) >= _FEWEST


def interval_words(draws: Floats | None) -> list[str]:
    """Return what the intervals of draws are, in a line; none where there are no such."""
    if draws is None or not has_intervals(draws):
        return []
    return [f"{100.0 * LEVEL:.0f} % credible intervals from {len(draws)} posterior draws"]


def outside_words(numbers: Floats, draws: Floats | None) -> list[str]:
    """Return why some numbers lie outside of their intervals, in a line; none where all are inside.

    Examples
    --------
    >>> draws = np.linspace(0.0, 1.0, 99)[:, None]
    >>> outside_words(np.array([0.5]), draws), len(outside_words(np.array([1.5]), draws))
    ([], 1)
    """
    if draws is None or not has_intervals(draws):
        return []
    low, high = posterior_interval(draws, LEVEL)
    outside = (numbers < low) | (numbers > high)
    words = "Numbers are those of the posterior mean, which is smoother than the draws: some lie "
    return [words + "outside of their interval"] if outside.any() else []


def std_of_sums(cov: Floats, members: ArrayLike) -> Floats:
    """Return the standard deviation of a sum of values for each row.

    Parameters
    ----------
    cov : array of shape (n_rows, n_features, n_features)
    members : array of bool, of shape (n_features,) or (n_rows, n_features)
        Which values are summed.

    Examples
    --------
    >>> std_of_sums(np.array([[[4.0, -1.0], [-1.0, 7.0]]]), [True, True])
    array([3.])
    """
    chosen = np.broadcast_to(members, cov.shape[:2]).astype(np.float64)
    variances = np.einsum("ni,nij,nj->n", chosen, cov, chosen)
    stds: Floats = np.sqrt(np.maximum(variances, 0.0))  # rounding may go below 0
    return stds


def deviations(result: Any) -> Any:
    """Return interactions whose values are the standard deviations of some; None where unknown."""
    if result.main_std is None and result.values_std is None:
        return None
    known = {name: getattr(result, f"{name}_std") for name in ("main", "pairs", "values")}
    return replace(result, triples=None, **known)


def others_std(one: Explanation, shown: NDArray[np.intp]) -> Floats | None:
    """Return for each row the posterior standard deviation of the sum of all other features.

    None where it is not known: without covariances, or where features were selected.
    """
    if one.cov is None or not one.complete:
        return None
    others = np.ones(len(one.feature_names), dtype=bool)
    others[shown] = False
    return std_of_sums(one.cov, others)


def others_words(one: Explanation) -> str:
    """Return what to say where the standard deviation of other features is not known."""
    how = " without return_cov=True" if one.complete else ""
    return f"; none for other features{how}"


def importance_words(importance: Importance, rows: str = "") -> str:
    """Return what the errors of an importance over some rows are."""
    known = "the rows" if importance.n_rows is None else pluralise(importance.n_rows, "row")
    uncertainty = ", not posterior uncertainty" if importance.has_std else ""
    return f"± 1 standard error over {rows or known}{uncertainty}"


def importance_notes(importance: Importance) -> list[str]:
    """Return a line for tables of an importance on what follows "±", if it has errors."""
    draws = importance.draws
    notes = [*interval_words(draws), *outside_words(importance.values, draws)]
    if np.isnan(importance.standard_errors).all():
        return notes
    words = importance_words(importance) + ("" if importance.has_std else ", with this model")
    return [words, *notes]


def posterior_interval(draws: Floats, level: Any) -> tuple[Floats, Floats]:
    """Return the ends of the equal-tailed intervals of draws along the first axis.

    Of 199 draws these are the 10th and the 190th at the level 0.9. Few draws have no interval of a
    high level.

    Examples
    --------
    >>> low, high = posterior_interval(np.arange(1.0, 200.0), 0.9)
    >>> float(low.round(9)), float(high.round(9))
    (10.0, 190.0)
    """
    if not is_number(level) or not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, got {brief(level)}.")
    tail, count = 0.5 * (1.0 - level), len(draws)
    if (count + 1) * tail < 1.0 - 1e-9:
        raise ValueError(
            f"{pluralise(count, 'draw')} have intervals up to level {1.0 - 2.0 / (count + 1):.3g}, "
            f"got {level:g}. Pass a larger n_draws for a higher level."
        )
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0, method="weibull")
    return low, high


def describe_error(result: Any, error: float | Floats | None) -> str:
    """Return how exact values are: by their largest bound, or that of the rules if none is known.

    That of the rules is relative to the integral of each pair of points, or to the coefficients.
    """
    bound = result.rule.relative_error
    if error is not None:
        return f"error bound {np.max(error, initial=0.0):.1g}"
    if bound == 0.0 or any(rule.is_fallback for rule in result.rules):
        return "exact up to rounding"
    pairs = result.removal == "neutral" or result.KIND == "attribution"
    return f"relative error bound {bound:.1g}" if pairs else f"error bound {bound:.1g} sum|alpha|"
