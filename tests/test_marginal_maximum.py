"""The last step of a fit, against the marginal likelihood of two components, a finite sum."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, roots_jacobi

import mallowmix as mm
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.marginal_maximum import marginal_maximum, score_distance
from mallowmix.learn.spectral.user_scores import smooth_at
from mallowmix.model.m4 import M4
from mallowmix.model.mallows import beta_matrix
from tests.planted import planted


def log_likelihood(votes, sigma, phi, alpha):
    """Σ_m log ∫ Π (θ β_1 + (1 − θ) β_2) Beta(θ) dθ.

    A polynomial of degree n in θ: ⌈(n + 1) / 2⌉ nodes of Gauss–Jacobi quadrature are exact.
    """
    low, high = (
        beta_matrix(row, p)[votes.winner, votes.loser] for row, p in zip(sigma, phi, strict=True)
    )
    n = int(np.bincount(votes.user, votes.weight).max())
    node, weight = roots_jacobi(n // 2 + 1, alpha[1] - 1, alpha[0] - 1)
    theta, weight = (1 + node) / 2, weight / weight.sum()
    logs = votes.weight[:, None] * np.log(theta * low[:, None] + (1 - theta) * high[:, None])
    users = np.zeros((votes.n_users, len(theta)))
    np.add.at(users, votes.user, logs)
    return float(np.sum(votes.user_weight * np.log(np.exp(users) @ weight)))


def repeated(seed):
    """Answers of 300 users who repeat each of theirs three times: more alike than M4 would have
    them, as the comparisons of rankings are.
    """
    votes = planted(6, 2, 0.5, 0.5, seed=seed).sample(300, 12, seed=seed).comparisons
    return Comparisons.from_codes(
        votes.user, votes.winner, votes.loser, 3 * votes.weight, votes.items, votes.users
    )


def maximum(votes, model, seed=0):
    start = MallowsComponents(np.asarray(model.sigma), np.asarray(model.phi))
    return marginal_maximum(start, model.alpha, make_blocks(votes), ThreadEngine(1), seed=seed)


def short_of(votes, model):
    """How far the exact log-likelihood is below its maximum in φ and α, by SciPy."""

    def loss(eta):
        return -log_likelihood(votes, model.sigma, expit(eta[:2]), np.exp(eta[2:]))

    at = np.r_[logit(model.phi), np.log(model.alpha)]
    return loss(at) - minimize(loss, at, method="L-BFGS-B", bounds=[(-4, 4)] * 4).fun


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_ascends_to_the_maximum_of_the_exact_likelihood(seed):
    """A standard error a parameter is 4 / 2 below the maximum; the fit ends nearer than that."""
    votes = repeated(seed)
    far = M4(planted(6, 2, seed=seed).sigma, [0.6, 0.7], [0.8, 1.5], votes.items)
    found = maximum(votes, far)
    assert short_of(votes, far) > 300
    near = M4(far.sigma, found.components.phi, found.alpha, votes.items)
    assert short_of(votes, near) < 2


def test_a_fit_that_is_near_the_maximum_is_left_alone():
    truth = planted(8, 2, 0.4, 0.4)
    votes = truth.sample(400, 30, seed=2).comparisons
    far = maximum(votes, M4(truth.sigma, [0.55, 0.3], [0.8, 0.2], truth.items))
    settled = maximum(votes, M4(truth.sigma, far.components.phi, far.alpha, truth.items))
    assert len(settled.distances) == 1
    np.testing.assert_array_equal(settled.components.phi, far.components.phi)


def test_a_factor_of_all_user_weights_changes_nothing():
    truth = planted(6, 2, 0.4, 0.5)
    votes = truth.sample(200, 20, seed=1).comparisons
    far = M4(truth.sigma, [0.6, 0.6], [1.0, 1.0], truth.items)
    heavy = Comparisons.from_codes(
        votes.user,
        votes.winner,
        votes.loser,
        votes.weight,
        votes.items,
        votes.users,
        np.full(votes.n_users, 7.0),
    )
    one, seven = maximum(votes, far), maximum(heavy, far)
    np.testing.assert_allclose(one.components.phi, seven.components.phi, rtol=1e-7)
    np.testing.assert_allclose(one.alpha, seven.alpha, rtol=1e-7)
    np.testing.assert_allclose(one.distances, seven.distances, rtol=1e-6)


def test_the_distance_is_in_standard_errors():
    """At the truth gᵀI⁻¹g is χ² with 2K = 4 degrees: its mean over 40 populations lies within
    4 standard errors, √(8/40) each, of 4. False alarm: 1 in 10,000.
    """
    truth = planted(6, 2, 0.4, 0.6)
    squares = []
    for seed in range(40):
        votes = truth.sample(200, 25, seed=seed).comparisons
        at = smooth_at(
            truth.sigma,
            truth.phi,
            truth.alpha,
            make_blocks(votes),
            ThreadEngine(1),
            sweeps=60,
            seed=seed,
        )
        squares.append(4 * score_distance(at, votes.user_weight) ** 2)
    assert abs(np.mean(squares) - 4) < 4 * np.sqrt(8 / 40)


def test_where_people_hold_one_component_each_scores_are_not_used():
    truth = planted(6, 2, 0.4, 0.04)
    votes = truth.sample(50, 10, seed=1).comparisons
    assert maximum(votes, truth).distances == ()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
def test_a_full_fit_ends_at_the_maximum():
    votes = repeated(1)
    model = mm.fit(votes, 2, predictor=False)
    assert short_of(votes, model.m4) < 2  # a standard error a parameter
    assert model.report.spectral is not None
    assert 0 < model.report.spectral.score_distances[-1] < 1
