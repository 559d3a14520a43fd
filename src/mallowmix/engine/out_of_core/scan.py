"""A scan of the files by DuckDB: wrong rows are refused, and labels become numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from mallowmix.data.labels import Labels, as_labels
from mallowmix.data.row_checks import DROP_SELF_PAIRS, FILL_OR_DROP, WEIGHTS_ARE_COUNTS
from mallowmix.data.spreadsheet_text import FORMULA
from mallowmix.engine.out_of_core.duckdb_connection import quoted
from mallowmix.engine.out_of_core.source_files import Source
from mallowmix.errors import DataError, Part

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_LABELS = ("user", "winner", "loser")
TOGETHER = 512 << 20  # bytes of files whose users are numbered at a time


def _more(count: int) -> str:
    return f" (and {count - 1:,} more like it)" if count > 1 else ""


class Wrong(NamedTuple):
    """What is wrong with a row, and what to do about it."""

    what: str
    advice: tuple[Part, ...]


class Scan:
    """The rows of a source under the names user, winner, loser, weight; tables of users and items.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        From `connect`.
    source : Source
        The files.
    """

    def __init__(self, con: Any, source: Source) -> None:
        self.con, self.source = con, source
        self.weighted = "weight" in source.columns
        types = {
            row[0]: row[1]
            for row in con.execute(f"DESCRIBE SELECT * FROM {source.relation}").fetchall()
        }
        labels = {name: self._label(name, types[source.columns[name]]) for name in _LABELS}
        if labels["winner"][1] != labels["loser"][1]:
            labels |= {
                name: (f"CAST({labels[name][0]} AS VARCHAR)", "VARCHAR")
                for name in ("winner", "loser")
            }
        self.types = {name: kind for name, (_, kind) in labels.items()}
        weight = (
            f"TRY_CAST({_name(source.columns['weight'])} AS DOUBLE)" if self.weighted else "1.0"
        )
        columns = ", ".join(f"{sql} AS {name}" for name, (sql, _) in labels.items())
        self.ranked = "ranking_id" in source.columns
        ids = f", {self._ranking_id(types)} AS ranking_id" if self.ranked else ""
        self._select = f"SELECT {columns}, {weight} AS weight{ids}, filename"

    @property
    def rows(self) -> str:
        """All rows."""
        return f"({self._select} FROM {self.source.relation})"

    def _label(self, ours: str, kind: str) -> tuple[str, str]:
        theirs = _name(self.source.columns[ours])
        if kind in _WHOLE:
            return f"CAST({theirs} AS BIGINT)", "BIGINT"
        if kind == "VARCHAR" and self.source.is_text:
            pattern = quoted("^'(" + FORMULA + ")")
            plain = f"regexp_replace({theirs}, {pattern}, '\\1')"
            return f"CASE WHEN {theirs}[1] = chr(39) THEN {plain} ELSE {theirs} END", kind
        if kind == "VARCHAR" or kind.startswith("ENUM"):
            return f"CAST({theirs} AS VARCHAR)", "VARCHAR"
        raise DataError(
            f"{self.source.files[0]}: column {self.source.columns[ours]!r} has the type {kind}; "
            "from disk, labels are text or whole numbers. Write the column as one of these."
        )

    def _ranking_id(self, types: Mapping[str, str]) -> str:
        """63 bits of a hash, equal for equal ids; −1 where there is none."""
        label, kind = self._label("ranking_id", types[self.source.columns["ranking_id"]])
        gap = f"{label} IS NULL" + (f" OR {label} = ''" if kind == "VARCHAR" else "")
        return f"CASE WHEN {gap} THEN -1 ELSE (hash({label}) >> 1)::BIGINT END"

    def _gap(self, name: str) -> str:
        if name == "weight":
            return "(weight IS NULL OR isnan(weight))"
        return (
            f"({name} IS NULL OR {name} = '')"
            if self.types[name] == "VARCHAR"
            else f"({name} IS NULL)"
        )

    @property
    def _counts(self) -> str:
        """Whether a row counts."""
        present = " AND ".join(f"NOT {self._gap(name)}" for name in (*_LABELS, "weight"))
        return f"({present} AND weight > 0 AND winner <> loser)"

    @property
    def good(self) -> str:
        """The rows that count."""
        return self._good(self.source.files)

    def _good(self, files: tuple[Path, ...]) -> str:
        rows = f"({self._select} FROM {replace(self.source, files=files).relation})"
        return f"(SELECT * FROM {rows} WHERE {self._counts})"

    def number(self) -> tuple[int, int]:
        """Make tables `users` and `items`, numbered in the order of text.

        Returns
        -------
        n_rows, n_users : int
            How many rows count, and how many users there are.

        Raises
        ------
        DataError
            Where a row is wrong, or there is none.
        """
        n_rows = self._number_items()
        if not n_rows:
            raise DataError(
                "There are no comparisons: give at least one row of user, winner, loser."
            )
        self.con.execute(f"CREATE TABLE found (user {self.types['user']})")
        for files in _groups(self.source.files):
            self.con.execute(
                f"INSERT INTO found SELECT DISTINCT user FROM {self._good(files)} v "
                "WHERE NOT EXISTS (SELECT 1 FROM found f WHERE f.user = v.user)"
            )
        self.con.execute(f"CREATE TABLE users AS SELECT user, {_numbered('user')} FROM found")
        self.con.execute("DROP TABLE found")
        return n_rows, int(self.con.execute("SELECT count(*) FROM users").fetchone()[0])

    def _number_items(self) -> int:
        """Make the table `items` in one scan, which also counts rows and refuses wrong ones."""
        wrong = self._wrong()
        tests = "".join(f", count_if({test}) AS wrong_{i}" for i, test in enumerate(wrong))
        self.con.execute(
            "CREATE TABLE sides AS SELECT winner, loser, grouping(winner) AS is_loser, "
            f"count_if({self._counts}) AS n{tests} "
            f"FROM {self.rows} GROUP BY GROUPING SETS ((winner), (loser))"
        )
        self._refuse(wrong)
        both = (
            "SELECT CASE is_loser WHEN 0 THEN winner ELSE loser END AS item FROM sides WHERE n > 0"
        )
        self.con.execute(
            f"CREATE TABLE items AS SELECT item, {_numbered('item')} "
            f"FROM (SELECT DISTINCT item FROM ({both}))"
        )
        return int(
            self.con.execute(
                "SELECT coalesce(sum(n), 0)::BIGINT FROM sides WHERE is_loser = 0"
            ).fetchone()[0]
        )

    def _wrong(self) -> dict[str, Wrong]:
        """What the policies do not allow, by its test in SQL."""
        wrong = {}
        if self.source.missing == "error":
            wrong |= {
                self._gap(name): Wrong(f"the {name} is missing", FILL_OR_DROP)
                for name in (*_LABELS, "weight")[: 3 + self.weighted]
            }
        if self.weighted:
            wrong |= {
                "isinf(weight)": Wrong("the weight is not a finite number", (WEIGHTS_ARE_COUNTS,)),
                "weight < 0": Wrong("the weight is negative", (WEIGHTS_ARE_COUNTS,)),
            }
        if self.source.self_pairs == "error":
            wrong["winner = loser"] = Wrong("a thing is compared with itself", DROP_SELF_PAIRS)
        return wrong

    def _refuse(self, wrong: dict[str, Wrong]) -> None:
        """Raise a DataError for the first wrong row, with its file."""
        for i, (test, found) in enumerate(wrong.items()):
            (count,) = self.con.execute(
                f"SELECT sum(wrong_{i})::BIGINT FROM sides WHERE is_loser = 0"
            ).fetchone()
            if count:
                raise DataError(
                    f"{self._first(test)} {found.what}{_more(int(count))}. ", *found.advice
                )

    def _first(self, test: str) -> str:
        """The first row for which a test holds, in words."""
        row = self.con.execute(
            f"SELECT filename, user, winner, loser FROM {self.rows} WHERE {test} LIMIT 1"
        ).fetchone()
        return f"{row[0]}: in the row user {row[1]!r}, winner {row[2]!r}, loser {row[3]!r}"

    def items(self) -> Labels:
        """The labels of all items, by number."""
        return as_labels(
            [row[0] for row in self.con.execute("SELECT item FROM items ORDER BY code").fetchall()]
        )

    def write_users(self, target: Path) -> None:
        """The labels of all users, by number, as a Parquet file."""
        self.con.execute(
            f"COPY (SELECT user FROM users ORDER BY code) TO {quoted(str(target))} (FORMAT parquet)"
        )

    def coded(self, n_items: int, users_a_part: int, kind: str) -> pa.RecordBatchReader:
        """Every row as its part, its key and, where there are some, its weight and ranking id.

        The key is user within the part · Q² + pair.

        Parameters
        ----------
        n_items : int
            Q.
        users_a_part : int
            How many users a part has.
        kind : str
            The type of keys, in SQL.
        """
        key = (
            f"((u.code % {users_a_part})::UBIGINT * {n_items**2} "
            f"+ w.code::UBIGINT * {n_items} + l.code)::{kind}"
        )
        rest = ", v.weight" * self.weighted + ", v.ranking_id" * self.ranked
        relation = self.con.sql(
            f"SELECT (u.code // {users_a_part})::USMALLINT AS part, {key} AS key{rest} "
            f"FROM {self.good} v JOIN users u ON u.user = v.user "
            "JOIN items w ON w.item = v.winner JOIN items l ON l.item = v.loser"
        )
        return (
            relation.to_arrow_reader
            if hasattr(relation, "to_arrow_reader")
            else relation.fetch_arrow_reader
        )(1 << 20)


def _groups(files: tuple[Path, ...]) -> Iterator[tuple[Path, ...]]:
    """Files some at a time: so users who come back in every file are held in memory once."""
    group, nbytes = [], 0
    for file in files:
        group.append(file)
        # a file that vanished is reported when it is read
        nbytes += file.stat().st_size if file.exists() else 0
        if nbytes >= TOGETHER:
            yield tuple(group)
            group, nbytes = [], 0
    if group:
        yield tuple(group)


def _numbered(label: str) -> str:
    return f"(row_number() OVER (ORDER BY CAST({label} AS VARCHAR)) - 1)::UINTEGER AS code"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
