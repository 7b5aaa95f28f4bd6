"""`Influence` drawn: a row above its most influential training rows, coloured by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pkex._util.cells import format_cell
from pkex._util.types import Indices
from pkex._util.validation import check_count
from pkex.output import palette
from pkex.output.plots.display import Display
from pkex.output.plots.drawing import Axes, Key
from pkex.output.plots.labels import MINUS, literal, shorten
from pkex.output.text import cut, rank_by_size, value_name
from pkex.output.view.influence import largest_lines, line_noun, target_text

if TYPE_CHECKING:
    from pkex.results.influence import Influence

__all__ = ["InfluenceDisplay"]

_DARK = 0.6  # fraction of the largest value from which on a cell is dark
_LETTERS = 10  # of a cell


class InfluenceDisplay(Display):
    """A row and its most influential training rows, made by ``influence.plot()``.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> display = pkex.Explainer(f).influence([[0.0, 1.0]]).plot()
    >>> display.ax_.get_title(loc="left")
    'training rows behind row 0, prediction 0.239'
    """

    result: Influence

    def plot(
        self,
        row: int = 0,
        *,
        max_rows: int = 8,
        max_features: int = 8,
        output: Key = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the training rows of one row; colours are their influence on each Shapley value.

        Parameters
        ----------
        row : int, default 0
            Which explained row.
        max_rows : int, default 8
            How many training rows.
        max_features : int, default 8
            How many features, those with the largest influence first.
        output : str or int, optional
            Which output, where there are several.
        ax : matplotlib.axes.Axes, optional
            What to draw in; by default a new figure.
        """
        check_count(max_rows, "max_rows", 1)
        check_count(max_features, "max_features", 1)
        self._check_rows()
        one, row = self.result.select_output(output, "plot"), self._position(row, "row", "plot")
        places = largest_lines(one, row, max_rows)
        split, lines = one.feature_values[row, places], one.train_rows[row, places]
        features = rank_by_size(np.abs(split).sum(axis=0), max_features)
        texts = [_row_texts(one, one.predictions[row], one.data[row], features)]
        texts[0][0] = ""  # of the prediction, which the title has
        names = [f"row {one.row_names[row]} (explained)"]
        for place, line in zip(places, lines, strict=True):
            cells = None if one.train_data is None else one.train_data[line]
            texts.append(_row_texts(one, one.values[row, place], cells, features, "+"))
            target = target_text(one, int(line))
            names.append(one.train_names[line] + f" (target {target})" * bool(target))
        width, height = 3.2 + 0.8 * len(features), 1.5 + 0.34 * len(names)
        canvas = self._lanes(ax, names, width, height)
        canvas.frame("")
        ax, theme = canvas.ax, canvas.theme
        shades = np.pad(split[:, features], ((1, 0), (1, 0)), constant_values=np.nan)
        largest = float(np.nanmax(np.abs(shades), initial=0.0)) or 1.0
        colours = theme.diverging().with_extremes(bad=theme(palette.PAGE))
        image = ax.imshow(shades, cmap=colours, vmin=-largest, vmax=largest, aspect="auto")
        shown = ["influence", *(literal(shorten(one.feature_names[j])) for j in features)]
        ax.set_xticks(np.arange(len(shown)), shown, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.tick_params(labelcolor=theme(palette.INK))
        for (i, j), shade in np.ndenumerate(shades):
            dark = np.isfinite(shade) and abs(shade) > _DARK * largest
            style: dict[str, Any] = {"color": theme(palette.PAGE if dark else palette.INK)}
            style |= {"ha": "center", "va": "center", "fontsize": "small"}
            ax.text(j, i, literal(texts[i][j]), **style)
        canvas.line_at(0.5, vertical=False, zorder=3)
        canvas.line_at(0.5, zorder=3)
        of = f", {one.output_names[0]}" if len(self.result.output_names) > 1 else ""
        prediction = _number(one.predictions[row])
        lines_are = f"{line_noun(one)}s"
        canvas.title(f"{lines_are} behind row {one.row_names[row]}{of}, prediction {prediction}")
        canvas.colour_bar(image, f"influence on the {value_name(one)}")
        return self


def _row_texts(
    result: Influence, number: float, cells: Any, features: Indices, sign: str = ""
) -> list[str]:
    """Return a number and the feature values of a row, as they are written; "" if not known."""
    texts = [_number(number, sign)]
    for feature in features:
        columns = result.feature_groups[feature]
        shown = [] if cells is None else [_cell(cells[column]) for column in columns[:2]]
        more = ", ..." if len(columns) > 2 and shown else ""
        texts.append(cut(", ".join(shown) + more, _LETTERS))
    return texts


def _cell(cell: Any) -> str:
    return _number(cell) if isinstance(cell, float) else format_cell(cell)


def _number(number: float, sign: str = "") -> str:
    return f"{number:{sign}.3g}".replace("-", MINUS)
