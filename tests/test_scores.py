"""People's scores and the information, against derivatives of the marginal likelihood summed over
all assignments.
"""

import math
from itertools import product

import numpy as np
import pytest

from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.user_scores import maximise_likelihood, smooth_at
from mallowmix.model.m4 import M4
from mallowmix.model.mallows import beta_matrix
from tests.planted import planted


def log_marginal(pairs, sigma, eta):
    """The log of Σ_z Π β · Γ(α₀)/Γ(α₀+n) Π Γ(α_k+n_k)/Γ(α_k), over all assignments z of the
    comparisons.
    """
    K = len(sigma)
    phi, alpha = 1 / (1 + np.exp(-np.array(eta[:K]))), np.exp(np.array(eta[K:]))
    beta = [beta_matrix(row, p) for row, p in zip(sigma, phi, strict=True)]
    total = 0.0
    for z in product(range(K), repeat=len(pairs)):
        n = np.bincount(z, minlength=K)
        prior = math.lgamma(alpha.sum()) - math.lgamma(alpha.sum() + len(pairs))
        prior += sum(math.lgamma(a + c) - math.lgamma(a) for a, c in zip(alpha, n, strict=True))
        total += math.exp(prior) * math.prod(
            beta[k][i, j] for k, (i, j) in zip(z, pairs, strict=True)
        )
    return math.log(total)


@pytest.mark.parametrize("K", [1, 2, 3])
def test_scores_are_derivatives_of_the_marginal_likelihood(K):
    """Gibbs noise: 20,000 sweeps leave a standard error below .01 (measured .003); the limit is
    .03.
    """
    model = planted(5, K, 0.4, 0.7, seed=K)
    votes = model.sample(3, 5, seed=1).comparisons
    found = smooth_at(
        model.sigma,
        model.phi,
        model.alpha,
        make_blocks(votes),
        ThreadEngine(1),
        sweeps=20_000,
        seed=3,
    )
    for m in range(3):
        rows = np.repeat(np.flatnonzero(votes.user == m), votes.weight[votes.user == m].astype(int))
        pairs = [(int(votes.winner[n]), int(votes.loser[n])) for n in rows]
        for p in range(2 * K):
            up, down = found.eta.copy(), found.eta.copy()
            up[p] += 1e-4
            down[p] -= 1e-4
            slope = (
                log_marginal(pairs, model.sigma, up) - log_marginal(pairs, model.sigma, down)
            ) / 2e-4
            assert found.scores[m, p] == pytest.approx(slope, abs=0.03)


@pytest.mark.slow
def test_scores_average_to_nothing_at_the_truth_and_settling_goes_there():
    """Σ s / √I is standard normal at the truth: four of 4 within 4 standard deviations, a false
    alarm in 4,000.

    What is left after settling is Monte-Carlo noise: with 400 sweeps or more, one of 48 runs passed
    half an error.
    """
    truth = planted(8, 2, 0.4, 0.4)
    votes = truth.sample(400, 30, seed=2).comparisons
    blocks, engine = make_blocks(votes), ThreadEngine(2)
    at = smooth_at(truth.sigma, truth.phi, truth.alpha, blocks, engine, sweeps=100, seed=0)
    assert np.all(np.abs(at.scores.sum(axis=0)) < 4 * np.sqrt(np.diag(at.information)))
    far = M4(truth.sigma, [0.55, 0.3], [0.8, 0.2], truth.items)
    settled = maximise_likelihood(far, blocks, engine, steps=6, sweeps=400)
    error = np.sqrt(np.diag(np.linalg.inv(settled.information)))
    assert np.all(np.abs(settled.eta - at.eta) < 4 * error)
    assert np.all(
        np.abs(np.linalg.solve(settled.information, settled.scores.sum(axis=0))) < 0.5 * error
    )


def test_the_information_is_that_of_one_ranking_where_there_is_one():
    """K = 1: nothing is hidden, and I = Σ n β'² / (β (1 − β)) in expectation; within 15% for 6,000
    comparisons.
    """
    truth = planted(6, 1, 0.5, 1.0)
    votes = truth.sample(600, 10, seed=1).comparisons
    found = smooth_at(
        truth.sigma, truth.phi, truth.alpha, make_blocks(votes), ThreadEngine(1), sweeps=2, seed=0
    )
    h = 1e-5
    beta, slope = beta_matrix(truth.sigma[0], 0.5), np.zeros((6, 6))
    # dφ/d logit φ = φ(1−φ)
    slope = (
        (beta_matrix(truth.sigma[0], 0.5 + h) - beta_matrix(truth.sigma[0], 0.5 - h))
        / (2 * h)
        * 0.25
    )
    expected = sum(
        c * slope[i, j] ** 2 / (beta[i, j] * beta[j, i])
        for i, j, c in zip(votes.winner, votes.loser, votes.weight, strict=True)
    )
    assert found.information[0, 0] == pytest.approx(expected, rel=0.15)
