"""Posterior covariances of effects of a Gaussian process, whole curves at a time.

The mean over the background of a process is a process: that of two places g and h has the prior
covariance ``k_j(g, h) sum_{b, b'} w_b w_b' prod over l != j of k_l(b_l, b'_l)``, and the data
explain ``q_g' A^-1 q_h`` of it, where q is the mean kernel between a place and the points. Averages
of pointwise standard deviations, which other tools draw, take all rows for fully dependent. A
mixture has the mean of the covariances of its samples and the covariance of their curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkex._util.types import Floats
from pkex.explain.effect_background import EffectBackground
from pkex.explain.effect_sums import BackgroundSums, Curve, PartOfModel, sum_over_background
from pkex.explain.problem import Problem
from pkex.explain.sample_means import SampleMeans
from pkex.kernels.splitting import KernelPiece

__all__ = ["Band", "centre_ale", "covariances"]


@dataclass(frozen=True, eq=False)
class Band:
    """The covariances of a curve, (places, places, outputs), or variances of a surface only."""

    variances: Floats
    cov: Floats | None

    @property
    def std(self) -> Floats:
        """Standard deviations, (places, outputs)."""
        return np.sqrt(np.maximum(self.variances, 0.0))

    def cov_of(self, n_axes: int) -> Floats | None:
        """Return the covariances, without an axis of outputs where there is none."""
        return self.cov if self.cov is None or n_axes else self.cov[..., 0]


def covariances(
    problem: Problem,
    base: EffectBackground,
    curves: Sequence[Curve],
    sums: BackgroundSums,
    n_jobs: int | None,
) -> list[Band]:
    """Return the posterior covariances of all curves; of ALE those of mean differences."""
    bands: list[Any] = [0.0] * len(curves)
    of_samples = [SampleMeans() for _ in curves]
    for k, (part, model) in enumerate(zip(base.parts, problem.expansion.parts, strict=True)):
        posterior = model.posterior
        assert posterior is not None
        if posterior.mixture is not None:
            for samples, curve, kernels in zip(of_samples, curves, sums.means[k], strict=True):
                curve_of_part = part.average(curve, kernels, k)
                constant = 0.0 if curve.local else model.intercepts
                samples.add(posterior, (curve_of_part + constant)[None])
        if not posterior.scales.any():
            continue
        pieces = [KernelPiece(term) for term in model.kernel.terms(model.shape[1])]
        prior = replace(part, pieces=pieces, points=part.rows, alpha=np.zeros((base.n_rows, 1)))
        moved = [curve._replace(places=[curve.places[k]]) for curve in curves]
        means = sum_over_background([prior], moved, np.zeros(1), n_jobs=n_jobs).means[0]
        for number, curve in enumerate(moved):
            sizes = [mean @ curve.shares.T for mean in means[number]]
            surface = len(curve.features) == 2
            variance = _prior_diagonal(prior, curve, sizes) if surface else None
            total = np.empty(0) if surface else _prior(prior, curve, sizes)
            for some in curve.cut(len(part.points)) if surface else [slice(None)]:
                q = part.explain(curves[number], sums.means[k][number], k, some)
                white = posterior.whiten(q.T)
                if variance is not None:
                    variance[some] -= (white * posterior.weigh(white)).sum(axis=0)
                else:
                    total -= white.T @ posterior.weigh(white)
            known = total if variance is None else variance
            bands[number] = bands[number] + known[..., None] * posterior.scales
    for number, samples in enumerate(of_samples):
        between = samples.covariance(full=len(curves[number].features) == 1)
        bands[number] = bands[number] + np.reshape(between, np.shape(between)[1:])
    shapes = [(len(c.places[0]) - c.local, base.intercept.size) for c in curves]
    return [
        _band(total, curve, shape)
        for total, curve, shape in zip(bands, curves, shapes, strict=True)
    ]


def _band(total: Any, curve: Curve, shape: tuple[int, int]) -> Band:
    if len(curve.features) == 2:
        return Band(np.broadcast_to(total, shape), None)
    cov = np.broadcast_to(total, (shape[0], *shape))
    return Band(np.einsum("ggm->gm", cov), cov)


def _prior(part: PartOfModel, curve: Curve, sizes: Sequence[Floats]) -> Floats:
    """Return the prior covariances of a curve."""
    columns = part.columns[curve.features[0]]
    places = curve.places[0]
    total = np.zeros((len(places) - curve.local,) * 2)
    for piece, size in zip(part.pieces, sizes, strict=True):
        factors = piece.contribute(columns, places, places)[0]
        if curve.local:
            factors = np.diff(np.diff(factors, axis=0), axis=1)
        total += piece.term.coefficient * factors * size
    return total


def _prior_diagonal(part: PartOfModel, curve: Curve, sizes: Sequence[Floats]) -> Floats:
    """Return the prior variances of a surface, at places that are all pairs of two axes."""
    places, (first, second) = curve.places[0], (part.columns[j] for j in curve.features)
    total, width = np.zeros(curve.shape), curve.shape[1]
    for piece, size in zip(part.pieces, sizes, strict=True):
        rows, columns = places[::width], places[:width]
        of_first = np.diagonal(piece.contribute(first, rows, rows)[0])
        of_second = np.diagonal(piece.contribute(second, columns, columns)[0])
        total += piece.term.coefficient * size.item() * np.outer(of_first, of_second)
    return total.reshape(-1)


def centre_ale(
    curves: Sequence[Curve], averages: Any, cov: list[Band] | None
) -> tuple[list[Floats], list[Band] | None]:
    """Return accumulated curves whose mean over the rows is 0, and their covariances.

    A row counts with the mean of the two ends of its interval, as in Apley and Zhu (2020).
    """
    mapped, bands = [], []
    for number, curve in enumerate(curves):
        count = len(curve.shares)
        accumulate = np.vstack([np.zeros(count), np.tril(np.ones((count, count)))])
        counts = np.asarray(curve.counts)
        ends = 0.5 * (np.append(counts, 0.0) + np.insert(counts, 0, 0.0))
        matrix = accumulate - ends @ accumulate
        mapped.append(matrix @ averages[number])
        if cov is not None:
            full = cov[number].cov
            assert full is not None
            accumulated = np.einsum("gk,klm,hl->ghm", matrix, full, matrix)
            bands.append(Band(np.einsum("ggm->gm", accumulated), accumulated))
    return mapped, bands if cov is not None else None
