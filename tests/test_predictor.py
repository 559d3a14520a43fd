"""The predictor: stacking against brute force, masks against a slow twin, and what users see."""

import itertools

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.data.masks import mask_rows
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.learn.population_scores import win_rate_draws
from mallowmix.model.model_file import dumps, loads
from mallowmix.model.predictor import CalibratedModel, Predictor
from mallowmix.numerics.randomness import as_key
from mallowmix.numerics.stacking import stack_weights, stack_weights_by_category
from planted import planted
from tests.test_personal_rankings import consistent_people

FAST = mm.SpectralOptions(refine="short")


def comparisons_of(users: list[list[tuple[int, int]]]) -> mm.Comparisons:
    rows = [(m, i, j) for m, answers in enumerate(users) for i, j in answers]
    user, winner, loser = np.array(rows).T
    return mm.Comparisons.from_arrays(user, winner, loser)


def test_stacking_weights_against_brute_force():
    random = np.random.default_rng(0)
    p, counts = random.uniform(0.1, 0.9, (60, 3)), random.uniform(0.5, 2, 60)
    prior = np.array([0.5, 1.0, 0.25])
    found = stack_weights(p, counts, prior)

    def value(w):
        return counts @ np.log(p @ w) + prior @ np.log(w)

    steps = np.arange(0.005, 1, 0.005)
    grid = [
        np.array([a, b, 1 - a - b]) for a, b in itertools.product(steps, steps) if a + b < 0.999
    ]
    best = max(grid, key=value)
    assert np.abs(found - best).max() < 0.006 and value(found) >= value(best)


def test_stacking_weights_are_at_the_maximum_wherever_it_lies():
    """Slopes are equal where there is weight: at a corner, at an edge, and with nothing seen."""
    random = np.random.default_rng(2)
    sure, noise = np.full(80, 0.9), random.uniform(0.2, 0.8, (80, 2))
    for p in (np.column_stack([sure, noise]), np.column_stack([noise, noise[:, :1], sure])):
        for prior in (np.full(p.shape[1], 1e-9), np.r_[1e-9, np.ones(p.shape[1] - 1)]):
            w = stack_weights(p, np.ones(80), prior)
            slope = (p / (p @ w)[:, None]).sum(axis=0) + prior / w  # all as large, by Lagrange
            assert w.sum() == pytest.approx(1) and (w > 0).all()
            assert np.abs(w * (slope - 80 - prior.sum())).max() < 1e-2
    assert stack_weights(p[:0], np.ones(0), np.arange(1.0, 5.0)) == pytest.approx(
        np.arange(1.0, 5.0) / 10, abs=1e-4
    )


def test_categories_are_shrunk_to_common_weights():
    random = np.random.default_rng(0)
    p = np.column_stack([random.uniform(0.6, 0.9, 400), random.uniform(0.1, 0.9, 400)])
    category = np.repeat([0, 1], [396, 4])
    p[category == 1] = p[category == 1][:, ::-1]
    found = [
        stack_weights_by_category(
            p, np.ones(400), category, 3, towards_equal=1.0, towards_common=strength
        )
        for strength in (0.01, 1000.0)
    ]
    assert found[0][1, 0] < 0.5 < found[1][1, 0]  # four answers say otherwise, and are outvoted
    assert np.allclose(found[1][2], found[1][0], atol=0.05)  # nothing seen: the common weights
    assert np.allclose(np.sum(found, axis=2), 1)


@pytest.mark.slow
def test_masks_against_a_slow_twin():
    random = np.random.default_rng(5)
    first = random.integers(8, size=300)
    second = (first + random.integers(1, 8, size=300)) % 8
    pair, starts = first * 8 + second, np.array([0, 100, 200, 300])
    found = mask_rows(starts, pair, 8, 0, as_key(3))
    for m in range(3):
        rows = range(100 * m, 100 * m + 100)
        given = {item for r in rows if found[r] < 0 for item in (first[r], second[r])}
        for r in rows:
            if found[r] >= 0:
                assert found[r] == (first[r] in given) + (second[r] in given)
        hidden = {frozenset((int(first[r]), int(second[r]))) for r in rows if found[r] >= 0}
        shown = {frozenset((int(first[r]), int(second[r]))) for r in rows if found[r] < 0}
        assert hidden and not hidden & shown  # a pair is hidden in both orders, or given
    assert not np.array_equal(found, mask_rows(starts, pair, 8, 0, as_key(4)))


@pytest.fixture(scope="module")
def dishes():
    return mm.load_dishes(n_users=120, per_user=40)


@pytest.fixture(scope="module")
def fitted(dishes):
    return mm.fit(dishes.comparisons, 3, method=FAST)


@pytest.mark.slow
def test_the_model_that_made_the_data_leads(fitted):
    trace = fitted.report.predictor
    best = min(trace.members, key=lambda member: member.log_loss)
    assert best.name == "mixed membership, K = 3" and min(best.weights) > 0.5
    assert trace.log_loss < trace.one_ranking - 0.1
    assert trace.log_loss_new_items < trace.one_ranking_new_items - 0.1
    assert trace.log_loss_new_items > trace.log_loss  # the harder question


@pytest.mark.slow
def test_people_who_choose_afresh_each_time_have_no_ranking_of_their_own(monkeypatch):
    """Mixed membership far ahead of the first utilities: nothing else is learnt, or rescaled."""
    for name in ("learn_predictor.rankings_candidate", "utilities_search._rescaled"):
        monkeypatch.setattr(f"mallowmix.fitting.stacking.{name}", lambda *_: pytest.fail("learnt"))
    votes = planted(20, 4, 0.1, 0.1, seed=1).sample(300, 60, seed=1).comparisons
    found = mm.fit(votes, 4)
    kinds = [type(member) for member in found.predictor.members]
    assert set(kinds) <= {CalibratedModel, mm.UtilitiesModel} and CalibratedModel in kinds


