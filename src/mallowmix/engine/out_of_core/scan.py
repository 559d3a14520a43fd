"""Shards as one relation: which files and columns, what is wrong with their rows, and labels as numbers, by DuckDB."""

import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from mallowmix.data.labels import Labels, as_labels
from mallowmix.data.row_checks import DROP_SELF_PAIRS, FILL_OR_DROP, WEIGHTS_ARE_COUNTS
from mallowmix.errors import DataError, FileError, Option, Part, check_choice
from mallowmix.readers.files import matching
from mallowmix.readers.headers import check_columns, pick_columns
from mallowmix.readers.plain import COMPARISONS

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_LABELS = ("user", "winner", "loser")
TOGETHER = 512 << 20  # bytes of files whose people are looked for at a time


@dataclass(frozen=True)
class Source:
    """Files of one kind that hold user, winner, loser and perhaps weight; `columns` goes from our names to theirs."""

    files: tuple[Path, ...]
    columns: Mapping[str, str]
    self_pairs: str = "error"
    missing: str = "error"

    @property
    def relation(self) -> str:
        """The files as SQL reads them, with the name of each row's file."""
        names = "[" + ", ".join(_quoted(str(file)) for file in self.files) + "]"
        kind = _kind(self.files[0])
        if kind == ".parquet":
            return f"read_parquet({names}, filename=true, union_by_name=true)"
        return f"read_csv({names}, filename=true, all_varchar=true, header=true, delim='{_DELIMITERS[kind]}', nullstr='')"

    def identity(self) -> dict[str, Any]:
        """What tells whether a cache was made from this: the files with their sizes and times, the columns, the policies."""
        files = [
            [str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns]
            for file in self.files
        ]
        return {
            "files": files,
            "columns": dict(self.columns),
            "self_pairs": self.self_pairs,
            "missing": self.missing,
        }

    def nbytes(self) -> int:
        """The bytes of all files."""
        return sum(file.stat().st_size for file in self.files)


def find_source(
    paths: Any,
    columns: Mapping[str, Any] | None = None,
    self_pairs: str = "error",
    missing: str = "error",
) -> Source:
    """The files that a path, a folder, a pattern or a list of these names, all of one kind and with the same columns."""
    check_choice("self_pairs", self_pairs, ("error", "drop"))
    check_choice("missing", missing, ("error", "drop"))
    check_columns(columns, COMPARISONS.all)
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = tuple(dict.fromkeys(file for path in given for file in _files(Path(path))))
    for file in files:
        if not file.is_file():
            raise FileError(f"There is no file {file}: check the name and the folder.")
        if _kind(file) != _kind(files[0]):
            raise FileError(f"{file} is of another kind than {files[0]}: give files of one kind.")
    picked = [_picked(file, columns) for file in files]
    for file, other in zip(files, picked, strict=True):
        if other != picked[0]:
            raise DataError(
                f"{file} has other columns than {files[0]}: give every file the same columns."
            )
    return Source(files, picked[0], self_pairs, missing)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.glob("*.parquet") if file.name[0] not in "._")
        if not found:
            raise FileError(
                f"{path} is a folder without .parquet files in it: name a file, or a folder that has some."
            )
        return found
    return matching(path) if not path.exists() and glob.has_magic(str(path)) else [path]


def _kind(file: Path) -> str:
    name = file.name.lower()
    for ending in (".parquet", *_DELIMITERS):
        if name.endswith(ending):
            return ending
    raise FileError(
        f"{file}: from disk, mallowmix reads .parquet, .csv and .tsv (these two also with .gz)."
    )


def _picked(file: Path, columns: Mapping[str, Any] | None) -> dict[str, str]:
    try:
        if _kind(file) == ".parquet":
            names = pq.read_schema(file).names
        else:
            found = (
                connect()
                .execute(f"DESCRIBE SELECT * FROM {Source((file,), {}).relation}")
                .fetchall()
            )
            names = [row[0] for row in found if row[0] != "filename"]
    except FileError:
        raise
    except Exception as error:
        raise FileError(f"{file} cannot be read: {_first_line(error)}") from None
    return pick_columns(names, COMPARISONS, columns, str(file))


def connect(memory: int = 10**9, n_jobs: int = 1, folder: Path | None = None) -> Any:
    """A DuckDB that stays within the memory, and spills into the folder."""
    try:
        import duckdb
    except ImportError:
        raise FileError(
            "Data larger than memory needs DuckDB, which is not installed: "
            "pip install 'mallowmix[data]'."
        ) from None
    con = duckdb.connect()
    con.execute(
        f"SET memory_limit='{memory // 10**6}MB'; SET threads={n_jobs}; SET preserve_insertion_order=false"
    )
    if folder is not None:
        con.execute(f"SET temp_directory={_quoted(str(folder))}")
    return con


