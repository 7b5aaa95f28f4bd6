"""What docs/architecture.md and CONTRIBUTING.md say about adding something, literally.

And the way of a call, as the page on how pkex is built has it.
"""

from __future__ import annotations

import doctest
import json
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVR

import pkex
from pkex import reference
from pkex.games.engine import run_reduction
from pkex.games.measures import Shapley
from pkex.games.plan import Plan
from pkex.games.protocols import Factors, Task
from pkex.games.reductions import ByRow
from pkex.games.rules import Ladder, Rule
from pkex.games.sources import make_given_game
from pkex.kernels import RBF, ColumnKernel
from tests._support.cases import alone, assert_close, pair_source
from tests._support.golden import facts, make
from tests._support.naive import shapley_by_enumeration
from tests._support.unchecked import unchecked

RNG = np.random.default_rng(0)
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


@dataclass(frozen=True, eq=True)
class Logistic(ColumnKernel):
    """A kernel of one's own: ``1 / cosh(x - z)``."""

    def factors(self, x, z):
        return 1.0 / np.cosh(x - z)


def test_a_kernel():
    """In a model and in a statistic, against enumeration through the kernel itself."""
    points, row = RNG.normal(size=(6, 4)), RNG.normal(size=4)
    f = pkex.KernelExpansion(points, RNG.normal(size=6), Logistic())
    others = RNG.normal(size=(5, 4))

    def worth(subset):
        rows = others.copy()
        rows[:, sorted(subset)] = row[sorted(subset)]
        return f.predict(rows).mean()

    found = pkex.Explainer(f, others)(row[None]).values[0]
    assert_close(found, np.array(shapley_by_enumeration(worth, 4), dtype=float), 1e-14)
    attribution = pkex.mmd(points, others, kernel=Logistic())
    assert_close(attribution.values.sum(), attribution.statistic, 1e-15)


@dataclass(frozen=True)
class Largest:
    """A measure of one's own: every other player is present, so t = 1."""

    index = "last"
    efficient = False

    def ladder(self, n_players, tol, *, general):
        rule = Rule("one", np.ones(1), np.ones(1), 2**62, np.inf, True, 0.0)
        return Ladder((rule,), np.array([np.inf]), n_players, -1.0, rule)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_measure(monkeypatch, backend):
    monkeypatch.setenv("PKEX_BACKEND", backend)
    points, rows, others = (RNG.normal(size=(5, 3)) for _ in range(3))
    f = pkex.KernelExpansion(points, RNG.normal(size=5), RBF(1.5))
    explanation = pkex.Explainer(f, others, index=Largest())(rows)
    assert explanation.index == "last"
    for row, values in zip(rows, explanation.values, strict=True):
        for j in range(3):
            without = np.repeat(row[None], 5, axis=0)
            without[:, j] = others[:, j]
            expected = f.predict(row[None])[0] - f.predict(without).mean()
            assert_close(values[j], expected, 1e-14)


class LookedUp:
    """A source of one's own: pairs have codes, and a table the factor of each player and code."""

    n_terms, n_players, pairs = 1, 3, 5

    def __init__(self, table, codes):
        self.table, self.codes, self.shape = table, codes, codes.shape
        self.game = make_given_game(3, Shapley(), general=False, tol=None)

    def explain(self, term, rows, points, weights):
        assert term == 0
        present = self.table[:, self.codes[rows, points]]
        return self.game.explain_given(Factors(present, 1.0 - present), weights)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_source(monkeypatch, backend):
    monkeypatch.setenv("PKEX_BACKEND", backend)
    table, codes = RNG.random((3, 6)), RNG.integers(6, size=(2, 4))
    alpha = RNG.normal(size=(4, 1))
    plan = Plan.of((), alone(3))
    sums = run_reduction(ByRow(plan, LookedUp(table, codes), alpha, alpha.sum(axis=0)))
    sums.check()
    for row in range(2):
        expected = reference.brute_force(table[:, codes[row]].T, alpha[:, 0])
        assert_close(sums.values[row, :, 0], expected, 1e-14)


