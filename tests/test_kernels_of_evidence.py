"""Kernels behind the probability of a user's comparisons, each against its definition: annealing,
importance sampling, draws of the prior with two parts, splits of two components, moves of α.
"""

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp, psi
from scipy.stats import dirichlet

from mallowmix.infer.heldout.annealing import (
    _kept,
    _move,
    _proposal,
    _step_up,
    log_likelihood,
    mixed,
    weighted_log,
)
from mallowmix.infer.heldout.importance import (
    _details,
    _fit,
    _log_beta,
    _log_mean,
    _sample,
    log_evidence,
)
from mallowmix.infer.posterior.alpha_moves import (
    _given_tokens,
    _given_weights,
    _log_target,
    log_weight_sums,
    normal_draw,
    tail_counts,
)
from mallowmix.infer.posterior.component_moves import (
    log_beta_density,
    total_log_likelihood,
    walk_on_logit,
)
from mallowmix.infer.posterior.split_evidence import (
    _coefficients,
    _concerned,
    all_evidence,
    answer_counts,
    beta_ratios,
    user_evidence,
)
from mallowmix.infer.posterior.weight_moves import draw_tokens, draw_user_weights, move_weights
from mallowmix.infer.priors.vertex_prior import _SCALES, _draw

BETA = np.array([[0.9, 0.2, 0.5], [0.3, 0.6, 0.8], [0.5, 0.95, 0.1], [0.25, 0.4, 0.7]])
CODE = np.array([0, 2, 1, 3, 0], np.int32)
WEIGHT = np.array([1.0, 0.5, 1.0, 2.0, 1.0])
ALPHA = np.array([0.8, 1.3, 0.6])


def test_logarithms_of_weighted_answers_share_products_without_underflow():
    random = np.random.default_rng(0)
    p = random.uniform(1e-4, 1e-3, 400)  # the product of all would be 10⁻¹³⁰⁰
    weight = np.where(random.random(400) < 0.2, 0.5, 1.0)
    assert weighted_log(p, weight) == pytest.approx(weight @ np.log(p), rel=1e-12)
    theta = np.array([0.2, 0.5, 0.3])
    assert mixed(theta, CODE, BETA) == pytest.approx(BETA[CODE] @ theta)
    found = log_likelihood(theta, CODE, WEIGHT, BETA)
    assert found == pytest.approx(WEIGHT @ np.log(BETA[CODE] @ theta))


def test_a_step_keeps_nine_tenths_of_the_particles():
    """The share (Σ W w)² / Σ W w² of w = exp(step · L), and the largest step that keeps so many."""
    random = np.random.default_rng(1)
    L, W = random.normal(-30, 4, 50), random.dirichlet(np.ones(50))

    def share(step):
        w = np.exp(step * L)
        return (W @ w) ** 2 / (W @ w**2)

    for step in (0.0, 0.05, 0.3):
        assert _kept(W, L, step) == pytest.approx(share(step))
    found = _step_up(W, L, 0.7)
    assert share(found) < 0.9 <= share(found / 1.01)
    assert _step_up(W, L, 0.01) == 0.01 and share(0.01) > 0.9  # no further than asked
    assert _step_up(np.full(2, 0.5), np.array([0.0, -1e9]), 1.0) > 0


def test_proposed_logits_swap_or_walk_by_steps_of_all_sizes():
    state, swapped, sizes, right = np.uint64(2), 0, [], 0
    for _ in range(3000):
        y, state = _proposal(0.7, np.uint64(state))
        if y == -0.7:
            swapped += 1
        else:
            sizes.append(abs(y - 0.7))
            right += y > 0.7
    assert swapped / 3000 == pytest.approx(0.2, abs=0.03)
    assert right / len(sizes) == pytest.approx(0.5, abs=0.05)
    assert 10 < max(sizes) <= 30 and min(sizes) < 0.01
    # |2v − 1| s with log s uniform from log 0.1 to log 30: E log = −1 + the middle
    middle = -1 + (np.log(0.1) + np.log(30)) / 2
    spread = np.sqrt(1 + np.log(300) ** 2 / 12)
    error = spread / np.sqrt(len(sizes))
    assert np.mean(np.log(sizes)) == pytest.approx(middle, abs=5 * error)
    assert np.std(np.log(sizes)) == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("power", [0.0, 0.6])
