"""Reading: the same choices are the same Comparisons, whatever they came in."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, OptionError
from mallowmix.readers import read_comparisons

ROWS = [
    ("ann", "tea", "milk", 1),
    ("bob", "milk", "tea", 2),
    ("ann", "tea", "coffee", 1),
    ("ann", "tea", "milk", 3),
    ("7", "007", "tea", 1),
]
NAMES = ("user", "winner", "loser", "weight")
COLUMNS = {name: [row[n] for row in ROWS] for n, name in enumerate(NAMES)}
TRUTH = {
    ("ann", "tea", "milk"): 4,
    ("bob", "milk", "tea"): 2,
    ("ann", "tea", "coffee"): 1,
    ("7", "007", "tea"): 1,
}


def as_dict(comparisons):
    rows = zip(
        comparisons.user, comparisons.winner, comparisons.loser, comparisons.weight, strict=True
    )
    return {
        (comparisons.users[m], comparisons.items[i], comparisons.items[j]): weight
        for m, i, j, weight in rows
    }


def written(path, rows=ROWS, names=NAMES, **options):
    text = io.StringIO(newline="")
    csv.writer(text, **options).writerows([names, *rows])
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def folder_of(path):
    path.mkdir()
    table = pa.table(COLUMNS)
    pq.write_table(table.slice(0, 2), path / "part-0.parquet")
    pq.write_table(table.slice(2, 0), path / "part-1.parquet")  # a part may be empty
    pq.write_table(table.slice(2), path / "part-2.parquet")
    (path / "_SUCCESS").write_text("")
    (path / "_notes.parquet").write_text("no Parquet at all")
    return path


def parquet_of(path, table=None):
    pq.write_table(pa.table(COLUMNS) if table is None else table, path)
    return path


SOURCES = {
    "tuples": lambda tmp: ROWS,
    "lists": lambda tmp: [list(row) for row in ROWS],
    "iterator": lambda tmp: iter(ROWS),
    "mapping": lambda tmp: COLUMNS,
    "mapping of arrays": lambda tmp: {name: np.array(column) for name, column in COLUMNS.items()},
    "pandas": lambda tmp: pd.DataFrame(COLUMNS),
    "pandas objects": lambda tmp: pd.DataFrame(COLUMNS, dtype=object),
    "pandas categories": lambda tmp: pd.DataFrame(COLUMNS).astype(
        {"user": "category", "winner": "category"}
    ),
    "pandas with a gap in the index": lambda tmp: pd.DataFrame(COLUMNS, index=[5, 3, 9, 9, 1]),
    "polars": lambda tmp: pl.DataFrame(COLUMNS),
    "polars categories": lambda tmp: pl.DataFrame(COLUMNS).with_columns(
        pl.col("winner").cast(pl.Categorical)
    ),
    "polars lazy": lambda tmp: pl.DataFrame(COLUMNS).lazy(),
    "arrow": lambda tmp: pa.table(COLUMNS),
    "arrow batch": lambda tmp: pa.RecordBatch.from_pydict(COLUMNS),
    "arrow stream": lambda tmp: pa.RecordBatchReader.from_batches(
        pa.table(COLUMNS).schema, pa.table(COLUMNS).to_batches()
    ),
    "csv": lambda tmp: written(tmp / "votes.csv"),
    "csv as text": lambda tmp: str(written(tmp / "votes.csv")),
    "CSV in capitals": lambda tmp: written(tmp / "VOTES.CSV"),
    "csv all quoted": lambda tmp: written(tmp / "votes.csv", quoting=csv.QUOTE_ALL),
    "csv of Unix": lambda tmp: written(tmp / "votes.csv", lineterminator="\n"),
    "csv of old Macs": lambda tmp: written(tmp / "votes.csv", lineterminator="\r"),
    "csv.gz": lambda tmp: written(tmp / "votes.csv.gz"),
    "tsv": lambda tmp: written(tmp / "votes.tsv", delimiter="\t"),
    "tsv.gz": lambda tmp: written(tmp / "votes.tsv.gz", delimiter="\t"),
    "parquet": lambda tmp: parquet_of(tmp / "votes.parquet"),
    "parquet dictionaries": lambda tmp: parquet_of(
        tmp / "votes.parquet", pa.Table.from_pandas(pd.DataFrame(COLUMNS).astype("category"))
    ),
    "parquet folder": lambda tmp: folder_of(tmp / "votes"),
    "comparisons": lambda tmp: read_comparisons(ROWS),
    "what to_arrow gives": lambda tmp: read_comparisons(ROWS).to_arrow(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_comparisons(source, tmp_path):
    comparisons = read_comparisons(SOURCES[source](tmp_path))
    assert as_dict(comparisons) == TRUTH
    assert comparisons == read_comparisons(ROWS)


def test_without_weights_every_row_counts_once(tmp_path):
    rows = [row[:3] for row in ROWS]
    expected = {**dict.fromkeys(TRUTH, 1), ("ann", "tea", "milk"): 2}
    assert as_dict(read_comparisons(rows)) == expected
    assert as_dict(read_comparisons(written(tmp_path / "votes.csv", rows, NAMES[:3]))) == expected


def test_columns_can_be_named_and_others_are_ignored(tmp_path):
    theirs = {"user": "judge", "winner": "better", "loser": "worse"}
    frame = (
        pd.DataFrame(COLUMNS)
        .rename(columns=theirs)
        .assign(note="Käse", user="somebody else")[
            ["note", "worse", "better", "judge", "user", "weight"]
        ]
    )
    frame.to_csv(tmp_path / "votes.csv", index=False)
    frame.to_parquet(tmp_path / "votes.parquet")
    for source in (
        frame,
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        dict(frame),
        tmp_path / "votes.csv",
        tmp_path / "votes.parquet",
    ):
        assert as_dict(read_comparisons(source, columns=theirs)) == TRUTH


def test_a_weight_column_can_be_named_or_left_out():
    columns = {
        **{name: COLUMNS[name] for name in NAMES[:3]},
        "times": COLUMNS["weight"],
        "weight": [9.0] * 5,
    }
    assert as_dict(read_comparisons(columns, columns={"weight": "times"})) == TRUTH
    assert read_comparisons(columns, columns={"weight": None}).n_comparisons == len(ROWS)
    assert read_comparisons(columns).n_comparisons == 9 * len(ROWS)


def test_labels_of_csv_are_text_and_only_the_empty_field_is_missing(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("user,winner,loser\n007,NA,null\n1.0,nan,N/A\n true ,None,\n")
    comparisons = read_comparisons(path, missing="drop")
    assert as_dict(comparisons) == {("007", "NA", "null"): 1, ("1.0", "nan", "N/A"): 1}


def test_labels_of_parquet_and_tables_keep_their_type(tmp_path):
    table = pa.table({"user": pa.array([10, 9], pa.int32()), "winner": [1, 2], "loser": [2, 3]})
    for source in (table, parquet_of(tmp_path / "votes.parquet", table), pl.DataFrame(table)):
        comparisons = read_comparisons(source)
        # in the order of their text
        assert comparisons.users.tolist() == [10, 9] and comparisons.items.tolist() == [1, 2, 3]


def test_a_byte_order_mark_blank_lines_and_quoted_newlines_are_no_trouble(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(
        (
            '\ufeff\r\nuser,winner,"loser"\r\n\r\nann,"green\r\ntea","says ""hi"", twice"\r\n\r\n'
        ).encode()
    )
    assert as_dict(read_comparisons(path)) == {("ann", "green\r\ntea", 'says "hi", twice'): 1}


def test_an_ignored_column_may_hold_anything(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(b"user,winner,loser,note,note\nann,tea,milk,\xff\xfe,1\n")
    assert as_dict(read_comparisons(path)) == {("ann", "tea", "milk"): 1}


def test_policies_reach_every_source(tmp_path):
    rows = [
        ("ann", "tea", "milk", 1),
        ("ann", "tea", "tea", 1),
        ("bob", "", "milk", 1),
        ("bob", "tea", "milk", ""),
    ]
    path = written(tmp_path / "votes.csv", rows)
    frame = pd.read_csv(path)
    for source in (
        path,
        frame,
        pl.from_pandas(frame),
        [(*row[:3], row[3] or None) for row in rows],
    ):
        assert as_dict(read_comparisons(source, self_pairs="drop", missing="drop")) == {
            ("ann", "tea", "milk"): 1
        }


@pytest.mark.parametrize(
    "weights",
    [["1", "2.5"], [1, 2.5], np.array([1, 2.5], np.float32), pd.Series(["1", "2.5"], dtype=object)],
)
def test_weights_are_numbers_or_their_text(weights):
    table = {"user": ["a", "a"], "winner": ["x", "y"], "loser": ["y", "x"], "weight": weights}
    assert read_comparisons(table).weight.tolist() == [1, 2.5]


def test_an_array_of_three_columns_is_rows():
    assert read_comparisons(np.array([[1, 2, 3], [1, 3, 2]])) == read_comparisons(
        [(1, 2, 3), (1, 3, 2)]
    )


def test_options_are_checked_before_anything_is_read():
    for options, message in [
        ({"self_pairs": "keep"}, "self_pairs is 'keep'; it must be one of 'error', 'drop'."),
        ({"missing": None}, "missing is None; it must be one of 'error', 'drop'."),
        (
            {"columns": {"judge": "user"}},
            "columns has the key 'judge', which is none of user, winner, loser, weight",
        ),
        (
            {"columns": {"winner": "x", "loser": "x"}},
            "columns gives winner and loser the same column 'x'; they must differ.",
        ),
        ({"columns": ["user"]}, "it must be a mapping from our names to theirs"),
    ]:
        with pytest.raises(OptionError) as caught:
            read_comparisons("there is no such file.csv", **options)
        assert message in str(caught.value)


TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(TEXT, TEXT, TEXT).filter(lambda row: row[1] != row[2]), min_size=1, max_size=6
    )
)
def test_any_text_survives_csv(tmp_path_factory, rows):
    """Separators, quotes, newlines and every script: what csv.writer wrote is read as it was."""
    path = written(tmp_path_factory.mktemp("any") / "votes.csv", rows, NAMES[:3])
    expected = {}
    for row in rows:
        expected[row] = expected.get(row, 0) + 1
    assert as_dict(read_comparisons(path)) == expected


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(len(ROWS))))
def test_the_order_of_rows_never_matters(order):
    assert read_comparisons([ROWS[n] for n in order]) == read_comparisons(ROWS)


def test_comparisons_pass_through_unchanged():
    comparisons = Comparisons.from_arrays(["a"], ["x"], ["y"])
    assert read_comparisons(comparisons) is comparisons


def test_what_is_no_table_is_refused():
    for source, message in [
        (3, "Comparisons cannot be read from an int: give a path, a dataframe"),
        (["abc"], "Row 1 is 'abc'; it must be a tuple"),
        ([("a", "x", "y"), ("a", "x")], "Row 2 has 2 values; it must have 3"),
        (
            [("a", "x", "y"), ("a", "x", "y", 1)],
            "Row 2 has 4 values where row 1 has 3: give all rows a weight, or none.",
        ),
        ([], "There are no comparisons: give at least one row of user, winner, loser."),
    ]:
        with pytest.raises(DataError) as caught:
            read_comparisons(source)
        assert message in str(caught.value)
    with pytest.raises(OptionError, match="rows of tuples have none"):
        read_comparisons(ROWS, columns={"user": "judge"})
