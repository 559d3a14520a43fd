"""Labels: numbered in the order of their text, whatever holds them."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mallowmix.data import labels as labels_module
from mallowmix.data.labels import as_column, as_labels, check_distinct, encode, text_of
from mallowmix.errors import DataError
from strategies import text_labels, whole_labels

TEXT_HOLDERS = {
    "list": list,
    "tuple": tuple,
    "numpy text": np.array,
    "numpy objects": lambda values: np.array(values, object),
    "numpy strings": lambda values: np.array(values, np.dtypes.StringDType()),
    "pandas": pd.Series,
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
    "pandas arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.string())),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars categories": lambda values: pl.Series(values, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow large": lambda values: pa.array(values, pa.large_string()),
    "arrow view": lambda values: pa.array(values, pa.string_view()),
    "arrow chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
}
WHOLE_HOLDERS = {
    "list": list,
    "numpy": np.array,
    "numpy uint8": lambda values: np.array(values, np.uint8),
    "numpy floats": lambda values: np.array(values, float),
    "pandas": pd.Series,
    "pandas nullable": lambda values: pd.Series(values, dtype="Int64"),
    "polars": pl.Series,
    "arrow int16": lambda values: pa.array(values, pa.int16()),
}


@pytest.mark.parametrize("hold", TEXT_HOLDERS.values(), ids=TEXT_HOLDERS)
def test_text_from_any_holder(hold):
    column = as_column(hold(["tea", "milk", "tea"]), "user")
    assert (column.type, column.to_pylist()) == (pa.string(), ["tea", "milk", "tea"])


@pytest.mark.parametrize("hold", WHOLE_HOLDERS.values(), ids=WHOLE_HOLDERS)
def test_whole_numbers_from_any_holder(hold):
    column = as_column(hold([10, 9, 10]), "user")
    assert (column.type, column.to_pylist()) == (pa.int64(), [10, 9, 10])


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        [1.0, float("nan")],
        pd.Series([1, None]),
        pl.Series([1.0, float("nan")]),
        pa.array([1.0, float("nan")]),
    ],
)
def test_an_integer_column_with_a_gap_stays_one(values):
    """A dataframe holds it as floats; its labels are 1 and 2 all the same, not 1.0 and 2.0."""
    assert as_column(values, "user").to_pylist() == [1, None]


def test_true_fractions_stay_fractions():
    assert as_column([1.5, 2.0], "user").to_pylist() == [1.5, 2.0]
    assert as_column(np.array([2**63], np.uint64), "user").to_pylist() == [2**63]


@given(st.lists(text_labels, min_size=1) | st.lists(whole_labels, min_size=1))
def test_numbers_follow_the_order_of_the_text(values):
    (codes,), labels = encode(as_column(values, "user"))
    assert text_of(labels) == sorted(set(map(str, values)))
    assert [labels.tolist()[code] for code in codes] == values


def test_ten_comes_before_two():
    (codes,), labels = encode(as_column([2, 10, 1], "user"))
    assert (codes.tolist(), labels.tolist()) == ([2, 1, 0], [1, 10, 2])
    assert encode(as_column(["2", "10", "1"], "user"))[1].tolist() == ["1", "10", "2"]


def test_columns_are_numbered_together():
    (winners, losers), labels = encode(
        as_column(["b", "c"], "winner"), as_column(["a", "b"], "loser")
    )
    assert (winners.tolist(), losers.tolist(), labels.tolist()) == ([1, 2], [0, 1], ["a", "b", "c"])
    assert winners.dtype == np.int32


def test_seven_and_its_text_are_one_label():
    (winners, losers), labels = encode(as_column([7, 8], "winner"), as_column(["8", "7"], "loser"))
    assert (winners.tolist(), losers.tolist(), labels.tolist()) == ([0, 1], [1, 0], ["7", "8"])


def test_dates_truth_values_and_fractions_name_things_too():
    days = [datetime.date(2024, 2, 1), datetime.date(2023, 1, 1)]
    assert encode(as_column(days, "user"))[1].tolist() == days[::-1]
    assert encode(as_column([True, False], "user"))[1].tolist() == [False, True]
    assert encode(as_column([10.5, 9.5], "user"))[1].tolist() == [10.5, 9.5]


def test_labels_are_read_only_copies():
    given = np.array([3, 4])
    labels = as_labels(given)
    given[0] = 9
    assert labels.tolist() == [3, 4]
    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 5


def test_text_labels_are_python_strings():
    for holder in (["é", "b"], np.array(["é", "b"]), np.array(["é", "b"], np.dtypes.StringDType())):
        labels = as_labels(holder)
        assert labels.dtype == object
        assert [type(label) for label in labels] == [str, str]
    assert text_of(as_labels([1, 2])) == ["1", "2"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "a"], "^Column 'user' mixes kinds of values"),
        (5, "^Column 'user' mixes kinds of values or holds none that can name a thing"),
        ([2**70], "^Column 'user' mixes kinds of values"),
        (np.array([["a"]]), "^Column 'user' mixes kinds .*1-dimensional"),
        (
            [["a"]],
            "^Column 'user' has the type list<.*>, which cannot name a thing: give text or numbers",
        ),
        ([b"a"], "^Column 'user' has the type binary"),
        ("abc", "^Column 'user' is a str, not a column of labels: give a list or an array"),
        ({"a", "b"}, "^Column 'user' is a set, not a column"),
        ({"a": 1}, "^Column 'user' is a dict, not a column"),
    ],
)
def test_what_cannot_name_things(values, message):
    with pytest.raises(DataError, match=message):
        as_column(values, "user")


def test_labels_that_are_the_same_as_text():
    check_distinct(as_labels(["1", "2"]), "item")
    with pytest.raises(
        DataError,
        match=r"^The item labels are not all different as text: '1' is there twice. Give each "
        r"its own",
    ):
        check_distinct(np.array([1, "1"], object), "item")


def test_few_labels_need_no_thread_and_many_have_the_same_numbers(monkeypatch):
    columns = [as_column(list(text), "item") for text in ("cabca", "bbacd")]
    codes, found = encode(*columns)
    monkeypatch.setattr(labels_module, "_FEW", 0)
    again, same = encode(*columns)
    assert np.array_equal(codes, again) and found.tolist() == same.tolist() == list("abcd")
    monkeypatch.setattr(labels_module, "ThreadPoolExecutor", None)
    with pytest.raises(TypeError):
        encode(*columns)
    monkeypatch.undo()
    monkeypatch.setattr(labels_module, "ThreadPoolExecutor", None)
    encode(*columns)
