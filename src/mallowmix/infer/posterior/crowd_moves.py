"""Moves of the hierarchical prior σ_k ~ Mallows(σ_0, φ_0): the crowd's ranking and dispersion."""

import numpy as np

from mallowmix.infer.posterior.component_moves import (
    distance_change,
    log_beta_density,
    move_item,
    propose_insertion,
    walk_on_logit,
)
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, splitmix
from mallowmix.numerics.token_gibbs import user_stream

_CROWD = int(Step.POSTERIOR_CROWD)


@compiled
def _log_z(Q, phi):
    """The logarithm of Z: Σ_g log(1 + φ + … + φ^{g−1})."""
    total, h, power = 0.0, 0.0, 1.0
    for _ in range(Q):
        h += power
        power *= phi
        total += np.log(h)
    return total


@compiled
def _distance(sigma, reference):
    """Kendall's distance, in pairs."""
    count = 0
    for i in range(len(sigma)):
        for j in range(i):
            count += (sigma[i] < sigma[j]) != (reference[i] < reference[j])
    return count


@compiled
def move_crowd(reference, phi, sigma, prior, scale, n_insertions, rounds, key, step):
    """Move σ_0 in place and φ_0; the new φ_0 and the mean probability of its acceptance.

    Parameters
    ----------
    reference : (Q,) array of int
        Positions of the crowd's ranking; changed in place.
    phi : float
        φ_0.
    sigma : (K, Q) array of int
        Positions of the components.
    prior : (2,) array
        a and b of φ_0 ~ Beta(a, b).
    scale : float
        Of the walk on the logit.
    n_insertions, rounds : int
        How many proposals for σ_0, and for φ_0.
    key, step
        Of the random numbers.
    """
    K, Q = sigma.shape
    order = np.argsort(reference)
    state = user_stream(key, 0, _CROWD, step)
    for _ in range(n_insertions if Q > 1 else 0):
        state, r, s = propose_insertion(state, Q, max(Q / 4, 1.0))
        state, coin = splitmix(state)
        if 0 <= s < Q:
            change = 0
            for k in range(K):  # Kendall's distance is symmetric
                change += distance_change(sigma[k], order, r, s)
            if np.log(1.0 - coin) < change * np.log(phi):
                move_item(order, reference, r, s)
    distance, accepted = 0, 0.0
    for k in range(K):
        distance += _distance(sigma[k], reference)
    for _ in range(rounds):
        state, new = walk_on_logit(state, phi, scale)
        ratio = distance * (np.log(new) - np.log(phi)) - K * (_log_z(Q, new) - _log_z(Q, phi))
        ratio += log_beta_density(new, prior) - log_beta_density(phi, prior)
        accepted += np.exp(min(ratio, 0.0)) / rounds
        state, coin = splitmix(state)
        if np.log(1.0 - coin) < ratio:
            phi = new
    return phi, accepted
