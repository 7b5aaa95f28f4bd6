"""How results hold their fields: some are read from `About`, some computed when looked at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from inspect import cleandoc
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

import numpy as np

from pkex.results.about import About

__all__ = ["AboutField", "Deferred", "PlotField", "fast_init"]

Value = TypeVar("Value")


def fast_init(cls: type[Value]) -> type[Value]:
    """Let a frozen dataclass fill its fields at once, not by one guarded assignment for each.

    That takes a third of the time, which shows where one row is explained. Parameters, defaults and
    `__post_init__` are those of the dataclass, and so is what it refuses.
    """
    result: Any = cls
    defaults = {field.name: field.default for field in fields(result)}
    parameters = ", ".join(
        name if value is MISSING else f"{name}=_defaults[{name!r}]"
        for name, value in defaults.items()
    )
    assigned = ", ".join(f"{name}={name}" for name in defaults)
    lines = f"def __init__(self, {parameters}):", f"self.__dict__.update({assigned})"
    names: dict[str, Any] = {"_defaults": defaults}
    exec("\n    ".join([*lines, "self.__post_init__()"]), names)
    result.__init__ = wraps(result.__init__)(names["__init__"])
    return cls


class Deferred:
    """An array that is computed when it is first looked at: the default of a field that may be one.

    As the default of a field of a dataclass it is a descriptor: the field takes an array, None, or
    a function without arguments, which is called once. A model takes longer to predict the class
    of a row than it takes to explain it.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return None  # the default of the field
        value = instance.__dict__[self.name]
        if callable(value):
            value = instance.__dict__[self.name] = np.asarray(value())
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


class _TypedProperty(property, Generic[Value]):
    """A property whose type is a parameter."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type, /) -> Self: ...
        @overload
        def __get__(self, instance: Any, owner: type | None = None, /) -> Value: ...
        def __get__(self, instance: Any, owner: type | None = None, /) -> Any: ...


class AboutField(_TypedProperty[Value]):
    """A property of a result: the field of the same name of what it is about, and its text."""

    def __set_name__(self, owner: type, name: str) -> None:
        super().__init__(attrgetter(f"about.{name}"))
        self.__doc__ = _DOCS.get(name)


class PlotField(_TypedProperty[Value]):
    """The property `plot` of a result: the plots that there are of it, and their text."""

    def __init__(self, plots: Callable[[Any], Value]) -> None:
        super().__init__(plots)
        text = cleandoc(plots.__doc__ or "")
        self.__doc__ = re.sub(r"Parameters\n-+\n(.+\n)+\n", "", text) + "\n"  # of the result


_DOCS = {
    name: " ".join(words.split())
    for name, words in re.findall(r"(?m)^(\w+) : .*((?:\n {4}.*)+)", cleandoc(About.__doc__ or ""))
}
