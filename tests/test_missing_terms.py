"""One term each that other tests would not miss: a sign, a guard, a plus one, a burn-in.

Each test fails when the term that it names is taken out of the formula.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.assess.groups import _moments
from mallowmix.assess.groups import _test as group_test
from mallowmix.assess.intervals.bootstrap_intervals import _moved
from mallowmix.assess.intervals.interval_estimates import Intervals
from mallowmix.assess.simulated_error import Simulated
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import FitError
from mallowmix.fitting.calibrate import _Search
from mallowmix.infer.heldout.heldout_options import LeftToRightOptions
from mallowmix.infer.heldout.heldout_scores import floored_beta
from mallowmix.infer.heldout.left_to_right import _two_runs, left_to_right
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.priors.dirichlet_prior import dirichlet_path
from mallowmix.learn.spectral import component_search
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.model.calibration import Calibration
from mallowmix.numerics.randomness import as_key
from mallowmix.peers.gom_chain import MembershipChain
from mallowmix.peers.mnl_tensor import MixtureOfMNL
from mallowmix.peers.sparse_choice import _subset
from mallowmix.peers.stages import make_stages
from planted import planted
from test_tables import tables_of


def test_intervals_subtract_the_bias_of_phi_and_widen_its_spread():
    eta = np.array([0.5, -0.5, 1.0, 0.0])
    steps = np.array([[0.1, -0.2, 0.3, 0.4], [0.0, 0.2, -0.1, 0.5]])
    found = _moved(eta, steps, Simulated(bias=0.3, error=0.0, widening=2.0), seed=0)
    np.testing.assert_allclose(found, [[0.4, -1.2, 1.3, 0.4], [0.2, -0.4, 0.9, 0.5]], atol=1e-12)


def test_the_ends_of_an_interval_are_the_replicates_of_rank_p_of_r_plus_one():
    """Of nine replicates at level .8: ranks .1 · 10 and .9 · 10, the first and the last."""
    draws = np.array([[3.0], [1.0], [2.0], [9.0], [4.0], [8.0], [5.0], [6.0], [7.0]])
    level = SimpleNamespace(level=0.8)
    assert Intervals._quantile(level, draws, -1)[0] == pytest.approx(1.0)
    assert Intervals._quantile(level, draws, 1)[0] == pytest.approx(9.0)


def test_a_permutation_p_value_counts_the_groups_as_they_are():
    """No permutation of 2 × 15 users separates them as well: p is 1 / (99 + 1), never 0."""
    group = np.repeat([0, 1], 15)
    first = np.where(group, 0.8, 0.2) + np.linspace(0, 0.1, 30)
    moments = _moments(np.c_[first, 1 - first], np.ones(30))
    assert group_test("age", 2, group, moments, 99, 0).p_value == pytest.approx(0.01)


def search(gains, n_users):
    """A search in which every other setting has these gains over the plain one."""
    found = object.__new__(_Search)
    found.n_users = n_users
    plain = Calibration()
    found.losses = lambda tried: np.zeros(len(gains)) if tried == plain else -np.asarray(gains)
    return found._better(plain, "prior_scale", (2.0,))


def test_a_calibration_must_gain_more_than_its_standard_error():
    """A mean gain of .01: with a spread of .02 over 9 users the standard error is .0067, with .2 it
    is .067. Splits of the same users do not count as users.
    """
    signs = np.tile([1.0, -1.0], 18)
    assert search(0.01 + 0.02 * signs, 9).prior_scale == 2.0
    assert search(0.01 + 0.2 * signs, 9).prior_scale == 1.0
    assert search(0.01 + 0.05 * signs, 36).prior_scale == 2.0
    assert search(0.01 + 0.05 * signs, 9).prior_scale == 1.0
    assert search(np.full(36, 0.0004), 9).prior_scale == 1.0, "less than half a thousandth of a nat"


def test_the_prior_is_averaged_after_the_burn_in():
    """A cycle does not depend on how many follow, so runs of 6 and 9 cycles share theirs."""
    truth = planted(5, 2, alpha=[0.3, 0.6], seed=1)
    blocks, engine = make_blocks(truth.sample(40, 8, seed=1).comparisons), ThreadEngine(1)
    short, long = (dirichlet_path(prepare(truth), blocks, engine, n, 0) for n in (6, 9))
    assert len(short) == 4 and len(long) == 6
    np.testing.assert_array_equal(short[1:], long[:3])


@pytest.mark.slow
def test_a_chain_of_one_component_has_the_posterior_of_its_items():
    """Uniform prior on the simplex, a beat b three times, b and c once each: by quadrature.

    6000 draws: means and spreads of log p have standard errors near .01 (as two seeds showed). The
    mean in the stead of the random time of a choice makes the spread .06 too small.
    """
    user, winner, loser = ["u"] * 3, ["a", "b", "c"], ["b", "c", "b"]
    votes = mm.Comparisons.from_arrays(user, winner, loser, [3, 1, 1])
    blocks = make_stages(votes, "here")
    about = {"shape": 1.0, "alpha": 1.0, "seed": 0, "number": 0}
    chain = MembershipChain(blocks, ThreadEngine(1), np.ones((1, 1)), 3, **about)
    chain.burn(200)
    drawn = chain.draw(6000, 1).scores[:, 0]
    x = (np.arange(300) + 0.5) / 300
    a, b = np.meshgrid(x, x, indexing="ij")
    c = np.maximum(1 - a - b, 1e-9)
    inside = a + b < 1
    weight = inside * (a / (a + b)) ** 3 * (b / (b + c)) * (c / (b + c))
    log_p = np.log(np.stack([a, b, c]))
    scores = log_p - log_p.mean(axis=0)
    expected = (weight * scores).sum(axis=(1, 2)) / weight.sum()
    spread = np.sqrt((weight * scores**2).sum(axis=(1, 2)) / weight.sum() - expected**2)
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.08)
    np.testing.assert_allclose(drawn.std(axis=0), spread, atol=0.04)


@pytest.mark.slow
def test_the_tensor_s_values_give_the_shares():
    """6000 users, three of four of one type: the share has a standard error near .01."""
    random = np.random.default_rng(0)
    scores = np.array([[2.0, 1.0, 0.0, -1.0], [-1.0, 2.0, 0.5, 1.0]])
    z = (random.random(6000) < 0.25).astype(int)
    i, j = np.triu_indices(4, 1)
    p = 1 / (1 + np.exp(scores[z][:, j] - scores[z][:, i]))  # (users, pairs)
    wins = random.random(p.shape) < p
    user = np.repeat(np.arange(6000), 6)
    winner, loser = np.where(wins, i, j).ravel(), np.where(wins, j, i).ravel()
    data = mm.Comparisons.from_codes(user, winner, loser, None, list("abcd"), range(6000))
    found = MixtureOfMNL().learnt(data, 2, 0)
    assert np.sort(found.components.share)[-1] == pytest.approx(0.75, abs=0.05)


def test_a_sum_of_weights_in_two_ways_is_refused():
    assert _subset(0.5, [0.3, 0.2], 1e-6) == (True, True)
    assert _subset(0.4, [0.3, 0.2], 1e-6) is None
    with pytest.raises(FitError):
        _subset(0.5, [0.3, 0.2, 0.5], 1e-6)


def test_two_runs_are_averaged_as_probabilities():
    """One particle: its two runs differ widely, and so does the mean of their logarithms."""
    truth = planted(5, 3, phi=0.1, alpha=[0.3, 0.5, 0.2], seed=1)
    votes = truth.sample(1, 30, seed=3).comparisons
    options = LeftToRightOptions(n_particles=1, max_particles=1, tol=1e9)
    found = left_to_right(truth, votes, options, seed=5)
    common = (1, floored_beta(truth), truth.alpha, 0, options.n_moves, as_key(5))
    ((a, b),) = _two_runs(make_blocks(votes)[0], common)
    assert abs(a - b) > 0.2
    expected = np.log((np.exp(a) + np.exp(b)) / 2)
    assert found.log_likelihood_per_comparison == pytest.approx(expected / 30)


def test_a_search_that_finds_worse_keeps_what_it_had(monkeypatch):
    truth = planted(5, 1, 0.3, seed=1)
    sample = truth.sample(80, 12, seed=1)
    tables = tables_of(sample.comparisons, truth.beta(), sample.theta)
    old = MallowsComponents(truth.sigma, truth.phi)
    monkeypatch.setattr(
        component_search, "insert_by_gap", lambda values, order, enough: order[::-1]
    )
    found = component_search.search_components(tables, old)
    np.testing.assert_array_equal(found.sigma, truth.sigma)
    monkeypatch.setattr(component_search, "best_phi", lambda *given: 0.999)
    found = component_search.search_components(tables, old)
    np.testing.assert_array_equal(found.phi, truth.phi)
