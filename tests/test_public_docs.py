"""Every public object has a docstring with an example, and a place in the API reference."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pydoc import locate
from types import ModuleType

import pytest

import pkex

pytestmark = pytest.mark.frontend

SOURCES = Path(pkex.__file__).parent
FILES = sorted(SOURCES.rglob("*.py"))
if find_spec("gpytorch") is None:  # see `make torch`
    FILES = [path for path in FILES if path.parent != SOURCES / "readers" / "gpytorch"]
API = Path(__file__).parents[1] / "docs" / "api"


def public_objects():
    """Return dotted name and object of every public name: in `__all__`, or in the reference."""
    found = {}
    for name in pkex.__all__:
        thing = getattr(pkex, name)
        found[f"pkex.{name}"] = thing
        if isinstance(thing, ModuleType):
            inner = {f"pkex.{name}.{one}": getattr(thing, one) for one in thing.__all__}
            known = {id(getattr(pkex, one)) for one in pkex.__all__}
            found |= {dotted: one for dotted, one in inner.items() if id(one) not in known}
    for page in sorted(API.glob("*.md")):
        for name in re.findall(
            r"^\.\. auto(?:class|function|exception):: (\S+)", page.read_text(), re.M
        ):
            found.setdefault(name, locate(name))
    return {name: thing for name, thing in found.items() if not is_constant(thing)}


def is_constant(thing):
    return not (inspect.ismodule(thing) or inspect.isclass(thing) or callable(thing))


def public_methods(cls):
    """Return the methods and properties that a class adds or changes."""
    return {
        name: member
        for name, member in vars(cls).items()
        if not name.startswith("_")
        and (callable(getattr(cls, name)) or isinstance(member, property))
    }


OBJECTS = public_objects()
CLASSES = {name: thing for name, thing in OBJECTS.items() if inspect.isclass(thing)}


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring_has_an_example(name):
    text = OBJECTS[name].__doc__
    assert text, f"{name} has no docstring"
    assert ">>>" in text, f"the docstring of {name} has no example"


@pytest.mark.parametrize("name", CLASSES)
def test_methods_have_docstrings(name):
    """An example may be that of the class; a method that overrides another inherits its text."""
    missing = [
        member
        for member in public_methods(CLASSES[name])
        if not inspect.getdoc(getattr(CLASSES[name], member))
    ]
    assert not missing


@pytest.mark.parametrize("name", [n for n, thing in OBJECTS.items() if not inspect.ismodule(thing)])
def test_api_reference_has_it(name):
    pages = "\n".join(page.read_text(encoding="utf-8") for page in API.glob("*.md"))
    directives = {f".. auto{kind}:: {name}" for kind in ("class", "function", "exception")}
    assert directives & {line.strip() for line in pages.splitlines()}


PUBLIC_MODULES = (
    "pkex",
    "pkex.errors",
    "pkex.games",
    "pkex.games.rules",
    "pkex.kernels",
    "pkex.plots",
    "pkex.readers",
    "pkex.reference",
)
INTERNAL = re.compile(r"\bpkex\.(?:_util|cli|explain|models|output|results|statistics|tables)\.\w+")
PAGES = [
    page
    for folder in (API, API.parent / "guide", API.parent / "howto")
    for page in sorted(folder.glob("*.md"))
]


@pytest.mark.parametrize("page", sorted(API.glob("*.md")), ids=lambda page: page.name)
def test_the_reference_names_public_paths(page):
    for name in re.findall(r"^\.\. auto(?!module)\w+:: (\S+)", page.read_text(), re.M):
        module = max((m for m in PUBLIC_MODULES if name.startswith(f"{m}.")), key=len)
        assert name.removeprefix(f"{module}.").split(".")[0] in import_module(module).__all__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_no_internal_paths(page):
    assert not INTERNAL.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", OBJECTS)
def test_docstrings_have_no_internal_paths(name):
    texts = [OBJECTS[name].__doc__]
    if name in CLASSES:
        texts += [inspect.getdoc(getattr(CLASSES[name], m)) for m in public_methods(CLASSES[name])]
    assert not INTERNAL.findall("\n".join(map(str, texts)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_what_modules_take_from_each_other_is_listed(path):
    """It stands in `__all__`, or is a module itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "pkex":
            module = import_module(node.module)
            for name in {alias.name for alias in node.names}.difference(module.__all__):
                assert inspect.ismodule(import_module(f"{node.module}.{name}"))
