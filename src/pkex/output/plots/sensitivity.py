"""A `Sensitivity` drawn with matplotlib: its indices as bars, and the parts of pairs as colours."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.indexing import Axis, select
from pkex._util.types import Floats
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import (
    LETTERS,
    WIDE,
    annotated,
    at_least,
    bars,
    explain_colours,
    lanes,
    literal,
    of_all,
    room_for,
    write_title,
)
from pkex.output.plots.pair_table import PAIR_PLAYERS, draw_pair_table, pair_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.results.sensitivity import Sensitivity

__all__ = ["PairsDisplay", "SensitivityDisplay"]


_LETTERS_OF_A_NOTE = 64  # in a line below the axis


class SensitivityDisplay(Display):
    """The indices of a `Sensitivity` as bars, made by its ``plot``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    result: Sensitivity

    def plot(
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
        sensitivity, number = self.result, _output(self.result, output)
        at_least(max_display, "max_display", 1)
        kinds = (sensitivity.first_order, sensitivity.shapley, sensitivity.total_order)
        first, shapley, total = (_of(table, number) for table in kinds)
        shown = np.argsort(-shapley, kind="stable")[:max_display]
        names = [sensitivity.feature_names[player] for player in shown]
        ax = self._axes(ax, 6.4 + room_for(names), max(2.2, 1.5 + 0.3 * len(shown)))
        theme = lanes(ax, names, WIDE if self._own else LETTERS)
        places, shade = np.arange(len(shown)), theme.series(0)
        first, shapley, total = (np.maximum(part[shown], 0.0) for part in (first, shapley, total))
        bars(ax, places, first, 0.62, color=shade, label="first order: alone")
        rest = np.maximum(total - first, 0.0)
        label = "up to total order: with others"
        bars(ax, places, rest, 0.62, left=first, color=(shade, 0.3), label=label)
        style: dict[str, Any] = {"color": theme(palette.INK), "markersize": 4.5, "zorder": 4}
        ax.plot(shapley, places, "D", label="Shapley effect", **style)
        label = of_all("share of the variance", len(shown), len(sensitivity.feature_names))
        notes: list[str] = []
        for note in sensitivity.notes if self._own else ():  # other axes may have no room for them
            notes += wrap(note, _LETTERS_OF_A_NOTE)
        ax.set_xlabel(literal("\n".join([label, *notes])))
        ax.set_xlim(left=0.0)
        variance = float(np.ravel(sensitivity.variance)[number or 0])
        name = "" if number is None else f"{sensitivity.outputs[number]}: "
        write_title(ax, f"{name}variance {variance:.3g}, inputs independent")
        annotated(ax, [f"{share:.3f}" for share in shapley], own=self._own)
        explain_colours(ax, own=self._own)
        return self


class PairsDisplay(Display):
    """The parts of pairs of inputs as a table of colours, made by ``sensitivity.plot.pairs()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> sensitivity = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}, order=2)
    >>> [label.get_text() for label in sensitivity.plot.pairs().ax_.get_xticklabels()]
    ['x1', 'x0']
    """

    result: Sensitivity

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_display: int = PAIR_PLAYERS,
        output: str | int | None = None,
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
        sensitivity = self.result
        if sensitivity.second_order is None:
            raise ValueError("the parts of pairs were not computed; pass order=2 to sensitivity.")
        number = _output(sensitivity, output)
        at_least(max_display, "max_display", 1)
        pairs, total = _of(sensitivity.second_order, number), _of(sensitivity.total_order, number)
        shown = np.argsort(-total, kind="stable")[:max_display]
        table = 100.0 * np.maximum(pairs[np.ix_(shown, shown)], 0.0)
        ax = self._axes(ax, *pair_size(len(shown)))
        draw_pair_table(
            ax,
            table,
            [sensitivity.feature_names[player] for player in shown],
            signed=False,
            title="parts of two inputs",
            texts=lambda share: f"{share:.2g}" if share >= 0.05 else "",
            label="% of the variance",
            own=self._own,
        )
        return self


def _output(sensitivity: Sensitivity, output: str | int | None) -> int | None:
    """Return the number of the output to draw; None where there is one."""
    if sensitivity.shapley.ndim == 1:
        if output is not None:
            select(output, [Axis("output", 1, sensitivity.outputs)])
        return None
    names = sensitivity.outputs
    if output is None:
        raise ValueError(
            f"the sensitivity has {len(names)} outputs; choose one, e.g. plot(output={names[0]!r})."
        )
    chosen = select(output, [Axis("output", len(names), names)])[0]
    if len(chosen) != 1:
        raise IndexError(f"a plot shows one output, got {len(chosen)}.")
    return int(chosen[0])


def _of(table: Floats, output: int | None) -> Floats:
    return table if output is None else table[..., output]
