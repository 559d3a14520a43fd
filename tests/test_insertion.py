"""Insertion search: each position's value against full evaluation, its ends against all moves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.insertion import by_swaps
from mallowmix.learn.spectral.insertion_search import (
    _add_others,
    _find_steps,
    _go_to,
    _own,
    insert_by_gap,
    new_sums,
)


def value_of(values, order):
    """Σ over pairs of what their gap is worth, gaps beyond the table counting as its last."""
    D = values.shape[2] // 2
    return sum(
        values[order[s], order[r], D + min(s - r, D)]
        for r in range(len(order))
        for s in range(r + 1, len(order))
    )


def placed(order, place, target):
    """The ranking with one item moved elsewhere."""
    rest = [*order[:place], *order[place + 1 :]]
    return [*rest[:target], order[place], *rest[target:]]


def random_values(Q, D, seed, scale=2.0):
    """Worth without any sense, but the same pair seen from both sides."""
    half = scale * np.random.default_rng(seed).standard_normal((Q, Q, 2 * D + 1))
    return half + half.transpose(1, 0, 2)[:, :, ::-1]


def of_pairs(values):
    """The rows of pairs (0, 1), (0, 2), …, (1, 2), …"""
    return values[np.triu_indices(len(values), 1)]


cases = st.integers(2, 7).flatmap(
    lambda Q: st.tuples(
        st.just(Q),
        st.integers(min(1, Q - 1), Q - 1),
        st.integers(0, 10**6),
        st.permutations(range(Q)),
    )
)


@pytest.mark.slow
@given(cases)
@settings(max_examples=40)
def test_what_a_place_is_worth_is_the_difference_of_two_evaluations(case):
    Q, D, seed, order = case
    values, ranking = random_values(Q, D, seed), np.array(order, np.int32)
    sums, worth, at = new_sums(Q, np.dtype(float)), np.empty(Q), 0
    _find_steps(of_pairs(values), ranking, 0, Q, sums)
    for place in np.random.default_rng(seed).permutation(Q):
        _go_to(sums, at, place)
        at = place
        _own(of_pairs(values), ranking, place, worth)
        _add_others(sums, place, worth)
        expected = [
            value_of(values, placed(order, place, target)) - value_of(values, order)
            for target in range(Q)
        ]
        assert worth - worth[place] == pytest.approx(expected, abs=1e-9)


@given(cases, st.data())
@settings(max_examples=40)
def test_sums_mended_after_a_move_are_those_found_anew(case, data):
    Q, D, seed, order = case
    values = random_values(Q, D, seed)
    place, target = (data.draw(st.integers(0, Q - 1)) for _ in range(2))
    after = np.array(placed(order, place, target), np.int32)
    first, table = min(place, target), of_pairs(values)
    mended, anew = (new_sums(Q, np.dtype(float)) for _ in range(2))
    _find_steps(table, np.array(order, np.int32), 0, Q, mended)
    _go_to(mended, 0, first)
    _find_steps(table, after, first, max(place, target) + 1, mended)
    _find_steps(table, after, 0, Q, anew)
    _go_to(anew, 0, first)
    sums = [anew.steps[:, :, :n].sum(axis=2) for n in (Q, first)]
    np.testing.assert_allclose([anew.whole, anew.before], sums, atol=1e-12)
    for one, other in zip(mended, anew, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.slow
@given(cases)
@settings(max_examples=40)
def test_the_search_never_loses_and_ends_where_no_single_move_helps(case):
    Q, D, seed, order = case
    values = random_values(Q, D, seed)
    found = insert_by_gap(of_pairs(values), np.array(order, np.int32)).tolist()
    assert sorted(found) == list(range(Q))
    best = value_of(values, found)
    assert best >= value_of(values, order) - 1e-9
    others = [placed(found, place, target) for place in range(Q) for target in range(Q)]
    assert max(value_of(values, other) for other in others) <= best + 1e-6


@pytest.mark.slow
@given(cases)
@settings(max_examples=40)
def test_it_makes_the_moves_of_the_search_that_swaps_neighbours(case):
    Q, D, seed, order = case
    values, ranking = random_values(Q, D, seed), np.array(order, np.int32)
    found = insert_by_gap(of_pairs(values), ranking)
    assert found.tolist() == by_swaps(values, ranking.copy()).tolist()


def test_one_item_stays_where_it_is():
    assert insert_by_gap(np.empty((0, 1)), np.zeros(1, np.int32)).tolist() == [0]


def after_passes(values, order, n_passes):
    """The order after so many passes over all items, each put where the whole order is best."""
    worth = [value_of(values, order)]
    for _ in range(n_passes):
        for item in range(len(order)):
            position = list(order).index(item)
            tried = [placed(order, position, target) for target in range(len(order))]
            totals = [value_of(values, each) for each in tried]
            if max(totals) > value_of(values, order) + 1e-7:
                order = tried[int(np.argmax(totals))]
        worth.append(value_of(values, order))
    return list(order), np.diff(worth)


@pytest.mark.parametrize("seed", range(6))
def test_it_may_end_after_a_pass_that_gains_little(seed):
    """The pass whose gain is below a part of the first's is the last, by whole evaluations."""
    Q, values = 12, random_values(12, 11, seed)
    start = np.random.default_rng(seed).permutation(Q).astype(np.int32)
    _, gains = after_passes(values, start.tolist(), 8)
    for enough in (1.0, 0.3, 0.05):
        few = [n for n in range(1, 8) if gains[n] < enough * gains[0]]
        expected, _ = after_passes(values, start.tolist(), few[0] + 1)
        assert insert_by_gap(of_pairs(values), start, enough=enough).tolist() == expected
