"""Variational EM: its bound against a slow twin and the exact likelihood, and never falling."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import gammaln, psi
from scipy.stats import beta as beta_distribution
from scipy.stats import dirichlet

from mallowmix.engine import ThreadEngine
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.variational_em import (
    dirichlet_from_mean_log,
    expected_counts,
    variational_em,
)
from mallowmix.model import least_beta
from oracles import beta
from planted import blocks_of, planted, tiny_population

ALPHA = np.array([0.8, 1.3])
COLUMNS = MallowsComponents(np.array([[0, 1, 2, 3], [3, 1, 0, 2]], np.int32), np.array([0.3, 0.6]))


def beta_by_counting(components):
    """[k, i, j], by sums over all rankings, kept off 0 and 1."""
    tables = [
        beta(tuple(sigma.tolist()), phi)
        for sigma, phi in zip(components.sigma, components.phi.tolist(), strict=True)
    ]
    return np.clip(tables, least_beta.EXPECTED_COUNTS, 1 - least_beta.EXPECTED_COUNTS)


def words_of(comparisons, m):
    """(winner, loser, weight) of a person."""
    rows = zip(
        comparisons.user,
        comparisons.winner,
        comparisons.loser,
        comparisons.weight.tolist(),
        strict=True,
    )
    return [(i, j, w) for user, i, j, w in rows if user == m]


def slow_fold(words, table, alpha, inner):
    """One person's γ after some fixed-point steps, and their bound term by term: E log p(w, z, θ) −
    E log q(z, θ).
    """
    K = len(alpha)
    gamma = alpha + sum(w for *_, w in words) / K
    for step in range(inner + 1):
        e_log = psi(gamma) - psi(gamma.sum())
        r = [table[:, i, j] * np.exp(e_log) for i, j, _ in words]
        r = [row / row.sum() for row in r]
        if step < inner:
            gamma = alpha + sum(
                (w * row for (*_, w), row in zip(words, r, strict=True)), np.zeros(K)
            )
    bound = sum(
        w * sum(row[k] * (math.log(table[k, i, j]) + e_log[k] - math.log(row[k])) for k in range(K))
        for (i, j, w), row in zip(words, r, strict=True)
    )
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * e_log).sum()
    return gamma, bound + prior + dirichlet(gamma).entropy()


@given(st.integers(0, 10**6), st.booleans(), st.integers(0, 4))
@settings(max_examples=20)
def test_the_bound_is_that_of_a_slow_twin(seed, fractions, inner):
    data = tiny_population(seed, fractions=fractions, people=True)
    blocks, engine = blocks_of(data)
    found = variational_em(blocks, COLUMNS, ALPHA, engine, n_iter=1, inner=inner)
    table = beta_by_counting(COLUMNS)
    slow = [slow_fold(words_of(data, m), table, ALPHA, inner) for m in range(data.n_users)]
    # β is float32
    np.testing.assert_allclose(np.concatenate(found.gamma), [gamma for gamma, _ in slow], rtol=2e-6)
    expected = sum(
        weight * bound for weight, (_, bound) in zip(data.user_weight, slow, strict=True)
    )
    assert found.elbo == pytest.approx([expected], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("fractions", [False, True], ids=["whole", "fractions"])
def test_the_expected_counts_are_those_of_a_slow_twin(fractions):
    """Each row gives a component its share by β exp E log θ, E log θ from γ after three steps."""
    data = tiny_population(3, M=40, fractions=fractions, people=True)
    blocks, engine = blocks_of(data)
    table, expected = beta_by_counting(COLUMNS), np.zeros((2, 4, 4))
    for m in range(data.n_users):
        gamma, _ = slow_fold(words_of(data, m), table, ALPHA, 3)
        for i, j, w in words_of(data, m):
            share = table[:, i, j] * np.exp(psi(gamma))
            expected[:, i, j] += data.user_weight[m] * w * share / share.sum()
    counts, gammas = expected_counts(blocks, table.reshape(2, 16).T, ALPHA, engine)
    np.testing.assert_allclose(counts.T.reshape(2, 4, 4), expected, rtol=5e-6, atol=1e-9)
    # three steps more, from where these ended
    again = expected_counts(blocks, table.reshape(2, 16).T, ALPHA, engine, gammas)[1]
    slow = [slow_fold(words_of(data, m), table, ALPHA, 6)[0] for m in range(data.n_users)]
    np.testing.assert_allclose(np.concatenate(again), slow, rtol=5e-6)


def exact_log_likelihood(words, table, alpha):
    """Log ∫ Π (t β₁ + (1 − t) β₂)^w dBeta(t), by quadrature."""

    def density(t):
        told = math.prod((t * table[0, i, j] + (1 - t) * table[1, i, j]) ** w for i, j, w in words)
        return beta_distribution.pdf(t, *alpha) * told

    return math.log(quad(density, 0, 0.5, limit=200)[0] + quad(density, 0.5, 1, limit=200)[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_below_the_exact_likelihood_and_near_it(seed):
    data = tiny_population(seed, M=4)
    blocks, engine = blocks_of(data)
    components = COLUMNS
    exact = sum(
        exact_log_likelihood(words_of(data, m), beta_by_counting(components), ALPHA)
        for m in range(4)
    )
    for n_inner in (0, 1, 50):
        bound = variational_em(blocks, components, ALPHA, engine, n_iter=1, inner=n_inner).elbo[0]
        assert bound < exact
    # 50 steps: a nat or so a person is what the factorised posterior costs
    assert bound > exact - 4 * 1.5


@pytest.mark.slow
@pytest.mark.parametrize("move_alpha", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("Q", "phi", "K"), [(8, [0.02, 0.3, 0.7], 3), (20, 0.0, 2)])
def test_the_bound_never_falls(Q, phi, K, seed, move_alpha):
    """From a wrong start: random rankings, φ = .8, people weighted unequally; also with fewer
    components than there are, where α
    runs into its limit.
    """
    data = planted(Q, 3, phi, seed=seed).sample(60, 40, seed=seed).comparisons
    blocks, engine = blocks_of(replace(data, user_weight=0.5 + np.arange(60) % 3))
    start = MallowsComponents(planted(Q, K, seed=100 + seed).sigma, np.full(K, 0.8))
    elbo = np.array(
        variational_em(
            blocks, start, np.full(K, 0.5), engine, n_iter=40, move_alpha=move_alpha
        ).elbo
    )
    assert np.diff(elbo).min() > -1e-10 * abs(elbo[0])
    assert elbo[-1] > elbo[0] + 50


def test_the_rankings_stay_if_asked_to():
    blocks, engine = blocks_of(planted(8, 2).sample(60, 25, seed=0).comparisons)
    start = MallowsComponents(planted(8, 2, seed=9).sigma, np.full(2, 0.8))
    found = variational_em(blocks, start, np.ones(2), engine, move_sigma=False)
    assert (found.components.sigma == start.sigma).all() and (
        found.components.phi != start.phi
    ).all()
    assert (found.alpha == 1).all()


def test_it_finds_a_planted_model_from_a_rough_start():
    """Each ranking with its items shuffled among neighbours."""
    truth = planted(15, 3, 0.2)
    blocks, engine = blocks_of(truth.sample(400, 60, seed=0).comparisons)
    rough = np.argsort(
        np.argsort(truth.sigma + np.random.default_rng(0).normal(0, 2, truth.sigma.shape))
    ).astype(np.int32)
    assert (rough != truth.sigma).mean() > 0.5
    found = variational_em(
        blocks, MallowsComponents(rough, np.full(3, 0.8)), np.array(truth.alpha), engine, n_iter=15
    )
    assert (found.components.sigma != truth.sigma).mean() < 0.1
    theta = np.concatenate([gamma / gamma.sum(axis=1, keepdims=True) for gamma in found.gamma])
    assert np.corrcoef(theta.ravel(), truth.sample(400, 60, seed=0).theta.ravel())[0, 1] > 0.98


def test_it_goes_on_from_given_gammas():
    """Three iterations and three more are six."""
    blocks, engine = blocks_of(planted(8, 2, 0.3).sample(60, 25, seed=0).comparisons)
    start = MallowsComponents(planted(8, 2, seed=9).sigma, np.full(2, 0.8))
    six = variational_em(blocks, start, ALPHA, engine, n_iter=6)
    three = variational_em(blocks, start, ALPHA, engine, n_iter=3)
    more = variational_em(blocks, three.components, ALPHA, engine, n_iter=3, gamma=three.gamma)
    assert three.elbo + more.elbo == six.elbo
    assert (more.components.sigma == six.components.sigma).all()


def test_the_answer_is_the_same_on_any_number_of_threads():
    blocks, _ = blocks_of(planted(8, 2, 0.3).sample(60, 25, seed=0).comparisons)
    start = MallowsComponents(planted(8, 2, seed=9).sigma, np.full(2, 0.8))
    one, three = (
        variational_em(blocks, start, ALPHA, ThreadEngine(n_jobs), n_iter=4, move_alpha=True)
        for n_jobs in (1, 3)
    )
    assert one.elbo == three.elbo and one.alpha.tobytes() == three.alpha.tobytes()


def test_a_person_of_weight_three_is_three_people():
    data = tiny_population(5, M=1)
    both = [blocks_of(replace(data, user_weight=np.array([u]))) for u in (1.0, 3.0)]
    one, three = (
        variational_em(blocks, COLUMNS, ALPHA, engine, n_iter=1) for blocks, engine in both
    )
    assert three.elbo[0] == pytest.approx(3 * one.elbo[0], rel=1e-12)
    # what a person thinks does not depend on how much they count
    assert three.gamma[0].tobytes() == one.gamma[0].tobytes()


@pytest.mark.parametrize("alpha", [[0.1, 0.1, 0.1], [2.0, 0.5, 7.0], [0.02, 3.0]], ids=str)
def test_alpha_is_the_dirichlet_maximum_likelihood(alpha):
    """Given the mean logarithms of draws, against a search by scipy over log α."""
    alpha = np.array(alpha)
    logs = np.log(np.maximum(np.random.default_rng(0).dirichlet(alpha, 500), 1e-200)).mean(axis=0)
    found = dirichlet_from_mean_log(np.ones(len(alpha)), logs)

    def cost(log_alpha):
        a = np.exp(log_alpha)
        return -(gammaln(a.sum()) - gammaln(a).sum() + a @ logs)

    best = minimize(cost, np.zeros(len(alpha)), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found, np.exp(best.x), rtol=1e-4)


def test_alpha_stays_where_its_limit_would_lower_the_likelihood():
    """Everybody nearly alike: the best α is beyond the limit of 1,000, and cutting it there would
    be worse than staying.
    """
    start = np.array([300.0, 900.0])
    logs = psi(np.array([30_000.0, 90_000.0])) - psi(120_000.0)

    def value(a):
        return gammaln(a.sum()) - gammaln(a).sum() + a @ logs

    assert (
        value(np.array([1000.0, 1000.0]))
        < value(start)
        <= value(dirichlet_from_mean_log(start, logs))
    )
