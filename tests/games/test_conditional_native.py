"""Both backends, and every instruction set, sum conditional games alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pkex.games import backend
from pkex.games.conditional_points import ConditionalBackground, ConditionalPoints
from pkex.games.plan import Plan
from pkex.kernels import RBF

pytestmark = pytest.mark.native

RNG = np.random.default_rng(5)
BLOCKS = {
    "blocks": ((0, 1), (2, 4, 5), (3, 6, 7, 8, 9)),
    "some": ((1, 2),),
    "one": (tuple(range(10)),),
    "chain": (),
}


def make_points(kind: str, n_points: int, n_sets: int) -> tuple[ConditionalPoints, Any]:
    rows = RNG.normal(size=(60, 10)) @ (np.eye(10) + 0.4 * RNG.normal(size=(10, 10)))
    background = ConditionalBackground(
        rows,
        np.full(60, 1.0 / 60),
        False,
        BLOCKS[kind],
        kind == "chain",
        (),
        tuple("abcdefghij"),
    )
    plan = Plan.of(RBF(3.0).terms(10), tuple((k,) for k in range(10)), general=True, apart=False)
    z = RNG.normal(size=(n_points, 10))
    weights = RNG.normal(size=(n_points, n_sets))
    return ConditionalPoints(plan, z, weights, background), rows[:2]


@pytest.mark.skipif(backend.native() is None, reason="no compiled backend")
@pytest.mark.parametrize("n_points", [1, 7, 16, 37])
@pytest.mark.parametrize("kind", list(BLOCKS))
def test_backends_agree(kind, n_points, monkeypatch):
    points, rows = make_points(kind, n_points, 2)
    compiled = points.explain(rows)
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    plain = points.explain(rows)
    for name in ("values", "totals", "magnitudes"):
        assert_allclose(getattr(compiled, name), getattr(plain, name), rtol=0, atol=1e-13)


@pytest.mark.skipif(backend.native() is None, reason="no compiled backend")
@pytest.mark.parametrize("kind", list(BLOCKS))
def test_instruction_sets_agree(kind, monkeypatch):
    points, rows = make_points(kind, 21, 1)
    expected = points.explain(rows).values
    compiled = backend.native()
    name = "sum_chain" if kind == "chain" else "sum_blocks"
    loop = getattr(compiled, name)
    for isa in compiled.config()["isas"]:
        monkeypatch.setattr(
            compiled, name, lambda isa=isa, **arrays: loop(**arrays, isa=isa), raising=True
        )
        assert_allclose(points.explain(rows).values, expected, rtol=0, atol=1e-13)


@pytest.mark.skipif(backend.native() is None, reason="no compiled backend")
def test_the_compiled_loops_check_their_arrays():
    compiled = backend.native()
    points, rows = make_points("chain", 5, 1)
    points.explain(rows)
    game: Any = points.games[0]
    table = game.table
    arrays = {
        "z": table.z,
        "x": rows[0],
        "scales": table.scales,
        "slopes": table.chain.slopes,
        "gaps": table.packed,
        "nodes": np.array([0.5]),
        "node_shares": np.array([1.0]),
        "weights": points.weights,
        "out": np.zeros((12, 1)),
    }
    compiled.sum_chain(**arrays)
    for name, wrong in (("x", rows[0, :9].copy()), ("out", np.zeros((11, 1)))):
        with pytest.raises(ValueError, match=f"{name} must have the shape"):
            compiled.sum_chain(**(arrays | {name: wrong}))
