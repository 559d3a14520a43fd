"""The posterior mean of a user's weights without a variational approximation.

    E θ ∝ ∫ θ p(θ) Π_n (Σ_k θ_k β_(w_n),k)^x_n dθ,

p(θ) a Dirichlet and a share of vertices, x_n the row's weight times the likelihood weight.

- "quadrature", for two or three components: sticks are broken, θ = (u, (1 − u) v, (1 − u)(1 − v))
  with u ~ Beta(α₁, α₂ + α₃) and v ~ Beta(α₂, α₃), and each has a Gauss–Jacobi rule. With whole
  powers the integrand is a polynomial, for which a rule of n nodes is exact up to degree 2n − 1.
- "gibbs", for any number: the mean over collapsed Gibbs sweeps of (α + n) / (α₀ + N), or over draws
  of θ where powers are not whole (`infer.tempered_draws`).
"""

import numpy as np
from scipy.special import roots_jacobi

from mallowmix.engine import Block
from mallowmix.errors import Option, OptionError
from mallowmix.infer.collapsed_variational import gather_rows, vertex_posterior
from mallowmix.infer.gibbs_draws import own_state
from mallowmix.infer.prepared_model import PreparedModel
from mallowmix.infer.tempered_draws import tempered_draws
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.token_gibbs import longest_run, sweep_tokens
from mallowmix.typing import Array

MOST_BY_QUADRATURE = 3  # components, spam included
# by the number of components, for each stick: exact for 510 and 190 comparisons of a user, and
# right to rounding for more
_NODES = {1: 1, 2: 256, 3: 96}
_BURN_IN = 100  # sweeps


def check_quadrature(n_components: int) -> None:
    """Raise an OptionError where there are too many components for quadrature.

    Parameters
    ----------
    n_components : int
        K, spam included.
    """
    if n_components > MOST_BY_QUADRATURE:
        raise OptionError(
            option="method",
            value="quadrature",
            expected=f"another one for more than {MOST_BY_QUADRATURE} components",
            hint=("Pass ", Option("method", "gibbs"), "."),
        )


def quadrature_means(block: Block, prepared: PreparedModel) -> Array:
    """Posterior means of a block of users by quadrature.

    Parameters
    ----------
    block : Block
        The users.
    prepared : PreparedModel
        The model, of at most three components.

    Returns
    -------
    (M, K) array
        E θ, rows summing to one.
    """
    theta, log_mass = _nodes(prepared.alpha)
    data = (block.starts, block.pair, block.weight, prepared.beta, prepared.likelihood_weight)
    means, log_mixed = _means(*data, theta, log_mass)
    if prepared.vertex_share > 0:
        single, at_vertex = vertex_posterior(block, prepared, block.weight, log_mixed)
        means = at_vertex[:, None] * single + (1 - at_vertex[:, None]) * means
    return means


def _nodes(alpha: Array) -> tuple[Array, Array]:
    """(nodes, K) points of the simplex and (nodes,) log masses of the Dirichlet, summing to one."""
    K, n = len(alpha), _NODES[len(alpha)]
    if K == 1:
        return np.ones((1, 1)), np.zeros(1)
    u, u_mass = _beta_rule(n, alpha[0], alpha[1:].sum())
    if K == 2:
        return np.column_stack([u, 1 - u]), np.log(u_mass)
    v, v_mass = _beta_rule(n, alpha[1], alpha[2])
    u, v = (axis.ravel() for axis in np.meshgrid(u, v, indexing="ij"))
    theta = np.column_stack([u, (1 - u) * v, (1 - u) * (1 - v)])
    return theta, np.log(np.outer(u_mass, v_mass)).ravel()


def _beta_rule(n: int, a: float, b: float) -> tuple[Array, Array]:
    """Nodes in (0, 1) and masses of the Gauss–Jacobi rule for Beta(a, b)."""
    x, mass = roots_jacobi(n, b - 1, a - 1)
    return (1 + x) / 2, np.maximum(mass / mass.sum(), 1e-300)


