"""Positions and orders, Kendall's distance against a double loop, matching against brute force."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from mallowmix.errors import DataError
from mallowmix.model.permutations import (
    as_permutations,
    discordant_pairs,
    kendall,
    match_components,
    order_of,
    sigma_of,
)
from strategies import rankings

couples = rankings(most=7).flatmap(
    lambda sigma: st.tuples(st.just(sigma), st.permutations(sigma).map(tuple))
)
sets_of_rankings = st.lists(st.permutations(range(4)), min_size=1, max_size=4)


@given(couples)
def test_kendall_is_the_fraction_of_discordant_pairs(couple):
    distance = oracles.kendall_distance(*couple)
    assert discordant_pairs(*couple) == distance
    n_pairs = len(couple[0]) * (len(couple[0]) - 1) / 2
    assert kendall(*couple) == (distance / n_pairs if n_pairs else 0)


def test_kendall_at_its_ends():
    assert kendall([0, 1, 2, 3], [0, 1, 2, 3]) == 0
    assert kendall([0, 1, 2, 3], [3, 2, 1, 0]) == 1
    assert kendall([0], [0]) == 0


@given(rankings())
def test_order_and_sigma_are_inverse(sigma):
    order = order_of(sigma)
    assert [sigma[item] for item in order] == list(range(len(sigma)))
    assert sigma_of(order).tolist() == list(sigma)


def test_order_of_many_rows():
    assert order_of([[2, 0, 1], [0, 1, 2]]).tolist() == [[1, 2, 0], [0, 1, 2]]


@given(sets_of_rankings, sets_of_rankings)
def test_matching_has_the_least_total_distance(found, truth):
    matching = match_components(found, truth)
    assert matching.kendall.sum() == pytest.approx(least_total(found, truth))
    assert matching.kendall.tolist() == [
        pytest.approx(oracles.kendall_distance(tuple(found[f]), tuple(truth[t])) / 6)
        for f, t in zip(matching.found, matching.truth, strict=True)
    ]


def least_total(found, truth) -> float:
    """Over all ways to give each of the smaller set its own of the larger set."""
    few, many = sorted((found, truth), key=len)
    return min(
        sum(oracles.kendall_distance(tuple(a), tuple(b)) for a, b in zip(few, chosen, strict=True))
        / 6
        for chosen in permutations(many, len(few))
    )


def test_matching_names_who_is_left_over():
    a, b, c = [0, 1, 2], [2, 1, 0], [0, 2, 1]
    more_found = match_components([c, b, a], [a, b])
    assert (more_found.found.tolist(), more_found.truth.tolist()) == ([2, 1], [0, 1])
    assert (more_found.unmatched_found, more_found.unmatched_truth) == ([0], [])
    assert match_components([b], [a, b]).unmatched_truth == [0]


def test_matching_takes_single_rankings():
    assert match_components([0, 1, 2], [0, 2, 1]).kendall.tolist() == [pytest.approx(1 / 3)]


@pytest.mark.parametrize(
    "bad",
    [[0, 0], [1, 2], [[0, 1], [1, 1]], [], 3, [0.5, 1], ["a", "b"], [[0, 1], [0]], [0, np.nan]],
)
def test_what_is_no_permutation(bad):
    with pytest.raises(DataError, match="sigma must hold permutations of 0 … Q-1, one a row"):
        as_permutations(bad)


def test_permutations_pass():
    assert as_permutations([1.0, 0.0]).dtype == np.int32
    assert as_permutations([[1, 0, 2], [2, 1, 0]]).tolist() == [[1, 0, 2], [2, 1, 0]]


def test_rankings_of_different_things():
    with pytest.raises(DataError, match="have 2 and 3 items; they must be of the same items"):
        match_components([[0, 1]], [[0, 1, 2]])
    with pytest.raises(
        DataError,
        match=r"Two single rankings of the same items are needed; got the shapes \(3,\) and \(1,\)",
    ):
        kendall([0, 1, 2], [0])
    with pytest.raises(DataError, match=r"got the shapes \(1, 2\)"):
        discordant_pairs([[0, 1]], [[0, 1]])
