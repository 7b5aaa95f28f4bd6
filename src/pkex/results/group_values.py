"""What an explanation says of groups of features, and of features that depend on each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex.results.base import RowResult

if TYPE_CHECKING:
    from pkex.results.explanation import Explanation

__all__ = ["CORRELATED", "SUMS_OF_FACTORS", "GroupValues"]

_SHOWN = 3  # pairs of correlated features in a note

CORRELATED = (
    "their values depend on how they are removed. Consider groups=, hierarchy= or "
    "removal='conditional'"
)
SUMS_OF_FACTORS = (
    "Values of groups are sums over features, whose kernel factors are averaged one by one; "
    "groups= averages the products of a group's factors, so its values differ"
)


class GroupValues(RowResult):
    """The values of groups, and the notes on correlated features, of an explanation."""

    values: Any
    additivity_error: float
    error_bound: Any

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the values, such as that features are correlated.

        Features are correlated where columns of the background are: numbers by Spearman's
        correlation, categories by Cramer's V, at least 0.3 and significant at 5 % among all pairs.

        See Also
        --------
        pkex.Explainer : Takes removal, groups and hierarchy.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> x = np.linspace(0.0, 1.0, 30)
        >>> X = np.column_stack([x, x**2, np.cos(40.0 * x)])
        >>> f = pkex.KernelExpansion(X, x, pkex.kernels.RBF())
        >>> pkex.Explainer(f, X)(X[:1]).notes[0].split(":")[0]
        'Features are correlated (x0 and x1 1.00)'
        """
        notes, about = super().notes, self.about
        if about.hierarchy is not None:
            if about.removal == "product-of-marginals":
                notes.append(SUMS_OF_FACTORS)
            return notes
        dependence = about.background_dependence
        if dependence is None or about.removal in (None, "neutral", "conditional"):
            return notes
        pairs = dependence.between(about.feature_groups)
        if pairs:
            names = about.feature_names
            shown = [f"{names[i]} and {names[j]} {size:.2f}" for i, j, size in pairs[:_SHOWN]]
            more = f", {len(pairs) - _SHOWN} more pairs" if len(pairs) > _SHOWN else ""
            listed = ", ".join(shown) + more
            notes.append(f"Features are correlated ({listed}): {CORRELATED}")
        return notes

    def group_values(self, level: int = 1) -> Explanation:
        """Return the values of groups of a hierarchy, as an explanation whose features they are.

        The value of a group is the sum of the values of its features, at every level.

        Parameters
        ----------
        level : int, default 1
            How many groups deep to look: 1 has the groups at the top. Features that belong to fewer
            groups stand by themselves.

        Returns
        -------
        Explanation
            One value for each group, and for features that are in none.

        Raises
        ------
        ValueError
            When the explanation has no hierarchy, or it has fewer levels.

        See Also
        --------
        pkex.Explainer : Takes the hierarchy.

        Examples
        --------
        >>> import pkex
        >>> points, names = [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]], ["age", "s1", "s2"]
        >>> f = pkex.KernelExpansion(points, [1.0, 2.0], pkex.kernels.RBF(), 0.5, names)
        >>> explanation = pkex.Explainer(f, hierarchy={"blood": ["s1", "s2"]})([[0.0, 1.0, 0.0]])
        >>> groups = explanation.group_values()
        >>> groups.feature_names, groups.values.round(4)
        (('age', 'blood'), array([[-0.224 ,  0.2501]]))
        """
        about, groups = self.about, self.about.groups_at(level)
        columns = [
            tuple(sorted(column for j in members for column in about.feature_groups[j]))
            for members in groups.values()
        ]
        sums = [self.values[:, members].sum(axis=1) for members in groups.values()]
        largest = max(map(len, groups.values()))
        assert about.hierarchy is not None  # it has groups
        explanation: Any = self
        grouped: Explanation = replace(
            explanation,
            about=replace(
                about,
                feature_names=tuple(groups),
                feature_groups=tuple(columns),
                hierarchy=about.hierarchy.above(level),
            ),
            values=np.stack(sums, axis=1),
            error_bound=None if self.error_bound is None else largest * self.error_bound,
            std=None,
            cov=None,
        )
        return grouped
