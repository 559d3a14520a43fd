"""The Dirichlet: its moments, and every estimator of its parameters α, by what each is given.

- `dirichlet_from_moments`: first and second moment of the weights, in closed form;
- `dirichlet_from_smallest`: the same moments, by the smallest share alone (the paper's reference);
- `concentration_of_corners`: how far the corners of the weights' simplex lie from its centre, in
  closed form;
- `dirichlet_from_mean_log`: mean E log θ of users, maximum likelihood by Newton's method
  (variational EM);
- `polya_from_histogram`: tokens of users by component, as histograms, by Minka's fixed point
  (Monte-Carlo EM);
- `polya_step`: one step of the same fixed point from sums over users, whose tokens need not be
  whole (`fit_prior`).

The last two are the same formula; a histogram needs whole numbers of tokens and is as long as the
largest of them, sums take any weights and go over all users in every step. (A prior with a vertex
part has one more parameter and is fitted where it is defined, in `infer.priors.vertex_prior`.)
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, polygamma, psi

from mallowmix.errors import DataError
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.special import digamma
from mallowmix.typing import Array

LEAST_ALPHA0, MOST_ALPHA0 = 1e-3, 1e3  # of the sum, from moments
LEAST_ALPHA, MOST_ALPHA = 1e-4, 1e3  # of one parameter, in iterations
_LEAST_SHARE = 1e-6
# of the sum, from corners: a rough estimate, which refinement improves
_LEAST_CONCENTRATION, _MOST_CONCENTRATION = 0.05, 50.0


def dirichlet_moments(alpha: ArrayLike) -> tuple[Array, Array]:
    """First and second moment of θ ~ Dirichlet(α).

    a = α/α₀ and R = (α₀ a aᵀ + diag a) / (α₀ + 1), where α₀ = Σα.

    Parameters
    ----------
    alpha : (K,) array_like
        Parameters above 0.

    Returns
    -------
    a : (K,) array
        E θ.
    R : (K, K) array
        E θθᵀ.

    Raises
    ------
    DataError
        For parameters that are not finite numbers above 0.
    """
    values = np.asarray(alpha, np.float64)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values) & (values > 0)):
        raise DataError(f"alpha must be a vector of finite numbers above 0; got {values.tolist()}.")
    total = values.sum()
    a = values / total
    return a, (total * np.outer(a, a) + np.diag(a)) / (total + 1)


def dirichlet_from_moments(a: ArrayLike, R: ArrayLike) -> Array:
    """α from the first two moments, by least squares on R = (α₀ a aᵀ + diag a) / (α₀ + 1).

    With t = 1/(α₀+1) the identity reads R − aaᵀ = t (diag a − aaᵀ), one line through the origin:
    t = ⟨·,·⟩ / ‖·‖². One component leaves α₀ undetermined; it is then 1.

    Parameters
    ----------
    a : (K,) array_like
        E θ.
    R : (K, K) array_like
        E θθᵀ.

    Returns
    -------
    (K,) array
        α, with α₀ from 0.001 to 1000.
    """
    share = _shares(a)
    if len(share) == 1:
        return np.ones(1)
    outer = np.outer(share, share)
    spread = np.diag(share) - outer
    t = float(np.sum((np.asarray(R) - outer) * spread) / np.sum(spread**2))
    alpha0 = 1 / np.clip(t, 1 / (1 + MOST_ALPHA0), 1 / (1 + LEAST_ALPHA0)) - 1
    return alpha0 * share


def _shares(a: ArrayLike) -> Array:
    """Means as shares: none below `_LEAST_SHARE`, and they add up to 1."""
    positive = np.maximum(np.asarray(a, np.float64), 0)
    share = np.maximum(positive / positive.sum(), _LEAST_SHARE)
    return share / share.sum()


def dirichlet_from_smallest(a: ArrayLike, R: ArrayLike) -> Array:
    """α from the first two moments by the component with the smallest share alone.

    Arora, Ge and Moitra (2012): with g = R_kk / a_k = (α_k + 1) / (α₀ + 1),
    α₀ = (1 − g) / (g − a_k). Other entries of R are not used.

    Parameters
    ----------
    a, R
        As in `dirichlet_from_moments`.

    Returns
    -------
    (K,) array
        α, with α₀ from 0.001 to 1000.
    """
    share = _shares(a)
    if len(share) == 1:
        return np.ones(1)
    k = int(share.argmin())
    g = min(float(np.asarray(R)[k, k]) / share[k], 1.0)
    alpha0 = (1 - g) / (g - share[k]) if g > share[k] else MOST_ALPHA0
    return float(np.clip(alpha0, LEAST_ALPHA0, MOST_ALPHA0)) * share


def concentration_of_corners(corners: Array, share: Array) -> float:
    """α₀ from how far the corners of the simplex of weights lie from its centre.

    Corner k lies at squared distance (1 − a_k) / (a_k (α₀ + 1)) from the centre.

    Parameters
    ----------
    corners : (K, K−1) array
        Coordinates from the centre.
    share : (K,) array
        a, the mean weights.
    """
    ratio = float(np.sum((1 - share) / share) / max(np.sum(corners**2), 1e-300))
    return float(np.clip(ratio - 1, _LEAST_CONCENTRATION, _MOST_CONCENTRATION))


def log_normaliser(alpha: Array) -> float:
    """Log Γ(Σα) − Σ log Γ(α)."""
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum())


def dirichlet_from_mean_log(alpha: Array, mean_log: Array, n_iter: int = 50) -> Array:
    """Maximum likelihood for given means of log θ_k, by Newton's method with Minka's O(K) inverse.

    Parameters
    ----------
    alpha : (K,) array
        Where to begin.
    mean_log : (K,) array
        Means of log θ_k over users.
    n_iter : int
        Steps at most.

    Returns
    -------
    (K,) array
        The new α; the old one where a limit of α would make the likelihood lower.
    """
    new = alpha
    for _ in range(n_iter):
        old = new
        gradient = psi(old.sum()) - psi(old) + mean_log
        z, q = polygamma(1, old.sum()), -polygamma(1, old)
        b = np.sum(gradient / q) / (1 / z + np.sum(1 / q))
        step = old - (gradient - b) / q
        new = np.clip(np.where(step > 0, step, old / 2), LEAST_ALPHA, MOST_ALPHA)
        if np.max(np.abs(new - old) / old) < 1e-6:
            break
    return max((alpha, new), key=lambda a: log_normaliser(a) + float(a @ mean_log))


def polya_from_histogram(histogram: Array, alpha: Array, n_iter: int = 100) -> Array:
    """α of the Dirichlet-multinomial from histograms of users' tokens.

    Minka's fixed point: α_k ← α_k Σ_v h_k[v] (ψ(v + α_k) − ψ(α_k)) / Σ_v h[v] (ψ(v + α₀) − ψ(α₀)).

    Parameters
    ----------
    histogram : (K + 1, sizes) array
        Row k counts users by their tokens in component k, the last row by all tokens.
    alpha : (K,) array
        Where to begin.
    n_iter : int
        Steps at most.

    Returns
    -------
    (K,) array
        α.
    """
    sizes = np.arange(histogram.shape[1])
    used = np.flatnonzero(histogram.any(axis=0))
    h, v = histogram[:, used], sizes[used]
    for _ in range(n_iter):
        rate = float(h[-1] @ (psi(v + alpha.sum()) - psi(alpha.sum())))
        slope = np.einsum("kv,kv->k", h[:-1], psi(v + alpha[:, None]) - psi(alpha[:, None]))
        new = np.clip(alpha * slope / max(rate, 1e-300), LEAST_ALPHA, MOST_ALPHA)
        if np.max(np.abs(new - alpha) / alpha) < 1e-5:
            return new
        alpha = new
    return alpha


def polya_step(alpha: Array, slopes: Array) -> Array:
    """Do one step of Minka's fixed point from the sums of `polya_slopes` over all users."""
    return np.clip(alpha * slopes[:-1] / max(slopes[-1], 1e-300), LEAST_ALPHA, MOST_ALPHA)


@compiled
def polya_slopes(counts, weight, alpha):
    """(K + 1,) Σ_m weight_m (ψ(n_mk + α_k) − ψ(α_k)), and last the same for the sums over k.

    Parameters
    ----------
    counts : (M, K) array
        Users' tokens in each component.
    weight : (M,) array
        How often each user counts.
    alpha : (K,) array
        The parameters.
    """
    M, K = counts.shape
    out, total = np.zeros(K + 1), alpha.sum()
    at_alpha, at_total = np.array([digamma(a) for a in alpha]), digamma(total)
    for m in range(M):
        n = 0.0
        for k in range(K):
            n += counts[m, k]
            if counts[m, k] > 0:
                out[k] += weight[m] * (digamma(counts[m, k] + alpha[k]) - at_alpha[k])
        if n > 0:
            out[K] += weight[m] * (digamma(n + total) - at_total)
    return out
