"""Formulas of which a random change was not noticed: each against an oracle by definition.

They were found by `make mutants`; docs/quality.md has the list.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import roots_jacobi
from scipy.stats import dirichlet

import mallowmix as mm
import oracles
from mallowmix.assess.intervals import score_sums
from mallowmix.assess.intervals.interval_estimates import shortest_run
from mallowmix.engine import Block
from mallowmix.infer import pooled_ranking, population_leaderboard
from mallowmix.infer.assumed_density import log_marginal
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.gibbs_draws import own_state
from mallowmix.infer.heldout.left_to_right import _most, ancestors
from mallowmix.infer.pooled_ranking import TIED, position_ends
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors import discrete_prior
from mallowmix.infer.priors.vertex_prior import Draws, log_marginal_likelihood
from mallowmix.infer.user_results import Predictions
from mallowmix.learn.rankings.rankings_em import _m_step
from mallowmix.learn.rankings.rankings_pass import RankingsSums
from mallowmix.learn.spectral import estimator, refinement
from mallowmix.learn.spectral.fit_state import new_fit_state, some_of
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.utilities.utilities_em import _next
from mallowmix.learn.utilities.utilities_pass import UtilitiesParameters, UtilitiesSums
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import SpectralTrace
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.numerics.randomness import Step
from planted import blocks_of, error, planted


@pytest.mark.parametrize("few", [0, 10**9])
def test_positions_are_counts_of_larger_values(few, monkeypatch):
    """By both ways: all differences, and a kernel that needs the items in order."""
    monkeypatch.setattr(pooled_ranking, "_FEW_DIFFERENCES", few)
    rng = np.random.default_rng(3)
    values = rng.permuted(np.tile([0.9, 0.5, 0.5, 0.2, 0.1], (8, 1)), axis=1)
    found, gap = position_ends(values), TIED / 5
    for row, (first, last) in zip(values, found, strict=True):
        for n, value in enumerate(row):
            assert first[n] == 1 + sum(other - value >= gap for other in row)
            assert last[n] == sum(value - other < gap for other in row)


def test_the_m_step_of_personal_rankings():
    """φ gives the mean distance of all users and of two more at half the greatest distance."""
    Q, phi = 4, 0.37
    n_users, error = np.array([18.0, 0.5]), 0.1
    half = Q * (Q - 1) / 4
    total = oracles.expected_distance(Q, phi) * (n_users[0] + 2) - 2 * half
    above = np.triu(np.full((Q, Q), 10.0), 1)[::-1, ::-1]  # the last item is best
    sums = RankingsSums(
        n_users,
        np.stack([above, above]),
        np.array([total, 1.0]),
        error * (80 + 20) - 1,
        80.0,
    )
    before = RankingsModel([[0, 1, 2, 3]] * 2, [0.5, 0.6], [0.5, 0.5], 0.05, list("abcd"))
    after = _m_step(before, sums)
    assert after.sigma.tolist() == [[3, 2, 1, 0], [0, 1, 2, 3]]  # nobody holds the second
    assert after.phi == pytest.approx([phi, 0.6], abs=1e-6)
    assert after.error_rate == pytest.approx(error)
    assert after.shares == pytest.approx([19 / 20.5, 1.5 / 20.5])


def test_variances_of_utilities_are_pulled_to_the_common_one():
    """Where all items have the same variance, no pull changes it; else the least known go far."""
    Q, K = 4, 1
    n = np.array([1.0, 10.0, 100.0, 1000.0])

    def step(residuals):
        sums = UtilitiesSums(
            n[:, None, None] * np.eye(K),
            np.zeros((Q, K)),
            residuals,
            n,
            np.zeros((0, 0)),
            np.ones(K),
            1000.0,
            0.0,
        )
        now = UtilitiesParameters(np.zeros((K, Q)), np.zeros((Q, 0)), np.ones(Q), np.zeros(K))
        return _next(now, sums, 1.0, np.zeros(Q)).variances

    assert step(0.3 * n) == pytest.approx([0.3] * Q)
    own = np.array([0.8, 0.8, 0.2, 0.2])
    common = float((own * n).sum() / n.sum())
    share = (step(own * n) - common) / (own - common)  # of the way that is left
    assert np.all((share > 0) & (share < 1)) and np.all(np.diff(share) > 0)
    assert share == pytest.approx(n / (n + 20))  # as if 20 more users had the common one


@pytest.mark.parametrize(
    ("n_comparisons", "particles"), [(0, 65_536), (512, 8192), (1000, 4194), (10**6, 1024)]
)
def test_the_most_particles_are_two_to_the_22_over_comparisons(n_comparisons, particles):
    assert _most(n_comparisons) == particles


def test_rankings_say_of_how_many_items_and_users_they_are():
    model = mm.M4.from_orders(["abc", "cba"], 0.3, 0.4)
    found = mm.rank(model, model.sample(2, 5, seed=1).comparisons, n_draws=10)
    assert repr(found) == "Rankings of 3 items for 2 users"


def test_sums_of_scores_are_those_of_users_one_by_one(monkeypatch):
    """Two stretches of a chain: their cross product has no noise, the square of the mean has."""
    starts, row = np.arange(0, 25, 4), np.zeros(24)
    block = Block(0, 3, starts, row.astype(np.int32) + 1, row + 1, np.arange(1.0, 7.0), None)
    halves = np.random.default_rng(0).normal(size=(6, 2, 4))
    monkeypatch.setattr(score_sums, "block_scores", lambda *_: halves)
    (slope, cross, square, steps), _ = score_sums._sums(block, (None, 1.0, 500, 0), None)
    users = [(w, *halves[w - 1], halves[w - 1].mean(axis=0)) for w in range(1, 7)]
    assert slope == pytest.approx(sum(w * s for w, _, _, s in users))
    assert cross == pytest.approx(sum(w * np.outer(a, b) for w, a, b, _ in users))
    assert square == pytest.approx(sum(w * np.outer(s, s) for w, _, _, s in users))
    # Σ w (u − 1) s for u ~ Exp(1): mean 0, covariance Σ w² s sᵀ
    covariance = sum(w**2 * np.outer(s, s) for w, _, _, s in users)
    error = np.sqrt(np.diag(covariance) / 500)
    assert np.all(np.abs(steps.mean(axis=0)) < 5 * error)
    assert np.var(steps, axis=0) == pytest.approx(np.diag(covariance), rel=0.5)


@pytest.mark.parametrize("converged", [False, True])
@pytest.mark.parametrize("both", [False, True])
def test_a_subspace_that_has_not_converged_is_noted_where_nothing_follows(
    converged, both, monkeypatch
):
    votes = planted(6, 2, seed=1).sample(60, 15, seed=1).comparisons
    state = new_fit_state(votes, *blocks_of(votes), 0, None)
    found = estimator.leading_subspace

    def made(*given, **named):
        return found(*given, **named)._replace(converged=converged)

    monkeypatch.setattr(estimator, "leading_subspace", made)
    first, other = estimator._initialise(state, state, 2, "spa", both=both)
    assert first.name == "pairs" and other().name == "people"
    assert len(state.notes) == (not converged and not both)


def test_the_subspace_of_all_users_begins_at_that_of_the_first(monkeypatch):
    """It takes fewer passes so, and ends where it would from random vectors."""
    votes = planted(12, 3, seed=1).sample(900, 40, seed=1).comparisons
    state = new_fit_state(votes, *blocks_of(votes), 0, None)
    early = some_of(state, 6000, Step.EARLY_USERS)
    assert early is not state
    alone, passes = estimator._subspace(state, 3), []
    found = estimator.leading_subspace

    def made(A, *given, **named):
        passes.append(found(A, *given, **named))
        return passes[-1]

    monkeypatch.setattr(estimator, "leading_subspace", made)
    estimator._initialise(state, early, 3, "spa", both=True)
    assert state.subspace is early.subspace is passes[1] and early.trace == state.trace
    assert passes[1].passes < alone.passes
    assert passes[1].values[:2] == pytest.approx(alone.values[:2], rel=0.01)


def test_points_of_a_prior_come_from_everyone_with_a_comparison():
    model = mm.M4.from_orders(["abc", "cba"], 0.3, 0.4)
    pairs = np.array([1, 5, 6], np.int32)  # of two people; the one between them said nothing
    block = Block(0, 3, np.array([0, 1, 1, 3]), pairs, np.ones(3), np.ones(3), None)
    means = discrete_prior._posterior_means(block, prepare(model))
    assert means == pytest.approx(fold_in(block, prepare(model))[0][[0, 2]])


def test_draws_of_the_leaderboard_are_moved_to_the_predictors_win_rates():
    """The first draw stands for the estimate that they were drawn around."""
    rates = np.array([[0.6, 0.4, 0.5], [0.7, 0.4, 0.4], [0.5, 0.3, 0.7]])
    own = mm.UtilitiesModel([[1.0, 0.0, -1.0]], np.zeros((3, 0)), np.ones(3), [1.0], "abc")
    predictor = mm.Predictor((own,), np.ones((3, 1)), win_rate_draws=rates)
    model = mm.FittedModel(mm.M4.from_orders(["abc"], phi=0.5), predictor=predictor)
    found, draws = population_leaderboard._rates_and_draws(model)
    assert draws - found == pytest.approx(np.array([[0.1, 0.0, -0.1], [-0.1, -0.1, 0.2]]))
    assert found[0] > found[1] > found[2] and found.sum() == pytest.approx(1.5)


def test_unstable_components_are_numbered_from_one_by_their_shares():
    state = SimpleNamespace(trace=SpectralTrace(), unstable=(), notes=[])
    outcome = SimpleNamespace(alpha=np.array([0.2, 0.5, 0.3]))
    refinement._note_unstable(state, outcome, np.array([0.9, 0.0, 0.0]), np.array([0.0, 0.0, 0.01]))
    assert state.unstable == (3,) and len(state.notes) == 1
    assert state.trace.half_distances == (0.0, 0.0, 0.9)
    assert state.trace.optimum_distances == (0.0, 0.01, 0.0)


def test_random_numbers_of_a_user_depend_on_the_key_and_on_every_comparison():
    def state(key, rows):
        pair, weight = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        return int(own_state(np.uint64(key), pair, weight.astype(float)))

    single = [[(pair, weight)] for pair in range(60) for weight in (0.5, 1.0, 2.0)]
    double = [[(pair, 1.0), (other, 1.0)] for pair in range(8) for other in range(8)]
    states = [state(key, rows) for key in (0, 1) for rows in (*single, *double, [])]
    assert len(set(states)) == len(states)
    assert state(1, double[5]) == state(1, double[5])


def test_a_brief_fit_finds_a_planted_model():
    truth = planted(6, 2, 0.1, 0.1, seed=1)
    votes = truth.sample(150, 20, seed=1).comparisons
    found = estimator.fit_briefly(votes, 2, seed=0, engine=blocks_of(votes)[1])
    assert found.items.tolist() == votes.items.tolist() and error(found.m4, truth) < 0.05


def test_a_particle_has_copies_by_its_weight_and_the_last_what_rounding_lost():
    weights = np.array([0.5, 0.1, 0.25, 0.15])
    for state in range(50):
        source, _ = ancestors(weights, np.uint64(state * 7919))
        copies = np.bincount(source, minlength=4)
        assert np.all(np.abs(copies - 4 * weights) < 1) and np.all(source[copies > 0] >= 0)
        assert all(source[i] == i for i in range(4) if copies[i])  # survivors keep their numbers
        lost, _ = ancestors(0.9 * weights, np.uint64(state * 7919))
        assert np.bincount(lost, minlength=4).sum() == 4 and lost.max() < 4


def test_of_equally_short_intervals_the_nearest_to_the_estimate():
    draws = np.array([[0], [1], [5], [6]])
    for estimate, ends in ((0, (0, 1)), (6, (5, 6)), (4, (4, 6)), (2, (0, 2))):
        low, high = shortest_run(draws, np.array([estimate]), 0.5)
        assert (low[0], high[0]) == ends


@pytest.mark.parametrize("power", [0.2, 0.5, 1.0])
def test_the_evidence_of_a_part_of_an_answer(power):
    """E p^x of p = θ b_1 + (1 − θ) b_2, to the second order of p around its mean."""
    alpha, b = np.array([1.4, 0.8]), np.array([[0.7, 0.4]])
    x, weight = roots_jacobi(40, alpha[1] - 1, alpha[0] - 1)
    p, weight = b[0, 0] * (1 + x) / 2 + b[0, 1] * (1 - x) / 2, weight / weight.sum()
    mean = weight @ p
    variance = weight @ (p - mean) ** 2
    found = log_marginal(b, np.array([power]), alpha)
    second = power * np.log(mean) - np.log1p(power * (1 - power) / 2 * variance / mean**2)
    assert found == pytest.approx(second)
    assert found == pytest.approx(np.log(weight @ p**power), abs=1e-3)


def test_the_likelihood_of_a_prior_with_two_parts_is_their_mixture():
    """V Σ_k a_k p_k of people at vertices, and 1 − v of draws by their importance."""
    random = np.random.default_rng(6)
    theta, alpha, v = random.dirichlet([1, 1], (3, 5)), np.array([0.7, 1.6]), 0.3
    single, log_ratio = random.normal(-1, 0.3, (3, 2)), random.normal(-2, 0.3, (3, 5))
    weight = np.array([1.0, 2.0, 0.5])
    part = Draws(weight, single, np.log(theta), log_ratio)

    def definition(x):
        alpha, v = np.exp(x[:2]), 1 / (1 + np.exp(-x[2]))
        one = np.exp(single) @ (alpha / alpha.sum())
        density = [[dirichlet.pdf(point, alpha) for point in user] for user in theta]
        mixed = (np.exp(log_ratio) * density).sum(axis=1)
        return float(weight @ np.log(v * one + (1 - v) * mixed))

    at = np.array([*np.log(alpha), np.log(v / (1 - v))])
    value, gradient = log_marginal_likelihood(part, at)
    assert value == pytest.approx(definition(at))
    steps = 1e-6 * np.eye(3)
    slopes = [(definition(at + h) - definition(at - h)) / 2e-6 for h in steps]
    assert gradient == pytest.approx(slopes, rel=1e-5)


def test_a_model_has_its_components_by_share_and_notes_of_a_full_fit(monkeypatch):
    votes = planted(4, 2, seed=1).sample(20, 5, seed=1).comparisons
    state = new_fit_state(votes, *blocks_of(votes), 0, None)
    monkeypatch.setattr(estimator, "extreme_notes", lambda *_: ("extreme",))
    components = MallowsComponents(np.array([[0, 1, 2, 3], [3, 2, 1, 0]]), np.array([0.2, 0.4]))
    for refine, notes in (("full", ("extreme",)), ("short", ())):
        options = SpectralOptions(refine=refine)
        found = estimator.as_model(components, np.array([0.3, 0.9]), votes, state, options)
        assert found.report.notes == notes and found.m4.alpha.tolist() == [0.9, 0.3]
        assert found.m4.sigma[0].tolist() == [3, 2, 1, 0] and found.m4.phi.tolist() == [0.4, 0.2]


@pytest.mark.filterwarnings("error")
def test_modes_of_weights_converge_to_their_fixed_point():
    """θ ∝ α + Σ w r, r ∝ β θ, at which nothing moves any more."""
    model = mm.M4.from_orders(["abcd", "dbca"], 0.4, [1.6, 1.3])
    votes = model.sample(5, 12, seed=2).comparisons
    theta = mm.weights(model, votes, estimate="map", tol=1e-10).theta
    beta = prepare(model).beta[votes.winner * 4 + votes.loser]
    share = beta * theta[votes.user]
    share *= (votes.weight / share.sum(axis=1))[:, None]
    counts = prepare(model).alpha + np.stack(
        [np.bincount(votes.user, share[:, k], 5) for k in range(2)], axis=1
    )
    assert theta == pytest.approx(counts / counts.sum(axis=1, keepdims=True), abs=1e-6)


def test_predictions_show_a_row_for_each_of_the_first_users_and_pairs():
    pairs = (("a", "b"), ("c", "a"))
    few = Predictions(np.array(["ann", "bob"]), pairs, np.array([[0.25, 0.75], [0.5, 1.0]]))
    page = few._repr_html_()
    assert page.count("<tr>") == 1 + 4 and page.count("ann") == 2 and "25" in page
    many = Predictions(np.arange(99), pairs, np.full((99, 2), 0.5))
    assert 5 < many._repr_html_().count("<tr>") < 99


def test_win_rates_of_two_items_are_the_probability_of_their_pair():
    rates, draws = population_leaderboard._rates_and_draws(mm.M4.from_orders(["ab"], phi=0.25))
    assert rates == pytest.approx([0.8, 0.2]) and draws.tolist() == [rates.tolist()]
    many, _ = population_leaderboard._rates_and_draws(mm.M4.from_orders(["abcde"], phi=0.25))
    assert many.sum() == pytest.approx(5 / 2)  # of five, each against four others
