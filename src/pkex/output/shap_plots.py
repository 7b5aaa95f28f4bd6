"""An `Explanation` drawn by shap, in axes of ours: see `pkex.output.plots` for displays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pkex._extras import optional
from pkex._indexing import Axis, select
from pkex._validation import brief
from pkex.output import palette
from pkex.output.drawing import at_least
from pkex.output.plots import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.explanation import Explanation

__all__ = ["ShapDisplay"]


class ShapDisplay(Display):
    """An `Explanation` as shap's plots draw it, made by ``explanation.plot.beeswarm()`` and others.

    Parameters
    ----------
    explanation : Explanation
        With one output.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
    >>> explanation.plot.waterfall(0)
    <ShapDisplay in ax_ of figure_>
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    def beeswarm(self, ax: Axes | None = None, *, max_display: int = 12) -> ShapDisplay:
        """Draw; see `ExplanationPlots.beeswarm`."""
        at_least(max_display, "max_display", 1)
        shap, values = self._shap(), self.explanation.to_shap()
        lines = min(max_display, values.shape[1])
        with self._current(ax, 7.5, 1.6 + 0.38 * lines):
            shap.plots.beeswarm(values, max_display=max_display, show=False, plot_size=None)
        self._say_index()
        return self

    def waterfall(
        self, row: int = 0, ax: Axes | None = None, *, max_display: int = 12
    ) -> ShapDisplay:
        """Draw; see `ExplanationPlots.waterfall`."""
        at_least(max_display, "max_display", 1)
        one = self.explanation[row]
        if len(one) != 1:
            raise IndexError(f"a waterfall is of one row; got {brief(row)}.")
        _adds_up(one)
        shap, values = self._shap(), one.to_shap()[0]
        lines = min(max_display, len(values.values))
        with self._current(ax, 8.0, 1.5 + 0.5 * lines):
            self.figure_.draw_without_rendering()  # shap asks how large the axes are
            shap.plots.waterfall(values, max_display=max_display, show=False)
        _say_base(self.figure_.axes)
        return self

    def scatter(
        self, column: str | int, ax: Axes | None = None, *, colour: str | int | None = None
    ) -> ShapDisplay:
        """Draw; see `ExplanationPlots.scatter`."""
        place = self._one_column(column)
        shap, values = self._shap(), self.explanation.to_shap()
        by = palette.LOWERS.light if colour is None else values[:, self._one_column(colour)]
        with self._current(ax, 6.4, 4.0):
            shap.plots.scatter(values[:, place], color=by, ax=self.ax_, show=False)
        self._say_index()
        return self

    def _say_index(self) -> None:
        """Call values of another index than Shapley's what they are, in place of "SHAP value"."""
        name = self.explanation.index
        if name == "SV":
            return
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            text = axis.get_label_text()
            axis.set_label_text(text.replace("SHAP value", f"{name} value"))

    def _shap(self) -> Any:
        return optional("shap", "pkex[shap]")

    def _one_column(self, feature: str | int) -> int:
        """Return the number of a feature that has a raw value to draw."""
        found = self.explanation
        axis = Axis("feature", len(found.players), found.feature_names)
        places = select(feature, [axis])[0]
        if len(places) != 1:
            raise IndexError(f"a scatter is of one feature; got {brief(feature)}.")
        place = int(places[0])
        if len(found.players[place]) > 1:
            raise ValueError(
                f"{found.feature_names[place]!r} is a group of {len(found.players[place])} columns "
                "and has no single value to draw; choose a feature of one column."
            )
        return place

    @contextmanager
    def _current(self, ax: Axes | None, width: float, height: float) -> Iterator[None]:
        """Let shap draw in `ax`, or in a new figure, and change nothing else.

        Some of its plots take pyplot's current axes, give their figure a size and turn interactive
        mode off, after which a notebook would show no figure.
        """
        pyplot = optional("matplotlib.pyplot", "pkex[shap]")
        self._draws_in(self._figure(width, height).subplots() if ax is None else ax)
        interactive = pyplot.isinteractive()
        pyplot.sca(self.ax_)
        self.figure_.set_size_inches = lambda *_: None  # type: ignore[method-assign]
        try:
            yield
        except Exception:
            if ax is None:
                pyplot.close(self.figure_)
            raise
        finally:
            del self.figure_.set_size_inches  # that of its class is in force again
            if interactive:
                pyplot.ion()


def _say_base(axes: list[Axes]) -> None:
    """Call the start of a waterfall what it is under every removal, which shap calls E[f(X)]."""
    for ax in axes:
        texts = [label.get_text() for label in ax.get_xticklabels()]
        if any("E[f(X)]" in text for text in texts):
            ax.set_xticklabels([text.replace("$E[f(X)]$", "   base") for text in texts])


def _adds_up(explanation: Explanation) -> None:
    """Refuse a waterfall where values do not lead from the base value to the prediction."""
    if not explanation.efficient:
        raise ValueError(
            f"values of the index {explanation.index} do not add up to the prediction, so there is "
            "no waterfall; draw plot.bar() or plot.beeswarm(), or explain with Shapley values."
        )
    if not explanation.complete:
        raise ValueError(
            "the explanation holds a selection of the features, which does not add up to the "
            "prediction; draw the waterfall before selecting."
        )
