"""A look at a SQLite file before it is opened for votes: what is not ours keeps every byte.

Opening it for writing would already change it: the mode of its journal stands in the file.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from mallowmix.errors import FileError
from mallowmix.web.schema import VERSION, define

_NEW = "name a new file, or the one that `mallowmix serve` made."


def check_votes_file(path: Path) -> None:
    """Raise a FileError where a file cannot be the database of votes; nothing is written.

    Parameters
    ----------
    path : Path
        One that is not there, or empty, can be made into one.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        with closing(sqlite3.connect(_address(path), uri=True)) as database:
            wrong = _wrong_tables(database)
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        wrong = str(error).strip().rstrip(".")
    if wrong:
        raise FileError(f"{path} cannot be used as the database of votes: {wrong}; {_NEW}")


def _address(path: Path) -> str:
    """Read-only; without a log or journal beside it nobody writes, and none need be made."""
    beside = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    return f"{path.resolve().as_uri()}?{'mode=ro' if beside else 'mode=ro&immutable=1'}"


def _wrong_tables(database: sqlite3.Connection) -> str:
    """What is wrong with the tables; nothing where they are ours, or there are none at all."""
    rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    tables = {name for (name,) in rows}
    if not tables:
        return ""
    if "meta" not in tables:
        return "it holds other tables, and none of mallowmix"
    if not _columns(database, "meta") >= {"key", "value"}:
        return "its table meta has other columns"
    entries = dict(database.execute("SELECT key, value FROM meta").fetchall())
    if "schema" not in entries:
        return "its table meta names no schema"
    version = str(entries["schema"])
    if not version.isdecimal() or not int(version[:9]):
        return f"its schema is {version[:20]!r}, which is no version"
    if not _is_hexadecimal(entries.get("secret", "")):
        return "its secret is damaged"
    return _wrong_columns(database, int(version[:9]))


def _wrong_columns(database: sqlite3.Connection, version: int) -> str:
    if version > VERSION:
        return (
            f"it was written by a newer mallowmix (schema {version}, this one knows up to "
            f"{VERSION}): upgrade mallowmix"
        )
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
