"""What `mmd` and `hsic` let a user choose: one value, its checks, and the words that document it.

Signatures spell the parameters out. What they mean is written once, in `PARAMETERS`; a docstring
names them as ``$groups`` and `document` puts in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import cleandoc
from string import Template
from typing import Any, TypeVar

from pkex._util.random import RandomState
from pkex._util.validation import brief, check_count, check_n_jobs, check_tolerance
from pkex.games.players import Groups
from pkex.games.rules import FULL_PRECISION
from pkex.kernels import Kernel
from pkex.statistics.missing import MISSING

__all__ = ["Options", "check_choice", "document", "shared_options"]

Documented = TypeVar("Documented", bound=Callable[..., Any])

ESTIMATORS = ("unbiased", "biased")
REMOVALS = ("product-of-marginals", "neutral")

PARAMETERS = {
    "groups": """\
groups : mapping of name to columns, or sequence of sequences of columns, optional
    Columns that are explained as one feature, as in `Explainer`.""",
    "hierarchy": """\
hierarchy : nested mappings or sequences of features, linkage matrix, or "correlation", optional
    Groups of features, as in `Explainer`: contributions are Owen or Winter values.
    "correlation" clusters the columns of all rows.""",
    "n_permutations": """\
n_permutations : int, default 0
    Number of permutations of the rows for p-values; see Notes. 999 suffice for any number of
    columns.""",
    "missing": """\
missing : {"separate", "drop", "refuse"}
    What to do with missing cells. "separate", the default, takes them as data: whether a cell
    is missing is part of its column, so a change of missingness is a change. "drop" leaves out
    rows with a missing cell. "refuse" raises a ValueError.""",
    "block_size": """\
block_size : int, optional
    Cut the rows at random into disjoint blocks of about this many rows, and return the mean
    over the blocks with its standard error. For samples beyond about 20 000 rows, as the time
    grows with the square of their size.""",
    "tol": """\
tol : float, optional
    Accepted relative error per pair; full double precision by default.""",
    "random_state": """\
random_state : int, Generator, RandomState or None
    For permutations and random choices of rows. Contributions without them do not depend on it.""",
    "n_jobs": """\
n_jobs : int or None, default -1
    Number of threads as in joblib.""",
    "progress": """\
progress : bool, default False
    Whether to show a progress bar on long runs; needs tqdm.""",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """The parameters that `mmd` and `hsic` share, checked; see their docstrings."""

    kernel: Kernel | str | None = None
    removal: str = "product-of-marginals"
    estimator: str = "unbiased"
    groups: Groups | None = None
    hierarchy: Any = None
    missing: str = "separate"
    n_permutations: int = 0
    block_size: int | None = None
    tol: float | None = None
    random_state: RandomState = None
    n_jobs: int | None = -1
    progress: bool = False
    alpha: float = 0.05
    """Of the verdict: it says how often a column is permuted by itself."""

    def __post_init__(self) -> None:
        check_choice(self.missing, "missing", MISSING)
        check_choice(self.estimator, "estimator", ESTIMATORS)
        check_choice(self.removal, "removal", REMOVALS)
        check_count(self.n_permutations, "n_permutations", 0)
        check_n_jobs(self.n_jobs)
        object.__setattr__(self, "tol", check_tolerance(self.tol, FULL_PRECISION))


def shared_options(estimator: object) -> dict[str, Any]:
    """Return those parameters of an estimator of scikit-learn that are options as well."""
    names = [option.name for option in fields(Options) if option.name != "alpha"]
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def document(documented: Documented) -> Documented:
    """Put the words of `PARAMETERS` into a docstring."""
    if documented.__doc__ is not None:  # python -OO leaves none
        text = Template(cleandoc(documented.__doc__))
        documented.__doc__ = text.safe_substitute(PARAMETERS) + "\n"
    return documented


def check_choice(value: object, name: str, options: tuple[str, ...], other: str = "") -> None:
    """Refuse what is none of some names."""
    if not isinstance(value, str) or value not in options:
        *known, last = [*map(repr, options), *([other] if other else [])]
        raise ValueError(f"{name} must be {', '.join(known)} or {last}; got {brief(value)}.")
