"""Readers of scikit-learn's pipelines and meta-estimators: what they add to the model inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.validation import default_names
from pkex.errors import UnsupportedModelError
from pkex.models.classes import make_pairs
from pkex.models.expansion import KernelExpansion
from pkex.models.preparation import Preparation
from pkex.models.sums import add_expansions, combine_outputs, evolve, stack
from pkex.readers import Given, Reading, read
from pkex.readers.reading import Chain, prediction_bound, warn_user
from pkex.readers.sklearn.columns import origins
from pkex.readers.sklearn.models import read_against_the_rest, read_by_pairs, read_two_classes
from pkex.readers.sklearn.nystroem import read_landmarks
from pkex.readers.sklearn.plain import check_fitted, copy_without_names
from pkex.readers.sklearn.slopes import StepSlopes

__all__ = [
    "read_consensus",
    "read_frozen",
    "read_multi_output",
    "read_one_vs_one",
    "read_one_vs_rest",
    "read_pipeline",
    "read_search",
    "read_transformed_target",
]


@dataclass(frozen=True)
class Steps:
    """Fitted transformers, applied one after the other; a function that can be pickled."""

    transformers: tuple[Any, ...]

    def __call__(self, X: Any) -> Any:
        """Return the rows after all steps: an array, a frame, or a sparse matrix."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        return X


def read_pipeline(model: Any, given: Given) -> Reading:
    """Pipeline: explained in its input columns as long as no step mixes them.

    Columns that a step makes from one input column (one-hot codes, say) become one player. After a
    step that combines columns (PCA) its outputs are explained, and a warning says so. A
    Nystroem step in front of a linear model mixes none: together they are a kernel expansion.
    """
    *before, (_, final) = model.steps
    if final in (None, "passthrough"):
        raise UnsupportedModelError(
            "this Pipeline cannot be explained: its last step must be a supported model."
        )
    steps = tuple(step for _, step in before if step not in (None, "passthrough"))
    landmark = read_landmarks(steps, final, given)
    if landmark is None:
        inner = read(final, given)  # refuses what is not fitted
    else:  # the model begins with the landmarks
        place, inner = landmark
        steps, final = steps[:place], steps[place]
    names = inputs = _input_names((*steps, final)[0])
    cut, columns = 0, list(range(len(names)))
    for place, step in enumerate(steps):
        local = origins(step, [names[i] for i in columns])
        if local is not None:
            columns = [columns[i] for i in local]
            continue
        next_names = _input_names((*steps, final)[place + 1])
        names = _output_names(steps[cut : place + 1], names, next_names)
        cut, columns = place + 1, list(range(len(names)))
    texts = steps[0] if steps and hasattr(steps[0], "build_analyzer") else None
    if cut > (texts is not None):  # documents have no columns to combine
        warn_user(
            f"{type(steps[cut - 1]).__name__} combines columns, or may do so, so the values are "
            f"for its outputs ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''}), not for "
            "the input columns.",
        )
    mixing = (Steps(steps[:cut]), inputs, texts) if cut else (None, None, None)
    parts = [
        _prepend_steps(part, Steps(steps[cut:]), names, columns, *mixing)
        for part in inner.expansion.parts
    ]
    expansion = add_expansions(parts)
    classes = inner.classes
    if classes is not None and classes.predict is not None:
        classes = replace(classes, predict=Chain(Steps(steps), classes.predict))
    predict = Chain(Steps(steps), inner.predict)
    return replace(inner, expansion=expansion, predict=predict, classes=classes)


def read_search(model: Any, given: Given) -> Reading:
    """GridSearchCV and its relatives: the best estimator."""
    check_fitted(model, "best_estimator_", "It has no best_estimator_: refit must be on")
    return read(model.best_estimator_, given)


def read_consensus(model: Any, given: Given) -> Reading:
    """RANSACRegressor: the regressor that was fitted to the rows that agree."""
    check_fitted(model, "estimator_")
    inner = read(model.estimator_, given)  # which was given arrays and has seen no names
    expansion = _rename(_without_names(inner.expansion, model), model, given)
    return replace(inner, expansion=expansion, predict=Chain(_drop_names, inner.predict))


def read_frozen(model: Any, given: Given) -> Reading:
    """FrozenEstimator: the estimator inside."""
    return read(model.estimator, given)


