"""The same choices in every form are the same Comparisons and the same model, byte for byte."""

import itertools
import json
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from mallowmix.infer.user_results import Predictions, Weights
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.model_file import dumps
from mallowmix.readers import read, read_comparisons
from mallowmix.writers import as_table, preflib_text, rankings_of, write_table

ITEMS = ["coffee", "juice", "milk", "tea", "water"]
# 14 people, a full ranking each
ORDERS = [order for n, order in enumerate(itertools.permutations(ITEMS)) if n % 9 == 0]
PEOPLE = [str(n + 1) for n in range(len(ORDERS))]
ROWS = [
    (who, *pair)
    for who, order in zip(PEOPLE, ORDERS, strict=True)
    for pair in itertools.combinations(order, 2)
]
TRUTH = mm.Comparisons.from_arrays(*zip(*ROWS, strict=True))


def frame(names, rows):
    return pa.table({name: [row[n] for row in rows] for n, name in enumerate(names)})


def battles(words=("left", "right"), names=("user", "left", "right", "outcome")):
    """The winner stands right in every second row."""
    rows = [
        (u, w, x, words[0]) if n % 2 else (u, x, w, words[1]) for n, (u, w, x) in enumerate(ROWS)
    ]
    return frame(names, rows)


def ratings():
    return frame(
        ("user", "item", "rating"),
        [
            (who, item, 5 - n)
            for who, order in zip(PEOPLE, ORDERS, strict=True)
            for n, item in enumerate(order)
        ],
    )


def long_ranks():
    return frame(
        ("user", "item", "rank"),
        [
            (who, item, n + 1)
            for who, order in zip(PEOPLE, ORDERS, strict=True)
            for n, item in enumerate(order)
        ],
    )


def wide_places():
    rows = [
        (who, *(order.index(item) + 1 for item in ITEMS))
        for who, order in zip(PEOPLE, ORDERS, strict=True)
    ]
    return frame(("user", *ITEMS), rows)


def best_worst(names=("user", "item_1", "item_2", "best", "worst")):
    return frame(names, [(u, *sorted((w, x)), w, x) for u, w, x in ROWS])


def implicit():
    rows = [(u, n, item, item == w) for n, (u, w, x) in enumerate(ROWS) for item in sorted((w, x))]
    return frame(("user", "list", "item", "clicked"), rows)


def preflib(tmp):
    lines = [
        f"# NUMBER ALTERNATIVES: {len(ITEMS)}",
        *(f"# ALTERNATIVE NAME {n}: {item}" for n, item in enumerate(ITEMS, 1)),
    ]
    lines += ["1: " + ",".join(str(ITEMS.index(item) + 1) for item in order) for order in ORDERS]
    (tmp / "votes.soc").write_text("\n".join(lines) + "\n")
    return tmp / "votes.soc"


def saved(tmp, table, name):
    write_table(table, tmp / name)
    return tmp / name


def jsonl_lists(tmp):
    lines = (
        json.dumps({"user": who, "ranking": order})
        for who, order in zip(PEOPLE, ORDERS, strict=True)
    )
    (tmp / "r.jsonl").write_text("\n".join(lines))
    return tmp / "r.jsonl"


def globbed(tmp):
    table = frame(("user", "winner", "loser"), ROWS)
    for n in range(3):
        pq.write_table(table.slice(n * 50, 50), tmp / f"part-{n}.parquet")
    return tmp / "part-*.parquet"


HELD = []  # connections: DuckDB 1.3 closes one that nobody holds, though a relation reads from it


def duck(tmp):
    import duckdb

    write_table(frame(("user", "winner", "loser"), ROWS), tmp / "v.duckdb")
    connection = duckdb.connect(str(tmp / "v.duckdb"), read_only=True)
    HELD.append(connection)
    return connection.sql("SELECT * FROM votes")


