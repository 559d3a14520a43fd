"""The Dirichlet prior from moments: exact when they are, sane when they are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mallowmix.numerics.dirichlet import LEAST_ALPHA0, MOST_ALPHA0, dirichlet_from_moments

alphas = st.lists(st.floats(0.01, 20), min_size=2, max_size=6)


def moments(alpha):
    """E θ_k and E θ_k θ_j of a Dirichlet, entry by entry."""
    total, K = sum(alpha), len(alpha)
    R = [
        [alpha[k] * (alpha[j] + (k == j)) / (total * (total + 1)) for j in range(K)]
        for k in range(K)
    ]
    return np.array(alpha) / total, np.array(R)


@given(alphas)
def test_exact_moments_give_alpha_back(alpha):
    np.testing.assert_allclose(dirichlet_from_moments(*moments(alpha)), alpha, rtol=1e-6)


def test_moments_of_a_sample_give_alpha_nearly():
    """100,000 draws; the relative error of α₀ has a standard deviation near 0.5%, so 5% is never
    left by chance.
    """
    alpha = np.array([0.1, 0.4, 0.2])
    theta = np.random.default_rng(0).dirichlet(alpha, 100_000)
    np.testing.assert_allclose(
        dirichlet_from_moments(theta.mean(axis=0), theta.T @ theta / len(theta)), alpha, rtol=0.05
    )


def test_one_component_leaves_the_concentration_open():
    assert dirichlet_from_moments([1.0], [[1.0]]).tolist() == [1.0]


def test_moments_that_no_dirichlet_has_are_clipped():
    """Too little spread (R = aaᵀ or less) ends at the largest α₀, too much at the least; shares of
    0 stay above 0.
    """
    a = np.array([0.25, 0.75])
    assert dirichlet_from_moments(a, np.outer(a, a)).sum() == pytest.approx(MOST_ALPHA0)
    assert dirichlet_from_moments(a, np.zeros((2, 2))).sum() == pytest.approx(MOST_ALPHA0)
    assert dirichlet_from_moments(a, 2 * np.diag(a)).sum() == pytest.approx(LEAST_ALPHA0)
    vertices = dirichlet_from_moments([1.0, 0.0], np.diag([1.0, 0.0]))
    assert (vertices > 0).all()
    assert np.isfinite(vertices).all()


def test_shares_are_kept():
    a = np.array([0.2, 0.3, 0.5])
    alpha = dirichlet_from_moments(7 * a, np.random.default_rng(0).random((3, 3)))
    np.testing.assert_allclose(alpha / alpha.sum(), a)
