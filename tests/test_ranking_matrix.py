"""Algorithm 3: exact when E and the novel pairs are; what finite samples and odd rows do to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mallowmix.learn.paper.pair_moments import HalfMoments, ModelMoments
from mallowmix.learn.paper.ranking_matrix import estimate_ranking_matrix
from mallowmix.model.m4 import M4
from mallowmix.numerics.dirichlet import dirichlet_moments


def separable(seed, Q=8, K=3):
    """A model at φ = 0 (λ = 0), with a pure pair of each component: won there, lost elsewhere."""
    for attempt in range(seed * 1000, seed * 1000 + 1000):
        random = np.random.default_rng(attempt)
        model = M4(
            [random.permutation(Q) for _ in range(K)],
            np.zeros(K),
            random.gamma(1, size=K) + 0.2,
            range(Q),
        )
        beta = model.beta().reshape(K, -1).T * ~np.eye(Q, dtype=bool).reshape(-1, 1)  # (Q², K)
        pure = [np.flatnonzero((beta == np.eye(K)[k]).all(axis=1)) for k in range(K)]
        if all(len(pairs) for pairs in pure):
            return model, np.array([pairs[0] for pairs in pure])
    raise AssertionError("no separable model was drawn")


@given(st.integers(0, 50), st.integers(1, 4))
def test_exact_moments_and_pure_novel_pairs_give_b_exactly(seed, K):
    model, novel = separable(seed, K=K)
    B, (a, R) = model.ranking_matrix(), dirichlet_moments(model.alpha)
    found = estimate_ranking_matrix(ModelMoments(B, a, R), novel, tol=1e-15)
    np.testing.assert_allclose(found.B, B, atol=1e-7)
    np.testing.assert_allclose(found.B.sum(axis=0), 1)
    np.testing.assert_allclose(found.a, a, atol=1e-6)
    np.testing.assert_allclose(found.R, R, atol=1e-6)


def test_any_pure_rows_will_do_also_with_dispersion():
    """Dispersion leaves no pure pair; put K rows in that are, as the lemma asks, and B comes back
    with them.
    """
    model, _ = separable(1, Q=6, K=3)
    B = M4(model.sigma, [0.1, 0.4, 0.8], model.alpha, model.items).ranking_matrix().copy()
    B[[0, 7, 14]] = 0.01 * np.eye(3)  # the unused codes of (i, i)
    B /= B.sum(axis=0)
    a, R = dirichlet_moments(model.alpha)
    found = estimate_ranking_matrix(ModelMoments(B, a, R), np.array([0, 7, 14]), tol=1e-15)
    np.testing.assert_allclose(found.B, B, atol=1e-7)


def test_at_the_default_precision_b_is_close():
    model, novel = separable(2)
    B = model.ranking_matrix()
    found = estimate_ranking_matrix(ModelMoments(B, *dirichlet_moments(model.alpha)), novel)
    assert np.abs(found.B - B).max() < 0.05 * B.max()


def test_other_pair_frequencies_come_back_as_well():
    """E5: the rows are scaled by their counts, so μ returns in B."""
    model, novel = separable(3)
    mu = np.random.default_rng(0).random((8, 8)) + 0.1
    B = model.ranking_matrix(mu + mu.T)
    found = estimate_ranking_matrix(
        ModelMoments(B, *dirichlet_moments(model.alpha)), novel, tol=1e-15
    )
    np.testing.assert_allclose(found.B, B, atol=1e-7)


def test_e4_an_indefinite_gram_matrix_is_corrected():
    """With little data Ê_SS is indefinite; the answer is a matrix of non-negative columns that sum
    to one all the same.
    """
    indefinite = 0
    for seed in range(20):
        model, novel = separable(seed % 5)
        E = HalfMoments(model.sample(15, 30, seed=seed).comparisons, seed=seed)
        novel = novel[E.present[novel]]
        indefinite += np.linalg.eigvalsh(E.rows(novel)[:, novel]).min() < -1e-9
        found = estimate_ranking_matrix(E, novel)
        assert (found.B >= 0).all()
        assert not found.B[E.counts == 0].any()
        np.testing.assert_allclose(found.a.sum(), 1)
        np.testing.assert_allclose(found.B.sum(axis=0)[found.a > 0], 1)
        np.testing.assert_allclose(found.R, found.R.T, atol=1e-12)
        assert np.linalg.eigvalsh(found.R).min() > -1e-12
    assert indefinite >= 1


def test_samples_come_closer_with_more_people():
    """Mean error of B over 3 seeds at 200 and 5000 people: the ratio is about 1/5, and hardly ever
    above 1/2 by chance.
    """
    model, novel = separable(4)
    B = model.ranking_matrix()

    def error(M):
        moments = [
            HalfMoments(model.sample(M, 60, seed=seed).comparisons, seed=seed) for seed in range(3)
        ]
        return np.mean([np.abs(estimate_ranking_matrix(E, novel).B - B).mean() for E in moments])

    assert error(5000) < 0.5 * error(200)


def test_one_component_is_the_share_of_every_pair():
    comparisons = M4([[0, 1, 2]], [0.3], [1.0], "abc").sample(50, 10).comparisons
    E = HalfMoments(comparisons)
    found = estimate_ranking_matrix(E, np.array([1]))
    np.testing.assert_allclose(found.B[:, 0], E.counts / E.counts.sum())
    assert found.a.tolist() == [pytest.approx(1)]
    assert found.R.tolist() == [[pytest.approx(1)]]
