"""What can be asked of an `Explainer` besides its values: each question is a method here.

A question imports the module that answers it when it is called, and hands it the `Problem`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from pkex._util.floats import default_errstate
from pkex._util.random import RandomState
from pkex._util.types import Floats
from pkex.explain.effect_questions import EffectQuestions

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation
    from pkex.results.importance import Importance
    from pkex.results.influence import Influence
    from pkex.results.interactions import Interactions
    from pkex.results.leave_one_out import LeaveOneOut

__all__ = ["Questions"]


class Questions(EffectQuestions):
    """Questions about a `Problem`, answered on `n_jobs` threads."""

    @default_errstate
    def explain_variance(
        self, X: ArrayLike, *, observation_noise: bool | None = None, progress: bool = False
    ) -> Explanation:
        """Explain why a Gaussian process is uncertain: its variance at the rows of `X`.

        The predictions of what is returned are the variances of the rows; base values are the mean
        variance when nothing is known of a row. A negative value says that the feature makes the
        model more certain. The noise of an observation moves base values and predictions, and no
        value. `Explanation.quantity` says whether it is in them: "predictive variance" has it,
        "latent variance" does not. A fully Bayesian model or an ensemble has the mean of the
        variances of its samples plus the variance of their means.

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
            The Shapley values of the variance, with base values and predictions.

        Raises
        ------
        UnsupportedModelError
            When the model has no posterior, or not one noise for every row where it is counted.

        Warns
        -----
        PerformanceWarning
            Once the first rows show that all of them take longer than a minute.

        See Also
        --------
        pkex.Explanation : Shapley values of rows.
        pkex.sensitivity : Finds which inputs the variance of the output comes from.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> X = np.random.default_rng(0).normal(size=(30, 2))
        >>> model = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, X[:, 0])
        >>> explainer = pkex.Explainer(model)
        >>> explanation = explainer.explain_variance([[0.0, 4.0]])
        >>> std = model.predict([[0.0, 4.0]], return_std=True)[1]
        >>> bool(abs(explanation.predictions - std**2) < 1e-9)
        True
        >>> bool(explanation.values[0, 1] > explanation.values[0, 0])
        True
        >>> noisy = explainer.explain_variance([[0.0, 4.0]], observation_noise=True)
        >>> (noisy.predictions - explanation.predictions).round(9)
        array([0.1])
        """
        from pkex.explain.posterior import explain_variance

        return explain_variance(self.problem, X, observation_noise, self.n_jobs, progress)

    @default_errstate
    def influence(
        self,
        X: ArrayLike,
        *,
        X_train: Any = None,
        y_train: Any = None,
        sample_weight: ArrayLike | None = None,
        top: int | None = None,
    ) -> Influence:
        """Return which training rows stand behind the predictions and Shapley values of rows.

        For kernel ridge regression and Gaussian processes: what leaving out each training row would
        change, exactly, with hyperparameters, scaling, target normalisation, intercept and
        background held. For support vector machines and other models: the term of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            The rows to explain, as in a call.
        X_train : array or data frame of shape (n_train, n_columns), optional
            The table that the model was fitted on, for labels and feature values; checked. Needed
            for feature values where a pipeline prepares rows. Without it rows are numbers.
        y_train : array of shape (n_train,) or (n_train, n_outputs), optional
            Its target; checked where the coefficients say what it was.
        sample_weight : array of shape (n_train,), optional
            The weights that a kernel ridge regression was fitted with, which it does not keep.
            Without them they are taken to be 1; pass `y_train` to have that checked.
        top : int, optional
            How many training rows to keep for each row, those with the largest influence on the
            prediction; by default all, where `Influence.feature_values` fits into 1 GiB.

        Returns
        -------
        Influence
            The influence of training rows on predictions, variances and Shapley values.

        Raises
        ------
        ValueError
            When the training table is not that of the model, or the result would be too large.
        UnsupportedModelError
            When the points of the model are not training rows.

        See Also
        --------
        pkex.Influence : The result.
        pkex.Explainer.leave_one_out : Which training rows the model itself does not predict.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.kernel_ridge import KernelRidge
        >>> X = np.random.default_rng(0).normal(size=(30, 2))
        >>> y = X[:, 0]
        >>> model = KernelRidge(kernel="rbf", alpha=0.1).fit(X, y)
        >>> influence = pkex.Explainer(model).influence([[0.0, 0.5]], y_train=y)
        >>> kept = np.arange(30) != 7
        >>> other = KernelRidge(kernel="rbf", alpha=0.1).fit(X[kept], y[kept])
        >>> change = model.predict([[0.0, 0.5]]) - other.predict([[0.0, 0.5]])
        >>> bool(abs(influence.values[0, 7] - change[0]) < 1e-12)
        True
        """
        from pkex.explain.influence import explain_influence

        given = X_train, y_train, sample_weight
        return explain_influence(self.problem, X, *given, top, self.n_jobs)

    @default_errstate
    def leave_one_out(
        self, *, X_train: Any = None, y_train: Any = None, sample_weight: ArrayLike | None = None
    ) -> LeaveOneOut:
        """Return what the model predicts for each training row when it is fitted without it.

        For Gaussian processes and kernel ridge regression, exactly and from one inverse, with
        hyperparameters, scaling, target normalisation and intercept held.

        Parameters
        ----------
        X_train : array or data frame of shape (n_train, n_columns), optional
            As in `influence`.
        y_train : array of shape (n_train,) or (n_train, n_outputs), optional
            As in `influence`.
        sample_weight : array of shape (n_train,), optional
            As in `influence`.

        Returns
        -------
        LeaveOneOut
            Predictions, residuals, and of a Gaussian process standard deviations and log density.

        Raises
        ------
        UnsupportedModelError
            When the fit without a row has no closed form, as that of a support vector machine.

        See Also
        --------
        pkex.LeaveOneOut : The result.
        pkex.Explainer.influence : Which training rows stand behind a prediction.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.kernel_ridge import KernelRidge
        >>> X = np.arange(5.0).reshape(5, 1)
        >>> model = KernelRidge(kernel="rbf").fit(X, [0.0, 0.0, 9.0, 0.0, 0.0])
        >>> pkex.Explainer(model).leave_one_out().residuals.round(2)
        array([ 0.24, -1.68,  9.  , -1.68,  0.24])
        """
        from pkex.explain.influence import leave_one_out

        return leave_one_out(self.problem, X_train, y_train, sample_weight)

    @default_errstate
    def importance(
        self,
        X: ArrayLike,
        *,
        n_draws: int | None = None,
        random_state: RandomState = None,
        progress: bool = False,
    ) -> Importance:
        """Return the mean absolute value of each feature, with draws from the posterior.

        Draws are there for Gaussian processes. Each is the mean absolute value of a function drawn
        from the posterior, with the exact covariance of a feature's Shapley values between all
        rows of `X`. Features are drawn independently of each other, and so are outputs. Of a fully
        Bayesian model or an ensemble each draw takes one sample.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            As in a call. The work grows with the square of the number of rows, and under
            interventional removal with that of the background, too.
        n_draws : int, optional
            Number of draws. By default 256 where the model has a posterior and the removal is
            interventional or the product of marginals, otherwise 0: the same as
            ``explainer(X).importance()``.
        random_state : int, Generator or RandomState, optional
            For draws that can be repeated.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Importance
            The means, with `draws` and `interval`.

        Raises
        ------
        UnsupportedModelError
            When draws are asked for and the model has no posterior.
        ValueError
            When draws are asked for with neutral or conditional removal or with a hierarchy, or
            when the covariances would not fit into 1 GiB.

        See Also
        --------
        pkex.Importance.interval : Credible intervals.
        pkex.Explanation.importance : Means of values that were computed before, without draws.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> X = np.random.default_rng(0).normal(size=(20, 2))
        >>> model = GaussianProcessRegressor(alpha=0.1, optimizer=None).fit(X, X[:, 0])
        >>> importance = pkex.Explainer(model).importance(X[:5], n_draws=100, random_state=0)
        >>> importance.draws.shape
        (100, 2)
        """
        from pkex.explain.importance import explain_importance

        options = n_draws, random_state, self.n_jobs, progress
        return explain_importance(self.problem, X, *options)

    @default_errstate
    def interactions(
        self,
        X: ArrayLike,
        *,
        index: str | None = None,
        max_order: int = 2,
        subsets: Iterable[Any] | None = None,
        return_std: bool = False,
        progress: bool = False,
    ) -> Interactions:
        """Return exact Shapley interactions of the features in the rows of `X`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            The rows to explain, as in a call.
        index : str, optional
            "k-SII", the default: values of single features, pairs (and triples) that sum to the
            prediction, where pairs are Shapley interactions. "SII", "STII", "FSII", "BII", "FBII",
            "Moebius", "Co-Moebius" and "CHII" are there as well. An explainer of index "BV" has
            "BII" by default.
        max_order : {2, 3}, default 2
            The largest number of features that interact.
        subsets : list of subsets, optional
            Chosen subsets, by names or positions of features, as in ``[("bmi", "s5")]``, of any
            order up to 8; by default all up to `max_order`.
        return_std : bool, default False
            Whether to return posterior standard deviations as well, of a Gaussian process, for main
            effects and pairs or for chosen subsets.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Interactions
            The interactions of every row, by subset of features.

        Raises
        ------
        AdditivityError
            When the values of an index that adds up miss the prediction by more than error
            bound and rounding allow.

        See Also
        --------
        pkex.Interactions : Shapley interactions.
        pkex.Explainer.shap_interaction_values : Interactions in shap's convention.

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
        >>> chosen = explainer.interactions(X[:5], subsets=[("bmi", "s5")])
        >>> bool(abs(chosen["bmi", "s5"] - interactions["bmi", "s5"]).max() < 1e-9)
        True
        """
        from pkex.explain.interactions import explain_interactions

        request = index, max_order, subsets, return_std
        return explain_interactions(self.problem, X, *request, self.n_jobs, progress)

    @default_errstate
    def loss(self, X: ArrayLike, y: ArrayLike, *, progress: bool = False) -> Explanation:
        """Explain the squared error of each row: which features make it smaller or larger.

        The predictions of the result are the squared errors of the rows, ``(y - f(x))^2``. Base
        values are those without any feature: of the mean prediction with the product of marginals,
        the mean over background rows with interventional removal. A negative value says that
        the feature makes the error smaller.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            As in a call.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The targets of the rows. Several outputs have their errors explained one by one.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        Explanation
            The Shapley values of the squared errors, with base values and predictions.

        Raises
        ------
        UnsupportedModelError
            When the model is a classifier; `pkex.permutation_importance` takes those.
        ValueError
            For neutral removal, or where `y` does not fit.

        Warns
        -----
        PerformanceWarning
            Once the first rows show that all of them take longer than a minute.

        See Also
        --------
        pkex.sage : The mean over rows, with its sign turned.
        pkex.permutation_importance : The increase of any mean loss when a feature is shuffled.

        Examples
        --------
        >>> import pkex
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.svm import SVR
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = SVR(C=50.0).fit(X[:100], y[:100])
        >>> losses = pkex.Explainer(model).loss(X[100:105], y[100:105])
        >>> errors = (y[100:105] - model.predict(X[100:105])) ** 2
        >>> bool((abs(losses.predictions - errors) < 1e-6).all())
        True
        """
        from pkex.explain.loss import explain_loss

        return explain_loss(self.problem, X, y, self.n_jobs, progress)

    @default_errstate
    def shap_interaction_values(self, X: ArrayLike, *, progress: bool = False) -> Floats:
        """Return interactions in shap's convention.

        Off the diagonal is half the Shapley interaction index of the pair, on it what is left of
        the feature's Shapley value. So the matrix of a row is symmetric, and its rows sum to the
        Shapley values. Several outputs are the last axis.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            The rows to explain, as in a call.
        progress : bool, default False
            Whether to show a progress bar when it takes longer than two seconds; needs tqdm.

        Returns
        -------
        array of shape (n_rows, n_features, n_features) or (..., n_outputs)
            A symmetric matrix for each row.

        See Also
        --------
        pkex.Explainer.interactions : Interactions with names, of other indices and orders.
        pkex.Explainer.shap_values : The Shapley values only.

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
