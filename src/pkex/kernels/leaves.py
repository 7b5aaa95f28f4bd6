"""Column kernels, the leaves of the algebra: one factor for each column that they cover."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from typing import Any, ClassVar, TypeVar

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import brief, is_index
from pkex.kernels.algebra import Kernel
from pkex.kernels.normal_form import Expansion, Summand, as_real

__all__ = ["ColumnKernel", "Dot", "OnColumns"]

Limited = TypeVar("Limited", bound="OnColumns")


@dataclass(frozen=True, repr=False)
class OnColumns(Kernel):
    """A kernel that can be limited to some columns: the base of those with parameters.

    Parameters
    ----------
    columns : sequence of int, optional
        The columns it is limited to; all by default.
    """

    columns: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", _columns(self.columns, type(self).__name__))

    def __repr__(self) -> str:
        names = [f.name for f in fields(self) if f.name != "columns"]
        names += ["columns"] if self.columns is not None else []
        inner = ", ".join(f"{name}={_short(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({inner})"

    def on(self: Limited, *columns: int | Sequence[int]) -> Limited:
        """Return the same kernel limited to `columns`: ``RBF().on(0, 3)`` or ``.on([0, 3])``."""
        given: Any = columns[0] if len(columns) == 1 and not is_index(columns[0]) else columns
        return replace(self, columns=given)

    def check_width(self, n_columns: int) -> None:
        """Raise a ValueError when the kernel cannot be applied to data of `n_columns` columns."""
        title = type(self).__name__
        if self.columns is not None and max(self.columns) >= n_columns:
            raise ValueError(
                f"{title} is limited to column {max(self.columns)}, but the data have only "
                f"{n_columns} columns (counted from 0)."
            )
        width = n_columns if self.columns is None else len(self.columns)
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name != "columns" and isinstance(value, tuple) and len(value) != width:
                raise ValueError(
                    f"{title} has {len(value)} values of {f.name}, but it covers {width} "
                    "columns; give one number, or one per covered column."
                )


@dataclass(frozen=True, repr=False)
class ColumnKernel(OnColumns):
    """A product kernel that gives one factor per column; the base of a kernel of your own.

    Override `factors`, for values of any shape whose last axis runs over the columns. Parameters
    that differ by column are then arrays that broadcast along the last axis. Override `deficits`
    as well where ``1 - factors`` would lose digits. Factors may be any real numbers: games with
    factors outside [0, 1] are solved by the exact rule.

    Parameters
    ----------
    columns : sequence of int, optional
        The columns it is limited to; all by default.

    Examples
    --------
    A parameter is a field of a frozen dataclass, so that kernels can be compared and printed:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from pkex.kernels import ColumnKernel
    >>> @dataclass(frozen=True, repr=False)
    ... class Tent(ColumnKernel):
    ...     width: float = 1.0
    ...     def factors(self, x, z):
    ...         return np.maximum(0.0, 1.0 - np.abs(x - z) / self.width)
    >>> Tent(2.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.25]])
    >>> Tent(2.0).on(0, 1)
    Tent(width=2.0, columns=(0, 1))
    """

    unit: ClassVar[bool] = False
    """Whether all factors are known to lie in [0, 1], which makes bounds of errors smaller."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            raise TypeError(
                f"{cls.__name__} has an __init__ of its own; make its parameters fields of a "
                "@dataclass(frozen=True), so that the kernel can be compared, printed and limited "
                "to columns."
            )
        if "factors" in vars(cls) and "deficits" not in vars(cls):
            cls.deficits = ColumnKernel.deficits  # type: ignore[method-assign]  # not a parent's

    @abstractmethod
    def factors(self, x: Floats, z: Floats) -> Floats:
        """Return ``k_j(x_j, z_j)`` elementwise; `x` and `z` broadcast, columns last."""

    def deficits(self, x: Floats, z: Floats) -> Floats:
        """Return ``1 - k_j(x_j, z_j)`` elementwise."""
        return 1.0 - as_real(self.factors(x, z), self)

    def check_values(self, X: Floats, name: str) -> None:
        """Raise a ValueError when values in the covered columns lie outside the domain."""

    def _expand(self, n_columns: int, tol: float | None) -> Expansion:  # noqa: ARG002
        return [Summand(1.0, (self,))]

    def _restricted(self, covered: tuple[int, ...], kept: tuple[bool, ...]) -> ColumnKernel:
        """Return it limited to those that are `kept` of the columns that it covers."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "columns"}
        ours = type(self).__module__ in ("pkex.kernels", __name__)
        if not ours or any(map(callable, parameters.values())):
            return _Part(self, kept, columns=covered)  # it may expect all its columns
        chosen = {
            name: tuple(compress(value, kept))
            for name, value in parameters.items()
            if isinstance(value, tuple)
        }
        return replace(self, columns=tuple(compress(covered, kept)), **chosen)


@dataclass(frozen=True, repr=False)
class Dot(ColumnKernel):
    """The product ``x z``, a part of the linear kernel."""

    _neutral = False

    def factors(self, x: Floats, z: Floats) -> Floats:
        return x * z


@dataclass(frozen=True, repr=False)
class _Part(ColumnKernel):
    """A column kernel of which some factors are 1."""

    leaf: ColumnKernel
    kept: tuple[bool, ...]

    def factors(self, x: Floats, z: Floats) -> Floats:
        return np.where(self.kept, self.leaf.factors(x, z), 1.0)

    def deficits(self, x: Floats, z: Floats) -> Floats:
        return np.where(self.kept, self.leaf.deficits(x, z), 0.0)


def _columns(columns: object, title: str) -> tuple[int, ...]:
    entries = (columns,) if is_index(columns) else columns
    if isinstance(entries, str) or not isinstance(entries, Sequence | np.ndarray | range):
        raise TypeError(f"{title} columns must be a sequence of integers, got {brief(columns)}.")
    for entry in entries:
        if not is_index(entry):
            raise TypeError(f"{title} columns must be integers, got {brief(entry)}.")
    result = tuple(int(entry) for entry in entries)
    if not result or min(result) < 0 or len(set(result)) < len(result):
        raise ValueError(
            f"{title} columns must be different and count from 0, at least one; got "
            f"{brief(columns)}."
        )
    return result


def _short(value: object) -> str:
    if isinstance(value, tuple) and len(value) > 8:
        return f"({', '.join(map(repr, value[:3]))}, ..., {value[-1]!r}; {len(value)} values)"
    return getattr(value, "__name__", None) or repr(value)
