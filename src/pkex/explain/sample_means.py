"""How far the samples of a mixture differ in their means.

By the law of total covariance, the covariance of a mixture is the mean of the covariances of its
samples plus the covariance of their means. Posteriors give the former; here is the latter, of any
numbers that are linear in the function: values, interactions, gradients, curves.
"""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats
from pkex.models.posterior import Posterior, SampleMixture

__all__ = ["SampleMeans"]


class SampleMeans:
    """Sums over the parts of each sample, of all mixtures of a model.

    Examples
    --------
    >>> mixture = SampleMixture(2)
    >>> samples = [Posterior(np.eye(1), mixture=mixture, sample=number) for number in range(2)]
    >>> means = SampleMeans()
    >>> for posterior, share in zip(samples, [0.5, 2.5]):  # half of the means 1 and 5
    ...     means.add(posterior, np.full((1, 1, 1), share))
    >>> means.covariance(full=False)
    array([[[4.]]])
    """

    def __init__(self) -> None:
        self._shares: dict[SampleMixture, dict[int, Floats]] = {}

    def add(self, posterior: Posterior | None, share: Floats) -> None:
        """Add some numbers of a part of the model; a part of no mixture is left out.

        Parameters
        ----------
        posterior : Posterior or None
        share : array of shape (rows, numbers, outputs)
            As the part predicts them: ``1 / n_samples`` of those of the sample.
        """
        if posterior is None or posterior.mixture is None:
            return
        by_sample = self._shares.setdefault(posterior.mixture, {})
        known = by_sample.get(posterior.sample)
        by_sample[posterior.sample] = share if known is None else known + share

    def covariance(self, *, full: bool) -> Floats | float:
        """Return covariances, (rows, numbers, numbers, outputs), or variances; 0 for no mixture."""
        rule = "srjm,srkm->rjkm" if full else "srjm,srjm->rjm"
        total: Floats | float = 0.0
        for mixture, by_sample in self._shares.items():
            away = np.stack(list(by_sample.values()))
            away = away - away.mean(axis=0)
            total = total + mixture.n_samples * np.einsum(rule, away, away)
        return total
