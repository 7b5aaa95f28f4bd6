"""The shared list of what a model can be asked, for tests of threads and of workers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import pkex
from pkex.results.about import About

__all__ = ["OF_PROCESSES", "QUESTIONS", "arrays_of"]


def arrays_of(answer: Any) -> list[np.ndarray]:
    """Return all arrays and numbers in a result, whatever holds them."""
    return list(_walk(answer))


def _walk(part: Any) -> Iterator[np.ndarray]:
    if isinstance(part, np.ndarray | float):
        yield np.asarray(part)
    elif isinstance(part, dict):
        yield from (one for value in part.values() for one in _walk(value))
    elif isinstance(part, tuple | list):
        yield from (one for value in part for one in _walk(value))
    elif hasattr(part, "__dataclass_fields__") and not isinstance(part, About):
        for name in part.__dataclass_fields__:
            yield from _walk(getattr(part, name))


def _effects(explainer: Any, rows: Any) -> Any:
    return explainer.effects([0, 1, (0, 1)], kind="both", grid_resolution=5)


QUESTIONS = {
    "values": lambda explainer, rows: explainer(rows),
    "interactions": lambda explainer, rows: explainer.interactions(rows),
    "triples": lambda explainer, rows: explainer.interactions(rows, max_order=3),
    "chosen": lambda explainer, rows: explainer.interactions(rows, subsets=[(0,), (1, 2), (0, 4)]),
    "gradients": lambda explainer, rows: explainer.gradients(rows),
    "integrated gradients": lambda explainer, rows: explainer.integrated_gradients(rows),
    "effects": _effects,
    "loss": lambda explainer, rows: explainer.loss(rows, rows[:, 0]),
    "sensitivity": lambda explainer, rows: pkex.sensitivity(
        explainer.expansion, rows, order=2, n_jobs=explainer.n_jobs
    ),
}
OF_PROCESSES = {
    "std": lambda explainer, rows: explainer(rows, return_std=True),
    "cov": lambda explainer, rows: explainer(rows, return_cov=True),
    "variance": lambda explainer, rows: explainer.explain_variance(rows),
    "interactions": lambda explainer, rows: explainer.interactions(rows, return_std=True),
    "gradients": lambda explainer, rows: explainer.gradients(rows, return_std=True),
    "importance": lambda explainer, rows: explainer.importance(rows, n_draws=9, random_state=0),
    "effects": lambda explainer, rows: explainer.effects([0, (0, 1)], return_std=True),
    "influence": lambda explainer, rows: explainer.influence(rows),
    "loss": lambda explainer, rows: explainer.loss(rows, rows[:, 0]),
    "sensitivity": lambda explainer, rows: pkex.sensitivity(
        explainer.expansion, rows, n_draws=5, random_state=0, n_jobs=explainer.n_jobs
    ),
}
