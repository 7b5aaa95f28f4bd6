"""Kernels of a distance: the mixtures that stand for them, and values against enumeration."""

import importlib.util
import math
import pickle
from functools import partial
from itertools import product
from pathlib import Path

import mpmath
import numpy as np
import pytest

import pkex
from pkex.kernels import (
    RBF,
    Categorical,
    Constant,
    Laplacian,
    Linear,
    Matern,
    ProductMatern,
    RationalQuadratic,
    mixtures,
)
from tests._support import naive
from tests._support.cases import assert_close

SCALES = [0.9, 1.7, 0.6, 2.5]
RADIAL = {
    "matern-0.5": Matern(SCALES, nu=0.5),
    "matern-1.5": Matern(SCALES, nu=1.5),
    "matern-2.5": Matern(SCALES, nu=2.5),
    "matern-0.8": Matern(1.3, nu=0.8),
    "matern-7": Matern(SCALES, nu=7.0),
    "rational-quadratic": RationalQuadratic(SCALES, alpha=0.7),
    "rational-quadratic-3": RationalQuadratic(1.2, alpha=3.0),
    "multiple of a sum": 2.5 * (Matern(SCALES, nu=2.5) + 0.5 * RBF(SCALES) + Constant(0.3)),
    "product": RBF(2.0) * Matern(SCALES, nu=2.5) * Categorical(0.4).on(3),
    "on columns": Matern(1.1, nu=1.5).on(1, 3) + Laplacian(2.0).on(0),
    "one column": Matern(1.1, nu=2.5).on(2) + RationalQuadratic(0.8).on(0, 1),
    "times a linear kernel": Linear() * Matern(SCALES, nu=1.5),
}
MIXTURES = [
    *(("matern", nu, tol) for nu in (0.5, 1.5, 2.5) for tol in (None, 1e-10, 1e-4)),
    ("matern", 0.3, 1e-8),
    ("matern", 1.0, None),
    ("matern", 40.0, None),
    ("rational_quadratic", 0.4, None),
    ("rational_quadratic", 1.0, 1e-6),
    ("rational_quadratic", 100.0, None),
]


def problem(kernel, n_outputs=1, seed=3):
    """A model of some points, rows to explain, and a background."""
    rng = np.random.default_rng(seed)
    points, rows, background = (rng.normal(size=(n, 4)) for n in (7, 3, 3))
    points[:, 3], rows[:, 3], background[:, 3] = (
        rng.integers(0, 3, size=len(table)) for table in (points, rows, background)
    )
    rows[0] = points[0]  # at distance 0
    shape = (7,) if n_outputs == 1 else (7, n_outputs)
    f = pkex.KernelExpansion(points, rng.normal(size=shape), kernel, 0.7)
    return f, rows, background


def worth(f, x, coalition, background, removal):
    """The worth of a coalition of columns, from the kernel's closed formula alone."""
    if removal == "interventional":
        hybrids = background.copy()
        hybrids[:, list(coalition)] = x[list(coalition)]
        return f.predict(hybrids).mean(axis=0)
    # marginal: absent columns are independent of each other, each as in a row of the background
    absent = [j for j in range(4) if j not in coalition]
    hybrids = np.array(
        [
            [x[j] if j in coalition else background[chosen[absent.index(j)], j] for j in range(4)]
            for chosen in product(range(len(background)), repeat=len(absent))
        ]
    )
    return f.predict(hybrids).mean(axis=0)


@pytest.mark.parametrize("removal", ["interventional", "product-of-marginals"])
@pytest.mark.parametrize("name", RADIAL)
def test_values_are_those_of_enumeration(name, removal):
    f, rows, background = problem(RADIAL[name])
    explanation = pkex.Explainer(f, background, removal=removal)(rows)
    for row, x in enumerate(rows):
        game = partial(worth, f, x, background=background, removal=removal)
        slow = naive.shapley_by_enumeration(game, 4)
        assert_close(explanation.values[row], slow, 1e-12)
        assert np.abs(explanation.values[row] - slow).max() <= explanation.error_bound[row]
    assert_close(explanation.predictions, f.predict(rows), 1e-12)
    assert explanation.error_bound.max() < 1e-10


