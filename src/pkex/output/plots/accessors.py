"""``result.plot()``, the usual picture of a result, and ``result.plot.kind()``, the others.

Each result has one of these objects as `plot`. They say what can be drawn and leave the drawing to
the displays of `pkex.output.plots`, which are imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.bars import (
        AttributionDisplay,
        Display,
        ImportanceDisplay,
        MarginalsDisplay,
    )
    from pkex.output.plots.beeswarm import BeeswarmDisplay
    from pkex.output.plots.decision import DecisionDisplay
    from pkex.output.plots.dependence import DependenceDisplay
    from pkex.output.plots.heatmap import HeatmapDisplay
    from pkex.output.plots.sensitivity import PairsDisplay, SensitivityDisplay
    from pkex.output.plots.waterfall import RowDisplay, WaterfallDisplay
    from pkex.results.attribution import Attribution
    from pkex.results.explanation import Explanation
    from pkex.results.importance import Importance
    from pkex.results.sensitivity import Sensitivity

Output = str | int | Sequence[str | int] | None

__all__ = [
    "MAX_PANELS",
    "AttributionPlots",
    "ExplanationPlots",
    "ImportancePlots",
    "Output",
    "SensitivityPlots",
]

MAX_PANELS = 6  # outputs that fit into one figure


class ExplanationPlots:
    """The plots of an `Explanation`: ``explanation.plot()`` and ``explanation.plot.kind()``.

    A call draws what fits: the waterfall of a single row, the beeswarm of many. Where a model has
    several outputs, such as one for each class, every plot but `bar` has a panel for each.

    Every plot takes:

    - ``ax``, matplotlib axes to draw in; a new figure by default.
    - ``max_display``, how many features to show at most. Where values add up, the last line has the
      sum of all others. `dependence` is of one feature and has no such parameter.
    - ``output``, which outputs, by name or number, or a sequence of them; all by default.

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

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation

    def __repr__(self) -> str:
        kinds = "bar, beeswarm, decision, dependence, heatmap, waterfall"
        return f"<plots of an Explanation: {kinds}>"

    def __call__(
        self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> Display:
        """Draw what fits: `waterfall` for one row, `beeswarm` for many.

        A row whose values do not add up, because of their index or as only some features were
        selected, gets a `bar`; so do more outputs than fit into one figure.
        """
        found = self._explanation
        if len(found) == 1:
            adds_up = found.efficient and found.complete
            draw = self.waterfall if adds_up else self._row
            return draw(ax=ax, max_display=max_display, output=output)
        several = found.values.ndim == 3 and output is None
        if several and (ax is not None or found.values.shape[2] > MAX_PANELS):
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
        """Draw the mean absolute values of the most important features as bars.

        Whiskers are one standard error over the rows, also where the explanation has posterior
        standard deviations; the bars of several outputs are stacked and have none. A single row
        has its values as bars instead, with their signs and their posterior standard deviations.

        Parameters
        ----------
        ax, max_display, output
            As for every plot; see `ExplanationPlots`.
        cohorts : str, int, array or mapping, optional
            Parts of the rows to compare: a column, by name or number, with a cohort for each of its
            categories or for each half of its numbers; an array with a true or false or a label
            for each row; or a mapping of names to masks or lists of rows. Six at most.

        Returns
        -------
        ImportanceDisplay, CohortsDisplay or RowDisplay
        """
        found = self._explanation
        if cohorts is not None:
            from pkex.output.plots.cohorts import CohortsDisplay

            return CohortsDisplay(found, cohorts).plot(ax, max_display=max_display, output=output)
        if len(found) == 1:
            return self._row(ax=ax, max_display=max_display, output=output)
        if output is not None:
            found = (
                found[:, :, output]
                if found.values.ndim == 3
                else found.select_output(cast("str | int", output), "plot.bar")
            )
        return found.importance().plot.bar(ax, max_display=max_display)

    def _row(self, *, ax: Axes | None, max_display: int, output: Output) -> RowDisplay:
        from pkex.output.plots.waterfall import RowDisplay

        return RowDisplay(self._explanation).plot(ax, max_display=max_display, output=output)

    def beeswarm(
        self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> BeeswarmDisplay:
        """Draw every value as a point, in a line for each feature, coloured by its raw value.

        Posterior standard deviations are lines of up to ten rows; of more, medians are written.
        For the parameters see `ExplanationPlots`.
        """
        from pkex.output.plots.beeswarm import BeeswarmDisplay

        return BeeswarmDisplay(self._explanation).plot(ax, max_display=max_display, output=output)

    def waterfall(
        self,
        row: int = 0,
        ax: Axes | None = None,
        *,
        max_display: int = 12,
        output: Output = None,
    ) -> WaterfallDisplay:
        """Draw how the values of one row lead from the base value to the prediction.

        Whiskers are posterior standard deviations, where the explanation has them; the sum of other
        features has one where the explanation was made with ``return_cov=True``. Of a classifier
        with an output for each class, that of the predicted class is drawn by default.

        Parameters
        ----------
        row : int, default 0
        ax, max_display, output
            As for every plot; see `ExplanationPlots`.
        """
        from pkex.output.plots.waterfall import WaterfallDisplay

        shown = WaterfallDisplay(self._explanation, row)
        return shown.plot(ax, max_display=max_display, output=output)

    def dependence(
        self,
        feature: str | int,
        ax: Axes | None = None,
        *,
        color: str | int | None = None,
        output: Output = None,
    ) -> DependenceDisplay:
        """Draw the values of one feature against its raw values, with the rows' histogram below.

        Lines are posterior standard deviations, where the explanation has them.

        Parameters
        ----------
        feature : str or int
            The feature, of one column.
        ax, output
            As for every plot; see `ExplanationPlots`.
        color : str or int, optional
            Another feature, of one column, whose raw values colour the points: numbers from low to
            high, categories with a colour each.
        """
        from pkex.output.plots.dependence import DependenceDisplay

        return DependenceDisplay(self._explanation, feature, color).plot(ax, output=output)

    def heatmap(
        self,
        ax: Axes | None = None,
        *,
        max_display: int = 12,
        order: str = "prediction",
        output: Output = None,
    ) -> HeatmapDisplay:
        """Draw all values as colours, features by rows, with predictions above.

        Parameters
        ----------
        ax, max_display, output
            As for every plot; see `ExplanationPlots`.
        order : {"prediction", "similarity", "data"}, default "prediction"
            How rows are sorted: by what is predicted, so that rows with similar values are
            neighbours, or as they are.
        """
        from pkex.output.plots.heatmap import HeatmapDisplay

        shown = HeatmapDisplay(self._explanation, order)
        return shown.plot(ax, max_display=max_display, output=output)

    def decision(
        self, ax: Axes | None = None, *, max_display: int = 12, output: Output = None
    ) -> DecisionDisplay:
        """Draw every row as a line from the base value to its prediction, feature by feature.

        For the parameters see `ExplanationPlots`.
        """
        from pkex.output.plots.decision import DecisionDisplay

        return DecisionDisplay(self._explanation).plot(ax, max_display=max_display, output=output)


class AttributionPlots:
    """The plots of an `Attribution`: ``attribution.plot()`` and ``attribution.plot.kind()``.

    A call draws `bar`.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0.0, 1.0, 0.0]
    >>> attribution = pkex.mmd(X, Z)
    >>> attribution.plot(max_display=2).ax_.get_xlabel()
    'share of MMD² (the 2 largest of 3)'
    >>> attribution.plot.marginals(columns="x1").ax_.get_xlabel()
    'x1'
    """

    def __init__(self, attribution: Attribution) -> None:
        self._attribution = attribution

    def __repr__(self) -> str:
        return "<plots of an Attribution: bar, marginals>"

    def __call__(
        self, ax: Axes | None = None, *, max_display: int = 20, marginals: int = 3
    ) -> AttributionDisplay:
        """Draw `bar`."""
        return self.bar(ax, max_display=max_display, marginals=marginals)

    def bar(
        self, ax: Axes | None = None, *, max_display: int = 20, marginals: int = 3
    ) -> AttributionDisplay:
        """Draw the values as bars over their null bands, with the marginals of the top columns.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw the bars alone; by default a new figure has the marginals beside them.
        max_display : int, default 20
            How many players to show at most.
        marginals : int, default 3
            Of how many columns of the players with the largest values to show the distribution;
            none for an attribution that was loaded, as its file does not hold the samples.

        Returns
        -------
        AttributionDisplay
            With ``ax_``, ``figure_`` and ``marginal_axes_``.
        """
        from pkex.output.plots.bars import AttributionDisplay

        shown = AttributionDisplay(self._attribution)
        return shown.plot(ax, max_display=max_display, marginals=marginals)

    def marginals(
        self, ax: Axes | None = None, *, columns: int | str | Sequence[str | int] = 6
    ) -> MarginalsDisplay:
        """Draw columns in both samples, or against the target, as the report does.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw a single column; a new figure by default.
        columns : int, str or sequence of str or int, default 6
            How many columns, of the players with the largest values; or which, by name, or in a
            sequence by name or number.

        Returns
        -------
        MarginalsDisplay
            With ``axes_``, ``ax_`` and ``figure_``.
        """
        from pkex.output.plots.bars import MarginalsDisplay

        return MarginalsDisplay(self._attribution).plot(ax, columns=columns)


class ImportancePlots:
    """The plots of an `Importance`: ``importance.plot()``, which is ``importance.plot.bar()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> len(importance.plot(max_display=1).ax_.patches)
    1
    """

    def __init__(self, importance: Importance) -> None:
        self._importance = importance

    def __repr__(self) -> str:
        return "<plots of an Importance: bar>"

    def __call__(self, ax: Axes | None = None, *, max_display: int = 20) -> ImportanceDisplay:
        """Draw `bar`."""
        return self.bar(ax, max_display=max_display)

    def bar(self, ax: Axes | None = None, *, max_display: int = 20) -> ImportanceDisplay:
        """Draw the most important features as bars with their standard errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        max_display : int, default 20
            How many features to show at most.

        Returns
        -------
        ImportanceDisplay
        """
        from pkex.output.plots.bars import ImportanceDisplay

        return ImportanceDisplay(self._importance).plot(ax, max_display=max_display)


class SensitivityPlots:
    """The plots of a `Sensitivity`: ``sensitivity.plot()`` and ``sensitivity.plot.kind()``.

    A call draws `bar`.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> found = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}, order=2)
    >>> found.plot().ax_.get_xlabel()
    'share of the variance'
    >>> found.plot.pairs().ax_.get_title(loc="left")
    'parts of two inputs'
    """

    def __init__(self, sensitivity: Sensitivity) -> None:
        self._sensitivity = sensitivity

    def __repr__(self) -> str:
        return "<plots of a Sensitivity: bar, pairs>"

    def __call__(
        self, ax: Axes | None = None, *, max_display: int = 20, output: str | int | None = None
    ) -> SensitivityDisplay:
        """Draw `bar`."""
        return self.bar(ax, max_display=max_display, output=output)

    def bar(
        self, ax: Axes | None = None, *, max_display: int = 20, output: str | int | None = None
    ) -> SensitivityDisplay:
        """Draw the indices: first order as bars, up to the total order pale, Shapley as marks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        max_display : int, default 20
            How many inputs to show at most.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        SensitivityDisplay
        """
        from pkex.output.plots.sensitivity import SensitivityDisplay

        shown = SensitivityDisplay(self._sensitivity, output)
        return shown.plot(ax, max_display=max_display)

    def pairs(
        self, ax: Axes | None = None, *, max_display: int = 12, output: str | int | None = None
    ) -> PairsDisplay:
        """Draw the parts of pairs of inputs as a table of colours; needs ``order=2``.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        max_display : int, default 12
            How many inputs to show at most.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        PairsDisplay
        """
        from pkex.output.plots.sensitivity import PairsDisplay

        return PairsDisplay(self._sensitivity, output).plot(ax, max_display=max_display)
