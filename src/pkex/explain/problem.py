"""`Problem`: a model, what of it is explained, and how; an `Explainer` makes one and asks it.

It is a value: nothing in it changes after it was made, and it can be sent to another process. What
follows from it, such as the games of the model's parts, is found once, when first asked for. The
backend is not a part of it: plans find that of the process they are in, by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkex._util.cells import is_number
from pkex._util.floats import UNIT
from pkex._util.lazy import lazy
from pkex._util.sparse import is_sparse
from pkex._util.types import Floats, Players
from pkex._util.validation import first_rows
from pkex.errors import PrecisionWarning
from pkex.explain.background_columns import dependence_of
from pkex.explain.fitted import FittedModel
from pkex.games.conditional_points import ConditionalBackground, ConditionalPoints
from pkex.games.hierarchy import Hierarchy
from pkex.games.measures import Shapley
from pkex.games.plan import Plan
from pkex.games.points import Background, WeightedPoints
from pkex.games.protocols import Measure
from pkex.games.sums import RowSums
from pkex.kernels.algebra import Kernel
from pkex.models.expansion import KernelExpansion
from pkex.models.noise import Noise
from pkex.models.preparation import combine_columns, prepare_groups, select_columns
from pkex.models.removal import make_backgrounds
from pkex.models.sums import add_base_values, result_names
from pkex.readers.reading import check_agreement, warn_user, without_name_warning
from pkex.results.about import About

if TYPE_CHECKING:
    from pkex.explain.sparse import SparseGames
    from pkex.models.conditional import ConditionalModel

__all__ = ["PreparedRows", "Problem", "warn_of_noise"]


_SHAPLEY = Shapley()
_CHECKED = 5  # rows of every call whose prediction is compared with the model's own


class PreparedRows(NamedTuple):
    """The rows of a call.

    Attributes
    ----------
    rows : table
        The columns of the model, as the user has them.
    table : table
        The rows after the steps that combine columns.
    parts : list of arrays, or of CSR arrays
        The rows as each part of the expansion has them.
    labels : index or None
        The labels of the rows of a pandas frame.
    sparse : bool
        Whether the parts are sparse.
    transformed : bool
        Whether the model transforms columns.
    """

    rows: Any
    table: Any
    parts: list[Any]
    labels: Any
    sparse: bool
    transformed: bool

    @property
    def data(self) -> NDArray[Any]:
        """The rows as a result shows them."""
        return _as_data(self.table) if self.transformed else self.parts[0]


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, what of it is explained, and how.

    Attributes
    ----------
    model : FittedModel
    feature_groups : tuple of tuples of int
        The columns of each feature.
    feature_names : tuple of str
    removal : str or None
        How features are removed; None where none are, as in a sensitivity analysis.
    background_info : str or None
        What a removed feature is replaced by, in words.
    backgrounds : sequence of Background, Scenarios or None
        For each part of the expansion the rows that removed features are taken from, with weights;
        None where kernel factors become 1. Scenarios, which are sparse, for a model that
        `stays_sparse`.
    given : (table, weights, bool), optional
        The background as it came, for a model that stays sparse: dense rows need a dense one.
    semivalue : Measure
        The semivalue, or the hierarchy, whose values are asked for.
    tol : float or None
        Accepted relative error per pair of points; None is full precision.
    background : table, optional
        The background as it came, for a model that prepares columns: grids are in its units.
    has_background : bool
        Whether a background was given.
    conditional : ConditionalModel, optional
        The model of dependence of conditional removal.
    hierarchy : Hierarchy, optional
        That of the features; the semivalue then follows from it.
    weighted : bool
        Whether weights of the background were given.
    """

    model: FittedModel
    feature_groups: Players
    feature_names: tuple[str, ...]
    removal: str | None = None
    background_info: str | None = None
    backgrounds: Sequence[Any] = ()
    given: tuple[Any, Floats | None, bool] | None = None
    semivalue: Measure = _SHAPLEY
    tol: float | None = None
    background: Any = None
    has_background: bool = False
    conditional: ConditionalModel | None = None
    hierarchy: Hierarchy | None = None
    weighted: bool = False

    @lazy
    def expansion(self) -> KernelExpansion:
        """The model as a kernel expansion."""
        return self.model.expansion

    @lazy
    def games(self) -> list[Any]:
        """The games of each part for dense rows."""
        backgrounds = self.backgrounds
        if self.given is not None:
            assert self.removal is not None
            _, backgrounds = make_backgrounds(self.expansion, self.removal, *self.given)
        pairs = zip(self.expansion.parts, backgrounds, strict=True)
        games = [self._games_of(part, background) for part, background in pairs]
        for each in games:
            each.prepare()
        return games

    def _games_of(
        self, part: KernelExpansion, background: Background | None
    ) -> WeightedPoints | ConditionalPoints:
        """Return the games of a part: a feature has all columns made from its input columns."""
        terms, powers = part.kernel.normal_form(part.shape[1], self.tol)
        conditional = isinstance(background, ConditionalBackground)
        plan = Plan.of(
            terms,
            prepare_groups(part, self.feature_groups),
            self.tol,
            measure=self.semivalue,
            general=background is not None,
            apart=not conditional,
            powers=powers,
        )
        if isinstance(background, ConditionalBackground):
            return ConditionalPoints(plan, part.points, part.alpha, background)
        return WeightedPoints(plan, part.points, part.alpha, background)

    @lazy
    def sparse_games(self) -> SparseGames | None:
        """The games of sparse rows; None where the model does not stay sparse."""
        if self.given is None:
            return None
        from pkex.explain.sparse import SparseGames

        return SparseGames(self)

    @lazy
    def base_value(self) -> Floats:
        """The value of the empty coalition in the games of dense rows, () or (n_outputs,)."""
        return add_base_values(self.expansion, self.games)

    @lazy
    def intercept(self) -> Floats:
        """The sum of the intercepts of all parts, shape () or (n_outputs,)."""
        return np.asarray(np.sum([part.intercept for part in self.expansion.parts], axis=0))

    @lazy
    def intercept_error(self) -> Floats:
        """What adding intercepts to base and prediction costs, shape (n_outputs,)."""
        sizes = [np.abs(part.intercept).reshape(-1) for part in self.expansion.parts]
        cost: Floats = 12.0 * UNIT * np.sum(sizes, axis=0)
        return cost

    @lazy
    def kernels(self) -> tuple[Kernel, ...]:
        """The different kernels of the parts."""
        kernels: list[Kernel] = []
        for part in self.expansion.parts:
            kernels += [part.kernel] if part.kernel not in kernels else []
        return tuple(kernels)

    @lazy
    def noise(self) -> Noise:
        """What rounding may hide in the values of dense rows."""
        pairs = zip([games.background for games in self.games], self.expansion.parts, strict=True)
        return Noise(self.expansion, [part.points if b is None else b.rows for b, part in pairs])

    @lazy
    def about(self) -> About:
        """What all results for this problem share."""
        classes = self.model.classes
        return About(
            self.feature_names,
            self.expansion.feature_names,
            self.feature_groups,
            self.expansion.output_names,
            self.removal,
            self.background_info,
            self.kernels,
            self.semivalue.index,
            self.semivalue.efficient,
            classes=None if classes is None else classes.labels,
            output_classes=None if classes is None else classes.output_classes,
            output_kind=None if classes is None else classes.output_kind,
            model_notes=self.model.notes,
            **({} if self.conditional is None else self.conditional.facts),
            hierarchy=self.hierarchy,
            background_dependence=dependence_of(self),
        )

    def about_rows(self, rows: Any) -> About:
        """What results for these rows share: a frame names the columns of a model without names."""
        names = result_names(self.expansion, self.feature_groups, self.feature_names, rows)
        if names["column_names"] is self.about.column_names:
            return self.about
        features, columns = names["feature_names"], names["column_names"]
        return replace(self.about, feature_names=features, column_names=columns)

    def prepare(self, X: Any, *, sparse: bool = False, name: str = "X") -> PreparedRows:
        """Return the rows of `X` as the games take them; messages call them by `name`.

        With `sparse` the rows of a sparse table stay sparse, if the model does.
        """
        expansion = self.expansion
        rows: Any = select_columns(expansion, X, name)
        table = combine_columns(expansion, rows)
        sparse = sparse and self.given is not None and is_sparse(table)
        steps = [part.prepare_sparse if sparse else part.prepare for part in expansion.parts]
        parts = [prepare(table, name) for prepare in steps]
        labels = rows.index if hasattr(rows, "iloc") else None
        return PreparedRows(rows, table, parts, labels, sparse, expansion.preparation is not None)

    def check_predictions(self, rows: Any, totals: Floats | None = None) -> None:
        """Compare some predictions with the model's own, where it prepares columns.

        What the preparation does could not be checked without rows of the user. `totals` are
        predictions without the intercept, and without the error of a rule; by default those of the
        expansion.
        """
        if self.model.predict is None or self.model.expansion.preparation is None:
            return
        few = first_rows(rows, _CHECKED)
        if totals is None:
            predictions = self.expansion.predict(few)
        else:
            predictions = totals[:_CHECKED].reshape(-1, *self.intercept.shape) + self.intercept
        actual = without_name_warning(self.model.predict)(few)
        check_agreement(self.expansion, predictions, actual, self.model.tol, few)

    def check_and_assemble(
        self,
        prepared: PreparedRows,
        sums: RowSums,
        residual: float,
        error: Floats,
        base: Floats,
        noise: Noise,
    ) -> dict[str, Any]:
        """Return what an explanation has of the sums besides values, or raise where they are wrong.

        Parameters
        ----------
        prepared : PreparedRows
        sums : GameSums or SparseGameSums
            Those of all parts.
        residual : float
            What they miss the prediction by at most, as `sums.check` says.
        error : array of shape (n_rows, n_outputs)
            What the sums may be off by; it is added to in place.
        base : array of shape () or (n_outputs,)
            The base value.
        noise : Noise
        """
        explained, missed = sums.checked
        shows = self.tol is None and sums.efficient
        warn_of_noise(noise, sums.magnitudes, residual, missed if shows else None, prepared)
        self.check_predictions(prepared.rows, sums.totals)
        base_values = np.full((len(explained), *base.shape), base)
        # of what was computed, of the intercept in base and prediction, and of what the sum misses
        error += self.intercept_error
        if sums.efficient:
            predictions = base_values + explained.reshape(base_values.shape)
            error += np.abs(missed)
        else:
            predictions = sums.totals.reshape(base_values.shape) + self.intercept
        return {
            "base_values": base_values,
            "rules": sums.rules,
            "additivity_error": residual,
            "predictions": predictions,
            "error_bound": error.reshape(base_values.shape),
        }


def warn_of_noise(
    noise: Noise, sizes: Floats, residual: float, missed: Floats | None, prepared: PreparedRows
) -> None:
    """Warn where rounding hides what the model says; see `Noise.describe`."""
    sentence = noise.describe(sizes, residual, missed, prepared.parts)
    if sentence is not None:
        warn_user(sentence, PrecisionWarning)


def _as_data(table: Any) -> NDArray[Any]:
    """Return the rows as the user knows them: numbers, or objects where there is text."""
    array = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    if array.dtype.kind in "SU":  # NumPy turns numbers beside text into text
        array = np.asarray(table, dtype=object)
    if array.dtype == object and all(map(is_number, array.flat)):
        return array.astype(np.float64)
    return array.astype(np.float64 if array.dtype.kind in "buif" else object)
