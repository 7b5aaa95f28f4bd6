"""`Importance`: how much each feature matters over many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pkex._util.types import Floats, Indices
from pkex.output import frames, html, text
from pkex.output.files.archive import Format, Header
from pkex.output.files.codec import ABOUT, Codec, Entries, FloatArrays
from pkex.output.files.header import as_count, as_flag, as_names, maybe
from pkex.output.plots.accessors import ImportancePlots
from pkex.output.view import features
from pkex.results.about import About
from pkex.results.base import Result

__all__ = ["Importance"]


def _upgrade(header: Header) -> None:
    """Add what files of version 1 do not have: their features were columns of their own."""
    if header["version"] == 1:
        names = as_names(header["feature_names"])
        header["column_names"] = list(names)
        header["players"] = [[i] for i in range(len(names))]
        header["output_names"] = list(as_names(header["output_names"])) or None
        header["removal"] = "neutral" if as_flag(header["neutral"]) else None


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Result):
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
    n_rows : int or None
        How many rows the means are over; None where it is not known.
    has_std : bool
        Whether the explanation has posterior standard deviations. The standard errors are over the
        rows and do not hold them.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
    >>> [importance.feature_names[player] for player in importance.order]
    ['x1', 'x0']
    """

    AXES: ClassVar = dict.fromkeys(("values", "standard_errors", "centred"), ("feature", "output"))
    CODEC: ClassVar = Codec(
        Format("Importance", 2),
        (
            ABOUT,
            Entries(
                {"n_rows": maybe(as_count), "has_std": lambda value: bool(maybe(as_flag)(value))}
            ),
            FloatArrays(("values", "standard_errors", "centred"), finite=True, gaps=True),
        ),
        _upgrade,
    )

    values: Floats
    standard_errors: Floats
    centred: Floats
    n_rows: int | None = None
    has_std: bool = False

    @classmethod
    def of(cls, values: Floats, about: About, has_std: bool = False) -> Importance:
        """Return the importance of values of shape (n_rows, n_players[, n_outputs])."""
        if len(values) == 0:
            raise ValueError("the explanation has no rows, so there is no mean over them.")
        sizes = np.abs(values)
        errors = np.full(values.shape[1:], np.nan)
        if len(values) > 1:
            errors = sizes.std(axis=0, ddof=1) / np.sqrt(len(values))
        centred = np.abs(values - values.mean(axis=0)).mean(axis=0)
        return cls(about, sizes.mean(axis=0), errors, centred, len(values), has_std)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs; empty when there is one and it has no name."""
        return self.outputs

    @property
    def neutral(self) -> bool:
        """Whether the values are of neutral removal, so that centred means are shown as well."""
        return bool(self.removal == "neutral")

    @property
    def order(self) -> Indices:
        """The players, most important first; by the sum over outputs where there are several."""
        total = self.values if self.values.ndim == 1 else self.values.sum(axis=1)
        return np.argsort(-total, kind="stable")

    def __repr__(self) -> str:
        return "\n".join(text.draw_lines(features.importance(self)))

    def _repr_html_(self) -> str:
        return html.draw(features.importance(self, html.LINES))

    @property
    def plot(self) -> ImportancePlots:
        """Plots: ``importance.plot()`` draws bars with standard errors; see `ImportancePlots`."""
        return ImportancePlots(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, most important first.

        Its columns are ``importance`` and ``standard_error``, and for neutral removal ``centred``;
        for several outputs all of each.
        """
        return frames.importance_frame(self)
