"""`Explainer`: exact Shapley values of a model that is a kernel expansion, row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, overload

from numpy.typing import ArrayLike

from pkex._util.floats import usual_errors
from pkex._util.types import Floats
from pkex._util.validation import is_dask, refuse_dask
from pkex.explain.dask import LAZY, frame_of_values, lazy_values
from pkex.explain.problem import make_problem
from pkex.explain.values import explain_rows
from pkex.games.players import Groups
from pkex.games.protocols import Measure
from pkex.games.threads import check_n_jobs
from pkex.output import html

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.interactions import Interactions
    from pkex.results.sparse import SparseExplanation

__all__ = ["Explainer"]


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
        self.problem = problem = make_problem(
            model,
            background,
            removal=removal,
            background_weights=background_weights,
            groups=groups,
            outputs=outputs,
            index=index,
            tol=tol,
        )
        self.expansion = problem.expansion
        self.players, self.player_names = problem.players, problem.player_names
        self.measure, self.index, self.tol = problem.measure, problem.measure.index, problem.tol
        self.removal, self.absent = problem.removal, problem.absent
        self.n_jobs = n_jobs

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
        games = self.problem.sparse_games
        base = self.problem.base_value if games is None else games.base_value
        return base.copy() if base.ndim else float(base)

    def shap_values(self, X: Any) -> Any:
        """Return the values alone, shape (n_rows, n_players) or (n_rows, n_players, n_outputs).

        Of a Dask array or data frame they are a Dask array, and nothing is computed until it is
        asked for: rows stay in their chunks, chunks of columns are joined.
        """
        return lazy_values(self.problem, X) if is_dask(X) else self(X).values

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
        return frame_of_values(self.problem, X, self.n_jobs)

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
            model without names takes columns in their order, and a result has those of its own
            frame. A pipeline that begins with a vectorizer takes a list of texts.
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
        return explain_rows(
            self.problem,
            X,
            return_std=return_std,
            return_cov=return_cov,
            n_jobs=self.n_jobs,
            progress=progress,
        )

    @usual_errors
    def variance(
        self, X: ArrayLike, *, observation_noise: bool | None = None, progress: bool = False
    ) -> Explanation:
        """Explain the variance of a Gaussian process: why is it uncertain here?

        The predictions of what is returned are the variances of the rows; base values are the mean
        variance when nothing is known of a row. A negative value says that the feature makes the
        model more certain. The noise of an observation moves base values and predictions, and no
        value. `Explanation.quantity` says whether it is in them: "predictive variance" has it,
        "latent variance" does not.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            As in a call.
        observation_noise : bool or None, default None
            None: as the model's own prediction has it. That of scikit-learn,
            ``predict(return_std=True)``, counts a WhiteKernel in the kernel but not `alpha`; that
            of scikit-optimize, of GPyTorch, ``model(X)``, and of BoTorch, ``posterior(X)``, is the
            variance of the latent function. True: with the noise of an observation, a WhiteKernel
            and `alpha`, or that of the likelihood, in the units of the target. False: without any.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Explanation

        Raises
        ------
        UnsupportedModelError
            When the model has no posterior, or not one noise for every row where it is counted.

        Warns
        -----
        PerformanceWarning
            Once the first rows show that all of them take longer than a minute.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> X = np.random.default_rng(0).normal(size=(30, 2))
        >>> model = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, X[:, 0])
        >>> explainer = pkex.Explainer(model)
        >>> explanation = explainer.variance([[0.0, 4.0]])
        >>> std = model.predict([[0.0, 4.0]], return_std=True)[1]
        >>> bool(abs(explanation.predictions - std**2) < 1e-9)
        True
        >>> bool(explanation.values[0, 1] > explanation.values[0, 0])
        True
        >>> noisy = explainer.variance([[0.0, 4.0]], observation_noise=True)
        >>> (noisy.predictions - explanation.predictions).round(9)
        array([0.1])
        """
        from pkex.explain.posterior import explain_variance

        return explain_variance(self.problem, X, observation_noise, self.n_jobs, progress)

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
        from pkex.explain.interactions import explain_interactions

        request = index, max_order, players
        return explain_interactions(self.problem, X, *request, self.n_jobs, progress)

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
        from pkex.explain.interactions import shap_interaction_values

        return shap_interaction_values(self.problem, X, self.n_jobs, progress)
