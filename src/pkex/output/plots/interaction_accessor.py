"""``interactions.plot()`` and ``interactions.plot.kind()``; see `pkex.output.plots.accessors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.output.plots.interactions import InteractionsDisplay, NetworkDisplay
    from pkex.output.plots.pair import PairDisplay
    from pkex.results.interactions import Interactions

__all__ = ["InteractionPlots"]


class InteractionPlots:
    """The plots of `Interactions`: ``interactions.plot()`` and ``interactions.plot.kind()``.

    A call draws `heatmap`.

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

    def __init__(self, interactions: Interactions) -> None:
        self._interactions = interactions

    def __repr__(self) -> str:
        return "<plots of Interactions: heatmap, network, pair>"

    def __call__(
        self,
        ax: Axes | None = None,
        *,
        row: int | None = None,
        max_display: int = 12,
        output: str | int | None = None,
    ) -> InteractionsDisplay:
        """Draw `heatmap`."""
        return self.heatmap(ax, row=row, max_display=max_display, output=output)

    def heatmap(
        self,
        ax: Axes | None = None,
        *,
        row: int | None = None,
        max_display: int = 12,
        output: str | int | None = None,
    ) -> InteractionsDisplay:
        """Draw the mean absolute value of every pair, or the values of one row, as a table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        row : int, optional
            Whose values to draw, with their signs; a single row, as of a statistic, is drawn so.
        max_display : int, default 12
            How many players to show at most: those with the largest interactions.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        InteractionsDisplay
        """
        from pkex.output.plots.interactions import InteractionsDisplay

        shown = InteractionsDisplay(self._interactions)
        return shown.plot(ax, row=row, max_display=max_display, output=output)

    def network(
        self,
        ax: Axes | None = None,
        *,
        row: int | None = None,
        max_display: int = 12,
        output: str | int | None = None,
    ) -> NetworkDisplay:
        """Draw players on a circle, as large as their own values, and pairs as lines between them.

        Parameters
        ----------
        ax, row, max_display, output
            As in `heatmap`.

        Returns
        -------
        NetworkDisplay
        """
        from pkex.output.plots.interactions import NetworkDisplay

        shown = NetworkDisplay(self._interactions)
        return shown.plot(ax, row=row, max_display=max_display, output=output)

    def pair(
        self,
        first: str | int | None = None,
        second: str | int | None = None,
        ax: Axes | None = None,
        *,
        output: str | int | None = None,
    ) -> PairDisplay:
        """Draw the values of a pair over its two columns: one point per row, coloured by value.

        Parameters
        ----------
        first, second : str or int, optional
            The players, of one column each; by default the largest pair.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        PairDisplay
        """
        from pkex.output.plots.pair import PairDisplay

        return PairDisplay(self._interactions).plot(first, second, ax, output=output)
