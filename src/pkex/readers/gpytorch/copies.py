"""A model as it is now, in float64 on the CPU, and its tensors as numbers.

The copy is what is read and what a reading is compared with: training the model further does not
change an explanation, and reading a model changes nothing of it. Solves are exact in it, whatever
the size: GPyTorch's own are iterative beyond 800 rows, to a tolerance of a per cent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any

import gpytorch
import numpy as np
import torch

from pkex._util.types import Floats
from pkex.errors import UnsupportedModelError

__all__ = ["array", "compute_exactly", "for_predictions", "take_slice", "tensor", "working_copy"]


_CACHES = ("prediction_strategy", "_memoize_cache", "_cached_kernel_mat", "_mean_cache")


def working_copy(model: Any) -> Any:
    """Return a copy of a model for predictions, in float64 on the CPU, without its caches."""
    memo: dict[int, Any] = {}
    for module in model.modules():
        for name in _CACHES:
            cache = vars(module).get(name)
            if cache is not None:  # tensors that deepcopy refuses, as they have a history
                memo[id(cache)] = {} if isinstance(cache, dict) else None
    try:
        copied = deepcopy(model, memo)
    except RuntimeError as error:
        raise UnsupportedModelError(
            f"this {type(model).__name__} cannot be copied ({error}), so pkex cannot read its "
            "present state. Do not keep tensors that were computed from parameters in its "
            "attributes."
        ) from error
    return for_predictions(copied)


def for_predictions(copied: Any) -> Any:
    """Return a copy after moving it to the CPU, in float64, without the priors of parameters.

    Predictions do not need these, and they often hold functions that cannot be pickled.
    """
    for module in copied.modules():
        vars(module).get("_priors", {}).clear()
    return copied.to(device="cpu", dtype=torch.float64).eval()


@contextmanager
def compute_exactly() -> Iterator[None]:
    """Compute without gradients and without iterative solvers, whatever the user's settings."""
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(gpytorch.settings.fast_computations(False, False, False))
        stack.enter_context(gpytorch.settings.fast_pred_var(False))
        stack.enter_context(gpytorch.settings.debug(False))  # of rows that are training rows
        stack.enter_context(gpytorch.settings.lazily_evaluate_kernels(True))
        yield


def array(values: Any) -> Floats:
    """Return a tensor as an array of float64."""
    converted: Floats = values.detach().to(device="cpu", dtype=torch.float64).numpy()
    return converted


def tensor(rows: Any) -> Any:
    """Return rows as a tensor of float64."""
    return torch.tensor(np.asarray(rows, dtype=np.float64))


def take_slice(values: Any, index: tuple[int, ...], event: int) -> Floats:
    """Return the values of one model of a batch; the last `event` axes are not of the batch.

    Batches broadcast as in torch: axes are matched from the right, and those of length 1 repeat.
    """
    every = array(values)
    batch = every.shape[: every.ndim - event]
    places = index[len(index) - len(batch) :]
    one: Floats = every[tuple(0 if n == 1 else i for n, i in zip(batch, places, strict=True))]
    return one
