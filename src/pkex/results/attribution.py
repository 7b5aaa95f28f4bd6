"""`Attribution`: a statistic of samples, split into the shares of its columns."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.floats import usual_errors
from pkex._util.indexing import Axis, select
from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.games.rules import Rule
from pkex.kernels import Kernel
from pkex.output import frames, html, text
from pkex.output.files import attribution as files
from pkex.output.plots.accessors import AttributionPlots
from pkex.statistics.block_mean import BlockMean, ColumnTests, UnivariateStatistics
from pkex.statistics.many_tests import holm, p_of_any, step_up

if TYPE_CHECKING:
    from pkex.results.interactions import Interactions

__all__ = ["Attribution"]


_TIE = 1e-9  # relative difference below which a permuted statistic counts as equal
_MANY_ROWS = 20  # of which there are more permutations than anybody draws
_BAND = (0.025, 0.975)  # quantiles of the null band


@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """The exact Shapley values of the columns for MMD or HSIC, made by `pkex.mmd` and `pkex.hsic`.

    Attributes
    ----------
    values : array of shape (n_players,)
        The share of each player in the statistic.
    total : float
        The statistic, which the values sum to.
    removal : {"marginal", "neutral"}
        What it means that a column is absent; `absent` says it in words.
    p_value : float or None
        Of the statistic, from permuted labels or targets; None without permutations.
    p_values : array of shape (n_players,) or None
        Of each value: the larger of that by the same permutations and, under marginal removal, of
        that by permuting the player's columns alone. Not adjusted for their number.
    p_holm, p_bh : arrays of shape (n_players,) or None
        The same adjusted for their number: by Holm, who bounds the chance of any false alarm, and
        by Benjamini and Hochberg, who bound the share of false ones among the alarms.
    n_test_rows : int or None
        On how many rows columns were permuted alone; None where they were not.
    alone : array of shape (n_players,)
        The statistic of each player by itself. With the median heuristic its kernel is as wide as
        suits it by itself; a kernel that was given is used as it is.
    p_any : float or None
        Of the question whether anything is there: in all players together, or in one alone.
    p_alone, p_alone_holm : arrays of shape (n_players,) or None
        Of `alone`, from the permutations of labels or targets, plain and adjusted by Holm.
    null_values : array of shape (n_permutations, n_players) or None
        The values under the permutations.
    null_totals : array of shape (n_permutations,) or None
    statistic : {"MMD^2", "HSIC"}
    estimator : {"unbiased", "biased"}
    n_rows : tuple of int
        Rows of the samples: of X and Z, or of X.
    n_permutations : int
    block_size : int or None
    standard_error, standard_errors : float, array of shape (n_players,), or None
        Of `total` and of `values`, over the blocks of the block estimator.
    feature_names : tuple of str
        Names of the players: columns, or groups of columns.
    column_names : tuple of str
    categorical : tuple of bool
        Which columns hold categories.
    players : tuple of tuples of int
        The columns of each player.
    kernel, target_kernel : Kernel
        The kernels in use, which can be called and passed on; there is a target kernel only for
        HSIC.
    samples : tuple of two arrays, or None
        X and Z, or X and y, as they were passed; None in an attribution that was loaded, as files
        do not hold them.
    sample_names : tuple of str
        Names of the two samples, or of the columns of y.
    rule, rules : Rule, tuple of Rule
        As in `Explanation`.
    rounding : array of shape (n_players,)
        How far apart values may be that are equal but for rounding; for ties in the p-values.
    residual : float
        How far the values' sum is from the statistic computed directly, which was checked to be
        rounding.

    Notes
    -----
    A share and a change alone answer different questions. A player with a share but no change of
    its own is *involved*: its relation to other columns changed. One that changed alone has a
    share, too, but for rare cases in which it is small or even negative, as the others tell the
    samples apart better without it.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(100, 2)), rng.normal(size=(120, 2))
    >>> Z[:, 1] += 1.0
    >>> pkex.mmd(X, Z, n_permutations=199, random_state=0)
    Attribution(MMD^2 = 0.0816, unbiased, 100 + 120 rows, 2 players, p = 0.005)
      absent columns: averaged over all pairs of different rows of both samples
          share      p     alone      p
      x1  +0.08292   0.01  +0.1231    0.01
      x0  -0.001319  0.57  -0.002238  0.55
      p-values adjusted by Holm for 2 players
    """

    statistic: str
    estimator: str
    removal: str
    values: Floats
    null_values: Floats | None
    standard_error: float | None
    standard_errors: Floats | None
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    categorical: tuple[bool, ...]
    players: tuple[tuple[int, ...], ...]
    kernel: Kernel
    block_size: int | None
    rounding: Floats
    residual: float
    rule: Rule
    rules: tuple[Rule, ...]
    samples: tuple[NDArray[Any], NDArray[Any]] | None
    sample_names: tuple[str, ...]
    target_kernel: Kernel | None
    _source: BlockMean | None  # None after loading, as `samples`
    _alone: UnivariateStatistics | None
    _column_tests: ColumnTests | None
    _n_rows: tuple[int, ...] | None = None  # of samples that are not there

    @property
    def total(self) -> float:
        """The statistic."""
        return float(self.values.sum())

    @property
    def n_rows(self) -> tuple[int, ...]:
        """Rows of X and Z, or of X."""
        if self.samples is None:
            return self._n_rows or ()
        first, second = self.samples
        return (len(first), len(second)) if self.target_kernel is None else (len(first),)

    @property
    def n_permutations(self) -> int:
        """Number of permutations."""
        return 0 if self.null_values is None else len(self.null_values)

    @property
    def _n_relabellings(self) -> int:
        """How many different permutations there are, of which the most extreme one is one."""
        if self.target_kernel is not None:
            return math.factorial(min(self.n_rows[0], _MANY_ROWS))
        first, second = (min(count, _MANY_ROWS) for count in self.n_rows)
        return math.comb(first + second, first) // (2 if first == second else 1)

    @lazy
    def null_totals(self) -> Floats | None:
        """The statistic under the permutations."""
        return None if self.null_values is None else self.null_values.sum(axis=1)

    @lazy
    def p_value(self) -> float | None:
        """The p-value of the statistic."""
        if self.null_totals is None:
            return None
        return float(_p_values(self.total, self.null_totals, self.rounding.sum()))

    @lazy
    def p_values(self) -> Floats | None:
        """The p-values of the values of the players."""
        if self.null_values is None:
            return None
        p: Floats = _p_values(self.values, self.null_values, self.rounding)
        # what was not tested by itself is NaN, which fmax leaves out
        return p if self._column_tests is None else np.fmax(p, self._column_tests.p_values)

    @property
    def n_test_rows(self) -> int | None:
        """On how many rows columns were permuted alone."""
        return None if self._column_tests is None else self._column_tests.n_rows

    @lazy
    @usual_errors
    def alone(self) -> Floats:
        """The statistic of each player by itself; computed when asked, without permutations.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(0)
        >>> X, Z = rng.normal(size=(100, 2)), rng.normal(size=(120, 2))
        >>> Z[:, 1] += 1.0
        >>> alone = pkex.mmd(X, Z).alone
        >>> bool(np.isclose(alone[1], pkex.mmd(X[:, 1:], Z[:, 1:]).total))
        True
        """
        if self._alone is not None:
            return self._alone.values
        return self._data_for("the statistic of each player alone").each_alone()

    @property
    def _knows_alone(self) -> bool:
        """Whether `alone` is there or can be computed."""
        return self._source is not None or self._alone is not None or "alone" in self.__dict__

    @lazy
    def p_alone(self) -> Floats | None:
        """The p-values of `alone`."""
        if self._alone is None:
            return None
        by_itself = self._alone
        p: Floats = _p_values(by_itself.values, by_itself.null_values, by_itself.rounding)
        return p

    @lazy
    def p_alone_holm(self) -> Floats | None:
        """The p-values of `alone`, adjusted by Holm's method."""
        return None if self.p_alone is None else holm(self.p_alone)

    @lazy
    def p_any(self) -> float | None:
        """The p-value of the question whether anything is there, in all players or in one alone.

        One player among many is diluted in the statistic of all of them, whose p-value is
        `p_value`. Here the smallest p-value of players alone counts as much; its own chance to be
        small comes from the same permutations, so that this is one test.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(1).normal(size=(2, 100, 30))
        >>> Z[:, 4] += 0.8
        >>> found = pkex.mmd(X, Z, n_permutations=1199, random_state=0)
        >>> found.p_value > 0.1, found.p_any < 0.01
        (True, True)
        """
        alone, totals = self._alone, self.null_totals
        if alone is None or totals is None:
            return None
        return p_of_any(
            np.concatenate([[self.total], totals]),
            np.vstack([alone.values, alone.null_values]),
            np.concatenate(
                [
                    [_slack(self.total, totals, self.rounding.sum())],
                    _slack(alone.values, alone.null_values, alone.rounding),
                ]
            ),
        )

    @property
    def absent(self) -> str:
        """What it means that a column is absent, in words."""
        if self.removal == "neutral":
            return "absent columns: their kernel factor becomes 1 (the paper's game)"
        rows = "all pairs of different rows"
        rows += " of both samples" if self.target_kernel is None else ""
        rows += " of a block" if self.block_size is not None else ""
        return f"absent columns: averaged over {rows}"

    @lazy
    def p_holm(self) -> Floats | None:
        """The p-values of the players, adjusted by Holm's method."""
        return None if self.p_values is None else holm(self.p_values)

    @lazy
    def p_bh(self) -> Floats | None:
        """The p-values of the players, adjusted by the method of Benjamini and Hochberg."""
        return None if self.p_values is None else step_up(self.p_values)

    @lazy
    def null_band(self) -> Floats | None:
        """Where 95 % of the null values of each player lie, shape (2, n_players)."""
        if self.null_values is None:
            return None
        band: Floats = np.quantile(self.null_values, _BAND, axis=0)
        return band

    @property
    def order(self) -> NDArray[np.intp]:
        """The players, the largest value first."""
        return np.argsort(-self.values, kind="stable")

    @lazy
    @usual_errors
    def row_values(self) -> Floats:
        """The share of every row in every value, shape (n_rows, n_players); computed when asked.

        The rows are those of X and then, for MMD, those of Z. Each pair of rows is shared equally
        by the two, so the columns sum to `values`.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(0)
        >>> X, Z = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
        >>> Z[:10, 1] += 4.0
        >>> shares = pkex.mmd(X, Z).row_values[50:, 1]
        >>> bool(shares[:10].mean() > 0.0 > shares[10:].mean())
        True
        """
        return self._data_for("the shares of rows").row_values()

    @usual_errors
    def value(self, subset: Iterable[str | int]) -> float:
        """Return the statistic with some players present and the others absent.

        Under neutral removal that is the statistic of these players alone, under marginal removal
        times the mean factors of the others.

        Parameters
        ----------
        subset : iterable of names or numbers of players
            The empty one has the value 0, all players together `total`.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.linspace(-1.0, 1.0, 20)
        >>> attribution = pkex.hsic(np.column_stack([x, x**2]), x**2)
        >>> bool(attribution.value(["x1"]) > attribution.value(["x0"]))
        True
        >>> bool(np.isclose(attribution.value(["x0", "x1"]), attribution.total))
        True
        """
        return self._data_for("the value of a subset").value(self._numbers(subset))

    @usual_errors
    def component(self, subset: Iterable[str | int]) -> float:
        """Return what some players contribute together, beyond what smaller subsets do.

        These are the components of the functional decomposition (Theorems 2 and 3 of the paper):
        those of all subsets sum to `total`, and those of the subsets of S to ``value(S)``.

        Parameters
        ----------
        subset : iterable of names or numbers of players

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.linspace(-1.0, 1.0, 20)
        >>> attribution = pkex.hsic(np.column_stack([x, x**2]), x**2)
        >>> parts = [attribution.component(subset) for subset in ([0], [1], [0, 1])]
        >>> bool(np.isclose(sum(parts), attribution.total))
        True
        """
        chosen = self._numbers(subset)
        return self._data_for("the component of a subset").component(chosen)

    @usual_errors
    def interactions(
        self,
        index: str = "k-SII",
        max_order: int = 2,
        *,
        players: Iterable[Any] | None = None,
        progress: bool = False,
    ) -> Interactions:
        """Return which columns make up the statistic together, exactly.

        A change of the dependence between two columns shows as their pair, which shares alone
        cannot say. There are no p-values of pairs.

        Parameters
        ----------
        index, max_order, players, progress
            As in `Explainer.interactions`.

        Returns
        -------
        Interactions
            Of one row, whose `predictions` are the statistic.

        Examples
        --------
        Two columns lost their dependence:

        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(1)
        >>> X, Z = rng.normal(size=(2, 200, 4))
        >>> X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        >>> pkex.mmd(X, Z).interactions().top(1)[0].players
        ('x0', 'x1')
        """
        from pkex.explain.interactions import of_statistic

        return of_statistic(self, index, max_order, players, progress)

    def remarks(self, alpha: float = 0.05) -> list[str]:
        """Return what to know before reading the shares, in sentences; often none.

        Under neutral removal a caution. With permutations, which players have a share but did not
        change alone, and the other way round, at the level `alpha` after Holm's correction; and on
        how many rows columns were permuted, where these are not all.

        Examples
        --------
        Two columns that lost their dependence are involved, though neither changed by itself:

        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(1)
        >>> X, Z = rng.normal(size=(2, 300, 3))
        >>> X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        >>> print(*pkex.mmd(X, Z, n_permutations=199, random_state=0).remarks())
        x1, x0: a share, but no change alone: involved, as the relation to other columns changed.
        """
        return text.remarks(self, alpha)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per player, the largest value first.

        Its columns are ``value``; ``standard_error`` with blocks; with permutations ``null_low``
        and ``null_high``, between which 95 % of the null values lie, ``p_value``, and the p-values
        adjusted for their number: ``p_holm`` (Holm, family-wise error) and ``p_bh`` (Benjamini and
        Hochberg, false discovery rate); ``alone``, the statistic of the player by itself, and with
        permutations ``p_alone`` and ``p_alone_holm``.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.linspace(-1.0, 1.0, 20)
        >>> attribution = pkex.hsic(np.column_stack([x, x**2]), x**2, n_permutations=99)
        >>> list(attribution.to_frame().columns)[:6]
        ['value', 'null_low', 'null_high', 'p_value', 'p_holm', 'p_bh']
        >>> list(attribution.to_frame().columns)[6:]
        ['alone', 'p_alone', 'p_alone_holm']
        """
        return frames.attribution_frame(self)

    @property
    def plot(self) -> AttributionPlots:
        """Plots: ``attribution.plot()`` draws bars over null bands; see `AttributionPlots`.

        Examples
        --------
        ::

            attribution.plot(max_display=10, marginals=2)
            attribution.plot.marginals()
        """
        return AttributionPlots(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        details: Mapping[str, object] | None = None,
        sample_names: tuple[str, str] | None = None,
        alpha: float = 0.05,
        interactions: Interactions | None = None,
    ) -> None:
        """Write a report that opens in a browser: one HTML file, written whole or not at all.

        Parameters
        ----------
        path : str or path
            Name of the file; an existing one is replaced.
        title : str, optional
            Heading of the report.
        details : mapping of str to anything, optional
            Facts that the attribution does not know, shown as text.
        sample_names : tuple of two str, optional
            What to call the samples of MMD, such as ``("last month", "today")``.
        alpha : float, default 0.05
            The level of the test, for what the report calls more than chance explains.
        interactions : Interactions, optional
            Those of the attribution, `interactions()`: a section shows which columns act together.

        Examples
        --------
        >>> import os, tempfile, numpy as np, pkex
        >>> attribution = pkex.mmd(np.eye(4), 1.0 - np.eye(4), n_permutations=19)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     attribution.report(os.path.join(folder, "report.html"))
        ...     os.listdir(folder)
        ['report.html']
        """
        from pkex.output.report import write

        write(
            self,
            path,
            title=title,
            details=details,
            sample_names=sample_names,
            alpha=alpha,
            interactions=interactions,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the attribution to a file, which `load` reads; as `Explanation.save` does.

        The file holds the values, the permutations and all that says how they were made, but not
        the samples. What is computed when first asked for, as `alone` without permutations, is in
        it if it was asked for before.

        Examples
        --------
        >>> import os, tempfile, numpy as np, pkex
        >>> attribution = pkex.mmd(np.eye(4), 1.0 - np.eye(4), n_permutations=19, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     attribution.save(os.path.join(folder, "attribution.npz"))
        ...     again = pkex.Attribution.load(os.path.join(folder, "attribution.npz"))
        >>> repr(again) == repr(attribution)
        True
        >>> again.value([0])
        Traceback (most recent call last):
        ValueError: this attribution was loaded from a file, which does not hold the samples: ...
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Attribution:
        """Return the attribution that `save` wrote to `path`; as `Explanation.load` does.

        It has no samples, so what is computed from them raises a ValueError: `row_values`, `value`,
        `component`, the marginals of columns, and `alone` where it was not computed before. A
        report leaves out what it lacks and says so.
        """
        return files.load(cls, path)

    def __repr__(self) -> str:
        return text.attribution_text(self)

    def _repr_html_(self) -> str:
        return html.attribution_html(self)

    def _data_for(self, what: str) -> BlockMean:
        """Return what the attribution was computed from, or say that it is not there."""
        if self._source is None:
            raise ValueError(
                f"this attribution was loaded from a file, which does not hold the samples: {what} "
                "cannot be computed; make the attribution again with pkex.mmd or pkex.hsic."
            )
        return self._source

    def _numbers(self, subset: Iterable[str | int]) -> list[int]:
        if isinstance(subset, str) or not isinstance(subset, Iterable):
            raise TypeError(f"a subset is a list of players, e.g. [0, 2]; got {brief(subset)}.")
        chosen = list(subset)
        if not chosen:
            return []
        [found] = select(chosen, [Axis("feature", len(self.players), self.feature_names)])
        return sorted({int(i) for i in found})


def _p_values(values: Any, null: Floats, rounding: Any) -> Any:
    """Return ``(k + 1) / (B + 1)`` for each column of `null`, equal values counted in k."""
    exceeding = (null >= values - _slack(values, null, rounding)).sum(axis=0)
    return (exceeding + 1.0) / (len(null) + 1.0)


def _slack(values: Any, null: Floats, rounding: Any) -> Any:
    """Return the differences up to which numbers count as equal."""
    return np.maximum(_TIE * np.maximum(np.abs(values), np.abs(null).max(axis=0)), rounding)
