"""`permutation_importance`: scikit-learn's, in expectation over all shuffles.

A shuffle gives row i the feature of row pi(i). The expectation over all pi of a mean of losses is
the mean over all pairs of rows, a row with itself included: ``sum_i w_i mean_b M[i, b]`` with the
losses ``M[i, b] = L(y_i, f(x_i with feature j of row b))``. The variance of a single shuffle is
``sum D^2 / (N - 1)``, D being ``w_i M[i, b]`` with the means of rows and columns removed (Hoeffding
1951).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate
from pkex._util.progress import Forecast
from pkex._util.random import RandomState
from pkex._util.types import Floats, TableLike
from pkex._util.validation import check_n_jobs, column_names, refuse_dask
from pkex._util.words import format_duration
from pkex.errors import PerformanceWarning, UnsupportedModelError
from pkex.explain.fitted import FittedModel
from pkex.explain.problem import PreparedRows, Problem
from pkex.explain.replaced import Replaced
from pkex.explain.samples import draw_rows, take_rows
from pkex.explain.scoring import Score, check_scoring, make_score, read_scored_model
from pkex.games.accumulator import Accumulator
from pkex.games.blas import single_blas
from pkex.games.blocks import even_step
from pkex.games.engine import run_reduction
from pkex.games.players import Groups, parse_groups
from pkex.games.protocols import Task
from pkex.games.threads import raise_if_cancelled
from pkex.models.sums import with_names
from pkex.readers.reading import warn_user, without_name_warning
from pkex.results.importance import Importance

__all__ = ["permutation_importance"]

_FEWEST = 4  # blocks of rows, for the threads


@default_errstate
def permutation_importance(
    model: Any,
    X: TableLike,
    y: ArrayLike,
    *,
    scoring: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: Groups | None = None,
    max_samples: int | float = 1.0,
    random_state: RandomState = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Importance:
    """Return how much worse a model scores when a feature is shuffled, on average over shuffles.

    The function of that name in scikit-learn shuffles a few times. Here the mean over all shuffles
    is computed, and the standard deviation of one.

    Parameters
    ----------
    model : fitted estimator or KernelExpansion
        Anything that `Explainer` takes.
    X : table of shape (n_rows, n_columns)
        Rows to score the model on, best not those that it was fitted on.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Their targets or classes.
    scoring : str, optional
        A score of scikit-learn that is a mean over rows, or an affine function of one: "r2", the
        default for regression, "neg_mean_squared_error", "neg_mean_absolute_error" and
        "d2_absolute_error_score"; "accuracy", the default for classifiers, "balanced_accuracy";
        "neg_log_loss" and "neg_brier_score" where the log-odds of a binary classifier are a kernel
        expansion.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the score. They stay with the rows; all rows give their feature
        equally often.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that are shuffled together, such as correlated ones.
    max_samples : int or float, default 1.0
        Number of rows, or part of them, to draw and use; all by default.
    random_state : int, Generator, RandomState or None
        Draws the rows where not all are used; nothing else is random.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores. The classes of a model with several
        outputs are those that it predicts itself, in one thread.
    progress : bool, default False
        Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

    Returns
    -------
    Importance
        With scikit-learn's `importances_mean`, the expectation, and `importances_std`, the standard
        deviation of one shuffle. Standard errors are over the rows, with this model; that of
        R2 takes the spread of `y` as given.

    Raises
    ------
    ValueError
        For a score that is not a mean over rows, such as ROC AUC.
    UnsupportedModelError
        Where a score needs probabilities that are not a known function of what pkex explains.

    Warns
    -----
    PerformanceWarning
        Once the first rows show that all of them take longer than a minute.

    See Also
    --------
    pkex.sage : Shapley values of the mean squared error.
    pkex.Importance : The result.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import SVR
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SVR(C=50.0).fit(X[:300], y[:300])
    >>> importance = pkex.permutation_importance(model, X[300:], y[300:])
    >>> importance.feature_names[importance.ranking[0]]
    'bmi'
    >>> float(importance.importances_mean.max().round(2))
    0.23
    >>> float(importance.importances_std.max().round(2))
    0.05
    """
    check_n_jobs(n_jobs)
    refuse_dask(X, "X")
    check_scoring(scoring)
    fitted, name = read_scored_model(model, scoring)
    expansion = with_names(fitted.expansion, column_names(X))
    fitted = fitted._replace(expansion=expansion)
    players, feature_names = parse_groups(groups, expansion.feature_names)
    problem = Problem(fitted, players, feature_names)
    prepared = problem.prepare(X)
    n_rows = len(prepared.parts[0])
    score = make_score(name, fitted, y, sample_weight, n_rows)
    problem.check_predictions(prepared.rows)
    chosen = draw_rows(n_rows, max_samples, random_state)
    if chosen is not None:
        prepared = prepared._replace(
            rows=take_rows(prepared.rows, chosen), parts=[part[chosen] for part in prepared.parts]
        )
        weight = None if sample_weight is None else np.asarray(sample_weight)[chosen]
        score = make_score(name, fitted, np.asarray(y)[chosen], weight, len(chosen))
    predictor = _predictor(problem, prepared, name)
    if isinstance(predictor, _ByModel):
        n_jobs = 1  # as it predicts, scikit-learn sets filters of warnings, which threads share
    shuffles = Shuffles(predictor, score)
    forecast = Forecast(shuffles.work, shuffles.announce)
    with single_blas():  # which would have threads beside those of the engine
        sums = run_reduction(shuffles, n_jobs=n_jobs, progress=progress, forecast=forecast)
    # a score has no outputs, and its decrease no classes
    one: dict[str, Any] = dict.fromkeys(
        ("output_names", "classes", "output_classes", "output_kind")
    )
    return Importance(
        replace(problem.about_rows(prepared.rows), **one),
        sums.mean,
        sums.standard_error,
        sums.mean,
        shuffles.n_rows,
        importances_std=sums.std,
        meaning=f"decrease of {name} when shuffled",
    )


class _Predictor(Protocol):
    """What gives predictions of rows with one feature of other rows; see `Replaced`."""

    @property
    def n_features(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def step(self) -> int: ...

    def predict(self, rows: slice, donors: slice) -> Iterator[Floats]:
        """Give them feature by feature, shape (rows, donors, outputs)."""


class ShuffleSums(NamedTuple):
    """Mean and standard deviation of one shuffle, and the standard error over rows, by feature."""

    mean: Floats
    std: Floats
    standard_error: Floats


class Shuffles:
    """What losses increase by when features are shuffled: a reduction.

    Parameters
    ----------
    predictor : Replaced or a predictor of classes
    score : Score
    """

    def __init__(self, predictor: _Predictor, score: Score) -> None:
        self.predictor, self.score = predictor, score
        self.n_rows, self.n_features = predictor.n_rows, predictor.n_features
        self.unshuffled = np.concatenate(
            [self._unshuffled_losses(rows) for rows in self._blocks(_FEWEST)]
        )
        shape = (self.n_features, self.n_rows)
        self.sums = Accumulator(rows=shape, donors=shape, squares=(self.n_features,))

    @property
    def work(self) -> float:
        """How many pairs of rows there are."""
        return float(self.n_rows * self.n_rows)

    def announce(self, seconds: float) -> None:
        """Warn of work that takes long."""
        pairs = f"all pairs of {self.n_rows} rows for each of {self.n_features} features"
        warn_user(
            f"permutation importance will take about {format_duration(seconds)}: it needs {pairs}. "
            "Fewer rows take less: max_samples=500 draws some.",
            PerformanceWarning,
        )

    def tasks(self) -> Sequence[Task]:
        """Return blocks of rows with blocks of rows that they take features from."""
        every = self._blocks(_FEWEST), self._blocks(1)
        return [Task(rows, donors) for rows in every[0] for donors in every[1]]

    def run(self, task: Task) -> tuple[Task, Floats, Floats, Floats]:
        """Return sums over donors, over rows, and of squares, of what losses increase by."""
        rows, donors = task.rows, task.points
        unshuffled, weights = self.unshuffled[rows, None], self.score.weights[rows, None]
        sums = [
            (more.sum(axis=1), more.sum(axis=0), float(np.vdot(more, more)))
            for more in (
                weights * (self.score.loss(rows, predictions) - unshuffled)
                for predictions in self.predictor.predict(rows, donors)
            )
        ]
        raise_if_cancelled()
        by_row, by_donor, squares = (np.array(part) for part in zip(*sums, strict=True))
        return task, by_row, by_donor, squares

    def add(self, part: tuple[Task, Floats, Floats, Floats]) -> None:
        """Add the sums of a block."""
        task, by_row, by_donor, squares = part
        self.sums["rows"][:, task.rows] += by_row
        self.sums["donors"][:, task.points] += by_donor
        self.sums.add_array("squares", squares)

    def result(self) -> ShuffleSums:
        """Return expectations and standard deviations over all shuffles."""
        count, rows, donors = self.n_rows, self.sums["rows"], self.sums["donors"]
        mean = rows.sum(axis=1) / count
        if count == 1:
            return ShuffleSums(mean, np.zeros_like(mean), np.full_like(mean, np.nan))
        between = (rows * rows).sum(axis=1) + (donors * donors).sum(axis=1)
        within = np.maximum(self.sums["squares"] - between / count + mean * mean, 0.0)
        # a row counts where it is scored, and where its feature is given to others
        influence = rows + donors - 2.0 * mean[:, None]
        error = np.sqrt((influence * influence).sum(axis=1) / (count * (count - 1)))
        return ShuffleSums(mean, np.sqrt(within / (count - 1)), error)

    def _blocks(self, fewest: int) -> list[slice]:
        """Cut the rows, into some blocks at least."""
        step = even_step(self.n_rows, min(self.predictor.step, -(-self.n_rows // fewest)))
        return [slice(i, min(i + step, self.n_rows)) for i in range(0, self.n_rows, step)]

    def _unshuffled_losses(self, rows: slice) -> Floats:
        """Return the losses of rows as they are."""
        predictions = next(iter(self.predictor.predict(rows, rows)))
        unshuffled = np.einsum("iik->ik", predictions)[:, None]
        losses: Floats = self.score.loss(rows, unshuffled)[:, 0]
        return losses


def _predictor(problem: Problem, prepared: PreparedRows, name: str) -> _Predictor:
    """Return what predicts: the expansion, or classes by the model's decision rule."""
    fitted = problem.model
    values = Replaced(fitted.expansion, problem.feature_groups, prepared.parts)
    if name not in ("accuracy", "balanced_accuracy"):
        return values
    classes = fitted.classes
    assert classes is not None
    if values.n_outputs == 1 and classes.output_classes[0][1] is not None:
        positive, negative = (classes.labels.index(str(side)) for side in classes.output_classes[0])
        return _BySign(values, positive, negative)
    preparation = fitted.expansion.preparation
    if classes.predict is None or (preparation is not None and preparation.before is not None):
        raise UnsupportedModelError(
            f"scoring={name!r} needs the class that {fitted.title} predicts without a feature, and "
            "its features are combined before they reach the kernel. Use the last step of the "
            "pipeline, with the rows that it takes."
        )
    return _ByModel(problem, prepared, values.step)


