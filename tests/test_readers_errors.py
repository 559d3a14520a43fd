"""What readers say: one sentence each, that names where, what, and what now; never another
library's traceback.
"""

import gzip
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mallowmix.errors import DataError, FileError, MallowmixError
from mallowmix.readers import read_comparisons

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
GOOD = {"user": ["ann", "bob"], "winner": ["tea", "milk"], "loser": ["milk", "tea"]}
TEN_BAD_LINES = (
    "user,winner,loser\nann,tea,milk\n\n"
    + 'ann,"green\ntea",milk\n'
    + "ann,tea\n" * 9
    + "ann,tea,milk\nann,a,b,c\n"
)


def said(error, source, **options):
    with pytest.raises(error) as caught:
        read_comparisons(source, **options)
    assert type(caught.value) is error
    return str(caught.value)


def csv_says(tmp_path, content, error=FileError, name="votes.csv", **options):
    """The message for a file with this content, without the folder."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    message = said(error, path, **options)
    assert message.startswith(str(path)) and "\n" not in message
    return message.replace(str(path), name)


def test_a_missing_file(tmp_path):
    path = tmp_path / "votes.csv"
    assert said(FileError, path) == f"There is no file {path}: check the name and the folder."
    assert said(FileError, str(path)) == said(FileError, path)
    assert said(FileError, "votes\0.csv").startswith("There is no file")


@pytest.mark.parametrize("name", ["votes", "votes.csv", "votes.parquet"])
def test_a_folder_without_parquet_files(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "votes.txt").write_text("")
    assert (
        said(FileError, folder)
        == f"{folder} is a folder with nothing in it that can be read; mallowmix reads .csv, .tsv, "
        ".jsonl, .json (each also with .gz or .zst), .parquet, a folder of .parquet files, .xlsx, "
        ".sqlite, .duckdb, PrefLib's .soc, .soi, .toc, .toi, and MovieLens' .mat and .dat."
    )


def test_an_unknown_ending(tmp_path):
    assert csv_says(tmp_path, "x", name="votes.docx") == (
        "votes.docx: the ending '.docx' does not tell what it is; mallowmix reads .csv, .tsv, "
        ".jsonl, .json (each also with .gz or .zst), .parquet, a folder of .parquet files, .xlsx, "
        ".sqlite, .duckdb, PrefLib's .soc, .soi, .toc, .toi, and MovieLens' .mat and .dat. A table "
        'with any other ending is read if you say what it holds, as in format="comparisons".'
    )
    assert "the ending ''" in csv_says(tmp_path, "x", name="votes")
    assert "the ending '.gz'" in csv_says(tmp_path, "x", name="votes.gz")


def test_a_binary_file_called_csv(tmp_path):
    expected = (
        "votes.csv is not a text file, whatever its name says: save the comparisons as CSV in "
        "UTF-8."
    )
    for content in (
        PNG,
        "user,winner,loser\nann,tea\0,milk\n".encode("utf-16"),
        b"user,winner,loser\nann,tea\0,milk\n",
    ):
        assert csv_says(tmp_path, content) == expected


def test_text_that_is_not_utf8_is_named_by_its_line(tmp_path):
    content = 'user,winner,loser\nann,"green\ntea",milk\n\nann,Käse,milk\n'.encode("latin-1")
    expected = (
        "votes.csv line {} is not UTF-8 text: save the file with the encoding UTF-8, or name the "
        'encoding that it has, as in encoding="cp1252" (Windows in Western Europe).'
    )
    assert csv_says(tmp_path, content) == expected.format(5)
    assert csv_says(tmp_path, content.replace(b"\n", b"\r\n")) == expected.format(5)
    assert csv_says(tmp_path, "user,winner,loser,größe\n".encode("latin-1")) == expected.format(1)
    # gzip under a wrong name
    assert csv_says(tmp_path, b"\x1f\x8b\x08\x08abc") == expected.format(1)


def test_an_empty_file(tmp_path):
    for content in ("", "\n\r\n\n", "\ufeff"):
        assert csv_says(tmp_path, content) == (
            "votes.csv is empty: it needs a header line user,winner,loser and a line for each "
            "comparison."
        )
    for content in ("user,winner,loser", "user,winner,loser\n\n"):
        assert csv_says(tmp_path, content, DataError) == (
            "votes.csv has a header but no comparisons: give at least one line of user, winner, "
            "loser."
        )


def test_a_header_without_the_needed_columns(tmp_path):
    expected = (
        "{} has no column 'winner', only 'user', 'better', 'worse': say which one holds the "
        "winner with "
        'columns={{"winner": "NAME"}}.'
    )
    assert csv_says(tmp_path, "user,better,worse\nann,tea,milk\n", DataError) == expected.format(
        "votes.csv"
    )
    table = {"user": ["ann"], "better": ["tea"], "worse": ["milk"]}
    pq.write_table(pa.table(table), tmp_path / "votes.parquet")
    assert said(DataError, tmp_path / "votes.parquet") == expected.format(
        tmp_path / "votes.parquet"
    )
    for source in (pd.DataFrame(table), pl.DataFrame(table), pl.LazyFrame(table), pa.table(table)):
        assert said(DataError, source) == expected.format("The table")
    assert said(DataError, table) == expected.format("The mapping")


def test_a_named_column_that_is_not_there(tmp_path):
    message = csv_says(
        tmp_path, "user,winner,loser\nann,tea,milk\n", DataError, columns={"weight": "times"}
    )
    assert message.startswith(
        "votes.csv has no column 'times', only 'user', 'winner', 'loser': say which one holds "
        "the weight"
    )
    wide = ",".join(f"c{n}" for n in range(30))
    assert "'c19', …: say" in csv_says(tmp_path, wide + "\n" + wide, DataError)


def test_a_column_that_is_there_twice(tmp_path):
    expected = "votes.csv has 2 columns named 'winner': give each its own name."
    assert csv_says(tmp_path, "user,winner,loser,winner\nann,tea,milk,tea\n", DataError) == expected
    frame = pd.DataFrame(
        [["ann", "tea", "milk", "tea"]], columns=["user", "winner", "loser", "winner"]
    )
    assert "'winner' 2 times" in said(DataError, frame)
    table = pa.Table.from_arrays([pa.array(["a"])] * 4, names=["user", "winner", "loser", "winner"])
    assert (
        said(DataError, table) == "The table has 2 columns named 'winner': give each its own name."
    )


def test_ten_bad_lines(tmp_path):
    """The blank third line and the record over lines 4 and 5 count as lines: the first bad line is
    the sixth.
    """
    expected = (
        "votes.csv line 6 has 2 fields where the header has 3 (and 9 more such lines): give "
        "every line the fields of the header, "
        "and put quotes around a label that holds the separator."
    )
    assert csv_says(tmp_path, TEN_BAD_LINES) == expected
    assert csv_says(tmp_path, TEN_BAD_LINES.replace("\n", "\r\n")) == expected
    assert csv_says(
        tmp_path, gzip.compress(TEN_BAD_LINES.encode()), name="votes.csv.gz"
    ) == expected.replace("csv", "csv.gz", 1)
    assert csv_says(
        tmp_path, TEN_BAD_LINES.replace(",", "\t"), name="votes.tsv"
    ) == expected.replace("csv", "tsv", 1)


def test_one_bad_line(tmp_path):
    message = csv_says(tmp_path, "user,winner,loser\nann,tea,milk\nann\n")
    assert message.startswith(
        "votes.csv line 3 has 1 field where the header has 3: give every line"
    )


def test_a_quote_that_never_closes(tmp_path):
    expected = "votes.csv line 3: a quote opens here and never closes: close or remove it."
    start = 'user,winner,loser\nann,tea,milk\nann,tea,"mi'
    assert csv_says(tmp_path, start + "lk\nbob,tea,milk\n") == expected
    # longer than a field may be, and longer than any block
    for n in (20_000, 200_000):
        assert csv_says(tmp_path, start + "lk\nbob,tea,milk\n" * n) == expected


LONG = "long text " * 20_000  # more than Python's `csv` reads as one field


@pytest.mark.parametrize("field", [LONG, f'"{LONG}"', f'"says ""{LONG}"""'])
@pytest.mark.parametrize("line", [1, 2])
def test_a_field_that_is_too_long(tmp_path, field, line):
    lines = ["user,winner,loser,about", "ann,tea,milk,this"]
    lines[line - 1] = ",".join([*lines[line - 1].split(",")[:3], field])
    assert csv_says(tmp_path, "\n".join(lines) + "\n") == (
        f"votes.csv line {line}: a field has more than 131,072 characters, the most that can be "
        "read: shorten it or remove its column, and close every quote."
    )