class LargestPair:
    """A reduction of one's own: the pair of rows that a player matters most for."""

    def __init__(self, source, player):
        self.source, self.player, self.best = source, player, (0.0, (-1, -1))

    def tasks(self):
        n = len(self.source.x)
        return [Task(slice(i, i + 1), slice(0, n)) for i in range(n)]

    def run(self, task):
        n_points = self.source.shape[1]
        values = np.zeros((self.source.n_values, 1, n_points))
        self.source.add_values(task.rows, task.points, values)
        at = int(np.abs(values[self.player, 0]).argmax())
        return abs(values[self.player, 0, at]), (task.rows.start, at)

    def add(self, part):
        self.best = max(self.best, part)

    def result(self):
        return self.best[1]


def test_a_reduction():
    x = RNG.normal(size=(12, 3))
    x[4, 1], x[9, 1] = 8.0, -8.0
    x[9, [0, 2]] = x[4, [0, 2]]
    source = pair_source(Plan.of(RBF(1.0).terms(3), alone(3), apart=False), x)
    assert run_reduction(LargestPair(source, 1), n_jobs=2) in ((4, 9), (9, 4))


class Doubled:
    """A model of a library of one's own: twice a support vector machine."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return 2.0 * self.model.predict(X)


def read_doubled(model, given):
    """Return the reading of a `Doubled`, which takes nothing from the user."""
    assert given.kernel is None
    assert given.points is None
    once = pkex.as_expansion(model.model)
    alpha, offset = 2.0 * once.coefficients, 2.0 * once.intercept
    kind = once.background.kind
    twice = pkex.KernelExpansion(once.points, alpha, once.kernel, offset, background=kind)
    return pkex.readers.Reading(twice, model.predict)


def test_a_reader(monkeypatch):
    monkeypatch.setattr(pkex.readers, "_readers", dict(pkex.readers._readers))  # for this test
    pkex.readers.register(f"{Doubled.__module__}.Doubled")(read_doubled)
    X = RNG.normal(size=(30, 3))
    model = Doubled(SVR().fit(X, X[:, 0]))
    once = pkex.Explainer(model.model)(X[:4]).values
    assert_close(pkex.Explainer(model)(X[:4]).values, 2.0 * once, 1e-14)


def pieces_of_a_result():
    """Return the code on the page by the places that it names, in the order of its steps."""
    text = GUIDE.read_text(encoding="utf-8").split("## Add a result")[1].split("\n## ")[0]
    blocks = [dedent(block) for block in re.findall(r"^ *```python\n(.*?)```", text, re.M | re.S)]
    matches = (re.fullmatch(r" *# ([^\n]+)\n(.*)", block, re.S) for block in blocks)
    return {match[1]: match[2] for match in matches}


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """The page, followed: modules where it says, the method, the public name, the golden list."""
    pieces = pieces_of_a_result()
    before = set(sys.modules)
    for place in [place for place in pieces if place.startswith("src/") and "," not in place]:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pieces.pop(place), encoding="utf-8")
        package = import_module(".".join(path.relative_to(tmp_path / "src").parent.parts))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
    names: dict[str, Any] = {}
    exec(pieces.pop("src/pkex/explain/questions.py, in Questions"), names)
    monkeypatch.setattr(pkex.Explainer, "direction", names["direction"], raising=False)
    result = import_module("pkex.results.direction")
    monkeypatch.setattr(pkex, "Direction", result.Direction, raising=False)
    yield pieces
    for name in set(sys.modules) - before:
        if name.endswith(".direction"):
            parent, _, module = name.rpartition(".")
            delattr(sys.modules[parent], module)
            del sys.modules[name]


def test_a_result(monkeypatch, tmp_path, toy):
    """It is explained, shown, drawn, saved and read, and its page runs."""
    X = RNG.normal(size=(30, 3))
    explainer = pkex.Explainer(SVR().fit(X, X[:, 0]), n_jobs=1)
    found = unchecked(explainer).direction(X[:8])
    assert np.array_equal(found.shares, (explainer(X[:8]).values > 0.0).mean(axis=0))
    assert repr(found).startswith("Direction(8 rows)\n")
    assert "up in" in found._repr_html_()
    assert list(found.to_frame().index) == ["x0", "x1", "x2"]
    assert len(found.plot().ax_.patches) == 3
    with pytest.raises(ValueError, match=r"shares must have shape \(3,\)"):
        type(found)(found.about, found.shares[:2], 8)

    monkeypatch.setattr(make, "KINDS", make.KINDS)  # all for this test
    monkeypatch.setattr(make, "RESULTS", dict(make.RESULTS))
    monkeypatch.setattr(facts, "SELECTIONS", dict(facts.SELECTIONS))
    monkeypatch.setattr(make, "SELECTIONS", facts.SELECTIONS, raising=False)
    monkeypatch.setattr(make, "FOLDER", tmp_path)
    exec(toy.pop("tests/_support/golden/make.py"), vars(make))
    make.main(["direction"])
    recorded = json.loads((tmp_path / "direction.json").read_text(encoding="utf-8"))
    again = facts.record(make.loaded("direction", "Direction"))
    assert recorded["fields"]["n_rows"] == 3
    assert facts.differences(recorded, json.loads(json.dumps(again)), 0.0) == []

    [(page, examples)] = toy.items()
    test = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    assert doctest.DocTestRunner().run(test) == (0, 4)


def way_of(call):
    """The files of pkex on the way down to the hot loop, each once for every stretch in it."""
    root = Path(pkex.__file__).parent
    found: list[str] = []

    def watch(frame, event, _):
        if event != "call" or frame.f_code.co_name not in ("add_pairs", "explain") or found:
            return
        if frame.f_code.co_filename != str(root / "games" / "numpy_backend.py"):
            return
        stack = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(str(root)):
                stack.append(Path(frame.f_code.co_filename).relative_to(root).as_posix())
            frame = frame.f_back
        found.extend(name for name in stack[::-1] if not name.startswith("_util/"))

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [name for i, name in enumerate(found) if i == 0 or name != found[i - 1]]


def test_the_way_of_mmd_is_as_the_page_says(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    X, Z = RNG.normal(size=(2, 30, 3))
    text = PAGE.read_text(encoding="utf-8")
    listed = re.findall(
        r"^\d+\. `([^`]+)`(?: or `([^`]+)`)?", text.split("The way of a call")[1], re.M
    )
    way = way_of(lambda: pkex.mmd(X, Z, n_permutations=50, n_jobs=1))
    assert way == [other or first for first, other in listed]
    assert len(set(way)) == len(way)  # it never comes back to a file


def test_the_way_of_a_model_is_as_the_page_says(monkeypatch):
    monkeypatch.setenv("PKEX_BACKEND", "numpy")
    f = pkex.KernelExpansion(RNG.normal(size=(30, 3)), np.ones(30), RBF())
    explain = pkex.Explainer(f, n_jobs=1)
    way = way_of(lambda: explain(RNG.normal(size=(4, 3))))
    assert way == [
        "explain/explainer.py",
        "explain/values.py",
        "games/points.py",
        "games/numpy_backend.py",
    ]


def test_the_page_names_the_protocols_and_what_there_is():
    text = PAGE.read_text(encoding="utf-8")
    from pkex.games import measures, permutations, reductions, sources

    for module, names in (
        (measures, ("Shapley", "Banzhaf", "BetaShapley")),
        (reductions, ("ByRow", "ByPair", "MeanFactors", "Component")),
        (permutations, ("ByPermutation",)),
        (sources, ("PointSource", "GivenFactors")),
    ):
        for name in names:
            assert name in module.__all__
            assert f"`{name}`" in text
