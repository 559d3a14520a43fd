"""The consensus ranking against all orders, and its search against what a search may not do."""

import numpy as np
import pytest
from hypothesis import given

import oracles
from mallowmix.numerics.kemeny import EXACT_UP_TO, best_order, borda_order, insertion_search
from strategies import win_tables


@given(win_tables())
def test_exact_is_the_best_of_all_orders(wins):
    order = best_order(wins).tolist()
    assert sorted(order) == list(range(len(wins)))
    assert oracles.kemeny_value(wins, order) == pytest.approx(
        oracles.best_kemeny_value(wins), rel=1e-12
    )


@given(win_tables(least=2))
def test_no_single_move_improves_on_the_search(wins):
    order = insertion_search(wins, range(len(wins))).tolist()
    value = oracles.kemeny_value(wins, order)
    assert value >= oracles.kemeny_value(wins, list(range(len(wins)))) - 1e-9
    for item in order:
        rest = [other for other in order if other != item]
        for place in range(len(order)):
            moved = [*rest[:place], item, *rest[place:]]
            assert oracles.kemeny_value(wins, moved) <= value + 1e-6


def test_many_items_with_a_clear_order():
    truth = np.random.default_rng(1).permutation(40)
    wins = np.zeros((40, 40))
    for r in range(40):
        wins[truth[r], truth[r + 1 :]] = 3
        wins[truth[r + 1 :], truth[r]] = 1
    np.testing.assert_array_equal(best_order(wins), truth)
    np.testing.assert_array_equal(insertion_search(wins, np.arange(40)), truth)


def test_search_beyond_the_exact_limit_beats_borda():
    """Random tables of 20 items: never below the Borda order it starts from, and above it at least
    once in ten.
    """
    random = np.random.default_rng(2)
    gains = []
    for _ in range(10):
        wins = random.random((20, 20))
        gains.append(
            oracles.kemeny_value(wins, best_order(wins))
            - oracles.kemeny_value(wins, borda_order(wins))
        )
    assert min(gains) >= 0 < max(gains)


def test_exact_at_its_limit_is_no_worse_than_the_search():
    wins = np.random.default_rng(3).random((EXACT_UP_TO, EXACT_UP_TO))
    searched = insertion_search(wins, borda_order(wins))
    assert (
        oracles.kemeny_value(wins, best_order(wins)) >= oracles.kemeny_value(wins, searched) - 1e-12
    )


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
def test_the_search_stops_and_answers_alike_at_any_scale(scale):
    """Rounding must not be taken for a gain: an absolute threshold lets large tables circle and
    small ones stand still.
    """
    wins = np.random.default_rng(4).random((30, 30))
    np.testing.assert_array_equal(
        insertion_search(wins * scale, np.arange(30)), insertion_search(wins, np.arange(30))
    )


def test_borda_by_hand():
    """Fractions of wins: item 0 has 3/4 + 1/2, item 1 has 1/4 + 1, item 2 has 1/2 (never met 0) +
    0; the diagonal is nobody's.
    """
    assert borda_order([[9, 3, 0], [1, 0, 2], [0, 0, 0]]).tolist() == [0, 1, 2]
    assert borda_order([[0, 1], [2, 0]]).tolist() == [1, 0]


def test_nothing_known_keeps_the_order_given():
    assert insertion_search(np.zeros((4, 4)), [2, 0, 3, 1]).tolist() == [2, 0, 3, 1]
    assert borda_order(np.zeros((3, 3))).tolist() == [0, 1, 2]


def test_one_item():
    assert best_order([[0.0]]).tolist() == [0]
