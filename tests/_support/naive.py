"""Slow, obvious twins of what pkex computes, and oracles in many digits. Imports nothing of pkex.

A pair of points has the deficits u_j = 1 - k_j(x_j, z_j). Two exact forms of the same quantity,
found in unrelated ways, check each other and everything else:

    integral_0^1 prod_i (1 - t u_i) dt  =  E[1 / (K + 1)],   K = number of successes among
                                                            independent trials of probability u_i

The left side is summed by a Gauss-Legendre rule with enough nodes to be exact, the right side from
the distribution of K, whose recurrence only adds positive numbers. Both hold reals as integers
scaled by 2^bits ("fixed point") in arrays of Python integers: the error is then absolute, which is
also relative here, since for u in [0, 1] and d factors both sides are at least 1 / (d + 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any, TypeAlias

import mpmath
import numpy as np
from mpmath import mp, mpf

Real: TypeAlias = Any  # float, Fraction, int or mpf, each taken exactly

GUARD_BITS = 64  # rounding errors of d^2 operations take 2 log2(d) of them


def exactly(number: Real) -> Fraction:
    """Return a float, Fraction, int or mpf as a fraction, without rounding."""
    if isinstance(number, mpf):
        return Fraction(*map(int, mpmath.libmp.to_rational(number._mpf_)))
    return Fraction(number)


def to_mpf(number: Real) -> mpf:
    """Return `number` as an mpf, rounded to the working precision."""
    fraction = exactly(number)
    return mpf(fraction.numerator) / fraction.denominator


def bits_for(digits: int) -> int:
    """Return the bits of a fixed-point number that keeps `digits` digits of a sum of products."""
    return math.ceil(digits * math.log2(10)) + GUARD_BITS


def fixed(numbers: Iterable[Real], bits: int) -> Any:
    """Return an object array of the integers round(number * 2^bits)."""
    return np.array([round(exactly(number) * 2**bits) for number in numbers], dtype=object)


def unfixed(number: int, bits: int) -> mpf:
    """Return number / 2^bits as an mpf that keeps every bit."""
    with mp.workprec(max(number.bit_length(), 53)):
        return mpmath.ldexp(mpf(number), -bits)


@lru_cache(maxsize=64)
def gauss_legendre(m: int, digits: int) -> tuple[tuple[mpf, ...], tuple[mpf, ...]]:
    """Return nodes t and weights w of the m-point rule on [0, 1], to `digits` digits.

    Newton's iteration on the Legendre polynomial P_m, from numpy's nodes, with
    (k + 1) P_{k+1} = (2k + 1) x P_k - k P_{k-1} and (1 - x^2) P_m' = m (P_{m-1} - x P_m).
    The weights are 1 / ((1 - x^2) P_m'^2).
    """
    bits = bits_for(digits) + 4 * m.bit_length()
    one = 1 << bits
    x = fixed(np.polynomial.legendre.leggauss(m)[0], bits)
    correct_bits = 45  # of numpy's nodes; a step doubles them, less log2 of P''/P' < m^2
    while True:
        before, at = one + 0 * x, x
        for k in range(1, m):
            before, at = at, ((2 * k + 1) * (x * at >> bits) - k * before) // (k + 1)
        slope = m * (before - (x * at >> bits))  # (1 - x^2) P_m'
        spread = one - (x * x >> bits)
        if correct_bits >= bits:
            break
        x = x - at * spread // slope
        correct_bits = 2 * correct_bits - 2 * m.bit_length()
    weights = spread * one // slope * one // slope
    return (
        tuple(unfixed(one - int(node), bits + 1) for node in x[::-1]),
        tuple(unfixed(int(weight), bits) for weight in weights[::-1]),
    )


def expected_reciprocal(u: Sequence[Real], digits: int = 60) -> mpf:
    """Return E[1 / (K + 1)] for K the number of successes in trials of probability u_i.

    The distribution of K after one more trial is P(k) (1 - u) + P(k - 1) u.
    """
    bits = bits_for(digits)
    one = 1 << bits
    distribution = np.array([one], dtype=object)
    zero = np.array([0], dtype=object)
    for p in fixed(u, bits):
        stay = np.concatenate([distribution, zero]) * (one - p)
        step = np.concatenate([zero, distribution]) * p
        distribution = (stay + step) >> bits
    return unfixed(sum(int(q) // (k + 1) for k, q in enumerate(distribution)), bits)


@lru_cache(maxsize=8)
def _fixed_rule(m: int, digits: int, bits: int) -> tuple[Any, Any]:
    nodes, weights = gauss_legendre(m, digits)
    return fixed(nodes, bits), fixed(weights, bits)


def leave_one_out(u: Sequence[Real], digits: int = 50) -> list[mpf]:
    """Return integral_0^1 prod_{i != j} (1 - t u_i) dt for every j, for u in [0, 1].

    The integrand has degree d - 1, so ceil(d / 2) nodes are exact.
    """
    bits = bits_for(digits)
    one = 1 << bits
    nodes, weights = _fixed_rule((len(u) + 1) // 2, digits + 10, bits)
    factors = [one - (nodes * p >> bits) for p in fixed(u, bits)]
    prefixes = [weights]
    for factor in factors[:-1]:
        prefixes.append(prefixes[-1] * factor >> bits)
    suffix = one + 0 * nodes
    integrals = []
    for prefix, factor in zip(reversed(prefixes), reversed(factors), strict=True):
        integrals.append(unfixed(int((prefix * suffix).sum()), 2 * bits))
        suffix = suffix * factor >> bits
    return integrals[::-1]


def shapley(
    deficits: Sequence[Sequence[Real]], weights: Sequence[Real], digits: int = 50
) -> list[mpf]:
    """Return phi_j = -sum_i w_i u_ij integral_0^1 prod_{l != j} (1 - t u_il) dt, for rows u_i."""
    with mp.workdps(digits + 10):
        phi = [mpf(0)] * len(deficits[0])
        for row, weight in zip(deficits, weights, strict=True):
            integrals = leave_one_out(row, digits)
            for j, (u, integral) in enumerate(zip(row, integrals, strict=True)):
                phi[j] -= to_mpf(weight) * to_mpf(u) * integral
        return phi


def shapley_by_enumeration(value: Callable[[frozenset[int]], Any], d: int) -> list[Any]:
    """Return the Shapley values of any set function on {0, ..., d-1}, from the definition.

    Exact if `value` returns fractions.
    """
    phi = []
    for j in range(d):
        others = [i for i in range(d) if i != j]
        total: Any = 0
        for q in range(d):
            mu = Fraction(math.factorial(q) * math.factorial(d - q - 1), math.factorial(d))
            gains = (
                value(frozenset(s) | {j}) - value(frozenset(s)) for s in combinations(others, q)
            )
            total += mu * sum(gains)
        phi.append(total)
    return phi


def kernel(name: str, x: Fraction, z: Fraction, params: dict[str, Any]) -> mpf:
    """Return k(x, z) of one column by its formula, in the working precision."""
    real = {key: to_mpf(parameter) for key, parameter in params.items()}
    apart = to_mpf(abs(x - z))
    if name == "rbf":
        return mpmath.exp(-(apart**2) / (2 * real["length_scale"] ** 2))
    if name == "laplacian":
        return mpmath.exp(-apart / real["length_scale"])
    if name == "cauchy":
        return 1 / (1 + apart**2 / real["length_scale"] ** 2)
    if name == "matern":
        a = mpmath.sqrt(2 * real["nu"]) * apart / real["length_scale"]
        polynomial = {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[params["nu"]]
        return polynomial * mpmath.exp(-a)
    if name == "chi2":
        return mpmath.exp(-real["gamma"] * apart**2 / to_mpf(x + z))
    if name == "periodic":
        phase = (x - z) / exactly(params["periodicity"])
        sine = mpmath.sinpi(to_mpf(phase - round(phase)))
        return mpmath.exp(-2 * sine**2 / real["length_scale"] ** 2)
    raise ValueError(f"{name!r} is not a kernel that this module knows")


def kernel_deficit(name: str, x: float, z: float, *, digits: int = 50, **params: Any) -> mpf:
    """Return u = 1 - k(x, z) of one column to `digits` digits, all arguments taken exactly.

    name and params: "rbf", "laplacian", "cauchy" (length_scale), "matern" (length_scale, nu),
    "chi2" (gamma), "periodic" (length_scale, periodicity), "categorical" (mismatch).
    """
    a, b = exactly(x), exactly(z)
    if name == "categorical":
        with mp.workdps(digits + 40):
            return mpf(0) if a == b else to_mpf(1 - exactly(params["mismatch"]))
    if a == b or (name == "periodic" and ((a - b) / exactly(params["periodicity"])) % 1 == 0):
        return mpf(0)
    spare = 40
    while True:
        with mp.workdps(digits + spare):
            u = 1 - kernel(name, a, b, params)
            # The subtraction cancels as many digits as u has leading zeros.
            if u > mpf(10) ** (10 - spare):
                return u
        spare *= 2


# MMD and HSIC, by plain loops over pairs. A game on d players is an array of 2^d values, one for
# each subset: bit j of its index tells whether player j is in it.

Game: TypeAlias = Any
Pair: TypeAlias = Callable[[int, int], Any]  # what a pair of rows gives: a number or a game


def product_game(coefficients: Sequence[float], factors: Any, absent: Any = None) -> Game:
    """Return sum_c coefficients[c] prod_{j in S} factors[c, j] for every subset S.

    Players that are not in S have the factors absent[c, j], 1 by default.
    """
    game: Game = 0.0
    absent = np.ones(np.shape(factors)) if absent is None else absent
    for coefficient, row, without in zip(coefficients, factors, absent, strict=True):
        worths = np.array([coefficient])
        for factor, other in zip(row, without, strict=True):
            worths = np.concatenate([worths * other, worths * factor])
        game = game + worths
    return game


def mean_factors(factors: Any) -> Any:
    """Return the means over all pairs of different rows of factors (terms, rows, rows, players)."""
    n = factors.shape[1]
    pairs = [factors[:, i, j] for i in range(n) for j in range(n) if i != j]
    return sum(pairs) / len(pairs)


def mmd(k: Pair, n: int, m: int, biased: bool = False) -> Any:
    """Return the squared MMD between the rows 0 to n - 1 and n to n + m - 1 (paper, section 4)."""
    x, z = range(n), range(n, n + m)
    both = 0 if biased else 1
    total = sum(-2.0 / (n * m) * k(i, j) for i in x for j in z)
    for rows, size in ((x, n), (z, m)):
        pairs = [(i, j) for i in rows for j in rows if biased or i != j]
        total = total + sum(k(i, j) / (size * (size - both)) for i, j in pairs)
    return total


def hsic(k: Pair, l: Pair, n: int, biased: bool = True) -> Any:
    """Return HSIC: tr(K H L H) / (n - 1)^2 (paper, section 4), or the one of Song et al. (2012).

    The latter is, with zeros on the diagonals of K and L,
    (tr(K L) + 1'K1 1'L1 / ((n - 1)(n - 2)) - 2 / (n - 2) 1'K L1) / (n (n - 3)).
    """
    rows = range(n)
    if biased:
        row = [sum(l(i, j) for j in rows) / n for i in rows]
        mean = sum(row) / n
        centred = [[l(i, j) - row[i] - row[j] + mean for j in rows] for i in rows]
        return sum(k(i, j) * centred[j][i] for i in rows for j in rows) / (n - 1) ** 2
    off = [(i, j) for i in rows for j in rows if i != j]
    trace = sum(k(i, j) * l(i, j) for i, j in off)
    sums = sum(k(i, j) for i, j in off) * sum(l(i, j) for i, j in off)
    row_l = [sum(l(i, j) for j in rows if j != i) for i in rows]
    chain = sum(k(i, j) * row_l[j] for i, j in off)
    return (trace + sums / ((n - 1) * (n - 2)) - 2.0 / (n - 2) * chain) / (n * (n - 3))


def hsic_by_quadruples(k: Pair, l: Pair, n: int) -> float:
    """Return the unbiased HSIC: the mean of k_ij (l_ij + l_qr - 2 l_iq), all rows different.

    The expectation of each term is E[k l] + E[k] E[l] - 2 E[E[k | x] E[l | y]], which is HSIC.
    """
    terms = [
        k(i, j) * (l(i, j) + l(q, r) - 2.0 * l(i, q)) for i, j, q, r in permutations(range(n), 4)
    ]
    return float(sum(terms) / len(terms))


def shapley_of_game(game: Game) -> Any:
    """Return the Shapley values from the definition."""
    d = len(game).bit_length() - 1
    return np.array(
        shapley_by_enumeration(lambda subset: game[sum(1 << j for j in subset)], d), dtype=float
    )


def components(game: Game) -> Game:
    """Return the functional decomposition, sum_{T in S} (-1)^(|S| - |T|) v(T) for every S."""
    result = np.zeros(len(game))
    for whole in range(len(game)):
        for part in range(len(game)):
            if part & whole == part:
                result[whole] += (-1) ** (whole.bit_count() - part.bit_count()) * game[part]
    return result


def row_shares(statistic: Callable[[Pair], float], game: Pair, n: int) -> Any:
    """Return the Shapley values of each row's share, shape (n, players).

    A statistic is linear in the kernel, so the weight of a pair is what it gives for the kernel
    that is 1 there and 0 elsewhere. The two rows of a pair share equally.
    """
    shares: list[Any] = [0.0] * n
    for i in range(n):
        for j in range(n):

            def only_here(a: int, b: int, here: tuple[int, int] = (i, j)) -> float:
                return float((a, b) == here)

            weight = statistic(only_here)
            for row in (i, j):
                shares[row] = shares[row] + 0.5 * weight * game(i, j)
    return np.stack([shapley_of_game(share) for share in shares])
