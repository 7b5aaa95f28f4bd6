"""Print how the library is built: lines, modules at the root, cycles, and the walk of a call.

python scripts/house.py

A line of code holds something other than a docstring, a comment or nothing. Imports count wherever
they stand, but for those under ``if TYPE_CHECKING:``, which never run.

The walk of a call is the sequence of files whose named functions are called, one after the other;
comprehensions, generator expressions and lambdas belong to the function around them. `files` is how
many it visits, `changes` how often it goes to one, counting the first, from another file.
"""

from __future__ import annotations

import ast
import io
import os
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from house_later import LATER

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
PACKAGES = (
    *("root", "cli", "explain", "results", "output", "kernels", "games", "models", "readers"),
    *("statistics", "tables", "_util"),
)
AROUND = ("root", "explain", "results", "output", "cli", "_util")  # what is not the engine
LONGEST = 450  # lines of a file, docstrings, comments and blanks included
FOLDERS = ("src", "scripts", "tests", "benchmarks", "examples", "experiments", "simulations")

Graph = dict[str, set[str]]

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


class Lines(NamedTuple):
    """Lines of a file, and those of code among them."""

    all: int
    code: int


class Walk(NamedTuple):
    """How many files a call visits, and how often it goes from one to another."""

    files: int
    changes: int


def modules() -> dict[str, Path]:
    """Return the files of the library by the dotted names of their modules."""
    paths = {}
    for path in sorted((SOURCES / "pkex").rglob("*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def package(module: str, known: Mapping[str, Path]) -> str:
    """Return the package of a module; "root" for one that lies beside the packages."""
    parts = module.split(".")
    inside = len(parts) > 2 or (len(parts) == 2 and known[module].name == "__init__.py")
    return parts[1] if inside else "root"


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code."""
    filled: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            filled.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node, clean=False) is not None and first is not None:
                filled.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return filled


def lines(source: str) -> Lines:
    """Return how many lines a source has, and how many hold code."""
    return Lines(len(source.splitlines()), len(code_lines(source)))


def lines_by_package() -> dict[str, Lines]:
    """Return the lines of every package."""
    known = modules()
    every, code = Counter[str](), Counter[str]()
    for module, path in known.items():
        counted = lines(path.read_text(encoding="utf-8"))
        every[package(module, known)] += counted.all
        code[package(module, known)] += counted.code
    names = [*PACKAGES, *sorted(set(every) - set(PACKAGES))]
    return {name: Lines(every[name], code[name]) for name in names}


def later_modules(graph: Graph) -> set[str]:
    """Return the modules that serve later capabilities alone."""
    later = {f"pkex.{name}" for names in LATER.values() for name in names if ":" not in name}
    users: Graph = {}
    for module, targets in graph.items():
        for target in targets:
            users.setdefault(target, set()).add(module)
    for node in ast.walk(ast.parse(modules()["pkex"].read_text(encoding="utf-8"))):
        # `pkex` imports the homes of its names by their paths
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            users.setdefault(f"pkex.{node.value}", set()).add("pkex")
    while more := {name for name, by in users.items() if by <= later} - later:
        later |= more
    return later


def definition(source: str, name: str) -> set[int]:
    """Return the numbers of the lines of code of a function, a class, a method or a constant."""
    node: Any = ast.parse(source)
    for part in name.split("."):
        [node] = [child for child in node.body if part in _defined(child)]
    decorators = getattr(node, "decorator_list", ())
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return code_lines(source) & {*range(first, node.end_lineno + 1)}


def _defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {node.name} if isinstance(node, ast.ClassDef | ast.FunctionDef) else set()


class LaterLines(NamedTuple):
    """Lines of code of later capabilities: of modules alone, of parts of others, of their names."""

    modules: dict[str, int]
    parts: dict[str, int]
    names: dict[str, int]


def later_lines(modules_alone: set[str]) -> LaterLines:
    """Return the lines of code of later capabilities by where they stand."""
    known = modules()
    listed = {name.partition(":")[::2] for names in LATER.values() for name in names}
    counted = LaterLines({}, {}, {})
    shared: dict[str, tuple[str, set[int]]] = {}
    later = {module.rpartition(".")[2] for module in modules_alone}
    others: set[str] = set()
    for module, path in known.items():
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        if module in modules_alone:
            later.update(name for node in tree.body for name in _defined(node) if name[0] != "_")
            if package(module, known) in AROUND:
                counted.modules[module] = len(code_lines(source))
            continue
        parts = [name for home, name in listed if name and f"pkex.{home}" == module]
        spans = {part: definition(source, part) for part in parts}
        counted.parts.update({f"{module}:{part}": len(span) for part, span in spans.items()})
        of_parts = set[int]().union(*spans.values())
        later.update(part for part in parts if "." not in part)
        others |= names_of(tree, of_parts)
        shared[module] = source, code_lines(source) - of_parts
    later = (later - others) | {name for module, name in listed if module == "*"}
    for module, (source, numbers) in shared.items():
        if package(module, known) in AROUND:
            counted.names[module] = len(numbers & naming_lines(source, later))
    return counted


def names_of(tree: ast.AST, without: set[int]) -> set[str]:
    """Return all that code gives a name to, but for some lines."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) in without:
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg | ast.keyword):
            names.add(str(node.arg))
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def naming_lines(source: str, names: set[str]) -> set[int]:
    """Return the numbers of the lines that name something, and would not be there without it.

    A line that imports or exports other names as well would be, and so would the head of a class.
    """
    named: dict[int, bool] = {}
    heads: set[int] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            named[node.lineno] = named.get(node.lineno, True) and node.name in names
        elif isinstance(node, ast.ClassDef):
            heads.add(node.lineno)
        elif isinstance(node, ast.Name | ast.Attribute | ast.arg | ast.keyword):
            name = {ast.Name: "id", ast.Attribute: "attr"}.get(type(node), "arg")
            named[node.lineno] = named.get(node.lineno, False) or getattr(node, name) in names
    for node in tree.body:  # __all__, and tables by names
        value = getattr(node, "value", None)
        entries = value.elts if isinstance(value, ast.List) else []
        for entry in filter(None, value.keys if isinstance(value, ast.Dict) else entries):
            is_later = getattr(entry, "value", None) in names
            named[entry.lineno] = named.get(entry.lineno, True) and is_later
    return {line for line, is_later in named.items() if is_later} - heads


def _imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that may run."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in node.orelse:
                yield from _imports(ast.Module([other], []))
        else:
            yield from _imports(node)


def imports() -> Graph:
    """Return for each module the modules of the library that it imports."""
    known = modules()
    graph: Graph = {}
    for module, path in known.items():
        inside = module if path.name == "__init__.py" else module.rpartition(".")[0]
        targets: set[str] = set()
        for node in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names)
                continue
            above = inside.split(".")[: len(inside.split(".")) - node.level + 1]
            start = ".".join([*above, *filter(None, [node.module])]) if node.level else node.module
            for alias in node.names:  # a name may be a module of the package or a part of it
                full = f"{start}.{alias.name}"
                targets.add(full if full in known else str(start))
        graph[module] = {target for target in targets if target in known} - {module}
    return graph


