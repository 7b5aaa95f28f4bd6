"""`MMDDrift`: whether new data differ from reference data, and in which columns."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from pkex._util.floats import default_errstate
from pkex._util.p_values import choose_n_permutations
from pkex._util.random import RandomState, as_generator
from pkex._util.validation import brief, check_number, default_names, is_index, refuse_dask
from pkex.games.players import Groups, parse_groups
from pkex.kernels import Kernel
from pkex.results.attribution import Attribution
from pkex.statistics.missing import MISSING
from pkex.statistics.mmd import Compared, attribute_mmd, compare_tables, p_value_of
from pkex.statistics.options import Options, check_choice, document, shared_options
from pkex.statistics.reference import load_reference, save_reference
from pkex.tables.frames import Table, as_table

__all__ = ["MMDDrift"]


@document
class MMDDrift(BaseEstimator):  # type: ignore[misc]
    """Compare samples with reference data.

    Parameters
    ----------
    kernel : Kernel or {"median-per-column", "median"}, optional
        As in `pkex.mmd`. The median heuristic looks at the reference data and the sample together,
        which keeps the test exact; pass a kernel for a yardstick that is always the same.
    removal : {"product-of-marginals", "neutral"}
        How a column is removed, as in `pkex.mmd`.
    estimator : {"unbiased", "biased"}
        Which estimate of the squared MMD, as in `pkex.mmd`.
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns that are explained as one feature, as in `pkex.mmd`.
    missing : {"separate", "drop", "refuse"}
        What to do with missing cells, as in `pkex.mmd`; "separate", the default, takes them as
        data.
    n_permutations : int, optional
        Number of permutations for the p-values of `detect` and `explain`. By default 999, or as
        many more as a significance level below 0.002 takes.
    block_size : int, optional
        Rows of a block, as in `pkex.mmd`.
    max_reference : int, optional
        Keep at most so many rows of the reference data, chosen at random. The time of a score
        grows with the square of the number of rows.
    random_state : int, Generator, RandomState or None
        For permutations, blocks and the choice of reference rows.
    n_jobs : int or None, default -1
        Number of threads as in joblib.

    Attributes
    ----------
    reference_ : array of shape (n_reference, n_features_in_)
        The reference data: all that is kept of them.
    n_features_in_ : int
        Number of columns of the reference data.
    feature_names_in_ : array of str
        Where the reference data have names.
    categorical_ : tuple of bool
        Which columns hold categories.
    units_ : tuple of str or None
        The units of columns of dates and durations; empty where no column has one.

    See Also
    --------
    mmd : Compare two samples once.
    HSICSelector : Select the columns that a target depends on.

    Notes
    -----
    Widths, scales and frequencies of categories come from the reference data and the sample
    together, so they do not depend on which row belongs to which, and the tests are exact. What
    depends on labels alone is computed: of more than 1024 rows so many, those of the sample among
    them, exchange their labels, and sums over pairs of other rows, which are the same for all
    permutations, are left out by `detect`. So a smaller sample never takes longer, and no matrix of
    all pairs is kept: `detect` takes tens of megabytes besides the data.

    `save` writes a file without pickle, which `load` reads. It can also be saved as other
    estimators of scikit-learn are, for example with joblib.

    Examples
    --------
    >>> import numpy as np
    >>> import pkex
    >>> rng = np.random.default_rng(0)
    >>> drift = pkex.MMDDrift(random_state=0).fit(rng.normal(size=(200, 3)))
    >>> new = rng.normal(size=(100, 3))
    >>> new[:, 2] *= 2.0
    >>> drift.detect(new)
    True
    >>> attribution = drift.explain(new)
    >>> attribution.feature_names[attribution.ranking[0]], bool(attribution.p_values[2] < 0.01)
    ('x2', True)
    >>> bool(np.isclose(drift.score(new), attribution.statistic))
    True
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        *,
        removal: str = "product-of-marginals",
        estimator: str = "unbiased",
        groups: Groups | None = None,
        missing: str = "separate",
        n_permutations: int | None = None,
        block_size: int | None = None,
        max_reference: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.kernel = kernel
        self.removal = removal
        self.estimator = estimator
        self.groups = groups
        self.missing = missing
        self.n_permutations = n_permutations
        self.block_size = block_size
        self.max_reference = max_reference
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> MMDDrift:  # noqa: ARG002
        """Keep the reference data.

        Parameters
        ----------
        X : data frame or array of shape (n_reference, n_columns)
            The reference data.
        y : object
            Ignored.

        Returns
        -------
        MMDDrift
            The estimator itself.

        See Also
        --------
        detect : Test whether a sample differs.

        Examples
        --------
        >>> import numpy as np
        >>> import pkex
        >>> rng = np.random.default_rng(0)
        >>> pkex.MMDDrift().fit(rng.normal(size=(50, 2))).reference_.shape
        (50, 2)
        """
        table = self._table(X, reset=True)
        if len(table) < 2:
            raise ValueError("X has 1 row; at least 2 are needed as a reference.")
        wanted = self.max_reference
        if wanted is not None and (not is_index(wanted) or wanted < 2):
            raise ValueError(
                f"max_reference must be an integer of at least 2, got {brief(wanted)}."
            )
        parse_groups(self.groups, table.names)  # refuses columns that are not there
        if wanted is not None and len(table) > wanted:
            rows = as_generator(self.random_state).choice(len(table), wanted, replace=False)
            table = table.take(np.sort(rows))
        return self._keep(table)

    def _keep(self, table: Table) -> MMDDrift:
        """Keep reference data."""
        self.reference_ = table.cells
        self.categorical_ = table.categorical
        self._labels = table.labels
        self.units_ = table.units
        self.n_features_in_ = len(table.names)
        if table.labels == table.names:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _reference(self) -> Table:
        """Return the reference data."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        titles = default_names("x", self.n_features_in_) if names is None else tuple(names)
        units = getattr(self, "units_", ())  # one that an earlier version pickled has none
        return Table(self.reference_, titles, self.categorical_, self._labels, units)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator and its reference data to a file, without pickle.

        Parameters
        ----------
        path : str or path
            Name of the file; an existing one is replaced. It holds the reference data.

        See Also
        --------
        load : Read the file.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> import pkex
        >>> rng = np.random.default_rng(0)
        >>> drift = pkex.MMDDrift(random_state=0).fit(rng.normal(size=(50, 2)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     drift.save(os.path.join(folder, "reference.npz"))
        ...     again = pkex.MMDDrift.load(os.path.join(folder, "reference.npz"))
        >>> new = rng.normal(size=(20, 2))
        >>> again.explain(new).p_value == drift.explain(new).p_value
        True
        """
        save_reference(self, self._reference(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MMDDrift:
        """Return the estimator that `save` wrote to a file.

        Parameters
        ----------
        path : str or path
            Name of the file.

        Returns
        -------
        MMDDrift
            The estimator, fitted.

        See Also
        --------
        save : Write the file.

        Examples
        --------
        ::

            pkex.MMDDrift.load("reference.npz").detect(batch)
        """
        parameters, table = load_reference(path)
        return cls(**parameters)._keep(table)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the squared MMD between `X` and the reference data; large when they differ.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            With the columns of the reference data. Those of a data frame are taken by name, in any
            order; others are left out.
        y : object
            Ignored.

        Returns
        -------
        float
            The statistic, without a test.

        See Also
        --------
        detect : Test whether the sample differs.
        explain : Attribute the difference to the columns.

        Examples
        --------
        >>> import numpy as np
        >>> import pkex
        >>> rng = np.random.default_rng(0)
        >>> drift = pkex.MMDDrift().fit(rng.normal(size=(50, 2)))
        >>> drift.score(rng.normal(size=(50, 2))) < drift.score(rng.normal(3.0, size=(50, 2)))
        True
        """
        return self._compare(X, n_permutations=0).statistic

    def detect(self, X: Any, alpha: float = 0.05) -> bool:
        """Test whether `X` differs from the reference data, by permutations.

        It differs in all features together or in one of them alone: see `Attribution.p_value`.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            With the columns of the reference data. Those of a data frame are taken by name, in any
            order; others are left out.
        alpha : float, default 0.05
            The significance level: how often the test is wrong where nothing differs.

        Returns
        -------
        bool
            The verdict that ``explain(X, alpha=alpha)`` gives in words.

        See Also
        --------
        explain : Attribute the difference to the columns.
        score : Return the statistic without a test.

        Examples
        --------
        >>> import numpy as np
        >>> import pkex
        >>> rng = np.random.default_rng(0)
        >>> drift = pkex.MMDDrift(random_state=0).fit(rng.normal(size=(50, 2)))
        >>> drift.detect(rng.normal(3.0, size=(50, 2)), alpha=0.01)
        True
        """
        level, count = _level(alpha), self._permutations(alpha)
        if not is_index(count) or (count + 1) * level < 1.0 - 1e-9:
            needed = math.ceil(1.0 / level - 1e-9) - 1
            raise ValueError(
                f"n_permutations is {brief(count)}; a p-value of {level:g} needs at least {needed} "
                "permutations."
            )
        return self._p_value(X, count) <= level

    def explain(self, X: Any, *, alpha: float = 0.05, progress: bool = False) -> Attribution:
        """Attribute the difference between `X` and the reference data to the columns.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            With the columns of the reference data. Those of a data frame are taken by name, in any
            order; others are left out.
        alpha : float, default 0.05
            The significance level of the verdict in the result's text, plots and reports.
        progress : bool, default False
            Whether to show a progress bar on long runs.

        Returns
        -------
        Attribution
            The verdict with its ``p_value``, the ``statistic``, and the ``contributions`` and
            ``p_values`` of the columns. The reference data are the first sample.

        See Also
        --------
        detect : Return the verdict alone, which takes less time.

        Examples
        --------
        >>> import numpy as np
        >>> import pkex
        >>> rng = np.random.default_rng(0)
        >>> drift = pkex.MMDDrift(random_state=0).fit(rng.normal(size=(50, 2)))
        >>> attribution = drift.explain(rng.normal([0.0, 3.0], size=(50, 2)))
        >>> attribution.feature_names[attribution.ranking[0]]
        'x1'
        """
        check_is_fitted(self)
        level, count = _level(alpha), self._permutations(alpha)
        attribution = self._compare(X, n_permutations=count, progress=progress, alpha=level)
        return replace(attribution, alpha=level)

    def _permutations(self, alpha: float) -> Any:
        """Return how many permutations to test with, the same for `detect` and `explain`."""
        if self.n_permutations is not None:
            return self.n_permutations
        return choose_n_permutations(1, alpha)

    def _table(self, X: Any, *, reset: bool) -> Table:
        """Return the rows; arrays are first checked as scikit-learn checks them, in its words."""
        refuse_dask(X, "X")
        if not hasattr(X, "columns") and len(getattr(X, "shape", ())) == 2:
            fewest = 2 if reset else 1
            options = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": fewest}
            X = validate_data(self, X, reset=reset, accept_sparse=("csr", "csc"), **options)
        check_choice(self.missing, "missing", MISSING)
        return as_table(X, "X", missing=self.missing != "refuse")

    @default_errstate
    def _p_value(self, X: Any, n_permutations: int) -> float:
        return p_value_of(*self._ready(X, n_permutations=n_permutations))

    @default_errstate
    def _compare(self, X: Any, **chosen: Any) -> Attribution:
        return attribute_mmd(*self._ready(X, **chosen))

    def _ready(self, X: Any, **chosen: Any) -> tuple[Compared, Options]:
        """Return the reference data with a sample, and the options of the comparison."""
        reference = self._reference()
        options = Options(**shared_options(self) | chosen)
        sample = self._table(X, reset=False)
        if self._labels is not None:
            sample = sample.by_name(self._labels, "X")
        return compare_tables(reference, sample, options, ("the reference", "X")), options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "refuse"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _level(alpha: float) -> float:
    """Return a significance level; raise where it is not one."""
    level = check_number(alpha, "alpha")
    if not 0.0 < level < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {brief(alpha)}.")
    return level
