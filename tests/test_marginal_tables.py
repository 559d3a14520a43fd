"""Tables of the marginal likelihood, and the cycles that climb it, where users say little."""

from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import Block, ThreadEngine, make_blocks
from mallowmix.learn.spectral import marginal_ascent, refinement
from mallowmix.learn.spectral.component_search import (
    Searched,
    search_with_gain,
    with_best_phi,
)
from mallowmix.learn.spectral.gibbs_sweep import swept_chains
from mallowmix.learn.spectral.large_data import AVERAGED, SWEEPS, tabulate_all_users
from mallowmix.learn.spectral.likelihood_tables import NODES
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.marginal_ascent import (
    LITTLE,
    ascend_marginal,
    marginal_half_distances,
    say_little,
)
from mallowmix.learn.spectral.marginal_tables import _ratios, _slots, marginal_tables
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo
from mallowmix.learn.spectral.stability import both_halves, half_distances
from mallowmix.learn.spectral.user_scores import maximise_likelihood
from mallowmix.model import least_beta
from mallowmix.numerics.randomness import as_key
from mallowmix.numerics.vector_logarithms import LANES, add_logarithms
from tests.oracles import every_assignment
from tests.planted import error, planted

ALPHA, KEY = np.array([0.4, 0.9]), as_key(5)
WORDS = [(0, 1), (2, 0), (1, 3), (3, 2), (0, 3), (2, 1)]  # every pair of four items once


def _block(users, n_items, weight=1.0, first_user=0):
    """Users with these (winner, loser)."""
    starts = np.cumsum([0, *map(len, users)])
    codes = np.array([i * n_items + j for words in users for i, j in words], np.int32)
    return Block(
        first_user, n_items, starts, codes, np.full(len(codes), weight), np.ones(len(users))
    )


def _tables(block, beta, alpha, *, sweeps, caution=0.0):
    chain = swept_chains([block], beta, alpha, 20, KEY)[0]
    rest = {"sweeps": sweeps, "number": 1, "key": KEY, "caution": caution, "halves": True}
    return marginal_tables([block], beta, alpha, [chain], ThreadEngine(1), **rest)


def _beta(seed=0, n_items=4):
    """(2, Q, Q) probabilities of no model in particular."""
    beta = np.random.default_rng(seed).uniform(0.1, 0.9, (2, n_items, n_items))
    off = np.triu(beta, 1) + np.tril(1 - beta.transpose(0, 2, 1), -1)
    return off + np.eye(n_items) / 2


def test_a_table_is_the_change_of_the_marginal_likelihood_by_enumeration():
    """60,000 sweeps: r is within .01 of its value, and logarithms of ratios within .05."""
    beta = _beta()
    flat = np.ascontiguousarray(beta.reshape(2, 16).T)
    table = _tables(_block([WORDS], 4), flat, ALPHA, sweeps=60_000)
    base, pairs = every_assignment(WORDS, beta, ALPHA), np.column_stack(np.triu_indices(4, 1))
    for p, (low, high) in enumerate(pairs):
        for k in range(2):
            changed = []
            for v in NODES:
                other = beta.copy()
                other[k, low, high], other[k, high, low] = v, 1 - v
                changed.append(every_assignment(WORDS, other, ALPHA) - base)
            np.testing.assert_allclose(table[k, p], changed, atol=0.05)
    assert not table[:, 6:].any()  # users of odd number


def _by_node(r, rho, b, lower_won=True):
    """(r / ρ) log(1 − ρ + ρ v / b) at every node, as a row of weight 1 adds it."""
    values, out = np.zeros((1, LANES)), np.zeros((1, LANES))
    _ratios(rho, b, lower_won, values, 0, LANES)
    which = np.zeros(1, np.uint16)
    add_logarithms(values, values.view(np.uint64), np.array([r / rho]), which, 1, out, LANES)
    return out[0, : len(NODES)]


