"""Two components moved with users' splits left out: the evidence, the splits and the posterior."""

import numpy as np
import pytest
from scipy import integrate, stats

from mallowmix.infer.posterior.split_evidence import (
    all_evidence,
    answer_counts,
    beta_ratios,
    draw_splits,
)
from mallowmix.model.mallows import beta_matrix

Q, K = 4, 3
SIGMA = np.array([[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]])
PHI = np.array([0.3, 0.6, 0.5])


def table():
    """(Q², K) β of every ordered pair; .5 for an item and itself, which nobody compares."""
    columns = [beta_matrix(SIGMA[k], PHI[k]).ravel() for k in range(K)]
    return np.ascontiguousarray(np.stack(columns, 1))


def people(random, n_users, most):
    """(starts, pair, power) of people with a few answers, some given twice."""
    lengths = random.integers(0, most + 1, n_users)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    first = random.integers(0, Q, starts[-1])
    second = (first + random.integers(1, Q, starts[-1])) % Q
    return starts, first * Q + second, random.integers(1, 3, starts[-1]).astype(float)


def density(r, codes, power, theta, beta, j, k, alpha):
    """The joint density of a split and the answers, written down once more."""
    weights = theta.copy()
    weights[j], weights[k] = (theta[j] + theta[k]) * r, (theta[j] + theta[k]) * (1 - r)
    answers = np.prod((beta[codes] @ weights) ** power)
    return stats.beta.pdf(r, alpha[j], alpha[k]) * answers


@pytest.mark.slow
@pytest.mark.parametrize("pair", [(0, 1), (2, 0)])
def test_the_evidence_is_the_integral(pair):
    random = np.random.default_rng(1)
    starts, codes, power = people(random, 12, 6)
    theta, alpha, beta = random.dirichlet(np.ones(K), 12), np.array([1.3, 2.1, 1.7]), table()
    counts, (j, k) = answer_counts(starts, power), pair
    both = np.ascontiguousarray(beta[:, [j, k]].T)
    ratios, found = beta_ratios(counts, alpha[j], alpha[k]), np.zeros(12)
    rows = (starts, codes, power, counts)
    total = all_evidence(rows, theta, beta, j, k, both, both, True, ratios, np.zeros(12), found)
    for m in range(12):
        own = slice(starts[m], starts[m + 1])
        arguments = (codes[own], power[own], theta[m], beta, j, k, alpha)
        true, _ = integrate.quad(density, 0, 1, args=arguments, epsabs=1e-13, epsrel=1e-11)
        assert found[m] == pytest.approx(np.log(true), abs=1e-9)
    assert total == pytest.approx(found.sum())


def test_users_who_are_not_concerned_keep_their_evidence():
    random = np.random.default_rng(2)
    starts, codes, power = people(random, 30, 3)
    theta, beta, counts = random.dirichlet(np.ones(K), 30), table(), answer_counts(starts, power)
    both, ratios = np.ascontiguousarray(beta[:, :2].T), beta_ratios(counts, 0.4, 0.7)
    rows, before, whole, part = (starts, codes, power, counts), *np.zeros((3, 30))
    all_evidence(rows, theta, beta, 0, 1, both, both, True, ratios, np.zeros(30), before)
    new = both.copy()
    new[0, 1] *= 0.9  # item 0 over item 1 alone
    every = all_evidence(rows, theta, beta, 0, 1, new, both, True, ratios, before, whole)
    some = all_evidence(rows, theta, beta, 0, 1, new, both, False, ratios, before, part)
    answered = np.array([1 in codes[starts[m] : starts[m + 1]] for m in range(30)])
    assert 0 < answered.sum() < 30
    np.testing.assert_allclose(part, whole, atol=1e-12)
    np.testing.assert_array_equal(part == before, ~answered)
    assert some == pytest.approx(every)


@pytest.mark.slow
def test_splits_are_drawn_from_their_distribution():
    """A Kolmogorov–Smirnov test of 4,000 people with the same answers; false alarms 1 in 10,000."""
    random, M = np.random.default_rng(3), 4000
    codes, power = np.array([1, 6, 3, 8]), np.array([1.0, 2.0, 1.0, 1.0])
    theta, alpha, beta = np.array([0.3, 0.2, 0.5]), np.array([0.8, 1.6, 1.1]), table()
    starts = np.arange(0, 4 * M + 1, 4)
    rows = (starts, np.tile(codes, M), np.tile(power, M), np.full(M, 5))
    drawn, both = np.tile(theta, (M, 1)), np.ascontiguousarray(beta[:, [0, 2]].T)
    ratios = beta_ratios(rows[3], alpha[0], alpha[2])
    key = np.uint64(random.integers(2**63))
    draw_splits(rows, drawn, beta, alpha, 0, 2, both, ratios, key, 7)
    np.testing.assert_allclose(drawn.sum(1), 1)
    np.testing.assert_array_equal(drawn[:, 1], 0.2)
    grid = np.linspace(0, 1, 2001)
    given = (codes, power, theta, beta, 0, 2, alpha)
    values = np.array([density(r, *given) if 0 < r < 1 else 0.0 for r in grid])
    cdf = np.concatenate([[0], np.cumsum((values[1:] + values[:-1]) / 2)])
    split = drawn[:, 0] / (drawn[:, 0] + drawn[:, 2])
    found = stats.kstest(split, lambda r: np.interp(r, grid, cdf / cdf[-1]))
    assert found.pvalue > 1e-4
