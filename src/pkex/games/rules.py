"""Quadrature rules for the diagonal formula, each with a proven error.

For one pair of points with deficits ``u_i = 1 - k_i`` the Shapley value of player j is

    phi_j = -u_j * integral_0^1 prod_{i != j} (1 - t u_i) dt                    (Owen 1972)

and a rule replaces the integral by ``sum_l w_l prod_{i != j} (1 - t_l u_i)``. When all factors lie
in [0, 1] the product is ``E[(1-t)^K]`` with K the number of successes among independent trials of
probabilities ``u_i``, so the integral is ``E[1/(K+1)]`` and a rule is judged by what it makes of
``(1-t)^k``. Three families:

*Gauss-Legendre* with ``ceil(players / 2)`` nodes integrates the polynomial exactly, for any real
factors. Only this family covers factors outside [0, 1].

*Few-node Gauss-Legendre.* With m nodes the error ``e_k = 1/(k+1) - sum_l w_l (1-t_l)^k`` is 0 for
``k < 2m`` and never negative. Let h be the convex majorant of ``e`` whose increments are the
running maxima of those of ``e``, and ``lam = sum_i u_i`` over all players; the mean of K, which
leaves one out, is at most that, and the bound below grows with lam. By Hoeffding (1956, theorem 3)
``E h(K)`` is at most its value for a binomial K of the same mean, hence for a Poisson
one; by Jensen ``E[1/(K+1)] >= 1/(1 + lam)``. So the relative error is at most

    (1 + lam) * E h(Poisson(lam)),

which grows with lam and does not depend on the number of players: `lam_max` tabulates the largest
lam for which m nodes meet a tolerance.

*Log-Chebyshev exponential sums* ``1/x = sum_l w_l exp(-s_l x)`` on [1, R] (Braess and Hackbusch)
with ``t_l = 1 - exp(-s_l)``: the relative error for every pair of at most R players is bounded by
``max_k |(k+1) sum_l w_l (1-t_l)^k - 1|``, at any lam, with a number of nodes that grows like
``log R``.

The *general game* has factors ``a_i + t (p_i - a_i)``, a_i of an absent player and p_i of a present
one. For all of them in [-1, 1] and ``lam = sum_i |p_i - a_i|`` write ``t = (1 + z) / 2``: on the
Bernstein ellipse of z with parameter rho a factor is at most ``|c| + |h| (rho + 1/rho) / 2`` with
``c = (a + p) / 2`` and ``h = (p - a) / 2``, hence at most ``1 + |h| ((rho + 1/rho) / 2 - 1)`` as
``|c| + |h| <= 1``, and the integrand at most ``M = exp(lam (rho + 1/rho - 2) / 4)``. Its
Chebyshev coefficients are at most ``2 M rho^-k``. m nodes are exact up to degree ``2m - 1``, odd
degrees cancel, and the integral of ``T_k`` over [-1, 1] is at most ``2 / (k^2 - 1)`` and its
quadrature at most 2. So the error on [0, 1] is at most

    (2 + 2 / (4 m^2 - 1)) M rho^(-2m) / (1 - rho^-2)              for every rho > 1,

relative to 1, the largest value that such a game can have (`ellipse`).

A product game is homogeneous in the two factors of each player. Divide them by
``m_i = max(|a_i|, |p_i|)``: the same bound then holds relative to ``prod_i m_i``, the largest worth
that a coalition can have, when lam is ``sum_i |p_i - a_i| / m_i``. That lam is taken in the tail,
where the largest worth is below ``2^-10``.

The bounds hold for the nodes and weights as stored. Those of Gauss-Legendre are right to 2^-52
relatively, and to ``0.75 * 2^-52`` up to 64 nodes. With rounding of relative size r that costs at
most ``r (1 + c)``, c the largest ``(k+1) sum_l w_l k t_l (1-t_l)^(k-1)``, which is 1 where the rule
is exact and at most 1.5 elsewhere: in both cases at most 2^-51. In the general game, where the
slope of the integrand is at most lam, it costs ``2^-52 (1 + lam / 2)``. What the bounds leave out
is the rounding of the factors and products themselves.

>>> from pkex.games import rules
>>> [rules.few_node(size).max_lam for size in (4, 8, 16)]
[0.156995, 2.79104, 19.8403]
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import check_count, check_tolerance
from pkex.games.gauss import gauss_legendre

__all__ = [
    "FULL_PRECISION",
    "Ladder",
    "Rule",
    "ellipse",
    "exact",
    "few_node",
    "general_ladder",
    "ladder",
    "log_chebyshev",
]


_NODE_ROUNDING = 2.0**-51
_TIGHTEST = 2.0**-52
_ANY_FACTORS = "gauss-legendre, any factors"
FULL_PRECISION = _TIGHTEST + _NODE_ROUNDING
"""The relative error that ``tol=None`` certifies, and the smallest `tol`."""


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """Nodes and weights for the diagonal formula, the games they cover, and a proven error.

    Attributes
    ----------
    family : str
        "few-node gauss-legendre", "log-chebyshev" or "gauss-legendre", the exact rule; in the
        general game "ellipse gauss-legendre" or "gauss-legendre"; and "gauss-legendre, any
        factors" where the exact rule was taken because factors lie outside the range.
    nodes, weights : arrays of shape (size,)
    max_players : int
        The largest number of players it covers.
    max_lam : float
        The largest sum of deficits of a pair it covers; infinite when there is no limit.
    any_factors : bool
        Whether it covers factors outside [0, 1].
    relative_error : float
        Bound on the relative error of the integral of every pair it covers with factors in [0, 1];
        in the general game, on its error relative to 1, the largest value there is, and in the
        tail to the largest worth of a coalition.
        For other factors the exact rule's nodes are rounded alike, but the integrand may cancel.

    Examples
    --------
    >>> from pkex.games import rules
    >>> rules.few_node(8)
    Rule(few-node gauss-legendre, 8 nodes, lam <= 2.79, relative error <= 6.7e-16)
    """

    family: str
    nodes: Floats
    weights: Floats
    max_players: int
    max_lam: float
    any_factors: bool
    relative_error: float

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def of_groups(self) -> bool:
        """Whether it is that of a hierarchy, whose nodes are those of its groups.

        Examples
        --------
        >>> from pkex.games import rules
        >>> rules.ladder(5).rules[-1].of_groups
        False
        """
        return bool(np.isnan(self.nodes).any())

    @property
    def is_fallback(self) -> bool:
        """Whether it was taken for factors out of range, for which nothing but rounding errs.

        Examples
        --------
        >>> from pkex.games import rules
        >>> rules.ladder(5).fallback.is_fallback, rules.ladder(5).rules[-1].is_fallback
        (True, False)
        """
        return self.family.endswith("any factors")

    def covers(self, n_players: int, lam: float = math.inf, *, any_factors: bool = False) -> bool:
        """Tell whether the bound holds for a pair game of this size, sum of deficits and kind."""
        fits = n_players <= self.max_players and lam <= self.max_lam
        return fits and (self.any_factors or not any_factors)

    def __repr__(self) -> str:
        if not self.relative_error:  # a path integral, which has no nodes to speak of
            return f"Rule({self.family})"
        if self.of_groups:
            return f"Rule({self.family}, relative error <= {self.relative_error:.2g})"
        domain = "" if self.max_players >= 2**62 else f", players <= {self.max_players}"
        domain += "" if math.isinf(self.max_lam) else f", lam <= {self.max_lam:.3g}"
        return (
            f"Rule({self.family}, {self.size} nodes{domain}, "
            f"relative error <= {self.relative_error:.2g})"
        )


@dataclass(frozen=True, eq=False)
class Ladder:
    """The rules for one number of players and tolerance, cheapest first.

    A pair takes the first rule whose limit is not below its sum of deficits; `limits` ascends and
    ends with infinity. It covers factors between `lower` and 1. With a `tree`, a
    `pkex.games.hierarchy.Hierarchy`, values are integrated group by group.

    Examples
    --------
    >>> from pkex.games import rules
    >>> rules.ladder(5).limits
    array([7.30004e-08, 9.89526e-04,         inf])
    >>> rules.ladder(5).rules[-1]
    Rule(gauss-legendre, 3 nodes, players <= 6, relative error <= 4.4e-16)
    """

    rules: tuple[Rule, ...]
    limits: Floats
    n_players: int
    lower: float = 0.0
    for_others: Rule | None = None
    tree: Any = None

    @property
    def fallback(self) -> Rule:
        """The rule for pairs with other factors: exact up to rounding, which they may amplify."""
        return self.for_others or _any_factors(self.n_players)


@lru_cache(maxsize=256)
def exact(n_players: int) -> Rule:
    """Return the Gauss-Legendre rule that is exact for `n_players` players and any factors.

    Examples
    --------
    >>> from pkex.games import rules
    >>> rules.exact(9)
    Rule(gauss-legendre, 5 nodes, players <= 10, relative error <= 4.4e-16)
    """
    size = (check_count(n_players, "n_players", 1) + 1) // 2
    nodes, weights = gauss_legendre(size)
    return Rule("gauss-legendre", nodes, weights, 2 * size, math.inf, True, _NODE_ROUNDING)


@lru_cache(maxsize=256)
def _any_factors(n_players: int) -> Rule:
    return replace(exact(n_players), family=_ANY_FACTORS)


def few_node(size: int, tol: float | None = None) -> Rule:
    """Return Gauss-Legendre with `size` nodes, limited to the lam where `tol` is certified.

    Examples
    --------
    >>> from pkex.games import rules
    >>> rules.few_node(4, tol=1e-6)
    Rule(few-node gauss-legendre, 4 nodes, lam <= 2.54, relative error <= 1e-06)
    """
    level = _level(tol)
    table = _data()["lam_max"][repr(level)]
    if not 1 <= check_count(size, "size", 1) <= len(table):
        raise ValueError(f"few-node rules have 1 to {len(table)} nodes, got {size}.")
    nodes, weights = gauss_legendre(size)
    error = level + _NODE_ROUNDING if level == _TIGHTEST else level
    family = "few-node gauss-legendre"
    return Rule(family, nodes, weights, 2**63 - 1, table[size - 1], False, error)


def log_chebyshev(n_players: int, tol: float | None = None) -> Rule | None:
    """Return the smallest exponential sum for `n_players`, or None beyond the shipped table.

    Examples
    --------
    >>> from pkex.games import rules
    >>> rules.log_chebyshev(1000)
    Rule(log-chebyshev, 34 nodes, players <= 1166, relative error <= 1.6e-16)
    """
    check_count(n_players, "n_players", 1)
    for entry in _data()["log_chebyshev"][repr(_level(tol))]:
        if entry["max_players"] >= n_players:
            nodes, weights = np.array(entry["nodes"]), np.array(entry["weights"])
            nodes.flags.writeable = weights.flags.writeable = False
            players, error = entry["max_players"], entry["relative_error"]
            return Rule("log-chebyshev", nodes, weights, players, math.inf, False, error)
    return None


@lru_cache(maxsize=1024)
def ladder(n_players: int, tol: float | None = None) -> Ladder:
    """Return the rules worth using for `n_players` players at relative error `tol`.

    Parameters
    ----------
    n_players : int
    tol : float, optional
        Accepted relative error of the integral of each pair; full double precision by default.

    Examples
    --------
    >>> from pkex.games import rules
    >>> [rule.size for rule in rules.ladder(5).rules]
    [1, 2, 3]
    >>> rules.ladder(1000).rules[-1].family
    'log-chebyshev'
    """
    last = log_chebyshev(n_players, tol)
    if last is None or (n_players + 1) // 2 <= last.size:
        last = exact(n_players)
    sizes = range(1, min(last.size - 1, len(_data()["lam_max"][repr(_TIGHTEST)])) + 1)
    rules = [few_node(size, tol) for size in sizes]
    limits = np.array([rule.max_lam for rule in rules] + [math.inf])
    return Ladder((*rules, last), limits, n_players)


def ellipse(size: int, n_players: int, tol: float | None = None) -> Rule:
    """Return Gauss-Legendre with `size` nodes for the general game, limited to a certified lam.

    Examples
    --------
    >>> from pkex.games import rules
    >>> rules.ellipse(8, n_players=50)
    Rule(ellipse gauss-legendre, 8 nodes, lam <= 2.56, relative error <= 7.3e-16)
    """
    tol = check_tolerance(tol, FULL_PRECISION)
    accepted = _TIGHTEST
    limit = _ellipse_limit(check_count(size, "size", 1), _TIGHTEST)
    if tol is not None:  # the rounding of the nodes, which grows with lam, takes the other half
        within = min(_ellipse_limit(size, tol / 2.0), tol / _TIGHTEST - 2.0)
        if within > limit:  # else that rounding alone exceeds tol, and so it does in every rule
            accepted, limit = tol / 2.0, within
    rounding = _TIGHTEST * (1.0 + min(limit, 2.0 * n_players) / 2.0)
    nodes, weights = gauss_legendre(size)
    family = "ellipse gauss-legendre"
    return Rule(family, nodes, weights, 2**63 - 1, limit, False, accepted + rounding)


def _ellipse_limit(size: int, accepted: float) -> float:
    """Return the largest lam for which the bound of `size` nodes is at most `accepted`."""
    rho = np.geomspace(1.01, 1e4, 2000)  # every one gives a valid limit
    constant = 2.0 + 2.0 / (4.0 * size * size - 1.0)
    room = np.log(accepted * (1.0 - rho**-2.0) / constant) + 2.0 * size * np.log(rho)
    return max(0.0, float((4.0 * room / (rho + 1.0 / rho - 2.0)).max()))


@lru_cache(maxsize=256)
def general_ladder(n_players: int, tol: float | None = None) -> Ladder:
    """Return the rules for the general game: factors of absent and present players in [-1, 1].

    Parameters
    ----------
    n_players : int
    tol : float, optional
        Accepted error of the integral of each pair, relative to 1; full double precision by
        default. Rounding of the nodes, up to ``2^-52 (1 + n_players)``, is there at any `tol`.

    Examples
    --------
    >>> from pkex.games import rules
    >>> [rule.size for rule in rules.general_ladder(50).rules][-3:]
    [19, 22, 25]
    """
    largest = (check_count(n_players, "n_players", 1) + 1) // 2  # nodes, of the exact rule
    most = 2.0 * n_players * (1.0 + 2.0**-40)  # lam of any game, with the slack of its factors
    rules: list[Rule] = []
    size = 1
    while size < largest and (not rules or rules[-1].max_lam < most):
        rules.append(ellipse(size, n_players, tol))
        size = size + 1 if size < 16 else math.ceil(1.14 * size)
    if not rules or rules[-1].max_lam < most:
        error = _TIGHTEST * (1.0 + n_players)
        rules.append(replace(exact(n_players), relative_error=error))
    limits = np.array([rule.max_lam for rule in rules[:-1]] + [math.inf])
    return Ladder(tuple(rules), limits, n_players, -1.0)


def _level(tol: float | None) -> float:
    """Return the largest shipped tolerance that meets `tol`."""
    tol = check_tolerance(tol, FULL_PRECISION)
    if tol is None:
        return _TIGHTEST
    return float(max(t for t in _data()["tolerances"] if t <= tol))


@cache
def _data() -> dict[str, Any]:
    text = files("pkex.games").joinpath("rules.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data
