"""`Interactions`: what features do together, beyond what each does by itself."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pkex._util.indexing import parse_subset
from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.games.functionals import INDICES
from pkex.games.rules import Rule
from pkex.output import frames, html, text
from pkex.output.files import codec, header
from pkex.output.interop import to_shapiq
from pkex.output.plots.accessors import InteractionPlots
from pkex.output.view import features
from pkex.results.base import RowResult, check_sums
from pkex.results.fields import PlotField
from pkex.results.subsets import ByOrder, Interaction, Subset, find_place, list_subsets

if TYPE_CHECKING:
    from pkex.results.totals import PairTotals

__all__ = ["Interaction", "Interactions"]

_OPTIONAL = (
    *("main", "pairs", "triples", "values", "error_bound"),
    *("main_std", "pairs_std", "values_std"),
)
_CODEC = codec.Codec(
    "Interactions",
    2,
    (
        codec.ABOUT,
        codec.Kernels(),
        codec.Entries(
            index=header.one_of(*INDICES),
            removal=header.as_text,
            max_order=header.as_count,
            subsets=header.optional(header.as_players),
            explained=header.as_text,
            additivity_error=header.as_number,
            row_index=header.optional(header.as_index),
        ),
        codec.Rules(optional=True),
        codec.FloatArrays(("base_values", "predictions"), _OPTIONAL, finite=True),
        codec.CellTable(optional=True),
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(RowResult):
    """Exact interactions of features, returned by `Explainer.interactions`.

    Parameters
    ----------
    about : About
        What all results have, e.g. `index`, `feature_names`, `feature_groups` and `removal`.
    max_order : int
        The largest order. k-SII, STII, FSII and FBII of lower orders depend on it.
    base_values, predictions : array of shape (n_rows,) or (n_rows, n_outputs)
        The value of the empty set (FBII fits another than the base value), and what is explained.
    additivity_error : float
        How far base value and values are from the prediction at most; NaN where they do not add up.
    main : array of shape (n_rows, n_features) or (n_rows, n_features, n_outputs), or None
        The values of single features; None where subsets were chosen, as are pairs.
    pairs, triples : array of shape (n_rows, n_features, n_features, ...), (n_rows, n_triples, ...)
        Of pairs: symmetric, full (not halved), with a diagonal of 0. Of triples: in the order of
        ``itertools.combinations``, None unless ``max_order=3``. Several outputs come last.
    subsets, values : tuple of tuples of int and array of shape (n_rows, n_subsets, ...), or None
        The features of chosen subsets, and their values.
    data, explained : array of shape (n_rows, n_columns) or None, and str
        The rows, None for a statistic, and their "prediction", or "MMD^2" or "HSIC".
    error_bound : array of shape (n_rows,) or (n_rows, n_outputs), or None
        Proven: no value of the row is further from the exact one. None for a statistic.
    rules, row_index : tuple of Rule, and pandas.Index or None
        The rules that were used for integrals, and the labels of the rows.
    main_std, pairs_std, values_std : array like `main`, `pairs` and `values`, or None
        Posterior standard deviations of a Gaussian process, with ``return_std=True``.

    See Also
    --------
    pkex.Explainer.interactions : Computes interactions.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
    >>> pkex.Explainer(f).interactions([[0.0, 1.0], [2.0, 1.0]])["x0", "x1"].round(4)
    array([-0.1161,  0.054 ])
    """

    AXES: ClassVar = {
        **dict.fromkeys(("base_values", "predictions", "error_bound"), ("row", "output")),
        **dict.fromkeys(("main", "main_std"), ("row", "feature", "output")),
        **dict.fromkeys(("pairs", "pairs_std"), ("row", "feature", "feature", "output")),
        "triples": ("row", "triple", "output"),
        **dict.fromkeys(("values", "values_std"), ("row", "subset", "output")),
        "data": ("row", "column"),
        "row_index": ("row",),
    }
    SAME: ClassVar = ("max_order", "subsets", "explained")
    VIEWS: ClassVar = (
        lambda self: features.interactions(self, text.LINES),
        lambda self: features.interactions(self, html.LINES, "top() and to_frame()"),
    )
    _FRAME: ClassVar = frames.interactions
    plot = PlotField(InteractionPlots)
    CODEC: ClassVar = _CODEC

    max_order: int
    base_values: Floats
    predictions: Floats
    additivity_error: float
    main: Floats | None = None
    pairs: Floats | None = None
    triples: Floats | None = None
    subsets: tuple[Subset, ...] | None = None
    values: Floats | None = None
    data: NDArray[Any] | None = None
    explained: str = "prediction"
    error_bound: Floats | None = None
    rules: tuple[Rule, ...] = ()
    row_index: Any = None
    main_std: Floats | None = None
    pairs_std: Floats | None = None
    values_std: Floats | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        d, all_features = len(self.feature_names), self.subsets is None
        if all_features != (self.values is None) or all_features == (self.main is None):
            raise ValueError("there are values of all features or of chosen subsets")
        if any(not 0 <= j < d for subset in self.subsets or () for j in subset):
            raise ValueError(f"subsets must consist of features 0 to {d - 1}")

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        return ("triple", comb(len(self.feature_names), 3)), ("subset", len(self.subsets or ()))

    @property
    def efficient(self) -> bool:
        """Whether all orders and the base value sum to what is explained, each pair counted once.

        See Also
        --------
        pkex.Explainer.interactions : Has the choice of the index.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(2), 1.0 + np.eye(2)).interactions().efficient
        True
        """
        return INDICES[self.index].efficient

    @lazy
    def sizes(self) -> Floats:
        """The mean absolute values of pairs over the rows, of shape (n_features, n_features, ...).

        See Also
        --------
        pkex.Interactions.top : The largest ones.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(2), 1.0 + np.eye(2)).interactions().sizes.shape
        (2, 2)
        """
        if self.pairs is None:
            raise ValueError("only chosen subsets were computed; leave out subsets= for all pairs.")
        return np.asarray(np.abs(self.pairs).mean(axis=0))

    def __getitem__(self, key: Any) -> Floats:  # type: ignore[override]  # not a selection
        """Return the values of a subset for all rows: ``interactions["bmi", "s5"]``."""
        parts = key if isinstance(key, tuple | list) else (key,)
        subset = parse_subset(parts, self.feature_names)
        if self.subsets is not None and self.values is not None:
            if subset not in self.subsets:
                names = brief([self.name_of(one) for one in self.subsets])
                raise KeyError(
                    f"{self.name_of(subset)} is not one of the chosen subsets, which are {names}."
                )
            return self.values[:, self.subsets.index(subset)]
        array: Any = {1: self.main, 2: self.pairs, 3: self.triples}.get(len(subset))
        if array is None:
            raise KeyError(
                f"a subset of {len(subset)} features was not computed, as max_order is "
                f"{self.max_order}; ask for subsets=[{subset}]."
            )
        return np.asarray(array[:, *find_place(subset, len(self.feature_names))])

    def top(self, k: int = 10, *, order: int | None = None) -> list[Interaction]:
        """Return the largest interactions by their mean absolute value over the rows.

        Parameters
        ----------
        k : int, default 10
            How many at most.
        order : int, optional
            The number of features; by default 2 or more, or all of chosen subsets.

        Returns
        -------
        list of Interaction
            The largest first. `size` is the mean absolute value, summed over several outputs.

        See Also
        --------
        pkex.Interactions.sizes : The sizes of all pairs.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(2), 1.0 + np.eye(2)).interactions().top(1)[0].features
        ('x0', 'x1')
        """
        if not is_index(k) or k < 0:
            raise ValueError(f"k must be a number of interactions, got {brief(k)}.")
        entries = []
        for size, subset, values in self.by_order(order):
            if order is None and size < 2 and self.subsets is None:
                continue
            sizes, means = np.abs(values).mean(axis=0).sum(axis=1), values.mean(axis=(0, 2))
            for i in np.argsort(-sizes, kind="stable")[:k].tolist():
                names = tuple(self.feature_names[j] for j in subset(i))
                entries.append(Interaction(names, float(means[i]), float(sizes[i])))
        return sorted(entries, key=lambda entry: -entry.size)[:k]

    def totals(self) -> PairTotals:
        """Return the means of all pairs over the rows, and the largest error bound.

        Returns
        -------
        PairTotals
            Number of rows, means and mean absolute values of the pairs, and the bound.

        See Also
        --------
        pkex.Interactions.sizes : The mean absolute values.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(2), 1.0 + np.eye(2)).interactions().totals().n_rows
        1
        """
        from pkex.results.totals import PairTotals

        return PairTotals.of(self)

    def to_shapiq(self, row: int = 0, output: str | int | None = None) -> Any:
        """Return the values of one row as `shapiq.InteractionValues`, for shapiq's plots.

        Parameters
        ----------
        row : int, default 0
            The number of the row.
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        shapiq.InteractionValues
            The values of all orders.

        See Also
        --------
        pkex.Interactions.plot : The plots of pkex.

        Examples
        --------
        These draw a row with shapiq::

            shapiq.network_plot(interaction_values=interactions.to_shapiq(0))
        """
        return to_shapiq(self, row, output)

    def name_of(self, subset: Subset) -> str:
        """Return what to call a subset, as in "bmi & s5".

        Parameters
        ----------
        subset : tuple of int
            The numbers of the features.

        Returns
        -------
        str
            The names of the features.

        See Also
        --------
        pkex.Interactions.to_frame : Names its columns so.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(2), 1.0 + np.eye(2)).interactions().name_of((0, 1))
        'x0 & x1'
        """
        return " & ".join(self.feature_names[j] for j in subset)

    def by_order(self, order: int | None = None) -> ByOrder:
        """Return size, a function from place to subset, and values (rows, subsets, outputs).

        Parameters
        ----------
        order : int, optional
            Only subsets of this size; by default all.

        Returns
        -------
        list of tuple
            One entry for each size, of chosen subsets too.

        See Also
        --------
        pkex.Interactions.top : The largest interactions.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(2), 1.0 + np.eye(2)).interactions().by_order(2)[0][2].shape
        (1, 1, 1)
        """
        n_outputs = self._sizes().get("output", 1)
        return [
            (size, subsets.__getitem__, values.reshape(len(self), len(subsets), n_outputs))
            for size, subsets, values in list_subsets(self)
            if order is None or order == size
        ]

    def _check_sums(self) -> None:
        if self.efficient and np.isfinite(self.additivity_error):
            values = np.concatenate([part for _, _, part in self.by_order()], axis=1)
            base = self.base_values.reshape(len(values), values.shape[2])
            totals, sizes = base + values.sum(axis=1), np.abs(base) + np.abs(values).sum(axis=1)
            predictions = self.predictions.reshape(base.shape)
            check_sums(totals, sizes, 2 * (values.shape[1] + 2), predictions, self.additivity_error)
