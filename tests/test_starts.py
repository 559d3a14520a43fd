"""Both starts where their answer is known: on the exact embedding of a separable model, and on
people of one taste each.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mallowmix.learn.spectral import initialisation
from mallowmix.learn.spectral.corners import CORNER_FINDERS
from mallowmix.learn.spectral.initialisation import (
    cluster_users,
    concentration_of_corners,
    embed_pairs,
    initialise_from_pairs,
    initialise_from_users,
    mixed_beta,
    vertex_shares,
)
from mallowmix.learn.spectral.signed_moment import SignedMoment, count_pairs, leading_subspace
from mallowmix.learn.spectral.subspace import Subspace, pair_statistics
from mallowmix.model.dispersion import LEAST_PHI, phi_of_curve
from mallowmix.model.mallows import beta_matrix
from mallowmix.model.permutations import match_components
from planted import blocks_of, exact_moment, exact_pairs, planted

ALPHA = np.array([0.2, 0.3, 0.5])


def ideal(Q=24, alpha=ALPHA, seed=0, mu=None):
    """The pairs' β of certain rankings (φ = 0: separable), their statistics, and the exact subspace
    of the moment.
    """
    K = len(alpha)
    sigma = planted(Q, K, seed=seed).sigma
    low, high = np.triu_indices(Q, 1)
    beta = (sigma[:, low] < sigma[:, high]).T.astype(float)  # (P, K)
    mu = np.full(len(beta), 1 / len(beta)) if mu is None else mu
    values, vectors = np.linalg.eigh(exact_moment(beta, alpha, mu))
    subspace = Subspace(values[::-1], vectors[:, ::-1], 0, True)
    return sigma, beta, exact_pairs(beta, alpha / alpha.sum(), mu), subspace


def corners_of(beta, pairs, subspace, K):
    """The corners by their definition: where a pair lies that only component k decides its way, as
    the mean of all such pairs.
    """
    F = embed_pairs(subspace, pairs, K - 1)
    plus, minus = np.sqrt((1 - pairs.win) / pairs.win), -np.sqrt(pairs.win / (1 - pairs.win))
    found = []
    for k in range(K):
        alone = np.eye(K)[k]
        wins = [F[p] * plus[p] for p in np.flatnonzero((beta == alone).all(axis=1))]
        losses = [F[p] * minus[p] for p in np.flatnonzero((1 - beta == alone).all(axis=1))]
        found.append(np.mean(wins + losses, axis=0))
    return np.array(found)


def uneven(Q, seed=0):
    mu = np.random.default_rng(seed).uniform(0.5, 2, Q * (Q - 1) // 2)
    return mu / mu.sum()


@pytest.mark.slow
@pytest.mark.parametrize("hunter", sorted(CORNER_FINDERS))
@pytest.mark.parametrize("mu", [None, uneven(24)], ids=["even", "uneven"])
def test_the_exact_embedding_gives_back_the_model(hunter, mu):
    sigma, _, pairs, subspace = ideal(mu=mu)
    start = initialise_from_pairs(embed_pairs(subspace, pairs, 2), pairs, 24, corners=hunter)
    match = match_components(start.components.sigma, sigma)
    assert not match.kendall.any()
    np.testing.assert_allclose(start.alpha[match.found], ALPHA, rtol=1e-6)
    assert start.components.phi == pytest.approx(LEAST_PHI)


@pytest.mark.parametrize(
    "alpha", [ALPHA, np.array([2.0, 1.0]), np.array([0.1, 0.1, 0.1, 0.4])], ids=str
)
def test_corners_shares_concentration_and_beta_are_exact(alpha):
    K, a = len(alpha), alpha / alpha.sum()
    _, beta, pairs, subspace = ideal(alpha=alpha, seed=K, mu=uneven(24, K))
    corners = corners_of(beta, pairs, subspace, K)
    np.testing.assert_allclose(vertex_shares(corners), a, rtol=1e-6)
    assert concentration_of_corners(corners, a) == pytest.approx(alpha.sum(), rel=1e-6)
    F = embed_pairs(subspace, pairs, K - 1)
    np.testing.assert_allclose(mixed_beta(F, pairs.win, corners, a), beta, atol=1e-6)


@given(st.lists(st.floats(0.3, 3), min_size=2, max_size=6), st.floats(0.1, 40))
@settings(max_examples=30)
def test_shares_and_concentration_of_any_dirichlet(weights, total):
    """Corner k of a Dirichlet lies at e_k C^½ / a_k, C its covariance: turned at random, and cut to
    K − 1 dimensions.
    """
    a = np.array(weights) / np.sum(weights)
    assume(a.min() > 0.2 / len(a))  # below that, shares are held at their least value
    C = (np.diag(a) - np.outer(a, a)) / (total + 1)
    values, vectors = np.linalg.eigh(C)
    # the first eigenvalue is 0
    corners = (vectors * np.sqrt(np.maximum(values, 0)) / a[:, None])[:, 1:]
    np.testing.assert_allclose(vertex_shares(corners), a, atol=1e-8)
    assert concentration_of_corners(corners, a) == pytest.approx(total, rel=1e-6)


def test_shares_stay_above_their_floor_and_beta_solves_its_equations():
    random = np.random.default_rng(0)
    corners = random.standard_normal((4, 3))
    share = vertex_shares(corners)
    assert share.sum() == pytest.approx(1) and share.min() >= 0.2 / 4 / (1 + 3 * 0.2 / 4)
    F, win = random.standard_normal((50, 3)), random.uniform(0.1, 0.9, 50)
    beta = mixed_beta(F, win, corners, share)
    np.testing.assert_allclose(beta @ share, win)
    np.testing.assert_allclose(
        beta @ (share[:, None] * corners), F * np.sqrt(win * (1 - win))[:, None]
    )


@pytest.mark.parametrize("phi", [0.1, 0.5, 0.9])
def test_phi_of_a_curve_survives_noise_that_leaves_the_box(phi):
    """β ± 0.4 on every pair: the mean curve still gives φ within .05 (some hundred pairs at each of
    the short gaps).
    """
    sigma = np.random.default_rng(1).permutation(80).astype(np.int32)
    noise = 0.4 * np.random.default_rng(2).standard_normal((80, 80))
    beta = beta_matrix(sigma, phi) + np.triu(noise, 1) - np.triu(noise, 1).T
    assert phi_of_curve(beta, sigma) == pytest.approx(phi, abs=0.05)


def followers(K=3, M=240, alpha=ALPHA, seed=1, **options):
    """People of one taste each."""
    truth = planted(12, K, phi=0.1, alpha=alpha, seed=seed)
    return truth, truth.sample(M, 40, prior="vertices", seed=seed, **options)


def people_start(comparisons, K):
    blocks, engine = blocks_of(comparisons)
    pairs = pair_statistics(count_pairs(blocks, engine), comparisons.n_items)
    subspace = leading_subspace(SignedMoment(blocks, pairs, engine), K - 1)
    return initialise_from_users(blocks, subspace, pairs, K - 1, engine)


def test_people_of_one_taste_each_are_clustered_without_fault():
    truth, sample = followers()
    start = people_start(sample.comparisons, 3)
    match = match_components(start.components.sigma, truth.sigma)
    assert not match.kendall.any()
    # every person where they belong
    np.testing.assert_allclose(start.alpha[match.found], sample.theta.mean(axis=0), rtol=1e-12)
    assert start.components.phi == pytest.approx(0.1, abs=0.03)


def test_people_count_by_their_weight():
    """Nobody follows the third ranking but people of weight 0: the two others share the clusters,
    and the shares are weighted.
    """
    from mallowmix.data.comparisons import Comparisons

    truth, sample = followers()
    data, taste = sample.comparisons, sample.theta.argmax(axis=1)
    weight = np.array([1.0, 2.0, 0.0])[taste]
    weighted = Comparisons.from_codes(
        data.user, data.winner, data.loser, data.weight, data.items, data.users, weight
    )
    start = people_start(weighted, 2)
    match = match_components(start.components.sigma, truth.sigma[:2])
    assert not match.kendall.any()
    expected = np.bincount(taste, weight)[:2]
    np.testing.assert_allclose(start.alpha[match.found], expected / expected.sum(), rtol=1e-12)


def test_clusters_leave_out_those_who_compared_little_or_count_for_nothing():
    embedding = np.repeat([[0.0], [5.0]], 10, axis=0)
    n, people = np.full(20, 30.0), np.ones(20)
    n[3], people[12] = 2, 0
    label = cluster_users(embedding, n, people, 2)
    assert label[3] == label[12] == -1
    assert len(set(label[:10]) - {-1}) == len(set(label[10:]) - {-1}) == 1 and label[0] != label[19]


def test_fewer_people_or_tastes_than_components_leave_clusters_empty():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(cluster_users(np.zeros((6, 2)), np.full(6, 9.0), np.ones(6), 3)) == {0}
    assert sorted(
        cluster_users(np.array([[0.0], [1.0], [2.0]]), np.array([4.0, 4.0, 0.0]), np.ones(3), 3)
    ) == [-1, 0, 1]


def test_shares_sum_to_one_where_clusters_are_small(monkeypatch):
    _, sample = followers()
    monkeypatch.setattr(
        initialisation, "cluster_users", lambda e, *_, **__: (np.arange(len(e)) < 2) * 1
    )
    start = people_start(sample.comparisons, 3)  # two people, all others, and nobody
    floor = 0.2 / 3
    others = 238 / 240
    assert np.sort(start.alpha) == pytest.approx(
        np.array([floor, floor, others]) / (2 * floor + others)
    )
