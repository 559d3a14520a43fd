"""The population's win rates, matched to the wins that were seen: the offsets by an optimiser of
SciPy, each person's influence by finite differences, and what it is for, rankings of people who
hold one each.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import mallowmix as mm
from benchmarks import posterior_coverage as study
from mallowmix.infer.posterior.matched_win_rates import matched_win_rates
from mallowmix.infer.posterior.posterior_chain import ChainDraws
from mallowmix.infer.posterior.posterior_data import posterior_data
from tests.oracles import beta

SIGMA = np.array([[[0, 1, 2, 3], [2, 0, 3, 1]], [[1, 0, 2, 3], [3, 2, 1, 0]]], np.int16)
PHI, ALPHA = np.array([[0.3, 0.6], [0.4, 0.5]]), np.array([[0.5, 0.2], [0.4, 0.4]])
Q, M = 4, 12


def some_chain():
    """Two draws of two components; what does not matter here is empty."""
    nothing = np.empty(0)
    rest = dict.fromkeys(("theta", "log_likelihood", "evidence", "crowd", "crowd_phi"), nothing)
    return ChainDraws(sigma=SIGMA, phi=PHI, alpha=ALPHA, **rest)


def some_answers(seed=1):
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(M), 7)
    winner = random.integers(0, Q, len(user))
    loser = (winner + random.integers(1, Q, len(user))) % Q
    return mm.Comparisons.from_codes(
        user, winner, loser, None, list("abcd"), [f"{m:02d}" for m in range(M)]
    )


def population(d):
    """The share of the population that prefers i to j, by all rankings."""
    share = ALPHA[d] / ALPHA[d].sum()
    tables = [np.array(beta(tuple(map(int, SIGMA[d, k])), PHI[d, k]), float) for k in range(2)]
    return share[0] * tables[0] + share[1] * tables[1]


def rates_by_optimiser(wins, q):
    """The same model, fitted by SciPy: Σ w_ij log p_ij − |b|²/2."""
    off = ~np.eye(Q, dtype=bool)

    def p(b):
        return expit(logit(np.where(off, q, 0.5)) + b[:, None] - b)

    def cost(b):
        return -(wins[off] * np.log(p(b)[off])).sum() + (b**2).sum() / 2

    found = minimize(cost, np.zeros(Q), tol=1e-12)
    return (p(found.x).sum(axis=1) - 0.5) / (Q - 1)


def test_offsets_are_those_of_an_optimiser():
    data = some_answers()
    found = matched_win_rates(posterior_data(data, np.arange(M), 1.0), [some_chain()], 1.0)
    wins = np.zeros((Q, Q))
    np.add.at(wins, (data.winner, data.loser), data.weight)
    for d in range(2):
        exact = rates_by_optimiser(wins, population(d))
        np.testing.assert_allclose(found.draws[0, d], exact, atol=1e-6)


def test_the_likelihood_weight_takes_no_part():
    data, chain = some_answers(), [some_chain()]
    one = matched_win_rates(posterior_data(data, np.arange(M), 1.0), chain, 1.0)
    other = matched_win_rates(posterior_data(data, np.arange(M), 0.25), chain, 0.25)
    np.testing.assert_allclose(one.draws, other.draws, atol=1e-9)
    np.testing.assert_allclose(one.influence, other.influence, atol=1e-9)


def test_draws_are_matched_some_at_a_time(monkeypatch):
    """With little room: the same, but for the last digit."""
    rows = posterior_data(some_answers(), np.arange(M), 1.0)
    whole = matched_win_rates(rows, [some_chain()] * 3, 1.0)
    monkeypatch.setattr("mallowmix.infer.posterior.matched_win_rates._ROOM", 1)
    for one, other in zip(whole, matched_win_rates(rows, [some_chain()] * 3, 1.0), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_influence_is_the_derivative_in_the_weight_of_a_person():
    """At one draw, whose logits are their own mean."""
    chain = some_chain()
    chain = [chain._replace(sigma=SIGMA[:1], phi=PHI[:1], alpha=ALPHA[:1])]
    rows = posterior_data(some_answers(), np.arange(M), 1.0)
    found = matched_win_rates(rows, chain, 1.0)
    for m in (0, 5, 11):
        sides = []
        for step in (-1e-4, 1e-4):
            power = rows.power.copy()
            power[rows.starts[m] : rows.starts[m + 1]] *= 1 + step
            sides.append(matched_win_rates(rows._replace(power=power), chain, 1.0).draws[0, 0])
        np.testing.assert_allclose(
            found.influence[m], (sides[1] - sides[0]) / 2e-4, rtol=1e-4, atol=1e-7
        )


def test_every_item_wins_as_often_as_it_was_seen_to():
    """All pairs equally often, very many answers: the pull on offsets is nothing."""
    random = np.random.default_rng(0)
    first, second = np.triu_indices(Q, 1)
    share = random.uniform(0.2, 0.8, len(first))
    winner, loser = np.r_[first, second], np.r_[second, first]
    weight = 1e6 * np.r_[share, 1 - share]
    data = mm.Comparisons.from_codes(
        np.zeros(len(winner), int), winner, loser, weight, list("abcd"), ["u"]
    )
    rows = posterior_data(data, np.zeros(1, int), 1.0)
    found = matched_win_rates(rows, [some_chain()], 1.0).draws[0]
    seen = np.bincount(winner, weight, Q) / (3 * 1e6)
    np.testing.assert_allclose(found, np.tile(seen, (2, 1)), atol=1e-5)


@pytest.mark.slow
def test_win_rates_hold_where_people_are_not_as_the_model_says():
    """400 people with one ranking each; the largest of 8 errors exceeds 4 standard errors once in
    2,000 times. Standard errors are those of a win rate over people: near .3 / √400, and with
    ranks of 6 of 8 items a little more.
    """
    setting = study.Setting(M=400)
    data = study.rankings(setting, setting.M, seed=4)[0]
    sample = mm.sample_posterior(
        data, 2, n_chains=2, n_warmup=60, n_draws=30, thin=1, keep_theta=False, n_jobs=1
    )
    found, true = mm.posterior_intervals(sample).win_rate, study.win_rates(setting)
    error = (found.high - found.low) / (2 * 1.645)
    assert (error > 0.005).all() and (error < 0.02).all()
    assert (np.abs(found.estimate - true) < 4 * error).all()


def test_positions_follow_from_win_rates_that_move_together():
    """Two items of equal win rate may change places; far ones may not."""
    data = study.rankings(study.Setting(), 100, seed=2)[0]
    sample = mm.sample_posterior(data, 1, n_chains=2, n_warmup=10, n_draws=8, thin=1)
    board = mm.posterior_intervals(sample, 0.9).leaderboard
    assert (board.low <= board.estimate).all() and (board.estimate <= board.high).all()
    assert board.high[-1] == board.low[-1] == 7  # 11% of all, the next one 21%
    assert (board.high - board.low)[:4].max() >= 1  # 77, 75, 72 and 67%


def test_one_person_leaves_win_rates_unsure():
    """How people vary is unknown then: the width is at least half of that of M4's draws."""
    data = some_answers().take_users(np.arange(1))
    sample = mm.sample_posterior(data, 1, n_chains=2, n_warmup=20, n_draws=20, thin=1)
    found = mm.posterior_intervals(sample).win_rate
    own = sample.win_rate.reshape(-1, Q).std(axis=0)
    assert (found.high - found.low > own).all() and np.isfinite(found.high).all()
