"""`Effects`: how the prediction changes with a feature, on average and row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pkex._util.indexing import Axis, select
from pkex._util.types import Floats, Indices
from pkex.output import effect_tables, html, text
from pkex.output.files.codec import ABOUT, Codec, Entries, FloatArrays
from pkex.output.files.header import as_names, as_text, each, one_of
from pkex.output.files.ragged import CellArrays, RaggedArrays
from pkex.output.plots.accessors import EffectsPlots
from pkex.output.view.effects import effect_names, effects
from pkex.results.base import Result
from pkex.results.fields import Deferred, PlotField

__all__ = ["KINDS", "Effects"]

KINDS = ("average", "individual", "both", "ale")
_LATER: Any = Deferred()
_CURVES = ("average", "individual", "std", "cov")


@dataclass(frozen=True, eq=False, repr=False)
class Effects(Result):
    """How a prediction changes with features, by `Explainer.effects`.

    Arrays are tuples with an entry for each feature or pair that was asked for, in order. Several
    outputs are the last axis of each array.

    Parameters
    ----------
    about : About
        What all results have: names, outputs, background, kernels.
    mean : array of shape () or (n_outputs,)
        The mean prediction over the background.
    weights : array of shape (n_rows,)
        The weights of the background rows, with the sum 1.
    kind : {"average", "individual", "both", "ale"}
        What was computed.
    features : tuple of tuples of str
        The names of each effect: a feature, or two of a pair.
    grid : tuple of arrays, or of two arrays for a pair
        The places, in the units of the input. Those of a group are joint values that occur in the
        background, of shape (n_places, n_columns).
    average : tuple of arrays of shape (n_places,), or None
        Partial dependence, or accumulated local effects, whose mean over the rows is 0. Of a pair
        (n_places, n_places).
    individual : tuple of arrays of shape (n_rows, n_places), or None
        Individual conditional expectation (ICE) of every background row.
    std : tuple of arrays of shape (n_places,), or None
        Posterior standard deviations of `average`, for a Gaussian process.
    cov : tuple of arrays of shape (n_places, n_places), or None
        Posterior covariances of `average`; the entry of a pair is None.
    data : tuple of arrays of shape (n_rows,)
        The values of each feature in the background; several columns have a second axis.
    response : {"prediction", "probability"}
        The scale of the curves.
    h : array of shape (n_effects,)
        Friedman's H squared; see `h_statistic`. It is computed when it is first looked at.

    See Also
    --------
    pkex.Explainer.effects : Computes them.

    Examples
    --------
    >>> import pkex
    >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
    >>> pkex.Explainer(f, [[0.0, 0.0], [1.0, 2.0], [0.0, 1.0]]).effects()
    Effects(partial dependence, 2 features)
      background: 3 rows (interventional)
          from  to   lowest  highest
      x1     0   2  -0.6201    0.769
      x0     0   1  -0.2285   0.2285
    """

    AXES: ClassVar = {"mean": ("output",), "weights": ("background_row",)}
    VIEWS: ClassVar = (
        lambda self: effects(self, text.LINES),
        lambda self: effects(self, html.LINES),
    )
    _FRAME: ClassVar = effect_tables.effect_frame
    plot = PlotField(EffectsPlots)
    CODEC: ClassVar = Codec(
        "Effects",
        1,
        (
            ABOUT,
            Entries(kind=one_of(*KINDS), response=as_text, features=each(as_names)),
            FloatArrays(("mean", "weights"), finite=True),
            RaggedArrays(_CURVES),
            CellArrays(("grid", "data")),
            FloatArrays(("h",), finite=True, gaps=True),
        ),
    )

    mean: Floats
    weights: Floats
    kind: str
    features: tuple[tuple[str, ...], ...]
    grid: tuple[Any, ...]
    average: tuple[Floats, ...] | None
    individual: tuple[Floats, ...] | None
    std: tuple[Floats, ...] | None
    cov: tuple[Floats | None, ...] | None
    data: tuple[NDArray[Any], ...]
    response: str = "prediction"
    h: Any = _LATER

    def __post_init__(self) -> None:
        super().__post_init__()
        outputs = np.shape(self.mean)
        for name in ("grid", "data", *_CURVES):
            arrays = getattr(self, name)
            if arrays is not None and len(arrays) != len(self.features):
                raise ValueError(f"{name} must have one entry for each of {len(self)} effects.")
        for k, grid in enumerate(self.grid):
            shape = tuple(len(axis) for axis in (grid if isinstance(grid, tuple) else (grid,)))
            rows = {"individual": (len(self.weights), *shape), "cov": (*shape, *shape)}
            for name in _CURVES:
                arrays, expected = getattr(self, name), (*rows.get(name, shape), *outputs)
                if arrays is not None and arrays[k] is not None and arrays[k].shape != expected:
                    raise ValueError(f"{name}[{k}] must have shape {expected}.")

    def __len__(self) -> int:
        return len(self.features)

    def __getstate__(self) -> dict[str, Any]:
        _ = self.h  # without the model, which is not a part of effects
        return self.__dict__

    def _other_sizes(self) -> tuple[tuple[str, int], ...]:
        return (("background_row", len(self.weights)),)

    def __getitem__(self, key: Any) -> Self:
        """Select effects, by name or number."""
        axis = Axis("effect", len(self), tuple(effect_names(self)))
        [places] = select(key, [axis])
        if not len(places):
            raise IndexError("the selection holds no effect; choose at least one.")
        kept = [int(place) for place in places]
        changes: dict[str, Any] = {"h": lambda: self.h[kept]}
        for name in ("features", "grid", "data", *_CURVES):
            arrays = getattr(self, name)
            changes[name] = None if arrays is None else tuple(arrays[k] for k in kept)
        return replace(self, **changes)

    def _take_arrays(self, positions: Any) -> dict[str, Any]:
        outputs: Indices = positions["output"]
        chosen = outputs[0] if len(outputs) == 1 else outputs
        changes: dict[str, Any] = {
            "h": lambda: self.h[:, chosen],
            "mean": np.asarray(self.mean[chosen]),
        }
        for name in _CURVES:
            arrays = getattr(self, name)
            if arrays is not None:
                changes[name] = tuple(None if a is None else a[..., chosen] for a in arrays)
        return changes

    def h_statistic(self) -> Floats:
        """Return Friedman's H squared of each feature or pair, at the background rows.

        That of a feature is the fraction of the variance of the prediction over the background
        which is not a sum of a function of the feature and one of all others. That of a pair is the
        fraction of the variance of its joint partial dependence which is not the sum of both
        curves. So 0 means that there is no interaction, on the scale that `response` names. It is
        exact for these rows; NaN where nothing varies.

        Returns
        -------
        array of shape (n_effects,) or (n_effects, n_outputs)
            H squared, of features and pairs in their order.

        See Also
        --------
        pkex.Explainer.interactions : Interactions of single rows.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> rows = [[0.0, 0.0], [1.0, 2.0], [2.0, 0.0]]
        >>> pkex.Explainer(f, rows).effects(["x0", ("x0", "x1")]).h_statistic().round(4)
        array([0.0245, 0.0245])
        """
        return np.array(self.h)

    def centered(self) -> Self:
        """Return curves that start at 0: their differences from the first place of the grid.

        Standard deviations are those of the differences, which are 0 at the first place.

        Returns
        -------
        Effects
            The centred curves.

        See Also
        --------
        pkex.Explainer.effects : With ``kind="ale"`` curves have the mean 0.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> rows = [[0.0, 0.0], [1.0, 2.0], [0.0, 1.0]]
        >>> pkex.Explainer(f, rows).effects("x0").centered().average[0].round(4)
        array([ 0.    , -0.4569])
        """
        centred: Self = effect_tables.center(self)
        return centred

    def to_sklearn(self) -> Any:
        """Return scikit-learn's display of the effects, not yet drawn.

        It has curves as scikit-learn computes them: no bands, no weights of individual curves, and
        averages only of pairs and categories.

        Returns
        -------
        sklearn.inspection.PartialDependenceDisplay
            Call its ``plot``. It shows the first output; others by its ``target_idx``.

        See Also
        --------
        pkex.Effects.plot : The plot of pkex, with bands.

        Examples
        --------
        >>> import pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> rows = [[0.0, 0.0], [1.0, 2.0], [0.0, 1.0]]
        >>> type(pkex.Explainer(f, rows).effects("x0").to_sklearn()).__name__
        'PartialDependenceDisplay'
        """
        return effect_tables.to_sklearn(self)