@dataclass(frozen=True, eq=False)
class _BySign:
    """Predicts the numbers of two classes by the sign of a function."""

    values: Replaced
    positive: int
    negative: int

    @property
    def n_features(self) -> int:
        return self.values.n_features

    @property
    def n_rows(self) -> int:
        return self.values.n_rows

    @property
    def step(self) -> int:
        return self.values.step

    def predict(self, rows: slice, donors: slice) -> Iterator[Floats]:
        for predictions in self.values.predict(rows, donors):
            yield np.where(predictions > 0.0, float(self.positive), float(self.negative))


class _ByModel:
    """Asks the model itself for the classes of rows with one feature of other rows."""

    def __init__(self, problem: Problem, prepared: PreparedRows, step: int) -> None:
        fitted: FittedModel = problem.model
        assert fitted.classes is not None
        assert fitted.classes.predict is not None
        self.players, self.labels = problem.feature_groups, fitted.classes.labels
        self.ask = without_name_warning(fitted.classes.predict)
        rows = prepared.rows
        if not hasattr(rows, "iloc"):
            frame = nw.from_native(rows, eager_only=True, pass_through=True)
            rows = frame if isinstance(frame, nw.DataFrame) else np.asarray(_dense(rows))
        self.rows = rows
        self.n_features, self.n_rows, self.step = len(self.players), len(self.rows), min(step, 128)

    def predict(self, rows: slice, donors: slice) -> Iterator[Floats]:
        left, right = np.arange(rows.start, rows.stop), np.arange(donors.start, donors.stop)
        here, there = np.repeat(left, len(right)), np.tile(right, len(left))
        for player in self.players:
            columns = list(player)
            if hasattr(self.rows, "iloc"):
                spliced = self.rows.iloc[here].reset_index(drop=True)
                given = self.rows.iloc[there].reset_index(drop=True)
                for column in columns:
                    spliced.isetitem(column, given.iloc[:, column])
            elif isinstance(self.rows, nw.DataFrame):
                given = self.rows[there]
                new = [given[:, column] for column in columns]
                spliced = self.rows[here].with_columns(*new).to_native()
            else:
                spliced = self.rows[here]
                spliced[:, columns] = self.rows[there][:, columns]
            classes = [self.labels.index(str(label)) for label in self.ask(spliced)]
            yield np.array(classes, dtype=np.float64).reshape(len(left), len(right), 1)


def _dense(rows: Any) -> Any:
    return rows.toarray() if hasattr(rows, "toarray") else rows
