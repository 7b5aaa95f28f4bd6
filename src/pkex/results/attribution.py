"""`Attribution`: a statistic of samples, split into the contributions of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pkex._util.validation import brief
from pkex.games.rules import Rule
from pkex.kernels.data import from_data
from pkex.output import frames, html
from pkex.output.files import codec, header
from pkex.output.files.header import as_number, each, one_of, optional, with_default
from pkex.output.plots.accessors import AttributionPlots
from pkex.output.view import attribution as view
from pkex.results.base import Details, PathLike
from pkex.results.family import MEMBERS
from pkex.results.fields import PlotField
from pkex.results.interactions import Interactions
from pkex.results.recomputed import Recomputation, Recomputed

__all__ = ["Attribution", "describe_removal"]


_OPTIONAL = (
    *("null_values", "univariate_values", "univariate_null_values", "univariate_rounding"),
    *("standard_errors", "member_values", "member_null_values", "member_rounding"),
)
_CODEC = codec.Codec(
    # version 2: the p-value is that of the verdict; files do not hold the samples
    "Attribution",
    3,
    (
        codec.ABOUT,
        codec.Entries(
            kernel=optional(from_data),
            target_kernel=optional(from_data),
            statistic_name=one_of("MMD^2", "HSIC"),
            estimator=header.as_text,
            removal=one_of("product-of-marginals", "neutral"),
            standard_error=optional(as_number),
            categorical=each(header.as_flag),
            block_size=optional(header.as_count),
            additivity_error=as_number,
            sample_names=header.as_names,
            alpha=header.as_level,
            error_bound=optional(as_number),
            n_rows=each(header.as_count),
            n_test_rows=optional(header.as_count),
            statistic=as_number,
            member_names=with_default(each(one_of(*MEMBERS)), ()),
            new_categories=header.as_lists,
            lost_categories=header.as_lists,
            column_units=with_default(each(optional(header.as_text)), ()),
        ),
        codec.Rules(),
        codec.FloatArrays(("values", "rounding"), _OPTIONAL, finite=True),
        codec.FloatArrays(optional=("test_p_values",), finite=True, gaps=True),
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Recomputed):
    """Exact contributions of features to MMD or HSIC, returned by `pkex.mmd` and `pkex.hsic`.

    Parameters
    ----------
    about : About
        What all results have: `feature_names` (columns, or groups of columns), `column_names`,
        `feature_groups` (the columns of each feature), `removal` ("product-of-marginals" or
        "neutral"), `background_info` (what removed columns are replaced by) and `kernel`.
    statistic_name : {"MMD^2", "HSIC"}
        The name of the statistic.
    values : array of shape (n_features,)
        The contribution of each feature to the statistic.
    rounding : array of shape (n_features,)
        How far apart values may be that are equal up to rounding; for ties in the p-values.
    n_rows : tuple of int
        Rows of the samples: of X and Z, or of X.
    null_values : array of shape (n_permutations, n_features) or None
        The values under the permutations.
    univariate_values : array of shape (n_features,) or None
        What `univariate` returns; None until it is computed.
    univariate_null_values : array of shape (n_permutations, n_features) or None
        The same under the permutations.
    univariate_rounding : array of shape (n_features,) or None
        As `rounding`, of the univariate values.
    test_p_values : array of shape (n_features,) or None
        By permuting only the columns of a feature, under product-of-marginals removal.
    n_test_rows : int or None
        On how many rows these were permuted; None where they were not.
    standard_error : float or None
        Of `statistic`, over the blocks of the block estimator.
    standard_errors : array of shape (n_features,) or None
        Of `values`, likewise.
    target_kernel : Kernel or None
        The kernel of the target of HSIC. It can be called and passed on, as `kernel`.
    alpha : float
        The significance level of the verdict, unless a method is given another.
    member_names : tuple of str
        The joint statistics of the family of the verdict; see `detected_by`.
    member_values, member_null_values, member_rounding : arrays or None
        These statistics, the same under the permutations, and as `rounding`.
    estimator : {"unbiased", "biased"}
        The estimator of the statistic.
    block_size : int or None
        The rows of a block of the block estimator.
    additivity_error : float
        How far the sum of the values is from the statistic computed directly, which was checked to
        be rounding.
    rules : tuple of Rule
        The rules that were used for integrals, as in `Explanation`.
    categorical : tuple of bool
        Which columns hold categories.
    samples : tuple of two arrays, or None
        X and Z, or X and y, as they were passed; None in an attribution that was loaded, as files
        do not hold them.
    sample_names : tuple of str
        Names of the two samples, or of the columns of y.
    new_categories, lost_categories : dict of str to tuple of str
        For MMD, by column, the categories that only the second or only the first sample has.
    column_units : tuple of str or None
        The units of dates and durations, for each column; empty where there are none.
    error_bound : float or None
        How far each value, and `statistic`, may be from exact ones for the numbers as stored:
        proven, from the errors of the rules and from rounding. None in a result of an old file.
    source : Recomputation or None
        What computes values from the samples when asked; None in an attribution that was loaded.

    Attributes
    ----------
    statistic : float
        The statistic, which the values sum to.
    p_value : float or None
        Of the verdict, from permuted labels or targets: is anything there, in all features together
        or in one by itself? `verdict` says it in words, `significant` names the features.
    p_members, detected_by : dict of str to float, and str, or None
        The p-values of the tests that it is made of, and the one that speaks most clearly.
    p_statistic : float or None
        Of the statistic of all features together.
    p_values : array of shape (n_features,) or None
        Of each value: the larger of that by the same permutations and of `test_p_values`.
    p_adjusted, p_bh : arrays of shape (n_features,) or None
        The same adjusted for their number: by step-down maxima and Holm, which bound the chance of
        any false alarm, and by Benjamini and Hochberg, who bound the fraction of false ones among
        the alarms.
    univariate : array of shape (n_features,)
        The statistic of each feature by itself.
    p_univariate, p_univariate_adjusted : arrays of shape (n_features,) or None
        Of `univariate`, from the permutations of labels or targets, plain and adjusted by step-down
        maxima.
    null_statistics : array of shape (n_permutations,) or None
        The statistic under the permutations.

    See Also
    --------
    pkex.mmd : Contributions of features to the difference of two samples.
    pkex.hsic : Contributions of features to the dependence of a target.

    Notes
    -----
    A contribution and a univariate change answer different questions. A significant contribution
    without a univariate change means that the column's dependence on others changed. A column that
    changed by itself contributes as well. In rare cases its contribution is small or negative,
    because the others separate the samples better without it.

    A file that `save` writes holds the values, the permutations and how they were computed, but not
    the samples. What is computed when first asked for, as `univariate` without permutations, is in
    it if it was asked for before.

    Examples
    --------
    >>> import numpy as np, pkex
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(100, 2)), rng.normal(size=(120, 2))
    >>> Z[:, 1] += 1.0
    >>> pkex.mmd(X, Z, n_permutations=199, random_state=0)
    Attribution(MMD^2 = 0.0816, unbiased, 100 + 120 rows, 2 features, error bound ...)
      Drift detected in x1, p = 0.005 (alpha = 0.05); MMD² = 0.0816 (p = 0.005).
      x1: higher values; mean from ...
      background: all pairs of different rows of both samples
          contribution  p (adjusted)  univariate  p (adjusted)
      x1      +0.08292          0.01     +0.1231         0.005
      x0      -0.00132          0.57     -0.0022          0.55
      p-values of features adjusted for 2 features

    A file does not hold the samples:

    >>> import os, tempfile
    >>> attribution = pkex.mmd(np.eye(4), 1.0 - np.eye(4), n_permutations=19, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     attribution.save(os.path.join(folder, "attribution.npz"))
    ...     again = pkex.Attribution.load(os.path.join(folder, "attribution.npz"))
    >>> repr(again) == repr(attribution)
    True
    >>> again.value([0])
    Traceback (most recent call last):
    ValueError: this attribution was loaded from a file, which does not store the samples, ...
    """

    AXES: ClassVar = {
        **dict.fromkeys(("values", "univariate_values", "standard_errors"), ("feature",)),
        **dict.fromkeys(("rounding", "univariate_rounding", "test_p_values"), ("feature",)),
        **dict.fromkeys(("null_values", "univariate_null_values"), ("permutation", "feature")),
        **dict.fromkeys(("member_values", "member_rounding"), ("member",)),
        "member_null_values": ("permutation", "member"),
    }
    VIEWS: ClassVar = (view.attribution, lambda self: view.attribution(self, html.LINES))
    _FRAME: ClassVar = frames.attribution
    plot = PlotField(AttributionPlots)
    CODEC: ClassVar = _CODEC

    estimator: str = "unbiased"
    block_size: int | None = None
    additivity_error: float = 0.0
    rules: tuple[Rule, ...] = ()
    categorical: tuple[bool, ...] = ()
    samples: tuple[NDArray[Any], NDArray[Any]] | None = None
    sample_names: tuple[str, ...] = ()
    new_categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lost_categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    column_units: tuple[str | None, ...] = ()
    error_bound: float | None = None
    source: Recomputation | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        two_samples = self.statistic_name == "MMD^2"
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

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        members = ("member", len(self.member_names))
        known = self.null_values is not None
        return (("permutation", self.n_permutations), members) if known else (members,)

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        kernel, total = values.pop("kernel"), values.pop("statistic")
        if kernel is None:
            raise ValueError("it lacks 'kernel'")
        if values["background_info"] is None:  # of version 1
            two_samples, blocks = values["target_kernel"] is None, values["block_size"] is not None
            values["background_info"] = describe_removal(values["removal"], two_samples, blocks)
        result = super()._from_fields(values | {"kernels": (kernel,)})
        size = 2.0 * len(result.values) * np.finfo(np.float64).eps * np.abs(result.values).sum()
        if not abs(result.statistic - total) <= size:
            raise ValueError(f"the values add up to {result.statistic:.6g}, not to {total:.6g}")
        return result

    @property
    def rule(self) -> Rule:
        """The rule with the largest proven error.

        See Also
        --------
        pkex.Attribution.error_bound : The proven error of the values.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> pkex.mmd(np.eye(4), 1.0 - np.eye(4)).rule.family
        'gauss-legendre'
        """
        return self.rules[0]

    def remarks(self, alpha: float | None = None) -> list[str]:
        """Return what to know before reading the contributions, in sentences; often none.

        A note under neutral removal. Where the verdict is positive, which features contribute but
        did not change by themselves, and the other way round, by adjusted p-values; and on how
        many rows columns were permuted, where these are not all.

        Parameters
        ----------
        alpha : float, optional
            The significance level; that of the result by default.

        Returns
        -------
        list of str
            The sentences.

        See Also
        --------
        pkex.Attribution.verdict : The verdict in words.

        Examples
        --------
        Two columns lost their dependence, though neither changed by itself:

        >>> import numpy as np, pkex
        >>> rng = np.random.default_rng(1)
        >>> X, Z = rng.normal(size=(2, 300, 3))
        >>> X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        >>> print(*pkex.mmd(X, Z, n_permutations=199, random_state=0).remarks())
        x1, x0: significant contribution without a univariate change: the dependence on ...
        """
        return view.remarks(self, self.alpha if alpha is None else alpha)

    def group_values(self, level: int = 1) -> dict[str, float]:
        """Return the contributions of groups of a hierarchy: sums over their features.

        Factors are averaged by column, so ``groups=`` gives others, with p-values.

        Parameters
        ----------
        level : int, default 1
            How many groups deep to look, as in `Explanation.group_values`.

        Returns
        -------
        dict of str to float
            The contribution of each group, and of features that are in none.

        See Also
        --------
        pkex.mmd : Takes the hierarchy.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> X, Z = np.random.default_rng(0).normal(size=(2, 50, 3))
        >>> list(pkex.mmd(X, Z, hierarchy={"a": ["x0", "x1"]}).group_values())
        ['a', 'x2']
        """
        return self.about.sum_groups(self.values, level)

    def report(
        self,
        path: PathLike,
        *,
        title: str | None = None,
        details: Details = None,
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
            Those of the attribution, `interactions()`: a section shows which columns interact.

        See Also
        --------
        pkex.mmd : Contributions of features to the difference of two samples.
        pkex.hsic : Contributions of features to the dependence of a target.

        Examples
        --------
        >>> import os, tempfile, numpy as np, pkex
        >>> attribution = pkex.mmd(np.eye(4), 1.0 - np.eye(4), n_permutations=19)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     attribution.report(os.path.join(folder, "report.html"))
        ...     os.listdir(folder)
        ['report.html']
        """
        options = {"sample_names": sample_names, "alpha": alpha, "interactions": interactions}
        self._write_report(path, title=title, details=details, **options)


def describe_removal(removal: str, two_samples: bool, blocks: bool) -> str:
    """Return what a removed column is replaced by in a statistic."""
    if removal == "neutral":
        return "none; the kernel factor of a removed feature is 1 (neutral)"
    rows = "all pairs of different rows"
    rows += " of both samples" if two_samples else ""
    return f"{rows}{' of a block' if blocks else ''}"
