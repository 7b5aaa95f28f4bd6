"""The compiled hot loop beside that in NumPy, for the tests of both.

A module that imports this one is skipped where pkex was installed without its native kernel. The
tolerances are relative to the sum of the absolute weights, the size of what is summed; both loops
are right to a few roundings, which grow slowly with the number of players.
"""

from __future__ import annotations

import numpy as np
import pytest

from pkex.games import numpy_backend, rules
from tests._support.cases import alone, assert_close

native = pytest.importorskip(
    "pkex.games.native",
    reason="pkex was installed without its native kernel",
    exc_type=ModuleNotFoundError,
)
kernel_module = pytest.importorskip("pkex.games.native._kernel", exc_type=ModuleNotFoundError)

ISAS = kernel_module.config()["isas"]
KINDS = kernel_module.kinds()
NO_KIND, GIVEN_KIND, RBF_KIND = (KINDS.index(name) for name in ("none", "given", "rbf"))


class ByNodes(numpy_backend.NumPyGame):
    """The games in NumPy by nodes alone, without the series that both backends have."""

    def _exponents(self, x, z):
        return None


def check(kernel, x, z, weights, *, players=None, absent=None, ladder=None, atol=4e-15):
    """Compare all results of the two loops, for every term of the kernel."""
    d = x.shape[1]
    players = players or alone(d)
    ladder = ladder or rules.ladder(len(players))
    size = np.abs(weights).sum(axis=-2)
    for term in kernel.terms(d):
        expected = ByNodes(term, players, ladder).explain(x, z, weights, absent)
        game = native.NativeGame(term, players, ladder)
        actual = game.explain(x, z, weights, absent)
        # Factors beyond [0, 1] make larger numbers, which the magnitudes measure, and those of the
        # general game make smaller ones in the tail.
        scale = np.maximum(size, expected.magnitudes) if absent is None else expected.magnitudes
        assert_close(actual.values / scale[:, None, :], expected.values / scale[:, None, :], atol)
        assert_close(actual.totals / scale, expected.totals / scale, atol)
        # that in NumPy scales all pairs of a block as soon as one of them takes an exact rule
        assert (actual.magnitudes <= expected.magnitudes * (1 + 1e-12)).all()
        assert absent is not None or (actual.magnitudes >= size * (1 - 1e-12)).all()
        assert {rule.any_factors for rule in actual.rules} <= {
            rule.any_factors for rule in (*expected.rules, ladder.rules[-1])
        }
        largest = max(rule.size for rule in actual.rules)
        assert largest == max(rule.size for rule in expected.rules)
