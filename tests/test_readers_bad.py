"""Broken input: for every reader at least ten kinds of it, each with a message of its own that says
where, what, and what now.
"""

import gzip
import json
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mallowmix as mm
from benchmarks import fuzz_inputs, fuzz_readers
from benchmarks.table_bytes import as_matlab, as_workbook
from benchmarks.valid_files import KINDS, Table
from mallowmix.errors import DataError, FileError, MallowmixError, OptionError
from mallowmix.readers import read
from mallowmix.readers.inputs import MOST_COLUMNS

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"


def said(tmp_path, name, content, **options):
    """The message for a file with this content, without the folder."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(MallowmixError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message and message.endswith((".", "…", "?"))
    return message.replace(f"{tmp_path}/", "")


def check_all(tmp_path, name, cases, **options):
    """Every case has its message, and no two messages are alike."""
    messages = []
    for content, expected, *more in cases:
        message = said(tmp_path, name, content, **(options | (more[0] if more else {})))
        assert expected in message, message
        messages.append(message)
    assert len(cases) >= 10 and len(set(messages)) == len(messages)


CSV = [
    ("", "votes.csv is empty"),
    ("user,winner,loser\n", "has a header but no comparisons"),
    (PNG, "is not a text file, whatever its name says"),
    ("user,winner,loser\nann,Käse,Brot\n".encode("latin-1"), "line 2 is not UTF-8 text"),
    ("user,winner,loser\nann,tea\n", "line 2 has 2 fields where the header has 3"),
    ('user,winner,loser\nann,tea,"milk\n', "line 2: a quote opens here and never closes"),
    ("user,winner,loser,winner\nann,tea,milk,tea\n", "has 2 columns named 'winner'"),
    (
        ",".join(f"c{n}" for n in range(MOST_COLUMNS + 1)) + "\n1\n",
        f"has {MOST_COLUMNS + 1:,} columns",
    ),
    ("user,winner,loser\n,tea,milk\n", "line 2: the user is missing"),
    ("user,winner,loser\nann,tea,tea\n", "line 2: user 'ann' compares 'tea' with itself"),
    (
        "user,winner,loser,weight\nann,tea,milk,often\n",
        "line 2: the weight 'often' is not a number",
    ),
    (
        "judge,worker,winner,loser\na,b,tea,milk\n",
        "has the columns 'judge' and 'worker': say which one holds the user",
    ),
    ("winner,loser\ntea,milk\n", "does not say who chose"),
]


def test_csv(tmp_path):
    check_all(tmp_path, "votes.csv", CSV)


def test_a_million_columns_are_refused_at_once(tmp_path):
    assert "has 1,000,000 columns" in said(
        tmp_path, "votes.csv", ",".join(["c"] * 1_000_000) + "\n1\n"
    )


JSON_LINES = [
    ("", "votes.jsonl is empty"),
    ('{"user": "a", "winner": "x"', "line 1 is not a JSON object"),
    (
        '{"user": "a", "winner": "x", "loser": "y"}\n["a", "x", "y"]\n',
        "line 2 is a JSON list, not an object",
    ),
    (
        '{"user": "a", "user": "b", "winner": "x", "loser": "y"}\n',
        "line 1 has the key 'user' twice",
    ),
    ('{"user": "ä", "winner": "x", "loser": "y"}\n'.encode("latin-1"), "line 1 is not UTF-8 text"),
    (PNG, "line 1 is not UTF-8 text: save the file"),
    (
        '{"user": 1, "winner": "x", "loser": "y"}\n{"user": "b", "winner": "x", "loser": "y"}\n',
        "'user' mixes kinds of values",
    ),
    ('{"user": {"id": 1}, "winner": "x", "loser": "y"}\n', "Column 'user' holds objects"),
    (
        '{"user": "a", "winner": "x", "loser": "y"}\n{"user": "b", "winner": "x"}\n',
        "line 2: the loser is missing",
    ),
    (
        '{"user": "a", "winner": "x", "loser": "y", "weight": "many"}\n',
        "line 1: the weight 'many' is not a number",
    ),
    (
        '{"user": "a", "better": "x", "worse": "y"}\n',
        "has no column 'winner', only 'user', 'better', 'worse'",
    ),
    ("[" * 100_000, "line 1 is not a JSON object (it is nested too deep"),
    ('{"user": ["a"], "winner": "x", "loser": "y"}\n', "Column 'user' has the type list<"),
]


def test_json_lines(tmp_path):
    cases = [case for case in JSON_LINES if case[0] is not PNG]
    check_all(tmp_path, "votes.jsonl", cases)
    assert "is not UTF-8 text" in said(tmp_path, "votes.jsonl", PNG)


def test_a_weight_that_comes_up_late_is_not_passed_over(tmp_path):
    line = b'{"user": 1, "winner": "x", "loser": "y"}\n'
    content = line * 1000 + b'{"user": 1, "winner": "x", "loser": "y", "note": "late"}\n'
    (tmp_path / "a.jsonl").write_bytes(content)
    assert read(tmp_path / "a.jsonl").comparisons.n_comparisons == 1001
    content += b'{"user": 1, "winner": "x", "loser": "y", "weight": 5}\n'
    assert "line 1002 has the key 'weight', which the first 1,000 lines have not" in said(
        tmp_path, "a.jsonl", content
    )


@pytest.mark.parametrize(("ending", "kind"), [("gz", "gzip"), ("zst", "zstd")])
def test_compressed_files(tmp_path, ending, kind):
    good = b"user,winner,loser\n" + b"".join(
        b"u%d,a%d,b%d\n" % (n, n * n, n**3) for n in range(3000)
    )
    packed = gzip.compress(good) if ending == "gz" else pa.compress(good, "zstd", asbytes=True)
    read_back = tmp_path / f"good.csv.{ending}"
    read_back.write_bytes(packed)
    assert read(read_back).comparisons.n_users == 3000
    for content in (packed[: len(packed) // 2], packed[:-1], packed[:-5], good, PNG):
        assert f"is not a whole {kind} file" in said(tmp_path, f"votes.csv.{ending}", content)
    lines = b"".join(
        b'{"user": %d, "winner": "a%d", "loser": "b%d"}\n' % (n, n * n, n**3) for n in range(3000)
    )
    packed = gzip.compress(lines) if ending == "gz" else pa.compress(lines, "zstd", asbytes=True)
    for content in (packed[:-9], packed[: len(packed) // 2], lines):
        assert f"is not a whole {kind} file" in said(tmp_path, f"votes.jsonl.{ending}", content)
    assert "is empty" in said(tmp_path, "votes.csv.zst", b"")


def parquet_of(columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


GOOD = {"user": ["ann", "bob"], "winner": ["tea", "milk"], "loser": ["milk", "tea"]}


def test_parquet(tmp_path):
    whole = parquet_of(GOOD)
    nan = pa.array([float("nan"), 1.5])
    cases = [
        (b"", "is not a whole Parquet file"),
        (whole[:-20], "cut short, damaged, or something else (Parquet magic bytes not found"),
        (
            whole[:-30] + b"\xff" * 22 + whole[-8:],
            "damaged, or something else (Couldn't deserialize thrift",
        ),
        (parquet_of({"user": ["a"], "better": ["x"], "worse": ["y"]}), "has no column 'winner'"),
        (parquet_of({**GOOD, "user": [None, "bob"]}), "row 1: the user is missing"),
        (parquet_of({**GOOD, "user": [[1], [2]]}), "Column 'user' has the type list<"),
        (
            parquet_of({**GOOD, "loser": ["tea", "tea"]}),
            "row 1: user 'ann' compares 'tea' with itself",
        ),
        (parquet_of({**GOOD, "weight": [1.0, -1.0]}), "row 2: the weight -1 is negative"),
        (parquet_of({**GOOD, "weight": ["1", "x"]}), "row 2: the weight 'x' is not a number"),
        (
            parquet_of({"user": nan, "winner": [1, 2], "loser": [2, 1]}),
            "row 1: the user is missing. Fill such",
        ),
        (
            parquet_of({name: values[:0] for name, values in GOOD.items()}),
            "There are no comparisons",
        ),
    ]
    messages = [said(tmp_path, "votes.parquet", content) for content, _ in cases]
    for message, (_, expected) in zip(messages, cases, strict=True):
        assert expected in message, message


BATTLES = [
    (
        "user,left,right,outcome\na,x,y,wins\nb,x,y,draw?\nb,x,y,wins\n",
        "Unknown outcomes, with how often they occur: 'wins' (2), 'draw?' (1)",
    ),
    (
        "left,right,outcome\nx,y,left\n",
        "does not say who chose: mallowmix learns how people differ",
    ),
    ("user,left,right,outcome\na,x,y,\n", "line 2: the outcome is missing"),
    ("user,left,right,outcome\na,,y,left\n", "line 2: the left is missing"),
    ("user,left,right,outcome\na,x,,left\n", "line 2: the right is missing"),
    ("user,left,right,outcome\na,x,x,left\n", "line 2: user 'a' compares 'x' with itself"),
    ("user,left,right,outcome\na,tie,x,tie\n", "The outcome 'tie' is also the name of a candidate"),
    (
        "user,left,right,outcome\na,x,y,tie\n",
        "There are no comparisons: not one battle has a winner",
    ),
    (
        "user,left,right,outcome\na,x,y,tie\na,x,y,left\n",
        'There are 1 ties. Leave them out with ties="drop"',
        {"ties": "error"},
    ),
    (
        "user,left,right,outcome\na,x,y,both_bad\na,x,y,left\n",
        "There are 1 battles in which both were bad",
        {"both_bad": "error"},
    ),
    ("user,left,right,outcome,weight\na,x,y,left,-1\n", "line 2: the weight -1 is negative"),
    ("user,left,outcome\na,x,left\n", "has no column 'right'", {"format": "battles"}),
    (
        "user,left,right,outcome\na,x,y,left\n",
        "outcomes gives 'w' the meaning 'first'",
        {"outcomes": {"w": "first"}},
    ),
    (
        "user,left,right,outcome\na,x,y,left\n",
        "top_items is for ratings and movielens; this was read as battles",
        {"top_items": 5},
    ),
]


def test_battles(tmp_path):
    check_all(tmp_path, "votes.csv", BATTLES)


RATINGS = [
    ("user,item,rating\na,x,good\n", "line 2: the rating 'good' is not a number"),
    ("user,item,rating\na,x,\na,y,2\n", "line 2: the rating is missing or not a finite number"),
    (
        "user,item,rating\na,x,inf\na,y,2\n",
        "line 2: the rating is missing or not a finite number. Leave",
        {"missing": "drop"},
    ),
    ("user,item,rating\n,x,1\n", "line 2: the user is missing"),
    ("user,item,rating\na,,1\n", "line 2: the item is missing"),
    ("user,item,rating\na,x,1\na,x,2\n", "User 'a' rates 'x' more than once"),
    ("user,item,rating\na,x,1\nb,x,2\n", "nobody rated two things differently"),
    (
        "user,item,rating\na,x,1\na,y,1\na,z,2\n",
        "There are 1 ties: pairs of things that one person rated alike",
        {"ties": "error"},
    ),
    ("user,item,rating\na,x,1\n", "top_items is 1; it must be at least 2", {"top_items": 1}),
    ("user,item,rating\na,x,1\n", "per_user is 'all'; it must be one of", {"per_user": "all"}),
    ("user,item\na,x\n", "has no column 'rating'", {"format": "ratings"}),
    ("item,rating\nx,1\n", "has no column 'user'", {"format": "ratings"}),
]


def test_ratings(tmp_path):
    cases = [case for n, case in enumerate(RATINGS) if n != 2]
    check_all(tmp_path, "stars.csv", cases)
    assert RATINGS[2][1] in said(tmp_path, "stars.csv", RATINGS[2][0], missing="drop")


def test_more_comparisons_than_memory_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr("mallowmix.readers.order_weights.memory_bytes", lambda: 1000.0)
    with pytest.raises(
        DataError,
        match=r"This makes 28 comparisons, 0\.0 GB: more than half of this machine's memory",
    ):
        read({"user": ["a"] * 8, "item": list("stuvwxyz"), "rating": list(range(8))})


RANKINGS = [
    ("user,item,rank\na,x,first\n", "line 2: the position 'first' is not a number"),
    (
        "user,item,rank\na,x,0\na,y,1\n",
        "line 2: the position is 0, which may mean the best or not ranked",
    ),
    ("user,item,rank\na,x,-1\n", "line 2: the position is -1. Positions are numbers from 1"),
    ("user,item,rank\na,x,1\na,x,2\n", "lists 'x' twice"),
    ("user,item,rank\n,x,1\n", "line 2: the user is missing"),
    ("user,item,rank\na,,1\n", "line 2: the item is missing"),
    ("user,item,rank\na,x,\n", "There are no rankings: not one item has a position"),
    ("user,item,rank\na,x,1\na,y,1\n", "no ranking puts one thing over another"),
    ("user,item,rank\na,x,1\na,y,1\na,z,2\n", "There are 1 tied pairs", {"ties": "error"}),
    ("user,ranking\na,x > y\nb,\n", "line 3: the ranking is missing"),
    ("user,ranking\na,x > > y\n", "line 2: the ranking has '' where an item should be"),
    ("user,ranking\na,x > y > x\n", "line 2: the ranking lists 'x' twice"),
    ("user,ranking\na,[x\n", "is no JSON list"),
    ("user,rank_1,rank_2\na,x,y\nb,,\n", "line 3: the ranking is missing. Fill"),
    ("user,rank_1,rank_2\na,x,x\n", "line 2: the ranking lists 'x' twice. List"),
    ("user,x\na,1\n", "has no ranking in it", {"format": "rankings"}),
    ("user,x,y\na,1,0\n", "the position of 'y' is 0", {"format": "rankings"}),
    ("user,x,y\na,1,b\n", "the position of 'y' 'b' is not a number", {"format": "rankings"}),
]


def test_rankings(tmp_path):
    seen = set()
    for content, expected, *more in RANKINGS:
        message = said(tmp_path, "orders.csv", content, **(more[0] if more else {}))
        assert expected in message, message
        seen.add(message)
    assert len(seen) >= len(RANKINGS) - 2  # twice the same fault in two shapes


HEAD = (
    "# NUMBER ALTERNATIVES: 3\n"
    "# ALTERNATIVE NAME 1: a\n"
    "# ALTERNATIVE NAME 2: b\n"
    "# ALTERNATIVE NAME 3: c\n"
)
PREFLIB = [
    ("", "is empty"),
    (PNG, "is not a text file"),
    ((HEAD + "1: 1,2,3\n").replace("a", "ä").encode("latin-1"), "is not UTF-8 text"),
    (
        "3\n1,a\n2,b\n",
        "line 1: '3' comes before # NUMBER ALTERNATIVES: this is PrefLib's format of before 2022",
    ),
    ("1: 1,2,3\n", "line 1: '1: 1,2,3' comes before # NUMBER ALTERNATIVES: this is no header"),
    (
        "# NUMBER ALTERNATIVES: three\n",
        "line 1: NUMBER ALTERNATIVES is 'three'; it must be a whole number",
    ),
    (
        "# NUMBER ALTERNATIVES: 3\n# NUMBER ALTERNATIVES: 3\n",
        "line 2: NUMBER ALTERNATIVES is there twice",
    ),
    (
        "# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME: a\n",
        "line 2: ALTERNATIVE NAME needs the alternative's number",
    ),
    (HEAD + "# ALTERNATIVE NAME 3: d\n", "line 5: alternative 3 has a name already"),
    (HEAD.replace(": c", ":"), "line 4: the name of alternative 3 is missing"),
    (HEAD + "nonsense\n", "line 5: 'nonsense' is no order"),
    (HEAD + "1: 1,,2\n", "line 5: '1,,2' is no order: numbers with commas"),
    (HEAD + "1: 1,4\n", "line 5: alternative 4 is listed, but there are 3"),
    (HEAD + "1: 1,2,1\n", "line 5: alternative 1 is listed twice"),
    (
        HEAD + "1: 1,2\n",
        "line 5: the order lists 2 of 3 alternatives, but .soc is for complete orders",
    ),
    (HEAD + "1: 1,{2,3}\n", "line 5: the order has a tie, but .soc is for orders without ties"),
    (HEAD, "has a header but no order"),
    (
        HEAD + "1: 1,2,3\n# NUMBER VOTERS: 1\n",
        "line 6: # NUMBER VOTERS stands after the first order",
    ),
    (
        "# NUMBER VOTERS: 7\n" + HEAD + "1: 1,2,3\n",
        "says NUMBER VOTERS: 7, but has 1: is it cut short?",
    ),
    (
        "# NUMBER UNIQUE ORDERS: 2\n" + HEAD + "1: 1,2,3\n",
        "says NUMBER UNIQUE ORDERS: 2, but has 1",
    ),
    ("# DATA TYPE: toc\n" + HEAD, "line 1: DATA TYPE is toc, but the file's name ends in .soc"),
    ("# DATA TYPE: cat\n" + HEAD, "line 1: DATA TYPE is 'cat'"),
    ("# no colon\n" + HEAD, "line 1: '# no colon' is no line of PrefLib's header"),
    (HEAD + "0: 1,2,3\n", "every order was given by 0 voters"),
    (HEAD + "999999999999999: 1,2,3\n", "more than half of this machine's memory"),
    ("# ALTERNATIVE NAME 1: a\n", "has no line # NUMBER ALTERNATIVES"),
    (
        HEAD.replace("# ALTERNATIVE NAME 3: c\n", "") + "1: 1,2,3\n",
        "has no line # ALTERNATIVE NAME 3",
    ),
    (HEAD.replace("3: c", "9: c") + "1: 1,2,3\n", "names alternative 9, but says that there are 3"),
]


def test_preflib(tmp_path):
    check_all(tmp_path, "votes.soc", PREFLIB)


BEST_WORST = [
    ("user,shown,best,worst\na,x|y|z,w,z\n", "line 2: the best is 'w', which was not shown"),
    ("user,shown,best,worst\na,x|y|z,x,w\n", "line 2: the worst is 'w', which was not shown"),
    ("user,shown,best,worst\na,x|y|z,x,x\n", "line 2: 'x' is both the best and the worst"),
    ("user,shown,best,worst\na,x|y|x,x,y\n", "line 2: something is shown twice"),
    ("user,shown,best,worst\na,x|y,,y\n", "line 2: the best is missing"),
    ("user,shown,best,worst\na,x|y,x,\n", "line 2: the worst is missing"),
    ("user,shown,best,worst\na,,x,y\n", "line 2: the shown is missing"),
    ("user,shown,best,worst\n,x|y,x,y\n", "line 2: the user is missing"),
    ("shown,best,worst\nx|y,x,y\n", "does not say who chose"),
    ("user,best,worst\na,x,y\n", "does not say what was shown", {"format": "best-worst"}),
    ("user,shown,best,worst\na,[x,x,y\n", "line 2 has"),
    ('user,shown,best,worst\na,"[x",x,y\n', "is no JSON list"),
    ("user,shown,best,worst,weight\na,x|y,x,y,-1\n", "line 2: the weight -1 is negative"),
    ("user,item_1,best,worst\na,x,x,y\n", "or columns item_1, item_2, …", {"format": "best-worst"}),
]


def test_best_worst(tmp_path):
    cases = [case for n, case in enumerate(BEST_WORST) if n not in (10, 13)]
    check_all(tmp_path, "votes.csv", cases)


IMPLICIT = [
    ("user,item,clicked\na,x,maybe\n", "line 2: clicked is 'maybe'; it must be 1 or 0"),
    ("user,item,clicked\na,x,\n", "line 2: the clicked is missing"),
    ("user,item,clicked\n,x,1\n", "line 2: the user is missing"),
    ("user,item,clicked\na,,1\n", "line 2: the item is missing"),
    ("user,list,item,clicked\na,,x,1\n", "line 2: the list is missing"),
    ("user,item,clicked\na,x,1\na,x,0\n", "line 3: 'x' is shown twice in one list"),
    ("user,item,clicked\na,x,1\na,y,1\n", "nobody clicked one thing and left another beside it"),
    ("item,clicked\nx,1\n", "does not say who chose"),
    ("user,item\na,x\n", "has no column 'clicked'", {"format": "implicit"}),
    ("user,item,clicked\n,x,\n", "not one row says what was shown", {"missing": "drop"}),
    (
        "user,item,click,chosen\na,x,1,1\n",
        "has the columns 'click' and 'chosen': say which one",
        {"format": "implicit"},
    ),
]


def test_implicit(tmp_path):
    check_all(tmp_path, "votes.csv", IMPLICIT)


@pytest.fixture
def database(tmp_path):
    with sqlite3.connect(tmp_path / "v.sqlite") as connection:
        connection.execute("CREATE TABLE votes (user, winner, loser, weight, gap)")
        connection.execute("CREATE TABLE mixed (user, winner, loser)")
        connection.executemany(
            "INSERT INTO mixed VALUES (?, ?, ?)", [(1, "x", "y"), ("b", "y", "x")]
        )
        connection.execute("INSERT INTO votes VALUES ('a', 'x', 'y', 'often', NULL)")
    connection.close()
    return tmp_path / "v.sqlite"


SQL = [
    (
        None,
        'a database: say what to read from it with query="SELECT user, winner, loser FROM '
        'votes"; it has the tables mixed, votes',
    ),
    ("SELEC * FROM votes", 'does not answer the query: near "SELEC": syntax error'),
    ("SELECT * FROM polls", "does not answer the query: no such table: polls"),
    ("SELECT user, winner FROM votes", "has no column 'loser', only 'user', 'winner'"),
    ("SELECT user, winner AS user, loser FROM votes", "the query gives two columns named 'user'"),
    ("DELETE FROM votes", "it must be a SELECT"),
    ("CREATE TABLE x (y)", "it must be a SELECT"),
    ("SELECT * FROM votes; SELECT 1", "You can only execute one statement at a time"),
    ("SELECT user, winner, loser FROM votes WHERE 0", "There are no comparisons"),
    ("SELECT * FROM mixed", "Column 'user' mixes kinds of values"),
    ("SELECT * FROM votes", "row 1 of the query: the weight 'often' is not a number"),
    ("SELECT gap AS user, winner, loser FROM votes", "row 1 of the query: the user is missing"),
    ("", "the query gives no rows: it must be a SELECT"),
    (
        "SELECT x'ff' AS user, winner, CAST(x'ff' AS TEXT) AS loser FROM votes",
        "Could not decode to UTF-8",
    ),
]


@pytest.mark.parametrize(("query", "expected"), SQL)
def test_sqlite(database, query, expected):
    with pytest.raises(MallowmixError) as caught:
        read(database, query=query)
    assert expected in str(caught.value) and str(caught.value).startswith(str(database))
    assert sqlite3.connect(database).execute("SELECT count(*) FROM votes").fetchone() == (1,)


def test_files_that_are_no_database(tmp_path):
    for name, content in (
        ("v.sqlite", b"no database at all, only text" * 100),
        ("v.duckdb", PNG * 100),
    ):
        assert "does not answer the query" in said(
            tmp_path, name, content, query="SELECT * FROM votes"
        )
    with pytest.raises(FileError, match="There is no file"):
        read(tmp_path / "none.sqlite", query="SELECT 1")
    with pytest.raises(OptionError, match="is not a database: query is for"):
        (tmp_path / "v.csv").write_text("user,winner,loser\na,x,y\n")
        read(tmp_path / "v.csv", query="SELECT 1")
    with pytest.raises(
        OptionError,
        match="mallowmix reads from postgresql://, sqlite:/// and duckdb:/// addresses, not "
        "mysql://",
    ):
        read("mysql://me:secret@host/db", query="SELECT 1")


@pytest.mark.slow
def test_postgres(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE TABLE votes (who uuid DEFAULT gen_random_uuid(), winner text, "
            "loser text, n numeric)"
        )
        connection.execute("INSERT INTO votes (winner, loser, n) VALUES ('x', 'y', 2)")
    for query, expected in [
        (None, "it has the tables votes"),
        ("SELEC", "does not answer the query: syntax error"),
        ("SELECT * FROM polls", 'relation "polls" does not exist'),
        ("DELETE FROM votes", "does not answer the query: syntax error"),
        ("SELECT winner, loser FROM votes", "does not say who chose"),
        ("SELECT who, who AS who, winner, loser FROM votes", "two columns named 'who'"),
        (
            "SELECT NULL AS worker, winner, loser FROM votes",
            "row 1 of the query: the user is missing",
        ),
        ("SELECT who AS worker, winner, winner AS loser FROM votes", "with itself"),
        ("SELECT who AS worker, winner, loser FROM votes WHERE false", "There are no comparisons"),
        ("SELECT 1/0 AS worker, winner, loser FROM votes", "division by zero"),
        ("SELECT ARRAY['a'] AS worker, winner, loser FROM votes", "has the type list<"),
    ]:
        with pytest.raises(MallowmixError) as caught:
            read(postgres_url, query=query)
        assert expected in str(caught.value)
    found = read(
        postgres_url, query='SELECT who AS "user", winner, loser, n AS weight FROM votes'
    ).comparisons
    assert found.n_comparisons == 2 and len(found.users[0]) == 36  # a UUID, by its text
    with pytest.raises(
        FileError,
        match=r"postgresql://me:\*\*\*@127.0.0.1:1/db does not answer the query: connection",
    ) as caught:
        read("postgresql://me:secret@127.0.0.1:1/db", query="SELECT 1")
    assert "secret" not in str(caught.value)


TABLES = [
    (3, "cannot be read from an int"),
    (["abc"], "Row 1 is 'abc'"),
    ([("a",)], "Row 1 has 1 values"),
    ([("a", "x", "y"), ("a", "x")], "Row 2 has 2 values"),
    ([("x", "y")], "does not say who chose"),
    ({**GOOD, "user": [None, "b"]}, "Row 1: the user is missing"),
    ({**GOOD, "user": [float("nan"), 1.0]}, "Row 1: the user is missing. Fill"),
    ({**GOOD, "user": ["a", 1]}, "mixes kinds of values"),
    ({**GOOD, "user": ["a"]}, "they must be equally long"),
    ({**GOOD, "user": "ab"}, "is a str, not a column of labels"),
    ({**GOOD, "user": [[1], [2]]}, "which cannot name a thing"),
    ({"user": ["a"], "better": ["x"], "worse": ["y"]}, "The mapping has no column 'winner'"),
    ({}, "only none at all"),
    ({**GOOD, "weight": [1, float("inf")]}, "Row 2: the weight inf is not a finite number"),
]


@pytest.mark.parametrize(("source", "expected"), TABLES, ids=[expected for _, expected in TABLES])
def test_tables(source, expected):
    with pytest.raises(DataError) as caught:
        read(source)
    assert expected in str(caught.value)


def test_options_that_have_no_use_are_refused():
    for option, value in [
        ("format", "votes"),
        ("ties", "keep"),
        ("query", "SELECT 1"),
        ("format", "preflib"),
        ("zero", "best"),
        ("columns", {"left": "winner", "rating": "loser"}),
    ]:
        with pytest.raises(OptionError) as caught:
            read(GOOD, **{option: value})
        assert (caught.value.option, caught.value.value) == (option, value)
    with pytest.raises(TypeError, match="tie"):
        read(GOOD, tie="drop")


# ---- any bytes ----


@pytest.mark.parametrize(
    "name",
    [
        "a.csv",
        "a.jsonl",
        "a.toi",
        "a.soc",
        "ratings.dat",
        "a.mat",
        "a.parquet",
        "a.csv.gz",
        "a.csv.zst",
    ],
)
@settings(max_examples=25, deadline=None)
@given(content=st.binary(max_size=80) | st.text('au,"\n#:1{}[]>=|', max_size=60).map(str.encode))
def test_no_bytes_end_in_a_foreign_error(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    try:
        read(path)
    except MallowmixError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("name", KINDS)
def test_the_fuzzer_finds_nothing_in_a_few_inputs(name):
    """The same inputs every time; `python -m benchmarks.fuzz_readers` tries 100,000 a form."""
    result = fuzz_inputs.read_some(name, 0, 16)
    assert result["foreign"] == {} and sum(result["found"].values()) == 16
    assert result["found"]["read"] >= 4  # the good ones
    assert result["slowest_seconds"] < fuzz_inputs.SECONDS


def test_the_record_of_the_fuzzer_names_the_readers_of_its_child_processes():
    """In a process of its own: here other tests have imported them."""
    code = (
        "from benchmarks.fuzz_readers import import_readers\n"
        "from mallowmix.paper.provenance import imported_modules\n"
        "import_readers()\n"
        "print(*imported_modules())"
    )
    root = Path(__file__).parents[1]
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True
    )
    files = (root / "src").glob("mallowmix/readers/**/*.py")
    paths = [file.relative_to(root / "src").with_suffix("") for file in files]
    names = {".".join(path.parts).removesuffix(".__init__") for path in paths}
    assert len(names) > 40 and names <= set(said.stdout.split())


def test_the_fuzzer_notices_a_foreign_error_and_a_file_that_is_not_read(monkeypatch):
    def refuse(path, **options):
        raise FileError(f"{path} is not to my taste.")

    monkeypatch.setattr("mallowmix.readers.read", refuse)
    found = fuzz_inputs.read_some("plain.csv", 1, 17)
    assert found["found"] == {"foreign": 4, "FileError": 12}
    assert all("NotRead" in error for error in found["foreign"])
    monkeypatch.setattr(
        "mallowmix.readers.read", lambda path, **options: path.read_bytes().decode("ascii")
    )
    assert fuzz_inputs.read_some("battles.csv", 1, 60)["found"]["foreign"] > 0


@pytest.mark.slow
def test_a_damaged_footer_of_parquet_does_not_end_the_process():
    """Arrow aborts where it is asked for the entry of a column that has a damaged histogram."""
    for number in (1923, 1979):
        counted = fuzz_readers._child("plain.parquet", number, number + 1)
        assert isinstance(counted, dict) and not counted["foreign"], counted


@pytest.mark.slow
def test_fuzzing_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """Forms have as many inputs each, also where the run was stopped between two of them."""
    monkeypatch.setattr(fuzz_readers, "CHUNK", 8)
    names, file = ["plain.csv", "battles.csv"], tmp_path / "finished.jsonl"
    first = fuzz_readers.run(8, names, file)
    assert len(file.read_text().splitlines()) == 2 and first["inputs"] == 16
    third = fuzz_readers.Piece("plain.csv", 8, 16)
    fuzz_readers.read_pieces([third], file, 9.0)
    again = fuzz_readers.run(16, names, file, minutes=0.0)
    assert again["inputs_a_form"] == 8 and again["found"] == first["found"]
    whole = fuzz_readers.run(16, names, file)
    assert whole["inputs_a_form"] == 16 and sum(whole["found"].values()) == 32
    monkeypatch.setattr(fuzz_readers, "_state", lambda name: "another version")
    assert fuzz_readers.run(16, names, file, minutes=0.0)["inputs"] == 0


@pytest.mark.parametrize(
    ("module", "endings"),
    [
        ("mallowmix.readers.excel_files", (".xlsx",)),
        ("mallowmix.readers.json_files", (".json",)),
        ("mallowmix.readers.csv_files", (".csv", ".tsv", ".gz", ".zst")),
        ("mallowmix.readers.sql", ("",)),  # every path is asked whether it is a database
        ("mallowmix.readers.unpacked_limit", ("",)),
        ("benchmarks.fuzz_inputs", ("",)),
        ("benchmarks.fuzz_readers", ()),
        ("mallowmix.model.m4", ()),
    ],
)
def test_a_changed_reader_makes_only_its_own_endings_begin_anew(module, endings, monkeypatch):
    before = {name: fuzz_readers._state(name) for name in KINDS}
    changed = fuzz_readers.imported_modules() | {module: "another"}
    monkeypatch.setattr(fuzz_readers, "imported_modules", lambda: changed)
    anew = {name for name in KINDS if fuzz_readers._state(name) != before[name]}
    assert anew == {name for name in KINDS if name.endswith(endings)}


def test_readers_that_count_for_some_endings_are_there():
    """A module that was renamed would count for every form, and nobody would notice."""
    fuzz_readers.import_readers()
    assert set(fuzz_readers._ONLY_FOR) <= set(fuzz_readers.imported_modules())
    for endings in fuzz_readers._ONLY_FOR.values():
        assert all(any(name.endswith(ending) for name in KINDS) for ending in endings)


def test_two_columns_of_one_name_in_a_wide_parquet_file_are_named(tmp_path):
    """Its columns are taken by their numbers, and nobody names them."""
    path, rank = tmp_path / "wide.parquet", pa.array(["tea"])
    names = ["user", "rank_1", "rank_2", "rank_2"]
    table = pa.table(
        [pa.array(["ann"]), rank, pa.array(["milk"]), pa.array(["cocoa"])], names=names
    )
    pq.write_table(table, path)
    with pytest.raises(DataError, match=r"wide.parquet has 2 columns named 'rank_2': give each"):
        read(path)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_two_columns_of_one_name_in_parquet_are_named(tmp_path, n_rows):
    """Without a row and without another column, too: found by the fuzzer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array(["a"] * n_rows, pa.string())] * 2
    path = tmp_path / "votes.parquet"
    pq.write_table(pa.Table.from_arrays(columns, names=["user", "user"]), path)
    with pytest.raises(MallowmixError) as said:
        mm.read(path)
    assert "votes.parquet" in str(said.value)


