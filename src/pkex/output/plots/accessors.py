"""``result.plot()``, the usual plot of a result, and ``result.plot.kind()``, the others.

Each result has one of these objects as `plot`. They list what can be drawn. A display has the
signature and the docstring of its plot, and is imported when one of these or a drawing is asked
for, so that ``import pkex`` loads no code for plots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkex.output import plots
from pkex.output.plots.base import Plot, Plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.display import Display
    from pkex.output.plots.panel import Output
    from pkex.results.explanation import Explanation

__all__ = [
    "AttributionPlots",
    "ChangePlots",
    "ComparisonPlots",
    "EffectsPlots",
    "ExplanationPlots",
    "GradientsPlots",
    "ImportancePlots",
    "InfluencePlots",
    "InteractionPlots",
    "LeaveOneOutPlots",
    "SensitivityPlots",
]


class ExplanationPlots(Plots):
    """The plots of an `Explanation`: ``explanation.plot()`` and ``explanation.plot.kind()``.

    A call draws the waterfall of a single row, or the beeswarm of many. Where a model has several
    outputs, such as one for each class, every plot but `bar` has a panel for each. Where values add
    up, the last lane has the sum of the remaining features.

    Parameters
    ----------
    result : Explanation
        The result to draw.

    See Also
    --------
    Explanation.importance : The mean absolute values.
    Explanation.report : The same plots in an HTML file.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
    >>> explanation.plot()
    <BeeswarmDisplay in ax_ of figure_>
    >>> explanation[0].plot()
    <WaterfallDisplay in ax_ of figure_>
    >>> explanation.plot.dependence("x1").ax_.get_xlabel()
    'x1'
    """

    _result: Explanation

    beeswarm = Plot(lambda: plots.beeswarm.BeeswarmDisplay)
    waterfall = Plot(lambda: plots.waterfall.WaterfallDisplay)
    dependence = Plot(lambda: plots.dependence.DependenceDisplay)
    heatmap = Plot(lambda: plots.heatmap.HeatmapDisplay)
    decision = Plot(lambda: plots.waterfall.DecisionDisplay)
    _row = Plot(lambda: plots.waterfall.RowDisplay)

    def __call__(
        self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> Display:
        """Draw a `waterfall` of one row, or a `beeswarm` of many.

        A row whose values do not add up, because of their index or as only some features were
        selected, gets a `bar`; so do more outputs than fit into one figure.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; a new figure by default.
        max_display : int, default 12
            Largest number of features to show.
        output : str, int or sequence of these, optional
            Outputs to draw, by name or number; all by default, in a panel each.

        Returns
        -------
        WaterfallDisplay, BeeswarmDisplay, RowDisplay or ImportanceDisplay
            The display, with ``ax_`` and ``figure_``.

        See Also
        --------
        Explanation.report : The same plots in an HTML file.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot()
        <BeeswarmDisplay in ax_ of figure_>
        """
        explanation = self._result
        if len(explanation) == 1:
            adds_up = explanation.efficient and explanation.complete
            draw = self.waterfall if adds_up else self._row
            return draw(ax=ax, max_display=max_display, output=output)
        panels = (*explanation.values.shape, 1)[2] if output is None else 1
        if panels > (plots.panel.MAX_PANELS if ax is None else 1):
            return self.bar(ax, max_display=max_display)
        return self.beeswarm(ax, max_display=max_display, output=output)

    def bar(
        self,
        ax: Axes | None = None,
        *,
        max_display: int = 20,
        cohorts: Any = None,
        output: Output = None,
    ) -> Display:
        """Draw the mean absolute Shapley values of the most important features as bars.

        Whiskers are one standard error over the rows, also where the explanation has posterior
        standard deviations; the bars of several outputs are stacked and have none. A single row
        has its values as bars instead, with their signs and their posterior standard deviations.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; a new figure by default.
        max_display : int, default 20
            Largest number of features to show.
        cohorts : str, int, array or mapping, optional
            Sets of rows to compare, six at most. A column, by name or number, has a cohort for each
            of its categories or for each half of its numbers; an array has true or false or a label
            for each row; a mapping has names with masks or lists of rows.
        output : str, int or sequence of these, optional
            Outputs to draw, by name or number; all by default.

        Returns
        -------
        ImportanceDisplay, CohortsDisplay or RowDisplay
            The display, with ``ax_`` and ``figure_``.

        See Also
        --------
        Explanation.importance : The numbers that are drawn.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).plot.bar().ax_.get_xlabel().splitlines()[0]
        'mean |Shapley value|'
        """
        explanation = self._result
        if cohorts is not None:
            display = plots.cohorts.CohortsDisplay(explanation)
            return display.plot(cohorts, ax, max_display=max_display, output=output)
        if len(explanation) == 1:
            return self._row(ax=ax, max_display=max_display, output=output)
        explanation = plots.panel.select_outputs(explanation, output, "plot.bar")
        return explanation.importance().plot.bar(ax, max_display=max_display)


class AttributionPlots(Plots):
    """The plots of an `Attribution`: ``attribution.plot()`` and ``attribution.plot.kind()``.

    A call draws `bar`.

    Parameters
    ----------
    result : Attribution
        The result to draw.

    See Also
    --------
    Attribution.report : The same plots in an HTML file.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0.0, 1.0, 0.0]
    >>> attribution = pkex.mmd(X, Z)
    >>> attribution.plot(max_display=2).ax_.get_xlabel()
    'contribution to MMD² (the 2 largest of 3)'
    >>> attribution.plot.marginals(columns="x1").ax_.get_xlabel()
    'x1'
    """

    __call__ = bar = Plot(lambda: plots.bars.AttributionDisplay)
    marginals = Plot(lambda: plots.bars.MarginalsDisplay)


class EffectsPlots(Plots):
    """The plots of `Effects`: ``effects.plot()``, which is ``effects.plot.curves()``.

    Parameters
    ----------
    result : Effects
        The result to draw.

    See Also
    --------
    Effects.to_sklearn : The plot of scikit-learn.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> effects = pkex.Explainer(f, [[0.0, 0.0], [1.0, 2.0], [0.0, 1.0]]).effects()
    >>> [ax.get_xlabel() for ax in effects.plot().axes_]
    ['x1', 'x0']
    """

    __call__ = curves = Plot(lambda: plots.effects.EffectsDisplay)


class GradientsPlots(Plots):
    """The plots of `Gradients`: ``gradients.plot()``, which is ``gradients.plot.lanes()``.

    Parameters
    ----------
    result : Gradients
        The result to draw.

    See Also
    --------
    Explanation.plot : Plots of Shapley values.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> pkex.Explainer(f).gradients([[0.0, 1.0]]).plot()
    <GradientsDisplay in ax_ of figure_>
    """

    __call__ = lanes = Plot(lambda: plots.gradients.GradientsDisplay)


class ImportancePlots(Plots):
    """The plots of an `Importance`: ``importance.plot()``, which is ``importance.plot.bar()``.

    Parameters
    ----------
    result : Importance
        The result to draw.

    See Also
    --------
    Explanation.plot : Plots of every value.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> len(importance.plot(max_display=1).ax_.patches)
    1
    """

    __call__ = bar = Plot(lambda: plots.bars.ImportanceDisplay)


class InfluencePlots(Plots):
    """The plots of an `Influence`: ``influence.plot()``, which is ``influence.plot.rows()``.

    Parameters
    ----------
    result : Influence
        The result to draw.

    See Also
    --------
    Influence.to_frame : The same numbers as a table.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> pkex.Explainer(f).influence([[0.0, 1.0]]).plot()
    <InfluenceDisplay in ax_ of figure_>
    """

    __call__ = rows = Plot(lambda: plots.influence.InfluenceDisplay)


class InteractionPlots(Plots):
    """The plots of `Interactions`: ``interactions.plot()`` and ``interactions.plot.kind()``.

    A call draws `heatmap`.

    Parameters
    ----------
    result : Interactions
        The result to draw.

    See Also
    --------
    Interactions.top : The largest interactions as numbers.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> interactions = pkex.Explainer(f).interactions([[0.0, 1.0], [1.0, 0.0]])
    >>> len(interactions.plot().ax_.get_xticklabels())
    2
    >>> interactions.plot.pair("x0", "x1").ax_.get_xlabel()
    'x0'
    """

    __call__ = heatmap = Plot(lambda: plots.interactions.InteractionsDisplay)
    network = Plot(lambda: plots.interactions.NetworkDisplay)
    pair = Plot(lambda: plots.interactions.PairDisplay)


class LeaveOneOutPlots(Plots):
    """The plots of a `LeaveOneOut`: ``left_out.plot()``, which is ``left_out.plot.scatter()``.

    Parameters
    ----------
    result : LeaveOneOut
        The result to draw.

    See Also
    --------
    LeaveOneOut.to_frame : The same numbers as a table.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> model = KernelRidge(kernel="rbf").fit([[0.0], [1.0], [2.0]], [0.0, 9.0, 0.0])
    >>> pkex.Explainer(model).leave_one_out().plot().ax_.get_xlabel()
    'leave-one-out prediction'
    """

    __call__ = scatter = Plot(lambda: plots.leave_one_out.LeaveOneOutDisplay)


class SensitivityPlots(Plots):
    """The plots of a `Sensitivity`: ``sensitivity.plot()`` and ``sensitivity.plot.kind()``.

    A call draws `bar`.

    Parameters
    ----------
    result : Sensitivity
        The result to draw.

    See Also
    --------
    Sensitivity.report : The same plots in an HTML file.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> sensitivity = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}, order=2)
    >>> sensitivity.plot().ax_.get_xlabel()
    'fraction of the variance'
    >>> sensitivity.plot.pairs().ax_.get_title(loc="left")
    'second-order Sobol indices'
    """

    __call__ = bar = Plot(lambda: plots.sensitivity.SensitivityDisplay)
    pairs = Plot(lambda: plots.sensitivity.PairsDisplay)


class ChangePlots(Plots):
    """The plots of a `Change`: ``change.plot()``, which is ``change.plot.boxes()``.

    Of several outputs one has to be chosen with ``output=``; "squared error" are the losses.

    Parameters
    ----------
    result : Change
        The result to draw.

    See Also
    --------
    Change.report : The same plot in an HTML file.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> change = pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0)
    >>> change.plot().ax_.get_title(loc="left")
    'Mean prediction: ...'
    """

    __call__ = boxes = Plot(lambda: plots.change.ChangeDisplay)


class ComparisonPlots(Plots):
    """The plots of a `Comparison`: ``comparison.plot()``, which is ``comparison.plot.bars()``.

    Of several outputs one has to be chosen with ``output=``.

    Parameters
    ----------
    result : Comparison
        The result to draw.

    See Also
    --------
    Comparison.to_frame : The same numbers as a table.

    Examples
    --------
    >>> import pkex
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> model = GaussianProcessRegressor(alpha=0.1).fit([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
    >>> comparison = pkex.compare(model, [1.0, 0.0], [0.0, 0.0])
    >>> [ax.get_xlabel() for ax in comparison.plot().axes_]
    ['Shapley value...', 'Shapley value of the variance']
    """

    __call__ = bars = Plot(lambda: plots.comparison.ComparisonDisplay)
