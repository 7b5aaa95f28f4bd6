"""Product games: the one primitive of pkex, and everything that sums their values.

`protocols` is the place to start: what a product game is, and the three seams, where factors come
from, what is integrated, and what is done with the values. The other files, in the order in which a
call meets them:

- `players`: columns, or groups of columns, that act as one;
- `measures`: semivalues (Shapley, Banzhaf, Beta-Shapley); `rules` and `gauss`: quadrature rules
  with proven error bounds;
- `hierarchy`: trees of players, with Owen, Winter and asymmetric values; `hierarchy_input` reads
  them, `tree_values` and `tree_powers` have their passes;
- `plan`: the games of a kernel, before they see data; `single_player`: terms without a game;
- `sources`: where the factors of a block come from; `points`: what a model is, weighted points;
- `means`: factors averaged over a background, with `gauss_means` and `laplace_means`;
- `reductions` and `permutations`: sums by row, by pair, by permutation; `engine`: the one loop over
  blocks; `blocks`, `threads` and `layout`: how work is cut and shared, how tables lie in memory;
- `atoms`: the products that a function is a sum of; `covariance`, `quadratic`, `variances` and
  `squares`: the reductions for the posterior of values, for quadratic forms, for the variance of a
  function, and for its square. `covariance` takes its integrals from `corners`, `variances` the
  factors from `moments`, tiles from `variance_tiles` and parts of pairs from `pair_variances`;
- `factors`: factors in two forms, and what is made of them;
- `backend`: which backend runs, `numpy_backend`, with `near_one` and `tree_products`, or
  `pkex.games.native`; `lookup`: entries of a matrix for many permutations;
  `distances`: three distances of all pairs at once; `forms`: quadratic forms, roughly;
- `accumulator`: what blocks are added to; `sums`: the result, and whether it adds up.

The semivalues and the quadrature rules are public:

>>> import pkex
>>> pkex.games.BetaShapley(16, 1).index
'Beta(16, 1)'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pkex.games import rules
    from pkex.games.hierarchy import Ordered
    from pkex.games.measures import Banzhaf, BetaShapley, FirstIn, LastIn, Shapley

__all__ = ["Banzhaf", "BetaShapley", "FirstIn", "LastIn", "Ordered", "Shapley", "rules"]

if not TYPE_CHECKING:  # not before they are used, as they need SciPy

    def __getattr__(name: str) -> Any:
        if name == "rules":
            return import_module("pkex.games.rules")
        if name in __all__:
            place = "hierarchy" if name == "Ordered" else "measures"
            return getattr(import_module(f"pkex.games.{place}"), name)
        raise AttributeError(f"module 'pkex.games' has no attribute {name!r}")
