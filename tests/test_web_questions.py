"""Which pair is asked: the fast choice against a full search, even spread, when to stop."""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.infer.gibbs_draws import draw
from mallowmix.infer.next_pair import most_informative, rough_information
from mallowmix.infer.pool_states import PoolStates
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.state_draws import WeightDraws
from mallowmix.web.prepared_answers import N_DRAWS, ServedModel
from mallowmix.web.questions import PairQuestion, block_of, finished, next_question
from mallowmix.web.settings import Settings
from mallowmix.web.tally import Tally
from mallowmix.web.vote_store import ACTIVE, RETIRED, Item


def random_model(Q, K, phi, alpha, seed=0):
    sigma = np.random.default_rng(seed).permuted(np.tile(np.arange(Q), (K, 1)), axis=1)
    return mm.M4(sigma, np.full(K, phi), np.full(K, alpha), [f"i{i:03d}" for i in range(Q)])


def information(p):
    """H(E p) − E H(p) over draws (S, P), term by term."""
    mean = p.mean(axis=0)
    terms = [q * np.log(q / m) for q, m in ((p, mean), (1 - p, 1 - mean))]
    return np.sum(terms, axis=0).mean(axis=0)


def items_of(model):
    return {n: Item(n, str(name), ACTIVE) for n, name in enumerate(model.items.tolist(), 1)}


@pytest.mark.parametrize(("phi", "alpha"), [(0.0, 0.1), (0.5, 0.1), (0.5, 1.0), (0.95, 0.3)])
def test_the_rough_information_is_as_near_as_it_says_and_the_best_are_those_of_looking_at_all(
    phi, alpha
):
    model = random_model(40, 5, phi, alpha)
    prepared, (low, high) = prepare(model), np.triu_indices(40, 1)
    codes = low * 40 + high
    for n in (0, 3, 30):
        fitted = ServedModel(0, model)
        sample = model.sample(1, max(n, 1), seed=n).comparisons
        block = fitted.block(sample.winner[:n], sample.loser[:n], sample.weight[:n])
        theta = draw(block, prepared, 50, np.uint64(1))[0]
        exact = information(theta @ prepared.beta[codes].T)
        draws = WeightDraws(theta, prepared.beta, prepared.beta.astype(np.float32))
        states = PoolStates((draws,), np.ones((3, 1)), np.zeros(40, np.int64))
        assert np.abs(rough_information(states, codes) - exact).max() < 2e-4
        best, told, chance = most_informative(states, codes, 7)
        assert best.tolist() == np.argsort(-np.round(exact, 12), kind="stable")[:7].tolist()
        np.testing.assert_allclose(told, exact[best], atol=1e-12)
        np.testing.assert_allclose(chance, prepared.beta[codes[best]] @ theta.mean(axis=0))


def test_two_looks_lose_next_to_nothing():
    """Above 4,096 open pairs a quarter of the draws chooses 1,024 of them: what the choice tells is
    within 2 % of the best.
    """
    model = random_model(120, 6, 0.6, 0.2)
    fitted, (low, high) = ServedModel(0, model), np.triu_indices(120, 1)
    codes = low * 120 + high
    for seed in range(8):
        sample = model.sample(1, 3 * seed + 1, seed=seed).comparisons
        block = fitted.block(sample.winner, sample.loser, sample.weight)
        best, told = fitted.question(block, codes)
        exact = information(
            draw(block, fitted.prepared, N_DRAWS, np.uint64(0))[0] @ fitted.prepared.beta[codes].T
        )
        assert told == pytest.approx(exact[best], abs=1e-12)
        assert told >= 0.98 * exact.max()


def test_a_question_is_that_of_the_library():
    """Few pairs, so one look: the same pair as mm.next_pair with as many draws."""
    model = random_model(12, 3, 0.3, 0.3)
    items, answers = items_of(model), np.array([[1, 2, 1], [3, 9, -1], [4, 5, 0]])
    asked = next_question(ServedModel(0, model), items, answers, Tally({}), 1)
    choices = mm.read_comparisons([("u", "i000", "i001"), ("u", "i008", "i002")])
    (best,) = mm.next_pair(
        model, choices.with_items(model.items), n_draws=N_DRAWS, answered=[("i003", "i004")]
    )
    assert {items[asked.first].name, items[asked.second].name} == {best.first, best.second}
    assert asked.information == pytest.approx(best.information, abs=1e-12)


