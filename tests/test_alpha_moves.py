"""Moves of the Dirichlet parameters: the target by its definition, and draws from a known one."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import dirichlet

from mallowmix.infer.posterior.alpha_moves import (
    _log_target,
    log_weight_sums,
    move_alpha,
    normal_draw,
    tail_counts,
)
from mallowmix.numerics.token_gibbs import user_stream

K, CENTRE, SPREAD, KEY = 3, -0.5, 0.8, np.uint64(3)
RNG = np.random.default_rng(0)
TOKENS = RNG.integers(0, 5, (7, K)).astype(float)
THETA = RNG.dirichlet([0.5, 1.0, 2.0], 7)
FIRST, SECOND = np.array([0.4, 1.3, 2.2]), np.array([0.9, 0.3, 3.0])


def target(alpha, *, whole):
    tails, sums = tail_counts(TOKENS), log_weight_sums(THETA)
    return _log_target(alpha, tails, sums, whole, CENTRE, SPREAD)


def prior(alpha):
    return -(((np.log(alpha) - CENTRE) / SPREAD) ** 2).sum() / 2


def test_the_target_given_weights_is_dirichlet_times_a_log_normal_prior():
    def definition(alpha):
        return sum(dirichlet.logpdf(theta, alpha) for theta in THETA) + prior(alpha)

    found = target(FIRST, whole=False) - target(SECOND, whole=False)
    assert found == pytest.approx(definition(FIRST) - definition(SECOND))


def test_the_target_given_tokens_is_dirichlet_multinomial_times_the_prior():
    def definition(alpha):
        A, n = alpha.sum(), TOKENS.sum(axis=1)
        users = gammaln(A) - gammaln(A + n) + (gammaln(alpha + TOKENS) - gammaln(alpha)).sum(axis=1)
        return users.sum() + prior(alpha)

    found = target(FIRST, whole=True) - target(SECOND, whole=True)
    assert found == pytest.approx(definition(FIRST) - definition(SECOND))


def test_without_users_alpha_has_its_prior():
    """Correlated draws: mean and spread of log α to five standard errors of 4,000 / 10 of them."""
    tails, sums, prior = np.zeros((K + 1, 1)), np.zeros(K + 1), np.array([CENTRE, SPREAD])
    alpha, draws = np.ones(K), []
    for step in range(4000):
        rates = move_alpha(alpha, tails, sums, True, prior, np.full(K + 1, 1.0), 1, KEY, step)
        draws.append(np.log(alpha))
        assert np.all((rates >= 0) & (rates <= 1))
    error = 5 * SPREAD / np.sqrt(400)
    assert np.mean(draws, axis=0) == pytest.approx([CENTRE] * K, abs=error)
    assert np.std(draws, axis=0) == pytest.approx([SPREAD] * K, abs=error)
    assert np.abs(np.corrcoef(np.transpose(draws))[~np.eye(K, dtype=bool)]).max() < 5 / 20


def test_normal_draws_are_standard_normal():
    state, draws = np.uint64(user_stream(KEY, 0, 1, 0)), []
    for _ in range(4000):
        state, one = normal_draw(np.uint64(state))
        draws.append(one)
    assert np.mean(draws) == pytest.approx(0, abs=5 / np.sqrt(4000))
    assert np.var(draws) == pytest.approx(1, abs=5 * np.sqrt(2 / 4000))
    assert np.mean(np.power(draws, 4)) == pytest.approx(3, abs=5 * np.sqrt(96 / 4000))
