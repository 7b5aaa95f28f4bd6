"""Make the tables of Gaussian mixtures of pkex, the package data `src/pkex/kernels/mixtures.json`.

    python scripts/make_mixtures.py [--out PATH] [--check]

A Matern kernel is a function ``psi`` of ``q``, the squared distance in units of the length scale,
and completely monotone: ``psi(q) = int exp(-tau q) dnu(tau)`` with a probability measure. The
tables hold sums ``S(q) = sum_k w_k exp(-tau_k q)`` with positive weights and few terms, each with
a proven bound of ``|psi(q) - S(q)|`` over all ``q >= 0``.

*Making.* The trapezoidal rule in ``log tau`` is a sum of a hundred terms and more. As the impulse
response of a symmetric system it is shortened by balanced truncation, which keeps the weights
positive: with the Gramian ``b_i b_j / (tau_i + tau_j)``, ``b_i = (w_i tau_i^(1/2))^(1/2)``, the
system is projected on the leading eigenvectors. Its error changes sign as often as that of a best
sum, 2m times for m terms, so that Remez's algorithm finds the best sum from there, step by step:
its error is equal, with alternating sign, at ``q = 0`` and at 2m further points.

With nu = 1/2 the number of terms grows like the square of the digits, because of the kink at 0; so
the tables end at 1e-14 there, and above 24 terms hold the truncated sums as they are, with some
more terms than the best ones. There the power of tau in ``b_i`` is 1, which makes the error of the
truncated sum smaller, though it does not change sign then.

*Proof.* How a table was made does not matter for its certificate. See `certify`.

Needs python-flint (ball arithmetic of many digits); pkex itself does not. A full run takes some
minutes. ``--check`` proves the bounds of the file that is there.
"""

import argparse
import json
import logging
import math
import os
from decimal import ROUND_CEILING, Context, Decimal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypedDict

from flint import acb_mat, arb, arb_mat, ctx

LOOSE = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3)
TOLERANCES = {2.5: (1e-15, *LOOSE), 1.5: (1e-15, *LOOSE), 0.5: LOOSE}
MOST_BEST = {2.5: 60, 1.5: 60, 0.5: 24}  # terms of best sums; above, they take long to find
OUT = Path(__file__).resolve().parents[1] / "src" / "pkex" / "kernels" / "mixtures.json"

STEP = {2.5: 0.2, 1.5: 0.2, 0.5: 0.25}  # of the trapezoidal rule, whose error is below 1e-15
DIGITS = {2.5: 80, 1.5: 80, 0.5: 50}
DEGREE = 26  # of the interpolant on a piece of length 1 in log q
OVERSAMPLED = 8

log = logging.getLogger("make_mixtures")


class Mixture(TypedDict):
    """A sum as it is stored; scales ascending."""

    error: float
    scales: list[float]
    weights: list[float]


class Sum(NamedTuple):
    """``sum_k w_k exp(-tau_k q)`` in many digits."""

    scales: list[arb]
    weights: list[arb]

    def __call__(self, q: arb) -> arb:
        """Evaluate it."""
        terms = zip(self.scales, self.weights, strict=True)
        return sum((w * (-tau * q).exp() for tau, w in terms), arb(0))


