"""The database that `serve` keeps votes in: what cannot be one is refused before it is opened."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mallowmix.errors import FileError

_NEW = "name a new file, or the one that `mallowmix serve` made."


@contextmanager
def opening_votes(votes: str) -> Iterator[None]:
    """Say in one sentence why a database of votes cannot be opened."""
    from sqlalchemy.exc import SQLAlchemyError

    if "://" not in votes and Path(votes).is_file():
        _check_tables(Path(votes))
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().splitlines()[0].rstrip(".")
        raise FileError(
            f"The database of votes cannot be used ({reason}): check it, or {_NEW}"
        ) from None


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
    columns = _columns(database, "meta")
    if not columns:
        return ""
    if not columns >= {"key", "value"}:
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
