"""Kernels whose draws can be counted, and rows that can be listed: rankings drawn anew, tokens of
part of an answer, proposals for two components, rows of pairs, what a posterior refuses.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

import mallowmix as mm
from mallowmix.engine import Block, make_blocks
from mallowmix.errors import OptionError
from mallowmix.infer import population_leaderboard
from mallowmix.infer.gibbs_draws import draw, weight_intervals
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.posterior.convergence import _row
from mallowmix.infer.posterior.posterior_chain import ChainLength
from mallowmix.infer.posterior.sample_posterior import _check, _Counter
from mallowmix.infer.posterior.split_moves import (
    _accepts,
    _fill_both,
    _log_prior,
    _propose_component,
    _two_components,
)
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.rankings_posterior import ranking_draws, rankings_probabilities
from mallowmix.learn.spectral.pair_rows import by_pair
from mallowmix.learn.spectral.ranking_null import _draw_pairs, redraw_rankings
from mallowmix.model.mallows import beta_matrix
from mallowmix.numerics.token_gibbs import (
    component_at,
    count_tokens,
    longest_run,
    pick_component,
    sweep_tokens,
    token_count,
    user_stream,
)


def _block(Q, pairs, weight=None, user_weight=None, ids=None):
    starts = np.cumsum([0, *map(len, pairs)])
    codes = np.concatenate([np.asarray(each, np.int32) for each in pairs])
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, float)
    users = np.ones(len(pairs)) if user_weight is None else np.asarray(user_weight, float)
    return Block(0, Q, starts, codes, weight, users, ids)


# ---- rankings drawn anew ----


def test_a_pair_drawn_anew_is_won_by_the_logistic_of_the_scores():
    scores, M = np.array([0.5, 0.0, -0.4]), 3000
    pair = np.full(M, 0 * 3 + 1, np.int32)
    found = _draw_pairs(np.arange(M + 1), pair, np.full(M, -1, np.int32), scores, 0, np.uint64(3))
    assert set(found.tolist()) == {0 * 3 + 1, 1 * 3 + 0}
    assert np.mean(found == 1) == pytest.approx(1 / (1 + np.exp(-0.5)), abs=0.045)


def test_pairs_of_one_ranking_drawn_anew_agree_and_others_need_not():
    """Three pairs of three items: a circle is never drawn within one ranking."""
    scores, pairs, M = np.zeros(3), [[1, 2, 5]], 200
    rows = np.tile(pairs[0], M).astype(np.int32)
    starts = 3 * np.arange(M + 1)

    def circles(ids):
        out = _draw_pairs(starts, rows, ids, scores, 0, np.uint64(1)).reshape(M, 3)
        ab, ac, bc = (out == [1, 2, 5]).T
        return np.sum((ab & bc & ~ac) | (~ab & ~bc & ac))

    assert circles(np.zeros(3 * M, np.int32)) == 0
    assert 20 < circles(np.full(3 * M, -1, np.int32)) < 85  # a quarter
    assert 20 < circles(np.tile([0, 1, 2], M).astype(np.int32)) < 85
    block = _block(3, [[1, 2, 5], [5]], [1.0, 2.0, 3.0, 4.0], ids=np.array([0, 0, 0, 1], np.int32))
    (again,) = redraw_rankings([block], scores, 2)
    assert again.starts.tolist() == block.starts.tolist()
    for m in range(2):
        own = slice(block.starts[m], block.starts[m + 1])
        assert np.all(np.diff(again.pair[own]) > 0)
        items = {frozenset(divmod(int(code), 3)) for code in again.pair[own]}
        assert items == {frozenset(divmod(int(code), 3)) for code in block.pair[own]}
        assert sorted(again.weight[own]) == sorted(block.weight[own])


# ---- tokens ----


def test_a_component_is_picked_by_both_factors():
    p = np.empty(3)
    beta, share = np.array([0.5, 0.2, 0.9]), np.array([1.0, 2.0, 0.5])
    edges = np.cumsum(beta * share) / (beta @ share)
    for u in (0.0, 0.3, 0.5, 0.7, 0.99):
        expected = int(np.searchsorted(edges, u, side="right"))
        assert pick_component(beta, share, u, p) == expected
        assert component_at(beta * share, beta @ share, u) == expected
    assert p == pytest.approx(np.cumsum(beta * share))


def test_a_sweep_takes_a_token_out_and_puts_it_back():
    """Rows of 2.5 and of 0.5 tokens, each of which counts 0.4."""
    codes, weight, beta = np.array([1, 0]), np.array([2.5, 0.5]), np.array([[0.9, 0.2], [0.3, 0.6]])
    alpha, pieces = np.array([0.7, 1.4]), 0.4 * np.array([1.0, 1.0, 0.5, 0.5])
    z, p, state = np.zeros(4, np.int64), np.empty(2), np.uint64(5)
    n = alpha.copy()
    first = sweep_tokens(codes, weight, 0.4, beta, n, True, z, n, p, state)
    assert n == pytest.approx(alpha + np.bincount(z, pieces, 2))
    for _ in range(5):
        first = sweep_tokens(codes, weight, 0.4, beta, n, False, z, n, p, np.uint64(first))
        assert n == pytest.approx(alpha + np.bincount(z, pieces, 2))
    counted = alpha.copy()
    count_tokens(weight, 0.4, z, counted)
    assert counted == pytest.approx(n) and token_count(weight) == 4
    sure, now = np.array([[1.0, 0.0], [0.0, 1.0]]), alpha.copy()
    sweep_tokens(codes, weight, 1.0, sure, now, True, z, now, p, state)
    assert z.tolist() == [1, 1, 1, 0]
    assert longest_run(np.array([0, 2, 2, 7, 8])) == 5 and longest_run(np.array([0])) == 0


def test_streams_of_users_steps_and_draws_are_their_own():
    states = {
        int(user_stream(np.uint64(key), user, step, draw))
        for key in range(3) for user in range(4) for step in range(3) for draw in range(4)
    }  # fmt: skip
    assert len(states) == 3 * 4 * 3 * 4


# ---- proposals for two components ----


def test_kinds_of_proposals_for_two_components():
    """A tenth each for α and φ, a fifth exchanges positions, the rest inserts."""
    phi_prior, reference = np.array([2.0, 3.0]), np.arange(5)
    priors, widths = (reference, 0.0, phi_prior), np.array([2.0, 0.5, 0.3])
    start = np.array([[0, 1, 2, 3, 4], [4, 2, 0, 1, 3]])

    def proposed(kind, state):
        sigma, phi = start.copy(), np.array([0.4, 0.6])
        _, ratio = _propose_component(np.uint64(state), kind, 1, sigma, phi, priors, widths)
        return sigma, phi, ratio

    for kind in (0.1, 0.19):
        sigma, phi, ratio = proposed(kind, 3)
        assert sigma.tolist() == start.tolist() and phi[0] == 0.4 and phi[1] != 0.6
        expected = 2 * np.log(phi[1] / 0.6) + 3 * np.log((1 - phi[1]) / 0.4)
        assert ratio == pytest.approx(expected)
    exchanged, inserted = 0, 0
    for state in range(30):
        sigma, phi, ratio = proposed(0.39, state)
        assert phi.tolist() == [0.4, 0.6] and ratio == 0.0
        exchanged += sigma[0].tolist() != start[0].tolist()
        sigma, phi, ratio = proposed(0.41, state)
        assert sigma[0].tolist() == start[0].tolist() and ratio in (0.0, -np.inf)
        inserted += sigma[1].tolist() != start[1].tolist()
        assert np.sort(sigma, axis=1).tolist() == [list(range(5))] * 2
    assert exchanged > 15 and inserted > 15


def test_the_prior_of_two_alphas_and_what_is_accepted():
    alpha, prior = np.array([0.5, 3.0]), np.array([0.2, 1.5])
    found = _log_prior(alpha, prior) - _log_prior(np.ones(2), prior)
    expected = norm(0.2, 1.5).logpdf(np.log(alpha)).sum() - 2 * norm(0.2, 1.5).logpdf(0)
    assert found == pytest.approx(expected)
    taken = [_accepts(np.uint64(n * 7919), np.log(0.3))[1] for n in range(2000)]
    assert np.mean(taken) == pytest.approx(0.3, abs=0.05)
    assert all(_accepts(np.uint64(n), 0.1)[1] for n in range(50))


def test_two_components_begin_with_their_own_tables_and_evidence():
    sigma, phi, alpha = np.array([[0, 1, 2], [2, 1, 0]]), np.array([0.3, 0.6]), np.array([0.8, 1.1])
    both = np.empty((2, 9))
    _fill_both(sigma, phi, both)
    for row, s, p in zip(both, sigma, phi, strict=True):
        assert row.reshape(3, 3) == pytest.approx(beta_matrix(s, p))
    rows = np.array([0, 1, 1]), np.array([1]), np.ones(1), np.array([1, 0])
    theta, beta = np.array([[0.5, 0.3, 0.2]] * 2), np.full((9, 3), 0.5)
    *_, found, ratios, evidence = _two_components((rows, theta, beta, 0, 2), sigma, phi, alpha)
    assert found == pytest.approx(both) and ratios.shape == (2, 2)
    mean = alpha / alpha.sum()  # of the split
    p = 0.3 * 0.5 + 0.7 * (mean @ both[:, 1])
    assert evidence == pytest.approx([np.log(p), 0.0])


# ---- users' rankings ----


def test_probabilities_of_pairs_are_shares_of_drawn_rankings_seen_through_errors():
    model = mm.RankingsModel([[0, 1, 2]], [0.5], [1.0], 0.2, list("abc"))
    block = _block(3, [[5, 5, 3]] * 1)
    codes = np.array([0 * 3 + 1, 1 * 3 + 2, 2 * 3 + 0, 1 * 3 + 0])
    found = rankings_probabilities(block, model, Queries.same_for_all(1, codes))
    draws = ranking_draws(block, model, 4000)[0]
    above = [(draws[:, code // 3] < draws[:, code % 3]).mean() for code in codes]
    assert found == pytest.approx(0.2 + 0.6 * np.array(above), abs=0.08)
    assert found[0] + found[3] == pytest.approx(1)


def test_intervals_of_weights_are_quantiles_of_draws():
    model = mm.M4.from_orders(["abc", "cba"], 0.3, [0.6, 0.9])
    votes = mm.read_comparisons([("u", "a", "b"), ("v", "c", "b"), ("v", "c", "a")])
    found = weight_intervals(model, votes, level=0.8, n_draws=200, seed=4)
    assert found.mean == pytest.approx(mm.weights(model, votes).theta)
    block = make_blocks(votes.with_items(model.items))[0]
    draws = draw(block, prepare(model), 200, np.uint64(4))[0]
    assert found.low[0] == pytest.approx(np.quantile(draws, 0.1, axis=0))
    assert found.high[0] == pytest.approx(np.quantile(draws, 0.9, axis=0))


# ---- rows of pairs ----


@pytest.mark.parametrize("halves", [False, True])
def test_rows_by_pair_are_all_rows_once(halves):
    block = _block(3, [[1, 6], [3, 1, 5], [2]], [1.0, 2.0, 0.5, 3.0, 1.5, 4.0], [1.0, 2.0, 0.5])
    found = by_pair([block], halves=halves)
    listed = []
    for part in found:
        for s, code in enumerate(part.codes):
            for row in range(part.starts[s], part.starts[s + 1]):
                number = part.first + s // 2
                listed.append((number, int(code), int(part.user[row]), float(part.weight[row])))
    pairs, expected = {(0, 1): 0, (0, 2): 1, (1, 2): 2}, []
    for m in range(3):
        for row in range(block.starts[m], block.starts[m + 1]):
            code = int(block.pair[row])
            number = pairs[tuple(sorted(divmod(code, 3)))] + 3 * (m % 2) * halves
            expected.append((number, code, m, float(block.weight[row] * block.user_weight[m])))
    assert sorted(listed) == sorted(expected)
    assert sum(len(part.codes) for part in found) == 6 * (1 + halves)
    assert [part.first for part in found] == sorted({part.first for part in found})


@pytest.mark.parametrize("halves", [False, True])
def test_rows_by_pair_are_the_same_on_any_number_of_threads(halves):
    model = mm.M4.from_orders(["abcd", "dbca"], 0.4, [1.0, 2.0])
    blocks = make_blocks(model.sample(60, np.arange(60) % 23, seed=3).comparisons)
    alone = by_pair(blocks, halves=halves)
    for n_jobs in (2, 3, 40):
        for part, other in zip(alone, by_pair(blocks, halves=halves, n_jobs=n_jobs), strict=True):
            for name in ("first", "codes", "starts", "user", "weight"):
                np.testing.assert_array_equal(getattr(part, name), getattr(other, name))


# ---- the posterior's edges ----


@pytest.mark.parametrize(
    "changed",
    [
        {"n_components": 0}, {"n_components": True}, {"n_components": 1.5}, {"n_components": 3},
        {"n_chains": 0}, {"n_warmup": -1}, {"n_draws": 0}, {"thin": 0}, {"max_users": 0},
        {"likelihood_weight": 0.0}, {"likelihood_weight": np.inf}, {"likelihood_weight": "1"},
    ],
)  # fmt: skip
def test_the_least_of_everything_is_taken_and_less_is_refused(changed):
    data = SimpleNamespace(user_weight=np.ones(2), n_items=2)
    least = {"n_components": 1, "n_chains": 1, "n_warmup": 0, "n_draws": 1, "thin": 1}
    least |= {"likelihood_weight": 1e-9, "max_users": 1}

    def check(n_components, n_chains, n_warmup, n_draws, thin, likelihood_weight, max_users):
        length = ChainLength(n_warmup, n_draws, thin)
        _check(data, n_components, n_chains, length, likelihood_weight, max_users)

    check(**least)
    with pytest.raises(OptionError) as refused:
        check(**least | changed)
    assert refused.value.option in changed


def test_steps_of_all_chains_are_counted():
    shown = []
    counter = _Counter(3, lambda *given: shown.append(given))
    for _ in range(3):
        counter.report()
    assert shown == [("posterior", n, 3) for n in (1, 2, 3)]


def test_the_worst_of_all_numbers_counts_and_those_that_never_change_do_not():
    given = []

    def rhat(draws):
        return draws[0, 0]

    def ess(draws, method, prob=None):
        given.append((method, prob))
        return 100 * draws[0, 0] if method == "bulk" else 10 * draws[0, 0]

    draws = np.zeros((2, 3, 3))
    draws[:, :, 0] = 9.0  # never changes
    draws[0, 0, 1:] = 1.2, 1.1
    found = _row(SimpleNamespace(rhat=rhat, ess=ess), "phi", draws)
    assert found.n_values == 3 and found.r_hat == 1.2 and found.by_label
    assert found.ess_bulk == pytest.approx(110) and found.ess_tail == pytest.approx(11)
    assert ("tail", (0.05, 0.95)) in given
    still = _row(SimpleNamespace(rhat=rhat, ess=ess), "win_rate", np.ones((2, 3, 2)))
    assert still.r_hat == 1.0 and np.isnan(still.ess_bulk) and not still.by_label


def test_position_bias_is_taken_out_of_items_that_the_model_has(monkeypatch):
    votes = mm.read_comparisons([("u", "a", "b"), ("v", "c", "b")])
    reading, model = SimpleNamespace(comparisons=votes), mm.M4.from_orders(["bax"], 0.4)
    monkeypatch.setattr(
        population_leaderboard, "side_correction", lambda _: np.array([0.1, -0.2, 0.4])
    )
    clear, not_clear = SimpleNamespace(clear=True), SimpleNamespace(clear=False)
    half, drop = (SimpleNamespace(treatment=name, share=0.25) for name in ("half", "drop"))
    correct = population_leaderboard._correction
    names = model.items.tolist()
    for ties, factor in ((half, 0.75), (drop, 1.0)):
        found = dict(zip(names, correct(reading, ties, clear, model), strict=True))
        assert found == pytest.approx({"a": 0.1 * factor, "b": -0.2 * factor, "x": 0.0})
    assert correct(reading, half, not_clear, model) is None
    assert correct(None, None, None, model) is correct(reading, half, None, model) is None