def psi(nu: float, q: arb) -> arb:
    """The Matern kernel of smoothness `nu` at the squared distance q."""
    r = (2 * arb(nu) * q).sqrt()
    factor = {0.5: arb(1), 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[nu]
    return factor * (-r).exp()


# Making -----------------------------------------------------------------------------------------


def trapezoid(nu: float) -> Sum:
    """The trapezoidal rule in log tau, normalised; the density is largest at tau = 1/2."""
    h = STEP[nu]
    places = [arb(i) * arb(h) for i in range(math.floor(-5 / h), math.ceil((36 / nu + 3) / h))]
    weights = [(-arb(nu) * (s + (-s).exp() - 1)).exp().mid() for s in places]
    total = sum(weights, arb(0))
    return Sum([(s.exp() / 2).mid() for s in places], [(w / total).mid() for w in weights])


def eigenvectors(matrix: list[list[arb]]) -> list[tuple[arb, list[arb]]]:
    """Eigenvalues of a symmetric matrix, the largest first, with their vectors of length 1."""
    values, vectors = acb_mat(arb_mat(matrix)).eig(right=True, algorithm="approx")
    found = []
    for i, value in enumerate(values):
        column = [vectors[j, i].real.mid() for j in range(len(matrix))]
        length = sum((v * v for v in column), arb(0)).sqrt()
        found.append((value.real.mid(), [(v / length).mid() for v in column]))
    return sorted(found, key=lambda pair: -abs(float(pair[0])))


class Balanced(NamedTuple):
    """A sum as a symmetric system, in the directions that matter most first."""

    system: list[list[arb]]
    inputs: list[arb]
    power: float

    @classmethod
    def of(cls, full: Sum, size: int, power: float) -> "Balanced":
        """Balance a sum, by the eigenvectors of its Gramian, with weights times tau^power."""
        inputs = [(w * tau ** arb(power)).sqrt().mid() for tau, w in zip(*full, strict=True)]
        pairs = list(zip(full.scales, inputs, strict=True))
        gramian = [[(b * c / (s + t)).mid() for t, c in pairs] for s, b in pairs]
        basis = [vector for _, vector in eigenvectors(gramian)[:size]]
        scaled = [[(a * tau).mid() for a, tau in zip(v, full.scales, strict=True)] for v in basis]
        system = [[arb(0)] * len(basis) for _ in basis]
        for i, u in enumerate(scaled):
            for j in range(i + 1):
                system[i][j] = system[j][i] = dot(u, basis[j])
        return cls(system, [dot(v, inputs) for v in basis], power)

    def truncated(self, size: int) -> Sum:
        """Balanced truncation to so many terms."""
        scales, weights = [], []
        for tau, vector in reversed(eigenvectors([row[:size] for row in self.system[:size]])):
            scales.append(tau)
            weight = dot(vector, self.inputs[:size]) ** 2 / tau ** arb(self.power)
            weights.append(weight.mid())
        return Sum(scales, weights)


def dot(a: list[arb], b: list[arb]) -> arb:
    """Sum of products."""
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0)).mid()


def extrema(nu: float, some: Sum) -> list[arb] | None:
    """The places log q of the largest error between two changes of sign; None if too few."""
    low = -2 * math.log(float(some.scales[-1])) - 20
    grid = [arb(low + 0.02 * i) for i in range(math.ceil((8 - low) / 0.02))]
    errors = [(psi(nu, y.exp()) - some(y.exp())).mid() for y in grid]
    places: list[arb] = []
    largest, where = arb(0), grid[0]
    sign = errors[0] > 0
    for y, error in zip(grid, errors, strict=True):
        if (error > 0) != sign:
            places.append(where)
            largest, sign = arb(0), error > 0
        if abs(error) >= largest:
            largest, where = abs(error), y
    places.append(where)
    wanted = 2 * len(some.scales)
    return places[1:] if len(places) == wanted + 1 else None


def best(nu: float, start: Sum, places: list[arb]) -> Sum | None:
    """Level the errors at the extrema step by step, from those of `start`; None if that fails.

    At first they are what they are, of alternating sign; in the end all have the same size.
    """
    for _ in range(6):
        places = [(y + towards_extremum(nu, start, y)).mid() for y in places]
    points = [arb(0), *(y.exp().mid() for y in places)]
    sizes = [math.log(abs(float(psi(nu, q) - start(q)))) for q in points]
    mean = sum(sizes) / len(sizes)
    state, done, step = (start, places), 0.0, 0.2
    while done < 1.0:
        share = min(1.0, done + step)
        levels = [arb((1.0 - share) * (size - mean)).exp() for size in sizes]
        found = levelled(nu, *state, levels)
        if found is None:
            step /= 2
            if step < 1e-4:
                return None
            continue
        state, done, step = found, share, 1.5 * step
    return state[0]


