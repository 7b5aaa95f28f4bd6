"""`Accumulator`: what the blocks of a reduction are added to, whatever it sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pkex._util.types import Floats
from pkex.games.rules import Rule

if TYPE_CHECKING:
    from pkex.games.protocols import BlockSums

__all__ = ["Accumulator"]


class Accumulator:
    """Named arrays that start at 0, with the rules of the blocks that were added to them.

    The engine hands over blocks in a fixed order, so sums do not depend on the number of threads.
    A reduction that is sent to a worker leaves its sums behind: `run` does not use them.

    Parameters
    ----------
    **shapes : tuple of int
        The shape of each array. An array that has none is that of the first block with its name.

    Attributes
    ----------
    arrays : dict
        The sums, by name.
    rules : set of Rule
    largest : float
        The largest of the numbers that came with blocks.
    n_blocks : int
        How many blocks were added.
    """

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        self.arrays: dict[Any, Floats] = {name: np.zeros(shape) for name, shape in shapes.items()}
        self.rules: set[Rule] = set()
        self.largest, self.n_blocks = 0.0, 0

    @classmethod
    def of_blocks(
        cls, n_rows: int, n_players: int, n_sets: int, **others: tuple[int, ...]
    ) -> Accumulator:
        """Return one for `BlockSums`, and for other arrays."""
        one = (n_rows, n_sets)
        return cls(values=(n_rows, n_players, n_sets), totals=one, magnitudes=one, **others)

    def __getitem__(self, name: str) -> Floats:
        return self.arrays[name]

    def __getstate__(self) -> dict[str, object]:
        return {"arrays": {}}

    def add(
        self,
        arrays: Mapping[Any, Any],
        *,
        at: Any = ...,
        rules: Iterable[Rule] = (),
        largest: float = 0.0,
        n_blocks: int = 1,
    ) -> None:
        """Add arrays of a block, to some entries of those here: all, or those `at` an index."""
        for name, array in arrays.items():
            if at is ...:
                self.add_array(name, array)
            else:
                self.arrays[name][at] += array
        self.rules.update(rules)
        self.largest = max(self.largest, largest)
        self.n_blocks += n_blocks

    def add_block(self, block: BlockSums, *, at: Any = ...) -> None:
        """Add the sums of a block, to those of some rows or to all."""
        values, totals, magnitudes, rules = block
        arrays = {"values": values, "totals": totals, "magnitudes": magnitudes}
        self.add(arrays, at=at, rules=rules)

    def add_array(self, name: Any, array: Any) -> None:
        """Add an array that is no block of its own."""
        known = self.arrays.get(name)
        if known is None:  # what comes from another process may be read-only
            self.arrays[name] = np.require(array, requirements="W")
        else:
            known += array

    def merge(self, other: Accumulator) -> None:
        """Add all that another one has."""
        self.add(other.arrays, rules=other.rules, largest=other.largest, n_blocks=other.n_blocks)
