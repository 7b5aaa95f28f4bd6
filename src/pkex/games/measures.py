"""Semivalues, by what is integrated over t: Shapley, Banzhaf, and Beta-Shapley values.

A semivalue weighs what a player adds to a coalition S of the n - 1 others by a number that depends
on ``|S|``, the probability that exactly S is present when every other player is so with probability
t, averaged over t:

    phi_j = integral E_{S ~ t} [v(S + j) - v(S)] dmu(t).

For a product game the expectation is the product ``Q_j`` in `pkex.games.protocols`, a polynomial of
degree n - 1 in t, so that a Gauss rule of mu with ``ceil(n / 2)`` nodes is exact.

Shapley's t is uniform, Banzhaf's is 1/2, and that of the Beta(a, b)-Shapley value of Kwon and Zou
(2022) has the density ``t^(b-1) (1-t)^(a-1) / B(a, b)``: their weight of a coalition of size s,
``B(s + b, n - s - 1 + a) / B(a, b)``, is its moment. Beta(1, 1) is Shapley; a large `a` looks at
small coalitions. Only Shapley's values add up to the worth of all players minus that of none
(efficiency).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from pkex._util.validation import brief
from pkex.games.protocols import Measure
from pkex.games.rules import Ladder, Rule, general_ladder, ladder

__all__ = ["Banzhaf", "BetaShapley", "FirstIn", "LastIn", "Shapley", "parse_measure"]

Extended = NDArray[np.longdouble]

_LARGEST = 64.0  # parameter of a Beta distribution for which the rules are tested
_ROUNDING = 2.0**-52 if np.finfo(np.longdouble).eps < 2.0**-60 else 2.0**-48  # of nodes


@dataclass(frozen=True)
class Shapley:
    """Shapley values, which add up to the worth of all players minus that of none.

    See Also
    --------
    Banzhaf : Weighs all coalitions alike.
    BetaShapley : Weighs small or large coalitions more.

    Examples
    --------
    >>> import pkex
    >>> pkex.games.Shapley().index
    'SV'
    """

    @property
    def index(self) -> str:
        """The name of the values.

        See Also
        --------
        pkex.Explainer : Takes it as ``index=``.

        Examples
        --------
        >>> import pkex
        >>> pkex.games.Shapley().index
        'SV'
        """
        return "SV"

    @property
    def efficient(self) -> bool:
        """Whether the values sum to the worth of all players minus that of none: they do.

        See Also
        --------
        pkex.Explanation.additivity_error : How far the computed values are from it.

        Examples
        --------
        >>> import pkex
        >>> pkex.games.Shapley().efficient
        True
        """
        return True

    def ladder(self, n_players: int, tol: float | None, *, general: bool) -> Ladder:
        """Return the quadrature rules with proven error bounds.

        Parameters
        ----------
        n_players : int
            Number of players.
        tol : float or None
            Accepted relative error; None for full double precision.
        general : bool
            Whether factors of removed players may differ from 1.

        Returns
        -------
        Ladder
            The quadrature rules, cheapest first.

        See Also
        --------
        pkex.games.rules : The quadrature rules.

        Examples
        --------
        >>> import pkex
        >>> len(pkex.games.Shapley().ladder(4, None, general=False).rules) > 0
        True
        """
        return general_ladder(n_players, tol) if general else ladder(n_players, tol)


class _AtNode:
    """What has all its weight at one t: a rule of one node, exact whatever the factors are."""

    index: ClassVar[str]
    efficient: ClassVar[bool] = False  # the values do not sum to anything in particular
    _name: ClassVar[str]
    _node: ClassVar[float]

    def ladder(
        self,
        n_players: int,
        tol: float | None,  # noqa: ARG002  (it is exact)
        *,
        general: bool,  # noqa: ARG002
    ) -> Ladder:
        """Return the rule of one node, which is exact.

        Parameters
        ----------
        n_players : int
            Number of players.
        tol : float or None
            Accepted relative error; None for full double precision.
        general : bool
            Whether factors of removed players may differ from 1.

        Returns
        -------
        Ladder
            The quadrature rules, cheapest first.

        See Also
        --------
        pkex.games.rules : The quadrature rules.

        Examples
        --------
        >>> import pkex
        >>> len(pkex.games.Banzhaf().ladder(4, None, general=False).rules) > 0
        True
        """
        nodes, weights = np.array([self._node]), np.array([1.0])
        return _single_rule_ladder(
            Rule(self._name, nodes, weights, 2**63 - 1, math.inf, True, 0.0), n_players
        )


@dataclass(frozen=True)
class Banzhaf(_AtNode):
    """Banzhaf values: every other player is present with probability 1/2. They do not add up.

    See Also
    --------
    Shapley : The values that add up.

    Examples
    --------
    >>> import pkex
    >>> points, names = [[0.0, 0.0], [1.0, 1.0]], ["age", "bmi"]
    >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF(), 0.5, names)
    >>> explanation = pkex.Explainer(f, index="BV")([[0.0, 1.0]])
    >>> explanation.index, explanation.values.round(4)
    ('BV', array([[-0.2161,  0.1   ]]))
    """

    index, _name, _node = "BV", "banzhaf", 0.5


@dataclass(frozen=True)
class FirstIn(_AtNode):
    """First-in values, t = 0: what a player adds to the empty coalition.

    In a game of variances they are the first-order Sobol indices.

    See Also
    --------
    LastIn : What a player adds to all the others.
    Shapley : The mean over all orders.

    Examples
    --------
    >>> import pkex
    >>> pkex.games.FirstIn().index
    'first-in'
    """

    index, _name, _node = "first-in", "first-in", 0.0


@dataclass(frozen=True)
class LastIn(_AtNode):
    """Last-in values, t = 1: what a player adds to all the others.

    In a game of variances they are the total-order Sobol indices.

    See Also
    --------
    FirstIn : What a player adds to the empty coalition.
    Shapley : The mean over all orders.

    Examples
    --------
    >>> import pkex
    >>> pkex.games.LastIn().index
    'last-in'
    """

    index, _name, _node = "last-in", "last-in", 1.0


@dataclass(frozen=True)
class BetaShapley:
    """Beta(alpha, beta)-Shapley values (Kwon and Zou 2022). They do not add up, but for Beta(1, 1).

    Parameters
    ----------
    alpha, beta : float
        Positive, at most 64. The larger `alpha`, the more small coalitions count; the larger
        `beta`, the more large ones do. Both 1 give Shapley values.

    See Also
    --------
    Shapley : The values that add up.
    Banzhaf : Weighs all coalitions alike.

    Examples
    --------
    >>> import pkex
    >>> points, names = [[0.0, 0.0], [1.0, 1.0]], ["age", "bmi"]
    >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF(), 0.5, names)
    >>> explanation = pkex.Explainer(f, index=pkex.games.BetaShapley(16, 1))([[0.0, 1.0]])
    >>> explanation.index
    'Beta(16, 1)'
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.integer | np.floating)
            if not number or isinstance(value, bool) or not 0.0 < value <= _LARGEST:
                raise ValueError(
                    f"{name} of BetaShapley must be a number above 0 and at most {_LARGEST:g}, got "
                    f"{brief(value)}."
                )

    @property
    def index(self) -> str:
        """The name of the values.

        See Also
        --------
        pkex.Explainer : Takes it as ``index=``.

        Examples
        --------
        >>> import pkex
        >>> pkex.games.BetaShapley(16, 1).index
        'Beta(16, 1)'
        """
        return f"Beta({self.alpha:g}, {self.beta:g})"

    @property
    def efficient(self) -> bool:
        """Whether the values sum to the worth of all players minus that of none: Beta(1, 1) only.

        See Also
        --------
        pkex.Explanation.additivity_error : How far the computed values are from it.

        Examples
        --------
        >>> import pkex
        >>> pkex.games.BetaShapley(16, 1).efficient
        False
        """
        return self.alpha == 1.0 and self.beta == 1.0

    def ladder(self, n_players: int, tol: float | None, *, general: bool) -> Ladder:
        """Return the Gauss-Jacobi rule that is exact for so many players, or Shapley's rules.

        Parameters
        ----------
        n_players : int
            Number of players.
        tol : float or None
            Accepted relative error; None for full double precision.
        general : bool
            Whether factors of removed players may differ from 1.

        Returns
        -------
        Ladder
            The quadrature rules, cheapest first.

        See Also
        --------
        pkex.games.rules : The quadrature rules.

        Examples
        --------
        >>> import pkex
        >>> len(pkex.games.BetaShapley(16, 1).ladder(4, None, general=False).rules) > 0
        True
        """
        if self.efficient:
            return Shapley().ladder(n_players, tol, general=general)
        return _single_rule_ladder(
            _gauss_jacobi(float(self.alpha), float(self.beta), n_players), n_players
        )


