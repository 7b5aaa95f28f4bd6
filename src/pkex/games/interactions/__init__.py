"""What players of product games do together: weighted sums over pairs of functionals of ``G_S``.

`pkex.games.functionals` says which functional an index is. Here it is evaluated for the players,
all pairs and all triples of players at once, or for chosen subsets.

- `recipe`: what is summed for an index;
- `tally`: the sums, and the values that they make;
- `batch`: pairs of points are measured, and those with the same rule go together;
- `everything`: all players, pairs and triples of players at once;
- `chosen`: chosen subsets;
- `reductions`: sums by row of a table, or over all pairs of a sample, in the engine.

*All at once.* With ``f_j = a_j + x (p_j - a_j)`` at a node, ``R_j = (p_j - a_j) / f_j`` and P the
product of all ``f_j``, ``G_S = P prod_{j in S} R_j``. So the sum over pairs of points and nodes e
with weights ``w_e`` is, for all pairs of players, one matrix product

    sum_e w_e G_{ij} = (R diag(w P) R')_{ij},

whose diagonal means nothing. For the ``w_e P_e`` of one sign it is ``T T'`` with
``T = R sqrt(|w P|)``, which BLAS forms in half the time and which is symmetric to the last digit.
Triples are one such product for each player. R and T are formed by the backend, see
`pkex.games.protocols.Ratios`, and the products by BLAS.

*Denominators that vanish.* Factors ``f_j`` are kept away from 0: where ``|f_j| < tau m_j`` with
``m_j = max(|a_j|, |p_j|)`` and ``tau = 2^-80`` they are set to ``tau m_j``, in P and in R alike. As
every factor is at most ``m_j`` in size, that changes ``G_S`` by at most ``2 d tau`` times
``prod_{j in S} |p_j - a_j| prod_{j not in S} m_j``, far below one rounding. What a subset without
``f_j`` needs, ``P R_j``, is right to a few roundings, because ``tau m_j`` cancels.

*Derivatives* of ``G_S`` are sums of ``G_T`` over larger sets T, and are taken as such: a formula by
power sums of the R_j would cancel where one of them is large.

*Bounds.* The bounds of `pkex.games.rules` hold: ``G_S`` is the integrand of the diagonal formula
with fewer players, so with a smaller lam, and a density ``x^i (1-x)^(q-i)`` is q more players with
``|p - a| = 1``, so the rule is looked up at lam + q. For powers of ``1 - x`` under neutral removal
the bound is relative to the integral; else it is relative to 1 and multiplied by the `mass` of the
density. Over all subsets of s players ``prod_S |p_j - a_j|`` sums to at most ``lam^s / s!``, over
those of at most k players to at most ``(1 + lam)^k``: the `reach` of a pair.
"""

from __future__ import annotations

from pkex.games.interactions.batch import add_rows
from pkex.games.interactions.recipe import Recipe, Subset
from pkex.games.interactions.tally import Tally, all_triples

__all__ = ["Recipe", "Subset", "Tally", "add_rows", "all_triples"]
