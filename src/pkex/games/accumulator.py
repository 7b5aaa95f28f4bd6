"""`Accumulator`: what the blocks of a reduction are added to, whatever it sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.games.rules import Rule

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
