"""`AveragedAtoms`: the means of products of atoms over a background, from few numbers for each.

Where removed features are averaged independently (product of marginals), pairs of atoms have the
factors ``E[g_aj g_cj] = E[g_aj] E[g_cj] + C_ac`` with the covariances of `pkex.games.moments`.
These are products of short vectors (`pkex.games.compression`), and with the means in front of the
vectors so are the means of products. Sums over all rows of the background would take longest.

*Rounding.* Such a mean is off by at most ``c u |g_a| |g_c|``, in the norm of the root of the mean
square, with ``c = 3 R + 64`` units for R rows: R for each of both vectors, R for their product, as
its length is at most R, and less than 64 for factors, means and what the vectors leave out. It is
not relative to the mean itself, which may be smaller. A coalition is a product over players of such
means and of present factors ``p_aj p_cj``. With ``s_a = prod_j max(p_aj, |g_aj|)``, a quadratic
form with the weights W is then off by at most ``d c u s' |W| s``, and a value, a mean of
differences of two of them, by twice that.
"""

from __future__ import annotations

import numpy as np

from pkex._util.types import Floats
from pkex.games.atoms import Atoms
from pkex.games.blas import single_blas
from pkex.games.moments import AtomFactors, Bundles, centre_factors, multiply_centred
from pkex.games.points import Background
from pkex.games.protocols import Factors
from pkex.games.threads import workspace

__all__ = ["AveragedAtoms"]

_UNIT = 2.0**-53


class AveragedAtoms:
    """Means and covariances of the factors of atoms over the rows of a background.

    Parameters
    ----------
    atoms : Atoms
        Of several players each, with factors in [0, 1].
    background : Background
    n_jobs : int or None
    """

    def __init__(self, atoms: Atoms, background: Background, n_jobs: int | None = 1) -> None:
        n_players = atoms.plan.n_players
        shares = np.repeat(background.weights[:, None], n_players, axis=1)
        bundles = Bundles(shares, np.arange(n_players), n_players)
        every = AtomFactors(
            [(atoms, background.rows)], np.ones((atoms.count, 1)), bundles, keep=True
        )
        with single_blas():
            factors = centre_factors(every, n_jobs=n_jobs)
        assert factors.centred is not None  # as they are kept
        self.atoms, self.n_rows = atoms, len(background.rows)
        means: Floats = factors.means.values
        pairs = zip(means, factors.centred, strict=True)
        self.short = [np.concatenate([mean[None], centred]) for mean, centred in pairs]

    @staticmethod
    def suit(atoms: Atoms, background: Background) -> bool:
        """Return whether they can be taken: for sums that have errors, which are absolute.

        Factors must lie in [0, 1], unlike those of a column times a radial kernel.
        """
        plan = atoms.plan
        radial = any(term.error > 0.0 for term in plan.terms)
        unit = all(leaf.unit for term in plan.terms for leaf in term.leaves)
        return background.marginal and radial and unit and not plan.singles

    def multiply(self, first: slice, second: slice) -> Factors:
        """Return the means of products of pairs of atoms, shape (players, pairs)."""
        widths = first.stop - first.start, second.stop - second.start
        room = workspace("covariances", len(self.short), *widths)
        values = multiply_centred(self.short, first, second, room)
        np.clip(values, 0.0, 1.0, out=values)  # which rounding may miss
        deficits = np.subtract(1.0, values, out=workspace("absent_deficits", *values.shape))
        return Factors(*(part.reshape(len(part), -1) for part in (values, deficits)))

    def bound_rounding(self, weights: Floats, here: Factors) -> Floats:
        """Return what a value of each row may be off by: see above.

        `weights` are those of points, and `here` the factors of atoms at the rows.
        """
        norms = np.sqrt([np.einsum("ra,ra->a", short, short) for short in self.short])
        sizes = np.maximum(here.values, norms[:, None]).prod(axis=0)  # (rows, atoms)
        coefficients = np.array([abs(term.coefficient) for term in self.atoms.plan.terms])
        by_point = np.tensordot(
            coefficients, sizes.reshape(len(sizes), len(coefficients), -1), (0, 1)
        )
        forms = np.einsum("ri,ri->r", by_point @ np.abs(weights), by_point)
        units = 2.0 * len(self.short) * (3.0 * self.n_rows + 64.0)
        return np.asarray(units * _UNIT * forms)