def test_no_pair_is_asked_twice_and_retired_items_never():
    model = random_model(6, 2, 0.3, 0.5)
    items = items_of(model)
    items[6] = items[6]._replace(status=RETIRED)
    for fitted in (ServedModel(0, model), None):
        answers, seen = np.zeros((0, 3), np.int64), []
        while (asked := next_question(fitted, items, answers, Tally({}), 3)) is not None:
            pair = tuple(sorted((asked.first, asked.second)))
            seen.append(pair)
            answers = np.vstack([answers, [*pair, len(seen) % 3 - 1]])
        assert sorted(seen) == [(i, j) for i in range(1, 6) for j in range(i + 1, 6)]


def test_items_that_the_model_does_not_know_are_asked_about_too():
    model = random_model(6, 2, 0.3, 0.5)
    items = items_of(model) | {7: Item(7, "new", ACTIVE)}
    answers = np.zeros((0, 3), np.int64)
    new = 0
    for n in range(9):
        asked = next_question(ServedModel(0, model), items, answers, Tally({}), 1)
        new += 7 in (asked.first, asked.second)
        answers = np.vstack([answers, [*sorted((asked.first, asked.second)), 1 - 2 * (n % 2)]])
    assert new == 3


def test_without_a_model_pairs_are_spread_evenly():
    """30 people, 14 questions each, 8 items: 28 pairs asked 15 times each, and every item equally
    often.
    """
    tally, items = Tally({}), {n: Item(n, f"i{n}", ACTIVE) for n in range(1, 9)}
    counts = np.zeros((9, 9), int)
    for person in range(30):
        answers = np.zeros((0, 3), np.int64)
        for _ in range(14):
            asked = next_question(None, items, answers, tally, person)
            low, high = sorted((asked.first, asked.second))
            tally.add(low, high)
            counts[low, high] += 1
            answers = np.vstack([answers, [low, high, 1]])
    used = counts[np.triu_indices(9, 1)]
    used = used[used > 0]
    assert len(used) == 28 and used.min() >= 14 and used.max() <= 16
    each = (counts + counts.T).sum(axis=1)[1:]
    assert each.max() - each.min() <= 4


def test_both_orders_of_a_pair_are_shown_and_a_reload_shows_the_same():
    items = {1: Item(1, "a", ACTIVE), 2: Item(2, "b", ACTIVE)}
    nothing = np.zeros((0, 3), np.int64)
    shown = [next_question(None, items, nothing, Tally({}), person).first for person in range(200)]
    assert shown == [
        next_question(None, items, nothing, Tally({}), person).first for person in range(200)
    ]
    assert 70 < shown.count(1) < 130  # a coin leaves this with a probability below 1e-5


def test_the_stop_rule():
    rule = Settings(questions=10, least=4, enough=0.02)
    telling, dull = PairQuestion(1, 2, 0.3), PairQuestion(1, 2, 0.01)
    assert finished(rule, 0, None) and finished(rule, 10, telling) and finished(rule, 4, dull)
    assert (
        not finished(rule, 9, telling)
        and not finished(rule, 3, dull)
        and not finished(rule, 9, PairQuestion(1, 2, None))
    )
    assert not finished(rule, 50, dull, more=True) and finished(rule, 50, None, more=True)


def test_answers_become_comparisons_and_undecided_ones_do_not():
    model = random_model(4, 2, 0.3, 0.5)
    block = block_of(
        ServedModel(0, model), items_of(model), np.array([[1, 2, 1], [1, 3, -1], [2, 4, 0]])
    )
    assert sorted(block.pair.tolist()) == [0 * 4 + 1, 2 * 4 + 0]
