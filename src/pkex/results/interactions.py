"""`Interactions`: what features do together, beyond what each does alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.indexing import subset_of
from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.games.functionals import INDICES
from pkex.games.rules import Rule
from pkex.output import frames, html, text
from pkex.output.files.archive import Format
from pkex.output.files.codec import ABOUT, CellTable, Codec, Entries, FloatArrays, Kernels, Rules
from pkex.output.files.header import as_count, as_index, as_number, as_players, as_text, maybe
from pkex.output.files.pieces import one_of
from pkex.output.interop.shapiq import interactions_to_shapiq
from pkex.output.plots.accessors import InteractionPlots
from pkex.output.view import features
from pkex.results.base import Result, check_sums, row_names

if TYPE_CHECKING:
    from pkex.results.totals import PairTotals

__all__ = ["Interaction", "Interactions"]

Subset = tuple[int, ...]
_VALUES = ("main", "pairs", "triples", "values", "error")


class Interaction(NamedTuple):
    """An entry of `Interactions.top`.

    Attributes
    ----------
    players : tuple of str
    mean : float
        The mean of its values over the rows, and over the outputs where there are several.
    size : float
        The mean of their absolute values; over the outputs, their sum.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
    >>> pkex.Explainer(f).interactions([[0.0, 1.0]]).top(1)[0].players
    ('x0', 'x1')
    """

    players: tuple[str, ...]
    mean: float
    size: float


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Result):
    """Exact interactions of features, made by `Explainer.interactions`.

    ``interactions["bmi", "s5"]`` has the values of a pair for every row. Those of a statistic, made
    by `Attribution.interactions`, have one row.

    Attributes
    ----------
    index : str
        Which index: "k-SII", "SII", "STII", "FSII", "BII", "FBII", "Moebius", "Co-Moebius", "CHII".
    max_order : int
        The largest order. k-SII, STII, FSII and FBII of lower orders depend on it.
    main : array of shape (n_rows, n_players) or (n_rows, n_players, n_outputs), or None
        The values of single players; None where subsets were chosen.
    pairs : array of shape (n_rows, n_players, n_players) or with n_outputs last, or None
        The values of pairs, symmetric, full (not halved), with a diagonal of 0.
    triples : array of shape (n_rows, n_triples) or (n_rows, n_triples, n_outputs), or None
        With ``max_order=3`` the values of triples, in the order of ``itertools.combinations``.
    subsets : tuple of tuples of int, or None
        The players of chosen subsets.
    values : array of shape (n_rows, n_subsets) or (n_rows, n_subsets, n_outputs), or None
        The values of chosen subsets.
    base_values : array of shape (n_rows,) or (n_rows, n_outputs)
        The value of the empty set: the base value, but for FBII, which fits its own.
    predictions : array of shape (n_rows,) or (n_rows, n_outputs)
        What is explained.
    efficient : bool
        Whether base value and values of all orders sum to the prediction, each pair counted once.
    residual : float
        How far that sum is from the prediction at most, which was checked to be rounding; NaN where
        values do not add up, or not all are there.
    error : array of shape (n_rows,) or (n_rows, n_outputs), or None
        A proven bound: no value of the row is further than this from what exact arithmetic gives.
        None for a statistic.
    data : array of shape (n_rows, n_columns), or None
        The rows that were explained; None for a statistic.
    feature_names, column_names : tuple of str
        Names of the players and of the columns of `data`.
    players : tuple of tuples of int
        The columns of each player.
    output_names : tuple of str, or None
    removal : str
    absent : str or None
        What an absent feature is, in words.
    whole : str
        What is explained: "prediction", "MMD^2" or "HSIC".
    rules : tuple of Rule
        The rules that were used for integrals.
    row_labels : pandas.Index or None

    Examples
    --------
    >>> import pkex
    >>> points, names = [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]], ["age", "bmi", "bp"]
    >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF(), 0.5, names)
    >>> interactions = pkex.Explainer(f).interactions([[0.0, 1.0, 0.5], [2.0, 1.0, 0.0]])
    >>> interactions["age", "bmi"].round(4)
    array([-0.0979,  0.0228])
    >>> interactions.pairs.shape, interactions.top(1)[0].players
    ((2, 3, 3), ('age', 'bmi'))
    """

    REPORT: ClassVar = "interactions"
    AXES: ClassVar = {
        "base_values": ("row", "output"),
        "predictions": ("row", "output"),
        "error": ("row", "output"),
        "main": ("row", "feature", "output"),
        "pairs": ("row", "feature", "feature", "output"),
        "triples": ("row", "triple", "output"),
        "values": ("row", "subset", "output"),
        "data": ("row", "column"),
        "row_labels": ("row",),
    }
    SAME: ClassVar = ("max_order", "subsets", "whole")
    CODEC: ClassVar = Codec(
        Format("Interactions", 1),
        (
            ABOUT,
            Kernels(),
            Entries(
                {
                    "index": one_of(*INDICES),
                    "removal": as_text,
                    "max_order": as_count,
                    "subsets": maybe(as_players),
                    "whole": as_text,
                    "residual": as_number,
                    "row_labels": maybe(as_index),
                }
            ),
            Rules(optional=True),
            FloatArrays(("base_values", "predictions"), finite=True),
            FloatArrays(
                ("main", "pairs", "triples", "values", "error"), finite=True, optional=True
            ),
            CellTable(optional=True),
        ),
    )

    max_order: int
    base_values: Floats
    predictions: Floats
    residual: float
    main: Floats | None = None
    pairs: Floats | None = None
    triples: Floats | None = None
    subsets: tuple[Subset, ...] | None = None
    values: Floats | None = None
    data: NDArray[Any] | None = None
    whole: str = "prediction"
    error: Floats | None = None
    rules: tuple[Rule, ...] = ()
    row_labels: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        d = len(self.feature_names)
        if (self.subsets is None) != (self.values is None) or (self.subsets is None) == (
            self.main is None
        ):
            raise ValueError("there are values of all players or of chosen subsets")
        if any(not 0 <= j < d for subset in self.subsets or () for j in subset):
            raise ValueError(f"subsets must consist of players 0 to {d - 1}")

    def _sizes(self) -> dict[str, int]:
        d = len(self.about.feature_names)
        triples = d * (d - 1) * (d - 2) // 6
        return super()._sizes() | {"triple": triples, "subset": len(self.subsets or ())}

    def __len__(self) -> int:
        return len(self.base_values)

    def __repr__(self) -> str:
        return text.draw(features.interactions(self, text.LINES))

    def _repr_html_(self) -> str:
        return html.draw(features.interactions(self, html.LINES, "top() and to_frame()"))

    @property
    def index(self) -> str:
        """Which index: "k-SII", "SII" and so on."""
        return self.about.index

    @property
    def efficient(self) -> bool:
        """Whether all orders and the base value sum to what is explained."""
        return INDICES[self.index].efficient

    @property
    def row_names(self) -> tuple[str, ...]:
        """What to call the rows: the labels of `row_labels` as text, or their numbers from 0."""
        return row_names(self.row_labels, len(self))

    @property
    def plot(self) -> InteractionPlots:
        """Plots: ``interactions.plot()`` draws a heat map of the pairs; see `InteractionPlots`.

        Examples
        --------
        ::

            interactions.plot()
            interactions.plot.network()
            interactions.plot.pair("bmi", "s5")
        """
        return InteractionPlots(self)

    @lazy
    def sizes(self) -> Floats:
        """The mean absolute value of each pair over the rows, (n_players, n_players[, n_outputs]).

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f).interactions([[0.0, 1.0], [2.0, 1.0]]).sizes.round(4)
        array([[0.    , 0.0851],
               [0.0851, 0.    ]])
        """
        if self.pairs is None:
            raise ValueError(
                "only chosen subsets are here, so there is no table of all pairs; leave players= "
                "out to have it."
            )
        means: Floats = np.abs(self.pairs).mean(axis=0)
        return means

    def __getitem__(self, key: Any) -> Floats:
        """Return the values of a subset of players, by names or numbers, for all rows.

        ``interactions["bmi"]`` is a single player, ``interactions["bmi", "s5"]`` a pair in any
        order; the result has shape (n_rows,) or (n_rows, n_outputs).

        Raises
        ------
        KeyError
            For a name that is not there, or a subset that was not computed.
        """
        parts = key if isinstance(key, tuple | list) else (key,)
        subset = subset_of(parts, self.feature_names)
        if self.subsets is not None:
            if subset not in self._places:
                raise KeyError(
                    f"{self.name_of(subset)} is none of the chosen subsets, which are "
                    f"{brief([self.name_of(one) for one in self.subsets])}."
                )
            assert self.values is not None
            return self.values[:, self._places[subset]]
        if len(subset) == 1 and self.main is not None:
            return self.main[:, subset[0]]
        if len(subset) == 2 and self.pairs is not None:
            return self.pairs[:, subset[0], subset[1]]
        if len(subset) == 3 and self.triples is not None:
            return self.triples[:, _rank(*subset, len(self.feature_names))]
        raise KeyError(
            f"a subset of {len(subset)} players was not computed, as max_order is "
            f"{self.max_order}; ask for players=[{subset}]."
        )

    def top(self, k: int = 10, *, order: int | None = None) -> list[Interaction]:
        """Return the largest interactions by their mean absolute value over the rows.

        Parameters
        ----------
        k : int, default 10
            How many at most.
        order : int, optional
            The number of players; by default 2 or more, or all of chosen subsets.

        Returns
        -------
        list of Interaction

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF())
        >>> pkex.Explainer(f).interactions([[0.0, 1.0]]).top()
        [Interaction(players=('x0', 'x1'), mean=-0.116..., size=0.116...)]
        """
        if not is_index(k) or k < 0:
            raise ValueError(f"k must be a number of interactions, got {brief(k)}.")
        found: list[tuple[float, float, Subset]] = []
        for size, subsets, values in self.by_order(order):
            if order is None and size < 2 and self.subsets is None:
                continue
            sizes, means = np.abs(values).mean(axis=0).sum(axis=1), values.mean(axis=(0, 2))
            first = np.argsort(-sizes, kind="stable")[:k]
            found += [(float(sizes[i]), float(means[i]), subsets(int(i))) for i in first]
        found.sort(key=lambda entry: -entry[0])
        names = self.feature_names
        return [
            Interaction(tuple(names[j] for j in subset), mean, size)
            for size, mean, subset in found[:k]
        ]

    def totals(self) -> PairTotals:
        """Return the means of all pairs over the rows, and the largest error bound."""
        from pkex.results.totals import PairTotals

        return PairTotals.of(self)

    def to_frame(self, output: str | int | None = None, *, totals: bool = True) -> Any:
        """Return a pandas data frame with one line per row and one column per subset.

        A column is named by its players, as in "bmi & s5".

        Parameters
        ----------
        output : str or int, optional
            Which output. By default all: when there are several, columns have two levels.
        totals : bool, default True
            Whether columns ``base_value`` and ``prediction`` follow.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
        >>> pkex.Explainer(f).interactions([[0.0, 1.0]]).to_frame().round(4)
              x0     x1  x0 & x1  base_value  prediction
        0 -0.158  0.158  -0.1161      2.4357      2.3196
        """
        return frames.interactions_frame(self, output, totals)

    def to_shapiq(self, row: int = 0, output: str | int | None = None) -> Any:
        """Return the values of one row as `shapiq.InteractionValues`, for shapiq's plots.

        Parameters
        ----------
        row : int, default 0
        output : str or int, optional
            Which output; needed when there are several.

        Returns
        -------
        shapiq.InteractionValues

        Examples
        --------
        ::

            values = interactions.to_shapiq(0)
            shapiq.network_plot(interaction_values=values, feature_names=interactions.feature_names)
        """
        return interactions_to_shapiq(self, row, output)

    @lazy
    def _places(self) -> dict[Subset, int]:
        return {subset: place for place, subset in enumerate(self.subsets or ())}

    def name_of(self, subset: Subset) -> str:
        """Return what to call a subset, as in "bmi & s5"."""
        return " & ".join(self.feature_names[j] for j in subset)

    def by_order(self, order: int | None = None) -> list[tuple[int, Any, Floats]]:
        """Return size, a function from place to subset, and values (rows, subsets, outputs).

        Chosen subsets come in one entry for each size.
        """
        d, n_rows = len(self.feature_names), len(self)
        n_outputs = 1 if self.base_values.ndim == 1 else self.base_values.shape[1]
        found: list[tuple[int, Any, Floats]] = []

        def put(size: int, subsets: Sequence[Subset], values: Floats) -> None:
            if order is None or order == size:
                shaped = values.reshape(n_rows, len(subsets), n_outputs)
                found.append((size, subsets.__getitem__, shaped))

        if self.subsets is not None:
            assert self.values is not None
            for size in sorted({len(subset) for subset in self.subsets}):
                some = [place for place, one in enumerate(self.subsets) if len(one) == size]
                put(size, [self.subsets[place] for place in some], self.values[:, some])
            return found
        if self.main is not None:
            put(1, [(j,) for j in range(d)], self.main)
        if self.pairs is not None:
            first, second = np.triu_indices(d, 1)
            both = list(zip(first.tolist(), second.tolist(), strict=True))
            put(2, both, self.pairs[:, first, second])
        if self.triples is not None:
            put(3, list(combinations(range(d), 3)), self.triples)
        return found

    def _check_sums(self) -> None:
        if not self.efficient or not np.isfinite(self.residual):
            return
        totals, sizes, count = self.base_values.copy(), np.abs(self.base_values), 2
        for _, _, values in self.by_order():
            shaped = values.reshape(values.shape[:2] + self.base_values.shape[1:])
            totals = totals + shaped.sum(axis=1)
            sizes = sizes + np.abs(shaped).sum(axis=1)
            count += values.shape[1]
        check_sums(totals, sizes, 2 * count, self.predictions, self.residual)


def _rank(i: int, j: int, k: int, n: int) -> int:
    """Return the place of a triple among all of n players."""

    def pairs(m: int) -> int:
        return m * (m - 1) // 2

    def triples(m: int) -> int:
        return m * (m - 1) * (m - 2) // 6

    before = triples(n) - triples(n - i)
    before += pairs(n - i - 1) - pairs(n - j)
    return before + k - j - 1
