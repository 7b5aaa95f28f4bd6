"""`Explainer`: exact Shapley values of a kernel expansion, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._validation import is_index
from pkex.engine import Sums, shapley_sums
from pkex.errors import AdditivityError
from pkex.expansion import KernelExpansion
from pkex.explanation import Explanation
from pkex.rules import check_tol

__all__ = ["Explainer"]

Floats = NDArray[np.float64]
Column = str | int
Groups = Mapping[str, Iterable[Column]] | Sequence[Iterable[Column]]


class Explainer:
    """Exact Shapley values with neutral removal: an absent feature's kernel factor becomes 1.

    Parameters
    ----------
    model : KernelExpansion
    groups : mapping of name to columns, or sequence of sequences of columns, optional
        Columns, by name or index, that act as one player; every other column is a player of its
        own. A group's value is that of one merged player, not the sum of its columns' values.
    tol : float, optional
        Accepted relative error per pair of points, for a cheaper rule; None, the default, means
        full double precision.
    n_jobs : int or None, default -1
        Number of threads as in joblib; -1 uses all cores.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.0], pkex.kernels.RBF(), 0.5)
    >>> explanation = pkex.Explainer(f)([[0.0, 1.0]])
    >>> explanation.values.round(4)
    array([[-0.6321, -0.3161]])
    >>> explanation.base_values, (explanation.predictions - f.predict([[0.0, 1.0]])).round(12)
    (array([3.5]), array([0.]))
    """

    def __init__(
        self,
        model: KernelExpansion,
        *,
        groups: Groups | None = None,
        tol: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        if not isinstance(model, KernelExpansion):
            raise TypeError(
                f"Explainer needs a pkex.KernelExpansion, got {type(model).__name__}. Build one "
                "from the model's points, coefficients and kernel, e.g. for a fitted SVR: "
                "KernelExpansion(svr.support_vectors_, svr.dual_coef_[0], "
                "RBF.from_gamma(gamma), svr.intercept_)."
            )
        if n_jobs is not None and not is_index(n_jobs):
            raise TypeError(f"n_jobs must be an integer or None, got {n_jobs!r}.")
        joblib.effective_n_jobs(n_jobs)  # refuses 0
        self.expansion = model
        self.players, self.player_names = _players(groups, model.feature_names)
        self.tol = check_tol(tol)
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        return f"Explainer({self.expansion!r}, players={len(self.players)}, tol={self.tol})"

    @property
    def expected_value(self) -> float | Floats:
        """The base value, as shap's explainers name it; one number, or one per output."""
        base = self.expansion.base_value
        return base if base.ndim else float(base)

    def shap_values(self, X: ArrayLike) -> Floats:
        """Return the values alone, shape (n_rows, n_players) or (n_rows, n_players, n_outputs)."""
        return self(X).values

    def __call__(self, X: ArrayLike) -> Explanation:
        """Explain the rows of `X`.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Raises
        ------
        AdditivityError
            When values and base value miss the prediction by more than the certificate of the
            rule and rounding allow.
        """
        expansion = self.expansion
        rows = expansion.check_rows(X)
        alpha = expansion.coefficients
        sums = shapley_sums(
            expansion.kernel.terms(rows.shape[1]),
            self.players,
            rows,
            expansion.points,
            alpha.reshape(len(alpha), -1),
            tol=self.tol,
            n_jobs=self.n_jobs,
        )
        _check_additivity(sums)
        values = sums.values if alpha.ndim == 2 else sums.values[:, :, 0]
        base = np.asarray(expansion.base_value)
        return Explanation(
            values=values,
            base_values=np.broadcast_to(base, (len(rows), *base.shape)).copy(),
            data=rows,
            feature_names=self.player_names,
            column_names=expansion.feature_names,
            players=self.players,
            output_names=expansion.output_names,
            rule=sums.rules[0],
            rules=sums.rules,
            residual=float(np.abs(sums.residual).max()),
        )


def _check_additivity(sums: Sums) -> None:
    wrong = ~(np.abs(sums.residual) <= sums.tolerance)  # so that NaN is wrong, too
    if wrong.any():
        row, output = np.argwhere(wrong)[0]
        raise AdditivityError(
            f"the values of row {row}, output {output} sum to "
            f"{sums.values[row, :, output].sum()!r}, but prediction minus base value is "
            f"{(sums.totals - sums.bases)[row, output]!r}; rounding explains at most "
            f"{sums.tolerance[row, output]:.1e}. Please report this with the kernel and the data."
        )


def _players(
    groups: Groups | None, names: tuple[str, ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """Return the columns and the name of each player, in the order of their first columns."""
    index = {name: i for i, name in enumerate(names)}
    if groups is None:
        named: list[tuple[str | None, Iterable[Column]]] = []
    elif isinstance(groups, Mapping):
        named = list(groups.items())
    elif isinstance(groups, Sequence) and not isinstance(groups, str):
        named = [(None, members) for members in groups]
    else:
        raise TypeError(
            "groups must map names to columns, or be a list of lists of columns; got "
            f"{type(groups).__name__}."
        )
    players: list[tuple[tuple[int, ...], str]] = []
    taken: set[int] = set()
    for name, members in named:
        columns = _group_columns(members, index)
        twice = taken.intersection(columns)
        if twice:
            raise ValueError(
                f"column {names[min(twice)]!r} is in more than one group; a column can belong to "
                "one player only."
            )
        taken.update(columns)
        title = " + ".join(names[c] for c in columns) if name is None else str(name)
        players.append((columns, title))
    players += [((i,), name) for name, i in index.items() if i not in taken]
    players.sort(key=lambda player: min(player[0]))
    titles = tuple(title for _, title in players)
    if len(set(titles)) < len(titles):
        twice_named = next(title for title in titles if titles.count(title) > 1)
        raise ValueError(f"two players are named {twice_named!r}; give the group another name.")
    return tuple(columns for columns, _ in players), titles


def _group_columns(members: Iterable[Column], index: Mapping[str, int]) -> tuple[int, ...]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise TypeError(f"a group must be a list of column names or indices, got {members!r}.")
    columns: list[int] = []
    for member in members:
        if isinstance(member, str):
            if member not in index:
                raise ValueError(
                    f"groups name the column {member!r}; the columns are {list(index)}."
                )
            columns.append(index[member])
        elif is_index(member):
            if not 0 <= member < len(index):
                raise ValueError(
                    f"groups name column {member}, but the columns are numbered 0 to "
                    f"{len(index) - 1}."
                )
            columns.append(int(member))
        else:
            raise TypeError(f"a group's columns must be names or indices, got {member!r}.")
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(f"a group must hold at least one column, each once; got {columns}.")
    return tuple(sorted(columns))
