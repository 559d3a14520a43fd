"""The posterior of everything: enumeration and quadrature, its moves one by one, its bytes."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import beta as beta_function
from scipy.special import betaln

import mallowmix as mm
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.posterior.alpha_moves import tail_counts
from mallowmix.infer.posterior.component_moves import fill_gaps
from mallowmix.infer.posterior.posterior_chain import ChainStart, PosteriorChain
from mallowmix.infer.posterior.posterior_data import posterior_data, sampled_users
from mallowmix.numerics.randomness import as_key
from tests.oracles import all_rankings, beta, kendall_distance, normaliser

# winner, loser of two users, who partly contradict each other
THREE = [[(0, 1), (0, 2), (1, 2)], [(2, 1), (2, 0), (2, 1), (0, 1)]]
FOUR = [[(0, 1), (1, 2), (2, 3), (0, 3)], [(3, 0), (2, 0), (1, 0)]]


def comparisons_of(people, Q, weight=1.0):
    user = [m for m, rows in enumerate(people) for _ in rows]
    winner, loser = zip(*(row for rows in people for row in rows), strict=True)
    labels = [str(m) for m in range(len(people))]
    items = [str(i) for i in range(Q)]
    return mm.Comparisons.from_codes(user, winner, loser, np.full(len(user), weight), items, labels)


# ---- the exact posterior ----


def nodes(n, a, b):
    """Nodes and weights of the expectation under Beta(a, b), by Gauss and Legendre."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = (x + 1) / 2, w / 2
    return x, w * x ** (a - 1) * (1 - x) ** (b - 1) / beta_function(a, b)