def read_transformed_target(model: Any, given: Given) -> Reading:
    """TransformedTargetRegressor, when the way back to the target's units is affine."""
    check_fitted(model, "regressor_")
    inner = read(model.regressor_, given)
    back = model.transformer_.inverse_transform
    n_outputs = inner.expansion.n_outputs
    zero = np.asarray(back(np.zeros((1, n_outputs))), dtype=np.float64)
    slope = np.asarray(back(np.eye(n_outputs)), dtype=np.float64) - zero
    reach = max(float(np.max(prediction_bound(part))) for part in inner.expansion.parts)
    sizes = np.geomspace(1e-4, 1.0, 12)[:, None] * max(1.0, reach)  # no prediction is larger
    away = sizes * np.random.default_rng(0).uniform(0.5, 1.0, size=(12, n_outputs))
    probe = np.concatenate([away, -away])
    with np.errstate(all="ignore"):
        there = np.asarray(back(probe), dtype=np.float64)
    expected = probe @ slope + zero
    if not np.allclose(there, expected, rtol=1e-9, atol=1e-9 * np.abs(slope).max()):
        raise UnsupportedModelError(
            f"TransformedTargetRegressor with {type(model.transformer_).__name__} predicts a "
            "nonlinear function of a kernel expansion, so values cannot add up to it. Explain "
            "model.regressor_, in the units of the transformed target."
        )
    names = inner.expansion.output_names if slope.shape[0] == slope.shape[1] else None
    changed = combine_outputs(inner.expansion, slope, names, zero[0])
    predict = partial(_original_units, inner.predict, model.transformer_)
    return Reading(_rename(changed, model, given), predict, inner.tol)


def read_multi_output(model: Any, given: Given) -> Reading:
    """MultiOutputRegressor: one output for each of its estimators."""
    check_fitted(model, "estimators_")
    return _several(model, given)[0]


def read_one_vs_rest(model: Any, given: Given) -> Reading:
    """OneVsRestClassifier: the decision function of each class against the rest."""
    check_fitted(model, "estimators_")
    classes = model.classes_
    for place, machine in enumerate(model.estimators_):
        if type(machine).__name__ == "_ConstantPredictor":
            extent = "every" if machine.y_[0] else "no"
            raise UnsupportedModelError(
                f"{extent} row that this {type(model).__name__} was fitted to has the class "
                f"{classes[place]}, so this class has no decision function. Leave the class out "
                "and refit, or explain the others one by one: "
                "pkex.Explainer(model.estimators_[i])."
            )
    reading, number = _several(model, given)
    titles = [str(label) for label in classes]
    if number is None:  # regressors, for which 0 decides nothing
        one = len(model.estimators_) == 1
        titles = [f"{titles[1]} vs {titles[0]}"] if one else titles
        return replace(reading, expansion=evolve(reading.expansion, output_names=titles))
    plain = copy_without_names(model)
    predict: Callable[[Any], Any] = partial(_predict, plain, given)
    if reading.expansion.preparation is not None:
        predict = plain.predict
    if len(model.estimators_) == 1:
        return read_two_classes(reading, classes, number, predict)
    if model.multilabel_:
        predict = Chain(predict, partial(_join_labels, tuple(titles)))
    return read_against_the_rest(reading, classes, number, predict)


def read_one_vs_one(model: Any, given: Given) -> Reading:
    """OneVsOneClassifier: for each class the mean decision function of its pairs.

    The scores of its own `decision_function` count votes, and votes are not sums of kernels.
    """
    check_fitted(model, "estimators_")
    if given.points is not None:
        raise UnsupportedModelError(
            "OneVsOneClassifier with a precomputed kernel is not supported: each of its "
            "classifiers was fitted to other points. Use SVC(kernel='precomputed'), which is "
            "one-vs-one by itself."
        )
    reading, number = _several(model, given, plain=True)
    classes = model.classes_
    if number is None:
        names = [f"{yes} vs {no}" for yes, no in make_pairs(classes, 1)]
        return replace(reading, expansion=evolve(reading.expansion, output_names=names))
    predict = Chain(_drop_names, copy_without_names(model).predict)
    if len(classes) == 2:
        return read_two_classes(reading, classes, number, predict)
    return read_by_pairs(reading, classes, number, predict, given, positive=1)


def _several(model: Any, given: Given, *, plain: bool = False) -> tuple[Reading, str | None]:
    """Read the estimators side by side; `plain`: they were passed arrays and saw no names.

    The second of what is returned is what their outputs are, if they are classifiers.
    """
    names = default_names("y", len(model.estimators_))
    readings = [read(estimator, given) for estimator in model.estimators_]
    expansion = stack([reading.expansion for reading in readings], names)
    prepared = [part.preparation for part in expansion.parts if part.preparation is not None]
    if len(readings) > 1 and any(preparation.before for preparation in prepared):
        raise UnsupportedModelError(
            f"each estimator of this {type(model).__name__} combines columns differently, so they "
            "have no features in common. Explain them one by one: "
            "pkex.Explainer(model.estimators_[0]); or put the step that combines columns before "
            f"the {type(model).__name__}, in a Pipeline."
        )
    predict: Callable[[Any], Any] = partial(_side_by_side, tuple(r.predict for r in readings))
    if plain:
        predict, expansion = Chain(_drop_names, predict), _without_names(expansion, model)
    reading = Reading(_rename(expansion, model, given), predict, max(r.tol for r in readings))
    classes = readings[0].classes
    return reading, None if classes is None else classes.output_kind


