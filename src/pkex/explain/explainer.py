"""`Explainer`: exact Shapley values of a model that is a kernel expansion, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._util.cells import is_number
from pkex._util.floats import usual_errors
from pkex._util.lazy import lazy
from pkex._util.sparse import is_sparse
from pkex._util.types import Floats
from pkex._util.validation import column_names, first_rows, is_dask, refuse_dask, tolerance
from pkex._util.words import class_name
from pkex.explain.dask import LAZY, frame_of, values_of
from pkex.explain.noise import Noise
from pkex.games.measures import parse_measure
from pkex.games.plan import Plan
from pkex.games.players import Groups, parse_groups
from pkex.games.points import Background, WeightedPoints
from pkex.games.protocols import Measure
from pkex.games.rules import FULL_PRECISION
from pkex.games.sums import GameSums
from pkex.games.threads import check_n_jobs
from pkex.kernels.algebra import Kernel
from pkex.models.absent import removal_of, shares_of, stand_ins
from pkex.models.classes import OUTPUTS, Classes, check_choice
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import mixed, prepared_players, taken
from pkex.models.shap_background import from_shap
from pkex.models.sums import named
from pkex.output import html
from pkex.readers import Given, read
from pkex.readers.reading import check_agreement, said_before
from pkex.results.about import About
from pkex.results.explanation import Explanation

if TYPE_CHECKING:
    from pkex.explain.sparse import SparseRows
    from pkex.results.interactions import Interactions
    from pkex.results.sparse import SparseExplanation

__all__ = ["Explainer"]


_CHECKED = 5  # rows of every call whose prediction is compared with the model's own


class SparseTable(Protocol):
    """A sparse matrix or array of scipy."""

    def tocsr(self) -> Any:
        """Return it by rows."""


class Explainer:
    """Exact Shapley values of a kernel machine.

    Parameters
    ----------
    model : fitted estimator or KernelExpansion
        Anything that `pkex.as_expansion` reads: support vector machines, kernel ridge regression,
        Gaussian processes, pipelines and searches around them, or an expansion of your own.
    background : array, data frame or sparse matrix of shape (n_background, n_columns), optional
        Rows that absent features are taken from, in the columns of the input; a frame gives its
        names to a model that was fitted without any. One row gives baseline Shapley values. By
        default the model's own data: its training points or support vectors, 500 of them at most.
        Support vectors lie near the boundary, so pass training rows where you have them. Also what
        shap keeps rows in: ``shap.kmeans(X, 10)`` with its weights, and
        ``shap.maskers.Independent(X)`` with the rows that it drew.
    removal : {"marginal", "interventional", "neutral"}, optional
        What it means that a feature is absent. "marginal", the default without a background: its
        kernel factor is the mean of its factors over the background or the model's own data, as if
        columns were independent. "interventional", the default with a background: it has the value
        of a background row, averaged over the rows, as in shap; values start at the mean
        prediction over the background. "neutral" is the paper's: its kernel factor becomes 1. The
        result says what was done: `Explanation.absent`.
    background_weights : array of shape (n_background,), optional
        Weights of the background rows, positive; equal by default.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns, by name or index, that act as one player; every other column is a player of its
        own. A group's value is that of one merged player, not the sum of its columns' values.
    outputs : {"classes", "pairs", "log-odds"}, optional
        What to explain of a classifier that decides between pairs of three classes or more, such
        as `SVC`. "classes", the default: for each class the mean of its pair functions, positive
        where it speaks for the class. "pairs": the function of each pair. "log-odds", the default
        for a calibrated classifier: the logarithm of the ratio of its probabilities, where that
        is an expansion.
    index : {"SV", "BV"} or measure, default "SV"
        Which values: Shapley's, Banzhaf's, or those of a measure such as
        ``pkex.games.BetaShapley(16, 1)``. Only Shapley values add up to prediction minus base
        value.
    tol : float, optional
        Accepted relative error per pair of points, for a cheaper rule; None, the default, means
        full double precision.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.svm import SVR
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SVR(C=50.0).fit(X, y)
    >>> explanation = pkex.Explainer(model, X[:100])(X[:3])
    >>> explanation.values.shape
    (3, 10)
    >>> explanation.absent
    'as in each of 100 background rows, averaged'
    >>> float(abs(explanation.predictions - model.predict(X[:3])).max()) < 1e-9
    True
    """

    @usual_errors
    def __init__(
        self,
        model: Any,
        background: ArrayLike | None = None,
        *,
        removal: str | None = None,
        background_weights: ArrayLike | None = None,
        groups: Groups | None = None,
        outputs: str | None = None,
        index: str | Measure = "SV",
        tol: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        check_n_jobs(n_jobs)
        refuse_dask(background, "background")
        self._model = class_name(model)
        background, background_weights = from_shap(background, background_weights)
        self._own: Callable[[Any], Any] | None = None
        self._own_tol = 0.0
        self._classes: Classes | None = None
        if isinstance(model, KernelExpansion):
            check_choice(outputs, (), model)
        else:
            check_choice(outputs, OUTPUTS, model)
            reading = read(model, Given(outputs=outputs))
            check_choice(outputs, reading.choices, model)
            model, self._own, self._own_tol = reading.expansion, reading.own, reading.tol
            self._classes = reading.classes
        self.expansion: KernelExpansion = named(model, column_names(background, "background"))
        self.players, self.player_names = parse_groups(groups, self.expansion.feature_names)
        self.measure = parse_measure(index)
        self.index = self.measure.index
        self.tol = tolerance(tol, FULL_PRECISION)
        self.n_jobs = n_jobs
        self.removal = removal_of(removal, background)
        weights = shares_of(background, background_weights)
        self._sparse: SparseRows | None = None
        self._given = (background, weights, background_weights is not None)
        if any(part.sparse_points is not None for part in self.expansion.parts):
            self._sparse = self._of_sparse_points()
        if self._sparse is None:
            _ = self._parts
            del self._given  # which may be large, and is not needed any more

    def _of_sparse_points(self) -> SparseRows | None:
        """Return the games of sparse rows, or None where the model does not stay sparse."""
        from pkex.explain.sparse import SparseRows, stays_sparse

        if not stays_sparse(self.expansion):
            return None
        self.absent, scenarios = stand_ins(self.expansion, self.removal, *self._given, sparse=True)
        games = SparseRows(self.expansion, self.players, self.measure, self.tol, scenarios)
        games.prepare()
        return games

    @lazy
    def _parts(self) -> list[WeightedPoints]:
        """The games of dense rows; of sparse points they are made when such rows come."""
        self.absent, backgrounds = stand_ins(self.expansion, self.removal, *self._given)
        pairs = zip(self.expansion.parts, backgrounds, strict=True)
        parts = [self._weighted(part, rows) for part, rows in pairs]
        for part in parts:
            part.prepare()
        return parts

    def __repr__(self) -> str:
        return (
            f"Explainer({self.expansion!r}, removal={self.removal!r}, "
            f"players={len(self.players)}, tol={self.tol})"
        )

    def _repr_html_(self) -> str:
        return html.explainer_html(self)

    @property
    def expected_value(self) -> float | Floats:
        """The base value, as shap's explainers name it; one number, or one per output."""
        base = self._base
        return base.copy() if base.ndim else float(base)

    def shap_values(self, X: Any) -> Any:
        """Return the values alone, shape (n_rows, n_players) or (n_rows, n_players, n_outputs).

        Of a Dask array or data frame they are a Dask array, and nothing is computed until it is
        asked for: rows stay in their chunks, chunks of columns are joined.
        """
        return values_of(self, X) if is_dask(X) else self(X).values

    def frame(self, X: Any) -> Any:
        """Return the values as a data frame of the kind that came in.

        It has a column for each player, then ``base_value`` and ``prediction``; where there are
        several outputs all of these for each, named such as ``"setosa: petal width"``. The frame
        of a pandas frame keeps its index. That of a Dask data frame is one of Dask, with the same
        partitions, and nothing is computed until it is asked for.

        Parameters
        ----------
        X : data frame of pandas, polars, pyarrow or dask

        Examples
        --------
        >>> import pandas, pkex
        >>> points, names = [[0.0, 0.0], [1.0, 1.0]], ["age", "bmi"]
        >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF(), 0.5, names)
        >>> people = pandas.DataFrame({"age": [0.0], "bmi": [1.0]}, index=["Ada"])
        >>> pkex.Explainer(f).frame(people).round(4)
                age  bmi  base_value  prediction
        Ada -0.2161  0.1      2.4357      2.3196
        """
        return frame_of(self, X)

    @overload
    def __call__(
        self,
        X: ArrayLike,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        progress: bool = False,
    ) -> Explanation: ...
    @overload
    def __call__(
        self, X: SparseTable, *, progress: bool = False
    ) -> Explanation | SparseExplanation: ...
    @usual_errors
    def __call__(
        self,
        X: Any,
        *,
        return_std: bool = False,
        return_cov: bool = False,
        progress: bool = False,
    ) -> Any:
        """Explain the rows of `X`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns), or texts
            The columns of a data frame are found by name where the model was fitted with names;
            their order does not matter, and columns that the model does not know are left out. A
            pipeline that begins with a vectorizer takes a list of texts.
        return_std : bool, default False
            For a Gaussian process: whether to find the posterior standard deviation of every value,
            `Explanation.std`. It is that of the latent function, without the noise of observations.
        return_cov : bool, default False
            The same for the covariances of the values of a row, `Explanation.cov`.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Explanation or SparseExplanation
            The latter for sparse rows (or texts) of a model that was fitted on sparse rows, whose
            kernel is 1 between two zeros. Dense rows of such a model, and sparse rows of any other,
            have values of all columns, as an `Explanation`.

        Raises
        ------
        UnsupportedModelError
            When standard deviations are wanted of a model that is no Gaussian process.
        AdditivityError
            When values and base value miss the prediction by more than the certificate of the
            rule and rounding allow, or the model's own prediction is another.
        """
        refuse_dask(X, "X", LAZY)
        expansion = self.expansion
        unsure = return_std or return_cov
        if unsure:
            from pkex.explain.posterior import check_posteriors, spread_of_values

            asked = "return_std" if return_std else "return_cov"
            check_posteriors(expansion, self.removal, asked)
        rows: Any = taken(expansion, X)
        table = mixed(expansion, rows)
        if self._sparse is not None and is_sparse(table) and not unsure:
            return self._sparse.explain(self, rows, table, progress)
        prepared = [part.prepare(table) for part in expansion.parts]
        jobs, parts = self.n_jobs, list(zip(self._parts, prepared, strict=True))
        every = [part.explain(x, n_jobs=jobs, progress=progress) for part, x in parts]
        sums = every[0] if len(every) == 1 else reduce(add, every)
        residual = sums.check()
        self._warn_of_noise(sums, residual, prepared)
        base = self._base
        values = sums.values if base.ndim else sums.values[:, :, 0]
        base_values = np.empty((len(values), *base.shape))
        base_values[...] = base
        # of what was computed, of what its sum misses, and of the offset in base and prediction
        error = self._parts[0].error(every[0], prepared[0])
        for part, one, x in zip(self._parts[1:], every[1:], prepared[1:], strict=True):
            error += part.error(one, x)
        error += self._of_offset
        if sums.efficient:
            predictions = base_values + sums.checked[0].reshape(base_values.shape)
            error += np.abs(sums.residual)
        else:
            predictions = sums.totals.reshape(base_values.shape) + self._offset
        spread = {}
        if unsure:
            games = list(zip(self._parts, expansion.parts, prepared, strict=True))
            options: dict[str, Any] = {"n_jobs": jobs, "progress": progress}
            found = spread_of_values(games, full=return_cov, **options)
            spread = found.fields(one_output=base.ndim == 0)
        explanation = Explanation(
            self.about,
            values,
            base_values,
            self._shown(table, prepared),
            sums.rules,
            residual,
            predictions,
            error.reshape(base_values.shape),
            predicted=self._predicted_later(rows, prepared),
            row_labels=rows.index if hasattr(rows, "iloc") else None,
            **spread,
        )
        self._check_own(rows, sums.totals)
        return explanation

    @usual_errors
    def variance(self, X: ArrayLike, *, progress: bool = False) -> Explanation:
        """Explain the predictive variance of a Gaussian process: why is it unsure here?

        The predictions of what is returned are the squares of what ``predict(return_std=True)`` has
        for the rows, the noise of an observation included; base values are the mean variance when
        nothing is known of a row. A negative value says that the column makes the model surer.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            As in a call.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> X = np.random.default_rng(0).normal(size=(30, 2))
        >>> model = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, X[:, 0])
        >>> explanation = pkex.Explainer(model).variance([[0.0, 4.0]])
        >>> std = model.predict([[0.0, 4.0]], return_std=True)[1]
        >>> bool(abs(explanation.predictions - std**2) < 1e-9)
        True
        >>> bool(explanation.values[0, 1] > explanation.values[0, 0])
        True
        """
        from pkex.explain.posterior import check_posteriors, variance_of

        expansion = self.expansion
        check_posteriors(expansion, self.removal, "variance")
        rows: Any = taken(expansion, X)
        table = mixed(expansion, rows)
        prepared = [part.prepare(table) for part in expansion.parts]
        games = list(zip(self._parts, expansion.parts, prepared, strict=True))
        found = variance_of(games, n_jobs=self.n_jobs, progress=progress)
        about = replace(self.about, quantity="predictive variance")
        return Explanation(
            about,
            data=self._shown(table, prepared),
            row_labels=rows.index if hasattr(rows, "iloc") else None,
            **found.fields(one_output=self._base.ndim == 0),
        )

    @usual_errors
    def interactions(
        self,
        X: ArrayLike,
        *,
        index: str | None = None,
        max_order: int = 2,
        players: Iterable[Any] | None = None,
        progress: bool = False,
    ) -> Interactions:
        """Return which features act together in the rows of `X`, exactly.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
        index : str, optional
            "k-SII", the default: values of single features, pairs (and triples) that sum to the
            prediction, where pairs are Shapley interactions. "SII", "STII", "FSII", "BII", "FBII",
            "Moebius", "Co-Moebius" and "CHII" are there as well. An explainer of index "BV" has
            "BII" by default.
        max_order : {2, 3}, default 2
            Up to how many features act together.
        players : list of subsets, optional
            Chosen subsets, by names or numbers of players, as in ``[("bmi", "s5")]``, of any order
            up to 8; by default all up to `max_order`.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Interactions

        Raises
        ------
        AdditivityError
            When the values of an index that adds up miss the prediction by more than certificate
            and rounding allow.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.svm import SVR
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> explainer = pkex.Explainer(SVR(C=50.0).fit(X, y), X[:50])
        >>> interactions = explainer.interactions(X[:5])
        >>> interactions.pairs.shape
        (5, 10, 10)
        >>> chosen = explainer.interactions(X[:5], players=[("bmi", "s5")])
        >>> bool(abs(chosen["bmi", "s5"] - interactions["bmi", "s5"]).max() < 1e-9)
        True
        """
        from pkex.explain.interactions import of_model

        return of_model(self, X, index, max_order, players, progress)

    @usual_errors
    def shap_interaction_values(self, X: ArrayLike, *, progress: bool = False) -> Floats:
        """Return interactions in shap's convention, shape (n_rows, n_players, n_players).

        Several outputs stand last. Off the diagonal is half the Shapley interaction index of the
        pair, on it what is left of the player's Shapley value, so that the matrix of a row is
        symmetric and its rows sum to the Shapley values.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
        >>> explainer = pkex.Explainer(f)
        >>> values = explainer.shap_interaction_values([[0.0, 1.0]])
        >>> values.round(4)
        array([[[-0.158 , -0.0581],
                [-0.0581,  0.158 ]]])
        >>> bool((abs(values.sum(axis=2) - explainer.shap_values([[0.0, 1.0]])) < 1e-12).all())
        True
        """
        from pkex.explain.interactions import shap_values

        return shap_values(self, X, progress)

    def _check_own(self, rows: Any, totals: Floats) -> None:
        """Compare some predictions with the model's own, where it prepares columns.

        What the preparation does could not be checked without rows of the user's own.
        """
        if self._own is not None and self.expansion.preparation is not None:
            shape = (min(_CHECKED, len(totals)), *self._offset.shape)
            ours = totals[:_CHECKED].reshape(shape) + self._offset  # without the rule's error
            own = said_before(self._own)(first_rows(rows, _CHECKED))
            check_agreement(self.expansion, ours, own, self._own_tol)

    def _warn_of_noise(self, sums: GameSums, residual: float, prepared: list[Floats]) -> None:
        """Warn when rounding is more than a millionth of what the predictions vary by."""
        shows = self.tol is None and sums.efficient
        missed = sums.residual if shows else None
        self._noise.warn(sums.magnitudes, residual if shows else None, missed, prepared)

    @lazy
    def _noise(self) -> Noise:
        backgrounds = [part.background for part in self._parts]
        pairs = zip(backgrounds, self.expansion.parts, strict=True)
        return Noise(self.expansion, [part.points if b is None else b.rows for b, part in pairs])

    def _shown(self, table: Any, prepared: list[Floats]) -> NDArray[Any]:
        """Return the rows as a result shows them."""
        return prepared[0] if self.expansion.preparation is None else _data(table)

    @lazy
    def _of_offset(self) -> Floats:
        """What adding offsets to base and prediction costs, shape (n_outputs,)."""
        sizes = [np.abs(part.offset).reshape(-1) for part in self.expansion.parts]
        cost: Floats = 12.0 * 2.0**-53 * np.sum(sizes, axis=0)
        return cost

    @lazy
    def about(self) -> About:
        """What all results of this explainer share."""
        classes = self._classes
        return About(
            self.player_names,
            self.expansion.feature_names,
            self.players,
            self.expansion.output_names,
            self.removal,
            self.absent,
            self._kernels,
            self.index,
            self.measure.efficient,
            classes=None if classes is None else classes.labels,
            sides=None if classes is None else classes.sides,
            number=None if classes is None else classes.number,
        )

    def _predicted_later(self, rows: Any, prepared: list[Floats]) -> Any:
        """Return a function that asks a classifier for the classes of the rows."""
        if self._classes is None or self._classes.predict is None:
            return None
        # the rows that were prepared are a copy, which nobody changes
        own = prepared[0] if self.expansion.preparation is None else _copied(rows)
        return partial(usual_errors(said_before(self._classes.predict)), own)

    @lazy
    def _kernels(self) -> tuple[Kernel, ...]:
        """The different kernels of the parts."""
        found: list[Kernel] = []
        for part in self.expansion.parts:
            found += [part.kernel] if part.kernel not in found else []
        return tuple(found)

    @lazy
    def _base(self) -> Floats:
        """The value of the empty coalition, shape () or (n_outputs,)."""
        games: Any = self._parts if self._sparse is None else self._sparse.parts
        parts = zip(games, self.expansion.parts, strict=True)
        bases = [one.bases.reshape(part.offset.shape) + part.offset for one, part in parts]
        return np.asarray(np.sum(bases, axis=0))

    @lazy
    def _offset(self) -> Floats:
        """The offsets of all parts, shape () or (n_outputs,)."""
        return np.asarray(np.sum([part.offset for part in self.expansion.parts], axis=0))

    def _weighted(self, part: KernelExpansion, background: Background | None) -> WeightedPoints:
        """Return the games of a part: a player has all columns made from its input columns."""
        terms, powers = part.kernel.normal_form(part.shape[1], self.tol)
        plan = Plan.of(
            terms,
            prepared_players(part, self.players),
            self.tol,
            measure=self.measure,
            general=background is not None,
            powers=powers,
        )
        alpha = part.alpha
        return WeightedPoints(plan, part.points, alpha, background)


def _data(table: Any) -> NDArray[Any]:
    """Return the rows as the user knows them: numbers, or objects where there is text."""
    array = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    if array.dtype.kind in "SU":  # NumPy turns numbers beside text into text
        array = np.asarray(table, dtype=object)
    if array.dtype == object and all(map(is_number, array.flat)):
        return array.astype(np.float64)
    return array.astype(np.float64 if array.dtype.kind in "buif" else object)


def _copied(rows: Any) -> Any:
    """Return rows that stay what they are; those without a `copy` cannot be changed."""
    return rows.copy() if hasattr(rows, "copy") else rows
