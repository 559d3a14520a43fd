"""The prior learnt from people: enumeration, quadrature, optimisation, planted populations."""

import math
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

import mallowmix as mm
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import DataError, FitWarning, OptionError
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors import dirichlet_prior as prior
from mallowmix.infer.priors.discrete_prior import DiscretePrior, lattice
from mallowmix.infer.priors.fitted_prior import KINDS, fit_prior
from mallowmix.infer.priors.vertex_prior import log_marginal_likelihood, make_draws
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import FittedModel
from mallowmix.numerics.randomness import as_key
from tests.oracles import log_marginal
from tests.planted import planted, tiny_population


def flat(model):
    """The model with a prior that knows nothing."""
    return replace(model, alpha=np.ones(model.n_components))


# ---- Dirichlet ----


@pytest.mark.slow
def test_sweeps_draw_the_components_of_tokens_from_their_posterior():
    """Mean tokens over 5000 cycles of one person against all 2⁵ assignments; s.d. of the mean near
    .02, so .12 is 6 of them.
    """
    model = planted(4, 2, phi=0.5, alpha=[0.3, 0.9], seed=1)
    words = [(0, 1), (0, 1), (2, 3), (1, 3), (3, 0)]
    votes = Comparisons.from_codes([0] * 5, *zip(*words, strict=True), None, model.items, ["u"])
    beta, total, expected = model.beta(), 0.0, np.zeros(2)
    for z in product(range(2), repeat=5):
        n = np.array([z.count(0), z.count(1)])
        p = math.prod(beta[k, i, j] for k, (i, j) in zip(z, words, strict=True))
        p *= math.prod(math.gamma(a + c) for a, c in zip(model.alpha, n, strict=True))
        total, expected = total + p, expected + p * n
    (block,), prepared = make_blocks(votes), prepare(model)
    z, found = np.full(5, -1, np.int16), np.zeros(2)
    for cycle in range(5000):
        data = (block.starts, block.pair, block.weight, prepared.beta, prepared.alpha, 1.0)
        found += prior._sweep(*data, z, 1, cycle, 0, as_key(0))[0] / 5000
    np.testing.assert_allclose(found, expected / total, atol=0.12)
    assert found.sum() == pytest.approx(5)


def test_moments_are_those_of_dirichlets():
    counts, alpha, weight = (
        np.array([[3.0, 0.0], [1.5, 2.0]]),
        np.array([0.4, 0.7]),
        np.array([1.0, 2.0]),
    )
    expected = np.zeros((3, 2))
    for n, w in zip(counts, weight, strict=True):
        g, g0 = alpha + n, sum(alpha + n)
        expected[0] += w * g / g0
        for k, j in product(range(2), repeat=2):
            expected[1 + k, j] += w * g[k] * (g[j] + (k == j)) / (g0 * (g0 + 1))
    np.testing.assert_allclose(prior._moments(counts, alpha, weight), expected)


@pytest.mark.slow
def test_a_planted_dirichlet_is_found():
    """1000 people: log α has a standard error near .07; a miss by .35 has a chance below 10⁻⁵."""
    truth = planted(12, 3, alpha=[0.2, 0.4, 0.8], seed=3)
    fitted = fit_prior(flat(truth), truth.sample(1000, 40, seed=1).comparisons, seed=0)
    np.testing.assert_allclose(np.log(fitted.alpha), np.log(truth.alpha), atol=0.35)
    assert np.array_equal(fitted.sigma, truth.sigma)
    assert fitted.calibration == Calibration()


