"""`Explanation`: the values, what they refer to, and how exact they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkex.rules import Rule

__all__ = ["Explanation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Exact Shapley values of some rows.

    Attributes
    ----------
    values : array of shape (n_rows, n_players) or (n_rows, n_players, n_outputs)
        The attributions; with `base_values` they sum to the prediction.
    base_values : array of shape (n_rows,) or (n_rows, n_outputs)
        The value of the empty coalition.
    data : array of shape (n_rows, n_columns)
        The rows that were explained.
    feature_names : tuple of str
        Names of the players: columns, or groups of columns.
    column_names : tuple of str
        Names of the columns of `data`.
    players : tuple of tuples of int
        The columns of each player.
    output_names : tuple of str, or None
    rule : Rule
        The rule with the largest proven error among those used; ``rule.relative_error`` bounds the
        relative error of the integral of every pair.
    rules : tuple of Rule
        All rules used: each pair takes the cheapest one that covers it.
    residual : float
        The largest ``|base + sum of values - prediction|``, which was checked to be rounding.
    removal : str
        What it means that a feature is absent; "neutral" replaces its kernel factor by 1.
    """

    values: Floats
    base_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    players: tuple[tuple[int, ...], ...]
    output_names: tuple[str, ...] | None
    rule: Rule
    rules: tuple[Rule, ...]
    residual: float
    removal: str = "neutral"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def predictions(self) -> Floats:
        """``base_values + values.sum(axis=1)``, shape (n_rows,) or (n_rows, n_outputs)."""
        total: Floats = self.base_values + self.values.sum(axis=1)
        return total

    def __repr__(self) -> str:
        shape = " x ".join(
            f"{size} {noun}{'s' if size != 1 else ''}"
            for size, noun in zip(self.values.shape, ("row", "player", "output"), strict=False)
        )
        return (
            f"Explanation({shape}, {self.removal} removal, {self.rule.size}-node {self.rule.family}"
            f", relative error <= {self.rule.relative_error:.2g}, residual {self.residual:.1e})"
        )
