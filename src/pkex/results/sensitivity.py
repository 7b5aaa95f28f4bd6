"""`Sensitivity`: shares of the variance of a model's output, for each input."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.output import frames, html, text
from pkex.output.files import sensitivity as files
from pkex.output.plots.accessors import SensitivityPlots

__all__ = ["Sensitivity"]


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity:
    """How much of the variance of a model's output comes from each input, by `pkex.sensitivity`.

    With independent inputs the output is a sum of parts, one for every set of inputs, that are
    uncorrelated, and its variance is the sum of theirs. All indices are shares of that variance.

    Attributes
    ----------
    first_order : array of shape (n_players,) or (n_players, n_outputs)
        What each input explains alone: the variance of the mean output given the input.
    total_order : array of the same shape
        What would be lost without it: all parts that it has a hand in. Where it is 0 the input does
        not matter.
    shapley : array of the same shape
        Shapley effects: every part is divided equally among its inputs. They lie between the two
        others and sum to 1.
    second_order : array of shape (n_players, n_players), with n_outputs at the end, or None
        The parts of two inputs, beyond what each explains alone; 0 on the diagonal. None unless it
        was asked for by ``order=2``.
    variance : float, or array of shape (n_outputs,)
        The variance of the output with independent inputs.
    mean : float, or array of shape (n_outputs,)
        Its mean.
    feature_names : tuple of str
        Names of the inputs: columns, or groups of columns.
    column_names : tuple of str
    players : tuple of tuples of int
        The columns of each input.
    output_names : tuple of str, or None
    inputs : str
        What the inputs range over.
    error : float
        About what an index may be off by: rounding, and for distributions how much the indices
        changed when the nodes of their rules were doubled for the last time.
    rows_variance : float, array of shape (n_outputs,), or None
        The variance over the rows of a table as they are, with all their dependence. Where it is
        far from `variance`, columns depend on each other, and the indices are about inputs that
        vary more freely than the data do.
    number : str or None
        Of a classifier, what the output is, e.g. "decision function".

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> found = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)})
    >>> found
    Sensitivity(2 inputs, variance 0.264)
      inputs: a distribution for each of 2 columns, independent of each other
          first order  Shapley  total order
      x1       0.9225   0.9228       0.9232
      x0       0.0768  0.07717      0.07754
      interactions: 0.00074 of the variance
    """

    first_order: Floats
    total_order: Floats
    shapley: Floats
    second_order: Floats | None
    variance: Any
    mean: Any
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    players: tuple[tuple[int, ...], ...]
    output_names: tuple[str, ...] | None
    inputs: str
    error: float
    rows_variance: Any = None
    number: str | None = None

    @property
    def order(self) -> NDArray[np.intp]:
        """The inputs, the largest Shapley effect first; by the sum over outputs of several."""
        effects = self.shapley
        total = effects if effects.ndim == 1 else np.nansum(effects, axis=1)
        return np.argsort(-total, kind="stable")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs; empty when there is one and it has no name."""
        return self.output_names or ()

    @property
    def interactions(self) -> Any:
        """The share of all parts of two inputs and more: 1 minus the sum of `first_order`."""
        return 1.0 - self.first_order.sum(axis=0)

    def __repr__(self) -> str:
        return text.sensitivity_text(self)

    def _repr_html_(self) -> str:
        return html.sensitivity_html(self)

    @property
    def plot(self) -> SensitivityPlots:
        """Plots: ``sensitivity.plot()`` draws the indices as bars; see `SensitivityPlots`."""
        return SensitivityPlots(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each input, the largest effect first.

        Its columns are ``first_order``, ``shapley`` and ``total_order``; for several outputs they
        have two levels, output and index.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}).to_frame().round(3)
            first_order  shapley  total_order
        x1        0.922    0.923        0.923
        x0        0.077    0.077        0.078
        """
        return frames.sensitivity_frame(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Write a report that opens in a browser: one HTML file, written whole or not at all.

        Parameters
        ----------
        path : str or path
            Name of the file; an existing one is replaced.
        title : str, optional
            Heading of the report.
        details : mapping of str to anything, optional
            Facts that the result does not know, such as the model, shown as text.

        Examples
        --------
        >>> import os, tempfile, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> found = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(os.path.join(folder, "report.html"), details={"model": f})
        ...     os.listdir(folder)
        ['report.html']
        """
        from pkex.output.report import write

        write(self, path, title=title, details=details)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file, which `load` reads; as `Explanation.save` does."""
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Sensitivity:
        """Return the result that `save` wrote to `path`; as `Explanation.load` does.

        Examples
        --------
        >>> import os, tempfile, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> found = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(os.path.join(folder, "indices.npz"))
        ...     again = pkex.Sensitivity.load(os.path.join(folder, "indices.npz"))
        >>> bool((again.shapley == found.shapley).all())
        True
        """
        return files.load(cls, path)
