"""What an explainer reads of a fitted model, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pkex._util.words import class_name
from pkex.models.classes import Classes, check_choice
from pkex.models.expansion import KernelExpansion
from pkex.readers import Given, read
from pkex.readers.reading import check_task

__all__ = ["FittedModel", "read_model"]


class FittedModel(NamedTuple):
    """What was read of a model.

    Attributes
    ----------
    title : str
        The name of its class.
    expansion : KernelExpansion
    predict : callable, optional
        Takes rows as the model does and returns its own predictions.
    tol : float
        How far these may be from those of the expansion, as in `Reading`.
    classes : Classes, optional
        For a classifier: what its outputs say about the classes.
    notes : tuple of str
        What a reader of a result should know about the outputs.
    """

    title: str
    expansion: KernelExpansion
    predict: Callable[[Any], Any] | None = None
    tol: float = 0.0
    classes: Classes | None = None
    notes: tuple[str, ...] = ()


def read_model(model: Any, outputs: str | None, task: float | None = None) -> FittedModel:
    """Return what is read of a model, or raise where it has no such outputs or tasks."""
    title = class_name(model)
    if isinstance(model, KernelExpansion):
        check_choice(outputs, (), model)
        check_task(task, (), model)
        return FittedModel(title, model)
    reading = read(model, Given(outputs=outputs, task=task))
    check_choice(outputs, reading.choices, model)
    check_task(task, reading.tasks, model)
    facts = (reading.predict, reading.tol, reading.classes, reading.notes)
    return FittedModel(title, reading.expansion, *facts)
