"""Extremes: no order at φ = 1, preferences that go in a circle, components that nobody follows.
All are said, and shown as unsure.
"""

import collections
import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.checks.preference_cycles import _majorities, preference_cycle
from mallowmix.checks.unsure_components import Doubt, unsure_components
from mallowmix.cli.model_text import model_values
from mallowmix.errors import FitWarning
from mallowmix.infer.pooled_ranking import TIED, _ends, _few_ends, position_ends, positions_of
from mallowmix.report import make_report
from tests.command_line import run
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
QUICK = {"n_replicates": 0, "choose_k": False, "refit": False, "n_simulations": 0}


def five_cycle(n_people=80, rate=0.92, seed=0):
    """Everybody prefers a to b to c to d to e to a, nearly always."""
    random, rows = np.random.default_rng(seed), []
    for m in range(n_people):
        for i in range(5):
            pair = "abcde"[i], "abcde"[(i + 1) % 5]
            rows.append((m, *(pair if random.random() < rate else pair[::-1])))
    return mm.read_comparisons(rows)


# ---- φ = 1 ----


def test_ends_of_positions_by_counting():
    """Two items are in order where their values differ by TIED / Q; near ones make no chain."""
    random = np.random.default_rng(0)
    values = np.round(random.random((40, 6)), 3)
    values[0] = 0.5
    values[1] = 0.5 + np.arange(6) * 0.9 * TIED / 6
    found = position_ends(values)
    for row, (low, high) in zip(values, found, strict=True):
        for i in range(6):
            above = sum(value - row[i] >= TIED / 6 for value in row)
            below = sum(row[i] - value >= TIED / 6 for value in row)
            assert (low[i], high[i]) == (above + 1, 6 - below)
    assert found[0].tolist() == [[1] * 6, [6] * 6]
    assert found[1].tolist() == [[5, 4, 3, 2, 1, 1], [6, 6, 5, 4, 3, 2]]


def test_at_phi_1_no_position_is_claimed():
    model = mm.M4.from_orders([list("abcde"), list("edcba")], phi=1.0, alpha=[1.0, 2.0])
    votes = mm.read_comparisons([("u", "a", "b"), ("u", "a", "c"), ("u", "d", "e")])
    for ranking in (mm.rank(model)[0], mm.rank(model, votes)[0]):
        assert [(line.low, line.high) for line in ranking] == [(1, 5)] * 5
    board = mm.leaderboard(model)
    assert board.rank_low.tolist() == [1] * 5 and board.rank_high.tolist() == [5] * 5
    sure = mm.rank(mm.M4.from_orders([list("abcde")], phi=0.5))[0]
    assert [(line.low, line.high) for line in sure] == [(n, n) for n in range(1, 6)]


@pytest.mark.parametrize("Q", [1, 4, 30])
def test_positions_of_few_and_of_many_values_are_the_same(Q):
    """Near ties, ties, and gaps of just the size that counts."""
    random = np.random.default_rng(Q)
    values = np.round(random.random((50, Q)), 2) + random.choice([0, TIED / Q, 0.1 * TIED / Q], Q)
    order = np.argsort(-values, axis=1, kind="stable")
    assert np.array_equal(_few_ends(values, TIED / Q), _ends(values, order, TIED / Q))


def test_the_commands_show_it_as_unsure(tmp_path):
    mm.save(mm.M4.from_orders([list("abcd")], phi=1.0), tmp_path / "coin.m4")
    out = run("rank", tmp_path / "coin.m4")[0]
    assert "1 to 4" in out and "in no order" in out
    assert "unsure: it is nearly a coin" in run("show", tmp_path / "coin.m4")[0]
    values = json.loads(run("show", tmp_path / "coin.m4", "--json")[0])
    assert "nearly a coin" in values["components"][0]["unsure"][0]


# ---- circles ----