def parse_measure(index: object) -> Measure:
    """Return the semivalue that `index` names or is."""
    if isinstance(index, str):
        for measure in (Shapley(), Banzhaf()):
            if measure.index == index:
                return measure
    elif not isinstance(index, type) and all(
        hasattr(index, name) for name in ("index", "efficient", "ladder")
    ):
        return index  # type: ignore[return-value]
    raise ValueError(
        f"index must be 'SV' (Shapley), 'BV' (Banzhaf), or a semivalue such as "
        f"pkex.games.BetaShapley(16, 1); got {brief(index)}."
    )


def _single_rule_ladder(rule: Rule, n_players: int) -> Ladder:
    """Return a ladder of a single rule that takes all factors."""
    return Ladder((rule,), np.array([math.inf]), n_players, -1.0, rule)


@lru_cache(maxsize=256)
def _gauss_jacobi(alpha: float, beta: float, n_players: int) -> Rule:
    """Return the Gauss rule of the Beta(beta, alpha) distribution on [0, 1].

    SciPy's nodes are made better by two Newton steps in extended precision, on the orthonormal
    polynomials ``q_k`` of the distribution, and the weights are ``1 / sum_k q_k(t)^2``. Rounded to
    doubles, both are right to 2^-52 relatively. As in the general game of `pkex.games.rules` that
    costs at most ``2^-52 (1 + n)``, n players having an integrand of slope at most 2n.
    """
    size = (n_players + 1) // 2
    start, _ = roots_jacobi(size, alpha - 1.0, beta - 1.0)
    t: Extended = 0.5 * (1.0 + start.astype(np.longdouble))
    for _ in range(2):
        value, slope, _ = _orthonormal(size, t, alpha, beta)
        t = t - value / slope
    weights = 1.0 / _orthonormal(size, t, alpha, beta)[2]
    nodes, weights = t.astype(np.float64), (weights / weights.sum()).astype(np.float64)
    nodes.flags.writeable = weights.flags.writeable = False
    error = _ROUNDING * (1.0 + n_players)
    return Rule("gauss-jacobi", nodes, weights, 2 * size, math.inf, True, error)


