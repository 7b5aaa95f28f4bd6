"""`About`: what a reader of a result must know, whatever the result holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pkex._util.lazy import lazy
from pkex._util.types import Players
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
    players : tuple of tuples of int
        The columns of each feature.
    output_names : tuple of str, or None
    removal : str or None
        How features are removed; None where nothing is removed, as in a sensitivity analysis.
    absent : str or None
        What a removed feature is replaced by, in words; None where it is not known.
    kernels : tuple of Kernel, or None
        The different kernels of the model; None where they are not known.
    index : str
        Which values these are: "SV" for Shapley's, or the name of another semivalue.
    efficient : bool
        Whether base value and values add up to the prediction.
    quantity : str or None
        What is explained, where it is not what the model predicts.
    classes : tuple of str, or None
        Of a classifier: its classes.
    sides : tuple of (str, str or None), or None
        Of a classifier: for each output the class that positive values push towards, and the one
        that negative values push towards, or None where that is all others.
    number : str or None
        Of a classifier: what predictions are, e.g. "decision function".
    complete : bool
        Whether all features are there; False after a selection of some.
    """

    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    players: Players
    output_names: tuple[str, ...] | None = None
    removal: str | None = None
    absent: str | None = None
    kernels: tuple[Kernel, ...] | None = None
    index: str = "SV"
    efficient: bool = True
    quantity: str | None = None
    classes: tuple[str, ...] | None = None
    sides: tuple[tuple[str, str | None], ...] | None = None
    number: str | None = None
    complete: bool = True

    def __post_init__(self) -> None:
        n_columns = len(self.column_names)
        if len(self.players) != len(self.feature_names):
            raise ValueError(
                f"feature_names must have shape {(len(self.players),)}, as players; got "
                f"{(len(self.feature_names),)}."
            )
        columns = [column for player in self.players for column in player]
        if columns and not 0 <= min(columns) <= max(columns) < n_columns:
            raise ValueError(f"players must consist of columns 0 to {n_columns - 1} of the data.")

    @lazy
    def shapes(self) -> dict[Any, tuple[tuple[str, tuple[int, ...]], ...]]:
        """A cache: what shapes the arrays of results have, by their class and sizes."""
        return {}

    @property
    def kernel(self) -> Kernel | None:
        """The kernel; None where it is not known, or where there are several."""
        known = self.kernels or ()
        return known[0] if len(known) == 1 else None

    def select_features(self, features: Sequence[int]) -> tuple[About, tuple[int, ...]]:
        """Return what holds for some features, and the columns of the data that they have."""
        if list(features) == list(range(len(self.players))):
            return self, tuple(range(len(self.column_names)))
        players = tuple(self.players[i] for i in features)
        columns = tuple(dict.fromkeys(column for player in players for column in player))
        about = replace(
            self,
            feature_names=tuple(self.feature_names[i] for i in features),
            column_names=tuple(self.column_names[i] for i in columns),
            players=tuple(tuple(map(columns.index, player)) for player in players),
            complete=self.complete and len(players) == len(self.players),
        )
        return about, columns

    def select_outputs(self, outputs: Sequence[int], names: Sequence[str]) -> About:
        """Return what holds for some outputs; `names` are those of all of them."""
        sides = None if self.sides is None else tuple(self.sides[k] for k in outputs)
        return replace(self, output_names=tuple(names[k] for k in outputs), sides=sides)


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