def test_a_cautious_table_has_the_same_slope_and_ends_at_em():
    r, at, h = 0.4, 9, 1e-6
    b = NODES[at]
    for rho in (0.4, 0.5, 1.0):
        expected = r / rho * np.log(1 - rho + rho * NODES / b)
        np.testing.assert_allclose(_by_node(r, rho, b), expected, atol=1e-10)
        assert _by_node(r, rho, b - h)[at] / h == pytest.approx(r / b, rel=1e-4)  # the slope
    np.testing.assert_allclose(_by_node(r, 1.0, b), r * np.log(NODES / b), atol=1e-10)  # EM


@pytest.mark.parametrize("lower_won", [True, False])
def test_a_row_adds_the_logarithm_of_the_change(lower_won):
    for r, b in ((0.001, 0.9), (0.1, 0.1), (0.5, 0.4), (0.5, 0.34), (0.3, 0.001), (1.0, 0.5)):
        won = NODES if lower_won else 1 - NODES
        expected = np.log(1 - r + r * won / b)
        np.testing.assert_allclose(_by_node(r, r, b, lower_won), expected, atol=1e-10)


def test_numbers_of_unordered_pairs():
    slot = _slots(3).reshape(3, 3)
    assert slot[[0, 0, 1], [1, 2, 2]].tolist() == [0, 1, 2]
    assert slot[[1, 2, 2], [0, 0, 1]].tolist() == [-1, -2, -3]


def test_a_repeated_row_counts_as_often_and_odd_users_are_apart():
    beta = np.ascontiguousarray(_beta().reshape(2, 16).T)
    twice = _tables(_block([WORDS * 2], 4, first_user=1), beta, ALPHA, sweeps=20_000)
    weighted = _tables(_block([WORDS], 4, weight=2.0, first_user=1), beta, ALPHA, sweeps=20_000)
    assert not twice[:, :6].any()
    # 8 nodes of each pair, where the logarithm is not steep: Monte-Carlo error below .05
    np.testing.assert_allclose(twice[:, 6:, 4:11], weighted[:, 6:, 4:11], atol=0.1)


def test_the_best_phi_of_the_tables_is_that_of_newton_steps_on_the_marginal_likelihood():
    """Both climb the same function. Standard errors of φ are about .02; both are noisy by .01."""
    truth = planted(12, 3, 0.5, 0.3, seed=2)
    blocks, engine = make_blocks(truth.sample(4000, 8, seed=1).comparisons), ThreadEngine(2)
    components = MallowsComponents(np.asarray(truth.sigma), np.asarray(truth.phi))
    alpha = np.asarray(truth.alpha)
    for number in range(6):
        beta = beta_table(components, least_beta.DIRECT_LIKELIHOOD)
        chains = swept_chains(blocks, beta, alpha, 20, KEY)
        rest = {"sweeps": 60, "number": number, "key": KEY}
        tables = marginal_tables(blocks, beta, alpha, chains, engine, **rest)
        components = with_best_phi(tables, components)
    newton = maximise_likelihood(truth, blocks, engine, steps=4)
    np.testing.assert_allclose(components.phi, newton.phi, atol=0.03)


def _few_answers(seed):
    """6,000 users with 10 comparisons each, 30 items: Monte-Carlo EM stops short."""
    truth = planted(30, 6, 0.5, 0.1, seed=seed)
    return truth, truth.sample(6000, 10, seed=seed + 1).comparisons


def _fit(votes, n_components, monkeypatch, little):
    monkeypatch.setattr(refinement, "say_little", lambda blocks: little)
    return mm.fit(votes, n_components, seed=0, predictor=False, n_jobs=2)


@pytest.mark.slow
def test_rankings_from_few_comparisons_are_better(monkeypatch):
    """Of 16 trials the error fell in 12 and rose in one: in four, the sum rises in one of 1,000."""
    errors = np.zeros(2)
    for seed in range(4):
        truth, votes = _few_answers(seed)
        errors += [error(_fit(votes, 6, monkeypatch, little), truth) for little in (False, True)]
    assert errors[1] < errors[0]


