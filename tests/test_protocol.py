"""The splits of real people that the benchmarks share, on small made-up people."""

import numpy as np
import pytest

from benchmarks import protocol, real_people, rivals
from mallowmix.learn.bradley_terry_components import best_scores
from mallowmix.peers.baselines import Coin, FittedScores
from mallowmix.peers.systems import SYSTEMS

RANDOM = np.random.default_rng(0)
VOTES = [
    (first, (first + RANDOM.integers(1, 9, size=20)) % 9)
    for first in (RANDOM.integers(9, size=20) for _ in range(30))
]
RATED = [
    (RANDOM.permutation(40)[:n], RANDOM.integers(1, 6, size=n))
    for n in RANDOM.integers(4, 30, size=60)
]


def test_votes_that_touch_a_held_out_item_are_held_out():
    parts = protocol.split_votes(VOTES, 3)
    assert (len(parts.train), len(parts.given), len(parts.held_out)) == (20, 10, 10)
    for given, asked in zip(parts.given, parts.held_out, strict=True):
        known = set(np.concatenate(given).tolist())
        items = known | set(np.concatenate(asked).tolist())
        hidden = items - known
        assert len(given[0]) + len(asked[0]) == 20
        assert all(i in hidden or j in hidden for i, j in zip(*asked, strict=True))


def test_rated_items_are_halved_and_comparisons_capped():
    parts = protocol.split_levels(RATED, 1)
    assert len(parts.train) <= 40
    for given, asked in zip(parts.given, parts.held_out, strict=True):
        known, hidden = (set(np.concatenate(each).tolist()) for each in (given, asked))
        assert not known & hidden and 0 < len(asked[0]) <= protocol.MOST_ASKED
        assert len(given[0]) <= protocol.MOST_GIVEN
    assert all(len(winner) <= protocol.MOST_GIVEN for winner, _ in parts.train)


def test_answers_of_rated_items_follow_the_levels():
    """Each person's comparisons, thinned; random halves of them are given and held out."""
    answers = protocol.answers_of(RATED, 2)
    levels = [dict(zip(items.tolist(), level.tolist(), strict=True)) for items, level in RATED]
    for winner, loser in answers:
        own = [each for each in levels if set(winner.tolist()) | set(loser.tolist()) <= set(each)]
        assert any(
            all(each[i] > each[j] for i, j in zip(winner.tolist(), loser.tolist(), strict=True))
            for each in own
        )
        assert len(winner) <= protocol.MOST_GIVEN
    parts = real_people.split_answers(answers, 0, held_out=0.5)
    n_given, n_asked = (sum(len(w) for w, _ in part) for part in (parts.given, parts.held_out))
    assert 0.9 < n_given / n_asked < 1.1


def test_pairs_follow_the_levels_and_ties_are_left_out():
    better, worse = protocol.pairs_of(np.array([7, 8, 9]), np.array([3, 5, 3]))
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == [(8, 7), (8, 9)]


def test_losses_are_means_over_a_person_s_questions():
    found = protocol.log_losses(np.array([0.5, 0.25, 1.0]), np.array([0, 0, 2]), 3)
    assert found[0] == pytest.approx(-np.log([0.5, 0.25]).mean())
    assert np.isnan(found[1]) and found[2] == pytest.approx(1e-4, rel=0.01)


def test_one_ranking_knows_who_wins_more_often():
    train = [(np.array([0, 0, 1]), np.array([1, 2, 2]))] * 10
    parts = protocol.Split(train, [], [(np.array([0, 2]), np.array([2, 0]))], np.zeros(1, np.int64))
    first, second = real_people.one_ranking(parts, 3)
    assert first > 0.9 and first + second == pytest.approx(1)


def people_of_one_mind(n_people=60, n_answers=15):
    """Votes with a consensus: the lower number mostly wins."""
    people = []
    random = np.random.default_rng(1)
    for _ in range(n_people):
        first = random.integers(6, size=n_answers)
        second = (first + random.integers(1, 6, size=n_answers)) % 6
        wins = random.random(n_answers) < 1 / (1 + np.exp(0.8 * (first - second)))
        people.append((np.where(wins, first, second), np.where(wins, second, first)))
    return people


