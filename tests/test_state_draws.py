"""Draws of a user's state: the quick kernel against the definition, for any K."""

import numpy as np
import pytest

from mallowmix.infer.state_draws import ROUGH_ERROR, RankingDraws, UtilityDraws, WeightDraws


@pytest.mark.parametrize("K", [1, 3, 4, 6, 9])
def test_rough_moments_are_the_moments_in_single_precision(K):
    """Four components are added at a time, and what is left one by one."""
    rng = np.random.default_rng(K)
    theta, beta = rng.dirichlet(np.ones(K), 50), rng.uniform(1e-4, 1 - 1e-4, (16, K))
    draws, codes = WeightDraws(theta, beta, beta.astype(np.float32)), np.array([3, 0, 7, 15])
    p = theta @ beta[codes].T
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    for found, error in ((draws.moments(codes), 1e-12), (draws.rough_moments(codes), ROUGH_ERROR)):
        assert found[0] == pytest.approx(p.mean(axis=0), abs=error)
        assert found[1] == pytest.approx(entropy.mean(axis=0), abs=error)


CODES = np.array([1, 4, 11, 6])  # of four items: the pairs (0, 1), (1, 0), (2, 3), (1, 2)


def entropy_of(p):
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


def test_moments_of_utilities_are_those_of_logistic_probabilities():
    u = np.random.default_rng(0).normal(3.0, 2.0, (30, 4))
    draws = UtilityDraws(u)
    p = 1 / (1 + np.exp(u[:, CODES % 4] - u[:, CODES // 4]))
    mean, rest = draws.moments(CODES)
    assert mean == pytest.approx(p.mean(axis=0)) and rest == pytest.approx(
        entropy_of(p).mean(axis=0)
    )
    for s in range(30):
        others = [
            [1 / (1 + np.exp(u[s, j] - u[s, i])) for j in range(4) if j != i] for i in range(4)
        ]
        assert draws.win_rates()[s] == pytest.approx(np.mean(others, axis=1))
    assert draws.thinned(7).utilities.tolist() == u[[0, 7, 14, 21, 28]].tolist()


def test_moments_of_rankings_are_shares_of_draws_seen_through_errors():
    position = np.array([np.random.default_rng(s).permutation(4) for s in range(25)])
    draws = RankingDraws(position, 0.1)
    above = position[:, CODES // 4] < position[:, CODES % 4]
    mean, rest = draws.moments(CODES)
    assert mean == pytest.approx(np.where(above, 0.9, 0.1).mean(axis=0))
    assert rest == pytest.approx([entropy_of(0.1)] * 4)
    wins = [
        [[0.9 if one[i] < one[j] else 0.1 for j in range(4) if j != i] for i in range(4)]
        for one in position
    ]
    assert draws.win_rates() == pytest.approx(np.mean(wins, axis=2))
    assert draws.thinned(10).position.tolist() == position[[0, 10, 20]].tolist()


def test_win_rates_of_weights_are_mixtures_of_those_of_components():
    rng = np.random.default_rng(1)
    theta, beta = rng.dirichlet(np.ones(3), 5), rng.uniform(size=(16, 3))
    tables = beta.reshape(4, 4, 3)
    rates = [
        [np.mean([tables[i, j, k] for j in range(4) if j != i]) for i in range(4)] for k in range(3)
    ]
    draws = WeightDraws(theta, beta, beta.astype(np.float32))
    assert draws.win_rates() == pytest.approx(theta @ np.array(rates))
    assert draws.thinned(2).theta.tolist() == theta[[0, 2, 4]].tolist()
