r"""The algorithms of the paper, written to be read beside it.

For one explained point, let ``factors[i, j]`` be :math:`z_{ij} = k_j(x_j, x^{(i)}_j)` and
``weights[i]`` be :math:`\alpha_i`. A removed feature has the factor 1, so the game is
:math:`v(S) = \sum_i \alpha_i \prod_{j \in S} z_{ij}` (Proposition 2) and its Shapley values are

.. math:: \phi_j = \sum_i \alpha_i (z_{ij} - 1) \sum_{q=0}^{d-1} \mu(q)\, e_q(Z_{i,-j}),
          \qquad \mu(q) = \frac{q!\,(d-q-1)!}{d!} \qquad (1)

with the elementary symmetric polynomials :math:`e_q` (Theorem 1). Five ways to the inner sum, each
taking factors of shape (n, d) and weights of shape (n,) and returning an array of shape (d,):

=============== ========================== ============ ====================================
function        in the paper               time         digits, for factors in [0, 1]
=============== ========================== ============ ====================================
`brute_force`   the definition             O(2^d (d+n)) all; takes d <= 20
`newton`        Theorem 1                  O(d^3 n)     none left from d = 60 to 100 on
`prefix_suffix` Propositions 3 and 4       O(d^2 n)     all
`fft`           appendix, roots of unity   O(d^2 n)     none left from d = 60 to 90 on
`chebyshev`     appendix, Chebyshev points O(d^2 n)     none left from d = 30 to 40 on
=============== ========================== ============ ====================================

>>> factors, weights = [[0.5, 1.0], [0.25, 0.5]], [2.0, 4.0]
>>> methods = brute_force, newton, prefix_suffix, fft, chebyshev
>>> all(np.allclose(method(factors, weights), [-3.25, -1.25]) for method in methods)
True

They are oracles for tests and the rows of the paper's table on stability; models are explained by
`pkex.Explainer`. `value` and `components` are Propositions 2 and 1 for a whole expansion.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkex._util.types import Floats
from pkex._util.validation import as_floats, as_matrix, brief, is_index
from pkex.kernels.messages import no_neutral_removal

if TYPE_CHECKING:
    from pkex.models.expansion import KernelExpansion

__all__ = [
    "brute_force",
    "chebyshev",
    "components",
    "fft",
    "newton",
    "prefix_suffix",
    "shapley_weights",
    "value",
]

Subset: TypeAlias = Iterable[int | str]


def brute_force(factors: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Compute the definition, :math:`\phi_j = \sum_{S \not\ni j} \mu(|S|)\,(v(S \cup j) - v(S))`.

    Parameters
    ----------
    factors : array-like of shape (n, d)
        Kernel factors z_ij, with d <= 20 as there are 2^d coalitions.
    weights : array-like of shape (n,)
        Coefficients alpha_i.

    Returns
    -------
    ndarray of shape (d,)
        The Shapley values.

    See Also
    --------
    prefix_suffix : The same values in polynomial time.

    Examples
    --------
    >>> brute_force([[0.5, 1.0], [0.25, 0.5]], [2.0, 4.0])
    array([-3.25, -1.25])
    """
    z, alpha = _game(factors, weights)
    n, d = z.shape
    if d > 20:
        raise ValueError(f"brute_force takes at most 20 columns, got {d}; use prefix_suffix.")
    # Bit j of a coalition's number tells whether j is in it, so feature j doubles the products.
    coalitions = np.arange(2**d)
    size = np.sum([(coalitions >> j) & 1 for j in range(d)], axis=0)
    v = np.zeros(2**d)
    for i in range(n):
        products = alpha[i : i + 1]
        for j in range(d):
            products = np.concatenate([products, products * z[i, j]])
        v += products
    phi, mu = np.empty(d), shapley_weights(d)
    for j in range(d):
        without = coalitions[(coalitions >> j) & 1 == 0]
        phi[j] = mu[size[without]] @ (v[without | (1 << j)] - v[without])
    return phi


