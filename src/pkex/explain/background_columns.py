"""The columns of a background: which of them depend on each other, and how they cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pkex._util.types import Players
from pkex.games.hierarchy import Hierarchy
from pkex.games.hierarchy_input import CORRELATION, check_hierarchy, parse_hierarchy
from pkex.games.measures import Shapley
from pkex.games.protocols import Measure
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import select_columns
from pkex.models.ranges import categorical_columns

if TYPE_CHECKING:
    from pkex.tables.dependence import Dependence

__all__ = ["choose_semivalue", "dependence_of", "hierarchy_of"]


def _columns_of(expansion: KernelExpansion, background: Any, defaults: Sequence[Any]) -> Any:
    """Return a background in the columns of the input, or None where these are not known.

    Without a background these are training points, where each column is made from another one of
    the input. Support vectors do not count: they are chosen by what the model says of them, so that
    their columns may depend on each other where those of the data do not.
    """
    if background is not None:
        return select_columns(expansion, background, "background")
    part = expansion.parts[0]
    data, inner = part.background, part.preparation
    if data is None or data.kind == "support vectors" or not defaults or defaults[0] is None:
        return None
    rows, n_columns = defaults[0].rows, len(expansion.feature_names)
    origins = list(range(n_columns)) if inner is None else list(inner.origins)
    if len(expansion.parts) > 1 or sorted(origins) != list(range(n_columns)):
        return None
    return rows[:, [origins.index(column) for column in range(n_columns)]]


def dependence_of(problem: Any) -> Dependence | None:
    """Return which columns of the background of a problem depend on each other, found when asked.

    None where features are not taken from rows. Weights are not looked at, so that centres of
    clusters are not taken for rows.
    """
    if problem.removal in (None, "neutral", "conditional") or problem.weighted:
        return None
    if problem.given is not None:  # sparse rows
        return None
    table, expansion = problem.background, problem.expansion
    if table is None and problem.has_background:
        table = problem.backgrounds[0].rows
    return _dependence(expansion, _columns_of(expansion, table, problem.backgrounds))


def _dependence(expansion: KernelExpansion, table: Any) -> Dependence | None:
    from pkex.tables.dependence import Dependence

    return None if table is None else Dependence(table, None, categorical_columns(expansion))


def hierarchy_of(
    hierarchy: Any,
    expansion: KernelExpansion,
    groups: Players,
    names: Sequence[str],
    background: Any,
    defaults: Sequence[Any],
    sparse: bool,
) -> Hierarchy | None:
    """Return the hierarchy that is asked for; by correlations of a background where it says so."""
    if hierarchy is None:
        return None
    check_hierarchy(hierarchy)
    if isinstance(hierarchy, str):
        table = None if sparse else _columns_of(expansion, background, defaults)
        dependence = _dependence(expansion, table)
        if dependence is None:
            raise ValueError(
                f"hierarchy={CORRELATION!r} clusters the columns of a background of dense rows: "
                "pass training rows as the background, or groups of features as the hierarchy."
            )
        hierarchy = dependence.linkage(groups)
    return parse_hierarchy(hierarchy, names)


def choose_semivalue(semivalue: Measure, hierarchy: Hierarchy | None) -> Measure:
    """Return the semivalue that goes with a hierarchy, or raise where there is none."""
    if hierarchy is None:
        return semivalue
    if not isinstance(semivalue, Shapley):
        raise ValueError(
            f"a hierarchy has Owen, Winter or asymmetric values, which are Shapley's with fewer "
            f"orders of the features; leave out index={semivalue.index!r}, or the hierarchy."
        )
    return semivalue if hierarchy.is_flat else hierarchy
