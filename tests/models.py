"""The shared list of fitted models: a model that joins it joins every test and the support page.

Nothing here goes through pkex's readers. What a model is, as a game, is written down a second time
from the attributes that its `predict` uses and from scikit-learn's own kernel functions, applied to
the columns of one player or of those that are present. By default (marginal removal) an absent
player has the mean of its kernel factor over the points, which are data in all these models; under
neutral removal it has the factor 1. Kernels with a linear part have no such factor: they come with
a background, which absent columns take their values from under interventional removal. For
pipelines, the input column that each prepared column is made from is written by hand.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.decomposition import PCA, KernelPCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from pkex.kernels import RBF, Laplacian

Array = Any
NEW_ENCODER = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)  # has no random_state

# ---------------------------------------------------------------------------------------- data


def _diabetes() -> tuple[pd.DataFrame, Array]:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X.loc[:59, ["age", "bmi", "bp", "s5"]], y.to_numpy()[:60]


def _patients() -> pd.DataFrame:
    """The same patients as a person would have them: years, text, missing values."""
    raw = load_diabetes(scaled=False, as_frame=True).data.iloc[:60]
    return pd.DataFrame(
        {
            "age": raw["age"].astype(int),
            "sex": np.where(raw["sex"] == 1, "F", "M"),
            "bmi": raw["bmi"],
            "pressure": np.select(
                [raw["bp"] < 80, raw["bp"] < 90, raw["bp"] < 115],
                ["low", "normal", "high"],
                "very high",
            ),
            "s5": raw["s5"],
        }
    )


def _with_holes(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the table with every seventh entry of the columns missing, at different places."""
    holed = table.copy()
    for start, column in enumerate(columns):
        holed[column] = holed[column].astype(float)
        holed.loc[start::7, column] = np.nan
    return holed


def _classes(load: Callable[..., Any], columns: Sequence[int], step: int) -> tuple[Array, Array]:
    X, y = load(return_X_y=True)
    return X[::step, columns].copy(), y[::step]


DIABETES, TARGET = _diabetes()
X = DIABETES.to_numpy().copy()
TARGETS = np.column_stack([TARGET, load_diabetes(scaled=False).data[:60, 3]])
PATIENTS = _patients()
GAPS = _with_holes(DIABETES, "bmi", "s5")
IRIS, SPECIES = _classes(load_iris, [0, 1, 2, 3], 3)
NAMED_SPECIES = load_iris().target_names[SPECIES]
CANCER, MALIGNANT = _classes(load_breast_cancer, [1, 4, 6, 9, 21], 8)
CANCER = CANCER / CANCER.std(axis=0)
WINE, CULTIVAR = _classes(load_wine, [0, 1, 6, 9, 10], 3)
WINE_FRAME = pd.DataFrame(WINE, columns=["alcohol", "acid", "flavanoids", "colour", "hue"])
DIGITS, DIGIT = _classes(load_digits, [10, 20, 27, 34, 43, 51], 10)
DIGITS, DIGIT = DIGITS[DIGIT < 4] / 16.0, DIGIT[DIGIT < 4]
SPARSE = scipy.sparse.csr_matrix(np.where(np.abs(X) < 0.02, 0.0, X))

# -------------------------------------------------------------------------------------- oracle


def dense(array: Any) -> Array:
    return array.toarray() if scipy.sparse.issparse(array) else np.asarray(array, dtype=float)


@dataclass(frozen=True)
class Machine:
    """``f(x) = sum_i alpha_i k(T(x), x_i) + offset``, with scikit-learn's k on any columns.

    `kernel(x, z, columns)` is the kernel matrix of x and z, which have only these columns, and
    `kernel.terms(n_columns)` are the products that it is a sum of: each a coefficient and a
    function that takes the same and returns the product of the factors of these columns.
    `origins[j]` is the input column that prepared column j is made from, by default j.
    """

    points: Array
    alpha: Array  # (n_points, n_outputs)
    offset: Array
    kernel: Callable[[Array, Array, list[int]], Array]
    prepare: Callable[[Any], Array] = dense
    origins: Sequence[int] | None = None
    background: Any = None  # rows, in the columns of the input, that absent columns come from

    def value(self, prepared: Array, present: frozenset[int], removal: str) -> Array:
        """Return the outputs when only the input columns `present` take part."""
        origins = range(self.points.shape[1]) if self.origins is None else self.origins
        columns = [j for j, origin in enumerate(origins) if origin in present]
        if removal == "interventional":
            rows = np.array(dense(self.prepare(self.background)))
            rows[:, columns] = prepared[:, columns]
            return (self.kernel(rows, self.points, [*origins]) @ self.alpha).mean(
                axis=0
            ) + self.offset
        gram = self.kernel(prepared[:, columns], self.points[:, columns], columns)
        return (gram @ self.alpha + self.offset)[0]

    def marginal_value(
        self, prepared: Array, players: Sequence[Sequence[int]], present: frozenset[int]
    ) -> Array:
        """Return the outputs when the players `present` take part and the others are averaged.

        A player is a set of input columns; the data are the points.
        """
        origins = range(self.points.shape[1]) if self.origins is None else self.origins
        worth = np.zeros(len(self.points))
        for coefficient, factor in self.kernel.terms(self.points.shape[1]):
            product = np.full(len(self.points), coefficient)
            for player, members in enumerate(players):
                columns = [j for j, origin in enumerate(origins) if origin in members]
                rows = prepared if player in present else self.points
                found = factor(rows[:, columns], self.points[:, columns], columns)
                product *= found.mean(axis=0)
            worth += product
        return worth @ self.alpha + self.offset

    @property
    def size(self) -> Array:
        """The sum of the magnitudes of the terms when no column is present, for each output."""
        if self.background is not None:
            rows, every = dense(self.prepare(self.background)), [*range(self.points.shape[1])]
            sizes = np.abs(self.kernel(rows, self.points, every)).max(axis=0)
            return sizes @ np.abs(self.alpha) + np.abs(self.offset)
        none = self.kernel(self.points[:1, :0], self.points[:, :0], [])
        return (np.abs(none) @ np.abs(self.alpha) + np.abs(self.offset))[0]


def machine(points, alpha, offset, kernel, **how) -> Machine:
    """Return a Machine with arrays of the shapes that it needs."""
    points, alpha = dense(points), dense(alpha)
    alpha = alpha.reshape(len(points), -1)
    return Machine(points, alpha, np.broadcast_to(offset, alpha.shape[1]), kernel, **how)


def pairwise(function: Callable[..., Array], gamma: float) -> Callable[..., Array]:
    """Return a kernel of `sklearn.metrics.pairwise` with no columns allowed: then it is 1."""

    def kernel(x, z, columns):
        if not columns:
            return np.ones((len(x), len(z)))
        return function(x.copy(), z.copy(), gamma=gamma)

    kernel.terms = lambda n_columns: [(1.0, kernel)]
    return kernel


def inner_products(x, z, columns):
    """The linear kernel, which needs all columns."""
    return linear_kernel(x, z)


def _products(n_columns: int) -> list[tuple[float, Callable[..., Array]]]:
    """Return the terms of the linear kernel: the product of one column each."""

    def of(column):
        def factor(x, z, columns):
            if column not in columns:
                return np.ones((len(x), len(z)))
            place = columns.index(column)
            return np.outer(x[:, place], z[:, place])

        return factor

    return [(1.0, of(column)) for column in range(n_columns)]


inner_products.terms = _products


def _times(first, second):
    return lambda x, z, columns: first(x, z, columns) * second(x, z, columns)