def alpha_nodes(n, median, spread):
    """Nodes and weights of the expectation under a log-normal, by Gauss and Hermite."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    return median * np.exp(spread * x), w / w.sum()


def tables(Q, phis):
    """[ranking, φ, winner, loser] β of every component, by counting rankings."""
    return np.array([[beta(sigma, phi) for phi in phis] for sigma in all_rankings(Q)])


def mixed_likelihood(b1, b2, a1, a2, power):
    """E Π (θ b1 + (1 − θ) b2)^power under Beta(a1, a2): b1, b2 (…, rows), a1, a2 any shape.

    Power 1: the product is a polynomial in θ, whose moments are Beta functions. Other powers: by
    quadrature over θ, after θ = u^(1/a) at either end.
    """
    if power == 1:
        coefficients = [np.ones(b1.shape[:-1])]  # of θ^s (1 − θ)^(n − s)
        for row in range(b1.shape[-1]):
            one, two = b1[..., row], b2[..., row]
            coefficients = [
                (coefficients[s - 1] * one if s else 0)
                + (coefficients[s] * two if s < len(coefficients) else 0)
                for s in range(len(coefficients) + 1)
            ]
        n = b1.shape[-1]
        return sum(
            c[..., None] * np.exp(betaln(a1 + s, a2 + n - s) - betaln(a1, a2))
            for s, c in enumerate(coefficients)
        )
    return _mixed_by_quadrature(b1, b2, a1, a2, power)


def _mixed_by_quadrature(b1, b2, a1, a2, power):
    x, w = np.polynomial.legendre.leggauss(24)
    u, w = (x + 1) / 2, w / 2
    total = np.zeros((*b1.shape[:-1], len(a1)))
    for first in (True, False):
        a, other = (a1, a2) if first else (a2, a1)
        t = 0.5 * u[:, None] ** (1 / a)  # (nodes, α): ∫_0^½ θ^{a−1} … dθ = ½^a / a ∫_0^1 … du
        density = 0.5**a / a * (1 - t) ** (other - 1) / np.exp(betaln(a1, a2))
        theta = t if first else 1 - t
        for node in range(len(u)):
            p = b1[..., None, :] * theta[node][:, None] + b2[..., None, :] * (1 - theta[node])[:, None]
            total += w[node] * density[node] * np.prod(p**power, axis=-1)
    return total


def exact_two(people, Q, priors, n_phi, n_alpha, power=1.0):
    """Posterior means of quantities that do not depend on labels, K = 2."""
    phis, phi_weight = nodes(n_phi, *priors.phi)
    alphas, alpha_weight = alpha_nodes(n_alpha, priors.alpha_median, priors.alpha_spread)
    B = tables(Q, phis)
    a1, a2 = (grid.ravel() for grid in np.meshgrid(alphas, alphas, indexing="ij"))
    wa = np.outer(alpha_weight, alpha_weight).ravel()
    F = len(B)
    joint = np.empty((F, F, n_phi, n_phi, len(a1)))
    for s1, s2 in itertools.product(range(F), repeat=2):
        p = np.ones((n_phi, n_phi, len(a1)))
        for rows in people:
            i, j = np.array(rows).T
            one, two = B[s1][:, i, j], B[s2][:, i, j]  # (φ, rows)
            shape = (n_phi, n_phi, len(rows))
            b1, b2 = np.broadcast_to(one[:, None], shape), np.broadcast_to(two[None], shape)
            p = p * mixed_likelihood(b1, b2, a1, a2, power)
        joint[s1, s2] = p * np.outer(phi_weight, phi_weight)[:, :, None] * wa
    joint /= joint.sum()
    return joint, phis, a1, a2


def exact_quantities(joint, phis, a1, a2, Q):
    rankings = all_rankings(Q)
    apart = np.array([[kendall_distance(s, t) for t in rankings] for s in rankings])
    first = np.array([s[0] for s in rankings], float)
    by_sigma = joint.sum(axis=(2, 3, 4))
    found = {"distance": (by_sigma * apart).sum(), "same": np.trace(by_sigma)}
    found["first"] = (by_sigma * (first[:, None] + first)).sum()
    found["first, product"] = (by_sigma * first[:, None] * first).sum()
    by_phi = joint.sum(axis=(0, 1, 4))
    found["phi"] = (by_phi * (phis[:, None] + phis)).sum()
    found["phi, product"] = (by_phi * phis[:, None] * phis).sum()
    by_alpha = joint.sum(axis=(0, 1, 2, 3))
    found["log alpha"] = by_alpha @ (np.log(a1) + np.log(a2))
    found["log alpha, product"] = by_alpha @ (np.log(a1) * np.log(a2))
    for r, sigma in enumerate(rankings):
        found[f"either is {sigma}"] = by_sigma[r].sum() + by_sigma[:, r].sum()
    return found


def chain_quantities(chain, Q, n_steps, thin):
    """The same of every thin-th step: a dict of arrays."""
    rankings = all_rankings(Q)
    kept = {}
    for s in range(n_steps):
        chain.step()
        if s % thin:
            continue
        sigma, phi, log_alpha = chain.sigma, chain.phi, np.log(chain.alpha)
        one, two = tuple(sigma[0].tolist()), tuple(sigma[1].tolist())
        row = {"distance": kendall_distance(one, two), "same": one == two}
        row["first"], row["first, product"] = one[0] + two[0], one[0] * two[0]
        row["phi"], row["phi, product"] = phi.sum(), phi.prod()
        row["log alpha"], row["log alpha, product"] = log_alpha.sum(), log_alpha.prod()
        for ranking in rankings:
            row[f"either is {ranking}"] = (one == ranking) + (two == ranking)
        for name, value in row.items():
            kept.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in kept.items()}


def new_chain(comparisons, K, priors, power=1.0, seed=0):
    data = posterior_data(comparisons, np.arange(comparisons.n_users), power)
    Q = comparisons.n_items
    start = ChainStart(
        "test", np.tile(np.arange(Q), (K, 1)), np.full(K, 0.5), np.full(K, 0.3), np.arange(Q)
    )
    return PosteriorChain(data, priors, start, as_key(seed))


def errors_in_sd(exact, chain, Q, n_steps, thin=4, batches=40):
    """How far each mean of the chain is from the exact one, in standard errors of batch means."""
    for _ in range(100):
        chain.step(gain=0.3)
    found = chain_quantities(chain, Q, n_steps, thin)
    out = {}
    for name, values in found.items():
        means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
        error = max(means.std(ddof=1) / math.sqrt(batches), 1e-9)
        out[name] = (values.mean() - exact[name]) / error
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "Q", "power", "sizes", "n_steps"),
    [(THREE, 3, 1.0, (10, 10), 24_000), (FOUR, 4, 1.0, (8, 6), 24_000), (THREE, 3, 0.5, (8, 6), 24_000)],
)
def test_two_components_against_enumeration(people, Q, power, sizes, n_steps):
    """Means over σ, φ and α against the sum over all pairs of rankings times quadrature.

    Student's t with 39 degrees of freedom exceeds 5 with probability 1.3e-5, so that one of at
    most 32 quantities does by chance in 4 of 10,000 seeds.
    """
    priors = mm.PosteriorPriors(alpha_spread=0.7)
    exact = exact_quantities(*exact_two(people, Q, priors, *sizes, power), Q)
    chain = new_chain(comparisons_of(people, Q), 2, priors, power)
    errors = errors_in_sd(exact, chain, Q, n_steps)
    assert max(map(abs, errors.values())) < 5, errors
