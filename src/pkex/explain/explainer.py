"""`Explainer`: exact Shapley values of a model that is a kernel expansion, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate
from pkex._util.types import Floats, SparseTable, TableLike
from pkex._util.validation import check_n_jobs, check_tolerance, column_names, is_dask, refuse_dask
from pkex.explain.background_columns import choose_semivalue, hierarchy_of
from pkex.explain.dask import LAZY, frame_of_values, lazy_values
from pkex.explain.fitted import read_model
from pkex.explain.problem import Problem
from pkex.explain.questions import Questions
from pkex.explain.unsupported import refuse_conditional_hierarchy
from pkex.explain.values import explain_rows
from pkex.games.measures import parse_measure
from pkex.games.players import Groups, parse_groups
from pkex.games.protocols import Measure
from pkex.games.rules import FULL_PRECISION
from pkex.models.conditional import Blocks, check_conditional, make_conditional
from pkex.models.preparation import stays_sparse
from pkex.models.removal import check_removal, make_backgrounds, normalise_weights
from pkex.models.shap_background import from_shap, hierarchy_from_shap
from pkex.models.sums import with_names
from pkex.output import html

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.sparse import SparseExplanation

__all__ = ["Explainer"]


class Explainer(Questions):
    """Exact Shapley values of a kernel machine.

    Parameters
    ----------
    model : fitted estimator or KernelExpansion
        Anything that `pkex.as_expansion` converts: support vector machines, kernel ridge
        regression, Gaussian processes, pipelines and searches around them, or an expansion.
    background : array, data frame or sparse matrix of shape (n_background, n_columns), optional
        Rows that removed features are taken from, in the columns of the input; a frame gives its
        names to a model that was fitted without any. One row gives baseline Shapley values. By
        default the model's training points or support vectors, 500 of them at most.
        Support vectors lie near the boundary, so pass training rows where you have them. Also what
        shap keeps rows in: ``shap.kmeans(X, 10)`` with its weights, and
        ``shap.maskers.Independent(X)`` with the rows that it drew;
        ``shap.maskers.Partition(X)`` also has a `hierarchy`.
    removal : {"product-of-marginals", "interventional", "conditional", "neutral"}, optional
        How features are removed. "product-of-marginals", the default without a background: the
        kernel factor of a removed feature is the mean of its factors over the background, training
        points or support vectors, as if columns were independent. "interventional", the default
        with a background: it has the value of a background row, averaged over the rows, as in shap;
        values start at the mean prediction over the background. "conditional": it is averaged
        given the features that are present, under a Gaussian model of the background, or of the
        training points. "neutral" (PKeX-Shapley): its kernel factor becomes 1.
        `Explanation.background_info` has what was used.
    conditional_model : {"blocks", "chain"}, optional
        The model of dependence of conditional removal. "blocks", the default: Gaussian within
        blocks of dependent features, independent between them; a feature that depends on no other
        has its distribution in the background. "chain": a Gaussian Markov chain in the order of
        the columns, for lags of a series. RBF, Matern and RationalQuadratic kernels are supported.
    blocks : sequence of sequences of columns, optional
        The blocks of dependent features, by name or index, at most 10 in each; features that are
        not named are independent. By default the connected components of the pairs whose Spearman
        correlation is at least 0.3 in size and significant at 5 % (Holm over all pairs).
    background_weights : array of shape (n_background,), optional
        Weights of the background rows, positive; equal by default.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns, by name or index, that are explained as one feature; every other column is a
        feature by itself. A group's value is not the sum of its columns' values.
    outputs : {"classes", "ovo", "log-odds"}, optional
        What to explain of a classifier that decides between pairs of three classes or more, such
        as `SVC`. "classes", the default: for each class the mean of its pair functions, positive
        where it pushes towards the class. "ovo": the function of each pair. "log-odds", the default
        for a calibrated classifier: the logarithm of the ratio of its probabilities, where that
        is an expansion. Also the name of an objective of an optimiser that has several.
    task : number, optional
        The task at which to explain a process of several tasks, such as BoTorch's `MultiTaskGP`, or
        a `ModelListGP` of such processes: rows and background then lack the task column. By default
        the task is a feature.
    index : {"SV", "BV"} or semivalue, default "SV"
        Which values: Shapley's, Banzhaf's, or those of a semivalue such as
        ``pkex.games.BetaShapley(16, 1)``. Only Shapley values add up to prediction minus base
        value.
    hierarchy : nested mappings or sequences of features, linkage matrix, or "correlation", optional
        Groups of features, and groups of groups, such as ``{"blood": ["s1", "s2"]}``: Owen and
        Winter values, which sum to the value of the group at every level (see
        `Explanation.group_values`). Features that are not named stand by themselves. A matrix is as
        `scipy.cluster.hierarchy.linkage` makes it; "correlation" clusters the columns of the
        background by one minus the absolute Spearman correlation. `pkex.games.Ordered` gives
        asymmetric values.
    tol : float, optional
        Accepted relative error per pair of points, for a cheaper rule; None, the default, means
        full double precision.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores.

    See Also
    --------
    pkex.Explanation : Shapley values of rows.
    pkex.Interactions : Shapley interactions.

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
    >>> explanation.background_info
    '100 rows (interventional)'
    >>> float(abs(explanation.predictions - model.predict(X[:3])).max()) < 1e-9
    True
    """

    @default_errstate
    def __init__(
        self,
        model: Any,
        background: TableLike | None = None,
        *,
        removal: str | None = None,
        conditional_model: str | None = None,
        blocks: Blocks | None = None,
        background_weights: ArrayLike | None = None,
        groups: Groups | None = None,
        outputs: str | None = None,
        task: float | None = None,
        index: str | Measure = "SV",
        hierarchy: Any = None,
        tol: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        check_n_jobs(n_jobs)
        refuse_dask(background, "background")
        hierarchy = hierarchy_from_shap(background, hierarchy)
        background, background_weights = from_shap(background, background_weights)
        fitted = read_model(model, outputs, task)
        expansion = with_names(fitted.expansion, column_names(background, "background"))
        features = parse_groups(groups, expansion.feature_names)
        semivalue, tol = parse_measure(index), check_tolerance(tol, FULL_PRECISION)
        removal = check_removal(removal, background)
        kind = check_conditional(removal, conditional_model, blocks)
        weights = normalise_weights(background, background_weights)
        given = (background, weights, background_weights is not None)
        sparse = kind is None and not isinstance(hierarchy, str) and stays_sparse(expansion)
        if kind is None:
            conditional = None
            info, backgrounds = make_backgrounds(expansion, removal, *given, sparse=sparse)
            hierarchy = hierarchy_of(
                hierarchy, expansion, *features, background, backgrounds, sparse
            )
        else:
            refuse_conditional_hierarchy(hierarchy)
            conditional = make_conditional(expansion, *features, given, kind, blocks)
            info, backgrounds = conditional.description, conditional.backgrounds
        self.problem = problem = Problem(
            fitted._replace(expansion=expansion),
            *features,
            removal,
            info,
            backgrounds,
            given if sparse else None,  # which may be large, and is not needed elsewhere
            choose_semivalue(semivalue, hierarchy),
            tol,
            None if expansion.preparation is None else background,
            background is not None,
            conditional,
            hierarchy,
            background_weights is not None,
        )
        _ = problem.sparse_games if sparse else problem.games  # now, rather than in the first call
        self.expansion = expansion
        self.feature_groups, self.feature_names = problem.feature_groups, problem.feature_names
        self.semivalue, self.tol = problem.semivalue, problem.tol
        self.index, self.hierarchy = problem.semivalue.index, problem.hierarchy
        self.removal, self.background_info = problem.removal, problem.background_info
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        return (
            f"Explainer({self.expansion!r}, removal={self.removal!r}, "
            f"features={len(self.feature_groups)}, tol={self.tol})"
        )

    def _repr_html_(self) -> str:
        return html.explainer_html(self)

    @property
    def expected_value(self) -> float | Floats:
        """The base value, as shap's explainers name it; one number, or one per output.

        See Also
        --------
        pkex.Explanation : Shapley values of rows, with their base values.
        pkex.Explainer.shap_values : The Shapley values only.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> round(pkex.Explainer(f).expected_value, 4)
        2.4357
        """
        games = self.problem.sparse_games
        base = self.problem.base_value if games is None else games.base_value
        return base.copy() if base.ndim else float(base)

    def shap_values(self, X: Any) -> Any:
        """Return the Shapley values only, as shap does.

        Of a Dask array or data frame they are a Dask array, and nothing is computed until it is
        asked for: rows stay in their chunks, chunks of columns are joined.

        Parameters
        ----------
        X : array, data frame, sparse matrix, or Dask array or data frame
            Rows of shape (n_rows, n_columns), or documents, as in a call.

        Returns
        -------
        array of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
            The Shapley values; a sparse matrix where a call returns a `SparseExplanation`.

        See Also
        --------
        pkex.Explanation : Shapley values with base values, predictions and error bound.
        pkex.Explainer.explain_frame : The values as a data frame.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> pkex.Explainer(f).shap_values([[0.0, 1.0]]).round(4)
        array([[-0.2161,  0.1   ]])
        """
        return lazy_values(self.problem, X) if is_dask(X) else self(X).values

    def explain_frame(self, X: Any) -> Any:
        """Return the values as a data frame of the kind that came in.

        It has a column for each feature, then ``base_value`` and ``prediction``; where there are
        several outputs all of these for each, named such as ``"setosa: petal width"``. The frame
        of a pandas frame keeps its index. That of a Dask data frame is one of Dask, with the same
        partitions, and nothing is computed until it is asked for.

        Parameters
        ----------
        X : data frame of pandas, polars, pyarrow or dask
            The rows to explain.

        Returns
        -------
        data frame of the same library
            One row for each row of `X`, with values, base value and prediction.

        See Also
        --------
        pkex.Explainer.shap_values : The values as an array.
        pkex.Explanation.to_frame : The values of an explanation as a data frame.

        Examples
        --------
        >>> import pandas, pkex
        >>> points, names = [[0.0, 0.0], [1.0, 1.0]], ["age", "bmi"]
        >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF(), 0.5, names)
        >>> people = pandas.DataFrame({"age": [0.0], "bmi": [1.0]}, index=["Ada"])
        >>> pkex.Explainer(f).explain_frame(people).round(4)
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
        self, X: Any, *, return_std: bool = False, return_cov: bool = False, progress: bool = False
    ) -> Any:
        """Explain the rows of `X`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns), or documents
            The columns of a data frame are found by name where the model was fitted with names;
            their order does not matter, and columns that the model does not know are left out. A
            model without names takes columns in their order, and a result has the names of
            its frame. A pipeline that begins with a vectorizer takes a list of documents.
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
            The latter for sparse rows (or documents) of a model that was fitted on sparse rows, and
            whose kernel is 1 between two zeros. Dense rows of such a model, and sparse rows of any
            other, have values of all columns, as an `Explanation`.

        Raises
        ------
        UnsupportedModelError
            When standard deviations are wanted of a model that is not a Gaussian process.
        AdditivityError
            When values and base value miss the prediction by more than the error bound of the
            rule and rounding allow, or the model predicts something else.
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
