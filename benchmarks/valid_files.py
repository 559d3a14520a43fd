"""Random files without fault, of every form and ending that is read.

A file is a table first, made by a function of this page, and then the bytes of `table_bytes`.
"""

import gzip
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.table_bytes import (
    Table,
    as_csv,
    as_json,
    as_json_lines,
    as_matlab,
    as_movielens,
    as_parquet,
    as_preflib,
    as_sqlite,
    as_workbook,
    as_zstd,
)

LABELS = ["tea", "green tea", "crème", "コーヒー", '5" pipe', "a,b", "=x", "-2", "007", "NULL", "x"]
LABELS += ["'tis", "nan", "Ünï", "m;n", "lemon\nade", "🫖", "true", "1e3", "O'Hara", "back\\slash"]
_PLAIN = [label for label in LABELS if not set(label) & set('",|\n;\\')]


class Kind(NamedTuple):
    """How files of one form and ending are made."""

    make: Callable[[random.Random], Table]
    write: Callable[[Table], bytes]


def _items(chance: random.Random, labels: list[str] = LABELS) -> list[Any]:
    count = chance.randint(3, 8)
    return chance.sample(range(-5, 99) if chance.random() < 0.3 else labels, count)


def _rows(chance: random.Random, row: Callable[[str], list[Any]]) -> list[list[Any]]:
    users = chance.sample(["ann", "bob", "Zoë", "u 1", "10", "9"], chance.randint(1, 4))
    return [row(chance.choice(users)) for _ in range(chance.randint(1, 30))]


def plain(chance: random.Random) -> Table:
    """Winner, loser and perhaps a weight."""
    items, weighted = _items(chance), chance.random() < 0.5
    weight = [chance.choice([1, 2, 0.5, 300])] * weighted
    rows = _rows(chance, lambda user: [user, *chance.sample(items, 2), *weight])
    return Table(["user", "winner", "loser", *["weight"] * weighted], rows)


def battles(chance: random.Random) -> Table:
    """Two sides, and which one won; the first battle is no tie."""
    items, words = _items(chance), ["model_a", "model_b", "tie", "both_bad"]
    rows = _rows(chance, lambda user: [user, *chance.sample(items, 2), chance.choice(words)])
    rows[0][3] = "model_a"
    return Table(["judge", "model_a", "model_b", "winner"], rows)


def ratings(chance: random.Random) -> Table:
    """Stars for things: each user rates several, the first two unlike."""
    items = _items(chance)
    rows = [
        [user, item, chance.choice([1, 2.5, 3, 5])]
        for user in range(chance.randint(1, 5))
        for item in chance.sample(items, 3)
    ]
    rows[0][2], rows[1][2] = 1, 5
    return Table(["userId", "movieId", "rating"], rows)


def long_rankings(chance: random.Random) -> Table:
    """A row for each position."""
    items = _items(chance)
    rows = [
        [user, item, position]
        for user in range(chance.randint(1, 5))
        for position, item in enumerate(chance.sample(items, 3), 1)
    ]
    return Table(["user", "item", "rank"], rows)


def wide(chance: random.Random) -> Table:
    """A row for each ranking, perhaps of some things only."""
    items = chance.sample(_PLAIN, 5)
    rows = [
        [f"u{n}", *chance.sample(items, 3), None] if n % 2 else [f"u{n}", *chance.sample(items, 4)]
        for n in range(chance.randint(1, 12))
    ]
    return Table(["user", "rank_1", "rank_2", "rank_3", "rank_4"], rows)


def lists(chance: random.Random) -> Table:
    """Rankings as lists."""
    items = chance.sample(LABELS, 5)
    rows = [[f"u{n}", chance.sample(items, chance.randint(2, 5))] for n in range(6)]
    return Table(["user", "ranking"], rows)


def best_worst(chance: random.Random) -> Table:
    """What was shown, and the best and worst of it."""
    items = chance.sample(_PLAIN, 6)

    def row(user: str) -> list[Any]:
        shown = chance.sample(items, chance.randint(3, 5))
        return [user, "|".join(shown), *chance.sample(shown, 2)]

    return Table(["user", "shown", "best", "worst"], _rows(chance, row))


def clicks(chance: random.Random) -> Table:
    """What of a list was clicked; in the first list one thing was."""
    items, yes = _items(chance), chance.choice([(1, 0), ("yes", "no"), ("true", "false")])
    rows = [
        ["u", number, item, yes[position != 0 if number == 0 else chance.random() < 0.5]]
        for number in range(chance.randint(1, 5))
        for position, item in enumerate(chance.sample(items, 3))
    ]
    return Table(["user", "list", "item", "clicked"], rows)


def polis(chance: random.Random) -> Table:
    """Statements that were agreed to and not."""
    rows = [[0, 0, 1], [0, 1, -1]]
    rows += [[chance.randint(1, 4), chance.randint(0, 6), chance.choice([1, 0, -1])]] * 3
    return Table(["voter-id", "comment-id", "vote"], rows)


def stars(chance: random.Random) -> Table:
    """Whole numbers: user, item, stars, time."""
    rows = [[1, 10, 5, 978300760], [1, 11, 3, 978300761]]
    rows += [[user, 10 + chance.randrange(5), chance.randint(1, 5), 9] for user in range(2, 6)]
    return Table(["user", "item", "stars", "time"], rows)


def orders(chance: random.Random) -> Table:
    """Orders of numbered alternatives with their counts; names of alternatives as columns."""
    count = chance.randint(2, 6)
    rows = []
    for _ in range(chance.randint(1, 8)):
        order = [str(n) for n in chance.sample(range(1, count + 1), count)]
        rows.append([chance.randint(1, 9), ",".join(order)])
    return Table(chance.sample(_PLAIN, count), rows)


_TEXTS = {
    "plain": plain,
    "battles": battles,
    "ratings": ratings,
    "long": long_rankings,
    "wide": wide,
    "shown": best_worst,
    "clicks": clicks,
    "polis": polis,
}
KINDS: dict[str, Kind] = {
    **{f"{name}.csv": Kind(make, as_csv) for name, make in _TEXTS.items()},
    "plain.tsv": Kind(plain, lambda table: as_csv(table, "\t")),
    "plain.csv.gz": Kind(plain, lambda table: gzip.compress(as_csv(table), mtime=0)),
    "plain.csv.zst": Kind(plain, as_zstd),
    "plain.jsonl": Kind(plain, as_json_lines),
    "lists.jsonl": Kind(lists, as_json_lines),
    "plain.json": Kind(plain, as_json),
    "lists.json": Kind(lists, as_json),
    "plain.parquet": Kind(plain, as_parquet),
    "lists.parquet": Kind(lists, as_parquet),
    "plain.sqlite": Kind(plain, as_sqlite),
    "battles.xlsx": Kind(battles, as_workbook),
    "ratings.dat": Kind(stars, as_movielens),
    "moviedata.mat": Kind(stars, as_matlab),
    "orders.soc": Kind(orders, as_preflib("soc")),
    "orders.toi": Kind(orders, as_preflib("toi")),
}
