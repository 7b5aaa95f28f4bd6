"""`ArrayResult`: what a result is about, and arrays with named axes that are checked and selected.

Shapes and selections follow from the names of the axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from pkex._util.indexing import Axis, select
from pkex._util.types import Indices, Players
from pkex._util.validation import brief
from pkex.kernels.algebra import Kernel
from pkex.models.removal import NEUTRAL_NOTE
from pkex.results.about import About, output_names
from pkex.results.fields import AboutField

__all__ = ["ArrayResult"]


class AboutAttributes:
    """What a result is about, as its attributes."""

    about: About

    feature_names = AboutField[tuple[str, ...]]()
    column_names = AboutField[tuple[str, ...]]()
    feature_groups = AboutField[Players]()
    removal = AboutField[Any]()
    background_info = AboutField[str | None]()
    kernels = AboutField[tuple[Kernel, ...] | None]()
    kernel = AboutField[Kernel | None]()
    index = AboutField[str]()
    quantity = AboutField[str | None]()
    classes = AboutField[tuple[str, ...] | None]()
    output_classes = AboutField[tuple[tuple[str, str | None], ...] | None]()
    output_kind = AboutField[str | None]()
    complete = AboutField[bool]()
    conditional_model = AboutField[Any]()
    blocks = AboutField[tuple[tuple[str, ...], ...] | None]()
    hierarchy = AboutField[Any]()

    @property
    def efficient(self) -> bool:
        """Whether base value and values add up to what is explained.

        See Also
        --------
        pkex.Explanation : Shapley values of rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.efficient
        True
        """
        return self.about.efficient

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the values, such as that they are neutral.

        See Also
        --------
        pkex.Explainer : Takes the removal.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.notes
        []
        """
        neutral = [NEUTRAL_NOTE] if self.about.removal == "neutral" else []
        return [*self.about.model_notes, *neutral, *self.about.dependence_notes]