PLAIN = frame(("user", "winner", "loser"), ROWS)
QUERY = {"query": "SELECT * FROM votes"}
FORMS = {
    "tuples": lambda tmp: (ROWS, {}),
    "arrow": lambda tmp: (PLAIN, {}),
    "pandas": lambda tmp: (PLAIN.to_pandas(), {}),
    "polars": lambda tmp: (pl.from_arrow(PLAIN), {}),
    "polars lazy": lambda tmp: (pl.from_arrow(PLAIN).lazy(), {}),
    "duckdb relation": lambda tmp: (duck(tmp), {}),
    "csv": lambda tmp: (saved(tmp, PLAIN, "v.csv"), {}),
    "csv.gz": lambda tmp: (saved(tmp, PLAIN, "v.csv.gz"), {}),
    "tsv.zst": lambda tmp: (saved(tmp, PLAIN, "v.tsv.zst"), {}),
    "jsonl": lambda tmp: (saved(tmp, PLAIN, "v.jsonl"), {}),
    "jsonl.zst": lambda tmp: (saved(tmp, PLAIN, "v.jsonl.zst"), {}),
    "parquet": lambda tmp: (saved(tmp, PLAIN, "v.parquet"), {}),
    "a pattern": lambda tmp: (globbed(tmp), {}),
    "sqlite": lambda tmp: (saved(tmp, PLAIN, "v.sqlite"), QUERY),
    "sqlite address": lambda tmp: (f"sqlite:///{saved(tmp, PLAIN, 'v.sqlite')}", QUERY),
    "duckdb": lambda tmp: (saved(tmp, PLAIN, "v.duckdb"), QUERY),
    "battles": lambda tmp: (battles(), {}),
    "battles of an arena": lambda tmp: (
        battles(("model_a", "model_b"), ("judge", "model_a", "model_b", "winner")),
        {},
    ),
    "battles won by name": lambda tmp: (
        frame(("user", "left", "right", "outcome"), [(u, *sorted((w, x)), w) for u, w, x in ROWS]),
        {},
    ),
    "battles in other words": lambda tmp: (
        battles(("izq", "der")),
        {"outcomes": {"izq": "left", "der": "right"}, "format": "battles"},
    ),
    "ratings": lambda tmp: (ratings(), {}),
    "ratings csv": lambda tmp: (saved(tmp, ratings(), "r.csv"), {}),
    "rankings, long": lambda tmp: (long_ranks(), {}),
    "rankings, wide by order": lambda tmp: (
        frame(
            ("user", *(f"rank_{n}" for n in range(1, 6))),
            [(who, *order) for who, order in zip(PEOPLE, ORDERS, strict=True)],
        ),
        {},
    ),
    "rankings, wide by place": lambda tmp: (wide_places(), {"format": "rankings"}),
    "rankings, from 0": lambda tmp: (
        long_ranks().set_column(2, "rank", pa.array([n % 5 for n in range(70)])),
        {"zero": "best"},
    ),
    "rankings, text": lambda tmp: (
        pd.DataFrame({"user": PEOPLE, "ranking": [" > ".join(order) for order in ORDERS]}),
        {},
    ),
    "rankings, lists": lambda tmp: (jsonl_lists(tmp), {}),
    "Rankings": lambda tmp: (mm.Rankings.from_orders(ORDERS, PEOPLE), {}),
    "best-worst": lambda tmp: (best_worst(), {}),
    "best-worst, lists": lambda tmp: (
        frame(("user", "shown", "best", "worst"), [(u, [w, x], w, x) for u, w, x in ROWS]),
        {},
    ),
    "best-worst, text": lambda tmp: (
        saved(
            tmp,
            frame(("user", "shown", "best", "worst"), [(u, f"{w}|{x}", w, x) for u, w, x in ROWS]),
            "b.csv",
        ),
        {},
    ),
    "bayesmallows": lambda tmp: (
        frame(("assessor", "bottom_item", "top_item"), [(u, x, w) for u, w, x in ROWS]),
        {},
    ),
    "implicit": lambda tmp: (implicit(), {}),
    "preflib": lambda tmp: (preflib(tmp), {}),
}


def assert_one_ranking_each(found, form):
    """Forms of orders say that a user's comparisons come from one; others say nothing."""
    if form.lower().startswith(("ratings", "rankings", "preflib")):
        assert found.ranking_id is not None and not found.ranking_id.any()
        assert found != TRUTH
    else:
        assert found.ranking_id is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::mallowmix.errors.DataWarning")
