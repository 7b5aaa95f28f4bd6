"""Kernels as values: algebra, repr, validation, pickling, and the accuracy of factors."""

from __future__ import annotations

import doctest
import pickle
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import pkex
from pkex.kernels import (
    RBF,
    Categorical,
    Cauchy,
    Chi2,
    ColumnKernel,
    Constant,
    Custom,
    Kernel,
    Laplacian,
    Periodic,
    Product,
    ProductMatern,
    Scale,
    Sum,
)
from tests._support import naive
from tests._support.cases import COLUMN_KERNELS, KERNELS, Tent, assert_close, cosine, sample, scales
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(5)
X, Z = sample(RNG, 6, 4), sample(RNG, 5, 4)


def test_matrix_agrees_with_scikit_learn():
    for ours, theirs in [
        (RBF.from_gamma(0.7), pairwise.rbf_kernel(X, Z, gamma=0.7)),
        (RBF([0.5, 1.0, 2.0, 4.0]), gp.RBF([0.5, 1.0, 2.0, 4.0])(X, Z)),
        (Laplacian(2.0), pairwise.laplacian_kernel(X, Z, gamma=0.5)),
        (Chi2(0.3), pairwise.chi2_kernel(X, Z, gamma=0.3)),
        (3.0 * RBF(1.5), (gp.ConstantKernel(3.0) * gp.RBF(1.5))(X, Z)),
    ]:
        assert_close(ours(X, Z), theirs, 1e-15 * 8)
    column = X[:, :1]
    for nu in (0.5, 1.5, 2.5):
        assert_close(ProductMatern(0.8, nu=nu)(column), gp.Matern(0.8, nu=nu)(column), 1e-14)
    assert_close(Periodic(0.9, 1.75)(column), gp.ExpSineSquared(0.9, 1.75)(column), 1e-14)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_matrix_is_the_sum_of_products_of_factors(case):
    kernel = case.build(scales(RNG, 4))
    expected = sum(t.coefficient * t.factors(X, Z).prod(axis=2) for t in kernel.terms(4))
    assert_close(kernel(X, Z), expected, 1e-13 * np.abs(expected).max())
    assert_close(kernel(X), kernel(X, X), 0.0)


@pytest.mark.parametrize("case", COLUMN_KERNELS, ids=str)
@pytest.mark.parametrize("width", [1e-6, 1e-2, 1.0, 1e2, 1e6])
def test_factors_and_deficits_keep_their_digits(case, width):
    """Relative to the value itself: factors below 1 and deficits close to 0 alike."""
    if case.name == "custom":
        return  # written as a factor only, by its user: 1 - factor is all there is
    kernel = case.build([width])
    x, z = X[:, :1], Z[:, :1] * 1.37
    deficits = kernel.deficits(x[:, None], z[None])[..., 0]
    factors = kernel.factors(x[:, None], z[None])[..., 0]
    # close to a whole number of periods the distance to it has lost digits already
    digits = 1e-12 if case.name == "periodic" else 2e-15
    name, parameters = case.oracle(width)
    with mp.workdps(60):
        for i, j in np.ndindex(deficits.shape):
            u = naive.kernel_deficit(name, x[i, 0], z[j, 0], **parameters)
            assert abs(deficits[i, j] - u) <= digits * u + 1e-300
            # exp(-a) with a rounded to a few ulp: the relative error grows with a, up to 745
            assert abs(factors[i, j] - (1 - u)) <= 1e-12 * (1 - u) + 1e-45


@pytest.mark.parametrize("size", [1e-290, 1e-3, 1e307, 0.7e308, 1.7e308])
def test_chi2_keeps_its_digits_up_to_the_largest_numbers(size):
    """Where x + z would overflow, and the usual sizes beside it."""
    x, z = size * np.array([1.0, 0.9, 0.0]), size * np.array([1.0, 0.9999, 0.5, 0.0, 1e-9])
    for gamma in (1.0 / size, 1e-4 / size):
        deficits = Chi2(gamma).deficits(x[:, None, None], z[None, :, None])[..., 0]
        for i, j in np.ndindex(deficits.shape):
            u = naive.kernel_deficit("chi2", x[i], z[j], gamma=gamma)
            assert abs(deficits[i, j] - u) <= 2e-15 * u + 1e-300


def test_two_single_rows_give_a_number():
    """As scikit-learn's pairwise_kernels calls a metric of the user's own."""
    assert RBF()(X[0], Z[0]) == RBF()(X[:1], Z[:1])[0, 0]
    assert_close(pairwise.pairwise_kernels(X, Z, metric=RBF()), RBF()(X, Z), 0.0)