def test_people_with_a_ranking_of_their_own():
    """Comparisons held out at random, of people who never contradict themselves."""
    _, users = consistent_people(n_users=200)
    given, held_out = [], []
    for answers in users:
        hidden = {frozenset(pair) for pair in answers[::5]}
        given.append([pair for pair in answers if frozenset(pair) not in hidden])
        held_out.append(list(dict.fromkeys(answers[::5])))
    data = comparisons_of(given)
    losses = {}
    for name, model in (
        ("pool", mm.fit(data, 3, method=FAST)),
        ("components", mm.fit(data, 3, method=FAST, predictor=False)),
    ):
        codes = list(itertools.permutations(model.items.tolist(), 2))
        table = np.asarray(mm.predict(model, data, codes))
        column = {code: n for n, code in enumerate(codes)}
        row = {int(user): n for n, user in enumerate(data.users)}
        wanted = [(row[m], column[i, j]) for m, pairs in enumerate(held_out) for i, j in pairs]
        losses[name] = -np.mean([np.log(table[cell]) for cell in wanted])
    assert losses["pool"] < losses["components"] - 0.1


@pytest.mark.slow
def test_one_dish_over_all_others(dishes, fitted):
    """Who puts pizza over all other dishes sees pizza first, though no component does."""
    others = [item for item in dishes.comparisons.items.tolist() if item != "pizza"]
    person = mm.Comparisons.from_arrays(["me"] * 15, ["pizza"] * 15, others)
    consistent = mm.fit(comparisons_with(dishes), 3, method=FAST)
    assert mm.rank(consistent, person)[0][0].item == "pizza"
    assert float(mm.predict(consistent, person, [("pizza", "vindaloo")])[0, 0]) > 0.7


def comparisons_with(dishes) -> mm.Comparisons:
    """People who answer by utilities of their own around the components of the dishes."""
    random = np.random.default_rng(2)
    items = dishes.model.items.tolist()
    mean = -0.25 * dishes.model.sigma
    rows = []
    for m in range(250):
        u = mean[random.integers(3)] + 1.5 * random.standard_normal(len(items))
        for i, j in random.integers(len(items), size=(40, 2)).tolist():
            if i != j:
                first = random.random() < 1 / (1 + np.exp(u[j] - u[i]))
                rows.append((m, items[i], items[j]) if first else (m, items[j], items[i]))
    return mm.Comparisons.from_arrays(*zip(*rows, strict=True))


def test_a_model_file_holds_it(dishes, fitted):
    again = loads(dumps(fitted))
    assert again.predictor == fitted.predictor and again == fitted
    pairs = [("pizza", "ceviche"), ("ceviche", "pizza")]
    found = np.asarray(mm.predict(again, dishes.comparisons, pairs))
    assert np.array_equal(found, np.asarray(mm.predict(fitted, dishes.comparisons, pairs)))
    assert np.allclose(found.sum(axis=1), 1)


@pytest.mark.slow
def test_threads_play_no_part(dishes):
    fits = [mm.fit(dishes.comparisons, 2, method=FAST, n_jobs=n) for n in (1, 2)]
    assert fits[0].predictor == fits[1].predictor


def test_few_people_have_none():
    few = mm.load_dishes(n_users=5).comparisons
    assert mm.fit(few, 1, method=FAST).predictor is None


def test_weights_must_fit_the_members(dishes):
    member = CalibratedModel(dishes.model)
    with pytest.raises(mm.errors.DataError, match="add up to 1 in each row"):
        Predictor((member,), [[0.5]] * 3)


def test_leaderboard(fitted):
    board = mm.leaderboard(fitted)
    assert (np.diff(board.win_rate) <= 0).all()
    assert ((board.low <= board.win_rate) & (board.win_rate <= board.high)).mean() > 0.9
    position = np.arange(1, 17)
    assert ((board.rank_low <= position) & (position <= board.rank_high)).all()
    frame = board.to_frame("pandas")
    assert frame.columns[:4].tolist() == ["position", "item", "win_rate", "low"]
    assert sorted(frame["component_1"]) == position.tolist()


def test_leaderboard_of_a_bare_model_has_no_intervals(dishes):
    board = mm.leaderboard(dishes.model)
    assert np.isnan(board.low).all() and len(board) == 16


def test_the_spread_of_win_rates_against_a_bootstrap_of_users(dishes):
    """The sandwich against 200 samples of users; a ratio within a factor 1.4 for every item."""
    data = dishes.comparisons
    draws = win_rate_draws(make_blocks(data), data.n_items, ThreadEngine(1), 0)
    random, Q = np.random.default_rng(0), data.n_items
    per_user = np.zeros((data.n_users, Q * Q))
    np.add.at(per_user, (data.user, data.pair), data.weight)
    rates = []
    for _ in range(200):
        counts = random.multinomial(data.n_users, np.full(data.n_users, 1 / data.n_users))
        s = best_scores((counts @ per_user).reshape(Q, Q), 1.0)
        rates.append(((1 / (1 + np.exp(s[None] - s[:, None]))).sum(axis=1) - 0.5) / (Q - 1))
    ratio = draws[1:].std(axis=0) / np.std(rates, axis=0)
    assert ratio.min() > 1 / 1.4 and ratio.max() < 1.4