def test_the_majorities_of_a_circle_by_hand():
    votes = five_cycle()
    found = preference_cycle(votes)
    assert found.items == tuple("abcde")
    rows = list(zip(votes.user, votes.items[votes.winner], votes.items[votes.loser], strict=True))
    for (i, j), rate in zip(("ab", "bc", "cd", "de", "ea"), found.win_rates, strict=True):
        assert rate == pytest.approx(sum((w, x) == (i, j) for _, w, x in rows) / 80)
    each = [sum((w + x) in ("ab", "bc", "cd", "de", "ea") for m, w, x in rows if m == n)
            for n in range(80)]  # fmt: skip
    assert found.excess == pytest.approx(np.mean(each) - 4)
    assert found.excess_error == pytest.approx(np.std(each) / np.sqrt(80))
    assert found.beyond_mixtures and "no mixture of rankings does" in found.sentence()


def test_majorities_are_of_users_each_with_one_net_answer():
    """Against dictionaries; with ties, repeated and contradicting answers, and user weights."""
    random = np.random.default_rng(4)
    user, winner = random.integers(0, 30, 900), random.integers(0, 5, 900)
    loser = (winner + random.integers(1, 5, 900)) % 5
    weight, say = random.choice([0.5, 1.0, 3.0], 900), random.choice([0.0, 1.0, 2.0], 30)
    votes = mm.Comparisons.from_codes(user, winner, loser, weight, "abcde", range(30))
    votes = replace(votes, user_weight=say)
    net = collections.defaultdict(float)
    for m, i, j, w in zip(votes.user, votes.winner, votes.loser, votes.weight, strict=True):
        net[m, min(i, j), max(i, j)] += w * say[m] * (1 if i < j else -1)
    low, high, z = _majorities(votes)
    assert len(z) == 10
    for i, j, each in zip(low, high, z, strict=True):
        answers = [d for (_, a, b), d in net.items() if (a, b) == (i, j)]
        assert each == pytest.approx(sum(answers) / math.sqrt(sum(d * d for d in answers)))


@pytest.mark.slow
def test_condorcets_circle_is_one_that_groups_explain():
    """A third of the people each for abc, bca and cab: every majority is 2 of 3, their sum 2."""
    orders = ["abc", "bca", "cab"]
    rows = [
        (m, *pair) for m in range(180) for pair in itertools.combinations(orders[m % 3], 2)
    ]  # fmt: skip
    found = preference_cycle(mm.read_comparisons(rows))
    assert set(found.items) == set("abc") and found.excess == pytest.approx(0)
    assert not found.beyond_mixtures and "groups of people" in found.sentence()
    data = mm.read_comparisons(rows)
    assert mm.check(data).cycle == found and mm.check(data).warnings == []
    one, three = (mm.fit(data, k, predictor=False) for k in (1, 3))
    assert any("in a circle" in note for note in one.report.notes)
    assert not any("in a circle" in note for note in three.report.notes)


def test_one_ranking_has_no_circle_more_than_once_in_a_hundred_times():
    """Equal items are the worst case: 300 sets of coin answers, at most 3 expected; 9 or more come
    by chance once in 260 times at the full rate.
    """
    random, alarms = np.random.default_rng(1), 0
    low, high = np.triu_indices(5, 1)
    for _ in range(300):
        user = np.repeat(np.arange(40), 10)
        first = random.random(400) < 0.5
        winner, loser = (np.where(first, np.tile(a, 40), np.tile(b, 40))
                         for a, b in ((low, high), (high, low)))  # fmt: skip
        votes = mm.Comparisons.from_codes(user, winner, loser, None, "abcde", range(40))
        alarms += preference_cycle(votes) is not None
    assert alarms < 9


def test_rankings_and_few_people_have_no_circle():
    votes = planted(8, 3, 0.3, 0.2, seed=2).sample(300, 40, seed=1).comparisons
    assert preference_cycle(votes) is None
    assert preference_cycle(five_cycle(n_people=4)) is None
    assert preference_cycle(mm.read_comparisons([("u", "a", "b")])) is None


