"""The models of dependence of conditional removal: which features depend on each other, and how.

`removal="conditional"` means ``v(S) = E[f(X) | X_S = x_S]`` under one of two models of the
background, in the columns that the kernel sees, after a pipeline's steps:

- "blocks": Gaussian within blocks of dependent features, independent between them. A block of one
  feature has the distribution of the background itself, and so has a block of categories.
- "chain": a Gaussian Markov chain in the order of the columns, with the correlations of neighbours.

Blocks are the connected components of the pairs that `pkex.tables.dependence` finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from pkex._util.types import Floats, Players
from pkex._util.validation import brief, is_index
from pkex._util.words import join_names
from pkex.games.conditional_blocks import standardise
from pkex.games.conditional_points import ConditionalBackground
from pkex.games.points import Background
from pkex.models.expansion import KernelExpansion
from pkex.models.grids import column_cells
from pkex.models.preparation import prepare_groups, to_model_columns
from pkex.models.ranges import binned_columns, categorical_columns
from pkex.models.removal import make_backgrounds
from pkex.tables.dependence import MAX_COLUMNS, Dependence

__all__ = [
    "MODELS",
    "Blocks",
    "ConditionalModel",
    "check_conditional",
    "make_conditional",
]

Blocks = Sequence[Iterable[str | int]]

MODELS = ("blocks", "chain")
_LARGEST = 10  # features of a block: 2^10 coalitions
_FEWEST = 10  # rows that dependence is found in
_LEFT_OUT = 0.1  # correlations that are worth a note, where they are significant

_BASE = (
    "The base value is the mean prediction under the conditional model, not the mean over the "
    "background rows"
)
_NONE_DEPEND = (
    "No two features have a Spearman correlation (or Cramér's V) that is significant and at least "
    "0.3, so conditional values are product-of-marginals values"
)
_ASKED_FOR_NONE = (
    "blocks= has no block of two features, so conditional values are product-of-marginals values"
)


class ConditionalModel(NamedTuple):
    """A model of dependence.

    Attributes
    ----------
    description : str
        What removed features are replaced by, in words.
    backgrounds : list of Background
        For each part of the expansion.
    kind : str
        "blocks" or "chain".
    blocks : tuple of tuples of str
        The features of each block of two or more.
    notes : tuple of str
    """

    description: str
    backgrounds: list[Background]
    kind: str
    blocks: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def facts(self) -> dict[str, Any]:
        """What results say of it, as `About` names that."""
        return {
            "conditional_model": self.kind,
            "blocks": self.blocks,
            "dependence_notes": self.notes,
        }


def check_conditional(removal: str, kind: str | None, blocks: object) -> str | None:
    """Return the model of dependence; None, or an error, where removal is not conditional."""
    if removal != "conditional":
        for name, value in (("conditional_model", kind), ("blocks", blocks)):
            if value is not None:
                raise ValueError(f"{name} needs removal='conditional', but removal is {removal!r}.")
        return None
    if kind is None:
        return "blocks"
    if not isinstance(kind, str) or kind not in MODELS:
        raise ValueError(f"conditional_model must be 'blocks' or 'chain', got {brief(kind)}.")
    if kind == "chain" and blocks is not None:
        raise ValueError("blocks need conditional_model='blocks': a chain has none.")
    return kind


def make_conditional(
    expansion: KernelExpansion,
    feature_groups: Players,
    names: tuple[str, ...],
    given: tuple[Any, Floats | None, bool],
    kind: str,
    blocks: Blocks | None,
) -> ConditionalModel:
    """Return the model of dependence of a background, or of the model's training points.

    Parameters
    ----------
    expansion : KernelExpansion
    feature_groups, names : tuples
        The columns of each feature, and its name.
    given : (table, weights, bool)
        The background, its weights, and whether these were given.
    kind : {"blocks", "chain"}
    blocks : sequence of sequences of names or column numbers, optional
        The blocks; by default they are found.
    """
    if given[0] is None:
        _refuse_support_vectors(expansion)
    description, plain = make_backgrounds(expansion, "product-of-marginals", *given)
    rows = description.split(", features treated as independent")[0].split(" (interv")[0]
    groups = [prepare_groups(part, feature_groups) for part in expansion.parts]
    if kind == "chain":
        return _make_chain(expansion, names, rows, plain, groups)
    table = None
    if given[0] is not None:
        table = to_model_columns(expansion, given[0], "background")
    if blocks is not None:
        members = _parse_blocks(blocks, names, expansion.feature_names, feature_groups)
    else:
        members = _find_blocks(expansion, feature_groups, table, plain, groups)
    for block in members:
        _check_size(block, names)
    categories = _category_blocks(expansion, feature_groups, names, table, members)
    left_out = _note_left_out(plain, groups, members, names)
    if not members:
        independent = _ASKED_FOR_NONE if blocks is not None else _NONE_DEPEND
        text = f"{rows}, features treated as independent"
        return ConditionalModel(text, list(plain), kind, (), (independent, *left_out))
    backgrounds: list[Background] = []
    curious: dict[str, None] = {}
    for part, background, prepared in zip(expansion.parts, plain, groups, strict=True):
        if not part.coefficients.any():
            backgrounds.append(background)
            continue
        for number, block in enumerate(members):
            if number not in categories:
                columns = [column for player in block for column in prepared[player]]
                _check_rows(background, columns, [names[player] for player in block])
                for player in block:
                    if any(map(_is_curious, background.rows[:, list(prepared[player])].T)):
                        curious[names[player]] = None
        facts = (members, False, categories, names)
        backgrounds.append(
            ConditionalBackground(background.rows, background.weights, False, *facts)
        )
    named = tuple(tuple(names[player] for player in block) for block in members)
    notes = [_BASE, *_note_curious(list(curious)), *left_out]
    shown = "; ".join(join_names(block) for block in named)
    text = f"{rows}, Gaussian within blocks of dependent features ({shown})"
    if len(categories) == len(members):
        text = f"{rows}, blocks of dependent categories ({shown})"
    text += ", independent between them"
    return ConditionalModel(text, backgrounds, kind, named, tuple(notes))


def _refuse_support_vectors(expansion: KernelExpansion) -> None:
    """Refuse to fit a distribution to rows that are not a sample of the data."""
    for part in expansion.parts:
        data = part.background
        if data is not None and data.kind == "support vectors" and len(data.rows) != data.n_fit:
            raise ValueError(
                "conditional removal needs a sample of the data to fit its Gaussian model to, and "
                "the support vectors of this model are not one: pass training rows, e.g. "
                "Explainer(model, X_train, removal='conditional')."
            )


def _make_chain(
    expansion: KernelExpansion,
    names: tuple[str, ...],
    rows: str,
    plain: Sequence[Background],
    groups: Sequence[Players],
) -> ConditionalModel:
    """Return the model of a Markov chain."""
    backgrounds: list[Background] = []
    curious: dict[str, None] = {}
    missed: list[tuple[float, float, int, int]] = []
    for part, background, prepared in zip(expansion.parts, plain, groups, strict=True):
        if not part.coefficients.any():
            backgrounds.append(background)
            continue
        if prepared != tuple((column,) for column in range(part.shape[1])):
            raise ValueError(
                "conditional_model='chain' is a chain of single columns in their order, and here a "
                "feature has several columns (groups=, or an encoder), or none. Leave out groups, "
                "or use conditional_model='blocks'."
            )
        _check_rows(background, [0, 1], names)
        for player, column in enumerate(background.rows.T):
            if _is_curious(column):
                curious[names[player]] = None
        missed += _missed_by_chain(background)
        facts = ((), True, (), names)
        backgrounds.append(
            ConditionalBackground(background.rows, background.weights, False, *facts)
        )
    notes = [_BASE, *_note_curious(list(curious))]
    if missed:
        actual, implied, i, j = max(missed, key=lambda one: abs(one[0] - one[1]))
        notes.append(
            "The chain has the correlations of neighbours alone: that of "
            f"{names[i]} and {names[j]} is {actual:.2f}, and {implied:.2f} in the chain"
        )
    text = f"{rows}, Gaussian Markov chain in the order of the columns"
    return ConditionalModel(text, backgrounds, "chain", (names,), tuple(notes))


def _missed_by_chain(background: Background) -> list[tuple[float, float, int, int]]:
    """Return correlations that a chain does not have, by more than sampling noise."""
    _, _, correlation = standardise(background.rows, background.weights)
    size = len(correlation)
    implied = np.eye(size)
    for i in range(size):
        for j in range(i + 1, size):
            implied[i, j] = implied[i, j - 1] * correlation[j - 1, j]
    n_pairs = max(1, size * (size - 1) // 2)
    bounded = np.clip(correlation, -1.0 + 1e-12, 1.0 - 1e-12)
    off = np.abs(np.arctanh(bounded) - np.arctanh(np.clip(implied, -1.0 + 1e-12, 1.0 - 1e-12)))
    # Fisher's z, two-sided at 5 % after Bonferroni; differences below 0.1 are not worth a note
    noise = _quantile(n_pairs) / np.sqrt(max(1, len(background.rows) - 3))
    where = np.argwhere(np.triu((off > noise) & (np.abs(correlation - implied) > _LEFT_OUT), 2))
    return [(float(correlation[i, j]), float(implied[i, j]), int(i), int(j)) for i, j in where]


def _quantile(count: int) -> float:
    from scipy.special import ndtri

    return float(-ndtri(0.025 / count))


def _find_blocks(
    expansion: KernelExpansion,
    feature_groups: Players,
    table: Any,
    plain: Sequence[Background],
    groups: Sequence[Players],
) -> Players:
    """Return the connected components of two features or more."""
    widest = len(expansion.feature_names)
    if widest > MAX_COLUMNS:
        raise ValueError(
            f"dependent features are found among at most {MAX_COLUMNS} columns, and the model has "
            f"{widest}: pass blocks=, e.g. blocks=[['a', 'b'], ['c', 'd']]."
        )
    binned = () if table is None else binned_columns(expansion, table)
    categorical = [j for j in categorical_columns(expansion) if j not in binned]
    sources: list[tuple[Any, Players, Sequence[int]]] = [(table, feature_groups, categorical)]
    if table is None:
        sources = [
            (background.rows, prepared, [c for j in categorical for c in _of_column(part, j)])
            for part, background, prepared in zip(expansion.parts, plain, groups, strict=True)
            if part.coefficients.any()
        ]
    pairs: set[tuple[int, int]] = set()
    for source, prepared, categories in sources:
        n_rows = source.shape[0] if hasattr(source, "shape") else len(source)
        if n_rows < _FEWEST:
            raise ValueError(
                f"dependent features are found in at least {_FEWEST} rows, and the background has "
                f"{n_rows}: pass more rows, or blocks=, e.g. blocks=[['a', 'b']]."
            )
        pairs.update((i, j) for i, j, _ in Dependence(source, None, categories).between(prepared))
    root = list(range(len(feature_groups)))
    for i, j in pairs:
        here, there = root[i], root[j]
        root = [here if each == there else each for each in root]
    blocks = [tuple(j for j, each in enumerate(root) if each == k) for k in sorted(set(root))]
    return tuple(sorted(block for block in blocks if len(block) > 1))


def _of_column(part: KernelExpansion, column: int) -> list[int]:
    """Return the prepared columns of an input column."""
    origins = range(part.shape[1]) if part.preparation is None else part.preparation.origins
    return [place for place, origin in enumerate(origins) if origin == column]


def _parse_blocks(
    blocks: Blocks, names: tuple[str, ...], columns: tuple[str, ...], groups: Players
) -> Players:
    """Return the features of the blocks that were given, those of one feature left out."""
    owner = {column: k for k, group in enumerate(groups) for column in group}
    known = {columns[column]: k for column, k in owner.items()}
    known |= {name: k for k, name in enumerate(names)}
    if isinstance(blocks, str) or not isinstance(blocks, Sequence):
        raise TypeError(f"blocks must be a list of lists of columns, got {brief(blocks)}.")
    parsed: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for members in blocks:
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise TypeError(f"a block must be a list of columns, got {brief(members)}.")
        features = set()
        for member in members:
            number = owner.get(int(member)) if is_index(member) else known.get(str(member))
            if number is None:
                raise ValueError(
                    f"blocks name the column {brief(member)}; the columns are "
                    f"{brief(list(columns))}."
                )
            features.add(number)
        twice = seen & features
        if twice:
            raise ValueError(
                f"the feature {names[min(twice)]!r} is in more than one block; blocks are "
                "independent of each other, so join them."
            )
        seen |= features
        parsed += [tuple(sorted(features))] if len(features) > 1 else []
    return tuple(sorted(parsed))


def _check_size(block: tuple[int, ...], names: tuple[str, ...]) -> None:
    if len(block) > _LARGEST:
        raise ValueError(
            f"{len(block)} features depend on each other: {join_names([names[k] for k in block])}. "
            f"Conditional removal supports blocks of at most {_LARGEST} features, as it goes "
            "through all their coalitions. Explain some of them as one feature (groups=), pass "
            "smaller blocks=, or use a hierarchy with another removal; conditional_model='chain' "
            "has no limit where the columns are a series."
        )


def _check_rows(background: Background, columns: Sequence[int], names: Sequence[str]) -> None:
    """Refuse a covariance that is singular as there are too few rows."""
    if len(background.rows) < len(columns) + 2:
        raise ValueError(
            f"the Gaussian model of {join_names([repr(name) for name in names])} has "
            f"{len(columns)} columns and needs at least {len(columns) + 2} background rows, but "
            f"there are {len(background.rows)}: pass more rows."
        )


def _category_blocks(
    expansion: KernelExpansion,
    groups: Players,
    names: tuple[str, ...],
    table: Any,
    blocks: Players,
) -> tuple[int, ...]:
    """Return the numbers of the blocks that hold categories; a block of both kinds is refused."""
    binned = () if table is None else binned_columns(expansion, table)
    categorical = {j for j in categorical_columns(expansion) if j not in binned}
    if table is not None:
        every = range(len(expansion.feature_names))
        categorical |= {j for j in every if column_cells(table, j).dtype == object}
    categorical_blocks = []
    for number, block in enumerate(blocks):
        kinds = {any(column in categorical for column in groups[player]) for player in block}
        if kinds == {True}:
            categorical_blocks.append(number)
        elif len(kinds) > 1:
            named = join_names([repr(names[player]) for player in block])
            raise ValueError(
                f"the features {named} depend on each other, and some are numbers and some "
                "categories, which have no joint Gaussian distribution. Explain them as one "
                "feature (groups=), pass blocks= that keep numbers and categories apart, or use "
                "removal='interventional'."
            )
    return tuple(categorical_blocks)


def _is_curious(column: Floats) -> bool:
    """Tell whether a column is far from Gaussian: few values, skewed, or with heavy tails."""
    count, centred = len(column), column - column.mean()
    spread = float(centred.std())
    if spread == 0.0:
        return True
    scores = centred / spread
    skewness, kurtosis = float((scores**3).mean()), float((scores**4).mean()) - 3.0
    few = count > 20 and len(np.unique(column)) <= 10
    skewed = abs(skewness) > max(1.0, 4.0 * np.sqrt(6.0 / count))
    return bool(few or skewed or kurtosis > max(3.0, 4.0 * np.sqrt(24.0 / count)))


def _note_curious(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        f"Far from Gaussian (few values, skewed or heavy tails): {join_names(names)}. Conditional "
        "values assume Gaussian features within a block; transform them, or compare with "
        "removal='interventional'"
    ]


def _note_left_out(
    plain: Sequence[Background], groups: Sequence[Players], blocks: Players, names: tuple[str, ...]
) -> list[str]:
    """Say which linear correlation between blocks is left out, if one is significant."""
    owner = {player: number for number, block in enumerate(blocks) for player in block}
    largest = (0.0, 0, 0)
    for background, prepared in zip(plain, groups, strict=True):
        n_rows = len(background.rows)
        if n_rows < _FEWEST or len(names) > MAX_COLUMNS:
            continue
        _, _, correlation = standardise(background.rows, background.weights)
        bound = np.tanh(_quantile(max(1, len(names) ** 2 // 2)) / np.sqrt(n_rows - 3))
        sizes = np.abs(correlation)
        for i, j in combinations(range(len(names)), 2):
            if owner.get(i, -1) != owner.get(j, -2):
                size = float(sizes[np.ix_(prepared[i], prepared[j])].max(initial=0.0))
                if size > max(bound, _LEFT_OUT, largest[0]):
                    largest = (size, i, j)
    if not largest[0]:
        return []
    size, i, j = largest
    return [
        f"{'Features of different blocks' if blocks else 'All features'} are treated as "
        "independent; the largest linear correlation left "
        f"out is {size:.2f} ({names[i]} and {names[j]})"
    ]
