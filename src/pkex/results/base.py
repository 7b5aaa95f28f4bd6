"""`Result`: what all results share. A result is `About` plus arrays with named axes.

Selection, joining, files and checks of shapes follow from the axes. A class adds its arrays, the
facts of its call, and questions that only it can answer.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from pkex._util.cells import label_text
from pkex._util.indexing import Axis, select
from pkex._util.types import Floats, Indices, Players
from pkex._util.validation import brief
from pkex.games.sums import sort_rules
from pkex.kernels.algebra import Kernel
from pkex.models.absent import CAUTION
from pkex.output.files.codec import Codec
from pkex.results.about import About, output_names

__all__ = ["Deferred", "Result", "check_sums", "row_names"]

_EPS = float(np.finfo(np.float64).eps)


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
        held = instance.__dict__[self.name]
        if callable(held):
            held = instance.__dict__[self.name] = np.asarray(held())
        return held

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The base of all results; see the module.

    `AXES` names the axes of each array: "row", "feature", "column", "output", or another word for
    an axis that nothing is selected from. Arrays of one output have no axis for it. The first
    array says how many rows and outputs there are. `SELECTED` has the axes that brackets select
    from, in their order.
    """

    AXES: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    SELECTED: ClassVar[tuple[str, ...]] = ()
    SAME: ClassVar[tuple[str, ...]] = ()  # facts of a call that must agree where rows are joined
    CODEC: ClassVar[Codec]
    REPORT: ClassVar[str] = ""  # the kind of report, where there is one

    about: About

    def __post_init__(self) -> None:
        held = self.__dict__
        for name, expected in self._shapes():
            array = held[name]
            if array is None or callable(array):  # a deferred one is not known yet
                continue
            if array.shape != expected:
                raise ValueError(
                    f"{name} must have shape {expected}, for its axes "
                    f"{', '.join(self.AXES[name])}; got {array.shape}."
                )

    def _shapes(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the shapes that the arrays must have; looked up, as a row takes little longer."""
        sizes = self._sizes()
        key = (type(self), *sizes.values())
        known = self.about.shapes.get(key)
        if known is not None:
            return known
        n_outputs = sizes.get("output", 1)
        for word in ("output_names", "sides"):
            entries = getattr(self.about, word)
            if entries is not None and len(entries) != n_outputs:
                raise ValueError(
                    f"{word} must have shape {(n_outputs,)}, one for each output; got "
                    f"{(len(entries),)}."
                )
        known = tuple(
            (name, tuple(sizes[axis] for axis in axes if axis in sizes))
            for name, axes in self.AXES.items()
        )
        self.about.shapes[key] = known
        return known

    def _sizes(self) -> dict[str, int]:
        """Return the length of each axis; "output" is there where there are several."""
        name, axes = next(iter(self.AXES.items()))
        shape = self.__dict__[name].shape
        about = self.about
        sizes = dict(zip(axes, shape, strict=False))
        if len(shape) < len(axes) - 1 or len(shape) > len(axes) or sizes.get("output") == 1:
            raise ValueError(
                f"{name} must have shape ({', '.join(f'n_{axis}s' for axis in axes)}), without the "
                f"last for a single output; got {shape}."
            )
        sizes["feature"], sizes["column"] = len(about.feature_names), len(about.column_names)
        return sizes

    # what is said about it

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: columns, or groups of columns."""
        return self.about.feature_names

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of the data."""
        return self.about.column_names

    @property
    def players(self) -> Players:
        """The columns of each feature."""
        return self.about.players

    @property
    def output_names(self) -> tuple[str, ...] | None:
        """Names of the outputs, where they have some."""
        return self.about.output_names

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs; empty when there is one and it has no name."""
        return output_names(self.about.output_names, self._sizes().get("output"))

    @property
    def removal(self) -> Any:
        """How features are removed: "marginal", "interventional" or "neutral"."""
        return self.about.removal

    @property
    def absent(self) -> str | None:
        """What a removed feature is replaced by, in words; None where it is not known."""
        return self.about.absent

    @property
    def caution(self) -> str | None:
        """What to beware of when reading values of neutral removal; None under the others."""
        return CAUTION if self.about.removal == "neutral" else None

    @property
    def kernels(self) -> tuple[Kernel, ...] | None:
        """The different kernels of the model; None where they are not known."""
        return self.about.kernels

    @property
    def kernel(self) -> Kernel | None:
        """The kernel of the model; None where it is not known, or where there are several."""
        return self.about.kernel

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Of a classifier: its classes."""
        return self.about.classes

    @property
    def sides(self) -> tuple[tuple[str, str | None], ...] | None:
        """Of a classifier: for each output the classes that its values push towards."""
        return self.about.sides

    @property
    def number(self) -> str | None:
        """Of a classifier: what the predictions are, e.g. "decision function"."""
        return self.about.number

    # selection

    def __getitem__(self, key: Any) -> Any:
        """Select by name and position, in the order of `SELECTED`.

        Raises
        ------
        KeyError
            For a name that is not there; the message has those that are.
        IndexError
            For a number out of range and whatever else cannot be chosen.
        """
        sizes = self._sizes()
        names = {"feature": self.feature_names, "output": self.outputs}
        axes = [Axis(axis, sizes[axis], names.get(axis)) for axis in self.SELECTED if axis in sizes]
        chosen = dict(zip([axis.noun for axis in axes], select(key, axes), strict=True))
        return self._at(chosen)

    def _at(self, chosen: dict[str, Indices]) -> Self:
        """Return the result at chosen positions of some axes."""
        about = self.about
        if "feature" in chosen:
            about, columns = about.select_features(chosen["feature"].tolist())
            chosen = chosen | {"column": np.array(columns, dtype=np.intp)}
        if "output" in chosen:
            about = about.select_outputs(chosen["output"].tolist(), self.outputs)
        return replace(self, about=about, **self._cut(chosen))

    def _cut(self, chosen: Mapping[str, Indices]) -> dict[str, Any]:
        """Return all arrays at chosen positions, without the axis of a single output."""
        single = len(chosen.get("output", ())) == 1
        found = {}
        for name, axes in self.AXES.items():
            array = getattr(self, name)
            if array is not None:
                present = axes[: array.ndim]
                for place, axis in enumerate(present):
                    if axis in chosen:
                        before = (slice(None),) * place
                        array = array[(*before, chosen[axis])] if place else array[chosen[axis]]
                array = array[..., 0] if single and present[-1] == "output" else array
            found[name] = array
        return found

    def output_number(self, output: str | int | None, caller: str) -> int:
        """Return the position of one output, which has to be named where there are several."""
        count = self._sizes().get("output", 1)
        if output is None and count > 1:
            raise ValueError(
                f"the {_noun(type(self))} has {count} outputs; choose one, e.g. "
                f"{caller}(output={self.outputs[0]!r})."
            )
        [found] = select(0 if output is None else output, [Axis("output", count, self.outputs)])
        if len(found) != 1:
            raise IndexError(f"{caller} takes one output, got {brief(output)}.")
        return int(found[0])

    def select_output(self, output: str | int | None, caller: str) -> Self:
        """Return the result of one output, which has to be named where there are several."""
        number = self.output_number(output, caller)
        if "output" not in self._sizes():
            return self
        return self._at({"output": np.array([number])})

    def with_names(self, feature_names: Sequence[str], column_names: Sequence[str]) -> Self:
        """Return the same result with other names of features and columns."""
        features, columns = tuple(feature_names), tuple(column_names)
        about = replace(self.about, feature_names=features, column_names=columns)
        return replace(self, about=about)

    # joining

    @classmethod
    def concat(cls, results: Iterable[Self]) -> Self:
        """Return one result of the rows of several, in order, as one explainer made them.

        For tables that are explained in parts: by a loop over files, or by the workers of a
        cluster. They must agree in all but their rows.
        """
        parts = list(results)
        noun = f"{_noun(cls)}s"
        if not any(axes[0] == "row" for axes in cls.AXES.values()):
            raise TypeError(f"{noun} have no rows to join.")
        wrong = next((part for part in parts if not isinstance(part, cls)), None)
        if wrong is not None:
            raise TypeError(f"concat takes {noun}, got {type(wrong).__name__}.")
        if not parts:
            raise ValueError(f"concat takes at least one {noun[:-1]}.")
        first = parts[0]
        same = all(part.kernels == first.kernels for part in parts)
        about = first.about if same else replace(first.about, kernels=None)
        for number, part in enumerate(parts[1:], 1):
            other = replace(part.about, kernels=about.kernels)
            for field in fields(About):
                if getattr(other, field.name) != getattr(about, field.name):
                    word = _WORDS.get(field.name, field.name.replace("_", " "))
                    raise ValueError(
                        f"{noun[:-1]} {number} differs from the first in its {word}: concat joins "
                        "rows that one explainer explained."
                    )
            for name in cls.SAME:
                if getattr(part, name) != getattr(first, name):
                    raise ValueError(
                        f"{noun[:-1]} {number} differs from the first in its {name}: concat joins "
                        "rows that were explained in one way."
                    )
        return replace(first, about=about, **cls._joined(parts))

    @classmethod
    def _joined(cls, parts: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays of all rows, the rules used and the largest residual."""
        changes: dict[str, Any] = {
            name: _join([getattr(part, name) for part in parts])
            for name, axes in cls.AXES.items()
            if axes[0] == "row"
        }
        changes["rules"] = sort_rules({rule for part in parts for rule in part.rules})
        changes["residual"] = float(np.max([part.residual for part in parts]))
        return changes

    # files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file, which `load` reads; an existing file is replaced.

        The file is an npz archive with a JSON header, without pickle, and named exactly `path`. It
        is written whole or not at all. A file that is replaced keeps its mode, a link stays a link
        to it, and what is not a regular file is refused.
        """
        self.CODEC.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the result that `save` wrote to `path`, in this version of pkex or before.

        A file is safe to load whatever its origin: nothing in it is run, and reading it takes
        memory in proportion to its size. That values add up is checked again.

        Raises
        ------
        ValueError
            When the file is damaged, holds something else, or was written by a newer pkex; also
            when its values do not add up.
        """
        return cls.CODEC.load(path, cls._from_fields)

    @classmethod
    def _from_fields(cls, found: dict[str, Any]) -> Self:
        """Return a result of what a file holds."""
        names = {field.name for field in fields(About)} & found.keys()
        about = {name: found.pop(name) for name in names}
        result = cls(about=About(**about), **found)
        result._check_sums()
        return result

    def _check_sums(self) -> None:
        """Refuse values that do not add up, where they should."""


_WORDS = {
    "feature_names": "features",
    "column_names": "columns",
    "output_names": "outputs",
    "absent": "removed features",
    "efficient": "index",
    "sides": "classes",
    "number": "outputs",
    "complete": "selection of features",
}


def _noun(cls: type) -> str:
    """Return what sentences call a result."""
    return cls.__name__.removeprefix("Sparse").lower()


def _join(arrays: Sequence[Any]) -> Any:
    """Return the rows of an array in all parts; None where a part does not know it."""
    if any(array is None for array in arrays):
        return None
    if hasattr(arrays[0], "append"):  # labels of pandas
        return arrays[0].append(list(arrays[1:]))
    if any(array.dtype == object for array in arrays):
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def row_names(labels: Any, count: int) -> tuple[str, ...]:
    """Return what to call rows: their labels as text, or their numbers from 0."""
    return tuple(map(str, range(count))) if labels is None else tuple(map(label_text, labels))


def check_sums(
    totals: Floats, sizes: Floats, count: int, predictions: Floats, residual: float
) -> None:
    """Refuse sums of `count` numbers that miss the predictions by more than residual and rounding.

    `sizes` are the sums of the absolute values. Each of the additions, here and when the
    predictions were computed, rounds once.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.abs(totals - predictions)
        allowed = (residual if math.isfinite(residual) else 0.0) + 2.0 * count * _EPS * sizes
    right = np.isfinite(gap) & (gap <= allowed)
    if not right.all():
        row = int(np.argwhere(~right)[0][0])
        raise ValueError(
            f"base value and values of row {row} miss the prediction by {gap[~right].flat[0]:.2g}"
        )