@pytest.mark.slow
def test_the_fixed_point_maximises_the_likelihood_of_counts():
    random = np.random.default_rng(0)
    counts = np.array(
        [random.multinomial(20, theta) for theta in random.dirichlet([0.5, 1.0, 2.0], 200)], float
    )
    chains = [prior.PriorChain(np.zeros(0, np.int16), counts, np.ones(200))]

    def loss(x):
        a = np.exp(x)
        terms = [math.lgamma(sum(a)) - math.lgamma(sum(a) + 20)] * 200
        terms += [
            math.lgamma(n + b) - math.lgamma(b)
            for row in counts
            for n, b in zip(row, a, strict=True)
        ]
        return -math.fsum(terms)

    alpha = np.ones(3)
    for _ in range(40):
        alpha = prior._moved(alpha, chains, ThreadEngine(1))
    np.testing.assert_allclose(alpha, np.exp(minimize(loss, np.zeros(3)).x), rtol=1e-3)


@pytest.mark.slow
def test_evidence_and_scale():
    """Every row twice with e = ½ says what each row once says, but in half tokens; α is then nearly
    the same.

    Not quite: two halves of a token may differ in their component. Without the evidence, α would be
    a third to a half of it.
    """
    truth = planted(8, 2, phi=0.1, alpha=[0.5, 1.0], seed=5)
    votes = truth.sample(300, 20, seed=2).comparisons
    twice = replace(votes, weight=2 * votes.weight)
    trusted = FittedModel(truth, calibration=Calibration(likelihood_weight=0.5, prior_scale=3.0))
    found = fit_prior(trusted, twice)
    assert found.calibration == Calibration(likelihood_weight=0.5)
    np.testing.assert_allclose(found.alpha, fit_prior(truth, votes).alpha, rtol=0.5)


@pytest.mark.slow
def test_members_get_priors_of_their_own():
    truth = planted(8, 2, alpha=[0.2, 0.6], seed=6)
    votes = truth.sample(200, 20, seed=2).comparisons
    other = replace(flat(truth), sigma=truth.sigma[::-1], phi=truth.phi[::-1])
    fitted = fit_prior(FittedModel(flat(truth), ensemble=Ensemble((other,))), votes, n_cycles=30)
    (member,) = fitted.ensemble
    np.testing.assert_allclose(member.alpha[::-1], fitted.alpha, rtol=0.3)
    assert fitted.calibration == Calibration()


# ---- vertices ----


@pytest.mark.slow
def test_shares_of_a_mixture_are_the_most_likely_ones():
    truth = planted(5, 2, phi=0.6, alpha=[1.0, 3.0], seed=2)
    votes = truth.sample(200, 5, seed=1, prior="vertices").comparisons
    beta = np.clip(truth.beta(), 1e-4, 1 - 1e-4)
    log_p = np.zeros((200, 2))
    for u, i, j, w in zip(votes.user, votes.winner, votes.loser, votes.weight, strict=True):
        log_p[u] += w * np.log(beta[:, i, j])
    both = [lambda a: np.log(a) + log_p[:, 0], lambda a: np.log1p(-a) + log_p[:, 1]]
    best = minimize_scalar(
        lambda a: -np.logaddexp(both[0](a), both[1](a)).sum(),
        bounds=(0.01, 0.99),
        options={"xatol": 1e-9},
    ).x
    fitted = fit_prior(flat(truth), votes, "vertices")
    assert fitted.share[0] == pytest.approx(best, abs=1e-4)
    assert fitted.calibration.vertex_share == 1
    assert fitted.alpha.sum() == pytest.approx(2)
    theta = mm.weights(fitted, votes)
    posterior = np.exp(log_p) * fitted.share
    np.testing.assert_allclose(theta, posterior / posterior.sum(axis=1, keepdims=True), atol=1e-9)


def test_people_count_by_their_weight():
    truth = planted(5, 2, phi=0.3, seed=2)
    votes = truth.sample(60, 5, seed=1, prior="vertices").comparisons
    ignored = replace(votes, user_weight=(np.arange(60) < 30).astype(float))
    alone = votes.take_users(range(30))
    a, b = (fit_prior(flat(truth), data, "vertices").share for data in (ignored, alone))
    np.testing.assert_allclose(a, b, atol=1e-7)


