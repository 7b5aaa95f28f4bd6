"""Questions about how the prediction changes with a feature: gradients and effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate

if TYPE_CHECKING:
    from pkex.explain.problem import Problem
    from pkex.results.effects import Effects
    from pkex.results.explanation import Explanation
    from pkex.results.gradients import Gradients

__all__ = ["EffectQuestions"]


class EffectQuestions:
    """Questions about a `Problem` along single features, answered on `n_jobs` threads."""

    problem: Problem
    n_jobs: int | None

    @default_errstate
    def gradients(self, X: ArrayLike, *, return_std: bool = False) -> Gradients:
        """Return the derivative of the prediction by every input column at the rows of `X`.

        Steps in front of a model are followed by the chain rule, as long as they treat columns one
        by one and are smooth. Groups do not matter: a derivative belongs to a column.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            The rows, as in a call.
        return_std : bool, default False
            Whether to return posterior standard deviations as well, of a Gaussian process.

        Returns
        -------
        Gradients
            The derivatives, in units of the prediction for each unit of the column.

        Raises
        ------
        UnsupportedModelError
            When a kernel or a step has no derivative, or the model no posterior; with `return_std`
            also when sample paths are not differentiable (Laplacian, Matern with nu up to 1).
        ValueError
            When a row lies at a kink of the kernel (Laplacian).

        See Also
        --------
        pkex.Explainer.integrated_gradients : Values that sum to the prediction.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f).gradients([[0.0, 1.0]]).values.round(4)
        array([[-0.3679, -0.9744]])
        """
        from pkex.explain.gradients import explain_gradients

        return explain_gradients(self.problem, X, return_std, self.n_jobs)

    @default_errstate
    def integrated_gradients(self, X: ArrayLike) -> Explanation:
        """Return integrated gradients: the gradient along the path from baselines to each row.

        The baselines are the background rows, with their weights, and results are averaged over
        them; without a background they are the training points or support vectors. Base values
        are the mean prediction of the baselines. The values of a group are the sum of those of its
        columns. Steps in front of a model must be affine (scalers), or they would bend the path.
        A missing value that a step imputes counts as what is imputed.

        Gaussian and Laplacian kernels have closed forms. Others are integrated by quadrature rules
        that must agree; their part of `error_bound` is an estimate.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            The rows to explain, as in a call.

        Returns
        -------
        Explanation
            The values, of index "IG", which sum to the prediction minus the base value.

        Raises
        ------
        UnsupportedModelError
            When a kernel has no derivative, or a step is not affine.
        AdditivityError
            When values do not sum to the prediction, or a quadrature does not converge.

        See Also
        --------
        pkex.Explainer.gradients : The gradient at the rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f, [[0.0, 0.0]]).integrated_gradients([[1.0, 2.0]])
        >>> explanation.values.round(4)
        array([[-0.3672, -1.4687]])
        """
        from pkex.explain.integrated import explain_integrated_gradients

        return explain_integrated_gradients(self.problem, X, self.n_jobs)

    @default_errstate
    def effects(
        self,
        features: Any = None,
        *,
        kind: str = "average",
        grid_resolution: int = 100,
        percentiles: tuple[float, float] = (0.05, 0.95),
        return_std: bool = False,
        response_method: str | None = None,
        progress: bool = False,
    ) -> Effects:
        """Return how the prediction changes with features, averaged over the background.

        Partial dependence, individual conditional expectation (ICE) and accumulated local effects
        (ALE), exact as scikit-learn's ``method="brute"`` and much faster. Rows and weights are
        those of the background, whatever the removal; without one, training points or support
        vectors.

        Parameters
        ----------
        features : list of names, numbers and pairs of these, optional
            A feature has a curve, a pair such as ``("bmi", "s5")`` a surface, a group of columns a
            value at each of some background rows. By default the six features whose partial
            dependence varies most.
        kind : {"average", "individual", "both", "ale"}, default "average"
            Partial dependence, ICE of every background row, both, or ALE.
        grid_resolution : int, default 100
            Number of places of a feature, at most. A column with fewer values, or of categories,
            has its values as places; one of integers has integers only.
        percentiles : (float, float), default (0.05, 0.95)
            Where in the background the grid begins and ends.
        return_std : bool, default False
            For a Gaussian process: whether to find the posterior standard deviations and
            covariances of the average curves; of a surface standard deviations only.
        response_method : {"predict_proba"}, optional
            For an explainer of log-odds: ICE as probabilities, which are then averaged.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Effects
            The curves of each feature or pair, in order.

        Raises
        ------
        UnsupportedModelError
            When standard deviations are wanted of a model that is not a Gaussian process, or
            probabilities that are not a known function of the outputs.

        See Also
        --------
        pkex.Effects : The result.
        pkex.Explainer.interactions : Interactions of single rows.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.svm import SVR
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> explainer = pkex.Explainer(SVR(C=50.0).fit(X, y), X)
        >>> effects = explainer.effects(["bmi", ("bmi", "s5")], grid_resolution=20)
        >>> effects.average[0].shape, effects.average[1].shape
        ((20,), (20, 20))
        """
        from pkex.explain.effects import explain_effects

        return explain_effects(
            self.problem,
            features,
            kind=kind,
            grid_resolution=grid_resolution,
            percentiles=percentiles,
            return_std=return_std,
            response_method=response_method,
            n_jobs=self.n_jobs,
            progress=progress,
        )