def levelled(
    nu: float, some: Sum, places: list[arb], levels: list[arb]
) -> tuple[Sum, list[arb]] | None:
    """Remez's algorithm by Newton's method from a good guess; None if it does not converge.

    With ``g = psi - S`` solve ``g(q_i) = (-1)^i L_i E`` for (log tau, log w, E), ``q_0 = 0``, and
    move the other points to the extrema of g in log q.
    """
    m = len(some.scales)
    log_tau = [tau.log().mid() for tau in some.scales]
    log_w = [w.log().mid() for w in some.weights]
    for _ in range(25):
        tau, w = [v.exp().mid() for v in log_tau], [v.exp().mid() for v in log_w]
        rows, residuals = [], []
        for i, q in enumerate([arb(0), *(y.exp().mid() for y in places)]):
            terms = [(b * (-a * q).exp()).mid() for a, b in zip(tau, w, strict=True)]
            slopes = [-(a * q * c).mid() for a, c in zip(tau, terms, strict=True)]
            rows.append([*slopes, *terms, (-1) ** i * levels[i]])
            residuals.append([(psi(nu, q) - sum(terms, arb(0))).mid()])
        try:
            found = arb_mat(rows).solve(arb_mat(residuals), algorithm="approx").entries()
        except ZeroDivisionError:
            return None
        *step, error = [v.mid() for v in found]
        size = max(abs(float(v)) for v in step)
        if not size < 1.0:
            return None
        log_tau = [(a + b).mid() for a, b in zip(log_tau, step[:m], strict=True)]
        log_w = [(a + b).mid() for a, b in zip(log_w, step[m:], strict=True)]
        if size**2 > 1e-3 * abs(float(error)):
            continue  # what is left is larger than the error whose extrema are looked for
        some = Sum([v.exp().mid() for v in log_tau], [v.exp().mid() for v in log_w])
        moves = [towards_extremum(nu, some, y) for y in places]
        places = [(a + b).mid() for a, b in zip(places, moves, strict=True)]
        if not all(a < b for a, b in pairwise(places)):
            return None
        if max(abs(float(v)) for v in moves) < 1e-3:
            return some, places
    return None


def towards_extremum(nu: float, some: Sum, y: arb) -> arb:
    """Newton's step towards the zero of dg/dy, g = psi - S at q = exp(y), at most 0.1 long."""
    h = arb("1e-20")
    left, here, right = ((psi(nu, v.exp()) - some(v.exp())).mid() for v in (y - h, y, y + h))
    step = -(right - left) * h / (2 * (right - 2 * here + left))
    return arb(max(-0.1, min(0.1, float(step))))


# Proving ----------------------------------------------------------------------------------------


def certify(nu: float, scales: list[float], weights: list[float]) -> float:
    """Upper bound of ``|psi(q) - S(q)|`` over all q >= 0, to 3 digits, for the doubles as stored.

    Let ``g(y) = psi(e^y) - S(e^y)``. For ``|Im y| < pi/2`` the real part of ``e^y`` is positive, so
    that ``|exp(-tau e^y)| <= 1``, and the same holds for psi, a mixture of these. So g is analytic
    in that strip, and bounded by ``M = 1 + sum w``. On a piece of length 1 the strip contains the
    Bernstein ellipse with ``(rho - 1/rho) / 4 = pi/2``, and the polynomial of degree n that
    interpolates g at Chebyshev points is off by at most ``4 M rho^-n / (rho - 1)`` (Trefethen 2013,
    theorem 8.2). The same holds for the values of that polynomial elsewhere, and a polynomial of
    degree n that is at most e at N > n Chebyshev points is at most ``e / cos(n pi / (2 N))`` in
    between (Ehlich and Zeller 1964). So values of g at N points, in ball arithmetic, bound it on
    the piece.

    Beyond the last piece psi and S decrease to 0. Before the first, at ``[0, q_0]``, both fall
    from their values at 0 by at most as much as they do up to q_0.
    """
    some = Sum([arb(tau) for tau in scales], [arb(w) for w in weights])
    with ctx.workdps(50):
        mass = sum(some.weights, arb(0))
        rho = arb.pi() + (arb.pi() ** 2 + 1).sqrt() - arb("1e-9")
        missed = 4 * (1 + mass) * rho**-DEGREE / (rho - 1)
        count = OVERSAMPLED * DEGREE
        spread = 1 / (arb.pi() * DEGREE / (2 * count)).cos()
        nodes = [(arb.pi() * (2 * i + 1) / (2 * count)).cos() / 2 for i in range(count)]
        start, stop = -2 * math.log(scales[-1]) - 40, 9
        first, last = arb(start).exp(), arb(stop).exp()
        bound = abs(1 - mass) + (1 - psi(nu, first)).max(mass - some(first))
        bound = bound.max(psi(nu, last).max(some(last)))
        y = start
        while y < stop:
            values = [arb(y) + arb("0.5") + node for node in nodes]
            sizes = [abs(psi(nu, v.exp()) - some(v.exp())) for v in values]
            largest = sizes[0]
            for size in sizes[1:]:
                largest = largest.max(size)
            bound = bound.max((largest + missed) * spread + missed)
            y += 1
        upper = float(bound.upper()) * (1 + 1e-15)
    return float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(Decimal(upper)))


