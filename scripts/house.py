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


def definition(source: str, name: str) -> int:
    """Return how many lines of code a function, a class, a method or a constant has."""
    node: Any = ast.parse(source)
    for part in name.split("."):
        [node] = [child for child in node.body if part in _defined(child)]
    decorators = getattr(node, "decorator_list", ())
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return len(code_lines(source) & {*range(first, node.end_lineno + 1)})


def _defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {node.name} if isinstance(node, ast.ClassDef | ast.FunctionDef) else set()


def later_lines(modules_alone: set[str]) -> dict[str, int]:
    """Return the lines of code of later capabilities: modules alone, and parts of others."""
    known = modules()
    counted = {
        name: lines(known[name].read_text(encoding="utf-8")).code
        for name in sorted(modules_alone)
        if package(name, known) in AROUND
    }
    for part in sorted({name for names in LATER.values() for name in names if ":" in name}):
        module, _, name = part.partition(":")
        source = known[f"pkex.{module}"].read_text(encoding="utf-8")
        counted[f"pkex.{part}"] = definition(source, name)
    return counted


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
    whole = [name for name in later if ":" not in name]
    later_code = sum(later.values())
    root = [name for name in known if package(name, known) == "root"]
    visited = [f"{call:<30} {w.files} files, {w.changes} changes" for call, w in walks().items()]
    return "\n".join(
        [
            f"  {'package':<12}{'lines':>8}{'code':>8}",
            *table,
            f"{' + '.join(AROUND)}: {sums.all} lines, {sums.code} of code",
            f"of these {later_code} in {len(whole)} files, and {len(later) - len(whole)} parts of "
            f"others, of {', '.join(LATER)} alone; others: {sums.code - later_code}",
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
