"""Make the quadrature tables of pkex, the package data `src/pkex/games/rules.json`.

    python scripts/make_rules.py [--out PATH] [--max-players N] [--sizes M]

For u_i in [0, 1] the Shapley weight of a product game is

    Q = int_0^1 prod_i (1 - t u_i) dt = E[1/(K+1)],    K Poisson-binomial with probabilities u_i,

and a rule (t_l, W_l) computes sum_l W_l prod_i (1 - t_l u_i) = E[sum_l W_l (1 - t_l)^K].

`lam_max`: m Gauss-Legendre nodes have relative error at most eps for every set of u_i with
sum_i u_i <= lam_max(m, eps), however many there are; `relative_error_bound` has the proof.

`log_chebyshev`: exponential sums 1/x ~ sum_l w_l exp(-s_l x) for x in [1, R], as rules with
t_l = 1 - exp(-s_l) and W_l = w_l exp(-s_l). With d <= R players K + 1 lies in [1, d], so the
relative error of Q is at most max_k |(k+1) sum_l W_l (1 - t_l)^k - 1| over k = 0 .. d - 1. The sums
are the best ones in the sense of Chebyshev: the relative error is equal, with alternating sign, at
2m + 1 points. For R near 1 these are the extrema of the Chebyshev polynomial T_2m in log x and the
sum is the Gauss-Laguerre rule; from there the best sum is followed to larger R. (Interpolation at
the 2m Chebyshev points of log x is as good for R near 1 only: at full precision and R = 1000 it
takes a fifth more terms, at R = 5000 a quarter more.)

Needs python-flint (ball arithmetic of many digits) besides NumPy and SciPy; pkex itself does not.
A full run takes about ten minutes.
"""

import argparse
import json
import logging
import math
import os
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
from flint import arb, arb_mat, ctx
from scipy.optimize import brentq

TOLERANCES = (2.0**-52, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3)
NODE_ROUNDING = 2.0**-51
LEGENDRE_SIZES = 64
OUT = Path(__file__).resolve().parents[1] / "src" / "pkex" / "games" / "rules.json"

log = logging.getLogger("make_rules")


def dot(a: list[arb], b: list[arb]) -> arb:
    """Sum of products."""
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0))


def round_significant(x: float, digits: int, rounding: str) -> float:
    """Round x to so many significant digits, ROUND_FLOOR or ROUND_CEILING."""
    return float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(x)))


# Gauss-Legendre with few nodes ------------------------------------------------------------------


@cache
def legendre_errors(m: int) -> list[arb]:
    """e_k = 1/(k+1) - Q_m[(1-t)^k], k = 0 .. 2 m^2 + 200, for m Gauss-Legendre nodes on [0, 1].

    e_k = 0 for k < 2m, and e_k >= 0, because the 2m-th derivative of (1-t)^k is not negative.
    """
    with ctx.workdps(60 + 2 * m):
        roots = [arb.legendre_p_root(m, i, weight=True) for i in range(m)]
        y = [(1 + x) / 2 for x, _ in roots]
        term = [w / 2 for _, w in roots]
        errors = []
        for k in range(2 * m * m + 201):
            errors.append(arb(0) if k < 2 * m else 1 / arb(k + 1) - sum(term, arb(0)))
            term = [a * b for a, b in zip(term, y, strict=True)]
    return errors


@cache
def convex_majorant(m: int) -> tuple[list[arb], arb]:
    """(h_0 .. h_n, c): h >= e, convex, nondecreasing; beyond n, h_k = h_n + (k - n) c.

    The increments of h are the running maximum of those of e. Beyond n an increment of e is at
    most e_(k+1) <= 1/(k+2) <= 1/(n+2), hence c.
    """
    e = legendre_errors(m)
    with ctx.workdps(60 + 2 * m):
        h, slope = [arb(0)], arb(0)
        for before, after in pairwise(e):
            slope = slope.max(after - before)
            h.append(h[-1] + slope)
        return h, slope.max(1 / arb(len(e) + 1))