def _predict(model: Any, given: Given, X: Any) -> Any:
    """Return the classes that a wrapper around plain machines predicts."""
    rows = np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    first = model.estimators_[0]
    if getattr(first, "kernel", None) == "precomputed" and given.kernel is not None:
        rows = given.kernel(rows, given.points)
    return model.predict(rows)


def _join_labels(labels: tuple[str, ...], indicators: Any) -> Any:
    """Return the labels of each row of a matrix of zeros and ones, as text."""
    dense = indicators.toarray() if hasattr(indicators, "toarray") else np.asarray(indicators)
    chosen = [[label for label, has in zip(labels, row, strict=True) if has] for row in dense]
    return np.array([" and ".join(names) or "none" for names in chosen])


def _side_by_side(functions: tuple[Callable[[Any], Any], ...], X: Any) -> Floats:
    return np.column_stack([function(X) for function in functions])


def _drop_names(X: Any) -> Any:
    return np.asarray(X) if hasattr(X, "columns") else X


def _without_names(expansion: KernelExpansion, model: Any) -> KernelExpansion:
    """Return the expansion with preparations that strip the names which only the wrapper saw."""
    parts: list[KernelExpansion] = []
    for part in expansion.parts:
        inside = part.preparation
        if inside is None:
            return expansion
        names = getattr(model, "feature_names_in_", None)
        changed = replace(
            inside,
            transform=Chain(_drop_names, inside.transform),
            names=inside.names if names is None else tuple(names),
            slopes=inside.slopes and Chain(_drop_names, inside.slopes),
        )
        parts += evolve(part, preparation=changed).parts
    return add_expansions(parts)


def _original_units(inside: Callable[[Any], Any], transformer: Any, X: Any) -> Floats:
    prediction = np.asarray(inside(X))
    back = np.asarray(transformer.inverse_transform(prediction.reshape(len(prediction), -1)))
    return back if back.shape[1] > 1 else back[:, 0]


def _rename(expansion: KernelExpansion, model: Any, given: Given) -> KernelExpansion:
    """Return the expansion with the names that the wrapper saw and the model inside did not."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or expansion.preparation is not None or given.points is not None:
        return expansion  # points that are given bring their names
    return evolve(expansion, feature_names=names)


def _prepend_steps(
    part: KernelExpansion,
    steps: Steps,
    names: Sequence[str],
    columns: Sequence[int],
    before: Steps | None,
    inputs: tuple[str, ...] | None,
    texts: Any,
) -> KernelExpansion:
    """Put the steps of a pipeline in front of what the model inside prepares itself."""
    transform: Callable[[Any], Any] = steps
    inside = part.preparation
    if inside is not None:
        if inside.before is not None:
            raise UnsupportedModelError(
                "a step that combines columns inside a nested pipeline is not supported; put the "
                "steps of both pipelines into one."
            )
        transform = Chain(steps, inside.transform)
        columns = [columns[i] for i in inside.origins]
    if len(columns) != part.shape[1]:
        raise UnsupportedModelError(
            f"pkex infers {len(columns)} columns from the steps of this Pipeline, but its last "
            f"step was fitted to {part.shape[1]}; please report the steps."
        )
    slopes = StepSlopes(steps.transformers, tuple(names), inside)
    preparation = Preparation(
        transform, tuple(names), tuple(columns), before, inputs, texts, slopes
    )
    changed = evolve(part, preparation=preparation)
    assert isinstance(changed, KernelExpansion)
    return changed


def _input_names(step: Any) -> tuple[str, ...]:
    """Return the names of the columns that a fitted step takes; none if it does not tell."""
    while hasattr(step, "steps"):  # a pipeline takes what its first real step takes
        step = next(inside for _, inside in step.steps if inside not in (None, "passthrough"))
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        return default_names("x", int(getattr(step, "n_features_in_", 0)))
    return tuple(str(name) for name in names)


def _output_names(
    steps: Sequence[Any], names: Sequence[str], next_names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names of the outputs of the steps; the last of them combines columns.

    `next_names` are the names that the next step has for them, if any.
    """
    if next_names != default_names("x", len(next_names)):
        return next_names
    current: Any = np.asarray(names, dtype=object)
    try:
        for step in steps:
            current = step.get_feature_names_out(current)
    except (AttributeError, ValueError):  # it has no names for them, or other inputs
        current = ()
    if len(set(current)) != len(next_names):
        return default_names(type(steps[-1]).__name__.lower(), len(next_names))
    return tuple(str(name) for name in current)