@pytest.mark.slow
def test_a_circle_is_said_by_fit_check_diagnose_and_the_report():
    votes = five_cycle()
    with pytest.warns(FitWarning, match="Preferences go in a circle"):
        model = mm.fit(votes, 2, predictor=False)
    assert any("in a circle" in note for note in model.report.notes)
    assert any("in a circle" in said for said in mm.check(votes).warnings)
    found = mm.diagnose(model, votes, n_simulations=0, refit=False)
    share, beta = model.share, model.beta()
    number = {str(item): n for n, item in enumerate(model.items)}
    rates = [share @ beta[:, number[i], number[j]] for i, j in ("ab", "bc", "cd", "de", "ea")]
    assert found.cycle == preference_cycle(votes) and found.cycle_rates == pytest.approx(rates)
    assert sum(rates) <= 4 < sum(found.cycle.win_rates)
    assert "Preferences go in a circle" in found.words()
    unsure = [each.component for each in found.unsure if each.doubt == Doubt.CIRCLE]
    assert unsure == [1, 2]
    # the model itself has it, for `show`, the survey's page and whoever loads it
    of_model = [each.component for each in unsure_components(model) if each.doubt == Doubt.CIRCLE]
    assert of_model == [1, 2]
    assert all("circle" in str(row["unsure"]) for row in model_values(model)["components"])
    assert model.report.circle_excess == pytest.approx(found.cycle.excess)
    bare = mm.diagnose(model.m4, votes, n_simulations=0, refit=False).unsure
    assert [each.component for each in bare if each.doubt == Doubt.CIRCLE] == [1, 2]
    updated = mm.update(model, votes)
    assert updated.report.circle_excess == model.report.circle_excess
    assert "Preferences go in a circle" in make_report(model, votes, **QUICK).html()


# ---- components ----


def test_doubts_by_the_model():
    model = mm.M4.from_orders([list("abcde"), list("edcba"), list("bacde")], [0.3, 0.99, 0.3],
                              [5.0, 4.9, 0.1])  # fmt: skip
    found = unsure_components(model, 100)
    assert [(each.component, each.doubt) for each in found] == [
        (2, Doubt.COIN),
        (3, Doubt.NOBODY),
    ]
    low, high = np.triu_indices(5, 1)
    beta = model.beta()[1][::-1, ::-1][low, high]  # by position: the ranking is edcba
    assert found[0].value == pytest.approx(beta.mean()) and found[1].value == pytest.approx(1)
    assert unsure_components(mm.M4.from_orders([list("abc")], 0.3), 2) == ()


@pytest.mark.slow
def test_a_component_that_nobody_follows_and_too_many_are_said_and_shown():
    votes = planted(6, 1, 0.3, 1.0, seed=1).sample(40, 15, seed=1).comparisons
    with pytest.warns(FitWarning):
        model = mm.fit(votes, 5, predictor=False)
    assert any("The spectrum shows only" in note for note in model.report.notes)
    unsure = unsure_components(model)
    assert {each.doubt for each in unsure} >= {Doubt.NOBODY}
    html = make_report(model, votes, **QUICK).html()
    assert html.count('class="unsure"') == len({each.component for each in unsure})
    assert "The spectrum shows only" in html
    found = mm.diagnose(model, votes, n_simulations=0, refit=False)
    assert found.unsure == unsure
    for each in unsure:
        assert each.sentence() in found.words()


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (5, 1, 1, 4)])
def test_positions_along_the_last_axis(shape):
    """Against a count of the values above, and of equal ones before, one row at a time."""
    values = np.random.default_rng(3).integers(0, 4, shape).astype(float)
    found = positions_of(values)
    assert found.shape == shape
    for row, positions in zip(values.reshape(-1, 4), found.reshape(-1, 4), strict=True):
        above = [sum(row > row[i]) + sum(row[:i] == row[i]) + 1 for i in range(4)]
        assert positions.tolist() == above


def test_majorities_of_pairs_counted_user_by_user():
    """People repeat pairs, and weigh differently."""
    votes = mm.load_dishes(n_users=30).comparisons
    votes = replace(votes, user_weight=np.linspace(0.5, 2, 30))
    net: dict[tuple[int, int, int], float] = {}
    rows = zip(votes.user, votes.winner, votes.loser, votes.weight, strict=True)
    for user, winner, loser, weight in rows:
        key = (user, min(winner, loser), max(winner, loser))
        signed = weight if winner < loser else -weight
        net[key] = net.get(key, 0) + signed * votes.user_weight[user]
    total, square = np.zeros((2, votes.n_items, votes.n_items))
    for (_, low, high), difference in net.items():
        total[low, high] += difference
        square[low, high] += difference**2
    low, high, z = _majorities(votes)
    assert z == pytest.approx(total[low, high] / np.sqrt(square[low, high]))
    assert len(z) == np.count_nonzero(square)