# The file ---------------------------------------------------------------------------------------


def mixtures(nu: float) -> dict[float, Mixture]:
    """By tolerance, the shortest sum that meets it."""
    with ctx.workdps(DIGITS[nu]):
        return shortened(nu, trapezoid(nu))


def shortened(nu: float, full: Sum) -> dict[float, Mixture]:
    """By tolerance, the shortest sum that meets it, of one with many terms."""
    balanced = Balanced.of(full, MOST_BEST[nu], 0.5)
    log.info("nu = %g: %d terms to shorten", nu, len(full.scales))
    table, size, known = dict[float, Mixture](), 2, list[tuple[int, float]]()
    for tol in sorted(TOLERANCES[nu], reverse=True):
        size = max(size, expected_size(known, tol))
        while True:
            if size > MOST_BEST[nu] and balanced.power < 1.0:
                balanced = Balanced.of(full, 200, 1.0)
            start = balanced.truncated(size)
            if size <= MOST_BEST[nu]:
                mixture = best_mixture(nu, start)
            elif missing(start) <= tol:
                mixture = in_doubles(nu, start)
            else:
                mixture = None
            if mixture is not None:
                known.append((size, mixture["error"]))
                if mixture["error"] <= tol:
                    break
            size += 1
        table[tol] = mixture
    return dict(sorted(table.items()))


def expected_size(known: list[tuple[int, float]], tol: float) -> int:
    """How many terms a tolerance needs, where the error falls exponentially in their root."""
    if len(known) < 6:
        return 2
    (few, large), (many, small) = known[len(known) // 2], known[-1]
    rate = math.log(large / small) / (math.sqrt(many) - math.sqrt(few))
    return math.floor((math.sqrt(many) + math.log(small / tol) / rate) ** 2)


def missing(some: Sum) -> float:
    """The error at q = 0, about the largest one of a truncated sum."""
    return abs(float(1 - sum(some.weights, arb(0))))


def best_mixture(nu: float, start: Sum) -> Mixture | None:
    """The best sum of as many terms as `start`, in doubles, with its certificate."""
    places, size = extrema(nu, start), len(start.scales)
    found = None if places is None else best(nu, start, places)
    if found is None:
        log.info("nu = %g, %d terms: no convergence", nu, size)
        return None
    return in_doubles(nu, found)


def in_doubles(nu: float, some: Sum) -> Mixture:
    """The sum as it is stored, with its certificate."""
    scales, weights = [float(v) for v in some.scales], [float(v) for v in some.weights]
    error = certify(nu, scales, weights)
    log.info("nu = %g, %d terms: at most %.3g", nu, len(scales), error)
    return Mixture(error=error, scales=scales, weights=weights)


def as_json(tables: dict[float, dict[float, Mixture]]) -> str:
    """JSON with one sum per line."""
    blocks = []
    for nu, table in tables.items():
        rows = [f'"{tol!r}": {json.dumps(mixture)}' for tol, mixture in table.items()]
        blocks.append(f'"{nu!r}": {{\n' + ",\n".join(rows) + "\n}")
    return (
        '{\n"about": "made by scripts/make_mixtures.py; see pkex.kernels.mixtures",\n'
        '"matern": {\n' + ",\n".join(blocks) + "\n}\n}\n"
    )


def check(path: Path) -> None:
    """Prove the bounds of a file again; raise where one does not hold."""
    tables = json.loads(path.read_text(encoding="utf-8"))["matern"]
    for nu, table in tables.items():
        for tol, mixture in table.items():
            proven = certify(float(nu), mixture["scales"], mixture["weights"])
            if not proven <= mixture["error"] <= float(tol):
                raise RuntimeError(f"nu = {nu}, {tol}: {proven} is not {mixture['error']}")
            log.info("nu = %s, %s: %d terms, %.3g", nu, tol, len(mixture["scales"]), proven)


def main() -> None:
    """Make the file, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--check", action="store_true", help="prove the bounds that are there")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if args.check:
        check(args.out)
        return
    text = as_json({nu: mixtures(nu) for nu in TOLERANCES})
    temporary = args.out.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, args.out)
    log.info("wrote %s: %d bytes", args.out, len(text))


if __name__ == "__main__":
    main()
