"""Ratings to comparisons: against a double loop over every two ratings of a person."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mallowmix as mm
from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, OptionError
from mallowmix.readers.rating_forms import capped, rated_pairs
from oracles import labelled_rows

ROWS = [
    ("ann", "Alien", 5),
    ("ann", "Brazil", 3),
    ("ann", "Casablanca", 3),
    ("bob", "Brazil", 1),
    ("bob", "Alien", 2.5),
    ("eve", "Casablanca", 4),
]
COLUMNS = tuple(zip(*ROWS, strict=True))


def slow(rows) -> tuple[list[tuple], int]:
    """(user, winner, loser) of every pair that a person rated differently, and how many they rated
    alike.
    """
    wins, ties = [], 0
    for a, (user, item, stars) in enumerate(rows):
        for other, thing, more in rows[a + 1 :]:
            if user == other and stars != more:
                wins.append((user, item, thing) if stars > more else (user, thing, item))
            ties += user == other and stars == more
    return wins, ties


def test_the_higher_rating_wins_and_equal_ratings_say_nothing():
    comparisons = mm.comparisons_from_ratings(*COLUMNS)
    assert labelled_rows(comparisons) == [
        ("ann", "Alien", "Brazil", 1.0),
        ("ann", "Alien", "Casablanca", 1.0),
        ("bob", "Alien", "Brazil", 1.0),
    ]
    assert comparisons.users.tolist() == ["ann", "bob", "eve"], (
        "who rated one thing is there, without a comparison"
    )
    assert comparisons.per_user().tolist() == [2, 1, 0]


def test_ties_are_counted():
    found = rated_pairs(*COLUMNS)
    assert (found.n_ties, found.n_ratings) == (1, 6)


def test_half_a_win_for_each_side_of_a_tie():
    rows = labelled_rows(mm.comparisons_from_ratings(*COLUMNS, ties="half"))
    assert [row for row in rows if row[3] == 0.5] == [
        ("ann", "Brazil", "Casablanca", 0.5),
        ("ann", "Casablanca", "Brazil", 0.5),
    ]
    assert len(rows) == 5


ratings = st.dictionaries(
    st.tuples(st.sampled_from([1, 2, 10, 33]), st.sampled_from([7, 70, 8, 9, 100])),
    st.integers(1, 5),
    min_size=1,
)


@given(table=ratings, order=st.randoms(use_true_random=False))
def test_the_kernel_agrees_with_a_double_loop_and_makes_the_normal_form(table, order):
    rows = [(user, item, stars) for (user, item), stars in table.items()]
    wins, ties = slow(rows)
    order.shuffle(rows)
    columns = zip(*rows, strict=True)
    if not wins:
        with pytest.raises(
            DataError, match="There are no comparisons: nobody rated two things differently"
        ):
            rated_pairs(*columns)
        return
    found = rated_pairs(*columns)
    expected = Comparisons.from_arrays(*zip(*wins, strict=True))
    # the same rows in the same order
    assert labelled_rows(found.comparisons) == labelled_rows(expected)
    assert found.n_ties == ties
    whole = found.comparisons
    rows = (whole.user, whole.winner, whole.loser, whole.weight, whole.items, whole.users)
    assert Comparisons.from_codes(*rows, ranking_id=np.zeros(len(whole))) == whole
    assert Comparisons.from_codes(*rows) == whole.without_ranking_id()


@given(table=ratings)
def test_half_ties_are_in_normal_form_and_weigh_as_much_as_all_pairs(table):
    rows = [(user, item, stars) for (user, item), stars in table.items()]
    per_user = [sum(user == name for user, _, _ in rows) for name in {user for user, _, _ in rows}]
    if max(per_user) < 2:
        return
    whole = mm.comparisons_from_ratings(*zip(*rows, strict=True), ties="half")
    assert whole.n_comparisons == sum(n * (n - 1) / 2 for n in per_user)
    rows = (whole.user, whole.winner, whole.loser, whole.weight, whole.items, whole.users)
    assert Comparisons.from_codes(*rows, ranking_id=np.zeros(len(whole))) == whole
    assert Comparisons.from_codes(*rows) == whole.without_ranking_id()


def test_top_items_are_those_rated_most_and_equal_counts_go_by_text():
    user = ["a", "a", "a", "a", "b", "b", "b", "c", "c"]
    # 10: three ratings; 2, 5 and 9: two each; as text, 10 < 2 < 5 < 9
    item = [10, 9, 2, 5, 10, 9, 2, 10, 5]
    stars = [1, 2, 3, 4, 1, 2, 3, 1, 2]
    assert mm.comparisons_from_ratings(user, item, stars, top_items=2).items.tolist() == [10, 2]
    assert mm.comparisons_from_ratings(user, item, stars, top_items=3).items.tolist() == [10, 2, 5]
    everything = mm.comparisons_from_ratings(user, item, stars)
    assert mm.comparisons_from_ratings(user, item, stars, top_items=99) == everything
    assert everything.items.tolist() == [10, 2, 5, 9]


def test_top_items_are_counted_before_ties_are_dropped_and_keep_everybody():
    comparisons = mm.comparisons_from_ratings(
        ["a", "a", "b", "b", "c"], ["x", "y", "x", "y", "z"], [1, 2, 3, 3, 5], top_items=2
    )
    assert labelled_rows(comparisons) == [("a", "y", "x", 1.0)]
    assert comparisons.users.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("make", [list, np.array, pa.array, pd.Series, pl.Series])
def test_columns_of_any_kind(make):
    user, item, stars = list(COLUMNS[0]), list(COLUMNS[1]), [float(value) for value in COLUMNS[2]]
    assert mm.comparisons_from_ratings(
        make(user), make(item), make(stars)
    ) == mm.comparisons_from_ratings(*COLUMNS)


def test_labels_keep_their_type_and_stars_may_be_text():
    comparisons = mm.comparisons_from_ratings([7, 7], [1.0, 2.0], ["3.5", "4"])
    assert comparisons.users.tolist() == [7]
    assert labelled_rows(comparisons) == [(7, 2, 1, 1.0)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            (["a", "b", "a"], [1, 1, 1], [2, 3, 4]),
            r"User 'a' rates 1 more than once\. Keep one rating of each thing",
        ),
        (
            (["a", "a", "a"], [1, 1, 1], [2, 3, 4]),
            r"User 'a' rates 1 more than once \(and 1 more such rows\)",
        ),
        (
            (["a", "a"], [1, 2], [3, float("nan")]),
            r"Row 2: the rating is missing or not a finite number\. Leave out",
        ),
        (
            (["a", "a", "a"], [1, 2, 3], [None, 3, None]),
            r"Row 1: the rating is missing .* \(and 1 more like it\)",
        ),
        (
            (["a", "a"], [1, 2], [3, float("inf")]),
            r"Row 2: the rating is missing or not a finite number",
        ),
        (
            (["a", "a"], [1, 2], ["good", "bad"]),
            r"The ratings are not a column of numbers: give how many stars",
        ),
        (
            (["a", None], [1, 2], [3, 4]),
            r"Row 2: the user is missing\. Fill such rows in, or leave them out",
        ),
        ((["a", "a"], ["x", ""], [3, 4]), r"Row 2: the item is missing"),
        (
            (["a", "a"], ["x"], [3, 4]),
            r"user, item and rating have 2, 1, 2 rows; they must be equally long",
        ),
        (([], [], []), r"There are no ratings: give at least one row"),
        (
            (["a", "b"], ["x", "y"], [3, 4]),
            r"There are no comparisons: nobody rated two things differently",
        ),
    ],
)
def test_what_cannot_be_used_is_named(columns, message):
    with pytest.raises(DataError, match=message):
        mm.comparisons_from_ratings(*columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"ties": "win"}, "ties is 'win'"), ({"top_items": 1}, "top_items is 1; .* 2")],
)
def test_options_out_of_range(options, message):
    with pytest.raises(OptionError, match=message):
        mm.comparisons_from_ratings(*COLUMNS, **options)


def test_capped_people_count_as_if_they_had_made_so_many():
    comparisons = mm.comparisons_from_ratings(
        ["a"] * 5 + ["b", "b", "c"], [1, 2, 3, 4, 5, 1, 2, 1], [1, 2, 3, 4, 5, 1, 2, 1]
    )
    assert comparisons.per_user().tolist() == [10, 1, 0]
    assert capped(comparisons, 4).user_weight.tolist() == [0.4, 1, 1]
    assert capped(capped(comparisons, 5), 5).user_weight.tolist() == [0.25, 1, 1], (
        "it multiplies what is there"
    )
    assert labelled_rows(capped(comparisons, 4)) == labelled_rows(comparisons)
    with pytest.raises(OptionError, match="most is 0; it must be above 0"):
        capped(comparisons, 0)
