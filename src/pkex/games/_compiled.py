"""The native kernel where it was compiled, else why it cannot be imported: tried once a process.

A module whose import fails is not kept, so that every import of it tries again, and threads that
try at once see it half made. This module is always imported, with or without a compiler, and
Python's own import lock sees to it that threads wait for each other here.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "GAME",
    "MISSING",
    "add_form",
    "config",
    "contract_looked_up",
    "integrate_cells",
    "integrate_sparse",
    "measure_cells",
    "measure_distances",
    "multiply_cells",
    "sum_blocks",
    "sum_chain",
    "sum_sizes",
    "sum_variances",
]

GAME: Any = None
"""The game of the native kernel, or None without it."""
MISSING: ImportError | None = None
"""Why there is none."""
contract_looked_up: Any = None
"""The compiled loops of `pkex.games.lookup`, or None."""
sum_sizes: Any = None
sum_blocks: Any = None
"""That of `pkex.games.conditional_blocks`."""
sum_chain: Any = None
"""That of `pkex.games.conditional_chain`."""
integrate_sparse: Any = None
"""That of `pkex.games.sparse_integrals`, or None."""
add_form: Any = None
"""That of `pkex.games.forms`, or None."""
measure_distances: Any = None
"""That of `pkex.games.distances`, or None."""
measure_cells: Any = None
"""Those of `pkex.games.corners`, or None."""
integrate_cells: Any = None
multiply_cells: Any = None
sum_variances: Any = None
"""That of `pkex.games.variance_tiles`, or None."""


def config() -> dict[str, str | list[str]]:
    """Return how the native kernel was built; nothing without it."""
    return {}


try:
    from pkex.games.native import (  # type: ignore[assignment]
        NativeGame,
        add_form,
        config,
        contract_looked_up,
        integrate_cells,
        integrate_sparse,
        measure_cells,
        measure_distances,
        multiply_cells,
        sum_blocks,
        sum_chain,
        sum_sizes,
        sum_variances,
    )
except ImportError as error:
    MISSING = error.with_traceback(None)
else:
    GAME = NativeGame
