"""Properties that are computed when first asked for, without a lock.

Until Python 3.11 `functools.cached_property` has one lock for all objects of a class. Threads that
explain wait for each other there, and a process that is forked meanwhile inherits a lock that
nobody will ever release. Here two threads may compute the same value; the first one is kept.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar, overload

__all__ = ["lazy"]

Value = TypeVar("Value")


class lazy(cached_property[Value]):  # noqa: N801  (as property, which it stands in for)
    """As `functools.cached_property`, which tools for documentation know, but without its lock."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> lazy[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> lazy[Value] | Value:
        """Return the value, which is then an attribute of the object and found without this."""
        if instance is None:
            return self
        assert self.attrname is not None
        kept: Value = instance.__dict__.setdefault(self.attrname, self.func(instance))
        return kept