def test_a_long_field_of_a_column_that_is_not_read_is_no_fault(tmp_path):
    """An odd number of quotes makes the reader look at every line."""
    rows = f'user,winner,loser,about\nann,5" pipe,milk,\nann,tea,milk,{LONG}\n'
    (tmp_path / "votes.csv").write_text(rows)
    assert read_comparisons(tmp_path / "votes.csv").n_comparisons == 2


def test_a_quote_inside_a_label_is_no_opening_quote(tmp_path):
    (tmp_path / "votes.csv").write_text('user,winner,loser\nann,5" pipe,milk\n')
    assert read_comparisons(tmp_path / "votes.csv").items.tolist() == ['5" pipe', "milk"]


LINES = (
    'user,winner,loser,weight\nann,tea,milk,1\n\nann,"green\ntea",milk,1\n{}\nann,tea,milk,1\n{}\n'
)
BAD_ROWS = {
    "ann,tea,tea,1": (
        "user 'ann' compares 'tea' with itself{}. Drop such rows, or pass self_pairs=\"drop\"."
    ),
    "ann,,tea,1": 'the winner is missing{}. Fill such rows in, or pass missing="drop".',
    ",milk,tea,1": 'the user is missing{}. Fill such rows in, or pass missing="drop".',
    "ann,milk,tea,": 'the weight is missing{}. Fill such rows in, or pass missing="drop".',
    "ann,milk,tea,-2": "the weight -2 is negative{}. Weights are counts of at least 0.",
    "ann,milk,tea,inf": (
        "the weight inf is not a finite number{}. Weights are counts of at least 0."
    ),
}


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_bad_rows_are_named_by_their_line(tmp_path, bad):
    once, twice = LINES.format(bad, ""), LINES.format(bad, bad)
    assert csv_says(tmp_path, once, DataError) == "votes.csv line 6: " + BAD_ROWS[bad].format("")
    assert csv_says(tmp_path, twice, DataError) == "votes.csv line 6: " + BAD_ROWS[bad].format(
        " (and 1 more like it)"
    )