# ---- both ----


def both_parts():
    model = planted(5, 2, phi=0.4, alpha=[0.6, 0.9], seed=4)
    return model, model.sample(6, 8, seed=3).comparisons


@pytest.mark.slow
def test_the_likelihood_with_two_parts_matches_quadrature():
    """4000 draws a person; effective sizes near 1000, so a person's log p is off by .03 at most."""
    model, votes = both_parts()
    x = np.r_[np.log(model.alpha * 1.5), 0.7]
    draws = ThreadEngine(1).map(make_draws, make_blocks(votes), (prepare(model), 4000, as_key(0)))
    found = [log_marginal_likelihood(part, x)[0] for part in draws]
    v, alpha, beta = expit(0.7), model.alpha * 1.5, model.beta()
    for m in range(6):
        rows = np.flatnonzero(votes.user == m)
        single = np.exp(
            [
                votes.weight[rows] @ np.log(beta[k, votes.winner[rows], votes.loser[rows]])
                for k in range(2)
            ]
        )
        mixed = math.exp(log_marginal(replace(model, alpha=alpha), votes, m))
        assert found[m] == pytest.approx(
            math.log(v * single @ alpha / alpha.sum() + (1 - v) * mixed), abs=0.05
        )


def test_the_gradient_is_that_of_the_likelihood():
    model, votes = both_parts()
    draws = ThreadEngine(1).map(make_draws, make_blocks(votes), (prepare(model), 50, as_key(0)))
    x = np.array([-0.3, 0.4, 0.2])
    for part in draws:
        _, gradient = log_marginal_likelihood(part, x)
        steps = 1e-5 * np.eye(3)
        slope = [
            (log_marginal_likelihood(part, x + e)[0] - log_marginal_likelihood(part, x - e)[0])
            / 2e-5
            for e in steps
        ]
        np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("vertex", [0.0, 0.5, 1.0])
def test_a_planted_share_of_vertices_is_found(vertex):
    """500 people, half of whom hold one component: the share's standard error is near .03 (five of
    them allowed).
    """
    truth = planted(10, 3, phi=0.1, alpha=[0.5, 1.0, 1.0], seed=7)
    theta = truth.sample(500, 1, seed=1).theta
    theta[: int(500 * vertex)] = truth.sample(500, 1, seed=2, prior="vertices").theta[
        : int(500 * vertex)
    ]
    votes = truth.sample(500, 40, seed=3, prior=theta).comparisons
    fitted = fit_prior(flat(truth), votes, "both", n_cycles=12)
    assert fitted.calibration.vertex_share == pytest.approx(vertex, abs=0.15)
    np.testing.assert_allclose(fitted.share, theta.mean(axis=0), atol=0.06)
    if vertex < 1:
        np.testing.assert_allclose(np.log(fitted.alpha), np.log(truth.alpha), atol=0.6)


# ---- discrete ----


def test_the_lattice_has_every_point_once():
    points = lattice(3, 4)
    expected = {(a / 4, b / 4, (4 - a - b) / 4) for a in range(5) for b in range(5 - a)}
    assert len(points) == len(expected)
    assert set(map(tuple, points.tolist())) == expected
    assert lattice(1, 3).tolist() == [[1.0]]