def relative_error_bound(m: int, lam: float) -> arb:
    """Bound of the relative error of m Gauss-Legendre nodes for all u_i in [0,1] of sum <= lam.

    The absolute error is E e(K) <= E h(K) with h the convex majorant. For a convex function and
    given mean lam, E h(K) is largest for a binomial K (Hoeffding 1956, Theorem 3), and that is less
    than for a Poisson K. By Jensen's inequality E[1/(K+1)] >= 1/(1+lam). So the relative error is
    at most (1+lam) E h(Poisson(lam)), which increases with lam. Beyond the last k = n the Poisson
    weights p_k decrease faster than a geometric sequence of ratio lam/(n+2).
    """
    h, slope = convex_majorant(m)
    n = len(h) - 1
    if lam >= n / 2:
        return arb(math.inf)
    with ctx.workdps(60):
        mass, total = (-arb(lam)).exp(), arb(0)
        for k in range(n + 1):
            if k >= 2 * m:
                total += mass * h[k]
            mass *= arb(lam) / (k + 1)
        ratio = arb(lam) / (n + 2)
        tail = mass * (h[n] / (1 - ratio) + slope / (1 - ratio) ** 2)
        return (1 + arb(lam)) * (total + tail)


def lam_max(m: int, tolerance: float) -> float:
    """Largest lam with relative_error_bound(m, lam) <= eps, rounded down to 6 digits.

    Nodes rounded to doubles cost up to NODE_ROUNDING more (see pkex.games.rules). A loose tolerance
    includes that; the tightest, below it, is a bound for exact nodes, and pkex adds the rounding.
    """
    eps = tolerance - NODE_ROUNDING if tolerance > NODE_ROUNDING else tolerance
    low, high = 1e-12, float(m * m + 100)
    while high / low > 1 + 1e-8:
        middle = math.sqrt(low * high)
        if relative_error_bound(m, middle) <= eps:
            low = middle
        else:
            high = middle
    lam = round_significant(low, 6, ROUND_FLOOR)
    assert relative_error_bound(m, lam) <= eps
    return lam


# Best exponential sums --------------------------------------------------------------------------


class ExponentialSum(NamedTuple):
    """1/x ~ sum_l w_l exp(-s_l x) for x in [exp(-h), exp(h)]; R = exp(2h).

    `state` is log s_1 .. log s_m, log w_1 .. log w_m, and then the 2m + 1 points of largest error,
    as log(x) / h from -1 to 1. It is a smooth function of h.
    """

    h: float
    state: list[arb]
    error: float


def laguerre_sum(m: int) -> ExponentialSum:
    """The limit h -> 0: Gauss-Laguerre, with the extrema of the Chebyshev polynomial T_2m."""
    log_s, log_w = [], []
    for start in np.polynomial.laguerre.laggauss(m)[0]:
        x = arb(float(start))
        for _ in range(10):  # L_m' = m (L_m - L_(m-1)) / x
            value = x.laguerre_l(m)
            x = (x - value * x / (m * (value - x.laguerre_l(m - 1)))).mid()
        weight = x / ((m + 1) * x.laguerre_l(m + 1)) ** 2
        log_s.append(x.log().mid())
        log_w.append((weight.log() + x).mid())
    extrema = [-(arb.pi() * i / (2 * m)).cos().mid() for i in range(2 * m + 1)]
    return ExponentialSum(0.0, log_s + log_w + extrema, 0.0)


def extrapolate(known: list[ExponentialSum], h: float) -> list[arb]:
    """The states' polynomial interpolant in h."""
    weights = [
        math.prod((arb(h) - b.h) / (arb(a.h) - b.h) for b in known if b is not a) + arb(0)
        for a in known
    ]
    columns = zip(*(a.state for a in known), strict=True)
    return [dot(weights, list(column)).mid() for column in columns]