def test_moves_of_a_particle_leave_its_tempered_posterior_as_it_is(power):
    at = (np.arange(150) + 0.5) / 150
    grid = np.array([(u, v, 1 - u - v) for u in at for v in at if u + v < 1])
    alpha = np.array([1.2, 1.9, 1.4])
    density = np.prod(grid ** (alpha - 1), axis=1)
    density *= np.exp(power * np.log(grid @ BETA[CODE].T) @ WEIGHT)
    means = density @ grid / density.sum()
    state, log_theta, mean, n = np.uint64(4), np.log(means), np.zeros(3), 2500
    for _ in range(n):
        value, state = _move(log_theta, CODE, WEIGHT, BETA, alpha, power, np.uint64(state))
        theta = np.exp(log_theta)
        mean += theta / n
    assert theta.sum() == pytest.approx(1) and mean == pytest.approx(means, abs=0.025)
    assert value == pytest.approx(WEIGHT @ np.log(BETA[CODE] @ theta))


def test_the_proposal_of_importance_sampling_is_the_variational_fixed_point():
    gamma = _fit(CODE, WEIGHT, BETA, ALPHA)
    r = BETA[CODE] * np.exp(psi(gamma))
    r /= r.sum(axis=1, keepdims=True)
    assert gamma == pytest.approx(ALPHA + WEIGHT @ r, rel=1e-4)


def test_the_mean_of_four_densities_and_their_normaliser():
    c, d = np.array([1.0, -2.0, 0.5, 0.0]), -3.0
    terms = c + np.array([1.0, 0.25, 0.1, 0.0]) * d
    assert _log_mean(c, d) == pytest.approx(logsumexp(terms) - np.log(4))
    assert _log_mean(c, 900.0) == pytest.approx(1.0 + 900 - np.log(4))
    assert _log_beta(np.array([0.4, 2.0])) == pytest.approx(betaln(0.4, 2.0))


def test_a_sample_is_doubled_until_enough_of_it_is_effective():
    gamma = _fit(CODE, WEIGHT, BETA, ALPHA)
    given = CODE, WEIGHT, BETA, ALPHA, gamma
    at = (np.arange(200) + 0.5) / 200
    grid = np.array([(u, v, 1 - u - v) for u in at for v in at if u + v < 1])
    alpha = np.array([1.5, 1.3, 1.8])
    mass = dirichlet(alpha).pdf(grid.T) @ np.exp(np.log(grid @ BETA[CODE].T) @ WEIGHT) / 200**2
    shape = _fit(CODE, WEIGHT, BETA, alpha)
    value, variance, ess, made = _sample(
        CODE, WEIGHT, BETA, alpha, shape, 4000, 4000, 1.0, 0, np.uint64(7)
    )
    assert value == pytest.approx(np.log(mass), abs=0.05) and made == 4000
    assert 1000 < ess < 4000 and variance == pytest.approx(1 / ess - 1 / 4000)
    for least, most, expected in ((1.0, 999, 10), (1e9, 85, 85), (1e9, 80, 80), (30.0, 9999, 40)):
        _, _, ess, made = _sample(*given, 10, most, least, 0, np.uint64(7))
        assert made == expected and (ess >= least or made == most)
    other = [_sample(*given, 10, 10, 1.0, user, np.uint64(7))[0] for user in (0, 1)]
    assert other[0] != other[1]  # everybody has a stream of their own


def test_evidence_of_users_is_annealed_only_where_draws_do_not_suffice():
    starts, key = np.array([0, 5, 5, 7]), np.uint64(3)
    pair, weight = np.r_[CODE, CODE[:2]], np.r_[WEIGHT, WEIGHT[:2]]
    data = starts, pair, weight, BETA, ALPHA
    sampled = log_evidence(*data, 2000, 2000, 10.0, 50, 4, key)
    gamma = _fit(CODE, WEIGHT, BETA, ALPHA)
    own = _sample(CODE, WEIGHT, BETA, ALPHA, gamma, 2000, 2000, 10.0, 4, key)
    assert sampled[0] == pytest.approx(own) and sampled[1].tolist() == [0.0] * 4
    annealed = log_evidence(*data, 2000, 2000, 1e9, 400, 4, key)
    assert annealed[:, 2:].tolist() == sampled[:, 2:].tolist()
    assert annealed[:, 0] == pytest.approx(sampled[:, 0], abs=0.15)
    assert np.all(annealed[[0, 2], 0] != sampled[[0, 2], 0])
    assert np.all((annealed[:, 1] < 0.01) & (annealed[:, 1] >= 0))