def by_package(graph: Graph) -> Graph:
    """Return the same between packages, where the root is one of them."""
    known = modules()
    between: Graph = {}
    for module, targets in graph.items():
        here = package(module, known)
        between.setdefault(here, set()).update({package(t, known) for t in targets} - {here})
    return between


def cycles(graph: Graph) -> list[list[str]]:
    """Return the largest sets of nodes of which each reaches each other, of two or more."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = graph.get(ahead.pop(), set()) - seen
            seen |= new
            ahead += new
        return seen

    ways = {node: reached(node) for node in graph}
    sets = {
        frozenset(other for other in ways[node] if node in ways[other])
        for node in graph
        if node in ways[node]
    }
    return sorted(sorted(one) for one in sets if len(one) > 1)


def long_files() -> dict[str, int]:
    """Return the files of code, in any language, that have too many lines."""
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.*"))
        if path.suffix in (".py", ".js", ".css", ".hpp", ".cpp", ".sh")
    }
    return {name: size for name, size in sizes.items() if size > LONGEST}


def walk(call: Callable[[], object]) -> Walk:
    """Return the walk of the second of two calls."""
    import pkex

    root = os.path.dirname(pkex.__file__) + os.sep
    files: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and code.co_name[0] != "<":
            files.append(code.co_filename)

    call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(len(set(files)), sum(1 for _ in groupby(files)))


def walks() -> dict[str, Walk]:
    """Return the walks of four calls with fixed inputs, one thread and the compiled backend."""
    import numpy as np
    from sklearn.svm import SVR

    import pkex

    X, Z = np.random.default_rng(0).normal(size=(2, 30, 4))
    model = SVR().fit(X, X[:, 0])
    explainer = pkex.Explainer(model, X[:10], n_jobs=1)
    options: dict[str, Any] = {"n_permutations": 50, "random_state": 0, "n_jobs": 1}
    return {
        "explainer(X)": walk(lambda: explainer(X[:3])),
        "explainer.interactions(X)": walk(lambda: explainer.interactions(X[:3])),
        "mmd(X, Z, n_permutations=50)": walk(lambda: pkex.mmd(X, Z, **options)),
        "sensitivity(model, X)": walk(lambda: pkex.sensitivity(model, X, n_jobs=1)),
    }


def _listed(title: str, entries: Iterable[str]) -> str:
    rows = list(entries)
    return "\n  ".join([f"{title}: {len(rows)}", *rows])


def report() -> str:
    """Return all figures as text."""
    counted, known, graph = lines_by_package(), modules(), imports()
    table = [f"  {name:<12}{one.all:>8}{one.code:>8}" for name, one in counted.items()]
    around = [counted[name] for name in AROUND]
    sums = Lines(sum(one.all for one in around), sum(one.code for one in around))
    later = later_lines(later_modules(graph))
    later_code = [sum(counts.values()) for counts in later]
    root = [name for name in known if package(name, known) == "root"]
    visited = [f"{call:<30} {w.files} files, {w.changes} changes" for call, w in walks().items()]
    return "\n".join(
        [
            f"  {'package':<12}{'lines':>8}{'code':>8}",
            *table,
            f"{' + '.join(AROUND)}: {sums.all} lines, {sums.code} of code",
            f"of these {later_code[0]} in {len(later.modules)} files, {later_code[1]} in "
            f"{len(later.parts)} parts of others, and {later_code[2]} lines that name them, of "
            f"{', '.join(LATER)} alone; others: {sums.code - sum(later_code)}",
            _listed("modules at the root", root),
            _listed("cycles of modules", map(", ".join, cycles(graph))),
            _listed("cycles of packages", map(", ".join, cycles(by_package(graph)))),
            _listed(
                f"files over {LONGEST} lines", (f"{n} {size}" for n, size in long_files().items())
            ),
            _listed("walks", visited),
        ]
    )


if __name__ == "__main__":
    print(report())
