"""Moves of two components with every user's split between them left out.

Given θ a ranking can hardly move once users' weights fit it. Here σ, φ and the ratio of α of two
components are accepted on the evidence of all users (`split_evidence`), and weights follow.
"""

import numpy as np

from mallowmix.infer.posterior.alpha_moves import normal_draw
from mallowmix.infer.posterior.component_moves import (
    distance_change,
    fill_beta,
    fill_gaps,
    log_beta_density,
    move_item,
    propose_insertion,
    walk_on_logit,
)
from mallowmix.infer.posterior.split_evidence import all_evidence, beta_ratios, draw_splits
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, splitmix
from mallowmix.numerics.token_gibbs import user_stream

_SPLITS = int(Step.POSTERIOR_SPLITS)
_EXCHANGED = 0.2  # the share of proposals that exchange an item's positions in the two rankings
_DISPERSION = 0.1  # of those that move one of the dispersions
_ALPHA = 0.1  # of those that move the ratio of the two α


@compiled
def _propose_rankings(state, exchange, side, sigma, reach, reference, log_crowd_phi):
    """Change `sigma` (2, Q) in place; a new state and the log ratio of the priors.

    An item's positions in the two rankings are exchanged, or an item of one is inserted elsewhere;
    the ratio is −∞ where that is outside.
    """
    Q, change = sigma.shape[1], 0
    if exchange:
        state, u = splitmix(state)
        item = min(int(u * Q), Q - 1)
        positions = (sigma[0, item], sigma[1, item])
        for n in range(2 if positions[0] != positions[1] else 0):
            order = np.argsort(sigma[n])
            change += distance_change(reference, order, positions[n], positions[1 - n])
            move_item(order, sigma[n], positions[n], positions[1 - n])
    else:
        state, r, s = propose_insertion(state, Q, reach)
        if not 0 <= s < Q:
            return state, -np.inf
        order = np.argsort(sigma[side])
        change = distance_change(reference, order, r, s)
        move_item(order, sigma[side], r, s)
    return state, log_crowd_phi * change if log_crowd_phi != 0.0 else 0.0


@compiled
def _propose_alpha(state, alpha, prior, scale):
    """Change the ratio of `alpha` (2,) in place, not the sum; a new state and the log prior ratio.

    Both densities are those of log α: the change of variables to log sum and logit ratio has the
    determinant 1.
    """
    state, walk = normal_draw(state)
    total, logit = alpha.sum(), np.log(alpha[0] / alpha[1]) + scale * walk
    before = _log_prior(alpha, prior)
    alpha[0] = total / (1.0 + np.exp(-logit))
    alpha[1] = total / (1.0 + np.exp(logit))
    return state, _log_prior(alpha, prior) - before


@compiled
def _log_prior(alpha, prior):
    return -0.5 * np.sum(((np.log(alpha) - prior[0]) / prior[1]) ** 2)


@compiled
def _fill_both(sigma, phi, both):
    """Fill `both` (2, Q²) with β of two components."""
    gaps = np.empty(2 * sigma.shape[1] - 1)
    for n in range(2):
        fill_gaps(phi[n], gaps)
        fill_beta(sigma[n], gaps, both[n])


@compiled
def _propose_component(state, kind, side, sigma, phi, priors, widths):
    """Change a dispersion, or the rankings, in place; a new state and the log prior ratio."""
    reference, log_crowd_phi, phi_prior = priors
    if kind < _ALPHA + _DISPERSION:
        old = phi[side]
        state, phi[side] = walk_on_logit(state, old, widths[1])
        return state, log_beta_density(phi[side], phi_prior) - log_beta_density(old, phi_prior)
    exchange = kind < _ALPHA + _DISPERSION + _EXCHANGED
    return _propose_rankings(state, exchange, side, sigma, widths[0], reference, log_crowd_phi)


@compiled
def _accepts(state, log_ratio):
    """A new state, and whether a proposal is accepted."""
    state, coin = splitmix(state)
    return state, np.log(1.0 - coin) < log_ratio