@pytest.mark.parametrize("name", [name for name in RADIAL if "linear" not in name])
def test_neutral_removal_leaves_columns_out_of_the_distance(name):
    f, rows, _ = problem(RADIAL[name])
    explanation = pkex.Explainer(f, removal="neutral")(rows)

    def left_out(x, coalition):
        points = f.points.copy()
        absent = [j for j in range(4) if j not in coalition]
        points[:, absent] = x[absent]
        return float(f.kernel(x[None], points)[0] @ f.coefficients) + 0.7

    for row, x in enumerate(rows):
        slow = naive.shapley_by_enumeration(partial(left_out, x), 4)
        assert_close(explanation.values[row], slow, 1e-12)


def test_groups_and_several_outputs():
    f, rows, background = problem(Matern(SCALES, nu=2.5), n_outputs=2)
    groups = {"both": [0, 2]}
    explanation = pkex.Explainer(f, background, groups=groups)(rows)
    players = explanation.feature_groups
    for row, x in enumerate(rows):
        for output in range(2):

            def of(coalition, x=x, output=output):
                columns = [j for player in coalition for j in players[player]]
                return worth(f, x, columns, background, "interventional")[output]

            slow = naive.shapley_by_enumeration(of, 3)
            assert_close(explanation.values[row, :, output], slow, 1e-12)


@pytest.mark.parametrize(("family", "parameter", "tol"), MIXTURES)
def test_a_mixture_errs_by_no_more_than_it_says(family, parameter, tol):
    mixture = getattr(mixtures, family)(parameter, tol)
    assert mixture.error <= (tol or 2e-14)
    assert (mixture.weights > 0.0).all()
    assert (np.diff(mixture.scales) > 0.0).all()
    with mpmath.workdps(40):
        nu = mpmath.mpf(parameter)

        def psi(q):
            if family == "rational_quadratic":
                return (1 + q / (2 * nu)) ** -nu
            a = mpmath.sqrt(2 * nu * q)
            return 2 ** (1 - nu) / mpmath.gamma(nu) * a**nu * mpmath.besselk(nu, a) if q else 1

        pairs = zip(mixture.scales, mixture.weights, strict=True)
        terms = [(mpmath.mpf(float(t)), mpmath.mpf(float(w))) for t, w in pairs]
        largest = 0.0
        for y in [None, *np.linspace(-45.0, 8.0, 160)]:
            q = mpmath.mpf(0) if y is None else mpmath.exp(mpmath.mpf(float(y)))
            found = sum(w * mpmath.exp(-t * q) for t, w in terms)
            largest = max(largest, float(abs(psi(q) - found)))
    assert largest <= mixture.error
    if tol is not None and parameter in (0.5, 1.5, 2.5):
        assert largest > 0.3 * mixture.error  # the bound is no guess