def best_sum(h: float, state: list[arb], iterations: int = 15) -> ExponentialSum | None:
    """Remez's algorithm by Newton's method from the guess `state`; None if it does not converge.

    With g(x) = x sum_l w_l exp(-s_l x) - 1, solve g(x_i) = -(-1)^i E for (log s, log w, E). As soon
    as that is accurate compared with E, move the points x_i to the extrema of g.
    """
    m = (len(state) - 1) // 4
    log_s, log_w = state[:m], state[m : 2 * m]
    y = [h * v for v in state[2 * m :]]
    for _ in range(iterations):
        s = [v.exp().mid() for v in log_s]
        rows, residuals = [], []
        for i, x in enumerate(v.exp().mid() for v in y):
            sx = [(a * x).mid() for a in s]
            term = [((b - a).exp() * x).mid() for a, b in zip(sx, log_w, strict=True)]
            slope = [-(a * b).mid() for a, b in zip(sx, term, strict=True)]
            rows.append([*slope, *term, arb((-1) ** i)])
            residuals.append([1 - sum(term, arb(0)).mid()])
        try:
            solution = arb_mat(rows).solve(arb_mat(residuals), algorithm="approx").entries()
        except ZeroDivisionError:
            return None
        *step, error = [v.mid() for v in solution]
        size = max(abs(float(v)) for v in step)
        if not size < 1:
            return None
        log_s = [(a + b).mid() for a, b in zip(log_s, step[:m], strict=True)]
        log_w = [(a + b).mid() for a, b in zip(log_w, step[m:], strict=True)]
        if size**2 > 1e-3 * abs(float(error)):
            continue
        moves = [arb(0), *(move_to_extremum(v, log_s, log_w) for v in y[1:-1]), arb(0)]
        y = [(a + b).mid() for a, b in zip(y, moves, strict=True)]
        if not all(a < b for a, b in pairwise(y)):
            return None
        if max(abs(float(v)) for v in moves) < 1e-2 * h / m:
            return ExponentialSum(h, log_s + log_w + [v / h for v in y], abs(float(error)))
    return None


def move_to_extremum(y: arb, log_s: list[arb], log_w: list[arb]) -> arb:
    """Newton step towards the zero of dg/dy, where g = sum_l w_l x exp(-s_l x) - 1, x = exp(y)."""
    sx = [(a + y).exp().mid() for a in log_s]
    term = [(b - a).exp().mid() for a, b in zip(sx, log_w, strict=True)]
    first = dot(term, [1 - a for a in sx]).mid()
    second = dot(term, [(1 - a) ** 2 - a for a in sx]).mid()
    return -(first / second).mid()


def follow(m: int, h_end: float) -> Iterator[ExponentialSum]:
    """Best sums of m terms with growing h, up to h_end."""
    known, step = [laguerre_sum(m)], 0.1
    while known[-1].h < h_end:
        h = min(known[-1].h + step, h_end)
        found = best_sum(h, extrapolate(known[-5:], h))
        if found is None:
            step /= 2
            assert step > 1e-3, f"no convergence: {m} terms, h = {h}"
            continue
        known.append(found)
        yield found
        step = min(1.3 * step, 0.3)


# Rules from exponential sums --------------------------------------------------------------------


class Rule(TypedDict):
    """A rule as it is stored; nodes ascending."""

    max_players: int
    relative_error: float
    nodes: list[float]
    weights: list[float]


def as_rule(best: ExponentialSum) -> tuple[list[float], list[float]]:
    """Nodes t = 1 - exp(-s) and weights W = w exp(-s), rounded to doubles, for x in [1, R]."""
    m = (len(best.state) - 1) // 4
    s = [(v - best.h).exp() for v in best.state[:m]]
    nodes = [float(-(-a).expm1()) for a in s]
    weights = [float((v - best.h - a).exp()) for a, v in zip(s, best.state[m : 2 * m], strict=True)]
    order = sorted(range(m), key=lambda i: nodes[i])
    return [nodes[i] for i in order], [weights[i] for i in order]


def certify(nodes: list[float], weights: list[float], players: int) -> float:
    """Upper bound of max_k |(k+1) sum_l W_l (1-t_l)^k - 1| over 0 <= k < players; 3 digits.

    Every k is checked, in integers with unit 2^-128 (the nodes and weights are multiples of it).
    A term W_l (1-t_l)^k loses less than one unit per k by rounding, hence the second summand.
    """
    one = 1 << 128
    factor = [int((1 - Fraction(t)) * one) for t in nodes]
    term = [int(Fraction(w) * one) for w in weights]
    worst = 0
    for k in range(players):
        worst = max(worst, abs((k + 1) * sum(term) - one))
        term = [a * b >> 128 for a, b in zip(term, factor, strict=True)]
    error = Fraction(worst + len(nodes) * players**2, one)
    return round_significant(float(error) * (1 + 1e-15), 3, ROUND_CEILING)