@pytest.mark.slow
def test_the_discrete_prior_is_the_most_likely_one():
    """Against a general optimiser on the same eleven points, and its gap is a bound on what is
    lost.
    """
    truth = planted(6, 2, phi=0.2, seed=8)
    theta = np.array([[0.2, 0.8], [0.9, 0.1]])[np.arange(150) % 2]
    votes = truth.sample(150, 25, seed=1, prior=theta).comparisons
    fitted = fit_prior(truth, votes, "discrete", n_points=11)
    points, beta = lattice(2, 10), np.clip(truth.beta(), 1e-4, 1 - 1e-4)
    log_p = np.zeros((150, 11))
    for u, i, j, w in zip(votes.user, votes.winner, votes.loser, votes.weight, strict=True):
        log_p[u] += w * np.log(points @ beta[:, i, j])

    def mean_log(p):
        top = log_p.max(axis=1)
        return float(np.mean(np.log(np.exp(log_p - top[:, None]) @ p) + top))

    best = -minimize(lambda x: -mean_log(np.exp(x) / np.exp(x).sum()), np.zeros(11)).fun
    p = np.zeros(11)
    for point, value in zip(fitted.points, fitted.probabilities, strict=True):
        p[np.argmin(np.abs(points - point).sum(axis=1))] = value
    assert 0 <= fitted.gap <= 1e-3
    assert best - mean_log(p) <= fitted.gap + 1e-6
    # standard error near .01
    np.testing.assert_allclose(fitted.mean, theta.mean(axis=0), atol=0.05)
    posterior = np.exp(log_p - log_p.max(axis=1, keepdims=True)) * p
    expected = posterior / posterior.sum(axis=1, keepdims=True) @ points
    np.testing.assert_allclose(fitted.weights(truth, votes), expected, atol=1e-6)


@pytest.mark.slow
def test_many_components_take_points_from_people():
    truth = planted(8, 6, alpha=0.3, seed=9)
    votes = truth.sample(100, 20, seed=1).comparisons
    fitted = fit_prior(truth, votes, "discrete", n_points=60)
    assert len(fitted.points) <= 60
    assert fitted.points.shape[1] == 6
    assert fitted.gap <= 1e-3


def test_who_is_unknown_gets_the_mean():
    model = planted(4, 2, seed=1)
    found = DiscretePrior([[1, 0], [0.5, 0.5]], [0.4, 0.6])
    votes = Comparisons.from_codes([0], [0], [1], None, model.items, ["a", "b"])
    np.testing.assert_allclose(found.weights(model, votes)[1], [0.7, 0.3])


# ---- all kinds ----


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_the_order_of_rows_change_nothing(kind):
    model = planted(4, 2, seed=1)
    votes = tiny_population(3, M=40)
    model = replace(model, items=votes.items)
    back = slice(None, None, -1)
    turned = Comparisons.from_codes(
        votes.user[back],
        votes.winner[back],
        votes.loser[back],
        votes.weight[back],
        votes.items,
        range(40),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        one, two = (
            fit_prior(model, data, kind, n_cycles=6, seed=3, n_jobs=n_jobs)
            for data, n_jobs in ((votes, 1), (turned, 2))
        )
    if isinstance(one, DiscretePrior):
        assert np.array_equal(one.points, two.points)
        assert np.array_equal(one.probabilities, two.probabilities)
    else:
        assert one == two


def test_what_cannot_be_is_refused():
    model = planted(4, 2, seed=1)
    votes = replace(tiny_population(3), items=model.items)
    with pytest.raises(OptionError, match="kind is 'normal'; it must be one of 'dirichlet'"):
        fit_prior(model, votes, "normal")
    with pytest.raises(OptionError, match="fit the prior first, then calibrate"):
        fit_prior(FittedModel(model, calibration=Calibration(spam_share=0.1)), votes)
    with pytest.raises(DataError, match="Nobody has a comparison of the model's items that counts"):
        fit_prior(model, replace(votes, user_weight=np.zeros(votes.n_users)))
    with pytest.raises(DataError, match="must be at least 0 and sum to one"):
        DiscretePrior([[1, 0]], [0.5])
    with pytest.raises(DataError, match="over 3 components, the model has 2"):
        DiscretePrior([[1, 0, 0]], [1]).weights(model, votes)


def test_a_prior_that_has_not_converged_says_so():
    with pytest.warns(FitWarning, match="still moved after 12 cycles .* raise n_cycles"):
        prior.check_converged(np.linspace(0, 3, 8)[:, None])
