"""Arrays and programs that the compiled hot loop is given: of any layout, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkex.games import numpy_backend, rules
from pkex.games.protocols import Factors
from pkex.kernels import (
    RBF,
    Custom,
)
from tests._support.cases import COLUMN_KERNELS, alone, assert_close, sample
from tests._support.native_games import GIVEN_KIND, KINDS, NO_KIND, RBF_KIND, kernel_module, native

pytestmark = pytest.mark.native


def layouts(array, how):
    """Return the same numbers, laid out in another way."""
    if how == "fortran":
        return np.asfortranarray(array)
    if how == "reversed":
        return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
    if how == "strided":
        wide = np.zeros(tuple(2 * n + 1 for n in array.shape))
        view = wide[tuple(slice(1, None, 2) for _ in array.shape)]
        view[...] = array
        return view
    result = array.copy()
    result.flags.writeable = False
    return result


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    shape=st.tuples(*(st.integers(0, n) for n in (3, 40, 9))),
    d=st.integers(1, 9),
    by_row=st.booleans(),
    general=st.booleans(),
    how=st.lists(
        st.sampled_from(["fortran", "reversed", "strided", "frozen"]), min_size=4, max_size=4
    ),
    seed=st.integers(0, 1000),
)
def test_odd_shapes_and_layouts(shape, d, by_row, general, how, seed):
    n_rows, n_points, n_sets = shape
    rng = np.random.default_rng(seed)
    x, z = sample(rng, n_rows, d), sample(rng, n_points, d)
    weights = rng.normal(size=shape if by_row else shape[1:])
    absent = None
    if general:
        values = rng.uniform(-1.1, 1.0, size=(d, n_points))
        absent = Factors(values, 1.0 - values)
    (term,) = (RBF(1.5) * Custom(lambda x, z: 1.0 - 0.6 * np.abs(x - z)).on(d - 1)).terms(d)
    ladder = rules.general_ladder(d) if general else rules.ladder(d)
    arrays = [layouts(a, h) for a, h in zip((x, z, weights), how[:3], strict=True)]
    arrays += [Factors(*(layouts(form, how[3]) for form in absent))] if general else []
    block = native.NativeGame(term, alone(d), ladder).explain(*arrays)
    assert block.values.shape == (n_rows, d, n_sets)
    if n_rows and n_points and n_sets:
        known = numpy_backend.NumPyGame(term, alone(d), ladder).explain(x, z, weights, absent)
        scale = known.magnitudes.max()
        assert_close(block.values, known.values, 1e-14 * scale)
        assert_close(block.totals, known.totals, 1e-14 * scale)
    elif n_rows and n_sets:
        assert not block.values.any()
        assert not block.totals.any()


def test_every_kind_of_the_compiled_module_is_one_that_python_packs():
    terms = [case.build(np.ones(2)).terms(2)[0] for case in COLUMN_KERNELS]
    packed = [native._code(leaf)[0] for term in terms for leaf in term.leaves]
    assert {"none", *packed} == set(KINDS)
    assert len(KINDS) == len(set(KINDS))


def raw(**changes):
    """The arguments of a small program, some of them changed."""
    arguments = {
        "kinds": np.array([RBF_KIND, RBF_KIND, GIVEN_KIND]),
        "columns": np.array([0, 1, 0]),
        "players": np.array([0, 1, 1]),
        "a": np.ones(3),
        "b": np.zeros(3),
        "n_columns": 2,
        "n_given": 1,
        "n_players": 2,
        "sizes": np.array([1, 2]),
        "limits": np.array([0.1, np.inf]),
        "any_factors": np.array([0, 1]),
        "nodes": np.array([0.5, 0.2, 0.8]),
        "weights": np.array([1.0, 0.5, 0.5]),
        "lower": 0.0,
        "fallback_nodes": np.array([0.5]),
        "fallback_weights": np.array([1.0]),
    }
    return {**arguments, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"kinds": np.array([RBF_KIND, RBF_KIND, len(KINDS)])},
        {"kinds": np.array([RBF_KIND, -1, RBF_KIND])},
        {"kinds": np.array([RBF_KIND, NO_KIND, RBF_KIND])},
        {"kinds": np.array([RBF_KIND, RBF_KIND])},
        {"kinds": np.ones(3)},
        {"kinds": np.ones((3, 1), dtype=np.int64)},
        {"columns": np.array([0, 2, 0])},
        {"columns": np.array([0, 1, 1])},
        {"columns": np.array([0, -1, 0])},
        {"players": np.array([0, 2, 1])},
        {"players": np.array([0, -1, 1])},
        {"a": np.ones(2)},
        {"a": np.ones(3, dtype=np.float32)},
        {"n_columns": 0},
        {"n_players": 0},
        {"n_players": -(2**40)},
        {"n_given": -1},
        {"sizes": np.array([1, 3])},
        {"sizes": np.array([1, 1])},
        {"sizes": np.array([2**62, 2**62])},
        {"sizes": np.array([-1, 4])},
        {"sizes": np.array([], dtype=np.int64)},
        {"limits": np.array([1.0])},
        {"any_factors": np.array([0])},
        {"weights": np.ones(2)},
        {"fallback_weights": np.ones(2)},
        {"isa": "v9"},
        {"lower": "low"},
    ],
    ids=repr,
)
def test_a_program_that_does_not_fit_is_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        kernel_module.Game(**raw(**changes))


def arrays(**changes):
    given = {
        "x": np.zeros((3, 2)),
        "z": np.zeros((5, 2)),
        "weights": np.ones((5, 4)),
        "values": np.empty((3, 2, 4)),
        "totals": np.empty((3, 4)),
        "magnitudes": np.empty((3, 4)),
        "absent": np.ones((2, 5)),
        "absent_deficits": np.zeros((2, 5)),
        "given": np.zeros((1, 3, 5)),
        "given_values": np.ones((1, 3, 5)),
    }
    return {**given, **changes}


def misaligned(shape):
    count = int(np.prod(shape))
    return np.frombuffer(bytes(8 * count + 1), dtype=np.uint8)[1:].view(np.float64).reshape(shape)


WRONG = [
    lambda a: a.astype(np.float32),
    lambda a: a.astype(np.int64),
    lambda a: a.astype(">f8"),
    lambda a: a.astype(complex),
    lambda a: a.astype(object),
    lambda a: a[..., None],
    lambda a: a[0],
    lambda a: a[:0],
    lambda a: a[..., 1:],
    lambda a: np.repeat(a, 2, axis=0),
    lambda a: np.repeat(a, 2, axis=-1),
    lambda a: a.tolist(),
    lambda a: None,
    lambda a: "array",
    lambda a: misaligned(a.shape),
]


@pytest.mark.parametrize("name", arrays())
def test_arrays_that_do_not_fit_are_refused(name):
    program = kernel_module.Game(**raw())
    assert program.explain(**arrays())[0] == 0
    for wrong in WRONG:
        changed = wrong(arrays()[name])
        with pytest.raises((ValueError, TypeError)):
            program.explain(**arrays(**{name: changed}))


def background_arrays(**changes):
    given = {
        name: array for name, array in arrays().items() if name not in ("absent", "absent_deficits")
    }
    more = {
        "background": np.zeros((6, 2)),
        "shares": np.ones(6),
        "other_given": np.zeros((1, 6, 5)),
        "other_given_values": np.ones((1, 6, 5)),
    }
    return {**given, **more, **changes}


@pytest.mark.parametrize("name", background_arrays())
def test_arrays_that_do_not_fit_a_background_are_refused(name):
    program = kernel_module.Game(**raw())
    assert program.explain(**background_arrays())[0] == 0
    for wrong in WRONG:
        with pytest.raises((ValueError, TypeError)):
            program.explain(**background_arrays(**{name: wrong(background_arrays()[name])}))
    with pytest.raises(ValueError, match="not with absent factors"):
        program.explain(
            **background_arrays(absent=np.ones((2, 5)), absent_deficits=np.zeros((2, 5)))
        )


def factor_arrays(**changes):
    given = {
        "x": np.zeros((3, 2)),
        "z": np.zeros((5, 2)),
        "values": np.empty((2, 5)),
        "deficits": np.empty((2, 5)),
        "shares": np.ones(3),
        "given": np.zeros((1, 3, 5)),
        "given_values": np.ones((1, 3, 5)),
    }
    return {**given, **changes}


@pytest.mark.parametrize("name", factor_arrays())
def test_arrays_that_do_not_fit_the_factors_are_refused(name):
    program = kernel_module.Game(**raw())
    program.factors(**factor_arrays())
    for wrong in WRONG:
        with pytest.raises((ValueError, TypeError)):
            program.factors(**factor_arrays(**{name: wrong(factor_arrays()[name])}))


@pytest.mark.parametrize("name", ["values", "totals", "magnitudes"])
def test_results_need_contiguous_writable_memory(name):
    program = kernel_module.Game(**raw())
    frozen = arrays()[name]
    frozen.flags.writeable = False
    for changed in (
        frozen,
        np.asfortranarray(arrays()[name]),
        np.repeat(arrays()[name], 2, 0)[::2],
    ):
        with pytest.raises((ValueError, TypeError)):
            program.explain(**arrays(**{name: changed}))


def test_what_sparse_rows_are_integrated_from_is_checked():
    """One row of one player with an entry at the second of two points."""
    ends = (np.full(1, 0.5), np.ones(1), np.full(1, -0.5))
    right = {
        "nodes": np.full(1, 0.5),
        "shares": np.ones(1),
        "slots_of_rows": np.array([0, 1]),
        "entries_of_slots": np.array([0, 1]),
        "points": np.array([1]),
        "at_entries": ends,
        "at_empty": (np.ones(1), np.ones(1), np.zeros(1)),
        "first_at_entries": (np.ones(1), np.ones(1), np.zeros(1)),
        "first_at_empty": (np.ones(1), np.ones(1), np.zeros(1)),
        "log_products": np.zeros((1, 2)),
        "changes": None,
        "weights": np.array([[1.0], [3.0]]),
    }
    values, rest = np.zeros((1, 1)), np.zeros((1, 1))
    kernel_module.integrate_sparse(**right, values=values, rest=rest)
    assert values[0, 0] == pytest.approx(-1.5)  # 3 (p - a), which the node at 1/2 integrates
    assert rest[0, 0] == 0.0
    for name, wrong, words in (
        ("points", np.array([2]), "points must be numbers"),
        ("points", np.array([-1]), "points must be numbers"),
        ("slots_of_rows", np.array([0, 2]), "slots_of_rows must ascend"),
        ("entries_of_slots", np.array([1, 1]), "entries_of_slots must ascend"),
        ("shares", np.ones(2), "shares must have the shape"),
        ("log_products", np.zeros((2, 2)), "log_products must have the shape"),
        ("changes", np.zeros((1, 3)), "changes must have the shape"),
        ("at_empty", (np.ones(3), np.ones(1), np.ones(1)), "ends must have one number"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel_module.integrate_sparse(**{**right, name: wrong}, values=values, rest=rest)
