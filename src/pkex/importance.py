"""`Importance`: how much each feature matters over many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._interop import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Importance"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Importance:
    """Mean absolute values over the rows of an explanation, with their standard errors.

    Attributes
    ----------
    values : array of shape (n_players,) or (n_players, n_outputs)
        Means of the absolute values.
    standard_errors : array of the same shape
        Standard errors of these means over the rows; NaN for a single row.
    feature_names : tuple of str
    output_names : tuple of str
        Empty when there is one output without a name.
    centred : array of the same shape as `values`
        Means of ``|value - its mean over the rows|``. Values of neutral removal hold an offset that
        is much the same in every row and says nothing about them; here it is left out.
    neutral : bool
        Whether the values are of neutral removal, so that the centred means are shown as well.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> [importance.feature_names[player] for player in importance.order]
    ['x1', 'x0']
    """

    values: Floats
    standard_errors: Floats
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    centred: Floats
    neutral: bool = False

    @classmethod
    def of(
        cls,
        values: Floats,
        feature_names: tuple[str, ...],
        outputs: tuple[str, ...],
        neutral: bool = False,
    ) -> Importance:
        """Return the importance of values of shape (n_rows, n_players[, n_outputs])."""
        if len(values) == 0:
            raise ValueError("the explanation has no rows, so there is no mean over them.")
        sizes = np.abs(values)
        errors = np.full(values.shape[1:], np.nan)
        if len(values) > 1:
            errors = sizes.std(axis=0, ddof=1) / np.sqrt(len(values))
        centred = np.abs(values - values.mean(axis=0)).mean(axis=0)
        return cls(sizes.mean(axis=0), errors, feature_names, outputs, centred, neutral)

    @property
    def order(self) -> NDArray[np.intp]:
        """The players, most important first; by the sum over outputs where there are several."""
        total = self.values if self.values.ndim == 1 else self.values.sum(axis=1)
        return np.argsort(-total, kind="stable")

    def __repr__(self) -> str:
        width = max(map(len, self.feature_names))
        outputs = self.output_names if self.values.ndim == 2 else ("mean |value|",)
        extra = f"{'centred':>13}" if self.neutral else ""
        lines = [" " * width + "".join(f"  {name:>20}{extra}" for name in outputs)]
        columns = self.values.reshape(len(self.values), -1)
        errors, centred = (t.reshape(columns.shape) for t in (self.standard_errors, self.centred))
        for player in self.order:
            cells = zip(columns[player], errors[player], centred[player], strict=True)
            shown = "".join(
                f"  {value:>11.4g} ± {error:<6.2g}" + (f"{alone:>13.4g}" if self.neutral else "")
                for value, error, alone in cells
            )
            lines.append(f"{self.feature_names[player]:<{width}}{shown}".rstrip())
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, most important first.

        Its columns are ``importance`` and ``standard_error``, and for neutral removal ``centred``;
        for several outputs all of each.
        """
        pandas = optional("pandas", "pandas")
        names = [self.feature_names[player] for player in self.order]
        tables = {"importance": self.values, "standard_error": self.standard_errors}
        if self.neutral:
            tables["centred"] = self.centred
        if self.values.ndim == 1:
            data = {kind: table[self.order] for kind, table in tables.items()}
            return pandas.DataFrame(data, index=names)
        blocks = {
            (output, kind): table[self.order, k]
            for k, output in enumerate(self.output_names)
            for kind, table in tables.items()
        }
        return pandas.DataFrame(blocks, index=names)

    def plot(self, ax: Axes | None = None, *, max_display: int = 20) -> Axes:
        """Draw the most important features as bars with their standard errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        max_display : int, default 20
            How many features to show at most.

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            pyplot = optional("matplotlib.pyplot", "pkex[plots]")
            _, ax = pyplot.subplots(layout="constrained")
        shown = self.order[:max_display][::-1]
        names = [self.feature_names[player] for player in shown]
        columns = self.values.reshape(len(self.values), -1)[shown]
        errors = self.standard_errors.reshape(len(self.values), -1)[shown]
        left = np.zeros(len(shown))
        for k in range(columns.shape[1]):
            label = self.output_names[k] if columns.shape[1] > 1 else None
            colour = None if columns.shape[1] > 1 else "#2e6f95"
            # with several outputs the bars are stacked, where error bars would not be readable
            error = errors[:, k] if columns.shape[1] == 1 and not np.isnan(errors).any() else None
            ax.barh(names, columns[:, k], left=left, xerr=error, label=label, color=colour)
            left += columns[:, k]
        ax.set_xlabel("mean |value|")
        ax.spines[["top", "right"]].set_visible(False)
        if columns.shape[1] > 1:
            ax.legend(frameon=False)
        return ax