def test_extreme_values_give_the_limits():
    x = np.array([[0.0, 1e300, -1e308, 5e-324]])
    with np.errstate(all="raise"):
        for kernel in (RBF(1e-200), Laplacian(1e-200), Cauchy(1e-200), ProductMatern(1e-200)):
            assert kernel(x, -x)[0, 0] == 0.0
            assert kernel(x, x)[0, 0] == 1.0
        assert Chi2(1e200)(np.abs(x), np.abs(x))[0, 0] == 1.0
        assert Chi2()([[0.0]], [[1e308]])[0, 0] == 0.0


def test_sums_and_products_are_visible_and_flat():
    a, b, c = RBF(1.0), Laplacian(2.0), Cauchy(3.0)
    assert (a + b) + c == a + (b + c) == Sum((a, b, c))
    assert (a * b) * c == a * (b * c) == Product((a, b, c))
    assert 2 * a == a * 2.0 == np.float64(2.0) * a == Scale(2.0, a)
    assert (2.0 * a) * (3.0 * b) == 6.0 * (a * b) == 2.0 * (3.0 * (a * b))
    assert a * (b + c) != a * b + a * c
    assert len({a + b, a + b, b + a}) == 2


def test_the_normal_form_obeys_the_distributive_law():
    a, b, c = RBF(1.0), Laplacian(2.0), Cauchy(3.0)
    terms = (2.0 * (a + 3.0 * b) * c).terms(4)
    assert [(t.coefficient, t.leaves) for t in terms] == [(2.0, (a, c)), (6.0, (b, c))]


def test_repr_reads_as_the_expression():
    kernel = 2.0 * (RBF(0.5) + Cauchy()) * Categorical(0.25).on(4) + ProductMatern([1, 2], nu=2.5)
    shown = repr(kernel)
    assert shown == (
        "2.0 * (RBF(length_scale=0.5) + Cauchy(length_scale=1.0)) * "
        "Categorical(mismatch=0.25, columns=(4,)) + ProductMatern(length_scale=(1.0, 2.0), nu=2.5)"
    )
    assert eval(shown) == kernel
    assert len(repr(RBF(unchecked(np.ones(1000))))) < 80
    assert repr(Custom(cosine, columns=[1])) == "Custom(function=cosine, columns=(1,))"


@pytest.mark.parametrize("case", [c for c in KERNELS if c.name != "custom"], ids=str)
def test_pickling_and_equality(case):
    kernel = case.build([1.0, 2.0, 3.0])
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    assert hash(again) == hash(kernel)
    if case.oracle:
        assert case.build([1.0, 2.0, 4.0]) != kernel


def test_files_name_kernels_by_their_public_path():
    """So that a pickle or a skops file outlives a change of the files that define them."""
    for name in pkex.kernels.__all__:
        thing = getattr(pkex.kernels, name)
        assert (thing.__module__, thing.__qualname__) == ("pkex.kernels", name)
    assert pickle.loads(b"cpkex.kernels\nRBF\n(tR.") == RBF()
    kernel = 2.0 * RBF(0.5) * Categorical().on(1) + Constant(3.0)
    modules = re.findall(rb"c(pkex\S*)\n", pickle.dumps(kernel, protocol=0))
    assert set(modules) == {b"pkex.kernels"}


def test_examples_are_found_by_that_path():
    """Those of methods as well: a tool that looks for examples takes them for the package's own.

    Those of base classes are found where they are written, and with what overrides a method.
    """
    folder = Path(pkex.kernels.__file__).parent
    private = {
        "data.py",
        "entries.py",
        "frequencies.py",
        "mixtures.py",
        "spectral.py",
    }  # these have no public names
    files = [path for path in folder.glob("*.py") if path.name not in private]
    text = "\n".join(path.read_text("utf-8") for path in files)
    written = re.findall(r"^ *>>> (.+)$", text, re.MULTILINE)

    def found(*modules):
        tests = [test for module in modules for test in doctest.DocTestFinder().find(module)]
        return {one.source.split("\n")[0] for test in tests for one in test.examples}

    assert len(found(pkex.kernels)) > 30
    names = ("algebra", "leaves", "columns", "radial", "splitting", "derivatives")
    bases = [import_module(f"pkex.kernels.{name}") for name in names]
    assert found(pkex.kernels, *bases) == set(written)


def test_kernels_are_immutable():
    with pytest.raises(AttributeError):
        unchecked(RBF()).length_scale = 2.0


