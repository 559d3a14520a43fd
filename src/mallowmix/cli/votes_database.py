"""The database that `serve` keeps votes in: what cannot be one is refused before it is opened."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mallowmix.errors import FileError, Option, OptionError

_NEW = "name a new file, or the one that `mallowmix serve` made."


@contextmanager
def opening_votes(votes: str) -> Iterator[None]:
    """Check the name of a database of votes; say in one sentence why it cannot be opened."""
    from sqlalchemy.exc import SQLAlchemyError

    _check_name(votes)
    if "://" not in votes and Path(votes).is_file():
        _check_tables(Path(votes))
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().splitlines()[0].rstrip(".")
        raise FileError(
            f"The database of votes cannot be used ({reason}): check it, or {_NEW}"
        ) from None


def _check_name(votes: str) -> None:
    """Refuse an address that cannot be read, and a database that ends with the process."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(votes) if "://" in votes else None
    except (ArgumentError, ValueError):
        raise _wrong_votes(" is not an address that can be read: give ") from None
    if ":memory:" in votes or (url is not None and url.query.get("mode") == "memory"):
        raise _wrong_votes(" would keep the votes in memory, and lose them all at the end: give ")


def _wrong_votes(about: str) -> OptionError:
    expected = "a file, or postgresql://user@host/database"
    return OptionError(
        Option("votes"),
        f"{about}{expected}.",
        option="votes",
        value="***",  # it may hold a password
        expected=expected,
    )


def _check_tables(path: Path) -> None:
    """Refuse a SQLite file whose tables say that they are ours, and are not."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            wrong = _wrong_tables(database)
    except sqlite3.Error:
        return  # no database at all, or one that is locked: opening it says so
    if wrong:
        raise FileError(f"{path} cannot be used as the database of votes: {wrong}; {_NEW}")


def _wrong_tables(database: sqlite3.Connection) -> str:
    """What is wrong with the tables; nothing where they are ours, or are missing altogether."""
    if not _columns(database, "meta"):
        return ""
    if not _columns(database, "meta") >= {"key", "value"}:
        return "its table meta has other columns"
    entries = dict(database.execute("SELECT key, value FROM meta").fetchall())
    version = str(entries.get("schema", "0"))
    if not version.isdecimal():
        return f"its schema is {version[:20]!r}, which is no version"
    if not _is_hexadecimal(entries.get("secret", "")):
        return "its secret is damaged"
    return _wrong_columns(database, int(version))


def _wrong_columns(database: sqlite3.Connection, version: int) -> str:
    import sqlalchemy as sa

    from mallowmix.web.schema import VERSION, define

    if not 1 <= version <= VERSION:
        return ""  # nothing is there yet, or a newer mallowmix wrote it: opening it says so
    expected = sa.MetaData()
    define(expected, version)
    for name, table in expected.tables.items():
        lacking = sorted({column.name for column in table.columns} - _columns(database, name))
        if lacking:
            return f"its table {name} lacks {', '.join(lacking)}"
    return ""


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {name for (name,) in rows}


def _is_hexadecimal(text: Any) -> bool:
    try:
        bytes.fromhex(text)
    except (TypeError, ValueError):
        return False
    return True