def script():
    """The script that makes the tables."""
    path = Path(__file__).parents[2] / "scripts" / "make_mixtures.py"
    spec = importlib.util.spec_from_file_location("make_mixtures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_whole():
    tables = mixtures._tables()["matern"]
    for nu, table in tables.items():
        assert set(map(float, table)) == set(script().TOLERANCES[float(nu)])
        sizes = [len(table[tol]["scales"]) for tol in sorted(table, key=float)]
        assert sizes == sorted(sizes, reverse=True)
        for tol, entry in table.items():
            assert 0.0 < entry["error"] <= float(tol)
            assert len(entry["scales"]) == len(entry["weights"])
            assert_close(math.fsum(entry["weights"]), 1.0, float(tol))


@pytest.mark.parametrize(("nu", "tol"), [(2.5, 1e-6), (1.5, 1e-4)])
def test_a_bound_of_the_tables_is_proven_again(nu, tol):
    make = script()
    entry = mixtures._tables()["matern"][repr(nu)][repr(tol)]
    assert make.certify(nu, entry["scales"], entry["weights"]) == entry["error"]
    less = [weight * (1.0 - 1e-3) for weight in entry["weights"]]
    assert make.certify(nu, entry["scales"], less) > 10.0 * entry["error"]


def test_a_tolerance_buys_fewer_terms():
    sizes = [len(Matern(nu=2.5).mixture(tol).scales) for tol in (None, 1e-12, 1e-8, 1e-4)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= 40
    assert sizes[-1] <= 6
    f, rows, background = problem(Matern(SCALES, nu=2.5))
    exact = pkex.Explainer(f, background)(rows)
    loose = pkex.Explainer(f, background, tol=1e-6)(rows)
    gap = np.abs(exact.values - loose.values).max(axis=1)
    assert (gap <= loose.error_bound + exact.error_bound).all()
    assert gap.max() > 1e-10
    assert loose.error_bound.max() < 1e-4


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.8, 3.0])
def test_the_matrix_is_that_of_scikit_learn(nu):
    from sklearn.gaussian_process import kernels as gp

    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    Z[0] = X[0]
    ours = Matern([0.5, 1.0, 2.0], nu=nu)(X, Z)
    assert_close(ours, gp.Matern([0.5, 1.0, 2.0], nu=nu)(X, Z), 1e-12)
    ours = RationalQuadratic(1.3, alpha=nu)(X, Z)
    assert_close(ours, gp.RationalQuadratic(1.3, alpha=nu)(X, Z), 1e-13)


@pytest.mark.parametrize("nu", [45.0, 60.0, 100.0, 200.0, 500.0])
def test_very_smooth_matern_kernels_do_not_overflow(nu):
    kernel = Matern(nu=nu)
    for q in (1e-6, 1e-2, 1.0, 10.0):
        with mpmath.workdps(40):
            a = mpmath.sqrt(2 * mpmath.mpf(nu) * mpmath.mpf(q))
            size = 2 ** (1 - mpmath.mpf(nu)) / mpmath.gamma(nu)
            value = float(size * a**nu * mpmath.besselk(nu, a))
            slope = float(-nu * size * a ** (nu - 1) * mpmath.besselk(nu - 1, a))
        assert_close(kernel.profile(np.array([q])), [value], 1e-13)
        assert_close(kernel.profile_slope(np.array([q])), [slope], 1e-13)


def test_far_and_near_points_have_their_limits():
    for kernel in (Matern(nu=0.5), Matern(nu=3.3), Matern(nu=80.0), RationalQuadratic()):
        far = kernel([[0.0, 0.0]], [[1e200, 0.0], [0.0, 0.0], [1e-160, 0.0]])
        assert_close(far, [[0.0, 1.0, 1.0]], 1e-12)


def test_statistics_take_kernels_of_a_distance():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(8, 3))
    Z[:, 0] += 1.0
    kernel = Matern([1.0, 2.0, 1.5], nu=1.5)
    for removal in ("product-of-marginals", "neutral"):
        found = pkex.mmd(X, Z, kernel=kernel, removal=removal, n_permutations=0)
        matrix = kernel(X), kernel(Z), kernel(X, Z)
        same = sum((m.sum() - np.trace(m)) / (len(m) * (len(m) - 1)) for m in matrix[:2])
        assert_close(found.statistic, same - 2.0 * matrix[2].mean(), 1e-13)
    y = X[:, 0] ** 2
    found = pkex.hsic(X, y, kernel=kernel, n_permutations=20, random_state=0)
    assert found.values.argmax() == 0


def test_a_product_of_two_distances_is_refused():
    with pytest.raises(pkex.UnsupportedModelError, match="multiplies two radial kernels"):
        (Matern() * RationalQuadratic()).terms(3)


@pytest.mark.parametrize("make", [lambda v: Matern(nu=v), lambda v: RationalQuadratic(alpha=v)])
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan, "1"])
def test_parameters_are_checked(make, value):
    with pytest.raises((ValueError, TypeError), match=r"nu|alpha"):
        make(value)


