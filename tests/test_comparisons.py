"""Comparisons: one normal form whatever the input looked like, and a message for everything that is
wrong with it.
"""

import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, OptionError
from oracles import labelled_rows
from strategies import good_rows

from_arrays = Comparisons.from_arrays
ARRAYS = ("user", "winner", "loser", "weight", "user_weight")


def small() -> Comparisons:
    """Ann: tea over milk twice, water over tea once; Bob: milk over tea three times."""
    return from_arrays(
        ["bob", "ann", "ann"], ["milk", "tea", "water"], ["tea", "milk", "tea"], [3, 2, 1]
    )


def assert_same_arrays(one: Comparisons, other: Comparisons) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


class TestNormalForm:
    @given(good_rows())
    def test_rows_are_counted_by_label(self, rows):
        """The oracle: a dictionary of counts, sorted by text."""
        counts: dict[tuple, int] = {}
        for user, winner, loser, weight in zip(*rows, strict=True):
            counts[user, winner, loser] = counts.get((user, winner, loser), 0) + weight
        expected = [
            (*key, count)
            for key, count in sorted(counts.items(), key=lambda entry: tuple(map(str, entry[0])))
        ]
        assert labelled_rows(from_arrays(*rows)) == expected

    @pytest.mark.slow
    @given(good_rows(st.floats(0.01, 9)), st.randoms(use_true_random=False))
    def test_row_order_changes_nothing(self, rows, shuffler):
        table = list(zip(*rows, strict=True))
        shuffler.shuffle(table)
        one, other = from_arrays(*rows), from_arrays(*zip(*table, strict=True))
        assert_same_arrays(one, other)
        assert one == other
        assert one.fingerprint() == other.fingerprint()

    @pytest.mark.slow
    @given(good_rows())
    def test_an_integer_weight_is_that_many_rows(self, rows):
        table = [row[:3] for row in zip(*rows, strict=True) for _ in range(row[3])]
        random.Random(1).shuffle(table)
        repeated = from_arrays(*zip(*table, strict=True))
        assert_same_arrays(from_arrays(*rows), repeated)
        assert from_arrays(*rows) == repeated

    def test_a_weight_of_nought_is_no_row(self):
        """Nor do its labels exist: as with that many repetitions."""
        assert from_arrays(["a", "b"], ["x", "y"], ["y", "z"], [1, 0]) == from_arrays(
            ["a"], ["x"], ["y"]
        )

    @pytest.mark.slow
    @given(good_rows())
    def test_an_order_preserving_relabelling_gives_the_same_arrays(self, rows):
        def renamed(values):
            return ["_" + str(value) for value in values]

        one = from_arrays(*rows)
        other = from_arrays(
            renamed(rows.user), renamed(rows.winner), renamed(rows.loser), rows.weight
        )
        assert_same_arrays(one, other)
        assert one != other

    def test_numbering_is_by_text(self):
        for labels in ([2, 10, 1], ["2", "10", "1"]):
            comparisons = from_arrays(["u"] * 3, labels, labels[1:] + labels[:1])
            assert [str(item) for item in comparisons.items] == ["1", "10", "2"]
            assert comparisons.winner.tolist() == [0, 1, 2]

    def test_whole_numbers_and_text_in_two_columns_are_matched_by_text(self):
        mixed = from_arrays([1, 2], [7, 8], ["8", "7"])
        assert mixed.items.tolist() == ["7", "8"]
        assert mixed.users.tolist() == [1, 2]
        assert_same_arrays(mixed, from_arrays([1, 2], [7, 8], [8, 7]))

    def test_a_gap_does_not_double_the_items(self):
        """A dataframe turns the loser column into floats; its items are still the winners'."""
        frame = pd.DataFrame({"user": [1, 1, 2], "winner": [10, 11, 10], "loser": [11, None, 12]})
        comparisons = from_arrays(frame["user"], frame["winner"], frame["loser"], missing="drop")
        assert comparisons.items.tolist() == [10, 11, 12]

    def test_arrays_are_read_only(self):
        for name in (*ARRAYS, "items", "users"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(small(), name)[0] = 0


class TestUserWeight:
    columns = ["a", "b"], ["x", "y"], ["y", "x"]

    def test_by_name(self):
        assert from_arrays(
            *self.columns, user_weight={"b": 2, "a": 0, "else": 9}
        ).user_weight.tolist() == [0, 2]
        assert from_arrays(
            [1, 2], [3, 4], [4, 3], user_weight={"1": 5, 2: 6}
        ).user_weight.tolist() == [5, 6]

    def test_unless_given_everybody_counts_once(self):
        assert from_arrays(*self.columns).user_weight.tolist() == [1, 1]
        assert from_arrays(*self.columns) != from_arrays(
            *self.columns, user_weight={"a": 1, "b": 2}
        )

    @pytest.mark.parametrize(
        ("user_weight", "message"),
        [
            ({"a": 1}, "^user_weight has no entry for user 'b'[.] Give every user a number"),
            ({}, r"^user_weight has no entry for user 'a' \(and 1 more like it\)"),
            (
                {"a": 1, "b": -2},
                "^user_weight of user 'b' is -2; it must be a finite number of at least 0",
            ),
            ({"a": np.nan, "b": 1}, "^user_weight of user 'a' is nan; it must be a finite number"),
            ({"a": 1, "b": "much"}, "^user_weight holds something that is not a number"),
            ([1, 2], "^user_weight is a list; give a mapping from each user to a number"),
        ],
    )
    def test_messages(self, user_weight, message):
        with pytest.raises(DataError, match=message):
            from_arrays(*self.columns, user_weight=user_weight)


class TestFromCodes:
    def test_labels_keep_their_order(self):
        comparisons = Comparisons.from_codes(
            [1, 0, 1], [0, 1, 0], [1, 2, 1], None, ["z", "y", "x"], ["v", "u"]
        )
        assert labelled_rows(comparisons) == [("v", "y", "x", 1.0), ("u", "z", "y", 2.0)]

    @pytest.mark.parametrize(
        ("codes", "message"),
        [
            (
                ([2], [0], [1], None),
                "^The user number 2 points to no label; there are 2, numbered from 0",
            ),
            (([0], [-1], [1], None), "^The winner number -1 points to no label; there are 3"),
            (([0], [0], [3], None), "^The loser number 3 points to no label"),
            (([0], [1], [1], None), "^Row 1 compares a thing with itself"),
            (([0, 1], [1], [2], None), "^user, winner, loser and weight have 2, 1, 1 rows"),
            (([0], [1], [2], [1, 1]), "^user, winner, loser and weight have 1, 1, 1, 2 rows"),
            (([0], [1], [2], [-1]), "^A weight is negative or not a finite number"),
            (([0], [1], [2], [np.nan]), "^A weight is negative or not a finite number"),
        ],
    )
    def test_messages(self, codes, message):
        with pytest.raises(DataError, match=message):
            Comparisons.from_codes(*codes, ["a", "b", "c"], ["u", "v"])

    def test_twice_the_same_label_and_wrong_user_weights(self):
        with pytest.raises(
            DataError, match=r"^The item labels are not all different as text: 'a' is there twice"
        ):
            Comparisons.from_codes([0], [0], [1], None, ["a", "a"], ["u"])
        with pytest.raises(DataError, match=r"^user_weight has the shape \(2,\) for 1 users"):
            Comparisons.from_codes([0], [0], [1], None, ["a", "b"], ["u"], [1, 2])


class TestViews:
    def test_sizes(self):
        comparisons = small()
        assert (
            comparisons.n_users,
            comparisons.n_items,
            comparisons.n_comparisons,
            len(comparisons),
        ) == (2, 3, 6.0, 3)
        assert comparisons.per_user().tolist() == [3, 3]
        assert comparisons.starts().tolist() == [0, 2, 3]
        assert comparisons.pair.tolist() == [1 * 3 + 0, 2 * 3 + 1, 0 * 3 + 1]
        assert repr(comparisons) == "Comparisons(6 comparisons of 3 items by 2 users)"

    def test_a_large_number_is_written_out(self):
        assert (
            repr(from_arrays([1], [2], [3], [1_234_567]))
            == "Comparisons(1,234,567 comparisons of 2 items by 1 users)"
        )

    @given(good_rows(), st.data())
    def test_take_users_keeps_their_rows_and_the_items(self, rows, data):
        comparisons = from_arrays(*rows)
        chosen = data.draw(st.permutations(range(comparisons.n_users)))[
            : data.draw(st.integers(0, comparisons.n_users))
        ]
        taken = comparisons.take_users(chosen)
        names = comparisons.users.tolist()
        assert taken.users.tolist() == [names[m] for m in chosen]
        assert taken.items.tolist() == comparisons.items.tolist()
        assert labelled_rows(taken) == [
            row for m in chosen for row in labelled_rows(comparisons) if row[0] == names[m]
        ]
        assert taken.starts()[-1] == len(taken)

    def test_take_users_by_mask_and_with_their_weight(self):
        comparisons = from_arrays(["a", "b"], ["x", "y"], ["y", "x"], user_weight={"a": 1, "b": 3})
        taken = comparisons.take_users(np.array([False, True]))
        assert (taken.users.tolist(), taken.user_weight.tolist()) == (["b"], [3])
        assert taken == comparisons.of("b")

    @pytest.mark.parametrize(
        ("numbers", "message"),
        [
            ([0, 0], "^A user is named twice; give each once"),
            ([2], "^The user number 2 points to no label; there are 2"),
            ([-1], "^The user number -1 points to no label"),
            (np.array([True]), "^The mask has 1 entries for 2 users"),
        ],
    )
    def test_take_users_messages(self, numbers, message):
        with pytest.raises(DataError, match=message):
            small().take_users(numbers)

    def test_of(self):
        assert labelled_rows(small().of("bob")) == [("bob", "milk", "tea", 3.0)]
        assert small().of("bob", "ann").users.tolist() == ["bob", "ann"]
        by_number = from_arrays([17, 18], ["x", "y"], ["y", "x"])
        assert by_number.of(17) == by_number.of("17")

    def test_of_nobody(self):
        with pytest.raises(
            DataError, match=r"^There is no user 'eve' among the 2 users: 'ann', 'bob'[.]"
        ):
            small().of("ann", "eve")
        with pytest.raises(
            DataError, match=r"^There is no user 99 among the 7 users: 0, 1, 2, 3, 4, …"
        ):
            from_arrays(range(7), ["x"] * 7, ["y"] * 7).of(99)

    def test_with_items_renumbers(self):
        wider = small().with_items(["water", "coffee", "tea", "milk"])
        assert wider.items.tolist() == ["water", "coffee", "tea", "milk"]
        assert sorted(labelled_rows(wider)) == sorted(labelled_rows(small()))

    def test_with_the_same_items_nothing_changes(self):
        assert small().with_items(["milk", "tea", "water"]) == small()
        numbers = from_arrays(["u"], [1], [2]).with_items(["1", "2"])
        assert numbers.items.tolist() == ["1", "2"]

    def test_with_unknown_items(self):
        with pytest.raises(DataError) as caught:
            small().with_items(["tea", "milk"])
        assert str(caught.value) == (
            "1 of the 3 items is unknown: 'water'. "
            'Leave their comparisons out with unknown_items="drop", or fit a model that knows them.'
        )
        dropped = small().with_items(["tea", "milk"], unknown_items="drop")
        assert labelled_rows(dropped) == [("ann", "tea", "milk", 2.0), ("bob", "milk", "tea", 3.0)]
        assert len(small().with_items(["beer"], unknown_items="drop")) == 0
        with pytest.raises(
            DataError, match=r"^7 of the 7 items are unknown: 0, 1, 2, 3, 4, …\. Leave"
        ):
            from_arrays(["u"] * 7, range(7), [(i + 1) % 7 for i in range(7)]).with_items(["x"])

    def test_an_unknown_item_that_was_never_compared_does_no_harm(self):
        bob = small().of("bob")
        assert "water" in bob.items
        assert labelled_rows(bob.with_items(["tea", "milk"])) == [("bob", "milk", "tea", 3.0)]

    def test_with_items_options(self):
        with pytest.raises(OptionError, match="unknown_items is 'ignore'"):
            small().with_items(["tea"], unknown_items="ignore")
        with pytest.raises(DataError, match="item labels are not all different"):
            small().with_items(["tea", "tea", "milk", "water"])

    @pytest.mark.slow
    @given(good_rows(st.floats(0.01, 9)))
    def test_to_arrow_and_back(self, rows):
        comparisons = from_arrays(*rows)
        table = comparisons.to_arrow()
        assert table.column_names == ["user", "winner", "loser", "weight"]
        assert [tuple(row.values()) for row in table.to_pylist()] == labelled_rows(comparisons)
        assert from_arrays(*table.columns) == comparisons

    def test_to_arrow_of_nobody(self):
        assert small().take_users([]).to_arrow().num_rows == 0


class TestFingerprint:
    def test_every_part_counts(self):
        base = {"user": ["a"], "winner": ["x"], "loser": ["y"], "weight": [1.0]}
        variants = [
            base,
            *(
                {**base, name: [value]}
                for name, value in [("user", "b"), ("winner", "z"), ("loser", "z"), ("weight", 2.0)]
            ),
        ]
        prints = {from_arrays(**variant).fingerprint() for variant in variants}
        prints.add(from_arrays(**base, user_weight={"a": 2}).fingerprint())
        assert len(prints) == 6

    def test_labels_with_separators_in_them_do_not_meet(self):
        one = Comparisons.from_codes([0], [0], [1], None, ["a\x1fb", "c"], ["u"])
        other = Comparisons.from_codes([0], [0], [1], None, ["a", "b\x1fc"], ["u"])
        assert one.fingerprint() != other.fingerprint()

    def test_not_equal_to_other_things(self):
        assert small() != "comparisons"
        with pytest.raises(TypeError, match="unhashable"):
            hash(small())
