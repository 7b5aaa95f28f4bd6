"""Kernels as data for files: the name of a kernel of pkex and its parameters, and back.

A custom kernel, a `Custom` function say, cannot be data. A file keeps its description,
which comes back as a `Described` kernel: it prints as the kernel did, and refuses to be evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pkex import kernels
from pkex._util.validation import brief
from pkex.kernels import Kernel

__all__ = ["Described", "from_data", "to_data"]

# Earlier files call ProductMatern "Matern", so Matern itself has another name in files.
_OTHERS = ("ColumnKernel", "Custom", "Kernel", "Matern", "median_rbf")
_KNOWN: dict[str, type[Kernel]] = {
    name: getattr(kernels, name) for name in kernels.__all__ if name not in _OTHERS
}
_KNOWN |= {"EuclideanMatern": kernels.Matern, "Matern": kernels.ProductMatern}
_NAMES = {kind: name for name, kind in _KNOWN.items() if name != "Matern"}
_DESCRIBED = "described"
_DEPTH = 50  # kernels inside kernels, more than anybody writes


@dataclass(frozen=True, repr=False)
class Described(Kernel):
    """A kernel that was loaded from a file, which kept its description only.

    Examples
    --------
    >>> kernel = Described("Custom(function=cosine)")
    >>> kernel
    Custom(function=cosine)
    >>> kernel([[0.0]])
    Traceback (most recent call last):
    ValueError: Custom(function=cosine) came from a file, which kept its description only ...
    """

    text: str

    def __repr__(self) -> str:
        return self.text

    def _expand(self, n_columns: int, tol: float | None) -> Any:  # noqa: ARG002
        raise ValueError(
            f"{brief(self)} came from a file, which kept its description only and cannot be "
            "evaluated; make the kernel again to use it."
        )


def to_data(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as what JSON has.

    Examples
    --------
    >>> to_data(2.0 * kernels.RBF(0.5).on(0, 3))["kernel"]
    {'kind': 'RBF', 'columns': [0, 3], 'length_scale': 0.5}
    """
    name = _NAMES.get(type(kernel))
    if name is None:
        return {"kind": _DESCRIBED, "text": repr(kernel)}
    parameters = {f.name: _plain(getattr(kernel, f.name)) for f in fields(kernel)}  # type: ignore[arg-type]
    return {"kind": name, **parameters}


def from_data(value: Any, depth: int = 0) -> Kernel:
    """Return the kernel that `to_data` made `value` of; a ValueError or TypeError if it is none.

    Examples
    --------
    >>> kernel = kernels.RBF([1.0, 2.0]) + kernels.Constant(0.5)
    >>> from_data(to_data(kernel)) == kernel
    True
    """
    if not isinstance(value, dict) or depth > _DEPTH:
        raise ValueError(f"{brief(value)} instead of a kernel")
    parameters = {name: part for name, part in value.items() if name != "kind"}
    kind = value.get("kind")
    if kind == _DESCRIBED and isinstance(value.get("text"), str):
        return Described(value["text"])
    if not isinstance(kind, str) or kind not in _KNOWN:
        raise ValueError(f"{brief(kind)} is not a kind of kernel")
    return _KNOWN[kind](**{name: _parameter(part, depth) for name, part in parameters.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return to_data(value)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _parameter(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return from_data(value, depth + 1)
    if isinstance(value, list):
        return tuple(_parameter(entry, depth + 1) for entry in value)
    return value