@pytest.mark.parametrize("text", ["often", "1_000", "1,5"])
def test_text_in_the_weight_column(tmp_path, text):
    message = csv_says(tmp_path, LINES.format(f'ann,milk,tea,"{text}"', ""), DataError)
    comma = ' If the comma is a decimal point, pass decimal=",".' if text == "1,5" else ""
    assert message == (
        f"votes.csv line 6: the weight '{text}' is not a number. Weights are counts of at "
        f"least 0.{comma}"
    )


def test_text_among_the_weights_of_a_table():
    expected = "Row 2: the weight 'often' is not a number. Weights are counts of at least 0."
    weights = [1, "often"]
    assert said(DataError, {**GOOD, "weight": weights}) == expected
    assert (
        said(DataError, pd.DataFrame({**GOOD, "weight": pd.Series(weights, dtype=object)}))
        == expected
    )
    assert (
        said(
            DataError,
            [
                (*row, weight)
                for row, weight in zip(zip(*GOOD.values(), strict=True), weights, strict=True)
            ],
        )
        == expected
    )
    assert said(DataError, pl.DataFrame({**GOOD, "weight": ["1", "often"]})) == expected


def test_rows_of_parquet_are_named_by_file_and_row(tmp_path):
    folder = tmp_path / "votes"
    folder.mkdir()
    pq.write_table(pa.table(GOOD), folder / "a.parquet")
    pq.write_table(pa.table({**GOOD, "loser": ["tea", "milk"]}).slice(1), folder / "b.parquet")
    message = said(DataError, folder)
    assert (
        message
        == f"{folder / 'b.parquet'} row 1: user 'bob' compares 'milk' with itself. Drop such "
        'rows, or pass self_pairs="drop".'
    )


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table(GOOD), path)
    data = path.read_bytes()
    for content in (
        data[:-20],
        data[:-1],
        data[: len(data) // 2],
        b"",
        b"user,winner,loser\n",
        PNG,
    ):
        path.write_bytes(content)
        assert said(FileError, path).startswith(
            f"{path} is not a whole Parquet file: it is cut short, damaged, or something else ("
        )


def test_parquet_files_that_do_not_fit_together(tmp_path):
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table(GOOD), a)
    pq.write_table(pa.table({**GOOD, "user": [1, 2]}), b)
    assert (
        said(DataError, tmp_path)
        == f"{b} holds the user as int64, but {a} as string: write the files with one type."
    )
    pq.write_table(pa.table({**GOOD, "weight": [1, 2]}), b)
    assert (
        said(DataError, tmp_path)
        == f"{a} has no column 'weight', but {b} has: give every file weights, or none."
    )


def test_labels_that_name_nothing(tmp_path):
    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({**GOOD, "user": [[1], [2]]}), path)
    assert said(DataError, path).startswith(f"{path}: Column 'user' has the type list<")
    assert "mixes kinds of values" in said(
        DataError, pd.DataFrame({**GOOD, "winner": pd.Series([1, "a"], dtype=object)})
    )


def test_a_broken_gzip_file(tmp_path):
    whole = gzip.compress(
        b"user,winner,loser\n" + b"".join(b"u%d,a%d,b%d\n" % (n, n * n, n**3) for n in range(3000))
    )
    for content in (
        whole[:-9],
        whole[: len(whole) // 2],
        b"user,winner,loser\nann,tea,milk\n",
        whole[:100] + b"\0" * 50 + whole[150:],
    ):
        assert csv_says(tmp_path, content, name="votes.csv.gz").startswith(
            "votes.csv.gz is not a whole gzip file: "
        )


@pytest.mark.parametrize("name", ["votes.csv", "votes.csv.gz", "votes.parquet"])
def test_what_the_operating_system_refuses(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_bytes(b"x")

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(gzip, "open", refuse)
    assert said(FileError, path) == f"{path} cannot be read: Permission denied."


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=60),
        st.text('ab,"\n\r1', max_size=40).map(
            lambda text: b"user,winner,loser,weight\n" + text.encode()
        ),
    )
)
def test_no_file_ends_in_a_foreign_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "votes.csv"
    path.write_bytes(content)
    try:
        read_comparisons(path)
    except MallowmixError as error:
        assert str(path) in str(error)
