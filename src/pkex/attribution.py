"""`Attribution`: a statistic of samples, split into the shares of its columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkex._floats import usual_errors
from pkex._interop import optional
from pkex._lazy import lazy
from pkex._selection import Axis, select
from pkex._validation import brief
from pkex.estimate import Alone, BlockMean, ColumnTests
from pkex.kernels import Kernel
from pkex.rules import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pkex.plots import AttributionDisplay

__all__ = ["Attribution"]

Floats = NDArray[np.float64]

_TIE = 1e-9  # relative difference below which a permuted statistic counts as equal
_BAND = (0.025, 0.975)  # quantiles of the null band
_LINES = 8  # players shown in a terminal
_NAMES = 5  # players named in a remark
_WORDS = {
    "MMD^2": {
        "neutral": "neutral removal charges a column for being looked at: one that did not change "
        "has a share below 0 when others changed; removal='marginal' averages absent columns out.",
        "involved": "a share, but no change alone: involved, as the relation to other columns "
        "changed.",
        "negative": "a change alone, but a share below 0: the other columns show more without it.",
    },
    "HSIC": {
        "neutral": "neutral removal charges a column for being looked at: one that the target does "
        "not depend on has a share below 0 when there are others; removal='marginal' averages "
        "absent columns out.",
        "involved": "a share, but no dependence alone: involved, as the target depends on it "
        "together with other columns.",
        "negative": "a dependence alone, but a share below 0: the other columns show more without "
        "it.",
    },
}


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
        HSIC. (The kernel of an `Explanation` is text.)
    samples : tuple of two arrays
        X and Z, or X and y, as they were passed.
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
    samples: tuple[NDArray[Any], NDArray[Any]]
    sample_names: tuple[str, ...]
    target_kernel: Kernel | None
    _source: BlockMean
    _alone: Alone | None
    _column_tests: ColumnTests | None

    @property
    def total(self) -> float:
        """The statistic."""
        return float(self.values.sum())

    @property
    def n_rows(self) -> tuple[int, ...]:
        """Rows of X and Z, or of X."""
        first, second = self.samples
        return (len(first), len(second)) if self.target_kernel is None else (len(first),)

    @property
    def n_permutations(self) -> int:
        """Number of permutations."""
        return 0 if self.null_values is None else len(self.null_values)

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
        return self._source.each_alone() if self._alone is None else self._alone.values

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
        return None if self.p_alone is None else _holm(self.p_alone)

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
        return None if self.p_values is None else _holm(self.p_values)

    @lazy
    def p_bh(self) -> Floats | None:
        """The p-values of the players, adjusted by the method of Benjamini and Hochberg."""
        if self.p_values is None:
            return None
        from scipy.stats import false_discovery_control  # slow to import

        adjusted: Floats = false_discovery_control(self.p_values)
        return adjusted

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
        return self._source.row_values()

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
        return self._source.value(self._numbers(subset))

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
        return self._source.component(self._numbers(subset))

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
        words = _WORDS[self.statistic]
        found = [words["neutral"]] if self.removal == "neutral" else []
        if self.removal == "marginal" and self.p_holm is not None and self.p_alone_holm is not None:
            share, alone = self.p_holm <= alpha, self.p_alone_holm <= alpha
            for chosen, sentence in (
                (share & ~alone, words["involved"]),
                (alone & (self.values < 0.0), words["negative"]),
            ):
                if chosen.any():
                    found.append(f"{self._listed(chosen)}: {sentence}")
        if self.n_test_rows is not None and self.n_test_rows < sum(self.n_rows):
            found.append(
                f"columns were permuted alone on {self.n_test_rows} of {sum(self.n_rows)} rows."
            )
        return found

    def _listed(self, chosen: NDArray[np.bool_]) -> str:
        names = [self.feature_names[i] for i in self.order if chosen[i]]
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        return ", ".join(names[:_NAMES]) + more

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
        pandas = optional("pandas", "pandas")
        columns: dict[str, Floats | None] = {"value": self.values}
        columns["standard_error"] = self.standard_errors
        if self.null_band is not None:
            columns["null_low"], columns["null_high"] = self.null_band
        columns |= {"p_value": self.p_values, "p_holm": self.p_holm, "p_bh": self.p_bh}
        columns |= {"alone": self.alone, "p_alone": self.p_alone}
        columns["p_alone_holm"] = self.p_alone_holm
        there = {name: column for name, column in columns.items() if column is not None}
        index = pandas.Index(self.feature_names, name="feature")
        return pandas.DataFrame(there, index=index).iloc[self.order]

    def plot(
        self, ax: Axes | None = None, *, max_display: int = 20, marginals: int = 3
    ) -> AttributionDisplay:
        """Draw the values as bars over their null bands, with the marginals of the top columns.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw the bars alone; by default a new figure has the marginals beside them.
        max_display : int, default 20
            How many players to show at most.
        marginals : int, default 3
            Of how many columns of the players with the largest values to show the distribution.

        Returns
        -------
        AttributionDisplay
            With ``ax_``, ``figure_`` and ``marginal_axes_``.
        """
        from pkex.plots import AttributionDisplay

        return AttributionDisplay(self).plot(ax, max_display=max_display, marginals=marginals)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        details: Mapping[str, object] | None = None,
        sample_names: tuple[str, str] | None = None,
        alpha: float = 0.05,
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

        Examples
        --------
        >>> import os, tempfile, numpy as np, pkex
        >>> attribution = pkex.mmd(np.eye(4), 1.0 - np.eye(4), n_permutations=19)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     attribution.report(os.path.join(folder, "report.html"))
        ...     os.listdir(folder)
        ['report.html']
        """
        from pkex.report import write

        write(self, path, title=title, details=details, sample_names=sample_names, alpha=alpha)

    def __repr__(self) -> str:
        rows = " + ".join(map(str, self.n_rows))
        count = len(self.players)
        facts = [
            f"{self.statistic} = {self.total:.4g}",
            self.estimator,
            f"{rows} rows",
            f"{count} player{'s' if count != 1 else ''}",
        ]
        if self.standard_error is not None:
            facts[0] += f" ± {self.standard_error:.2g}"
        if self.p_value is not None:
            facts.append(f"p = {self.p_value:.2g}")
        lines = [f"Attribution({', '.join(facts)})", f"  {self.absent}"]
        shown = self.order[:_LINES]
        cells = [["", "share"], *([self.feature_names[i], f"{self.values[i]:+.4g}"] for i in shown)]
        for p, values in (
            (self.p_holm, None),
            (self.p_alone_holm, None if self._alone is None else self._alone.values),
        ):
            if values is not None:
                cells[0].append("alone")
                for line, i in zip(cells[1:], shown, strict=True):
                    line.append(f"{values[i]:+.4g}")
            if p is not None:
                cells[0].append("p")
                for line, i in zip(cells[1:], shown, strict=True):
                    line.append(f"{p[i]:.2g}")
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for line in cells:
            padded = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
            lines.append(f"  {'  '.join(padded)}".rstrip())
        if len(self.players) > _LINES:
            lines.append(f"  and {len(self.players) - _LINES} more; see to_frame()")
        if self.p_values is not None and len(self.players) > 1:
            lines.append(f"  p-values adjusted by Holm for {len(self.players)} players")
        return "\n".join(lines + [f"  {remark}" for remark in self.remarks()])

    def _numbers(self, subset: Iterable[str | int]) -> list[int]:
        if isinstance(subset, str) or not isinstance(subset, Iterable):
            raise TypeError(f"a subset is a list of players, e.g. [0, 2]; got {brief(subset)}.")
        chosen = list(subset)
        if not chosen:
            return []
        [found] = select(chosen, [Axis("feature", len(self.players), self.feature_names)])
        return sorted({int(i) for i in found})


def _holm(p_values: Floats) -> Floats:
    """Return p-values adjusted by Holm's method, which bounds the chance of any false alarm.

    >>> _holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values)
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted


def _p_values(values: Any, null: Floats, rounding: Any) -> Any:
    """Return ``(k + 1) / (B + 1)`` for each column of `null`, equal values counted in k."""
    slack = np.maximum(_TIE * np.maximum(np.abs(values), np.abs(null).max(axis=0)), rounding)
    exceeding = (null >= values - slack).sum(axis=0)
    return (exceeding + 1.0) / (len(null) + 1.0)