def test_a_person_in_two_splits_is_one_person():
    """The same people twice say no more than once; other people halve the variance."""
    values = np.random.default_rng(2).normal(1.0, 1.0, 50)
    person = np.arange(50)
    once = real_people.summary([values], [person])
    assert once["gap"] == pytest.approx(values.mean())
    assert once["half_width"] == pytest.approx(1.96 * values.std(ddof=1) / np.sqrt(50))
    assert real_people.summary([values, values], [person, person]) == pytest.approx(once)
    other = real_people.summary([values, values], [person, person + 50])["half_width"]
    assert other == pytest.approx(once["half_width"] / np.sqrt(2), rel=0.01)
    missing = real_people.summary([np.r_[values, np.nan]], [np.arange(51)])
    assert missing == pytest.approx(once)


@pytest.mark.slow
def test_a_small_run():
    """One ranking is hard to beat, and is not lost to by much; rivals are chosen on training people
    and measured on the same questions.
    """
    parts = protocol.split_votes(people_of_one_mind(), 0)
    found, cpu = real_people.gaps(parts, 6)
    assert np.nanmean(found["predictor"]) > -0.05
    assert cpu["fit"] > 0 and len(found["one ranking (log-loss)"]) == 20
    assert real_people.summary([found["predictor"]], [parts.person])["half_width"] > 0
    against = {
        name: rivals.run_rival(name, parts, 6, [1, 2], 0)
        for name in ("borda", "mixture-mallows", "coin")
    }
    ours = found["one ranking (log-loss)"] - found["predictor"]
    kept = rivals.record(against, ours)
    assert kept["mallowmix"] == pytest.approx(np.nanmean(ours))
    assert kept["chosen"] in ("borda", "mixture-mallows")
    coin = kept["rivals"]["coin"]
    assert coin["log_loss"] == pytest.approx(np.log(2)) and coin["n_components"] is None
    gap = np.log(2) - ours
    half = 1.96 * gap.std(ddof=1) / np.sqrt(20)
    assert coin["low"] == pytest.approx(gap.mean() - half)
    assert coin["high"] == pytest.approx(gap.mean() + half)
    assert kept["rivals"]["mixture-mallows"]["n_components"] in (1, 2)
    over_splits = real_people.rival_gaps([against], [ours], [parts.person])
    assert over_splits["coin"] == pytest.approx({"gap": gap.mean(), "half_width": half})
    assert over_splits["chosen by training people"] == over_splits[kept["chosen"]]


def test_a_rival_answers_the_questions_of_the_protocol(monkeypatch):
    """Bradley–Terry scores computed here, as a rival: the losses are those of `log_losses` on the
    same questions, person by person; who is chosen does not depend on test people.
    """
    parts = protocol.split_votes(people_of_one_mind(), 0)
    expected = protocol.log_losses(
        real_people.one_ranking(parts, 6),
        np.repeat(np.arange(20), [len(winner) for winner, _ in parts.held_out]),
        20,
    )

    class OneRanking(Coin):
        def fit(self, data, n_components=1, *, seed=0):
            wins = np.bincount(data.pair, data.weight, 36).reshape(6, 6)
            return FittedScores(data.items, best_scores(wins, 1.0)[None])

    monkeypatch.setitem(SYSTEMS, "borda", OneRanking)
    found = rivals.run_rival("borda", parts, 6, [1, 2], 0)
    np.testing.assert_allclose(found.losses, expected, rtol=1e-6)
    turned = parts._replace(held_out=[(loser, winner) for winner, loser in parts.held_out])
    other = rivals.run_rival("borda", turned, 6, [1, 2], 0)
    assert other.validation == found.validation
    assert np.nanmean(other.losses) > np.nanmean(found.losses)


def test_a_finished_rival_is_not_run_again(monkeypatch, tmp_path):
    """Its result comes back as it was, a person without questions (nan) too."""
    parts = protocol.split_votes(people_of_one_mind(), 0)
    first = rivals.Rival(np.array([0.25, np.nan, 0.5]), 0.6, 2)
    calls = []
    monkeypatch.setattr(rivals, "run_rival", lambda *given: calls.append(given) or first)
    for candidates in ([1, 2], [1, 2], [1, 3]):
        found = rivals.finished_or_run(
            "coin",
            folder=tmp_path,
            split_name="votes-0",
            parts=parts,
            Q=6,
            candidates=candidates,
            seed=0,
        )
        np.testing.assert_array_equal(found.losses, first.losses)
        assert found[1:] == first[1:]
    assert [given[3] for given in calls] == [[1, 2], [1, 3]]