def test_the_fuzzer_notices_a_row_that_is_lost():
    table = Table(["user", "winner", "loser"], [["u", "a", "b"], ["u", "b", "a"]])
    fuzz_inputs._check_rows(table, mm.Comparisons.from_arrays(["u", "u"], ["a", "b"], ["b", "a"]))
    with pytest.raises(fuzz_inputs.NotRead):
        fuzz_inputs._check_rows(table, mm.Comparisons.from_arrays(["u"], ["a"], ["b"]))


def test_the_fuzzer_writes_labels_and_empty_tables_as_they_are(tmp_path):
    """A label that looks like a formula stays another one than that without "="."""
    names, rows = ["judge", "model_a", "model_b", "winner"], [["u", "=x", "x", "model_a"]]
    (tmp_path / "v.xlsx").write_bytes(as_workbook(Table(names, rows)))
    assert set(read(tmp_path / "v.xlsx").comparisons.items) == {"=x", "x"}
    (tmp_path / "moviedata.mat").write_bytes(as_matlab(Table(["user", "item", "rating"], [])))
    with pytest.raises(MallowmixError):
        read(tmp_path / "moviedata.mat")


def test_mutations_are_the_same_every_time():
    data = json.dumps(list(range(50))).encode()
    assert (
        fuzz_inputs.mutated(data, random.Random(4))
        == fuzz_inputs.mutated(data, random.Random(4))
        != data
    )
    assert (
        np.unique([len(fuzz_inputs.mutated(data, random.Random(n))) for n in range(50)]).size > 10
    )