def test_details_tell_sampled_users_from_annealed_ones():
    found = np.array(
        [[-3.0, 0.01, 50.0, 100.0], [-2.0, 0.02, 20.0, 200.0], [-9.0, 0.06, 4.0, 400.0]]
    )
    assert _details(found, 10.0, 20.0) == {
        "draws": 400,
        "least_ess": 20.0,
        "median_ess": 35.0,
        "annealed": 1,
        "monte_carlo_error": pytest.approx(0.03),
    }
    assert _details(found, 10.0, 90.0)["least_ess"] is None


def test_draws_of_a_prior_have_the_ratio_of_the_likelihood_to_their_density():
    """They come from the mean of Dirichlets α + s (γ − α)⁺, and of the uniform one."""
    starts, e, S = np.array([0, 5, 5]), 0.7, 60
    gamma = np.array([[1.5, 1.2, 3.0], [0.8, 1.3, 0.6]])
    single, log_theta, log_ratio = _draw(
        starts, CODE, WEIGHT, BETA, ALPHA, e, gamma, S, 0, np.uint64(5)
    )
    assert single[0] == pytest.approx(e * WEIGHT @ np.log(BETA[CODE]))
    assert single[1].tolist() == [0.0, 0.0, 0.0]
    theta = np.exp(log_theta)
    assert theta.sum(axis=2) == pytest.approx(np.ones((2, S)))
    for m, rows in enumerate((slice(0, 5), slice(0, 0))):
        shapes = [ALPHA + s * np.maximum(gamma[m] - ALPHA, 0) for s in _SCALES] + [np.ones(3)]
        for s in range(0, S, 7):
            point = theta[m, s] / theta[m, s].sum()
            q = np.mean([dirichlet.pdf(point, shape) for shape in shapes])
            log_p = e * WEIGHT[rows] @ np.log(BETA[CODE[rows]] @ theta[m, s])
            assert log_ratio[m, s] == pytest.approx(log_p - np.log(q) - np.log(S))
    later = _draw(starts[1:], CODE, WEIGHT, BETA, ALPHA, e, gamma[1:], S, 1, np.uint64(5))
    assert later[1][0] == pytest.approx(log_theta[1])  # a user's draws are theirs in any block


def test_ratios_of_beta_functions_by_the_number_of_answers():
    first, second = 0.7, 1.9
    ratios = beta_ratios(np.array([4, 0, 2, 4]), first, second)
    assert ratios.shape == (5, 5) and not ratios[[1, 3]].any()
    for n in (0, 2, 4):
        t = np.arange(n + 1)
        expected = np.exp(betaln(first + t, second + n - t) - betaln(first, second))
        assert ratios[n, : n + 1] == pytest.approx(expected)
        assert not ratios[n, n + 1 :].any()


