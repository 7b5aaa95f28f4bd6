"""``result.plot()``, the usual picture of a result, and ``result.plot.kind()``, the others.

Each result has one of these objects as `plot`. They say what can be drawn and leave the drawing to
the displays of `pkex.output.plots` and `pkex.output.shap_plots`, which are imported when something
is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.explanation import Explanation
    from pkex.importance import Importance
    from pkex.indices import Sensitivity
    from pkex.output.plots import AttributionDisplay, ImportanceDisplay, MarginalsDisplay
    from pkex.output.shap_plots import ShapDisplay
    from pkex.output.sensitivity_display import PairsDisplay, SensitivityDisplay
    from pkex.statistics.attribution import Attribution

__all__ = ["AttributionPlots", "ExplanationPlots", "ImportancePlots", "SensitivityPlots"]


class ExplanationPlots:
    """The plots of an `Explanation`: ``explanation.plot()`` and ``explanation.plot.kind()``.

    A call draws `bar`. The others are shap's and need the extra ``shap``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
    >>> explanation.plot().ax_.get_xlabel()
    'mean |value|'
    >>> explanation.plot.scatter("x1").ax_.get_xlabel()
    'x1'
    """

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation

    def __repr__(self) -> str:
        return "<plots of an Explanation: bar, beeswarm, scatter, waterfall>"

    def __call__(self, ax: Axes | None = None, *, max_display: int = 20) -> ImportanceDisplay:
        """Draw `bar`."""
        return self.bar(ax, max_display=max_display)

    def bar(self, ax: Axes | None = None, *, max_display: int = 20) -> ImportanceDisplay:
        """Draw the mean absolute values of the most important features as bars.

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
        return self._explanation.importance().plot.bar(ax, max_display=max_display)

    def beeswarm(
        self, ax: Axes | None = None, *, max_display: int = 12, output: str | int | None = None
    ) -> ShapDisplay:
        """Draw every value as a point, in a line for each feature, coloured by its raw value.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, in a figure of pyplot; a new one by default.
        max_display : int, default 12
            How many lines to show at most; the last one has the sum of all other features.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        ShapDisplay
        """
        return self._of(output, "plot.beeswarm").beeswarm(ax, max_display=max_display)

    def waterfall(
        self,
        row: int = 0,
        ax: Axes | None = None,
        *,
        max_display: int = 12,
        output: str | int | None = None,
    ) -> ShapDisplay:
        """Draw how the values of one row lead from the base value to the prediction.

        Parameters
        ----------
        row : int, default 0
        ax : matplotlib Axes, optional
            Where to draw, in a figure of pyplot; a new one by default.
        max_display : int, default 12
            How many lines to show at most; the last one has the sum of all other features.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        ShapDisplay
        """
        shown = self._of(output, "plot.waterfall")
        return shown.waterfall(row, ax, max_display=max_display)

    def scatter(
        self,
        column: str | int,
        ax: Axes | None = None,
        *,
        colour: str | int | None = None,
        output: str | int | None = None,
    ) -> ShapDisplay:
        """Draw the values of one feature against its raw values.

        Parameters
        ----------
        column : str or int
            The feature, of one column.
        ax : matplotlib Axes, optional
            Where to draw, in a figure of pyplot; a new one by default.
        colour : str or int, optional
            Another feature, of one column, whose raw values colour the points.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        ShapDisplay
        """
        return self._of(output, "plot.scatter").scatter(column, ax, colour=colour)

    def _of(self, output: str | int | None, caller: str) -> ShapDisplay:
        from pkex.output.shap_plots import ShapDisplay

        return ShapDisplay(self._explanation._one_output(output, caller))


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
    'share of MMD²'
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
        from pkex.output.plots import AttributionDisplay

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
        from pkex.output.plots import MarginalsDisplay

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
        from pkex.output.plots import ImportanceDisplay

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
        from pkex.output.sensitivity_display import SensitivityDisplay

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
        from pkex.output.sensitivity_display import PairsDisplay

        return PairsDisplay(self._sensitivity, output).plot(ax, max_display=max_display)
