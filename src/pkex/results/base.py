"""`Result`: what all results share. A result is `About` plus arrays with named axes.

Selection, joining, files and checks of shapes follow from the axes, text and HTML from the views. A
class adds its arrays, the facts of its call, and questions that only it can answer.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from pkex._util.cells import format_label
from pkex._util.types import Floats
from pkex.games.rules import Rule
from pkex.games.sums import sort_rules
from pkex.output import html, text
from pkex.output.files.codec import Codec
from pkex.output.view import View
from pkex.results.about import About
from pkex.results.arrays import ArrayResult

__all__ = ["Details", "PathLike", "Result", "RowResult", "check_sums"]

PathLike = str | os.PathLike[str]
Details = Mapping[str, object] | None

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, repr=False)
class Result(ArrayResult):
    """The base of all results: names, selection, joining, files, text and reports.

    `VIEWS` are functions to what is shown as text and in a notebook, `_FRAME` is one to a data
    frame; `plot` is a `PlotField`. For `AXES` and `SELECTED` see `ArrayResult`.

    Parameters
    ----------
    about : About
        What the result is about: names, removal, kernels, classes.

    See Also
    --------
    pkex.Explanation : Shapley values of rows.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0]])
    >>> explanation.removal, explanation.index, explanation.kernel
    ('product-of-marginals', 'SV', RBF(length_scale=1.0))
    """

    SAME: ClassVar[tuple[str, ...]] = ()  # facts of a call that must agree where rows are joined
    CODEC: ClassVar[Codec]
    VIEWS: ClassVar[tuple[Callable[[Any], View], Callable[[Any], View]]]
    _FRAME: ClassVar[Callable[[Any, bool], Any]]

    @classmethod
    def concat(cls, results: Iterable[Self]) -> Self:
        """Return one result of the rows of several, in order, as one explainer made them.

        For tables that are explained in parts: by a loop over files, or by the workers of a
        cluster. They must agree in all but their rows.

        Parameters
        ----------
        results : iterable of results of this class
            The parts, in the order of their rows.

        Returns
        -------
        result of this class
            The result of all rows.

        See Also
        --------
        pkex.Explanation.concat : Joins explanations.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> len(pkex.Explanation.concat([explanation, explanation[:1]]))
        3
        """
        parts, noun = list(results), cls.NOUN
        nouns = f"{noun.removesuffix('s')}s"
        if not any(axes[0] == "row" for axes in cls.AXES.values()):
            raise TypeError(f"{nouns} have no rows to join.")
        wrong = next((part for part in parts if not isinstance(part, cls)), None)
        if wrong is not None:
            raise TypeError(f"concat takes {nouns}, got {type(wrong).__name__}.")
        if not parts:
            raise ValueError(f"concat takes at least one {noun}.")
        about = parts[0].about
        if any(part.kernels != about.kernels for part in parts):
            about = replace(about, kernels=None)
        shared = [f"about.{one.name}" for one in fields(About) if one.compare]
        shared.remove("about.kernels")
        for number, part in enumerate(parts):
            for path in (*shared, *cls.SAME):
                if attrgetter(path)(part) != attrgetter(path)(parts[0]):
                    name = path.removeprefix("about.")
                    how = "were explained in one way" if name == path else "one explainer explained"
                    raise ValueError(
                        f"{noun} {number} differs from the first in its {_WORDS.get(path, name)}: "
                        f"concat joins rows that {how}."
                    )
        return replace(parts[0], about=about, **cls._join_fields(parts))

    @classmethod
    def _join_fields(cls, parts: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays of all rows, the rules used and the largest additivity error."""
        joined: dict[str, Any] = {
            name: _join_arrays([getattr(part, name) for part in parts])
            for name, axes in cls.AXES.items()
            if axes[0] == "row"
        }
        if hasattr(parts[0], "rules"):
            joined["rules"] = sort_rules({rule for part in parts for rule in part.rules})
            joined["additivity_error"] = float(np.max([part.additivity_error for part in parts]))
        return joined

    def __repr__(self) -> str:
        return text.draw(self.VIEWS[0](self))

    def _repr_html_(self) -> str:
        return html.draw(self.VIEWS[1](self))

    def to_frame(self, output: str | int | None = None, *, totals: bool = True) -> Any:
        """Return the numbers of the result as a pandas data frame.

        Its lines and columns:

        - `Explanation`: a line for each row, with its label, and a column for each feature; then
          ``base_value`` and ``prediction``, and ``bmi std`` where standard deviations are known.
        - `Gradients`: the same, without totals.
        - `Interactions`: the same with a column for each subset, such as ``bmi & s5``, and
          ``bmi & s5 std`` where standard deviations are known.
        - `SparseExplanation`: a line for each stored value, largest first, and for the rest of each
          row, ``(remaining features)``. Columns ``row``, ``feature``, ``data`` (NaN for a group),
          ``value``. Of several outputs one has to be chosen.
        - `Importance`: a line for each feature, the most important first. Columns ``importance``,
          ``standard_error``; ``centred`` under neutral removal; ``importance_std`` of permutation
          importance; with posterior draws ``mean_of_draws``, and ``low`` and ``high``, the 90 %
          credible interval.
        - `Sensitivity`: a line for each input, the largest effect first. Columns ``first_order``,
          ``shapley``, ``total_order``; with posterior draws ``shapley_mean``, their mean, and
          ``shapley_low`` and ``shapley_high``, the 90 % credible interval, and so on.
        - `Attribution`: a line for each feature, the largest contribution first. Columns
          ``contribution``; ``standard_error`` with blocks; with permutations ``null_low`` and
          ``null_high``, between which 95 % of the null contributions lie, ``p_value``,
          ``p_adjusted`` (family-wise error) and ``p_bh`` (false discovery rate, Benjamini and
          Hochberg); ``univariate``, the statistic of that feature only, ``p_univariate`` and
          ``p_univariate_adjusted``.
        - `Change`: a line for each feature. Columns ``before`` and ``after``, the mean values;
          ``contribution``, their difference; ``distance``, the energy distance; with permutations
          ``p_mean`` and ``p_distribution``, adjusted.
        - `Comparison`: a line for each feature, the largest value first. Columns ``value`` and
          ``std``, of the mean; ``variance_value``.
        - `Effects`: a line for each place of an average curve. Columns ``output``, where there are
          several; ``feature``, ``with`` (the second of a pair), ``value``, ``with_value``,
          ``average``, ``std``. Individual curves are not in it.
        - `Influence`: a line for each row and training row. Columns ``influence``; ``variance``;
          ``target`` of the training row; ``influence_bmi``, that on a Shapley value; ``train_bmi``,
          the feature value of the training row, where it is known.
        - `LeaveOneOut`: a line for each training row, the largest residual first. Columns
          ``target``, ``prediction``, ``residual``; of a Gaussian process ``std``, ``log_density``.

        Parameters
        ----------
        output : str or int, optional
            Which output. By default all: columns then have two levels, with the output first, so
            ``frame["a vs b"]`` is the frame of one output.
        totals : bool, default True
            Whether columns ``base_value`` and ``prediction`` follow the values of rows.

        Returns
        -------
        pandas.DataFrame
            The numbers.

        See Also
        --------
        pkex.Explanation.save : Writes all arrays to a file.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0]])
        >>> explanation.to_frame().round(4)
               x0   x1  base_value  prediction
        0 -0.2161  0.1      2.4357      2.3196
        >>> explanation.importance().to_frame()["importance"].round(4).to_dict()
        {'x0': 0.2161, 'x1': 0.1}
        """
        chosen = self if output is None else self.select_output(output, "to_frame")
        return type(self)._FRAME(chosen, totals)

    def report(self, path: PathLike, *, title: str | None = None, details: Details = None) -> None:
        """Write a report that opens in a browser: one HTML file, written whole or not at all.

        Gradients, left out rows and comparisons have none. That of interactions is a part of other
        reports.

        Parameters
        ----------
        path : str or path
            Name of the file; an existing one is replaced.
        title : str, optional
            Heading of the report.
        details : mapping of str to anything, optional
            Facts that the result does not know, such as the model, shown as text.

        See Also
        --------
        pkex.Explanation : Shapley values of rows.

        Examples
        --------
        >>> import os, tempfile, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> sensitivity = pkex.sensitivity(f, {"x0": (0.0, 1.0), "x1": (0.0, 2.0)})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sensitivity.report(os.path.join(folder, "report.html"), details={"model": f})
        ...     os.listdir(folder)
        ['report.html']
        """
        self._write_report(path, title=title, details=details)

    def _write_report(self, path: PathLike, **options: Any) -> None:
        from pkex.output.report import write

        write(self, path, **options)

    def save(self, path: PathLike) -> None:
        """Write the result to a file, which `load` reads; an existing file is replaced.

        The file is an npz archive with a JSON header, without pickle, and named exactly `path`. It
        is written whole or not at all. A file that is replaced keeps its mode, a link stays a link
        to it, and what is not a regular file is refused.

        Parameters
        ----------
        path : str or path
            Name of the file.

        See Also
        --------
        pkex.Explanation.load : Reads the file.

        Examples
        --------
        >>> import os, tempfile, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "result.npz")
        ...     explanation.save(path)
        ...     len(pkex.Explanation.load(path))
        2
        """
        self.CODEC.save(self, path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Return the result that `save` wrote to `path`, in this version of pkex or before.

        A file is safe to load whatever its origin: nothing in it is run, and reading it takes
        memory in proportion to its size. That values add up is checked again.

        Parameters
        ----------
        path : str or path
            Name of the file.

        Returns
        -------
        result of this class
            What was saved.

        Raises
        ------
        ValueError
            When the file is damaged, holds something else, or was written by a newer pkex; also
            when its values do not add up.

        See Also
        --------
        pkex.Explanation.save : Writes the file.

        Examples
        --------
        >>> import os, tempfile, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "result.npz")
        ...     explanation.save(path)
        ...     len(pkex.Explanation.load(path))
        2
        """
        return cls.CODEC.load(path, cls._from_fields)

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        """Return a result of what a file holds."""
        names = {field.name for field in fields(About)} & values.keys()
        about = About(**{name: values.pop(name) for name in names})
        result = cls(about=about, **values)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            result._check_sums()
        return result

    def _check_sums(self) -> None:
        """Refuse values that do not add up, where they should."""


class RowResult(Result):
    """The base of results with a value for each row: their number, names and rules."""

    base_values: Floats
    rules: tuple[Rule, ...]
    row_index: Any

    def __len__(self) -> int:
        return len(self.base_values)

    @property
    def row_names(self) -> tuple[str, ...]:
        """What to call the rows: the labels of `row_index` as text, or their numbers from 0.

        See Also
        --------
        pkex.Explanation.to_frame : A frame with the labels as its index.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.row_names
        ('0', '1')
        """
        labels = self.row_index
        return tuple(map(str, range(len(self))) if labels is None else map(format_label, labels))

    @property
    def rule(self) -> Rule:
        """The rule with the largest proven error among those used.

        ``rule.relative_error`` bounds the relative error of the integral of every pair under
        neutral removal, and the error relative to 1 under the others; where a kernel's factors
        leave [0, 1] and [-1, 1], respectively, the rule is exact up to rounding, which such factors
        may amplify.

        See Also
        --------
        pkex.Explanation : Its `rules` are all that were used.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.rule.relative_error < 1e-15
        True
        """
        return self.rules[0]


_WORDS = {
    "about.feature_names": "features",
    "about.column_names": "columns",
    "about.output_names": "outputs",
    "about.background_info": "backgrounds",
    "about.efficient": "index",
    "about.output_classes": "classes",
    "about.output_kind": "outputs",
    "about.complete": "selection of features",
}


def _join_arrays(arrays: Sequence[Any]) -> Any:
    """Return the rows of an array in all parts; None where a part does not know it."""
    if any(array is None for array in arrays):
        return None
    if hasattr(arrays[0], "append"):  # labels of pandas
        return arrays[0].append(list(arrays[1:]))
    if any(array.dtype == object for array in arrays):
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def check_sums(
    totals: Floats, sizes: Floats, count: int, predictions: Floats, residual: float
) -> None:
    """Refuse sums of `count` numbers that miss the predictions by more than is allowed.

    That is the additivity error and rounding.

    `sizes` are the sums of the absolute values. Each of the additions, here and when the
    predictions were computed, rounds once.
    """
    gap = np.abs(totals - predictions)
    allowed = (residual if math.isfinite(residual) else 0.0) + 2.0 * count * _EPS * sizes
    right = np.isfinite(gap) & (gap <= allowed)
    if not right.all():
        row = int(np.argwhere(~right)[0][0])
        raise ValueError(
            f"base value and values of row {row} miss the prediction by {gap[~right].flat[0]:.2g}"
        )