@compiled
def _two_components(data, sigma, phi, alpha):
    """What is known of two components: σ, φ, α, β (2, Q²), `beta_ratios`, users' evidence.

    `data` is (rows, theta, beta, j, k), as in `all_evidence`.
    """
    rows, theta = data[0], data[1]
    both, evidence = np.empty((2, sigma.shape[1] ** 2)), np.zeros(len(theta))
    _fill_both(sigma, phi, both)
    ratios = beta_ratios(rows[3], alpha[0], alpha[1])
    all_evidence(*data, both, both, True, ratios, np.zeros(len(theta)), evidence)
    return sigma, phi, alpha, both, ratios, evidence


@compiled
def _move_alpha(state, data, own, prior, scale):
    """Propose another ratio of α; a new state, and what the components are afterwards."""
    rows = data[0]
    sigma, phi, alpha, both, _, evidence = own
    new_alpha, new_evidence = alpha.copy(), np.empty_like(evidence)
    state, log_ratio = _propose_alpha(state, new_alpha, prior, scale)
    new_ratios = beta_ratios(rows[3], new_alpha[0], new_alpha[1])
    log_ratio += all_evidence(*data, both, both, True, new_ratios, evidence, new_evidence)
    state, accepted = _accepts(state, log_ratio)
    if accepted:
        return state, (sigma, phi, new_alpha, both, new_ratios, new_evidence)
    return state, own


@compiled
def _move_component(state, kind, side, data, own, priors, widths, heat):
    """Propose another σ or φ; a new state, and what the components are afterwards."""
    sigma, phi, alpha, both, ratios, evidence = own
    new_sigma, new_phi, new_both = sigma.copy(), phi.copy(), both.copy()
    state, log_ratio = _propose_component(state, kind, side, new_sigma, new_phi, priors, widths)
    if log_ratio == -np.inf:
        return state, own
    _fill_both(new_sigma, new_phi, new_both)
    new_evidence = np.empty_like(evidence)
    log_ratio += heat * all_evidence(*data, new_both, both, False, ratios, evidence, new_evidence)
    state, accepted = _accepts(state, log_ratio)
    if accepted:
        return state, (new_sigma, new_phi, alpha, new_both, ratios, new_evidence)
    return state, own


@compiled
def move_split(
    rows,
    theta,
    beta,
    sigma,
    phi,
    alpha,
    pair,
    reference,
    log_crowd_phi,
    phi_prior,
    alpha_prior,
    widths,
    n_proposals,
    heat,
    key,
    step,
):
    """Move σ, φ and the ratio of α of two components, and all users' splits, in place.

    Parameters
    ----------
    rows : tuple
        (starts, pair, power, counts), as in `all_evidence`; powers are whole.
    theta, beta : (M, K) and (Q², K) arrays
        Users' weights, and β of every ordered pair.
    sigma, phi, alpha : (K, Q), (K,) and (K,) arrays
        Rankings, dispersions and Dirichlet parameters.
    pair : (2,) array
        The two components.
    reference, log_crowd_phi
        Positions of the crowd's ranking and log φ_0; 0 is the uniform prior of rankings.
    phi_prior, alpha_prior : (2,) arrays
        a and b of φ ~ Beta(a, b); centre and spread of log α.
    widths : (3,) array
        How far most insertions go at most; of the walks on the logit of φ and of the ratio of α.
    n_proposals : int
        How many proposals.
    heat : float
        The power of the likelihood: 1, less while a chain warms up; below 1, α is not moved.
    key, step
        Of the random numbers.
    """
    Q, M, (j, k) = sigma.shape[1], len(theta), (pair[0], pair[1])
    state, data = user_stream(key, M, _SPLITS, step), (rows, theta, beta, j, k)
    own = _two_components(data, sigma[pair], phi[pair], alpha[pair])
    priors = (reference, log_crowd_phi, phi_prior)
    for _ in range(n_proposals if Q > 1 else 0):
        state, kind = splitmix(state)
        state, coin = splitmix(state)
        if kind >= _ALPHA:
            side = 0 if coin < 0.5 else 1
            state, own = _move_component(state, kind, side, data, own, priors, widths, heat)
        elif heat >= 1.0:
            state, own = _move_alpha(state, data, own, alpha_prior, widths[2])
    sigma[pair], phi[pair], alpha[pair], both, ratios, _ = own
    beta[:, j], beta[:, k] = both[0], both[1]
    draw_splits(rows, theta, beta, alpha, j, k, both, ratios, key, step)