def test_the_evidence_of_a_split_is_an_integral_over_it():
    """Of answers given more than once, with a third component and with many factors."""
    power, theta = np.array([1.0, 2.0, 1.0, 0.0, 3.0]), np.array([0.3, 0.5, 0.2])
    left, right, alpha = BETA[:, 0].copy(), BETA[:, 2].copy(), (0.8, 0.6)
    x, mass = np.polynomial.legendre.leggauss(40)
    r = (1 + x) / 2
    base = theta[1] * BETA[CODE, 1][:, None]
    p = base + 0.5 * (np.outer(left[CODE], r) + np.outer(right[CODE], 1 - r))
    c = np.empty(8)
    log_factor = _coefficients(CODE, power, theta, BETA, 0, 2, left, right, c)
    t = np.arange(8)[:, None]
    polynomial = (c[:, None] * r**t * (1 - r) ** (7 - t)).sum(axis=0) * np.exp(log_factor)
    assert polynomial == pytest.approx(np.prod(p ** power[:, None], axis=0))
    found = user_evidence(
        CODE, power, theta, BETA, 0, 2, left, right, beta_ratios(np.array([7]), *alpha)[7], c
    )
    substituted = r**2 * (3 - 2 * r)  # flat at both ends, where the density is infinite
    p = base + 0.5 * (np.outer(left[CODE], substituted) + np.outer(right[CODE], 1 - substituted))
    density = substituted ** (alpha[0] - 1) * (1 - substituted) ** (alpha[1] - 1)
    integrand = density * 6 * r * (1 - r) * np.prod(p ** power[:, None], axis=0)
    integral = mass @ integrand / 2 / np.exp(betaln(*alpha))
    assert found == pytest.approx(np.log(integral), abs=1e-3)
    many, c = np.full(5, 90.0), np.empty(451)
    assert np.isfinite(
        _coefficients(CODE, many, theta, 1e-3 * BETA, 0, 2, left * 1e-3, right * 1e-3, c)
    )


def test_only_users_who_are_concerned_have_new_evidence():
    starts, pair, power = np.array([0, 2, 3, 3]), np.array([0, 1, 2], np.int32), np.ones(3)
    counts = answer_counts(starts, np.array([1.0, 3.0, 2.0]))
    assert counts.tolist() == [4, 2, 0]
    rows = starts, pair, power, answer_counts(starts, power)
    theta, ratios = np.tile([0.3, 0.5, 0.2], (3, 1)), beta_ratios(rows[3], 0.8, 0.6)
    old = np.ascontiguousarray(BETA[:, [0, 2]].T)
    new = old.copy()
    new[1, 2] = 0.77  # a pair of the second user
    before, out = np.array([9.0, -2.0, 5.0]), np.empty(3)

    def own(m):
        n = rows[3][m]
        rest = theta[m], BETA, 0, 2, new[0], new[1], ratios[n, : n + 1], np.empty(n + 1)
        return user_evidence(pair[starts[m] : starts[m + 1]], power[: int(n)], *rest)

    change = all_evidence(rows, theta, BETA, 0, 2, new, old, False, ratios, before, out)
    assert out.tolist() == [9.0, own(1), 5.0] and change == pytest.approx(own(1) + 2)
    change = all_evidence(rows, theta, BETA, 0, 2, new, old, True, ratios, before, out)
    assert out == pytest.approx([own(0), own(1), 0.0]) and change == pytest.approx(out.sum() - 12)
    assert not _concerned(pair[:2], old[0], new[0], old[1], new[1])
    assert _concerned(pair[2:], old[0], new[0], old[1], new[1])
    assert _concerned(pair[2:], old[1], new[1], old[0], new[0])