def _power(factor, exponent):
    return lambda x, z, columns: factor(x, z, columns) ** exponent


def _tree_terms(node: Any, n_columns: int) -> list[tuple[float, Callable[..., Array]]]:
    """Return the products that the kernel of a Gaussian process is a sum of."""
    kind = type(node).__name__
    if kind == "WhiteKernel":
        return []
    if kind == "ConstantKernel":
        return [(node.constant_value, lambda x, z, columns: np.ones((len(x), len(z))))]
    if kind == "DotProduct":
        constant = (node.sigma_0**2, lambda x, z, columns: np.ones((len(x), len(z))))
        return [constant, *_products(n_columns)]
    if kind in ("Sum", "Product"):
        left, right = (_tree_terms(part, n_columns) for part in (node.k1, node.k2))
        if kind == "Sum":
            return left + right
        return [(a * b, _times(f, g)) for a, f in left for b, g in right]
    if kind == "Exponentiation":
        inner = _tree_terms(node.kernel, n_columns)
        if len(inner) == 1:
            return [(inner[0][0] ** node.exponent, _power(inner[0][1], node.exponent))]
        assert node.exponent == 2
        return [(a * b, _times(f, g)) for a, f in inner for b, g in inner]
    return [(1.0, tree(node))]


def tree(node: Any) -> Callable[..., Array]:
    """Return the kernel of a Gaussian process on some columns, node by node."""

    def kernel(x, z, columns):
        kind = type(node).__name__
        if kind in ("Sum", "Product"):
            left, right = (tree(part)(x, z, columns) for part in (node.k1, node.k2))
            return left + right if kind == "Sum" else left * right
        if kind == "Exponentiation":
            return tree(node.kernel)(x, z, columns) ** node.exponent
        if kind == "ConstantKernel":
            return np.full((len(x), len(z)), node.constant_value)
        if kind == "WhiteKernel":
            return np.zeros((len(x), len(z)))
        if not columns:
            return np.ones((len(x), len(z)))
        limited = node
        if np.size(getattr(node, "length_scale", 1.0)) > 1:
            limited = copy(node)
            limited.length_scale = np.asarray(node.length_scale)[columns]
        return limited(x.copy(), z.copy())

    kernel.terms = partial(_tree_terms, node)
    return kernel


def by_pairs(model: Any, labels: Array) -> Array:
    """Return the coefficients of the one-vs-one machines of an SVC, from libsvm's layout.

    In `dual_coef_` the vectors of a class have one row for each other class, in order.
    """
    dual, classes = dense(model.dual_coef_), list(model.classes_)
    if len(classes) == 2:
        return dual.T
    members = [classes.index(label) for label in np.asarray(labels)[model.support_]]
    pairs = list(combinations(range(len(classes)), 2))
    alpha = np.zeros((len(members), len(pairs)))
    for vector, own in enumerate(members):
        others = [c for c in range(len(classes)) if c != own]
        for row, other in enumerate(others):
            alpha[vector, pairs.index(tuple(sorted((own, other))))] = dual[row, vector]
    return alpha


def by_classes(pairs: Array, n_classes: int, positive: int = 0) -> Array:
    """Return for each class the mean of its pair functions, with the sign that speaks for it.

    The last axis of `pairs` has them in order; positive values speak for the class `positive` of
    each pair, 0 or 1.
    """
    order = list(combinations(range(n_classes), 2))
    sign = 1.0 if positive == 0 else -1.0
    means = []
    for own in range(n_classes):
        total = 0.0
        for other in range(n_classes):
            if other > own:
                total = total + sign * pairs[..., order.index((own, other))]
            if other < own:
                total = total - sign * pairs[..., order.index((other, own))]
        means.append(total / (n_classes - 1))
    return np.stack(means, axis=-1)


def in_classes(found: Machine, n_classes: int) -> Machine:
    """Return the machine of an SVC's pairs as one of its classes."""
    alpha, offset = (by_classes(each, n_classes) for each in (found.alpha, found.offset))
    return replace(found, alpha=alpha, offset=offset)


def class_decision(model, rows):
    """Return the mean of the signed pair functions that the model itself has."""
    return by_classes(decision(model, rows), len(model.classes_))


def scale_gamma(table: Array) -> float:
    """Return what gamma="scale" stands for."""
    table = dense(table)
    return 1.0 / (table.shape[1] * table.var())


# -------------------------------------------------------------------------- own outputs of models


def predict(model, rows):
    return model.predict(rows)


def decision(model, rows):
    """Return the decision functions, for several classes one for each pair."""
    if getattr(model, "decision_function_shape", None) == "ovr":
        model = copy(model)
        model.decision_function_shape, model.break_ties = "ovo", False
    return model.decision_function(rows)


def transform(model, rows):
    return model.transform(rows)


def density(model, rows):
    return np.exp(model.score_samples(rows))


def latent(model, rows):
    """Return the latent means of a GaussianProcessClassifier."""
    base, rows = model.base_estimator_, np.asarray(rows)
    if hasattr(base, "latent_mean_and_variance"):
        return base.latent_mean_and_variance(rows)[0]
    if not hasattr(base, "estimators_"):
        return base.kernel_(rows, base.X_train_) @ (base.y_train_ - base.pi_)
    means = [b.kernel_(rows, b.X_train_) @ (b.y_train_ - b.pi_) for b in base.estimators_]
    return np.column_stack(means)


def each_decision(model, rows):
    """Return the decision function of every estimator of a OneVsOneClassifier."""
    rows = np.asarray(rows)
    return np.column_stack([estimator.decision_function(rows) for estimator in model.estimators_])


# ---------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class ModelCase:
    """A fitted model to explain.

    `machines(model)` are its outputs side by side, as games of their own; `given` is what
    `as_expansion` is told besides the model; `warns` are words of the warning that belongs to it;
    `background` is what a kernel with a linear part takes absent columns from beside the default.
    """

    name: str
    fit: Callable[[], Any]
    rows: Any
    own: Callable[[Any, Any], Array]
    machines: Callable[[Any], Sequence[Machine]]
    outputs: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    given: dict[str, Any] = field(default_factory=dict)
    warns: str | None = None
    noise: str | None = None  # words of a warning of scikit-learn's own
    n_outputs: int = 1
    gram: Callable[[Any], Array] | None = None  # of a model that takes kernel matrices
    background: Any = None
    choice: str | None = None  # of outputs
    combine: Callable[[Array], Array] | None = None  # what is explained, from the machines' outputs

    def __str__(self) -> str:
        return self.name

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names that the explanation must have."""
        if self.features is not None:
            return self.features
        if hasattr(self.rows, "columns"):
            return tuple(self.rows.columns)
        return tuple(f"x{j}" for j in range(self.rows.shape[1]))

    def model(self) -> Any:
        """Return the fitted model, fitted once."""
        with self.quiet():
            return _fitted(self.name)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Silence what scikit-learn says about this model, and nothing else."""
        with warnings.catch_warnings():
            if self.noise is not None:
                warnings.filterwarnings("ignore", message=self.noise)
            yield

    def own_output(self, rows: Any = None, model: Any = None) -> Array:
        """Return the model's own output at some rows, as it comes."""
        rows = self.rows if rows is None else rows
        model = self.model() if model is None else model
        with self.quiet():
            own = self.own(model, rows if self.gram is None else self.gram(rows))
        return np.asarray(own) if self.combine is None else self.combine(np.asarray(own))

    @property
    def other_removal(self) -> str:
        """The game that is tested beside the default."""
        return "neutral" if self.background is None else "interventional"

    def value(
        self, row: Any, removal: str, players: Sequence[Sequence[int]] | None = None
    ) -> Callable[[frozenset[int]], Array]:
        """Return the value function of one row, an array over outputs for a set of players.

        These are the columns, or the given groups of columns.
        """
        machines = self.machines(self.model())
        members = [(j,) for j in range(len(self.feature_names))] if players is None else players
        with self.quiet():
            prepared = [dense(each.prepare(row)) for each in machines]

        @cache
        def value(present: frozenset[int]) -> Array:
            pairs = list(zip(machines, prepared, strict=True))
            if removal == "marginal":
                parts = [m.marginal_value(x, members, present) for m, x in pairs]
            else:
                columns = frozenset(column for player in present for column in members[player])
                parts = [m.value(x, columns, removal) for m, x in pairs]
            found = np.concatenate(parts)
            return found if self.combine is None else self.combine(found)

        return value

    def size(self) -> Array:
        """Return the sum of the magnitudes of the terms of each output."""
        sizes = np.concatenate([each.size for each in self.machines(self.model())])
        return sizes if self.combine is None else np.full(self.n_outputs, sizes.max())  # of a mean


