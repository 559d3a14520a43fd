"""Rankings: what goes in comes out, whatever the order of rows; what cannot be a ranking is refused
in words.
"""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.data.rankings import Rankings
from mallowmix.errors import DataError

ORDERS = [
    ["tea", ["milk", "juice"], "water"],
    ["water", "tea"],
    ["tea", ["juice", "milk"], "water"],
]


def test_orders_with_ties_come_out_as_places():
    rankings = Rankings.from_orders(ORDERS, users=["b", "a", "b"])
    assert rankings.items.tolist() == ["juice", "milk", "tea", "water"]
    assert rankings.users.tolist() == ["a", "b"]
    assert rankings.positions().tolist() == [[-1, -1, 1, 0], [1, 1, 0, 2]]
    # the tie is the same in whichever order it is written
    assert rankings.weight.tolist() == [1, 2]
    assert rankings.has_ties and not rankings.is_full
    assert repr(rankings) == "Rankings(3 partial rankings of 4 items by 2 users)"


def test_long_table_says_the_same_as_orders():
    long = [
        ("b", "tea", 1.0, 1),
        ("b", "milk", 5, 1),
        ("b", "juice", 5, 1),
        ("b", "water", 7, 1),
        ("a", "water", -3, 9),
    ]
    long += [
        ("a", "tea", 0, 9),
        ("b", "water", 4, 2),
        ("b", "tea", 1, 2),
        ("b", "milk", 3, 2),
        ("b", "juice", 3, 2),
    ]
    for rows in (long, long[::-1]):
        user, item, place, which = zip(*rows, strict=True)
        assert Rankings.from_arrays(user, item, place, ranking=which) == Rankings.from_orders(
            ORDERS, users=["b", "a", "b"]
        )


def test_top_k_ends_in_one_tie():
    rankings = Rankings.from_orders([["b", "a"]], items=["a", "b", "c", "d"], unlisted="below")
    assert rankings.positions().tolist() == [[1, 0, 2, 2]]
    votes = rankings.comparisons()
    pairs = set(zip(votes.items[votes.winner], votes.items[votes.loser], strict=True))
    assert pairs == {("b", "a"), ("b", "c"), ("b", "d"), ("a", "c"), ("a", "d")}


@st.composite
def weak_orders(draw):
    """A few people's weak orders of some of six things, as places (−1 for not listed)."""
    places = draw(
        st.lists(st.lists(st.integers(-1, 5), min_size=6, max_size=6), min_size=1, max_size=5)
    )
    return [row for row in places if max(row) >= 0] or [[0] * 6]


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(weak_orders(), st.sampled_from(["drop", "half"]), st.randoms())
def test_comparisons_are_the_pairs_that_an_enumeration_finds(places, ties, random):
    rows = [
        (m, i, place) for m, row in enumerate(places) for i, place in enumerate(row) if place >= 0
    ]
    random.shuffle(rows)
    user, item, place = zip(*rows, strict=True)
    rankings = Rankings.from_arrays(user, item, place)
    expected = {}
    for m, row in enumerate(places):
        for i, j in combinations(range(6), 2):
            if min(row[i], row[j]) < 0 or (row[i] == row[j] and ties == "drop"):
                continue
            sides = (
                [(i, j), (j, i)] if row[i] == row[j] else [(i, j) if row[i] < row[j] else (j, i)]
            )
            expected.update({(m, *side): 1 / len(sides) for side in sides})
    if not expected:
        assert len(rankings.comparisons(ties)) == 0
        return
    table = rankings.comparisons(ties).to_arrow().to_pydict()
    found = dict(
        zip(
            zip(table["user"], table["winner"], table["loser"], strict=True),
            table["weight"],
            strict=True,
        )
    )
    assert found == expected


def test_full_rankings_from_positions_and_back():
    sigma = np.array([[2, 0, 1], [0, 1, 2]])
    rankings = Rankings.from_sigma(sigma)
    assert rankings.is_full and np.array_equal(rankings.positions(), sigma)
    assert np.array_equal(rankings.take_users([1, 0]).positions(), sigma[::-1])
    assert len(rankings.comparisons()) == 6
    assert mm.Rankings is Rankings


def test_weights_are_repetitions_and_go_into_comparisons():
    once = Rankings.from_orders([["a", "b"]] * 3 + [["b", "a"]], users=["u"] * 4)
    weighted = Rankings.from_orders([["b", "a"], ["a", "b"]], users=["u", "u"], weight=[1, 3])
    assert once == weighted
    assert weighted.comparisons().weight.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rankings.from_orders([]), "There are no rankings"),
        (
            lambda: Rankings.from_orders(["abc"]),
            "Ranking 1 is the text 'abc'; give a list of items, best first.",
        ),
        (lambda: Rankings.from_orders([["a", "b", "a"]]), "The ranking of user 1 lists 'a' twice."),
        (
            lambda: Rankings.from_orders([["a"]], users=["x", "y"]),
            "There are 2 users for 1 rankings",
        ),
        (
            lambda: Rankings.from_orders([["a", "b"]], weight=[-1]),
            "weight must hold 1 finite numbers of at least 0",
        ),
        (lambda: Rankings.from_orders([["a", "b"]], weight=[0]), "all have weight 0"),
        (
            lambda: Rankings.from_arrays(["u"], ["a"], [np.nan]),
            "A position is missing or not a number.",
        ),
        (
            lambda: Rankings.from_arrays(["u"], ["a"], ["first"]),
            "A position is missing or not a number.",
        ),
        (
            lambda: Rankings.from_codes([0], [0], [3], [0], ["a"], ["u"]),
            "The item number of a ranking points to no label",
        ),
        (
            lambda: Rankings.from_codes([0, 0], [0], [0], [0], ["a"], ["u"]),
            "A ranking lists no item",
        ),
        (
            lambda: Rankings.from_orders(ORDERS).comparisons("error"),
            'Pass ties="drop" or ties="half"',
        ),
    ],
)
def test_what_is_no_ranking_is_refused_in_words(make, message):
    with pytest.raises(DataError) as raised:
        make()
    assert message in str(raised.value)
