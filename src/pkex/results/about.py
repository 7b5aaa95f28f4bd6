"""`About`: what a reader of a result must know, whatever the result holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pkex._util.types import Floats, Players
from pkex._util.validation import brief, is_index
from pkex.games.hierarchy import Hierarchy
from pkex.kernels.algebra import Kernel

__all__ = ["About", "output_names"]


@dataclass(frozen=True)
class About:
    """What all results of one explainer, or of one statistic, have in common.

    An explainer builds it once; a result is this, its arrays, and the facts of its call.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the features: columns, or groups of columns.
    column_names : tuple of str
        Names of the columns of the data.
    feature_groups : tuple of tuples of int
        The columns of each feature.
    output_names : tuple of str, or None
        Names of the outputs, where they have some.
    removal : str or None
        How features are removed: "product-of-marginals", "interventional", "conditional" or
        "neutral"; None where nothing is removed, as in a sensitivity analysis.
    background_info : str or None
        What a removed feature is replaced by, in words; None where it is not known.
    kernels : tuple of Kernel, or None
        The different kernels of the model, most often one; None where they are not known. A custom
        kernel comes back from a file as its description, which prints and cannot be evaluated.
    kernel : Kernel or None
        The kernel of the model; None where it is not known, or where there are several.
    index : str
        Which values these are: "SV" for Shapley's, "BV" for Banzhaf's, "IG" for integrated
        gradients, or the name of another semivalue.
    efficient : bool
        Whether base value and values add up to the prediction.
    quantity : str or None
        What is explained, where it is not what the model predicts: "predictive variance", or
        "latent variance", which has no observation noise in it.
    classes : tuple of str, or None
        Of a classifier: its classes.
    output_classes : tuple of (str, str or None), or None
        Of a classifier: for each output the class that positive values push towards, and the one
        that negative values push towards, or None where that is all others.
    output_kind : str or None
        Of a classifier: what predictions are, e.g. "decision function".
    complete : bool
        Whether all features are there; False after a selection of some.
    conditional_model : str or None
        Of conditional removal: the model of dependence, "blocks" or "chain".
    blocks : tuple of tuples of str, or None
        Of conditional removal: the features of each block of dependent ones.
    dependence_notes : tuple of str
        What a reader should know about the model of dependence.
    model_notes : tuple of str
        What a reader should know about the outputs, such as that they are logarithms.
    hierarchy : Hierarchy or None
        The groups of features that Owen and Winter values go by.
    background_dependence : Dependence or None
        Which columns of the background depend on each other, found when it is asked for.
    """

    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    feature_groups: Players
    output_names: tuple[str, ...] | None = None
    removal: str | None = None
    background_info: str | None = None
    kernels: tuple[Kernel, ...] | None = None
    index: str = "SV"
    efficient: bool = True
    quantity: str | None = None
    classes: tuple[str, ...] | None = None
    output_classes: tuple[tuple[str, str | None], ...] | None = None
    output_kind: str | None = None
    complete: bool = True
    conditional_model: str | None = None
    blocks: tuple[tuple[str, ...], ...] | None = None
    dependence_notes: tuple[str, ...] = ()
    model_notes: tuple[str, ...] = ()
    hierarchy: Hierarchy | None = None
    background_dependence: Any = field(default=None, compare=False)
    shapes: dict[Any, tuple[tuple[str, tuple[int, ...]], ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """A cache: what shapes the arrays of results have, by their class and sizes."""

    def __post_init__(self) -> None:
        n_columns = len(self.column_names)
        if len(self.feature_groups) != len(self.feature_names):
            raise ValueError(
                f"feature_names must have shape {(len(self.feature_groups),)}, as feature_groups; "
                f"got {(len(self.feature_names),)}."
            )
        columns = [column for group in self.feature_groups for column in group]
        if columns and not 0 <= min(columns) <= max(columns) < n_columns:
            raise ValueError(f"feature_groups must be of columns 0 to {n_columns - 1} of the data.")

    @property
    def kernel(self) -> Kernel | None:
        """The only one of `kernels`."""
        known = self.kernels or ()
        return known[0] if len(known) == 1 else None

    def groups_at(self, level: int) -> dict[str, tuple[int, ...]]:
        """Return the features of each group at a level of the hierarchy, or raise."""
        tree = self.hierarchy
        if tree is None:
            what = "a selection of features" if not self.complete else "this result"
            raise ValueError(f"{what} has no hierarchy; pass hierarchy= to what computes it.")
        if not is_index(level) or not 1 <= level <= tree.depth:
            levels = "1" if tree.depth == 1 else f"1 to {tree.depth}"
            raise ValueError(f"the hierarchy has level {levels}; got {brief(level)}.")
        names = [*self.feature_names, *tree.names]
        return {names[vertex]: tree.members[vertex] for vertex in tree.cut(level)}

    def sum_groups(self, values: Floats, level: int) -> dict[str, float]:
        """Return the sums of the values of features over the groups at a level."""
        groups = self.groups_at(level).items()
        return {name: float(values[list(members)].sum()) for name, members in groups}

    def select_features(self, features: Sequence[int]) -> tuple[About, tuple[int, ...]]:
        """Return what holds for some features, and the columns of the data that they have."""
        if list(features) == list(range(len(self.feature_groups))):
            return self, tuple(range(len(self.column_names)))
        groups = tuple(self.feature_groups[i] for i in features)
        columns = tuple(dict.fromkeys(column for group in groups for column in group))
        about = replace(
            self,
            feature_names=tuple(self.feature_names[i] for i in features),
            column_names=tuple(self.column_names[i] for i in columns),
            feature_groups=tuple(tuple(map(columns.index, group)) for group in groups),
            complete=self.complete and len(groups) == len(self.feature_groups),
            hierarchy=None if self.hierarchy is None else self.hierarchy.renumbered(features),
            background_dependence=None,  # by the numbers of all columns
        )
        return about, columns

    def select_outputs(self, outputs: Sequence[int], names: Sequence[str]) -> About:
        """Return what holds for some outputs; `names` are those of all of them."""
        sides = self.output_classes
        sides = None if sides is None else tuple(sides[k] for k in outputs)
        return replace(self, output_names=tuple(names[k] for k in outputs), output_classes=sides)


def output_names(names: tuple[str, ...] | None, count: int | None) -> tuple[str, ...]:
    """Return the names of `count` outputs, y0 and so on where they have none; None is one output.

    Examples
    --------
    >>> output_names(None, 2), output_names(None, None), output_names(("a",), None)
    (('y0', 'y1'), (), ('a',))
    """
    if names is None and count is not None:
        return tuple(f"y{k}" for k in range(count))
    return names or ()
