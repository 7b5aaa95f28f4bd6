"""`Importance`: how much each feature matters over many rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.output import frames, html, text
from pkex.output.files import importance as files
from pkex.output.plots.accessors import ImportancePlots

__all__ = ["Importance"]


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
        return text.importance_text(self)

    def _repr_html_(self) -> str:
        return html.importance_html(self)

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the importance to a file, which `load` reads; as `Explanation.save` does.

        Examples
        --------
        >>> import os, tempfile, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> importance = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]]).importance()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     importance.save(os.path.join(folder, "importance.npz"))
        ...     again = pkex.Importance.load(os.path.join(folder, "importance.npz"))
        >>> bool((again.values == importance.values).all())
        True
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Importance:
        """Return the importance that `save` wrote to `path`; as `Explanation.load` does."""
        return files.load(cls, path)