def test_the_posterior_of_alpha_given_tokens_and_given_weights():
    tokens, alpha = np.array([[2.0, 0.0, 3.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), ALPHA
    tails = tail_counts(tokens)
    for s in range(6):
        assert tails[:3, s].tolist() == (tokens > s).sum(axis=0).tolist()
        assert tails[3, s] == (tokens.sum(axis=1) > s).sum()
    total, n = alpha.sum(), tokens.sum(axis=1)
    expected = (gammaln(total) - gammaln(total + n)).sum()
    expected += (gammaln(alpha + tokens) - gammaln(alpha)).sum()
    assert _given_tokens(alpha, tails) == pytest.approx(expected)
    theta = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    sums = log_weight_sums(theta)
    assert sums == pytest.approx([*np.log(theta).sum(axis=0), 2])
    assert np.isfinite(log_weight_sums(np.array([[0.0, 1.0]]))).all()
    density = sum(dirichlet.logpdf(row, alpha) for row in theta)
    assert _given_weights(alpha, sums) == pytest.approx(density)
    prior = -0.5 * (((np.log(alpha) - 0.3) / 1.7) ** 2).sum()
    assert _log_target(alpha, tails, sums, True, 0.3, 1.7) == pytest.approx(expected + prior)
    assert _log_target(alpha, tails, sums, False, 0.3, 1.7) == pytest.approx(density + prior)


def test_walks_are_normal_and_stay_inside():
    state, draws, steps = np.uint64(8), [], []
    for _ in range(2000):
        state, x = normal_draw(np.uint64(state))
        draws.append(x)
        state, phi = walk_on_logit(np.uint64(state), 0.3, 0.5)
        steps.append(np.log(phi / (1 - phi)) - np.log(0.3 / 0.7))
    for sample, spread in ((draws, 1.0), (steps, 0.5)):
        assert np.mean(sample) == pytest.approx(0, abs=5 * spread / np.sqrt(2000))
        assert np.std(sample) == pytest.approx(spread, rel=0.1)
        assert np.mean(np.abs(sample) > 2 * spread) == pytest.approx(0.0455, abs=0.025)
    ends = [walk_on_logit(np.uint64(n), 0.5, 1e4)[1] for n in range(20)]
    assert 0 < min(ends) < 1e-9 and 1 - 1e-9 < max(ends) < 1


def test_the_density_of_a_logit_and_the_likelihood_of_all_rows():
    """Beta(a, b) times the slope φ (1 − φ) of the logit."""
    prior = np.array([2.5, 1.5])
    change = log_beta_density(0.7, prior) - log_beta_density(0.2, prior)
    expected = 2.5 * np.log(0.7 / 0.2) + 1.5 * np.log(0.3 / 0.8)
    assert change == pytest.approx(expected)
    starts, theta = np.array([0, 3, 5]), np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    p = (BETA[CODE] * theta[[0, 0, 0, 1, 1]]).sum(axis=1)
    found = total_log_likelihood(starts, CODE, WEIGHT, theta, BETA)
    assert found == pytest.approx(WEIGHT @ np.log(p))


def test_tokens_of_users_are_drawn_from_their_posterior():
    """One answer of one user, twice: the components of both tokens, with θ left out."""
    M, alpha, b = 4000, np.array([0.7, 1.4]), np.array([[0.8, 0.3]])
    starts, pair, power = np.arange(M + 1), np.zeros(M, np.int32), np.full(M, 2.0)
    theta = np.tile([0.5, 0.5], (M, 1))
    tokens = draw_tokens(starts, pair, power, b, alpha, theta, 6, np.uint64(1), 0)
    assert np.all(tokens.sum(axis=1) == 2)
    found = [np.mean(tokens[:, 0] == n) for n in range(3)]
    law = np.array([1.4 * 2.4 * 0.3**2, 2 * 0.7 * 1.4 * 0.8 * 0.3, 0.7 * 1.7 * 0.8**2])
    assert found == pytest.approx(law / law.sum(), abs=0.04)
    none = draw_tokens(starts, pair, power, b, alpha, theta, 0, np.uint64(1), 0)
    assert none[:, 0].mean() / 2 == pytest.approx(0.8 / 1.1, abs=0.04)  # given θ


def test_weights_of_users_follow_their_tokens_or_the_prior():
    M, alpha = 3000, np.array([0.7, 1.4])
    theta, tokens = np.empty((M, 2)), np.tile([3.0, 1.0], (M, 1))
    draw_user_weights(tokens, alpha, theta, np.uint64(2), 0)
    assert theta.sum(axis=1) == pytest.approx(np.ones(M))
    assert theta[:, 0].mean() == pytest.approx(3.7 / 6.1, abs=0.02)
    silent = np.zeros(M + 1, np.int64)
    none = np.zeros(0, np.int32), np.zeros(0)
    move_weights(silent, *none, BETA[:, :2].copy(), alpha, theta, np.uint64(2), 0)
    assert theta[:, 0].mean() == pytest.approx(1 / 3, abs=0.03)
    assert theta[:, 0].var() == pytest.approx(2 / 9 / 3.1, rel=0.1)
    starts = np.arange(2)
    one = np.array([[0.25, 0.75]])
    for step in range(30):
        data = starts, np.zeros(1, np.int32), np.array([0.5]), BETA[:, :2].copy()
        move_weights(*data, alpha, one, np.uint64(2), step)
        assert one.sum() == pytest.approx(1) and one.min() > 0
