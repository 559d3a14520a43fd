"""Databases by query: SQLite and DuckDB files, PostgreSQL by URL. One SELECT, nothing else."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from mallowmix.data.optional_packages import optional_package
from mallowmix.data.text import printable
from mallowmix.errors import DataError, FileError, Option, OptionError, Part
from mallowmix.readers.inputs import Input, check_width, missing_file
from mallowmix.readers.json_lines import one_type

SQLITE, DUCKDB = (".sqlite", ".sqlite3", ".db"), (".duckdb",)
_BATCH = 100_000  # rows that are Python objects at a time
_SECONDS = 10  # how long to wait for a server
# names in a damaged file may be no text
_SQLITE_ERRORS = (sqlite3.Error, sqlite3.Warning, ValueError)
_READING = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)
_ASK = Option("query", "SELECT user, winner, loser FROM votes")
ABOUT_QUERY: tuple[Part, ...] = (
    Option("query"),
    " is for .sqlite and .duckdb files and for addresses of servers.",
)
_DUCKDB = {"enable_external_access": "false", "lock_configuration": "true"}
Ran = tuple[list[str], Iterator[list[Any]]]  # names of the columns, batches of rows


def is_url(source: Any) -> bool:
    """Return whether a text is the address of a database."""
    return isinstance(source, str) and re.match(r"[a-z][a-z0-9+.-]+://", source) is not None


def without_password(url: str) -> str:
    """Return the address as one line with its passwords masked, in its query too.

    Examples
    --------
    >>> without_password("postgresql://me:secret@host/votes?sslpassword=secret&sslmode=require")
    'postgresql://me:***@host/votes?sslpassword=***&sslmode=require'
    """
    masked = re.sub(r"(://[^/:@]*):[^/]*@", r"\1:***@", printable(url))
    return re.sub(r"(?i)([?&;][^=&;]*password=)[^&;#]*", r"\1***", masked)


def is_database(path: Path) -> bool:
    """Return whether the file's name has the ending of a database."""
    return path.name.lower().endswith(SQLITE + DUCKDB)


def open_url(url: str, query: str | None) -> Input:
    """Open the result of a query to a database that is named by its address."""
    title = without_password(url)
    try:
        scheme = urlsplit(url).scheme.partition("+")[0]
    except ValueError:
        raise OptionError(
            f"{title} is not an address that can be read: give one like "
            "postgresql://user@host/database.",
            option="source",
            value=title,
            expected="a postgresql://, sqlite:/// or duckdb:/// address",
        ) from None
    if scheme in ("sqlite", "duckdb"):
        return open_database(
            Path(re.sub(r"^[a-z0-9+.-]+:///?", "", url)), query, duck=scheme == "duckdb"
        )
    if scheme not in ("postgresql", "postgres"):
        raise OptionError(
            f"{title}: mallowmix reads from postgresql://, sqlite:/// and duckdb:/// addresses, "
            f"not {scheme}://.",
            option="source",
            value=title,
            expected="a postgresql://, sqlite:/// or duckdb:/// address",
        )
    plain = re.sub(r"^[a-z+]+://", "postgresql://", url)
    return _input(
        title,
        query,
        lambda: _tables_of_postgres(plain, title),
        lambda select: _run_postgres(plain, select, title),
    )


def open_database(path: Path, query: str | None, *, duck: bool | None = None) -> Input:
    """Open the result of a query to a SQLite or DuckDB file."""
    if path.name == ":memory:":
        raise FileError(
            f"{path} is an empty database of this process, with nothing to read: name a file."
        )
    if not path.is_file():
        raise missing_file(path)
    path.open("rb").close()  # what the operating system refuses, it refuses here
    duck = path.name.lower().endswith(DUCKDB) if duck is None else duck
    run = _run_duckdb if duck else _run_sqlite
    tables = (
        "SHOW TABLES"
        if duck
        else "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
    )
    return _input(
        str(path), query, lambda: _first_column(run(path, tables)), lambda select: run(path, select)
    )