@dataclass(frozen=True, eq=False, repr=False)
class ArrayResult(AboutAttributes):
    """Arrays with named axes: the check of their shapes, and selection by name and position.

    `AXES` names the axes of each array: "row", "feature", "column", "output", or another word for
    an axis that nothing is selected from. Arrays of one output have no axis for it. The first
    array says how many rows and outputs there are. `SELECTED` has the axes that brackets select
    from, in their order.
    """

    AXES: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    SELECTED: ClassVar[tuple[str, ...]] = ()
    FIRST: ClassVar[str]  # the first array
    KIND: ClassVar[str] = ""  # the class of the axes in small letters, by which there are reports
    NOUN: ClassVar[str]  # what sentences call the result

    about: About

    def __init_subclass__(cls) -> None:
        cls.FIRST, name = next(iter(cls.AXES), ""), cls.__name__.lower()
        cls.KIND = name if "AXES" in vars(cls) else cls.KIND
        cls.NOUN = name.removeprefix("sparse")

    def __post_init__(self) -> None:
        fields = self.__dict__
        key = (type(self), fields[self.FIRST].shape, self._other_sizes())
        for name, shape in self.about.shapes.get(key) or self._derive_shapes(key):
            array = fields[name]
            if array is None or getattr(array, "shape", None) == shape:
                continue
            if not callable(array) and not (np.isscalar(array) and shape == ()):
                # one that is computed later has no shape yet
                raise ValueError(
                    f"{name} must have shape {shape}, for its axes {', '.join(self.AXES[name])}; "
                    f"got {getattr(array, 'shape', type(array).__name__)}."
                )

    def _derive_shapes(self, key: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the shapes that arrays must have; kept, as a row takes little longer."""
        sizes = self._sizes(key[-1])
        n_outputs = sizes.get("output", 1)
        for word in ("output_names", "output_classes"):
            entries = getattr(self.about, word)
            if entries is not None and len(entries) != n_outputs:
                raise ValueError(
                    f"{word} must have shape {(n_outputs,)}, one for each output; got "
                    f"{(len(entries),)}."
                )
        shapes = tuple(
            (name, tuple(sizes[axis] for axis in axes if axis in sizes))
            for name, axes in self.AXES.items()
        )
        return self.about.shapes.setdefault(key, shapes)

    def _sizes(self, others: tuple[tuple[str, int], ...] | None = None) -> dict[str, int]:
        """Return the length of each axis; "output" is there where there are several.

        `others` are what `_other_sizes` returns, where that is known.
        """
        name, axes = self.FIRST, self.AXES[self.FIRST]
        shape = self.__dict__[name].shape
        sizes = dict(zip(axes, shape, strict=False))
        if len(shape) < len(axes) - 1 or len(shape) > len(axes) or sizes.get("output") == 1:
            raise ValueError(
                f"{name} must have shape ({', '.join(f'n_{axis}s' for axis in axes)}), without the "
                f"last for a single output; got {shape}."
            )
        sizes |= {"feature": len(self.feature_names), "column": len(self.column_names)}
        return sizes | dict(self._other_sizes() if others is None else others)

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        """Return the lengths of axes that neither the first array nor `about` has."""
        return ()

    def __getitem__(self, key: Any) -> Self:
        """Select by name and position: ``explanation[rows, features, outputs]``.

        The class says which axes there are. Rows are chosen by number, features and outputs by name
        or number, and each by a slice, a list or a boolean mask, too; what is left out is kept
        whole, and ``...`` stands for what is left out before the end, as in
        ``explanation[..., "a vs b"]``.

        The result is of the same class. Its rows and features stay axes even when one is chosen, so
        ``explanation[0]`` has values of shape (1, n_features); a single output does not, so
        ``explanation[..., "a vs b"]`` has values of shape (n_rows, n_features). `data` is cut to
        the columns of the chosen features, while `predictions` stay those of the model.

        Raises
        ------
        KeyError
            For a name that is not there; the message has those that are.
        IndexError
            For a number out of range and whatever else cannot be chosen.
        """
        sizes = self._sizes()
        names = {"feature": self.feature_names, "output": self.output_names}
        axes = [Axis(axis, sizes[axis], names.get(axis)) for axis in self.SELECTED if axis in sizes]
        return self._take(dict(zip([axis.noun for axis in axes], select(key, axes), strict=True)))

    def _take(self, positions: dict[str, Indices]) -> Self:
        """Return the result at positions of some axes."""
        about = self.about
        if "feature" in positions:
            about, columns = about.select_features(positions["feature"].tolist())
            positions = positions | {"column": np.array(columns, dtype=np.intp)}
        if "output" in positions:
            about = about.select_outputs(positions["output"].tolist(), self.output_names)
        return replace(self, about=about, **self._take_arrays(positions))

    def _take_arrays(self, positions: Mapping[str, Indices]) -> dict[str, Any]:
        """Return all arrays at positions of some axes, without the axis of a single output."""
        single = len(positions.get("output", ())) == 1
        arrays = {}
        for name, axes in self.AXES.items():
            array = getattr(self, name)
            if array is not None:
                present = axes[: array.ndim]
                for place, axis in enumerate(present):
                    if axis in positions:
                        before = (slice(None),) * place
                        array = array[(*before, positions[axis]) if place else positions[axis]]
                array = array[..., 0] if single and present[-1] == "output" else array
            arrays[name] = array
        return arrays

    def output_number(self, output: str | int | None, caller: str) -> int:
        """Return the position of one output, which has to be named where there are several.

        Parameters
        ----------
        output : str or int, or None
            Which output, by name or number; None where there is one.
        caller : str
            The name of the method that is called, for messages.

        Returns
        -------
        int
            The position, from 0.

        See Also
        --------
        pkex.Explanation.select_output : Selects the output.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.output_number(None, "to_frame")
        0
        """
        count = self._sizes().get("output", 1)
        if output is None and count > 1:
            raise ValueError(
                f"there are {count} outputs; choose one, e.g. "
                f"{caller}(output={self.output_names[0]!r})."
            )
        axis = Axis("output", count, self.output_names)
        [places] = select(0 if output is None else output, [axis])
        if len(places) != 1:
            raise IndexError(f"{caller} takes one output, got {brief(output)}.")
        return int(places[0])

    def select_output(self, output: str | int | None, caller: str) -> Self:
        """Return the result of one output, which has to be named where there are several.

        Parameters
        ----------
        output : str or int, or None
            Which output, by name or number; None where there is one.
        caller : str
            The name of the method that is called, for messages.

        Returns
        -------
        result of this class
            The result of the output, whose arrays have no axis for it.

        See Also
        --------
        pkex.Explanation.output_number : The position of the output.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.select_output(None, "to_frame").values.shape
        (2, 2)
        """
        number = self.output_number(output, caller)
        return self._take({"output": np.array([number])}) if "output" in self._sizes() else self

    def with_names(self, feature_names: Sequence[str], column_names: Sequence[str]) -> Self:
        """Return the same result with other names of features and columns.

        Parameters
        ----------
        feature_names : sequence of str
            The names of the features.
        column_names : sequence of str
            The names of the columns of the data.

        Returns
        -------
        result of this class
            The result with these names.

        See Also
        --------
        pkex.Explainer : Takes the names from the model or the data.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.with_names(["age", "bmi"], ["age", "bmi"]).feature_names
        ('age', 'bmi')
        """
        features, columns = tuple(feature_names), tuple(column_names)
        about = replace(self.about, feature_names=features, column_names=columns)
        return replace(self, about=about)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs; empty when there is one and it has no name.

        See Also
        --------
        pkex.Explanation : Shapley values of rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> explanation = pkex.Explainer(f)([[0.0, 1.0], [1.0, 0.0]])
        >>> explanation.output_names
        ()
        """
        return output_names(self.about.output_names, self._sizes().get("output"))