def _orthonormal(
    size: int, t: Extended, alpha: float, beta: float
) -> tuple[Extended, Extended, Extended]:
    """Return ``q_size`` at `t`, up to a factor, its derivative, and the sum of ``q_k^2`` below it.

    By the recurrence ``r_{k+1} q_{k+1} = (t - c_k) q_k - r_k q_{k-1}`` of Jacobi's polynomials.
    """
    a, b = np.longdouble(alpha), np.longdouble(beta)
    both = a + b  # A + B + 2 in the usual notation, A = alpha - 1 and B = beta - 1
    before, now = np.zeros_like(t), np.ones_like(t)
    slope_before, slope = np.zeros_like(t), np.zeros_like(t)
    squares, root = np.zeros_like(t), np.longdouble(0.0)
    for k in range(size):
        squares = squares + now * now
        if k == 0:
            centre = b / both
            square = a * b / (both * both * (both + 1.0))
        else:
            twice = 2.0 * k + both
            centre = 0.5 + 0.5 * (b - a) * (both - 2.0) / ((twice - 2.0) * twice)
            square = (k + 1.0) * (k + a) * (k + b) * (k + both - 1.0)
            square = square / (twice * twice * (twice + 1.0) * (twice - 1.0))
        after = np.sqrt(square)
        step = (t - centre) * now - root * before
        slope_step = now + (t - centre) * slope - root * slope_before
        before, now, slope_before, slope = now, step / after, slope, slope_step / after
        root = after
    return now, slope, squares