def _input(
    title: str, query: str | None, tables: Callable[[], list[str]], run: Callable[[str], Ran]
) -> Input:
    if query is None:
        found = tables()
        there = f"it has the tables {', '.join(found[:20])}" if found else "it has no table"
        raise OptionError(
            f"{title} is a database: say what to read from it with ",
            _ASK,
            f"; {there}.",
            option="query",
            value=None,
            expected="a SELECT",
        )
    names, batches = run(query)
    if len(set(names)) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise DataError(
            f"{title}: the query gives two columns named {twice!r}: name them apart with AS."
        )
    check_width(title, len(names))
    columns = _columns(names, batches)

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        return {ours: columns[theirs] for ours, theirs in picked.items()}

    return Input(title, names, take, lambda row: f"{title} row {row + 1} of the query")


def _columns(names: list[str], batches: Iterator[list[Any]]) -> dict[str, pa.ChunkedArray]:
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    for batch in batches:
        for name, values in zip(names, zip(*batch, strict=True), strict=True):
            parts[name].append(_array(list(values), name))
    return {
        name: one_type(chunks, name) if chunks else pa.chunked_array([[]], pa.string())
        for name, chunks in parts.items()
    }


def _array(values: list[Any], name: str) -> pa.Array:
    """Convert values of a column; dates, UUIDs and other objects become text."""
    plain = [
        value if value is None or isinstance(value, str | int | float | list) else _text(value)
        for value in values
    ]
    try:
        return pa.array(plain)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"Column {name!r} mixes kinds of values or holds none that can name a thing: "
            f"{str(error).splitlines()[0]}."
        ) from None


def _text(value: Any) -> Any:
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)


def _first_column(ran: Ran) -> list[str]:
    return [str(row[0]) for batch in ran[1] for row in batch]


def _batches(
    cursor: Any, connection: Any, errors: tuple[type[Exception], ...], title: str
) -> Iterator[list[Any]]:
    """Yield the rows of a query in batches, and close the connection after the last."""
    try:
        while rows := cursor.fetchmany(_BATCH):
            yield rows
    except errors as error:
        raise _failed(title, error) from None
    finally:
        connection.close()


# ---- one function for each kind of database ----


def _run_sqlite(path: Path, query: str) -> Ran:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.set_authorizer(_allow_reading)
    try:
        cursor = connection.execute(query)
        if cursor.description is None:
            raise _no_select(str(path))
        names = [each[0] for each in cursor.description]
        return names, _batches(cursor, connection, _SQLITE_ERRORS, str(path))
    except _SQLITE_ERRORS as error:
        connection.close()
        if "authoriz" in str(error):
            raise _no_select(str(path)) from None
        raise _failed(str(path), error) from None


def _allow_reading(action: int, *_: str | None) -> int:
    """Say what a statement may do: mode=ro alone lets ATTACH and VACUUM INTO write other files."""
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _no_select(title: str) -> FileError:
    return FileError(f"{title}: the query gives no rows: it must be a SELECT.")


def _run_duckdb(path: Path, query: str) -> Ran:
    duckdb = optional_package("duckdb", "A DuckDB file")
    try:
        with closing(duckdb.connect(str(path), read_only=True, config=_DUCKDB)) as connection:
            statements = connection.extract_statements(query)
            if [each.type.name for each in statements] != ["SELECT"]:
                raise _no_select(str(path))
            table = connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise _failed(str(path), error) from None
    rows = (
        list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        for batch in table.to_batches(_BATCH)
    )
    return table.column_names, (batch for batch in rows if batch)


def _run_postgres(url: str, query: str, title: str) -> Ran:
    psycopg = optional_package("psycopg", "PostgreSQL")
    try:
        connection = psycopg.connect(url, connect_timeout=_SECONDS)
        connection.read_only = True
        cursor = connection.cursor(name="mallowmix")  # on the server: rows come in batches
        cursor.execute(query)
        names = [each.name for each in cursor.description or ()]
        return names, _batches(cursor, connection, (psycopg.Error,), title)
    except psycopg.Error as error:
        raise _failed(title, error) from None


def _tables_of_postgres(url: str, title: str) -> list[str]:
    schemas = "table_schema NOT IN ('pg_catalog', 'information_schema')"
    return _first_column(
        _run_postgres(
            url,
            f"SELECT table_name FROM information_schema.tables WHERE {schemas} ORDER BY 1",
            title,
        )
    )


def _failed(title: str, error: Exception) -> FileError:
    reason = " ".join((str(error).strip() or type(error).__name__).split())
    return FileError(f"{title} does not answer the query: {reason[:300].rstrip('.')}.")
