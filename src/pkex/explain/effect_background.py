"""The background rows of effects: those of the explainer, or the model's training points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkex._util.types import Floats
from pkex.explain.effect_sums import PartOfModel
from pkex.explain.problem import Problem
from pkex.explain.unsupported import refuse_conditional
from pkex.games.blas import single_blas
from pkex.games.blocks import even_step, rectangle
from pkex.games.threads import run_in_order
from pkex.kernels.splitting import split_kernel
from pkex.models.grids import column_cells
from pkex.models.preparation import prepare_groups, to_model_columns
from pkex.models.ranges import binned_columns, categorical_columns
from pkex.models.removal import make_backgrounds
from pkex.results.about import About

__all__ = ["EffectBackground", "effect_background"]

_FACTORS = 2**20  # of a block of rows, which takes some milliseconds


@dataclass(frozen=True, eq=False)
class EffectBackground:
    """Background rows in the columns of the input and of each part of the model.

    Attributes
    ----------
    table : table of shape (n_rows, n_columns)
        After the steps that combine columns.
    weights : array of shape (n_rows,)
    parts : list of PartOfModel
    intercept : array of shape (n_outputs,)
    predictions : array of shape (n_rows, n_outputs)
    categorical : tuple of int
        The columns that hold categories.
    description : str
        Which rows these are.
    """

    table: Any
    weights: Floats
    parts: list[PartOfModel]
    intercept: Floats
    predictions: Floats
    categorical: tuple[int, ...]
    description: str

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.weights)

    def about(self, problem: Problem) -> About:
        """Return what results for these rows share."""
        return replace(problem.about, removal="interventional", background_info=self.description)

    def cells(self, problem: Problem, features: Sequence[int]) -> NDArray[Any]:
        """Return the values of some features, (n_rows,) or (n_rows, n_columns) of several."""
        columns = [column for j in features for column in problem.feature_groups[j]]
        cells = [column_cells(self.table, column) for column in columns]
        if len(cells) == 1:
            return cells[0]
        kind = object if any(each.dtype == object for each in cells) else np.float64
        return np.column_stack([each.astype(kind) for each in cells])


def effect_background(problem: Problem, n_jobs: int | None) -> EffectBackground:
    """Return the background rows of a problem, or the training points of a model without any."""
    refuse_conditional(problem, "effects", "they are means over background rows")
    expansion = problem.expansion
    if problem.has_background:
        backgrounds = [games.background for games in problem.games]
        rows = [background.rows for background in backgrounds if background is not None]
        background = backgrounds[0]
        assert background is not None
        weights, description = background.weights, problem.background_info or ""
        description = description.replace(", features treated as independent", " (interventional)")
        table = rows[0]
        if problem.background is not None:
            table = to_model_columns(expansion, problem.background, "background")
    else:
        table, description = _training_points(problem)
        rows = [table] * len(expansion.parts)
        weights = np.full(len(table), 1.0 / len(table))
    parts = [
        PartOfModel(
            split_kernel(part.kernel, part.shape[1]),
            part.points,
            np.ascontiguousarray(values),
            part.alpha,
            prepare_groups(part, problem.feature_groups),
        )
        for part, values in zip(expansion.parts, rows, strict=True)
    ]
    intercepts = np.sum([np.reshape(part.intercept, -1) for part in expansion.parts], axis=0)
    predictions = np.sum([_predict(part, n_jobs) for part in parts], axis=0) + intercepts
    intercept = problem.intercept.reshape(-1)
    binned = binned_columns(expansion, table)
    categorical = tuple(j for j in categorical_columns(expansion) if j not in binned)
    return EffectBackground(table, weights, parts, intercept, predictions, categorical, description)


def _predict(part: PartOfModel, n_jobs: int | None) -> Floats:
    """Return a part of the model at its rows without the intercept, (n_rows, n_outputs)."""
    step = even_step(len(part.rows), max(1, _FACTORS // max(1, part.points.size)))
    blocks = [rows for rows, _ in rectangle(len(part.rows), 1, step)]
    with single_blas():
        return np.concatenate(list(run_in_order(part.predict, blocks, n_jobs)))


def _training_points(problem: Problem) -> tuple[Floats, str]:
    """Return the different training points or support vectors of all parts, and what they are."""
    expansion = problem.expansion
    if any(part.preparation is not None for part in expansion.parts):
        raise ValueError(
            "effects are computed in the units of the input, and the training points of this model "
            "are known only after its steps: pass rows as the background, e.g. "
            "Explainer(model, X_train)."
        )
    _, backgrounds = make_backgrounds(expansion, "product-of-marginals", None, None, False)
    tables = [each.rows for each in backgrounds]
    if len(tables) > 1:
        tables = [np.unique(np.concatenate(tables), axis=0)]
    kinds = [part.background.kind for part in expansion.parts if part.background is not None]
    kind = " and ".join(dict.fromkeys(kinds)) or "rows"
    count = len(tables[0])
    return np.ascontiguousarray(tables[0]), f"{count:,} {kind}, as no background was passed"