@pytest.mark.slow
def test_where_there_is_little_data_it_goes_much_further(monkeypatch):
    """10,000 users with 10 comparisons each, 100 items: .15 by Monte-Carlo EM, .02 after."""
    truth = planted(100, 10, 0.5, 0.1, seed=0)
    votes = truth.sample(10_000, 10, seed=0).comparisons
    before, after = (error(_fit(votes, 10, monkeypatch, on), truth) for on in (False, True))
    assert after < before / 2


@pytest.mark.slow
def test_begun_at_the_planted_model_it_ends_as_far_from_it():
    """What `fit` is off by is what the likelihood's maximum is off by: sums over four seeds, of
    about .015, differ by less than half of it.
    """
    ends = np.zeros(2)
    for seed in range(4):
        truth, votes = _few_answers(seed)
        blocks, found = _found(truth, votes)
        end = ascend_marginal(blocks, found, ThreadEngine(2), seed=1).components
        begun = mm.M4(end.sigma, end.phi, np.array(truth.alpha), truth.items)
        fitted = mm.fit(votes, 6, seed=0, predictor=False)
        ends += error(begun, truth), error(fitted, truth)
    assert ends[0] > 0.002 and abs(ends[1] - ends[0]) < 0.5 * ends.mean()


def test_who_says_little():
    few, many = [WORDS], [WORDS * (LITTLE // len(WORDS) + 1)]
    assert say_little([_block(few * 20, 4)])
    assert not say_little([_block(few, 4), _block(many, 4)])
    assert say_little([_block(few * 20, 4), _block(many, 4)])
    assert not say_little([_block(few, 4, weight=2.0 * LITTLE)])


def test_users_who_count_more_or_less_are_as_many_users():
    four, large = _block([WORDS] * 4, 4), _block([WORDS * (LITTLE // len(WORDS) + 1)], 4)
    assert not say_little([four, large]) and say_little([four, four, four, large])
    assert say_little([replace(four, user_weight=np.full(4, 3.0)), large])
    seldom = replace(four, user_weight=np.full(4, 0.1))
    assert not say_little([seldom] * 3 + [large])


def _found(truth, votes):
    """The planted model as if it had been found, with chains of its own."""
    blocks = make_blocks(votes)
    components = MallowsComponents(np.array(truth.sigma), np.array(truth.phi))
    beta, alpha = beta_table(components, least_beta.DIRECT_LIKELIHOOD), np.array(truth.alpha)
    chains = swept_chains(blocks, beta, alpha, 10, KEY)
    return blocks, MonteCarlo(components, alpha, chains, [3])


def _with_first_two_swapped(found):
    sigma = found.components.sigma.copy()
    sigma[0, :2] = sigma[0, 1::-1]
    return found._replace(components=found.components._replace(sigma=sigma))


def test_the_ascent_shows_progress_and_keeps_what_predicts_clearly_better(monkeypatch):
    truth = planted(8, 2, 0.3, 0.3, seed=3)
    blocks, found = _found(truth, truth.sample(400, 10, seed=4).comparisons)
    found = _with_first_two_swapped(found)
    shown = []
    run = {"seed": 1, "progress": lambda *told: shown.append(told)}
    new = ascend_marginal(blocks, found, ThreadEngine(2), **run)
    assert {step for step, _, _ in shown} == {"marginal likelihood"}
    assert all(0 < done <= total for _, done, total in shown)
    assert new.moved[0] == 3 and len(new.moved) == len(shown) + 1
    assert new.components.sigma.shape == found.components.sigma.shape
    reversed_sigma = found.components.sigma[:, ::-1].copy()

    def wrong(tables, components, **_):  # a search that goes the wrong way
        return Searched(components._replace(sigma=reversed_sigma), 0.0)

    monkeypatch.setattr(marginal_ascent, "search_with_gain", wrong)
    assert ascend_marginal(blocks, found, ThreadEngine(2), seed=1) is found


def test_where_nothing_moves_one_cycle_is_enough():
    truth = planted(6, 2, 0.3, 0.3, seed=3)
    blocks, found = _found(truth, truth.sample(4000, 20, seed=4).comparisons)
    shown = []
    run = {"seed": 1, "progress": lambda *told: shown.append(told)}
    assert ascend_marginal(blocks, found, ThreadEngine(2), **run) is found
    assert [done for _, done, _ in shown] == [1]
    new = ascend_marginal(blocks, _with_first_two_swapped(found), ThreadEngine(2), seed=1)
    assert (new.components.sigma == truth.sigma).all() and len(new.moved) > 2


def test_where_users_mix_many_components_a_cycle_moves_all_of_them_group_by_group(monkeypatch):
    truth = planted(8, 6, 0.3, 1.0, seed=3)
    blocks, found = _found(truth, truth.sample(300, 10, seed=4).comparisons)
    found = _with_first_two_swapped(found)
    searched, shown = [], []

    def search(tables, components, *, which, n_jobs):
        searched.append(list(which))
        return search_with_gain(tables, components, which=which, n_jobs=n_jobs)

    monkeypatch.setattr(marginal_ascent, "search_with_gain", search)
    run = {"seed": 1, "progress": lambda *told: shown.append(told)}
    new = ascend_marginal(blocks, found, ThreadEngine(2), **run)
    assert max(map(len, searched)) < 6  # never all of them at once
    assert [k for group in searched[:2] for k in group] == [0, 2, 4, 1, 3, 5]
    assert np.bincount([k for group in searched for k in group]).tolist() == [len(shown)] * 6
    assert len(new.moved) == len(shown) + 1
    truth = planted(6, 6, 0.2, 1.0, seed=3)
    blocks, found = _found(truth, truth.sample(8000, 30, seed=4).comparisons)
    searched.clear()
    assert ascend_marginal(blocks, found, ThreadEngine(2), seed=1) is found
    assert len(searched) == 2  # one cycle of two groups


def test_halves_of_people_who_say_little_move_noise_further_than_drawn_weights_would():
    """Rankings that are mere noise: drawn weights hold them, so that both halves seem to agree."""
    truth = planted(30, 6, 0.5, 0.1, seed=0)
    blocks, found = _found(truth, truth.sample(2000, 6, seed=1).comparisons)
    random = np.random.default_rng(0)
    noise = np.array([random.permutation(30) for _ in range(6)], np.int32)
    beta = beta_table(found.components._replace(sigma=noise), least_beta.DIRECT_LIKELIHOOD)
    chains = swept_chains(blocks, beta, found.alpha, 10, KEY)
    wrong = found._replace(components=found.components._replace(sigma=noise), chains=chains)
    theta, engine = [chain.theta for chain in chains], ThreadEngine(2)
    held = half_distances(blocks, wrong.components, theta, engine)
    free = marginal_half_distances(blocks, wrong, engine)
    assert free.shape == (6,) and free.mean() > held.mean()


def test_all_users_of_large_data_are_tabulated_by_the_same_likelihood():
    truth = planted(6, 2, 0.4, 0.5, seed=1)
    blocks, found = _found(truth, truth.sample(500, 8, seed=2).comparisons)
    engine, components, alpha = ThreadEngine(2), found.components, found.alpha
    by_shards = tabulate_all_users(blocks, components, alpha, engine, marginal=True, seed=5)
    beta, key = beta_table(components, least_beta.DIRECT_LIKELIHOOD), as_key(5)
    chains = swept_chains(blocks, beta, alpha, SWEEPS, key)
    rest = {"sweeps": AVERAGED, "number": 0, "key": key}
    whole = marginal_tables(blocks, beta, alpha, chains, engine, halves=True, **rest)
    np.testing.assert_allclose(by_shards, whole, atol=1e-3)
    together = marginal_tables(blocks, beta, alpha, chains, engine, **rest)
    np.testing.assert_allclose(both_halves(by_shards), together, atol=1e-3)
    drawn = tabulate_all_users(blocks, components, alpha, engine, seed=5)
    at = np.argmax(whole, axis=2, keepdims=True)  # drawn weights make it steeper at the maximum
    falls = [np.take_along_axis(table, at, axis=2) - table for table in (drawn, whole)]
    assert falls[0].mean() > 1.2 * falls[1].mean()
