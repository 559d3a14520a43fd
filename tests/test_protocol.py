"""The splits of real people that the benchmarks share, on small made-up people."""

import numpy as np
import pytest

from benchmarks import protocol, real_people

RANDOM = np.random.default_rng(0)
VOTES = [
    (first, (first + RANDOM.integers(1, 9, size=20)) % 9)
    for first in (RANDOM.integers(9, size=20) for _ in range(30))
]
RATED = [
    (RANDOM.permutation(40)[:n], RANDOM.integers(1, 6, size=n))
    for n in RANDOM.integers(4, 30, size=60)
]


def test_votes_that_touch_a_held_out_item_are_asked():
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


def test_pairs_follow_the_levels_and_ties_are_left_out():
    better, worse = protocol.pairs_of(np.array([7, 8, 9]), np.array([3, 5, 3]))
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == [(8, 7), (8, 9)]


def test_losses_are_means_over_a_person_s_questions():
    found = protocol.log_losses(np.array([0.5, 0.25, 1.0]), np.array([0, 0, 2]), 3)
    assert found[0] == pytest.approx(-np.log([0.5, 0.25]).mean())
    assert np.isnan(found[1]) and found[2] == pytest.approx(1e-4, rel=0.01)


def test_one_ranking_knows_who_wins_more_often():
    train = [(np.array([0, 0, 1]), np.array([1, 2, 2]))] * 10
    parts = protocol.Split(train, [], [(np.array([0, 2]), np.array([2, 0]))])
    first, second = real_people.one_ranking(parts, 3)
    assert first > 0.9 and first + second == pytest.approx(1)


@pytest.mark.slow
def test_a_small_run(tmp_path):
    """Votes with a consensus: one ranking is hard to beat, and is not lost to by much."""
    people = []
    random = np.random.default_rng(1)
    for _ in range(60):
        first = random.integers(6, size=15)
        second = (first + random.integers(1, 6, size=15)) % 6
        wins = random.random(15) < 1 / (1 + np.exp(0.8 * (first - second)))
        people.append((np.where(wins, first, second), np.where(wins, second, first)))
    found, cpu = real_people.gaps(protocol.split_votes(people, 0), 6)
    assert np.nanmean(found["predictor"]) > -0.05
    assert cpu["fit"] > 0 and len(found["one ranking (log-loss)"]) == 20
    assert real_people.summary([found["predictor"]])["half_width"] > 0
