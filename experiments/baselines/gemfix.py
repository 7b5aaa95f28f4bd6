r"""GEMFIX (Mohammadi et al.): a ridge estimate of the Moebius coefficients, in its dual form.

A game is :math:`v(S) - v(\emptyset) = \sum_{\emptyset \ne T \subseteq S} m_T`. Ridge regression of
the :math:`2^d - 1` coefficients :math:`m_T` on K sampled coalitions needs only their inner
products, :math:`\Omega_{kl} = 2^{|S_k \cap S_l|} - 1`, the number of sets T that both contain:

.. math:: (\Omega + \lambda W) a = u, \quad u_k = v(S_k) - v(\emptyset), \qquad
          \phi_i = \sum_{k: i \in S_k} a_k \frac{2^{s_k} - 1}{s_k},

as :math:`\phi_i = \sum_{T \ni i} m_T / |T|` and :math:`m_T = \sum_{k: T \subseteq S_k} a_k`. W is
diagonal with the reciprocal regression weights; the full coalition is fitted exactly, so its entry
is 0. The entries of :math:`\Omega` reach :math:`2^d`: at d = 50 it is too badly conditioned for
double precision, and estimates are noisy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.baselines.coalitions import Sample

__all__ = ["gemfix"]

Floats = NDArray[np.float64]


def gemfix(sample: Sample, lam: float = 1e-3) -> Floats:
    """Return the estimate for each game, shape (m, d)."""
    members = sample.coalitions.members.astype(np.float64)
    members = np.vstack([members, np.ones(members.shape[1])])
    u = np.vstack([sample.values, sample.full]) - sample.empty
    penalty = np.append(1.0 / sample.coalitions.weights, 0.0)
    omega = np.exp2(members @ members.T) - 1.0 + lam * np.diag(penalty)
    # scaled to a unit diagonal, without which the small coalitions' rows are lost beside 2^d
    scale = 1.0 / np.sqrt(np.diag(omega))
    inner = np.linalg.lstsq(scale[:, None] * omega * scale, scale[:, None] * u, rcond=None)[0]
    a = scale[:, None] * inner
    sizes = members.sum(axis=1)
    phi: Floats = (members.T @ (a * ((np.exp2(sizes) - 1.0) / sizes)[:, None])).T
    return phi
