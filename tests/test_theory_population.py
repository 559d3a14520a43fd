"""The population quantities behind the guarantees: B̄, R̄, Y and what is read off them, entry by entry from Lemma 2."""

import itertools
import math

import numpy as np
import pytest

from mallowmix.errors import DataError
from mallowmix.model.mallows import beta_matrix
from mallowmix.model.population_moments import population_moments
from mallowmix.model.separability import separability
from mallowmix.numerics.dirichlet import dirichlet_moments


def test_population_moments_follow_lemma_2_entry_by_entry():
    beta = np.stack([beta_matrix(s, 0.2) for s in ([0, 1, 2, 3], [3, 1, 2, 0], [1, 3, 0, 2])])
    a, R = dirichlet_moments([0.2, 0.3, 0.4])
    m = population_moments(beta, a, R)
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    B = np.array([[beta[k, i, j] / 6 for k in range(3)] for i, j in pairs])
    np.testing.assert_allclose(B.sum(axis=0), 1)
    np.testing.assert_array_equal(m.pairs, [i * 4 + j for i, j in pairs])
    np.testing.assert_allclose(m.B_bar, np.diag(1 / (B @ a)) @ B @ np.diag(a))
    np.testing.assert_allclose(m.R_bar, np.diag(1 / a) @ R @ np.diag(1 / a))
    np.testing.assert_allclose(m.Y, m.R_bar @ m.B_bar.T)
    joint = B @ R @ B.T  # p(w, w') of two comparisons of one person; E = p(w, w') / (p(w) p(w'))
    np.testing.assert_allclose(m.B_bar @ m.Y, joint / np.outer(B @ a, B @ a))
    assert m.eta == pytest.approx((B @ a).min())
    assert m.kappa == pytest.approx(1 / np.linalg.cond(m.R_bar))
    assert m.sigma_max / m.sigma_min == pytest.approx(np.linalg.cond(m.Y))
    assert m.rho_min == pytest.approx(
        min(math.dist(x, y) for x, y in itertools.combinations(m.Y, 2))
    )
    assert m.rho_max == pytest.approx(
        max(math.dist(x, y) for x, y in itertools.combinations(m.Y, 2))
    )
    ratios = [np.delete(m.B_bar, k, axis=1).max(axis=1) / m.B_bar[:, k] for k in range(3)]
    assert m.lam == pytest.approx(max(r.min() for r in ratios))
    assert (m.n_components, m.n_rows) == (3, 12)


def test_population_moments_with_unequal_shares_and_pairs():
    beta = np.stack([beta_matrix(s, 0.05) for s in ([0, 1, 2, 3], [3, 2, 1, 0])])
    mu = np.full((4, 4), 2.0)
    mu[0, 1] = mu[1, 0] = 0.0
    a, R = dirichlet_moments([1.0, 3.0])
    m = population_moments(beta, a, R, mu)
    assert 1 not in m.pairs  # (0, 1) and (1, 0) are never asked
    assert 4 not in m.pairs
    assert m.n_rows == 10
    np.testing.assert_allclose(m.B_bar.sum(axis=1), 1)
    assert (m.a_min, m.a_0) == (0.25, 3.0)
    assert separability(beta) < m.lam <= m.a_0 * separability(beta) * (1 + 1e-12)


def test_rows_that_never_win_are_left_out():
    beta = np.stack([beta_matrix(s, 0.0) for s in ([0, 1, 2], [0, 2, 1])])
    m = population_moments(beta, *dirichlet_moments([1.0, 1.0]))
    assert m.pairs.tolist() == [1, 2, 5, 7]  # 0 over 1, 0 over 2, 1 over 2, 2 over 1
    assert m.eta > 0


def test_dirichlet_moments_against_draws():
    """Within 5 standard errors at 200,000 draws, 12 numbers: false alarms below 1 in 100,000."""
    alpha = np.array([0.2, 0.5, 1.3])
    theta = np.random.default_rng(0).dirichlet(alpha, 200_000)
    a, R = dirichlet_moments(alpha)
    products = theta[:, :, None] * theta[:, None, :]
    assert np.all(np.abs(theta.mean(axis=0) - a) < 5 * theta.std(axis=0) / math.sqrt(len(theta)))
    assert np.all(
        np.abs(products.mean(axis=0) - R) < 5 * products.std(axis=0) / math.sqrt(len(theta))
    )


def test_population_moments_say_what_is_wrong():
    beta = np.stack([beta_matrix(s, 0.1) for s in ([0, 1, 2], [2, 1, 0])])
    with pytest.raises(
        DataError, match=r"beta has 2 components, but a has shape \(2,\) and R \(3, 3\)"
    ):
        population_moments(beta, [0.5, 0.5], np.eye(3))
    with pytest.raises(DataError, match="positive shares that sum to one"):
        population_moments(beta, [0.5, 0.6], np.eye(2))
    with pytest.raises(DataError, match="symmetric and of full rank"):
        population_moments(beta, [0.5, 0.5], np.full((2, 2), 0.25))
    with pytest.raises(DataError, match=r"mu must be a symmetric \(3, 3\) matrix"):
        population_moments(beta, *dirichlet_moments([1, 1]), mu=np.zeros((3, 3)))
    with pytest.raises(DataError, match="alpha must be a vector of finite numbers above 0"):
        dirichlet_moments([1.0, 0.0])