@contextmanager
def speaking_of(files: tuple[Path, ...]) -> Iterator[None]:
    """What DuckDB refuses, in a sentence: a file that vanished, a full disk, a shard that is cut short."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        gone = [file for file in files if not file.exists()]
        if gone:
            raise FileError(
                f"{gone[0]} vanished while it was read: bring it back, and run again."
            ) from None
        if "No space left" in str(error) or "max_temp_directory_size" in str(error):
            raise FileError(
                "The disk is full: name a folder on a larger one with ",
                Option("cache"),
                f" ({_first_line(error)})",
            ) from None
        raise FileError(f"The shards cannot be read: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") + "."


def _more(count: int) -> str:
    return f" (and {count - 1:,} more like it)" if count > 1 else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Wrong(NamedTuple):
    """What is wrong with a row, and what to do about it."""

    what: str
    advice: tuple[Part, ...]


class Scan:
    """The rows of a source under our names, labels in the type that they are kept in, and tables of people and items."""

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
        self._select = f"SELECT {columns}, {weight} AS weight, filename"

    @property
    def rows(self) -> str:
        """All rows."""
        return f"({self._select} FROM {self.source.relation})"

    def _label(self, ours: str, kind: str) -> tuple[str, str]:
        theirs = _name(self.source.columns[ours])
        if kind in _WHOLE:
            return f"CAST({theirs} AS BIGINT)", "BIGINT"
        if kind == "VARCHAR" or kind.startswith("ENUM"):
            return f"CAST({theirs} AS VARCHAR)", "VARCHAR"
        raise DataError(
            f"{self.source.files[0]}: column {self.source.columns[ours]!r} has the type {kind}; from disk, labels are text or "
            "whole numbers. Write the column as one of these."
        )

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
        return f"(SELECT * FROM ({self._select} FROM {replace(self.source, files=files).relation}) WHERE {self._counts})"

    def number(self) -> tuple[int, int]:
        """Tables `people` and `items`, numbered in the order of text; how many rows count, and how many people there are."""
        n_rows = self._number_items()
        if not n_rows:
            raise DataError(
                "There are no comparisons: give at least one row of user, winner, loser."
            )
        self.con.execute(f"CREATE TABLE found (user {self.types['user']})")
        for files in _groups(self.source.files):
            new = f"SELECT DISTINCT user FROM {self._good(files)} v WHERE NOT EXISTS (SELECT 1 FROM found f WHERE f.user = v.user)"
            self.con.execute(f"INSERT INTO found {new}")
        self.con.execute(f"CREATE TABLE people AS SELECT user, {_numbered('user')} FROM found")
        self.con.execute("DROP TABLE found")
        return n_rows, int(self.con.execute("SELECT count(*) FROM people").fetchone()[0])

    def _number_items(self) -> int:
        """The table `items`, in one scan that also counts the rows that count, and refuses those that must not be."""
        wrong = self._wrong()
        tests = "".join(f", count_if({test}) AS wrong_{i}" for i, test in enumerate(wrong))
        self.con.execute(
            f"CREATE TABLE sides AS SELECT winner, loser, grouping(winner) AS is_loser, count_if({self._counts}) AS n{tests} "
            f"FROM {self.rows} GROUP BY GROUPING SETS ((winner), (loser))"
        )
        self._refuse(wrong)
        both = (
            "SELECT CASE is_loser WHEN 0 THEN winner ELSE loser END AS item FROM sides WHERE n > 0"
        )
        self.con.execute(
            f"CREATE TABLE items AS SELECT item, {_numbered('item')} FROM (SELECT DISTINCT item FROM ({both}))"
        )
        return int(
            self.con.execute(
                "SELECT coalesce(sum(n), 0)::BIGINT FROM sides WHERE is_loser = 0"
            ).fetchone()[0]
        )

    def _wrong(self) -> dict[str, Wrong]:
        """What no policy allows, by its test in SQL."""
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
        """The first row that is wrong is named by its file."""
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

    def write_people(self, target: Path) -> None:
        """The labels of all people, by number, as a Parquet file."""
        self.con.execute(
            f"COPY (SELECT user FROM people ORDER BY code) TO {_quoted(str(target))} (FORMAT parquet)"
        )

    def coded(self, n_items: int, users_a_part: int, kind: str) -> pa.RecordBatchReader:
        """Every row as its part of the people, its key (person within the part · Q² + pair) and, if it has one, its weight."""
        key = f"((u.code % {users_a_part})::UBIGINT * {n_items**2} + w.code::UBIGINT * {n_items} + l.code)::{kind}"
        weight = ", v.weight" if self.weighted else ""
        relation = self.con.sql(
            f"SELECT (u.code // {users_a_part})::USMALLINT AS part, {key} AS key{weight} FROM {self.good} v "
            "JOIN people u ON u.user = v.user JOIN items w ON w.item = v.winner JOIN items l ON l.item = v.loser"
        )
        return (
            relation.to_arrow_reader
            if hasattr(relation, "to_arrow_reader")
            else relation.fetch_arrow_reader
        )(1 << 20)


def _groups(files: tuple[Path, ...]) -> Iterator[tuple[Path, ...]]:
    """Files one after the other, some at a time: where everybody comes back in every file, nobody need be spilled twice."""
    group, nbytes = [], 0
    for file in files:
        group.append(file)
        # one that vanished is told of when it is read
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
