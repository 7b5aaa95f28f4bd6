"""Drawing an `Attribution` with matplotlib, by the conventions of scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pkex._interop import optional
from pkex._validation import brief, is_index
from pkex.tables.cells import cell_text, is_number, name_of_rest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pkex.attribution import Attribution

__all__ = ["AttributionDisplay"]

_POSITIVE, _NEGATIVE, _BAND = "#0072b2", "#8a949e", "#f0e0b0"
_CLASSES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")  # Okabe and Ito
_BINS = 24
_FEW = 12  # different numbers in a column that are drawn as bars
_LABEL = 24  # letters of a name


class AttributionDisplay:
    """The values of an `Attribution` as bars, with null bands and the marginals of columns.

    Made by `Attribution.plot`.

    Parameters
    ----------
    attribution : Attribution

    Attributes
    ----------
    ax_ : matplotlib Axes
        The bars.
    figure_ : matplotlib Figure
    marginal_axes_ : list of matplotlib Axes
        One for each column whose marginals are shown.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + [0.0, 1.0, 0.0]
    >>> display = pkex.mmd(X, Z, n_permutations=99).plot(marginals=1)
    >>> display.ax_.get_xlabel()
    'share of MMD²'
    """

    ax_: Axes
    figure_: Figure
    marginal_axes_: list[Axes]

    def __init__(self, attribution: Attribution) -> None:
        self.attribution = attribution

    def plot(
        self, ax: Axes | None = None, *, max_display: int = 20, marginals: int = 3
    ) -> AttributionDisplay:
        """Draw; see `Attribution.plot`."""
        for name, value, least in (("max_display", max_display, 1), ("marginals", marginals, 0)):
            if not is_index(value) or value < least:
                raise ValueError(
                    f"{name} must be an integer of at least {least}, got {brief(value)}."
                )
        shown = self.attribution.order[:max_display]
        columns = [c for i in shown for c in self.attribution.players[i]][:marginals]
        self.marginal_axes_ = []
        own = ax is None
        if ax is None:
            pyplot = optional("matplotlib.pyplot", "pkex[plots]")
            height = max(2.6 + 0.1 * len(columns), 1.3 + 0.28 * len(shown), 1.9 * len(columns))
            figure = pyplot.figure(figsize=(9.0 if columns else 6.0, height), layout="constrained")
            if columns:
                left, right = figure.subfigures(1, 2, width_ratios=[3, 2])
                ax = left.subplots()
                below = right.subplots(len(columns), 1, squeeze=False)[:, 0]
                self.marginal_axes_ = list(below)
            else:
                ax = figure.subplots()
        self.ax_ = ax
        self.figure_ = cast("Figure", ax.figure.figure)  # the whole, also from a part of it
        self._draw_bars(ax, shown[::-1], own)
        for column, where in zip(columns, self.marginal_axes_, strict=False):
            self._draw_marginals(where, column, legend=where is self.marginal_axes_[0])
        return self

    def _draw_bars(self, ax: Axes, shown: NDArray[np.intp], own: bool) -> None:
        """Draw the bars; p-values stand beside them in a figure of our own, else in the labels."""
        found = self.attribution
        names = [_short(name) for name in np.array(found.feature_names)[shown]]
        if found.p_holm is not None and not own:
            pairs = zip(names, found.p_holm[shown], strict=True)
            names = [f"{name}  (p = {p:.2g})" for name, p in pairs]
        values = found.values[shown]
        places = np.arange(len(shown))
        if found.null_band is not None:
            low, high = found.null_band[:, shown]
            label = "95 % of permutations"
            ax.barh(places, high - low, left=low, height=0.86, color=_BAND, label=label)
        colours = [_POSITIVE if value > 0.0 else _NEGATIVE for value in values]
        errors = None if found.standard_errors is None else found.standard_errors[shown]
        ax.barh(places, values, xerr=errors, height=0.5, color=colours)
        ax.set_yticks(places, names)
        ax.axvline(0.0, color="black", linewidth=0.8)
        title = found.statistic.replace("^2", "²")
        ax.set_xlabel(f"share of {title}")
        headline = f"{title} = {found.total:.3g}"
        if found.standard_error is not None:
            headline += f" ± {found.standard_error:.1g}"
        if found.p_value is not None:
            headline += f", p = {found.p_value:.2g}"
        ax.set_title(headline, loc="left", fontsize="medium")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(left=False)
        ax.locator_params(axis="x", nbins=5)
        if found.null_band is not None:
            ax.legend(frameon=False, loc="lower right", fontsize="small")
            if own:
                self._write_p_values(ax, shown)

    def _write_p_values(self, ax: Axes, shown: NDArray[np.intp]) -> None:
        """Write the p-values, adjusted by Holm as everywhere, along the right edge."""
        assert self.attribution.p_holm is not None
        for place, i in enumerate(shown):
            ax.annotate(
                f"p = {self.attribution.p_holm[i]:.2g}",
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize="small",
                color="#555555",
            )

    def _draw_marginals(self, ax: Axes, column: int, *, legend: bool) -> None:
        found = self.attribution
        first, second = found.samples
        categorical = found.categorical[column]
        title = found.column_names[column]
        if found.target_kernel is None:
            parts = {
                found.sample_names[0]: first[:, column],
                found.sample_names[1]: second[:, column],
            }
        else:
            target = second[:, 0]
            groups = _classes(target)
            if groups is None and not categorical:
                _scatter(ax, first[:, column], target, found.sample_names[0])
                parts = {}
            elif groups is None:
                parts = {
                    cell_text(level): target[first[:, column] == level]
                    for level in _levels(first[:, column])[: len(_CLASSES)]
                }
                categorical, title = False, f"{found.sample_names[0]} by {title}"
                legend = True
            else:
                parts = {name: first[rows, column] for name, rows in groups.items()}
        if parts:
            (_draw_categories if categorical else _draw_numbers)(ax, parts)
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
            if legend:
                ax.legend(frameon=False, fontsize="small", handlelength=1.0)
        ax.set_xlabel(_short(title), fontsize="small")
        ax.tick_params(labelsize="small")
        ax.spines[["top", "right"]].set_visible(False)


def _draw_numbers(ax: Axes, parts: dict[str, NDArray[Any]]) -> None:
    """Draw histograms, with densities over them where the numbers vary enough."""
    from scipy.stats import gaussian_kde  # slow to import

    numbers = {name: part.astype(float) for name, part in parts.items() if len(part)}
    every = np.concatenate(list(numbers.values()))
    if len(np.unique(every)) <= _FEW:
        _draw_categories(ax, parts)
        return
    low, high = np.quantile(every, [0.005, 0.995])
    edges = np.linspace(low, high, _BINS + 1).tolist() if low < high else _BINS
    grid, span = np.linspace(0.0, 1.0, 200), high - low
    for (name, part), colour in zip(numbers.items(), _CLASSES, strict=False):
        style: dict[str, Any] = {"density": True, "color": colour, "alpha": 0.3}
        smooth = span > 0.0 and len(np.unique(part)) > _FEW
        ax.hist(part, bins=edges, label=None if smooth else name, **style)
        if smooth:
            density = gaussian_kde((part - low) / span)(grid) / span  # at any scale of the numbers
            ax.plot(low + grid * span, density, color=colour, linewidth=1.6, label=name)


def _draw_categories(ax: Axes, parts: dict[str, NDArray[Any]]) -> None:
    """Draw the share of each category as bars side by side."""
    levels = _levels(np.concatenate(list(parts.values())))[:_FEW]
    width = 0.8 / len(parts)
    for k, ((name, part), colour) in enumerate(zip(parts.items(), _CLASSES, strict=False)):
        shares = [np.mean(part == level) if len(part) else 0.0 for level in levels]
        ax.bar(np.arange(len(levels)) + k * width, shares, width, color=colour, label=name)
    labels = [_short(cell_text(level), 12) for level in levels]
    ax.set_xticks(np.arange(len(levels)) + 0.4 - width / 2.0, labels)


def _scatter(ax: Axes, x: NDArray[Any], y: NDArray[Any], name: str) -> None:
    size = np.clip(2000.0 / len(x), 1.0, 12.0)
    ax.scatter(x.astype(float), y.astype(float), s=size, color=_POSITIVE, alpha=0.5, linewidth=0)
    ax.set_ylabel(_short(name), fontsize="small")


def _levels(cells: NDArray[Any]) -> list[Any]:
    """Return the different values, by number where they are numbers and else by text."""
    found = set(cells.tolist())
    numbers = all(isinstance(level, int | float) for level in found)
    return sorted(found) if numbers else sorted(found, key=str)


def _classes(target: NDArray[Any]) -> dict[str, NDArray[np.bool_]] | None:
    """Return the rows of each class of a target; None for one of many different numbers."""
    levels = _levels(target)
    if len(levels) > _FEW and all(map(is_number, levels)):
        return None
    if len(levels) <= len(_CLASSES):
        return {cell_text(level): target == level for level in levels}
    texts = np.array([cell_text(cell) for cell in target])
    names, counts = np.unique(texts, return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][: len(_CLASSES) - 1]
    rest = name_of_rest(names.tolist())
    return {**{str(name): texts == name for name in kept}, rest: ~np.isin(texts, kept)}


def _short(name: str, length: int = _LABEL) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