@cache
def _fitted(name: str) -> Any:
    return next(case for case in MODELS if case.name == name).fit()


def regression(name, model, table=DIABETES, y=TARGET, gamma=None, **how) -> ModelCase:
    """Return a case of a support vector regression with the rbf kernel."""
    rate = scale_gamma(table) if gamma is None else gamma
    return ModelCase(
        name,
        lambda: model.fit(table, y),
        table[:4],
        how.pop("own", predict),
        lambda m: [
            machine(m.support_vectors_, m.dual_coef_, m.intercept_, pairwise(rbf_kernel, rate))
        ],
        **how,
    )


def classification(name, model, table, y, outputs, gamma=None, **how) -> ModelCase:
    """Return a case of a support vector classifier with the rbf kernel."""
    rate = scale_gamma(table) if gamma is None else gamma
    rows = table[:: max(1, len(y) // 4)][:4]
    n_classes = len(np.unique(y))
    means = n_classes > 2 and "choice" not in how

    def machines(m):
        kernel = pairwise(rbf_kernel, rate)
        pairs = machine(m.support_vectors_, by_pairs(m, y), m.intercept_, kernel)
        return [in_classes(pairs, n_classes) if means else pairs]

    return ModelCase(
        name,
        lambda: model.fit(table, y),
        rows,
        class_decision if means else decision,
        machines,
        outputs,
        n_outputs=len(outputs),
        **how,
    )


def ridge(name, function, gamma, table=X, y=TARGET, **how) -> ModelCase:
    """Return a case of kernel ridge regression."""
    kernel = function.__name__.removesuffix("_kernel")
    rate = 1.0 / table.shape[1] if gamma is None else gamma
    n_outputs = np.asarray(y)[0].size
    return ModelCase(
        name,
        lambda: KernelRidge(kernel=kernel, gamma=gamma, alpha=0.1).fit(table, y),
        table[:4],
        predict,
        lambda m: [machine(dense(table), m.dual_coef_, 0.0, pairwise(function, rate))],
        tuple(f"y{k}" for k in range(n_outputs)) if n_outputs > 1 else None,
        n_outputs=n_outputs,
        **how,
    )


def process(name, kernel, table=X, y=TARGET, optimizer=None, **options) -> ModelCase:
    """Return a case of Gaussian process regression; nothing is optimised unless it is asked for."""
    normalize = options.get("normalize_y", False)
    n_outputs = np.asarray(y)[0].size
    regressor = GaussianProcessRegressor(
        kernel, alpha=options.pop("alpha", 0.5), optimizer=optimizer, **options
    )
    spread = np.std(y, axis=0) if normalize else 1.0
    centre = np.mean(y, axis=0) if normalize else 0.0
    return ModelCase(
        name,
        lambda: regressor.fit(table, y),
        table[:4],
        predict,
        lambda m: [machine(m.X_train_, m.alpha_ * spread, centre, tree(m.kernel_))],
        tuple(f"y{k}" for k in range(n_outputs)) if n_outputs > 1 else None,
        n_outputs=n_outputs,
    )


def components(name, model, table=X, **how) -> ModelCase:
    """Return a case of kernel PCA with the rbf kernel.

    A component is ``sum_i a_i (k(x, x_i) - mean_l k(x, x_l) - mean_l k(x_l, x_i) + mean k)``, so
    the coefficients of k(x, x_i) are ``a_i - mean(a)`` and the rest does not depend on x.
    """
    gamma = model.gamma or 1.0 / table.shape[1]

    def machines(m):
        a = m.eigenvectors_ / np.sqrt(m.eigenvalues_)
        gram = rbf_kernel(table, gamma=gamma)
        offset = (gram.mean() - gram.mean(axis=0)) @ a
        return [machine(table, a - a.mean(axis=0), offset, pairwise(rbf_kernel, gamma))]

    return ModelCase(name, lambda: model.fit(table), table[:4], transform, machines, **how)


def linear(name, model, table, y, own, coefficients, outputs=(), kernel=inner_products, **how):
    """Return a case of a machine whose kernel has a linear part; it needs a background.

    `coefficients(model)` are its points, their weights, and the offset.
    """
    background = table[10:17]
    final = how.pop("final", lambda m: m)
    prepare = how.pop("prepare", lambda m: dense)

    def machines(m):
        last = final(m)
        shape = kernel(last) if kernel is not inner_products else kernel
        found = machine(*coefficients(last), shape, prepare=prepare(m), background=background)
        return [found]

    return ModelCase(
        name,
        lambda: model.fit(table, y),
        table[:: len(y) // 4][:4],
        own,
        machines,
        tuple(outputs) or None,
        n_outputs=max(1, len(outputs)),
        background=background,
        **how,
    )


def vectors(m):
    """Return the support vectors of a machine, their weights and the intercept."""
    return m.support_vectors_, dense(m.dual_coef_).T, m.intercept_


def estimate(name, model, kernel, norm, weights=None) -> ModelCase:
    """Return a case of a kernel density; `norm` is the integral of its kernel."""
    share = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    return ModelCase(
        name,
        lambda: model.fit(X, sample_weight=weights),
        X[:4],
        density,
        lambda m: [machine(X, share / norm, 0.0, kernel)],
    )


def latents(name, model, table, y, outputs, **how) -> ModelCase:
    """Return a case of Gaussian process classification."""

    def machines(m):
        bases = getattr(m.base_estimator_, "estimators_", [m.base_estimator_])
        return [machine(b.X_train_, b.y_train_ - b.pi_, 0.0, tree(b.kernel_)) for b in bases]

    rows = table[:: len(y) // 4][:4]
    fit = partial(model.fit, table, y)
    n_outputs = len(outputs)
    return ModelCase(name, fit, rows, latent, machines, outputs, n_outputs=n_outputs, **how)


def in_pipeline(name, steps, origins, table=DIABETES, y=TARGET, final=None, **how) -> ModelCase:
    """Return a case of a pipeline with an SVR of gamma 0.3; `origins` are written by hand."""
    final = SVR(C=20.0, gamma=0.3) if final is None else final
    return ModelCase(
        name,
        lambda: Pipeline([*((f"s{i}", step) for i, step in enumerate(steps)), ("m", final)]).fit(
            table, y
        ),
        how.pop("rows", table[:4]),
        how.pop("own", predict),
        lambda m: [support(m[-1], m[:-1].transform, origins)],
        **how,
    )


def support(svr, prepare, origins=None, gamma=0.3) -> Machine:
    """Return the Machine of an SVR, OneClassSVM or binary SVC behind some steps."""
    kernel = pairwise(rbf_kernel, gamma)
    return machine(
        svr.support_vectors_,
        dense(svr.dual_coef_)[0],
        svr.intercept_,
        kernel,
        prepare=prepare,
        origins=origins,
    )


def rbf_of_rows(x, z):
    """A kernel of a pair of rows, as KernelRidge calls it."""
    return float(np.exp(-0.5 * np.sum((x - z) ** 2) / 0.1**2))


def rbf_of_tables(x, z):
    """A kernel of two tables, as support vector machines call it."""
    return rbf_kernel(x, z, gamma=50.0)


def doubled(table):
    """A function of each column by itself, but that cannot be seen from outside."""
    return 2.0 * table


def clipped(target):
    """The way back of a target that is cut off, linear below."""
    return np.minimum(target, 300.0)


class Capped(SVR):
    """A user's model that never predicts more than the largest target."""

    def predict(self, X):
        return np.minimum(super().predict(X), TARGET.max())


def numbers(frame):
    """A user's own choice of columns."""
    return [name for name in frame.columns if name in ("age", "bmi")]


PLAIN = pairwise(rbf_kernel, 50.0)  # exp(-(x - z)^2 / (2 * 0.1^2))
GRAM = partial(rbf_kernel, Y=X, gamma=50.0)
PAIRS3 = ("0 vs 1", "0 vs 2", "1 vs 2")
PAIRS4 = ("0 vs 1", "0 vs 2", "0 vs 3", "1 vs 2", "1 vs 3", "2 vs 3")
IRIS_PAIRS = ("setosa vs versicolor", "setosa vs virginica", "versicolor vs virginica")
IRIS_CLASSES = ("setosa", "versicolor", "virginica")
ONE_VS_ONE = ("1 vs 0", "2 vs 0", "2 vs 1")
OF_PAIRS = partial(by_classes, n_classes=3, positive=1)
CLASSES, CLASSES4 = ("0", "1", "2"), ("0", "1", "2", "3")
MATRIX = {"kernel": RBF(0.1), "points": X}
ONE_HOT = OneHotEncoder(sparse_output=False)
L1 = pairwise(laplacian_kernel, 1.0 / 0.05)
WEIGHTS = np.arange(1.0, 61.0)
CONSTANT_COLUMN = DIABETES.assign(one=1.0)[["age", "one", "bmi", "bp", "s5"]]
EMPTY_COLUMN = GAPS.assign(none=np.nan)[["age", "none", "bmi", "bp", "s5"]]
FOLDS = KFold(5, shuffle=True, random_state=0)
SEED = {"cv": FOLDS} if NEW_ENCODER else {"random_state": 0}
UNION = FeatureUnion([("a", StandardScaler()), ("b", "drop"), ("c", MinMaxScaler())])

VECTOR_MACHINES = [
    regression("SVR", SVR(C=20.0)),
    regression("SVR gamma=auto", SVR(C=20.0, gamma="auto"), gamma=0.25),
    regression("SVR gamma=3.5 on arrays", SVR(C=20.0, gamma=3.5), table=X, gamma=3.5),
    regression("SVR on a sparse matrix", SVR(C=20.0), table=SPARSE),
    regression("NuSVR", NuSVR(C=20.0, nu=0.4)),
    regression("OneClassSVM", OneClassSVM(nu=0.2), own=decision),
    regression("OneClassSVM gamma=auto sparse", OneClassSVM(gamma="auto"), table=SPARSE,
               gamma=0.25, own=decision),
    classification("SVC binary", SVC(), CANCER, MALIGNANT, ("1 vs 0",)),
    classification("SVC binary, text labels, class_weight",
                   SVC(C=3.0, class_weight="balanced", gamma=0.2), CANCER,
                   np.where(MALIGNANT, "benign", "malignant"), ("malignant vs benign",), 0.2),
    classification("SVC 3 classes", SVC(), IRIS, SPECIES, CLASSES),
    classification("SVC 3 classes, outputs=pairs", SVC(), IRIS, SPECIES, PAIRS3, choice="pairs"),
    classification("SVC 3 classes ovo, text labels", SVC(decision_function_shape="ovo"), IRIS,
                   NAMED_SPECIES, IRIS_CLASSES),
    classification("SVC 3 classes ovo, text labels, outputs=pairs",
                   SVC(decision_function_shape="ovo"), IRIS, NAMED_SPECIES, IRIS_PAIRS,
                   choice="pairs"),
    classification("SVC 3 classes break_ties, weights per class",
                   SVC(break_ties=True, class_weight={0: 2.0, 2: 0.5}, gamma="auto"), WINE_FRAME,
                   CULTIVAR, CLASSES, 0.2),
    classification("SVC 4 classes", SVC(C=2.0), DIGITS, DIGIT, CLASSES4),
    classification("SVC 4 classes on a sparse matrix, outputs=pairs", SVC(),
                   scipy.sparse.csr_matrix(DIGITS), DIGIT, PAIRS4, choice="pairs"),
    classification("NuSVC binary", NuSVC(nu=0.3), CANCER, MALIGNANT, ("1 vs 0",)),
    classification("NuSVC 3 classes", NuSVC(nu=0.2), WINE, CULTIVAR, CLASSES),
    ModelCase("SVR with a pkex kernel", lambda: SVR(kernel=RBF(0.1), C=20.0).fit(X, TARGET), X[:4],
              predict, lambda m: [machine(X[m.support_], m.dual_coef_, m.intercept_, PLAIN)]),
    ModelCase("SVC with a pkex kernel, 3 classes",
              lambda: SVC(kernel=Laplacian(2.0)).fit(IRIS, SPECIES), IRIS[::15], class_decision,
              lambda m: [in_classes(machine(IRIS[m.support_], by_pairs(m, SPECIES), m.intercept_,
                                            pairwise(laplacian_kernel, 0.5)), 3)],
              CLASSES, n_outputs=3),
    ModelCase("SVR with a function as kernel", lambda: SVR(kernel=rbf_of_tables).fit(X, TARGET),
              X[:4], predict,
              lambda m: [machine(X[m.support_], m.dual_coef_, m.intercept_, PLAIN)],
              given={"kernel": RBF(0.1)}),
    ModelCase("SVR precomputed", lambda: SVR(kernel="precomputed", C=9.0).fit(GRAM(X), TARGET),
              X[:4], predict,
              lambda m: [machine(X[m.support_], m.dual_coef_, m.intercept_, PLAIN)],
              given=MATRIX, gram=GRAM),
]  # fmt: skip

RIDGES = [
    ridge("KernelRidge rbf", rbf_kernel, 30.0, DIABETES),
    ridge("KernelRidge rbf, gamma=None", rbf_kernel, None),
    ridge("KernelRidge laplacian", laplacian_kernel, 4.0),
    ridge("KernelRidge laplacian, gamma=None", laplacian_kernel, None),
    ridge("KernelRidge chi2", chi2_kernel, 0.7, DIGITS, DIGIT),
    ridge("KernelRidge rbf, 2 targets", rbf_kernel, 30.0, y=TARGETS),
    ridge("KernelRidge rbf on a sparse matrix", rbf_kernel, 30.0, SPARSE),
    ModelCase("KernelRidge with a function as kernel",
              lambda: KernelRidge(kernel=rbf_of_rows).fit(X, TARGET), X[:4], predict,
              lambda m: [machine(X, m.dual_coef_, 0.0, PLAIN)], given={"kernel": RBF(0.1)}),
    ModelCase("KernelRidge precomputed",
              lambda: KernelRidge(kernel="precomputed").fit(GRAM(X), TARGET), X[:4], predict,
              lambda m: [machine(X, m.dual_coef_, 0.0, PLAIN)], given=MATRIX, gram=GRAM),
]  # fmt: skip

UNSUPERVISED = [
    components("KernelPCA 3 components", KernelPCA(3, kernel="rbf", gamma=40.0),
               outputs=("kernelpca0", "kernelpca1", "kernelpca2"), n_outputs=3),
    components("KernelPCA 1 component, gamma=None", KernelPCA(1, kernel="rbf")),
    estimate("KernelDensity gaussian", KernelDensity(bandwidth=0.05),
             pairwise(rbf_kernel, 0.5 / 0.05**2), (2 * np.pi * 0.05**2) ** 2),
    estimate("KernelDensity exponential, manhattan",
             KernelDensity(kernel="exponential", metric="manhattan", bandwidth=0.05), L1,
             12 * np.pi**2 * 0.05**4),  # scikit-learn norms it as if it were Euclidean
    estimate("KernelDensity gaussian, sample_weight", KernelDensity(bandwidth=0.05),
             pairwise(rbf_kernel, 0.5 / 0.05**2), (2 * np.pi * 0.05**2) ** 2, WEIGHTS),
]  # fmt: skip

ARD = [0.1, 0.2, 0.05, 0.3]
PROCESSES = [
    process("GPR kernel=None", None),
    process("GPR C * RBF", 400.0 * gp.RBF(0.1)),
    process("GPR C * RBF + White, optimised", 1.0 * gp.RBF(1.0) + gp.WhiteKernel(0.5),
            WINE / WINE.std(axis=0), CULTIVAR, optimizer="fmin_l_bfgs_b", alpha=1e-6),
    process("GPR RBF ARD", gp.RBF(ARD), DIABETES),
    process("GPR C * RBF ARD + White, normalize_y",
            2.0 * gp.RBF(ARD) + gp.WhiteKernel(0.3), normalize_y=True),
    process("GPR sum of RBF and constant", gp.RBF(0.1) + 0.5 * gp.RBF(ARD) + 3.0),
    process("GPR product of RBFs", gp.RBF(0.2) * gp.RBF(ARD)),
    process("GPR square of a sum", (gp.RBF(0.1) + 0.5) ** 2),
    process("GPR fractional power of a product", (3.0 * gp.RBF(ARD)) ** 0.7),
    process("GPR RBF times noise, plus RBF",
            gp.RBF(0.1) * gp.WhiteKernel(0.1) + gp.RBF(0.2) + gp.WhiteKernel(0.1)),
    process("GPR 2 targets", gp.RBF(0.1), y=TARGETS),
    process("GPR 2 targets, normalize_y", gp.RBF(ARD) + 0.2, y=TARGETS, normalize_y=True),
    process("GPR Matern nu=inf", gp.Matern(ARD, nu=np.inf)),
    process("GPR Matern nu=0.5, 1 column", gp.Matern(0.1, nu=0.5), X[:, :1]),
    process("GPR Matern nu=1.5, 1 column", gp.Matern(0.1, nu=1.5), X[:, :1]),
    process("GPR Matern nu=2.5, 1 column", gp.Matern(0.1, nu=2.5), X[:, :1]),
    process("GPR ExpSineSquared, 1 column", gp.ExpSineSquared(0.5, 0.07), X[:, :1]),
    process("GPR PairwiseKernel rbf", gp.PairwiseKernel(30.0, metric="rbf")),
    process("GPR PairwiseKernel laplacian", 2.0 * gp.PairwiseKernel(6.0, metric="laplacian") ** 2),
    process("GPR constant kernel", gp.ConstantKernel(2.0)),
    latents("GPC binary", GaussianProcessClassifier(gp.RBF([1.0, 2.0, 1.5, 1.0, 3.0])), CANCER,
            np.where(MALIGNANT, "benign", "malignant"), ("malignant vs benign",)),
    latents("GPC 3 classes, one_vs_rest", GaussianProcessClassifier(2.0 * gp.RBF(1.5)),
            IRIS, NAMED_SPECIES, ("setosa", "versicolor", "virginica")),
    latents("GPC 3 classes, one_vs_one, kernel=None",
            GaussianProcessClassifier(multi_class="one_vs_one", optimizer=None), IRIS, SPECIES,
            CLASSES, combine=OF_PAIRS),
    latents("GPC 3 classes, one_vs_one, outputs=pairs",
            GaussianProcessClassifier(multi_class="one_vs_one", optimizer=None), IRIS, SPECIES,
            ONE_VS_ONE, choice="pairs"),
]  # fmt: skip


def columns(*transformers, **options):
    """Return a ColumnTransformer of transformers that are named t0, t1, ..."""
    named = [(f"t{i}", step, chosen) for i, (step, chosen) in enumerate(transformers)]
    return ColumnTransformer(named, **options)


IDENTITY = (0, 1, 2, 3)
PIPELINES = [
    in_pipeline("StandardScaler", [StandardScaler()], IDENTITY),
    in_pipeline("StandardScaler, arrays", [StandardScaler()], IDENTITY, X),
    in_pipeline("MinMaxScaler, MaxAbsScaler, RobustScaler, passthrough",
                [MinMaxScaler(), "passthrough", MaxAbsScaler(), RobustScaler()], IDENTITY),
    in_pipeline("passthrough first", ["passthrough", StandardScaler()], IDENTITY),
    in_pipeline("PowerTransformer", [PowerTransformer()], IDENTITY),
    in_pipeline("QuantileTransformer", [QuantileTransformer(n_quantiles=20)], IDENTITY),
    in_pipeline("Binarizer", [Binarizer()], IDENTITY),
    in_pipeline("FunctionTransformer log1p, expm1",
                [MinMaxScaler(), FunctionTransformer(np.log1p), FunctionTransformer(np.expm1)],
                IDENTITY),
    in_pipeline("FunctionTransformer one-to-one",
                [FunctionTransformer(doubled, feature_names_out="one-to-one"), StandardScaler()],
                IDENTITY, features=tuple(DIABETES.columns),
                warns="FunctionTransformer mixes columns"),
    in_pipeline("set_output pandas",
                [StandardScaler().set_output(transform="pandas"),
                 columns((MinMaxScaler(), ["bp", "age"]), remainder="passthrough").set_output(
                     transform="pandas")], (2, 0, 1, 3)),
    in_pipeline("SimpleImputer", [SimpleImputer(), StandardScaler()], IDENTITY, GAPS),
    in_pipeline("SimpleImputer add_indicator",
                [SimpleImputer(strategy="median", add_indicator=True), StandardScaler()],
                (0, 1, 2, 3, 1, 3), GAPS),
    in_pipeline("SimpleImputer, a column without values, add_indicator",
                [SimpleImputer(add_indicator=True)], (0, 2, 3, 4, 1, 2, 4), EMPTY_COLUMN,
                noise="Skipping features without any observed values"),
    in_pipeline("SimpleImputer, keep_empty_features",
                [SimpleImputer(strategy="constant", keep_empty_features=True)],
                (0, 1, 2, 3, 4), EMPTY_COLUMN),
    in_pipeline("MissingIndicator beside an imputer",
                [FeatureUnion([("i", MissingIndicator()), ("v", SimpleImputer())])],
                (1, 3, 0, 1, 2, 3), GAPS),
    in_pipeline("KBinsDiscretizer onehot",
                [KBinsDiscretizer([2, 3, 2, 4], encode="onehot", strategy="uniform")],
                (0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3)),
    in_pipeline("KBinsDiscretizer ordinal",
                [KBinsDiscretizer(3, encode="ordinal", strategy="uniform")], IDENTITY),
    in_pipeline("SplineTransformer", [SplineTransformer(3, degree=2)],
                (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)),
    in_pipeline("SelectKBest", [StandardScaler(), SelectKBest(f_regression, k=2)], (1, 3)),
    in_pipeline("VarianceThreshold", [VarianceThreshold(), StandardScaler()], (0, 2, 3, 4),
                CONSTANT_COLUMN),
    in_pipeline("FeatureUnion", [UNION], (0, 1, 2, 3, 0, 1, 2, 3)),
    in_pipeline("nested pipelines",
                [make_pipeline(MinMaxScaler(), make_pipeline(StandardScaler()))], IDENTITY),
    in_pipeline("OneHotEncoder by name, remainder passthrough",
                [columns((ONE_HOT, ["sex", "pressure"]), remainder="passthrough"),
                 StandardScaler()], (1, 1, 3, 3, 3, 3, 0, 2, 4), PATIENTS),
    in_pipeline("OneHotEncoder drop=first, sparse",
                [columns((OneHotEncoder(drop="first"), ["pressure", "sex"]),
                         (StandardScaler(), ["s5", "age"]), sparse_threshold=1.0)],
                (3, 3, 3, 1, 4, 0), PATIENTS),
    in_pipeline("OneHotEncoder min_frequency, handle_unknown",
                [columns((OneHotEncoder(min_frequency=12, handle_unknown="infrequent_if_exist",
                                        sparse_output=False), ["pressure"]),
                         (StandardScaler(), ["age", "bmi", "s5"]))],
                (3, 3, 3, 0, 2, 4), PATIENTS),
    in_pipeline("OrdinalEncoder, TargetEncoder",
                [columns((OrdinalEncoder(), ["sex"]),
                         (TargetEncoder(target_type="continuous", **SEED), ["pressure"]),
                         remainder=RobustScaler())], (1, 3, 0, 2, 4), PATIENTS),
    in_pipeline("TargetEncoder, 3 classes",
                [columns((TargetEncoder(**SEED), ["sex", "pressure"]), remainder="passthrough"),
                 StandardScaler()], (1, 1, 1, 3, 3, 3, 0, 2, 4), PATIENTS,
                y=np.digitize(TARGET, [90, 160])),
    in_pipeline("ColumnTransformer by index, slice, mask and overlapping columns",
                [columns((StandardScaler(), [0, -1]), (MinMaxScaler(), slice(1, 3)),
                         (RobustScaler(), [True, False, False, True]))],
                (0, 3, 1, 2, 0, 3), X),
    in_pipeline("ColumnTransformer by slice of names, single name, drop",
                [columns((StandardScaler(), slice("bmi", "s5")), ("drop", ["age"]),
                         (make_pipeline(SimpleImputer(), MinMaxScaler()), ["age"]))],
                (1, 2, 3, 0)),
    in_pipeline("ColumnTransformer by functions",
                [make_column_transformer(
                    (StandardScaler(), numbers),
                    (ONE_HOT, make_column_selector(dtype_exclude=np.number)),
                    remainder="drop")], (0, 2, 1, 1, 3, 3, 3, 3), PATIENTS),
    in_pipeline("ColumnTransformer of pipelines",
                [columns((make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                          ["s5", "bmi"]),
                         (make_pipeline(OrdinalEncoder(), ONE_HOT), ["pressure"]))],
                (4, 2, 4, 2, 3, 3, 3, 3), _with_holes(PATIENTS, "bmi", "s5")),
    in_pipeline("a ColumnTransformer after one that renames",
                [columns((StandardScaler(), ["bp"]), remainder="passthrough").set_output(
                    transform="pandas"),
                 columns((MinMaxScaler(), ["remainder__s5", "t0__bp"]))], (3, 2)),
    in_pipeline("OneClassSVM behind a scaler", [StandardScaler()], IDENTITY,
                final=OneClassSVM(gamma=0.3), own=decision),
    in_pipeline("PCA", [StandardScaler(), PCA(3), StandardScaler()], (0, 1, 2),
                features=("pca0", "pca1", "pca2"), warns="PCA mixes columns"),
    in_pipeline("PCA, PolynomialFeatures",
                [PCA(2), PolynomialFeatures(include_bias=False), StandardScaler()],
                (0, 1, 2, 3, 4),
                features=("pca0", "pca1", "pca0^2", "pca0 pca1", "pca1^2"),
                warns="PolynomialFeatures mixes columns"),
    in_pipeline("FunctionTransformer of one's own",
                [FunctionTransformer(doubled), StandardScaler()], IDENTITY,
                features=tuple(DIABETES.columns), warns="FunctionTransformer mixes columns"),
    ModelCase(
        "pipeline in a pipeline",
        lambda: make_pipeline(
            columns((StandardScaler(), ["s5", "bmi"])),
            make_pipeline(MinMaxScaler(), SVR(C=20.0, gamma=0.3)),
        ).fit(DIABETES, TARGET),
        DIABETES[:4], predict,
        lambda m: [support(m[-1][-1], lambda r: m[-1][0].transform(m[0].transform(r)), (3, 1))],
    ),
    ModelCase(
        "SVC 3 classes behind a scaler",
        lambda: make_pipeline(StandardScaler(), SVC(gamma=0.2)).fit(WINE_FRAME, CULTIVAR),
        WINE_FRAME[::18], lambda m, rows: class_decision(m[-1], m[0].transform(rows)),
        lambda m: [in_classes(
            machine(m[-1].support_vectors_, by_pairs(m[-1], CULTIVAR), m[-1].intercept_,
                    pairwise(rbf_kernel, 0.2), prepare=m[0].transform), 3)],
        CLASSES, n_outputs=3,
    ),
    ModelCase(
        "GPR behind a scaler, ARD, normalize_y",
        lambda: make_pipeline(
            StandardScaler(),
            GaussianProcessRegressor(gp.RBF([1.0, 2.0, 3.0, 1.5]) + gp.WhiteKernel(0.5),
                                     normalize_y=True, optimizer=None),
        ).fit(DIABETES, TARGET),
        DIABETES[:4], predict,
        lambda m: [machine(m[-1].X_train_, m[-1].alpha_ * TARGET.std(), TARGET.mean(),
                           tree(m[-1].kernel_), prepare=m[0].transform)],
    ),
]  # fmt: skip

SCALED_SVR = make_pipeline(StandardScaler(), SVR(C=20.0, gamma=0.3))
SCALED_SVC = make_pipeline(StandardScaler(), SVC(gamma=0.2))
NAMED_SVC = make_pipeline(
    columns((StandardScaler(), ["hue", "alcohol"]), (MinMaxScaler(), ["acid"])), SVC(gamma=0.2)
)


def searched(name, search, **how) -> ModelCase:
    """Return a case of a search over SVRs with gamma 0.3, behind a scaler."""
    return ModelCase(
        name, lambda: search.fit(DIABETES, TARGET), DIABETES[:4], predict,
        lambda m: [support(m.best_estimator_[-1], m.best_estimator_[0].transform)], **how,
    )  # fmt: skip


def to_target(name, regressor, transformer, slope, zero, y=TARGET) -> ModelCase:
    """Return a case of a target transformed by ``(y - zero) / slope``."""

    def machines(m):
        inner, prepare = m.regressor_, np.asarray
        if hasattr(inner, "steps"):
            inner, prepare = inner[-1], inner[0].transform
        found = support(inner, prepare)
        return [machine(found.points, found.alpha * slope, found.offset * slope + zero,
                        found.kernel, prepare=prepare)]  # fmt: skip

    model = TransformedTargetRegressor(regressor, transformer=transformer)
    return ModelCase(name, lambda: model.fit(DIABETES, y), DIABETES[:4], predict, machines)


def many(name, model, table, y, own, outputs, origins=None, **how) -> ModelCase:
    """Return a case of a wrapper with one machine, perhaps in a pipeline, for each output."""

    def machines(m):
        found = []
        for each in m.estimators_:
            each, prepare = getattr(each, "best_estimator_", each), np.asarray
            if hasattr(each, "steps"):
                each, prepare = each[-1], partial(_apply, each[0])
            found.append(support(each, prepare, origins, gamma=each.gamma))
        return found

    rows = table[:: len(y) // 4][:4]
    return ModelCase(
        name,
        lambda: model.fit(table, y),
        rows,
        own,
        machines,
        outputs,
        n_outputs=len(outputs),
        **how,
    )


def _apply(step, rows):
    """Transform rows in the form that the step was fitted with."""
    return step.transform(rows if hasattr(step, "feature_names_in_") else np.asarray(rows))


GRID = {"svr__C": [5.0, 20.0]}
WRAPPERS = [
    searched("GridSearchCV", GridSearchCV(SCALED_SVR, GRID, cv=2)),
    searched("RandomizedSearchCV",
             RandomizedSearchCV(SCALED_SVR, GRID, n_iter=2, cv=2, random_state=0)),
    searched("HalvingGridSearchCV", HalvingGridSearchCV(SCALED_SVR, GRID, cv=2, random_state=0)),
    ModelCase("FrozenEstimator", lambda: FrozenEstimator(SVR(gamma=0.3).fit(DIABETES, TARGET)),
              DIABETES[:4], predict, lambda m: [support(m.estimator, np.asarray)]),
    to_target("TransformedTargetRegressor StandardScaler", SVR(gamma=0.3), StandardScaler(),
              TARGET.std(), TARGET.mean()),
    to_target("TransformedTargetRegressor MinMaxScaler around a pipeline", SCALED_SVR,
              MinMaxScaler(), np.ptp(TARGET), TARGET.min()),
    to_target("TransformedTargetRegressor without a transformer", SVR(gamma=0.3), None, 1.0, 0.0),
    many("MultiOutputRegressor", MultiOutputRegressor(SVR(gamma=0.3)), DIABETES, TARGETS, predict,
         ("y0", "y1")),
    many("MultiOutputRegressor around a pipeline", MultiOutputRegressor(SCALED_SVR), DIABETES,
         TARGETS, predict, ("y0", "y1")),
    many("OneVsRestClassifier", OneVsRestClassifier(SVC(gamma=0.2)), WINE_FRAME, CULTIVAR,
         decision, CLASSES),
    many("OneVsRestClassifier, 2 classes", OneVsRestClassifier(SVC(gamma=0.2)), CANCER, MALIGNANT,
         decision, ("1 vs 0",)),
    many("OneVsRestClassifier around a pipeline, arrays", OneVsRestClassifier(SCALED_SVC), WINE,
         CULTIVAR, decision, CLASSES),
    many("OneVsRestClassifier around a pipeline by name", OneVsRestClassifier(NAMED_SVC),
         WINE_FRAME, CULTIVAR, decision, CLASSES, (4, 0, 1)),
    many("OneVsRestClassifier around a search", OneVsRestClassifier(
         GridSearchCV(SVC(gamma=0.2), {"C": [1.0, 2.0]}, cv=2)), WINE_FRAME, CULTIVAR, decision,
         CLASSES),
    many("OneVsOneClassifier", OneVsOneClassifier(SVC(gamma=0.2)), WINE_FRAME, CULTIVAR,
         each_decision, CLASSES, combine=OF_PAIRS),
    many("OneVsOneClassifier, outputs=pairs", OneVsOneClassifier(SVC(gamma=0.2)), WINE_FRAME,
         CULTIVAR, each_decision, ONE_VS_ONE, choice="pairs"),
    many("OneVsOneClassifier, 2 classes", OneVsOneClassifier(SVC(gamma=0.2)), CANCER, MALIGNANT,
         each_decision, ("1 vs 0",)),
    many("OneVsOneClassifier around a pipeline, arrays", OneVsOneClassifier(SCALED_SVC), WINE,
         CULTIVAR, each_decision, CLASSES, combine=OF_PAIRS),
    many("OneVsOneClassifier around a pipeline, frame", OneVsOneClassifier(SCALED_SVC), WINE_FRAME,
         CULTIVAR, each_decision, CLASSES, combine=OF_PAIRS),
]  # fmt: skip


def centred(table, count):
    """Return what linear kernel PCA is made of: see `components`."""

    def coefficients(m):
        a = m.eigenvectors_ / np.sqrt(m.eigenvalues_)
        gram = linear_kernel(table)
        return table, a - a.mean(axis=0), (gram.mean() - gram.mean(axis=0)) @ a

    names = tuple(f"kernelpca{k}" for k in range(count))
    return {"coefficients": coefficients, "outputs": names}


def tree_of(m):
    """Return the kernel of a Gaussian process, for all columns."""
    return tree(m.kernel_)


def mean(m):
    """Return what the mean of a Gaussian process is made of."""
    return m.X_train_, m.alpha_, 0.0


def latent_mean(m):
    """Return what the latent mean of a binary GaussianProcessClassifier is made of."""
    return m.X_train_, m.y_train_ - m.pi_, 0.0


GPR = partial(GaussianProcessRegressor, alpha=0.5, optimizer=None)
LINEAR = [
    linear("SVR linear", SVR(kernel="linear", C=20.0), DIABETES, TARGET, predict, vectors),
    linear("SVR linear on a sparse matrix", SVR(kernel="linear", C=20.0), SPARSE, TARGET, predict,
           vectors),
    linear("NuSVR linear", NuSVR(kernel="linear", C=20.0), X, TARGET, predict, vectors),
    linear("OneClassSVM linear", OneClassSVM(kernel="linear", nu=0.3), X, TARGET, decision,
           vectors),
    linear("SVC linear, binary", SVC(kernel="linear"), CANCER, MALIGNANT, decision, vectors,
           ("1 vs 0",)),
    linear("SVC linear, 3 classes", SVC(kernel="linear"), IRIS, SPECIES, class_decision,
           lambda m: (m.support_vectors_, by_classes(by_pairs(m, SPECIES), 3),
                      by_classes(m.intercept_, 3)), CLASSES),
    linear("KernelRidge linear", KernelRidge(alpha=0.1), X, TARGET, predict,
           lambda m: (X, m.dual_coef_, 0.0)),
    linear("KernelRidge linear, 2 targets", KernelRidge(alpha=0.1), X, TARGETS, predict,
           lambda m: (X, m.dual_coef_, 0.0), ("y0", "y1")),
    linear("KernelPCA linear", KernelPCA(2, kernel="linear"), WINE, CULTIVAR, transform,
           **centred(WINE, 2)),
    linear("GPR DotProduct", GPR(gp.DotProduct(0.5)), X, TARGET, predict, mean, kernel=tree_of),
    linear("GPR DotProduct without an offset", GPR(gp.DotProduct(0.0, "fixed")), X, TARGET,
           predict, mean, kernel=tree_of),
    linear("GPR DotProduct + RBF", GPR(gp.DotProduct(0.5) + gp.RBF(ARD)), X, TARGET, predict, mean,
           kernel=tree_of),
    linear("GPR DotProduct * RBF", GPR(2.0 * gp.DotProduct(0.5) * gp.RBF(0.2)), X, TARGET, predict,
           mean, kernel=tree_of),
    linear("GPC DotProduct", GaussianProcessClassifier(gp.DotProduct(1.0), optimizer=None), CANCER,
           MALIGNANT, latent, latent_mean, ("1 vs 0",), tree_of,
           final=lambda m: m.base_estimator_),
    linear("SVR linear behind a scaler", make_pipeline(StandardScaler(), SVR(kernel="linear")),
           DIABETES, TARGET, predict, vectors, final=lambda m: m[-1],
           prepare=lambda m: m[:-1].transform),
]  # fmt: skip

MODELS = [*VECTOR_MACHINES, *RIDGES, *UNSUPERVISED, *PROCESSES, *LINEAR, *PIPELINES, *WRAPPERS]

# ------------------------------------------------------------------------------------- refusals


@dataclass(frozen=True)
class Refusal:
    """A model that is refused, and words of the sentence that says why and what to do."""

    name: str
    make: Callable[[], Any]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def refused_process(name, kernel, *words) -> Refusal:
    """Return the refusal of a Gaussian process with a kernel that is no product."""
    model = GaussianProcessRegressor(kernel, optimizer=None, alpha=1.0)
    return Refusal(name, lambda: model.fit(X, TARGET), words)


def refused_fit(name, model, *words, table=X, y=TARGET) -> Refusal:
    """Return the refusal of a model after its fit."""
    return Refusal(name, lambda: model.fit(table, y), words)


NO_PRODUCT = ("does not factorise over columns", "Kernels that factorise", "Refit")
REFUSALS = [
    refused_fit("SVR poly", SVR(kernel="poly"), "SVR", "'poly'", *NO_PRODUCT),
    refused_fit("SVC sigmoid", SVC(kernel="sigmoid"), "SVC", "'sigmoid'", *NO_PRODUCT,
                table=IRIS, y=SPECIES),
    refused_fit("OneClassSVM poly", OneClassSVM(kernel="poly"), "OneClassSVM", "'poly'"),
    refused_fit("KernelRidge cosine", KernelRidge(kernel="cosine"), "'cosine'", *NO_PRODUCT),
    refused_fit("KernelRidge rbf far from 0", KernelRidge(kernel="rbf", alpha=5.0),
                "so far from 0", "rbf kernel loses digits", "Centre or scale", table=X + 1e7),
    refused_fit("KernelPCA poly", KernelPCA(2, kernel="poly"), "KernelPCA", "'poly'", *NO_PRODUCT),
    refused_fit("KernelDensity tophat", KernelDensity(kernel="tophat"), "'tophat'", "gaussian"),
    refused_fit("KernelDensity exponential, Euclidean", KernelDensity(kernel="exponential"),
                "'exponential'", "manhattan"),
    refused_fit("KernelDensity gaussian, manhattan", KernelDensity(metric="manhattan"),
                "'gaussian'", "'manhattan'"),
    refused_fit("KernelDensity gaussian, Minkowski p=3",
                KernelDensity(metric="minkowski", metric_params={"p": 3}), "factorise"),
    refused_process("GPR Matern", gp.Matern(0.1), "Matern", *NO_PRODUCT),
    refused_process("GPR Matern ARD", gp.RBF(0.1) + gp.Matern(ARD), "Matern", *NO_PRODUCT),
    refused_process("GPR RationalQuadratic", gp.RationalQuadratic(), "RationalQuadratic",
                    *NO_PRODUCT),
    refused_process("GPR square of DotProduct", gp.DotProduct() ** 2, "DotProduct", *NO_PRODUCT),
    refused_process("GPR ExpSineSquared, several columns", gp.ExpSineSquared(), "ExpSineSquared",
                    *NO_PRODUCT),
    refused_process("GPR PairwiseKernel polynomial", gp.PairwiseKernel(metric="polynomial"),
                    "polynomial", *NO_PRODUCT),
    refused_process("GPR square root of a sum", (gp.RBF(0.1) + 1.0) ** 0.5, "power of a sum"),
    refused_process("GPR noise alone", gp.WhiteKernel(0.5), "noise alone", "nothing to explain"),
    refused_fit("GPC Matern", GaussianProcessClassifier(gp.Matern(), optimizer=None), "Matern",
                *NO_PRODUCT, table=IRIS, y=SPECIES),
    Refusal("GPR not fitted", GaussianProcessRegressor, ("not fitted", "prior", "fit")),
    *(
        Refusal(f"{type(model).__name__} not fitted", partial(copy, model), ("fit",))
        for model in (SVR(), NuSVR(), SVC(), NuSVC(), OneClassSVM(), KernelRidge(kernel="rbf"),
                      KernelPCA(kernel="rbf"), KernelDensity(), GaussianProcessClassifier(),
                      SCALED_SVR, GridSearchCV(SVR(), {"C": [1.0]}),
                      TransformedTargetRegressor(SVR()), MultiOutputRegressor(SVR()),
                      OneVsRestClassifier(SVC()), OneVsOneClassifier(SVC()),
                      FrozenEstimator(SVR()))
    ),
    refused_fit("SVR precomputed, kernel not given", SVR(kernel="precomputed"), "precomputed",
                "kernel=", "points=", table=GRAM(X)),
    refused_fit("SVR with a function, kernel not given", SVR(kernel=rbf_of_tables),
                "kernel of its own", "kernel="),
    refused_fit("search with refit=False", GridSearchCV(SVR(), {"C": [1.0, 2.0]}, refit=False),
                "best_estimator_", "refit"),
    refused_fit("CalibratedClassifierCV", CalibratedClassifierCV(SVC(), cv=3, ensemble=False),
                "probabilities", "calibrated_classifiers_[0].estimator", table=IRIS, y=SPECIES),
    refused_fit("TransformedTargetRegressor log",
                TransformedTargetRegressor(SVR(), func=np.log, inverse_func=np.exp), "nonlinear",
                "model.regressor_"),
    refused_fit("TransformedTargetRegressor that clips",
                TransformedTargetRegressor(SCALED_SVR, func=np.positive, inverse_func=clipped,
                                           check_inverse=False), "nonlinear", "model.regressor_"),
    refused_fit("OneVsOneClassifier around pipelines that mix columns",
                OneVsOneClassifier(make_pipeline(PCA(2), SVC())), "mixes columns", "one by one",
                table=WINE, y=CULTIVAR),
    refused_fit("Pipeline with a nested one that mixes columns",
                make_pipeline(StandardScaler(), make_pipeline(PCA(2), SVR())), "mixes columns",
                "nested pipeline"),
    refused_fit("Pipeline that ends in another model", make_pipeline(StandardScaler(),
                LinearRegression()), "LinearRegression", "not a model that pkex can read"),
    Refusal("Pipeline without a model", lambda: Pipeline([("s", StandardScaler()),
            ("m", "passthrough")]).fit(X), ("end in a kernel machine",)),
    refused_fit("LinearSVC", LinearSVC(), "LinearSVC", "not a model that pkex can read",
                table=IRIS, y=SPECIES),
    refused_fit("RandomForestRegressor", RandomForestRegressor(3, random_state=0),
                "RandomForestRegressor", "not a model that pkex can read", "KernelExpansion"),
    Refusal("None", lambda: None, ("NoneType", "not a model that pkex can read")),
    refused_fit("subclass with a predict of its own", Capped(C=20.0),
                "Capped has a predict of its own", "plain SVR", "register a reader"),
    Refusal("a string", lambda: "SVR", ("str is not a model",)),
    Refusal("a class", lambda: SVR, ("SVR is a class", "SVR().fit(X, y)")),
]  # fmt: skip
