"""Docstrings of public names pass the checks of numpydoc: sections, types, returns, examples."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import pkex
import pkex.plots
from pkex.results.fields import AboutField, Deferred

pytestmark = [pytest.mark.frontend, pytest.mark.docs]

MODULES = (
    pkex,
    pkex.plots,
    pkex.kernels,
    pkex.games,
    pkex.readers,
    pkex.errors,
    pkex.reference,
)
LEFT_OUT = {
    "GL01",  # a summary on the line of the quotes, as everywhere here
    "ES01",  # an extended summary, which not everything needs
    "SA04",  # a description in See Also, which a name may do without
}


def members(cls: type) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties of a class: name, and the place that defines it.

    Fields, which the docstring of the class describes, are neither.
    """
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("pkex"):
            continue
        member = vars(owner)[name]
        if isinstance(member, AboutField | Deferred) or name in getattr(owner, "_fields", ()):
            continue
        if callable(member) or hasattr(member, "__get__"):
            yield name, f"{owner.__module__}.{owner.__qualname__}.{name}"


def public(modules: tuple[ModuleType, ...] = MODULES) -> dict[str, str]:
    """Return the dotted names to check by the places that define them, each place once."""
    names: dict[str, str] = {}
    for module in modules:
        for name in module.__all__:
            thing: Any = getattr(module, name)
            if inspect.ismodule(thing):
                continue
            path = f"{module.__name__}.{name}"
            place = f"{thing.__module__}.{getattr(thing, '__qualname__', path)}"
            if place in names:
                continue
            names[place] = path
            if inspect.isclass(thing) and thing.__module__.startswith("pkex"):
                for member, where in members(thing):
                    names.setdefault(where, f"{path}.{member}")
    return names


@pytest.mark.parametrize("name", public().values())
def test_docstring(name: str) -> None:
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in LEFT_OUT]
    assert not errors


CLASSES = {
    f"{module.__name__}.{name}": thing
    for module in MODULES
    for name in module.__all__
    if inspect.isclass(thing := getattr(module, name)) and thing.__module__.startswith("pkex")
}


def described(cls: type) -> dict[str, str]:
    """Return the texts that the docstring of a class has for its parameters and attributes."""
    sections = NumpyDocString(inspect.getdoc(cls) or "")
    return {
        name: " ".join(entry.desc)
        for section in ("Parameters", "Attributes")
        for entry in sections[section]
        for name in entry.name.replace("*", "").split(", ")
    }


@pytest.mark.parametrize("name", CLASSES)
def test_fields_are_described(name: str) -> None:
    """Those of a dataclass in its docstring, those that results share in their own."""
    cls, texts = CLASSES[name], described(CLASSES[name])
    assert not [field for field, text in texts.items() if not text]
    own: Any = fields(cls) if is_dataclass(cls) else ()
    missing = {field.name for field in own if not field.name.startswith("_")}.difference(texts)
    assert not missing
    shared = [n for n in dir(cls) if isinstance(inspect.getattr_static(cls, n), AboutField)]
    assert not [field for field in shared if not inspect.getdoc(inspect.getattr_static(cls, field))]


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if is_dataclass(cls)])
def test_what_is_described_is_there(name: str) -> None:
    """A name that is described is a field, a property or a parameter."""
    cls: Any = CLASSES[name]
    known = {*dir(cls), *inspect.signature(cls).parameters, *inspect.get_annotations(cls)}
    known |= {field.name for field in fields(cls)}
    assert described(cls).keys() <= known


def test_the_listing_has_inherited_members_once() -> None:
    names = list(public().values())
    assert len(names) == len(set(names)) > 200
    assert {"pkex.mmd", "pkex.MMDDrift.detect", "pkex.kernels.RBF.on", "pkex.games.Shapley"} <= {
        *names
    }
    assert "pkex.kernels.Cauchy.on" not in names
