"""`Attribution`: a statistic of samples, split into the shares of its columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pkex._util.floats import usual_errors
from pkex._util.indexing import Axis, select
from pkex._util.lazy import lazy
from pkex._util.types import Floats
from pkex._util.validation import brief
from pkex.games.rules import Rule
from pkex.output import frames, html, text
from pkex.output.files.archive import Format
from pkex.output.files.codec import ABOUT, Codec, Entries, FloatArrays, KernelEntries, Rules
from pkex.output.files.header import (
    as_count,
    as_counts,
    as_flags,
    as_names,
    as_number,
    as_text,
    maybe,
)
from pkex.output.files.pieces import one_of
from pkex.output.plots.accessors import AttributionPlots
from pkex.output.view import attribution as view
from pkex.results.interactions import Interactions
from pkex.results.tested import Tested

__all__ = ["Attribution", "Recomputation", "describe_removal"]


_OPTIONAL = (
    "null_values",
    "alone_values",
    "alone_null_values",
    "alone_rounding",
    "standard_errors",
)


def _as_level(value: Any) -> float:
    level = 0.05 if value is None else as_number(value)
    if not 0.0 < level < 1.0:
        raise ValueError(f"alpha is {level}")
    return level


class Recomputation(Protocol):
    """What an attribution computes from its samples when it is asked."""

    def each_alone(self) -> Floats:
        """Return the statistic of each feature by itself."""

    def row_values(self) -> Floats:
        """Return the contribution of every row to every value."""

    def value(self, subset: Sequence[int]) -> float:
        """Return the statistic with some features present."""

    def component(self, subset: Sequence[int]) -> float:
        """Return a component of the functional decomposition."""

    def interactions(
        self, attribution: Any, index: str, max_order: int, subsets: Any, progress: bool
    ) -> Interactions:
        """Return the interactions of the features of an attribution."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Tested):
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
        Of the verdict, from permuted labels or targets: is anything there, in all players together
        or in one alone? None without permutations. `verdict` says it in words, `significant` names
        the features.
    p_statistic : float or None
        Of the statistic of all players together, which is one half of that question.
    alpha : float
        The significance level of the verdict, unless a method is given another.
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
    error : float or None
        How far each value, and `total`, may be from exact ones for the numbers as stored: proven,
        by the rules' certificates and by rounding. None in a result of an old file.

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
    Attribution(MMD^2 = 0.0816, unbiased, 100 + 120 rows, 2 features, error <= ...)
      Drift detected, p = 0.005 (alpha = 0.05); MMD² = 0.0816 (p = 0.005).
      Significant feature: x1.
      absent columns: averaged over all pairs of different rows of both samples
          share      p     alone      p
      x1  +0.08292   0.01  +0.1231    0.01
      x0  -0.001319  0.57  -0.002238  0.55
      p-values of features adjusted by Holm for 2 features
    """

    REPORT: ClassVar = "attribution"
    AXES: ClassVar = {
        "values": ("feature",),
        "rounding": ("feature",),
        "null_values": ("permutation", "feature"),
        "alone_values": ("feature",),
        "alone_null_values": ("permutation", "feature"),
        "alone_rounding": ("feature",),
        "test_p_values": ("feature",),
        "standard_errors": ("feature",),
    }
    CODEC: ClassVar = Codec(
        # version 2: the p-value is that of the verdict; files do not hold the samples
        Format("Attribution", 2),
        (
            ABOUT,
            KernelEntries(("kernel", "target_kernel")),
            Entries(
                {
                    "statistic": one_of("MMD^2", "HSIC"),
                    "estimator": as_text,
                    "removal": one_of("marginal", "neutral"),
                    "standard_error": maybe(as_number),
                    "categorical": as_flags,
                    "block_size": maybe(as_count),
                    "residual": as_number,
                    "sample_names": as_names,
                    "alpha": _as_level,
                    "error": maybe(as_number),
                    "n_rows": as_counts,
                    "n_test_rows": maybe(as_count),
                    "total": as_number,
                }
            ),
            Rules(),
            FloatArrays(("values", "rounding"), finite=True),
            FloatArrays(_OPTIONAL, finite=True, optional=True, keys={"alone_values": "alone"}),
            FloatArrays(("test_p_values",), finite=True, gaps=True, optional=True),
        ),
    )

    estimator: str = "unbiased"
    block_size: int | None = None
    residual: float = 0.0
    rules: tuple[Rule, ...] = ()
    categorical: tuple[bool, ...] = ()
    samples: tuple[NDArray[Any], NDArray[Any]] | None = None
    sample_names: tuple[str, ...] = ()
    error: float | None = None
    source: Recomputation | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        two_samples = self.statistic == "MMD^2"
        if two_samples != (self.target_kernel is None):
            raise ValueError("a target has a kernel, and two samples have no target")
        if (self.test_p_values is None) != (self.n_test_rows is None):
            raise ValueError("test_p_values and n_test_rows go together")
        for name, entries, count in (
            ("categorical", self.categorical, len(self.column_names)),
            ("n_rows", self.n_rows, 2 if two_samples else 1),
            ("sample_names", self.sample_names, 2 if two_samples else len(self.sample_names) or 1),
        ):
            if len(entries) != count:
                raise ValueError(f"{name} must have {count} entries, got {brief(entries)}.")

    def _sizes(self) -> dict[str, int]:
        sizes = {"feature": len(self.about.feature_names)}
        return sizes if self.null_values is None else sizes | {"permutation": len(self.null_values)}

    @classmethod
    def _from_fields(cls, found: dict[str, Any]) -> Self:
        kernel, total = found.pop("kernel"), found.pop("total")
        if kernel is None:
            raise ValueError("it lacks 'kernel'")
        if found["absent"] is None:  # of version 1
            two_samples, blocks = found["target_kernel"] is None, found["block_size"] is not None
            found["absent"] = describe_removal(found["removal"], two_samples, blocks)
        result = super()._from_fields(found | {"kernels": (kernel,)})
        size = 2.0 * len(result.values) * np.finfo(np.float64).eps * np.abs(result.values).sum()
        if not abs(result.total - total) <= size:
            raise ValueError(f"the values add up to {result.total:.6g}, not to {total:.6g}")
        return result

    @property
    def rule(self) -> Rule:
        """The rule with the largest proven error."""
        return self.rules[0]

    @property
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
        values = self.alone_values
        if values is None:
            values = self.recomputation("the statistic of each player alone").each_alone()
            object.__setattr__(self, "alone_values", values)
        return values

    @property
    def knows_alone(self) -> bool:
        """Whether `alone` is there or can be computed."""
        return self.source is not None or self.alone_values is not None

    @property
    def absent(self) -> str:
        """What it means that a column is absent, in words."""
        return f"absent columns: {self.about.absent}"

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
        return self.recomputation("the shares of rows").row_values()

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
        return self.recomputation("the value of a subset").value(self._numbers(subset))

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
        return self.recomputation("the component of a subset").component(chosen)

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
        source = self.recomputation("interactions")
        return source.interactions(self, index, max_order, players, progress)

    def remarks(self, alpha: float | None = None) -> list[str]:
        """Return what to know before reading the shares, in sentences; often none.

        Under neutral removal a caution. Where the verdict is positive, which players have a share
        but did not change alone, and the other way round, at the significance level `alpha` (that
        of the result by default) after Holm's correction; and on how many rows columns were
        permuted, where these are not all.

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
        return view.remarks(self, self.alpha if alpha is None else alpha)

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
        alpha: float | None = None,
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
        alpha : float, optional
            The significance level of the verdict; that of the result by default.
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
        super().save(path)

    def __repr__(self) -> str:
        return text.draw(view.attribution(self, text.LINES))

    def _repr_html_(self) -> str:
        return html.draw(view.attribution(self, html.LINES))

    def recomputation(self, what: str) -> Recomputation:
        """Return what the attribution was computed from, or say that it is not there."""
        if self.source is None:
            raise ValueError(
                f"this attribution was loaded from a file, which does not hold the samples: {what} "
                "cannot be computed; make the attribution again with pkex.mmd or pkex.hsic."
            )
        return self.source

    def _numbers(self, subset: Iterable[str | int]) -> list[int]:
        if isinstance(subset, str) or not isinstance(subset, Iterable):
            raise TypeError(f"a subset is a list of players, e.g. [0, 2]; got {brief(subset)}.")
        chosen = list(subset)
        if not chosen:
            return []
        [found] = select(chosen, [Axis("feature", len(self.players), self.feature_names)])
        return sorted({int(i) for i in found})


def describe_removal(removal: str, two_samples: bool, blocks: bool) -> str:
    """Return what a removed column is replaced by in a statistic."""
    if removal == "neutral":
        return "their kernel factor becomes 1 (the paper's game)"
    rows = "all pairs of different rows"
    rows += " of both samples" if two_samples else ""
    return f"averaged over {rows}{' of a block' if blocks else ''}"