@pytest.mark.parametrize("kernel", [Matern(nu=0.02), RationalQuadratic(alpha=1e-5)], ids=str)
def test_parameters_near_0_are_summed_for_all_usual_distances(kernel):
    """As scikit-learn's optimiser likes to end at alpha = 1e-5."""
    mixture = kernel.mixture(1e-10)
    assert len(mixture.scales) < 600
    for q in (0.0, 1e-30, 1e-6, 0.3, 7.0, 1e8, 1e30):
        found = float(mixture.weights @ np.exp(-mixture.scales * q))
        assert_close(found, kernel([[0.0]], [[np.sqrt(q)]])[0, 0], 1e-10)


def test_columns_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="limited to column 5"):
        Matern(columns=[0, 5]).terms(3)
    with pytest.raises(ValueError, match="2 values of length_scale"):
        Matern([1.0, 2.0]).terms(3)


def test_pickles():
    kernel = 2.0 * Matern([1.0, 2.0], nu=2.5).on(0, 3)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_a_pickle_of_the_product_that_had_this_name_is_refused():
    old = pickle.dumps(ProductMatern(2.0, nu=2.5)).replace(b"ProductMatern", b"Matern")
    old = old.replace(b"\x8c\x0dMatern", b"\x8c\x06Matern")
    # the length of the frame
    old = old[:3] + (len(old) - 11).to_bytes(8, "little") + old[11:]
    with pytest.raises(ValueError, match="ProductMatern now"):
        pickle.loads(old)


def test_many_columns_are_finite_and_add_up():
    rng = np.random.default_rng(2)
    points, rows = rng.normal(size=(8, 1000)), rng.normal(size=(2, 1000))
    for kernel in (Matern(40.0, nu=2.5), Matern(5.0, nu=0.5), RationalQuadratic(30.0)):
        f = pkex.KernelExpansion(points, rng.normal(size=8), kernel)
        for removal in ("neutral", "product-of-marginals"):
            explanation = pkex.Explainer(f, removal=removal)(rows)
            assert np.isfinite(explanation.values).all()
            total = explanation.values.sum(axis=1) + explanation.base_values
            assert_close(total, f.predict(rows), 1e-12)


@pytest.mark.filterwarnings("ignore::pkex.errors.PrecisionWarning")  # far from all points
@pytest.mark.parametrize("removal", ["interventional", "product-of-marginals"])
@pytest.mark.parametrize("far", [1.0, 8.0, 60.0])
def test_pairs_that_are_left_out_are_within_the_error(monkeypatch, removal, far):
    """The native kernel leaves out pairs whose coalitions are all worth nothing under a width."""
    rng = np.random.default_rng(6)
    points, rows, background = (rng.normal(size=(n, 12)) for n in (20, 3, 4))
    rows[1:] += far
    rows[0] = points[3]
    f = pkex.KernelExpansion(points, rng.normal(size=(20, 2)), Matern(0.8, nu=1.5))
    found = {}
    for backend in ("native", "numpy"):
        monkeypatch.setenv("PKEX_BACKEND", backend)
        found[backend] = pkex.Explainer(f, background + far, removal=removal)(rows)
    gap = np.abs(found["native"].values - found["numpy"].values).max(axis=1)
    assert (gap <= found["native"].error_bound + found["numpy"].error_bound).all()
    assert gap.max() <= 1e-15
    assert found["native"].error_bound.max() < 1e-11


@pytest.mark.parametrize(
    ("kernel", "most"),
    [(Matern(nu=1.5), 1e-15), (Matern(nu=2.5), 1e-15)]
    + [(Matern(nu=nu), 1e-14) for nu in (0.05, 0.5, 1.0, 50.0)]
    + [(RationalQuadratic(alpha=alpha), 1e-14) for alpha in (0.05, 1.0, 1000.0)],
    ids=str,
)
def test_mixtures_are_by_default_as_close_as_docstrings_say(kernel, most):
    assert kernel.mixture().error < most
    assert f"less than {most:.0e}" in " ".join(type(kernel).__doc__.split())