def rules_of_size(m: int, least: dict[float, int], max_players: int) -> dict[float, Rule]:
    """By tolerance, the rule with m nodes for as many players as possible.

    least: the tolerances wanted, with the number of players below which a rule is useless.
    """
    rules: dict[float, Rule] = {}
    with ctx.workdps(50 + 4 * m):
        # Rounding nodes and weights to doubles adds about 2^-53.
        targets = {tol: max(0.99 * tol - 2.0**-52, 2.0**-53) for tol in least}
        known: list[ExponentialSum] = []
        for best in follow(m, math.log(max_players) / 2):
            known.append(best)
            if best.error > max(targets.values()):
                break

        def at(h: float) -> ExponentialSum:
            best = best_sum(h, extrapolate(sorted(known, key=lambda a: abs(a.h - h))[:5], h))
            assert best is not None
            return best

        for tol, target in targets.items():
            players = max_players
            beyond = next((i for i, best in enumerate(known) if best.error > target), None)
            if beyond == 0:
                continue
            if beyond is not None:
                bracket = known[beyond - 1].h, known[beyond].h
                h = brentq(lambda h, t=target: math.log(at(h).error / t), *bracket, xtol=1e-3)
                players = math.floor(math.exp(2 * h))
            while players >= least[tol]:
                nodes, weights = as_rule(at(math.log(players) / 2))
                error = certify(nodes, weights, players)
                if error <= tol:
                    rules[tol] = Rule(
                        max_players=players, relative_error=error, nodes=nodes, weights=weights
                    )
                    break
                players = min(players - 1, int(0.99 * players))
    return rules


def log_chebyshev(max_players: int, sizes: int) -> dict[float, list[Rule]]:
    """By tolerance, rules of growing size until one serves `max_players`.

    A rule is useless unless it serves more players than the smaller ones do, and more than the 2m
    for which m Gauss-Legendre nodes are exact.
    """
    table: dict[float, list[Rule]] = {tol: [] for tol in TOLERANCES}
    for m in range(2, sizes + 1):
        reached = {tol: rules[-1]["max_players"] if rules else 1 for tol, rules in table.items()}
        least = {tol: max(2 * m, n) + 1 for tol, n in reached.items() if n < max_players}
        if not least:
            break
        found = rules_of_size(m, least, max_players)
        for tol, rule in found.items():
            table[tol].append(rule)
        log.info("%d nodes: %s", m, {tol: rule["max_players"] for tol, rule in found.items()})
    return table


def as_json(lam: dict[float, list[float]], rules: dict[float, list[Rule]]) -> str:
    """JSON with one table row or rule per line."""

    def block(rows: list[str], brackets: str) -> str:
        return brackets[0] + "\n" + ",\n".join(rows) + "\n" + brackets[1]

    lam_rows = [f'"{tol!r}": {json.dumps(values)}' for tol, values in lam.items()]
    rule_rows = [
        f'"{tol!r}": ' + block([json.dumps(rule) for rule in row], "[]")
        for tol, row in rules.items()
    ]
    return (
        '{\n"about": "made by scripts/make_rules.py; see pkex.games.rules",\n'
        f'"tolerances": {json.dumps(TOLERANCES)},\n'
        f'"lam_max": {block(lam_rows, "{}")},\n'
        f'"log_chebyshev": {block(rule_rows, "{}")}\n}}\n'
    )


def main() -> None:
    """Make the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--max-players", type=int, default=1_000_000)
    parser.add_argument("--sizes", type=int, default=80, help="most nodes to try")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    lam = {tol: [lam_max(m, tol) for m in range(1, LEGENDRE_SIZES + 1)] for tol in TOLERANCES}
    log.info("lam_max done")
    text = as_json(lam, log_chebyshev(args.max_players, args.sizes))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    temporary = args.out.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, args.out)
    log.info("wrote %s: %d bytes", args.out, len(text))


if __name__ == "__main__":
    main()