def test_columns_limit_a_kernel():
    kernel = RBF([1.0, 2.0]).on(0, 3) * Categorical().on([1])
    expected = RBF([1.0, 2.0])(X[:, [0, 3]], Z[:, [0, 3]]) * (X[:, None, 1] == Z[None, :, 1])
    assert_close(kernel(X, Z), expected, 1e-15)
    assert RBF().on(unchecked(np.array([2, 0]))).columns == (2, 0)
    assert Tent().on(1) == Tent(columns=[1])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: RBF(0.0), ValueError, "length_scale must be positive"),
        (lambda: RBF(-1.0), ValueError, "length_scale must be positive"),
        (lambda: RBF([1.0, 0.0]), ValueError, "one per column"),
        (lambda: RBF([]), ValueError, "empty"),
        (lambda: RBF(np.nan), ValueError, "finite"),
        (lambda: RBF(np.inf), ValueError, "finite"),
        (lambda: RBF(unchecked("wide")), TypeError, "must be a number"),
        (lambda: RBF(True), TypeError, "must be a number"),
        (lambda: RBF(None), TypeError, "must be a number"),
        (lambda: RBF.from_gamma(0.0), ValueError, "gamma must be positive"),
        (lambda: ProductMatern(nu=2.0), ValueError, "0.5, 1.5 or 2.5"),
        (lambda: Chi2(-1.0), ValueError, "gamma must be positive"),
        (lambda: Periodic(periodicity=0.0), ValueError, "periodicity must be positive"),
        (lambda: Categorical(1.0), ValueError, "below 1"),
        (lambda: Categorical(-0.1), ValueError, "at least 0"),
        (lambda: Categorical(unchecked("a")), TypeError, "must be a number"),
        (lambda: Categorical([]), ValueError, "empty"),
        (lambda: Custom(unchecked(3)), TypeError, "needs a function"),
        (lambda: RBF(columns=[]), ValueError, "at least one"),
        (lambda: RBF(columns=[-1]), ValueError, "count from 0"),
        (lambda: RBF(columns=[1, 1]), ValueError, "different"),
        (lambda: RBF(columns=[unchecked("a")]), TypeError, "must be integers"),
        (lambda: RBF(columns=unchecked("ab")), TypeError, "sequence of integers"),
        (lambda: 0.0 * RBF(), ValueError, "must be positive"),
        (lambda: -1 * RBF(), ValueError, "must be positive"),
        (lambda: RBF() + unchecked(1.0), TypeError, "unsupported operand"),
        (lambda: Sum(()), ValueError, "at least one"),
        (lambda: Product((RBF(), unchecked(2.0))), TypeError, "needs kernels"),
        (lambda: Scale(1.0, unchecked("RBF")), TypeError, "needs a kernel"),
        (lambda: RBF([1.0, 2.0])(X), ValueError, "covers 4 columns"),
        (lambda: RBF().on(9)(X), ValueError, "only 4 columns"),
        (lambda: Chi2()(-X), ValueError, "non-negative"),
        (lambda: RBF()(X, Z[:, :2]), ValueError, "2 columns, but 4"),
        (lambda: Custom(unchecked(lambda x, z: 1.0))(X), ValueError, "elementwise"),
        (lambda: Custom(lambda x, z: np.exp(1j * (x - z)))(X), TypeError, "complex128.*np.real"),
        (
            lambda: Custom(unchecked(lambda x, z: 1j * x)).deficits(X, X),
            TypeError,
            "factors are real",
        ),
        (lambda: Custom(lambda x, z: np.sqrt(x - z))(X), ValueError, "NaN or infinite factors"),
        (lambda: Custom(lambda x, z: np.inf + x * z)(X), ValueError, "NaN or infinite factors"),
    ],
)
def test_bad_parameters_get_a_sentence(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_subclass_that_changes_factors_does_not_inherit_deficits():
    class Half(RBF):
        def factors(self, x, z):
            return 0.5 * super().factors(x, z)

    assert_close(Half().deficits(X, X), np.full(X.shape, 0.5), 0.0)


def test_factors_in_single_precision_or_lists_become_doubles():
    for function in (lambda x, z: np.float32(0.1) + 0 * (x - z), lambda x, z: (x == z).tolist()):
        deficits = Custom(function).deficits(X[:2], X[:2])
        assert deficits.dtype == np.float64
        assert_close(deficits, 1.0 - np.asarray(function(X[:2], X[:2]), dtype=np.float64), 0.0)


def test_a_subclass_with_an_init_of_its_own_is_refused():
    with pytest.raises(TypeError, match="fields of a @dataclass"):
        type("Own", (ColumnKernel,), {"__init__": lambda self, c: None})


def test_the_bases_cannot_be_used_themselves():
    for base in (Kernel, ColumnKernel):
        with pytest.raises(TypeError, match="abstract"):
            unchecked(base)()