@np.errstate(over="ignore", invalid="ignore")  # beyond its digits it may overflow
def newton(factors: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Compute Theorem 1: elementary symmetric polynomials by Newton's identities.

    .. math:: e_q = \tfrac1q \sum_{r=1}^q (-1)^{r-1} e_{q-r} p_r, \quad p_r = \sum_{i \ne j} z_i^r

    The sum alternates, and its terms outgrow its value exponentially in d: factors near 1 leave
    three digits at d = 50 and none at d = 60, uniform ones seven at d = 60 and none at d = 100.

    Parameters
    ----------
    factors : array-like of shape (n, d)
        Kernel factors z_ij.
    weights : array-like of shape (n,)
        Coefficients alpha_i.

    Returns
    -------
    ndarray of shape (d,)
        The Shapley values.

    See Also
    --------
    prefix_suffix : Keeps all digits.
    brute_force : The definition.

    Examples
    --------
    >>> newton([[0.5, 1.0], [0.25, 0.5]], [2.0, 4.0]).round(12)
    array([-3.25, -1.25])
    """
    z, alpha = _game(factors, weights)
    n, d = z.shape
    phi, mu = np.empty(d), shapley_weights(d)
    for j in range(d):
        rest = np.delete(z, j, axis=1)
        signed_p, power = np.empty((d, n)), np.ones_like(rest)
        for r in range(1, d):
            power *= rest
            signed_p[r] = (-1) ** (r - 1) * power.sum(axis=1)
        e = np.ones((d, n))
        for q in range(1, d):
            e[q] = (e[q - 1 :: -1] * signed_p[1 : q + 1]).sum(axis=0) / q
        phi[j] = alpha @ ((z[:, j] - 1.0) * (mu @ e))
    return phi


def prefix_suffix(factors: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Compute Propositions 3 and 4: tables of prefixes and suffixes, right for factors >= 0.

    With :math:`\Gamma_{j,t} = e_t(z_1, \dots, z_j)` and
    :math:`G_{j+1,t} = \sum_u \mu(t+u)\, e_u(z_{j+1}, \dots, z_d)` the inner sum of (1) is
    :math:`\sum_{t<j} \Gamma_{j-1,t} G_{j+1,t}`, and the tables obey

    .. math:: \Gamma_{j,t} = \Gamma_{j-1,t} + z_j \Gamma_{j-1,t-1}, \qquad
              G_{j,t} = G_{j+1,t} + z_j G_{j+1,t+1}, \qquad G_{d+1,t} = \mu(t).

    So written, the factorials of :math:`\mu` overflow at d > 170 and the binomials that bound
    :math:`\Gamma` at d > 1029. Hence a binomial moves from one table to the other: with the means
    :math:`\tilde\Gamma_{j,t} = \Gamma_{j,t} / \binom{j}{t}` and
    :math:`H_{j+1,t} = \binom{j-1}{t} G_{j+1,t}` the sum is
    :math:`\sum_{t<j} \tilde\Gamma_{j-1,t} H_{j+1,t}`, and by the ratios of neighbouring binomials

    .. math:: j \tilde\Gamma_{j,t} &= (j-t) \tilde\Gamma_{j-1,t} + t z_j \tilde\Gamma_{j-1,t-1} \\
              (j-1) H_{j,t} &= (j-1-t) H_{j+1,t} + (t+1) z_j H_{j+1,t+1}, \quad H_{d+1,t} = 1/d.

    For factors in [0, 1] all entries lie in [0, 1] and nothing is subtracted. Both triangular
    tables are stored, as in Proposition 4: 8 d^2 n bytes.

    Parameters
    ----------
    factors : array-like of shape (n, d)
        Kernel factors z_ij.
    weights : array-like of shape (n,)
        Coefficients alpha_i.

    Returns
    -------
    ndarray of shape (d,)
        The Shapley values.

    See Also
    --------
    brute_force : The definition.
    newton : The same sum by Newton's identities.

    Examples
    --------
    >>> prefix_suffix([[0.5, 1.0], [0.25, 0.5]], [2.0, 4.0]).round(12)
    array([-3.25, -1.25])
    """
    z, alpha = _game(factors, weights)
    n, d = z.shape
    prefixes = [np.ones((1, n))]
    for j in range(1, d):
        t = np.arange(j)[:, None]
        prefix = np.zeros((j + 1, n))
        prefix[:-1] = (j - t) / j * prefixes[-1]
        prefix[1:] += (t + 1) / j * z[:, j - 1] * prefixes[-1]
        prefixes.append(prefix)
    suffixes = {d + 1: np.full((d, n), 1.0 / d)}
    for j in range(d, 1, -1):
        t, after = np.arange(j - 1)[:, None], suffixes[j + 1]
        kept, added = (j - 1 - t) / (j - 1), (t + 1) / (j - 1)
        suffixes[j] = kept * after[:-1] + added * z[:, j - 1] * after[1:]
    phi = np.empty(d)
    for j in range(1, d + 1):
        inner = (prefixes[j - 1] * suffixes[j + 1]).sum(axis=0)
        phi[j - 1] = alpha @ ((z[:, j - 1] - 1.0) * inner)
    return phi


@np.errstate(over="ignore", invalid="ignore")  # beyond its digits it may overflow
def fft(factors: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Compute :math:`H_j(y) = \prod_{i \ne j} (1 + z_i y)` at roots of unity (appendix, Fourier).

    The coefficients of :math:`H_j` are the :math:`e_q`, so its values are :math:`g_j = F e`, and
    :math:`\mu^\top e = \mu^\top F^* g_j / d = N^\top g_j` with N = DFT(mu) / d. They grow like
    :math:`\prod_i (1 + z_i)`, up to 2^d, while the sum is at most 1, so their rounding errors take
    over: factors near 1 leave three digits at d = 50 and none at d = 60, uniform ones none at 90.

    Parameters
    ----------
    factors : array-like of shape (n, d)
        Kernel factors z_ij.
    weights : array-like of shape (n,)
        Coefficients alpha_i.

    Returns
    -------
    ndarray of shape (d,)
        The Shapley values.

    See Also
    --------
    prefix_suffix : Keeps all digits.
    chebyshev : The same at Chebyshev points.

    Examples
    --------
    >>> fft([[0.5, 1.0], [0.25, 0.5]], [2.0, 4.0]).round(12)
    array([-3.25, -1.25])
    """
    z, alpha = _game(factors, weights)
    d = z.shape[1]
    roots = np.exp(2j * np.pi * np.arange(d) / d)
    return _interpolated(z, alpha, roots, np.fft.fft(shapley_weights(d)) / d)


@np.errstate(over="ignore", invalid="ignore")  # beyond its digits it may overflow
def chebyshev(factors: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Compute as `fft`, at :math:`y_\ell = \cos(\pi \ell / (d-1))` (appendix, Chebyshev).

    Here :math:`g_j = V e`, :math:`V_{\ell q} = y_\ell^q`, and :math:`N^\top g_j = \mu^\top e` for
    the solution of :math:`V^\top N = \mu`. The condition number of V and the values of :math:`H_j`
    both grow exponentially: factors near 1 leave one digit at d = 30, and at d = 40 none is left.

    Parameters
    ----------
    factors : array-like of shape (n, d)
        Kernel factors z_ij.
    weights : array-like of shape (n,)
        Coefficients alpha_i.

    Returns
    -------
    ndarray of shape (d,)
        The Shapley values.

    See Also
    --------
    prefix_suffix : Keeps all digits.
    fft : The same at roots of unity.

    Examples
    --------
    >>> chebyshev([[0.5, 1.0], [0.25, 0.5]], [2.0, 4.0]).round(12)
    array([-3.25, -1.25])
    """
    z, alpha = _game(factors, weights)
    d = z.shape[1]
    points = np.cos(np.pi * np.arange(d) / max(d - 1, 1))
    vandermonde = np.vander(points, increasing=True)
    return _interpolated(z, alpha, points, np.linalg.solve(vandermonde.T, shapley_weights(d)))


def shapley_weights(d: int) -> Floats:
    r"""Return the weights :math:`\mu(q) = q!\,(d-q-1)!/d!` for q = 0, ..., d - 1.

    By :math:`\mu(q) = \mu(q-1)\, q/(d-q)` up to the middle and by symmetry after it: no factorial
    is formed, and at d > 1000, where the middle underflows to 0, the upper half is still right.

    Parameters
    ----------
    d : int
        Number of features.

    Returns
    -------
    ndarray of shape (d,)
        The weights.

    See Also
    --------
    brute_force : The definition, which uses them.

    Examples
    --------
    >>> shapley_weights(3) * 6
    array([2., 1., 2.])
    """
    if not is_index(d) or d < 1:
        raise ValueError(f"d is {brief(d)}, but it counts features; pass an integer of at least 1.")
    q = np.arange(1, (d + 1) // 2)
    lower = np.cumprod(np.concatenate([[1.0 / d], q / (d - q)]))
    return np.concatenate([lower, lower[: d // 2][::-1]])


def value(expansion: KernelExpansion, x: ArrayLike, subset: Subset) -> float | Floats:
    r"""Return the value of a coalition, :math:`v(S) = \sum_i \alpha_i k_S(x, x^{(i)}) + b`.

    Unlike Proposition 2 this does not subtract :math:`f_\emptyset`, so v(all) is the prediction and
    v(empty) the base value. For a kernel that is a sum of products, the terms' games are added.
    A kernel with a dot-product part is not supported, as no factor of it could become 1.

    Parameters
    ----------
    expansion : KernelExpansion
        The model.
    x : array-like of shape (d,)
        The explained row.
    subset : iterable of int or str
        The features of the coalition, by index or name.

    Returns
    -------
    float or ndarray of shape (outputs,)
        The value v(S), intercept b included.

    See Also
    --------
    components : What a coalition adds to its subsets.

    Examples
    --------
    >>> from pkex import KernelExpansion, kernels
    >>> expansion = KernelExpansion([[1.0, 2.0]], [-0.5], kernels.RBF(), 0.25)
    >>> value(expansion, [0.0, 0.0], []), round(value(expansion, [0.0, 0.0], [0, 1]), 6)
    (-0.25, 0.208958)
    """
    return _summed(expansion, x, subset, removed=0.0)


def components(expansion: KernelExpansion, x: ArrayLike, subset: Subset) -> float | Floats:
    r"""Return :math:`f_S = \sum_i \alpha_i \prod_{j \in S} (k_j - 1)`, a component (Proposition 1).

    The empty set's component is the base value, intercept included, and the components of all
    subsets of S add up to the `value` of S.

    Parameters
    ----------
    expansion : KernelExpansion
        The model.
    x : array-like of shape (d,)
        The explained row.
    subset : iterable of int or str
        The features of the set, by index or name.

    Returns
    -------
    float or ndarray of shape (outputs,)
        The component of S.

    See Also
    --------
    value : The sum of the components of all subsets.

    Examples
    --------
    >>> from pkex import KernelExpansion, kernels
    >>> expansion = KernelExpansion([[1.0]], [-0.5], kernels.RBF(), 0.25)
    >>> components(expansion, [0.0], []), round(components(expansion, [0.0], [0]), 6)
    (-0.25, 0.196735)
    """
    return _summed(expansion, x, subset, removed=1.0)


def _interpolated(z: Floats, alpha: Floats, nodes: NDArray[Any], big_n: NDArray[Any]) -> Floats:
    """Shapley values from N'g_j; at each node, g_j of all j is prefix times suffix products."""
    inner = np.zeros(z.shape)
    one = np.ones((len(z), 1))
    for y, weight in zip(nodes, big_n, strict=True):
        terms = 1.0 + y * z
        before = np.cumprod(np.hstack([one, terms[:, :-1]]), axis=1)
        after = np.cumprod(np.hstack([one, terms[:, :0:-1]]), axis=1)[:, ::-1]
        inner += (weight * before * after).real
    return alpha @ ((z - 1.0) * inner)


def _summed(f: KernelExpansion, x: ArrayLike, subset: Subset, removed: float) -> float | Floats:
    """Sum of c alpha_i prod_{j in S} (k_j - removed) over points i and terms c prod_j k_j."""
    if getattr(f, "preparation", None) is not None or not hasattr(f, "points"):
        raise TypeError(
            "value and components take a KernelExpansion without a preparation; for a pipeline "
            "convert its last step, and pass the row as that step receives it."
        )
    if not f.kernel.has_neutral_removal:
        raise no_neutral_removal(f.kernel)
    columns = _columns(f, subset)
    d = f.points.shape[1]
    row = as_floats(x, "x")
    if row.shape != (d,):
        raise ValueError(f"x has shape {row.shape}, but one point is needed; pass shape ({d},).")
    kernel = np.zeros(len(f.points))
    for term in f.kernel.terms(d):
        factors = term.factors(row[None, :], f.points)[0][:, columns]
        kernel += term.coefficient * np.prod(factors - removed, axis=1)
    intercept = 0.0 if removed and columns else f.intercept
    total: Floats = kernel @ f.coefficients + intercept
    return total if np.ndim(total) else float(total)


def _columns(expansion: KernelExpansion, subset: Subset) -> list[int]:
    if isinstance(subset, str) or not isinstance(subset, Iterable):
        raise TypeError(f"subset is {brief(subset)}; pass a list of columns, as [0, 2].")
    names, columns = expansion.feature_names, list[int]()
    position = {key: j for j, name in enumerate(names) for key in (j, name)}
    for member in subset:
        if not (isinstance(member, str) or is_index(member)):
            raise TypeError(
                f"subset has the member {brief(member)}; pass column indices or names only."
            )
        if member not in position:
            known = f"a feature name or an index from 0 to {len(names) - 1}"
            raise ValueError(f"subset has the member {member!r}; each must be {known}.")
        if position[member] in columns:
            raise ValueError(f"subset has {member!r}, a column named before; pass each once.")
        columns.append(position[member])
    return columns


def _game(factors: ArrayLike, weights: ArrayLike) -> tuple[Floats, Floats]:
    z, alpha = as_matrix(factors, "factors"), as_floats(weights, "weights")
    if alpha.shape != z.shape[:1]:
        raise ValueError(f"weights has shape {alpha.shape}; pass one per row of factors, {len(z)}.")
    return z, alpha