def test_every_form_is_the_same_comparisons(tmp_path, form):
    source, options = FORMS[form](tmp_path)
    found = read_comparisons(source, **options)
    assert found.without_ranking_id() == TRUTH
    assert_one_ranking_each(found, form)
    for name in ("user", "winner", "loser", "weight", "user_weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(TRUTH, name))


@pytest.mark.filterwarnings("ignore::mallowmix.errors.DataWarning")
def test_every_form_is_the_same_model(tmp_path):
    """Comparisons are the same byte for byte, so one form of each family is enough here.

    Only the fingerprint tells whether they came from rankings.
    """

    def fitted(comparisons):
        options = {"method": SpectralOptions(refine="none"), "seed": 3, "predictor": False}
        return mm.fit(comparisons, 2, **options)

    truth = dumps(fitted(TRUTH))
    for form in (
        "csv.gz",
        "battles",
        "ratings",
        "rankings, lists",
        "best-worst",
        "implicit",
        "preflib",
    ):
        source, options = FORMS[form](tmp_path)
        model = fitted(read_comparisons(source, **options))
        report = replace(model.report, fingerprint=TRUTH.fingerprint())
        assert dumps(replace(model, report=report)) == truth, form


@pytest.mark.slow
def test_postgres_is_the_same_comparisons(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE votes (id serial, who text, better text, worse text)")
        connection.cursor().executemany(
            "INSERT INTO votes (who, better, worse) VALUES (%s, %s, %s)", ROWS
        )
    query = 'SELECT who AS "user", better AS winner, worse AS loser FROM votes'
    assert read_comparisons(postgres_url, query=query) == TRUTH
    names = {"user": "who", "winner": "better", "loser": "worse"}
    assert read_comparisons(postgres_url, query="SELECT * FROM votes", columns=names) == TRUTH


@pytest.mark.parametrize(
    "form",
    ["comparisons", "bayesmallows", "battles", "ratings", "rankings", "best-worst", "implicit"],
)
def test_what_is_written_is_read_back(form):
    found = read(as_table(TRUTH, form), format=form).comparisons
    assert found.without_ranking_id() == TRUTH
    assert_one_ranking_each(found, form)


def test_preflib_is_read_back(tmp_path):
    """Voters lose their names: order by order, the same rankings."""
    (tmp_path / "v.soc").write_text(preflib_text(rankings_of(TRUTH), "v.soc"))
    found = mm.read(tmp_path / "v.soc").comparisons
    assert found.n_users == len(PEOPLE) and found.n_comparisons == TRUTH.n_comparisons
    np.testing.assert_array_equal(
        np.bincount(found.pair, minlength=25), np.bincount(TRUTH.pair, minlength=25)
    )


def test_typed_labels_come_back_from_typed_tables(tmp_path):
    table = pa.table({"user": [10, 9], "winner": [2, 10], "loser": [10, 2]})
    pq.write_table(table, tmp_path / "v.parquet")
    for source in (table, table.to_pandas(), pl.from_arrow(table), tmp_path / "v.parquet"):
        found = read_comparisons(source)
        # in the order of their text
        assert found.users.tolist() == [10, 9] and found.items.tolist() == [10, 2]
        assert found.to_frame("pandas")["winner"].tolist() == [2, 10]
    with sqlite3.connect(tmp_path / "v.db") as connection:
        connection.execute("CREATE TABLE votes (user INTEGER, winner INTEGER, loser INTEGER)")
        connection.executemany("INSERT INTO votes VALUES (?, ?, ?)", [(10, 2, 10), (9, 10, 2)])
    assert read_comparisons(tmp_path / "v.db", **QUERY) == read_comparisons(table)


@pytest.mark.parametrize(
    "like",
    ["pandas", "polars", "pyarrow", pd.DataFrame(), pl.DataFrame(), pl.LazyFrame(), pa.table({})],
)
def test_tables_come_out_in_the_callers_kind(like):
    found = TRUTH.to_frame(like)
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    kind = (
        kinds[like]
        if isinstance(like, str)
        else pl.DataFrame
        if isinstance(like, pl.LazyFrame)
        else type(like)
    )
    assert type(found) is kind and read_comparisons(found) == TRUTH
    theta = np.full((TRUTH.n_users, 2), 0.5)
    assert type(Weights(TRUTH.users, theta).to_frame(like)) is kind
    pairs = (("tea", "milk"), ("milk", "water"))
    assert type(Predictions(TRUTH.users, pairs, theta).to_frame(like)) is kind


def test_frames_hold_labels():
    theta = np.array([[0.25, 0.75], [1.0, 0.0]])
    users = np.array(["ann", "bob"], object)
    rows = Weights(users, theta).to_frame().to_pylist()
    assert rows[0] == {"user": "ann", "component_1": 0.25, "component_2": 0.75}
    rows = Predictions(users, (("x", "y"), ("y", "z")), theta).to_frame().to_pylist()
    assert rows[1] == {"user": "ann", "first": "y", "second": "z", "probability": 0.75}
    assert rows[2] == {"user": "bob", "first": "x", "second": "y", "probability": 1.0}