@compiled
def _means(starts, pair, weight, beta, likelihood_weight, theta, log_mass):
    """(M, K) Σ_s m_s L_s θ_s / Σ_s m_s L_s over nodes s, and (M,) the logarithm of the latter."""
    M, K = len(starts) - 1, theta.shape[1]
    means, totals, log_p = np.zeros((M, K)), np.empty(M), np.empty(len(log_mass))
    for m in range(M):
        for s in range(len(log_p)):
            log_p[s] = log_mass[s]
        for row in range(starts[m], starts[m + 1]):
            x = likelihood_weight * weight[row]
            if x > 0.0:
                for s in range(len(log_p)):
                    p = 0.0
                    for k in range(K):
                        p += theta[s, k] * beta[pair[row], k]
                    log_p[s] += x * np.log(p)
        top, total = log_p.max(), 0.0
        for s in range(len(log_p)):
            p = np.exp(log_p[s] - top)
            total += p
            for k in range(K):
                means[m, k] += p * theta[s, k]
        for k in range(K):
            means[m, k] /= total
        totals[m] = top + np.log(total)
    return means, totals


def gibbs_means(block: Block, prepared: PreparedModel, n_sweeps: int, key: np.uint64) -> Array:
    """Posterior means of a block of users by Gibbs sampling.

    Parameters
    ----------
    block : Block
        The users.
    prepared : PreparedModel
        The model.
    n_sweeps : int
        How many sweeps (or draws) the mean is over.
    key : uint64
        Of the random numbers.

    Returns
    -------
    (M, K) array
        E θ, rows summing to one.
    """
    data = (block.starts, block.pair, block.weight, prepared.beta, prepared.alpha)
    means = _gibbs_means(*data, prepared.likelihood_weight, n_sweeps, key)
    if prepared.vertex_share > 0:
        single, at_vertex = vertex_posterior(block, prepared, block.weight)
        means = at_vertex[:, None] * single + (1 - at_vertex[:, None]) * means
    return means


@compiled
def _gibbs_means(starts, pair, weight, beta, alpha, likelihood_weight, n_sweeps, key):
    M, K = len(starts) - 1, len(alpha)
    means, draws = np.empty((M, K)), np.empty((n_sweeps, K))
    longest = longest_run(starts)
    b, x = np.empty((longest, K)), np.empty(longest)
    for m in range(M):
        first, last = starts[m], starts[m + 1]
        state = own_state(key, pair[first:last], weight[first:last])
        n = gather_rows(first, last, pair, weight, beta, b, x)
        whole = True
        for t in range(n):
            x[t] *= likelihood_weight
            whole = whole and x[t] == np.floor(x[t])
        if whole:
            _swept_means(state, b[:n], x[:n], alpha, draws)
        else:
            tempered_draws(state, b[:n], x[:n], alpha, draws)
        total = 0.0
        for k in range(K):
            means[m, k] = 0.0
            for sweep in range(n_sweeps):
                means[m, k] += draws[sweep, k]
            means[m, k] /= n_sweeps
            total += means[m, k]
        for k in range(K):
            means[m, k] /= total
    return means


@compiled
def _swept_means(state, b, x, alpha, out):
    """(sweeps, K) the mean of θ given each sweep's components, (α + n) / (α₀ + N)."""
    n, p, rows = alpha.copy(), np.empty(len(alpha)), np.arange(len(x))
    z = np.zeros(int(x.sum()), np.int64)
    for sweep in range(-_BURN_IN if len(z) else 0, len(out)):
        state = sweep_tokens(rows, x, 1.0, b, n, sweep == -_BURN_IN, z, n, p, state)
        if sweep >= 0:
            total = 0.0
            for k in range(len(n)):
                total += n[k]
            for k in range(len(n)):
                out[sweep, k] = n[k] / total
    return state
