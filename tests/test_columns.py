"""Checked columns: the same rows from any holder, and a message, with its row, for everything that
is wrong with them.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, OptionError
from oracles import labelled_rows
from strategies import bad_rows

from_arrays = Comparisons.from_arrays
ROWS = {"user": ["b", "a", "a"], "winner": [2, 1, 2], "loser": [1, 3, 3], "weight": [1.0, 2.0, 0.5]}


class TestHolders:
    @pytest.mark.parametrize(
        "table",
        [
            pd.DataFrame,
            pl.DataFrame,
            pa.table,
            lambda rows: {k: np.array(v) for k, v in rows.items()},
        ],
    )
    def test_any_holder_gives_the_same(self, table):
        held = table(ROWS)
        from_held = from_arrays(held["user"], held["winner"], held["loser"], held["weight"])
        assert from_held == from_arrays(**ROWS)
        assert labelled_rows(from_held) == labelled_rows(from_arrays(**ROWS))

    @pytest.mark.parametrize(
        "weight",
        [
            pd.Series([1, 2, None], dtype="Int64"),
            pl.Series([1, 2, None]),
            pa.array([1, 2, None]),
            [1, 2, None],
            [1, 2, np.nan],
        ],
    )
    def test_a_missing_weight_in_any_holder(self, weight):
        with pytest.raises(DataError, match=r"^Row 3: the weight is missing"):
            from_arrays(["a"] * 3, [1, 2, 3], [2, 3, 1], weight)
        assert len(from_arrays(["a"] * 3, [1, 2, 3], [2, 3, 1], weight, missing="drop")) == 2


class TestMessages:
    @pytest.mark.slow
    @given(bad_rows())
    def test_a_spoilt_row_is_named(self, bad):
        with pytest.raises(DataError) as caught:
            from_arrays(*bad.rows)
        assert str(caught.value).startswith(f"Row {bad.row + 1}: ")
        assert bad.says in str(caught.value)

    @given(bad_rows())
    def test_what_a_policy_drops_leaves_the_rest(self, bad):
        table = list(zip(*bad.rows, strict=True))
        rest = table[: bad.row] + table[bad.row + 1 :]
        droppable = "itself" in bad.says or "missing" in bad.says
        if not droppable or not rest:
            with pytest.raises(
                DataError, match="There are no comparisons" if droppable else bad.says
            ):
                from_arrays(*bad.rows, self_pairs="drop", missing="drop")
        else:
            assert from_arrays(*bad.rows, self_pairs="drop", missing="drop") == from_arrays(
                *zip(*rest, strict=True)
            )

    def test_self_pairs(self):
        columns = ["u17", "u17", "u18"], ["milk", "tea", "milk"], ["tea", "tea", "milk"]
        with pytest.raises(DataError) as caught:
            from_arrays(*columns)
        assert str(caught.value) == (
            "Row 2: user 'u17' compares 'tea' with itself (and 1 more like it). Drop such rows, "
            'or pass self_pairs="drop".'
        )
        assert labelled_rows(from_arrays(*columns, self_pairs="drop")) == [
            ("u17", "milk", "tea", 1.0)
        ]

    def test_self_pairs_of_numbers_and_of_mixed_columns(self):
        with pytest.raises(DataError, match=r"^Row 1: user 3 compares 7 with itself[.] Drop"):
            from_arrays([3], [7], [7])
        with pytest.raises(DataError, match=r"^Row 1: user 3 compares '7' with itself"):
            from_arrays([3], [7], ["7"])

    def test_where_puts_the_row_into_words(self):
        with pytest.raises(DataError, match=r"^votes.csv line 813: the user is missing"):
            from_arrays(
                ["a", None], ["x", "y"], ["y", "x"], where=lambda row: f"votes.csv line {row + 812}"
            )

    def test_missing_values(self):
        columns = ["a", None, "b", ""], ["x", "y", None, "y"], ["y", "x", "y", "x"]
        with pytest.raises(DataError) as caught:
            from_arrays(*columns)
        assert str(caught.value) == (
            "Row 2: the user is missing (and 1 more like it). Fill such rows in, or pass "
            'missing="drop".'
        )
        assert labelled_rows(from_arrays(*columns, missing="drop")) == [("a", "x", "y", 1.0)]

    def test_weights(self):
        columns = ["a", "a"], ["x", "y"], ["y", "z"]
        for weight, message in [
            (
                [1, np.inf],
                "^Row 2: the weight inf is not a finite number. Weights are counts of at least 0",
            ),
            (
                [-1, -2],
                r"^Row 1: the weight -1 is negative \(and 1 more like it\). Weights are counts",
            ),
            ([1], "^There are 1 weights for 2 comparisons; there must be one each"),
            (
                ["one", "two"],
                "^The weights are not a list of numbers: give how often each comparison was made",
            ),
            ([[1], [2]], "^The weights are not a list of numbers"),
            (2, "^The weights are not a list of numbers"),
        ]:
            with pytest.raises(DataError, match=message):
                from_arrays(*columns, weight)
        assert from_arrays(*columns, ["1", "2"]).weight.tolist() == [1, 2]

    def test_a_bad_weight_of_a_dropped_row_is_dropped_with_it(self):
        assert len(from_arrays(["a", None], ["x", "y"], ["y", "z"], [1, -5], missing="drop")) == 1

    def test_unequal_lengths(self):
        with pytest.raises(
            DataError, match=r"^user, winner and loser have 2, 1, 1 rows; they must be equally long"
        ):
            from_arrays(["a", "b"], ["x"], ["y"])

    @pytest.mark.parametrize(
        "columns", [([], [], []), ([None], ["x"], ["y"]), (["u"], ["x"], ["y"], [0])]
    )
    def test_empty_data(self, columns):
        with pytest.raises(
            DataError,
            match=r"^There are no comparisons: give at least one row of user, winner, loser",
        ):
            from_arrays(*columns, missing="drop")

    def test_policies(self):
        for option in ("self_pairs", "missing"):
            with pytest.raises(
                OptionError, match=f"^{option} is 'skip'; it must be one of 'error', 'drop'"
            ):
                from_arrays(["a"], ["x"], ["y"], **{option: "skip"})
