"""What ``result.plot`` is made of: a list of plots, `Plots`, and each of them, `Plot`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

__all__ = ["Plot", "Plots"]

Parameters = ParamSpec("Parameters")
Drawn = TypeVar("Drawn", covariant=True)


class _Drawable(Protocol[Parameters, Drawn]):
    """A display, by the parameters of its plot and what that returns."""

    def plot(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Drawn: ...


class Plot(Generic[Parameters, Drawn]):
    """A method that makes a display of the result and calls its ``plot``.

    It has the signature and the docstring of that ``plot``, also for type checkers. The display
    comes from a function without parameters, so that it is imported when it is needed.
    """

    def __init__(self, load: Callable[[], Callable[[Any], _Drawable[Parameters, Drawn]]]) -> None:
        self._load = load

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, accessor: Any, owner: type | None = None) -> Callable[Parameters, Drawn]:
        display: Any = self._load()

        @wraps(display.plot)
        def draw(accessor: Any, *args: Any, **kwargs: Any) -> Any:
            return display(accessor._result).plot(*args, **kwargs)

        draw.__name__ = self._name
        draw.__qualname__ = f"{self._owner.__qualname__}.{self._name}"
        method: Any = draw  # a function, which binds itself to an object
        return cast("Callable[Parameters, Drawn]", method.__get__(accessor, owner))


class Plots:
    """The plots of a result: those of its public names.

    What is drawn, `_result`, may be another form of the result that was given.
    """

    def __init__(self, result: Any) -> None:
        self._given = self._result = result

    def __repr__(self) -> str:
        kinds = ", ".join(name for name in dir(type(self)) if not name.startswith("_"))
        name = type(self._given).__name__
        article = "" if name.endswith("s") else "an " if name[0] in "AEIOU" else "a "
        return f"<plots of {article}{name}: {kinds}>"
