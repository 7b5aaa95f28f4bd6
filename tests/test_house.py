"""How the library is built: packages import in one direction, and `scripts/house.py` measures it.

The direction is cli, then explain and statistics, results, output, then models, kernels, games,
tables and readers, and `_util` last. A module imports from its own line or from later ones.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections import defaultdict
from pathlib import Path

import pytest

from benchmarks.house import check_tree, run_in
from pkex._util.cells import is_number
from pkex._util.words import pluralise

HOUSE = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "house.py"))

LINES = [
    {"cli"},
    {"explain", "statistics"},
    {"results"},
    {"output"},
    {"models", "kernels", "games", "tables", "readers"},
    {"_util"},
]
RANKS = {name: rank for rank, line in enumerate(LINES) for name in line}
DOORS = {"pkex", "pkex.__main__", "pkex.plots", "pkex.reference"}

# Imports against the direction, by what they import: modules leave this list, none joins it.
AGAINST: dict[tuple[str, str], set[str]] = {}


def home(module, known):
    """Return the package that a module belongs to; "doors" for public paths at the root."""
    if module in DOORS:
        return "doors"
    return "_util" if module == "pkex.errors" else HOUSE["package"](module, known)


def against(graph, known):
    found = defaultdict(set)
    for module, targets in graph.items():
        here = home(module, known)
        for there in {home(target, known) for target in targets}:
            public = there == "doors" and here == "cli"  # commands call what users call
            if here != "doors" and not public and RANKS.get(there, -1) < RANKS[here]:
                found[here, there].add(module.removeprefix("pkex."))
    return dict(found)


def test_packages_import_in_one_direction():
    known = HOUSE["modules"]()
    assert {home(module, known) for module in known} <= {*RANKS, "doors"}
    assert against(HOUSE["imports"](), known) == AGAINST


def test_an_import_against_the_direction_is_noticed():
    known = HOUSE["modules"]()
    graph = {"pkex.kernels.radial": {"pkex.cli"}, "pkex.cli": {"pkex.kernels.radial", "pkex"}}
    assert against(graph, known) == {("kernels", "cli"): {"kernels.radial"}}


def test_results_and_output_know_no_reader():
    graph = HOUSE["imports"]()
    users = {module for module, targets in graph.items() if any("readers" in t for t in targets)}
    assert not {module for module in users if module.split(".")[1] in ("results", "output")}


def test_imports_of_functions_count_and_those_of_types_do_not():
    graph = HOUSE["imports"]()
    assert "pkex.explain.interactions" in graph["pkex.explain.questions"]  # inside a method
    assert "pkex.results.interactions" not in graph["pkex.explain.questions"]  # of types alone
    assert "pkex.output.html" in graph["pkex.explain.explainer"]  # from pkex.output import html
    assert "pkex.readers" in graph["pkex.explain.fitted"]


def reductions():
    """Return the public classes of the library that have `tasks`, but for those to derive from."""
    nodes = {
        node.name: node
        for path in HOUSE["modules"]().values()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    bases = {name: {ast.unparse(base) for base in node.bases} for name, node in nodes.items()}
    own = {
        n for n, node in nodes.items() if any(getattr(m, "name", 0) == "tasks" for m in node.body)
    }
    some = own - {"Reduction"}
    while new := {name for name in bases if bases[name] & some} - some:
        some |= new
    return {name for name in some if name[0] != "_" and "ABC" not in bases[name]}


def test_the_page_names_all_reductions():
    page = Path(__file__).parents[1].joinpath("docs", "architecture.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith("| `Reduction` |")]
    named = {name for name in re.findall(r"`(\w+)`", row) if name != "Reduction"}
    assert named == reductions()


def test_lines_of_code_are_without_docstrings_comments_and_blanks():
    source = (
        '"""Head.\n\nMore."""\n\n# why\nX = """a\nb"""  # two lines\n\n\ndef f():\n    """Do."""\n'
    )
    assert HOUSE["lines"](source) == (11, 3)


def result_classes():
    """Return the source of `Result`, its bases and all that derives from it, by name."""
    bases, sources = {}, {}
    for module, path in HOUSE["modules"]().items():
        if module.startswith("pkex.results."):
            text = path.read_text(encoding="utf-8")
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef):
                    bases[node.name] = {ast.unparse(base) for base in node.bases}
                    sources[node.name] = ast.get_source_segment(text, node)
    family = {"AboutAttributes"}
    while new := {name for name in bases if bases[name] & family} - family:
        family |= new
    return {name: sources[name] for name in sorted(family)}


RESULT_CLASSES = result_classes()


def test_all_results_are_measured():
    assert {"Result", "Attribution", "Explanation", "Interactions", "Tested"} <= {*RESULT_CLASSES}


@pytest.mark.parametrize("name", RESULT_CLASSES)
def test_a_result_has_at_most_120_lines_of_code(name):
    assert HOUSE["lines"](RESULT_CLASSES[name]).code <= 120


def test_no_file_is_too_long():
    """Docstrings, comments and blanks are lines as well."""
    assert HOUSE["LONGEST"] == 450
    assert HOUSE["long_files"]() == {}


def test_a_long_file_of_any_language_is_noticed(tmp_path, monkeypatch):
    for name in ("src/a.js", "src/b/c.py", "tests/d.py", "scripts/e.py", "benchmarks/f.hpp"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n" * (450 if name == "tests/d.py" else 451))
    monkeypatch.setitem(HOUSE["long_files"].__globals__, "ROOT", tmp_path)
    long = ["src/a.js", "src/b/c.py", "scripts/e.py", "benchmarks/f.hpp"]
    assert HOUSE["long_files"]() == dict.fromkeys(long, 451)


def test_cycles_are_found():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": set()}
    assert HOUSE["cycles"](graph) == [["a", "b", "c"]]


def test_a_walk_goes_through_files_of_the_library_alone():
    walk = HOUSE["walk"]
    assert walk(lambda: [len(name) for name in ("a", "b")]) == (0, 0)
    assert walk(lambda: [is_number(1), is_number(2)]) == (1, 1)
    assert walk(lambda: [is_number(1), pluralise(1, "row"), is_number(2)]) == (2, 3)


def test_files_of_later_capabilities_are_told_from_shared_ones():
    named = [f"pkex.{name}" for names in HOUSE["LATER"].values() for name in names]
    doors = {name for name in named if ":" not in name}
    known = HOUSE["modules"]()
    assert doors <= set(known)
    later = HOUSE["later_modules"](HOUSE["imports"]())
    assert doors < later < set(known)
    assert "pkex.explain.effect_sums" in later  # imported by effects alone
    assert "pkex.explain.compared_tables" in later
    assert "pkex.results.comparison" in later
    assert not later & {"pkex.explain.explainer", "pkex.explain.interactions", "pkex.results.base"}


def test_what_came_later_is_counted_once():
    """Functions of files that count as a whole are not named beside these."""
    modules = HOUSE["later_modules"](HOUSE["imports"]())
    counted = HOUSE["later_lines"](modules)
    parts = [name.split(":") for name in counted if ":" in name]
    assert parts
    assert not modules & {module for module, _ in parts}
    every = {(module, name) for module, name in parts}
    assert not every & {(module, ".".join(name.split(".")[:-1])) for module, name in parts}


def test_lines_of_a_definition_have_its_decorators_and_no_docstring():
    source = (
        'X = 1\n\n\n@cache\ndef f():\n    """Do."""\n    return 1\n\n\n'
        'class A:\n    """A."""\n\n    def f(self):\n        # why\n        return X\n'
    )
    assert [HOUSE["definition"](source, name) for name in ("f", "A", "A.f", "X")] == [3, 3, 2, 1]
    with pytest.raises(ValueError, match="unpack"):
        HOUSE["definition"](source, "g")


def test_the_script_prints_all_of_it():
    report = HOUSE["report"]()
    for words in (
        "package",
        "alone; others: ",
        "modules at the root",
        "cycles of modules",
        "files over 450 lines",
    ):
        assert words in report
    for call in ("explainer(X)", "explainer.interactions(X)", "mmd(X, Z", "sensitivity(model, X)"):
        assert call in report


def test_the_benchmark_measures_the_tree_that_it_is_given(tmp_path):
    """Also where pkex is installed in editable mode, whose modules come before all paths."""
    native = tmp_path / "pkex" / "games" / "native"
    native.mkdir(parents=True)
    for path in (native, native.parent, native.parent.parent):
        (path / "__init__.py").touch()
    with pytest.raises(SystemExit, match=r"not imported from .*_kernel.*pip install"):
        check_tree(tmp_path)
    (native / "_kernel.py").touch()
    check_tree(tmp_path)
    assert (
        run_in(tmp_path, "import pkex; print(pkex.__path__)").stdout
        == f"{[str(tmp_path / 'pkex')]}\n"
    )


def test_the_benchmark_refuses_a_tree_without_pkex(tmp_path):
    with pytest.raises(SystemExit, match="not imported from"):
        check_tree(tmp_path)
