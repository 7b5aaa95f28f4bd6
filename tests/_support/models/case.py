"""What a case is: a fitted model to explain, or one to refuse. Own outputs of models, and names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from tests._support.models.data import Array
from tests._support.models.oracle import Machine, by_classes, dense


def class_decision(model, rows):
    """Return the mean of the signed pair functions that the model itself has."""
    return by_classes(decision(model, rows), len(model.classes_))


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


@dataclass(frozen=True)
class ModelCase:
    """A fitted model to explain.

    `machines(model)` are its outputs side by side, as games of their own; `given` is what
    `as_expansion` is told besides the model; `warns` are words of the warning that belongs to it;
    `background` is what a kernel with a linear part takes absent columns from beside the default;
    a model without data of its own (`own_data`) averages over it by default, too.
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
    own_data: bool = True
    choice: str | None = None  # of outputs
    log_odds: bool = False  # whether that is what is explained
    listed: bool = True  # on the page of support: not what some versions of scikit-learn lack
    combine: Callable[[Array], Array] | None = None  # what is explained, from the machines' outputs
    sparse_rows: Any = None  # the rows before they were made dense: tests/test_sparse.py has them

    def __post_init__(self) -> None:
        if hasattr(self.rows, "tocsr"):
            object.__setattr__(self, "sparse_rows", self.rows)
            object.__setattr__(self, "rows", self.rows.toarray())

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
            return _fitted(self.fit)

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
            if removal == "product-of-marginals":
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
def _fitted(fit: Callable[[], Any]) -> Any:
    return fit()


PAIRS3 = ("0 vs 1", "0 vs 2", "1 vs 2")
PAIRS4 = ("0 vs 1", "0 vs 2", "0 vs 3", "1 vs 2", "1 vs 3", "2 vs 3")
IRIS_PAIRS = ("setosa vs versicolor", "setosa vs virginica", "versicolor vs virginica")
IRIS_CLASSES = ("setosa", "versicolor", "virginica")
ONE_VS_ONE = ("1 vs 0", "2 vs 0", "2 vs 1")
OF_PAIRS = partial(by_classes, n_classes=3, positive=1)
CLASSES, CLASSES4 = ("0", "1", "2"), ("0", "1", "2", "3")


@dataclass(frozen=True)
class Refusal:
    """A model that is refused, and words of the sentence that says why and what to do."""

    name: str
    make: Callable[[], Any]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return self.name
