"""`Differences`: means of values and predictions in two tables, and what differs between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex._util.words import SQUARED_ERROR
from pkex.results.base import Result

__all__ = ["Differences"]


@dataclass(frozen=True, eq=False, repr=False)
class Differences(Result):
    """The means of both tables and their differences; see `Change`."""

    means_before: Floats
    means_after: Floats
    distances: Floats
    quantiles_before: Floats
    quantiles_after: Floats
    totals_before: Any
    totals_after: Any
    bases_before: Any
    bases_after: Any
    n_rows: tuple[int, ...]
    n_permutations: int = 0
    p_features: Floats | None = None
    p_totals: Floats | None = None
    p_bases: Floats | None = None
    alpha: float = 0.05
    sample_names: tuple[str, ...] = ("before", "after")
    input_notes: tuple[str, ...] = ()
    additivity_error: float = 0.0
    error_bound: float | None = None

    @property
    def has_loss(self) -> bool:
        """Whether there were targets, so that the last output has the losses.

        See Also
        --------
        pkex.Change.loss : The difference of the mean squared errors.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).has_loss
        False
        """
        return self.output_names[-1:] == (SQUARED_ERROR,)

    @property
    def differences(self) -> Floats:
        """The difference of the mean values of each feature, of all outputs and of the loss.

        See Also
        --------
        pkex.Change.contributions : Those of the predictions.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).differences.shape
        (2,)
        """
        return self.means_after - self.means_before

    @property
    def contributions(self) -> Floats:
        """The contribution of each feature to the difference of the mean predictions.

        Where the losses alone were selected, those to the difference of the losses.

        See Also
        --------
        pkex.Change.prediction : Their sum.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).contributions.round(4)
        array([0.0802, 0.1589])
        """
        values: Floats = self._of_predictions(self.differences)
        return values

    @property
    def prediction(self) -> Any:
        """The difference of the mean predictions, one number or one for each output.

        None where the losses alone were selected.

        See Also
        --------
        pkex.Change.contributions : What it consists of.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> round(pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).prediction, 4)
        0.2391
        """
        if self.has_loss and len(self.output_names) == 1:
            return None
        total = self._of_predictions(np.asarray(self.totals_after - self.totals_before))
        return total if np.ndim(total) else float(total)

    @property
    def loss(self) -> float | None:
        """The difference of the mean squared errors; None without targets.

        See Also
        --------
        pkex.Change.loss_contributions : What it consists of, with `base_loss`.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).loss is None
        True
        """
        return self._of_loss(self.totals_after - self.totals_before)

    @property
    def base_loss(self) -> float | None:
        """The part of `loss` that no feature explains: the difference of the mean base losses.

        The base loss of a row is ``(y - base value)^2``, its error without any feature.

        See Also
        --------
        pkex.Change.loss_contributions : The parts that features explain.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).base_loss is None
        True
        """
        return self._of_loss(self.bases_after - self.bases_before)

    @property
    def loss_contributions(self) -> Floats | None:
        """The contribution of each feature to `loss`; with `base_loss` they add up to it.

        See Also
        --------
        pkex.Change.contributions : Those to the difference of the mean predictions.

        Examples
        --------
        >>> import numpy as np, pkex
        >>> f = pkex.KernelExpansion([[0.0, 0.0], [1.0, 2.0]], [1.0, -1.0], pkex.kernels.RBF())
        >>> pkex.change(f, np.eye(2), -np.eye(2), n_permutations=0).loss_contributions is None
        True
        """
        if not self.has_loss:
            return None
        return np.asarray(self.differences.reshape(len(self.feature_names), -1)[:, -1])

    def _of_predictions(self, array: Floats) -> Any:
        """Return the part of an array without the losses, unless these alone were selected.

        One output has no axis.
        """
        if not self.has_loss or len(self.output_names) == 1:
            return array
        part = np.atleast_1d(array)[..., :-1]
        return part[..., 0] if part.shape[-1] == 1 else part

    def _of_loss(self, array: Any) -> float | None:
        return float(np.ravel(array)[-1]) if self.has_loss else None
