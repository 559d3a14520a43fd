"""The table of how sure a fit says it is, on small made-up people."""

import numpy as np
import pytest

import mallowmix as mm
from benchmarks import how_sure


def test_planted_rankings_are_whole_and_one_a_person():
    data = how_sure.planted_rankings(25)
    assert (data.n_users, data.n_items, data.n_comparisons) == (25, 8, 25 * 28)
    wins = np.zeros((25, 8), int)
    np.add.at(wins, (data.user, data.winner), 1)
    assert (np.sort(wins, axis=1) == np.arange(8)).all()  # no circle: everybody has one ranking


@pytest.mark.slow
def test_one_procedure_and_ranges_of_some_width():
    """Two planted components of clear rankings: found twice, and people's own ranges not empty."""
    truth = mm.M4([range(6), range(5, -1, -1)], [0.2, 0.2], [0.3, 0.3], list("abcdef"))
    votes = truth.sample(90, 24, seed=1).comparisons
    model, both = how_sure.numbers(votes)
    assert both == [2, 2]
    assert 0 < how_sure.own_width(model, votes) < 5


def test_the_table_says_both_numbers_and_what_cannot_be_told():
    found = {
        "ballots": [3, 3],
        "unstable": [1, 2],
        "planted": [2, 2],
        "votes": [1, None],
        "certain": 0.634,
        "width": 11.26,
    }
    text = how_sure.table(found)
    assert "| 11; 10, 9, 6 | 3 and 3 |" in text and "| 1 and cannot tell |" in text
    assert "63% of positions, 2 components unstable" in text and "| 11.3 |" in text
