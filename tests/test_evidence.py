"""How likely a person's comparisons are: the filter beside sums over all assignments, integrals and
weighted draws.
"""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.infer.assumed_density import log_marginal
from oracles import every_assignment
from oracles import log_marginal as integral


def random_model(K, phi, alpha, Q=8, seed=0):
    random = np.random.default_rng(seed)
    return mm.M4(
        [random.permutation(Q) for _ in range(K)], np.full(K, phi), np.full(K, alpha), range(Q)
    )


def person(model, n, seed):
    votes = model.sample(1, n, seed=seed).comparisons
    return votes, np.ascontiguousarray(model.beta()[:, votes.winner, votes.loser].T)


@pytest.mark.slow
@pytest.mark.parametrize(("phi", "alpha"), [(0.2, 0.2), (0.5, 1.0), (0.8, 0.1)])
def test_beside_all_assignments(phi, alpha):
    """Three components, seven comparisons, 15 people; one comparison alone is exact: Σ_k β_k α_k /
    α₀.
    """
    model, gaps = random_model(3, phi, alpha), []
    for seed in range(15):
        votes, b = person(model, 7, seed)
        times = votes.weight.astype(int)
        words = list(
            zip(np.repeat(votes.winner, times), np.repeat(votes.loser, times), strict=True)
        )
        gaps.append(
            log_marginal(b, votes.weight, model.alpha)
            - every_assignment(words, model.beta(), model.alpha)
        )
        assert log_marginal(b[:1], np.ones(1), model.alpha) == pytest.approx(
            np.log(b[0] @ model.share), abs=1e-12
        )
        two = [words[0], words[-1]]
        pair = np.ascontiguousarray(b[[0, -1]])
        assert log_marginal(pair, np.ones(2), model.alpha) == pytest.approx(
            every_assignment(two, model.beta(), model.alpha), abs=1e-9
        )
    assert np.abs(gaps).max() < 0.5 and abs(np.mean(gaps)) < 0.12


def test_beside_the_integral():
    """Two components, a hundred comparisons, where the variational bound is half a nat low."""
    model, gaps = random_model(2, 0.4, 0.5), []
    for seed in range(15):
        votes, b = person(model, 100, seed)
        gaps.append(log_marginal(b, votes.weight, model.alpha) - integral(model, votes, 0))
    assert np.abs(gaps).max() < 0.6 and abs(np.mean(gaps)) < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.2, 0.5, 1.5])
def test_powers_beside_weighted_draws(power):
    """Five components, 15 comparisons: the mean likelihood of 100,000 draws from the prior."""
    model, gaps = random_model(5, 0.4, 0.3), []
    theta = np.random.default_rng(0).dirichlet(model.alpha, 100_000)
    for seed in range(8):
        votes, b = person(model, 15, seed)
        log = np.log(theta @ b.T + 1e-300) @ (power * votes.weight)
        exact = np.log(np.exp(log - log.max()).mean()) + log.max()
        gaps.append(log_marginal(b, power * votes.weight, model.alpha) - exact)
    assert np.abs(gaps).max() < 0.5 and abs(np.mean(gaps)) < 0.2


@pytest.mark.slow
def test_what_must_hold_exactly():
    model = random_model(4, 0.3, 0.5)
    votes, b = person(model, 20, 1)
    value = log_marginal(b, votes.weight, model.alpha)
    shuffled = np.random.default_rng(0).permutation(len(b))
    assert log_marginal(b[shuffled], votes.weight[shuffled], model.alpha) == pytest.approx(
        value, abs=1e-9
    )
    times = votes.weight.astype(int)
    assert log_marginal(np.repeat(b, times, axis=0), np.ones(20), model.alpha) == pytest.approx(
        value, abs=1e-9
    )
    assert log_marginal(b[:0], np.empty(0), model.alpha) == 0
    assert log_marginal(b[:, :1].copy(), votes.weight, np.ones(1)) == pytest.approx(
        np.log(b[:, 0]) @ votes.weight
    )
    coins = np.full((30, 4), 0.5)
    assert log_marginal(coins, np.full(30, 0.7), model.alpha) == pytest.approx(21 * np.log(0.5))
