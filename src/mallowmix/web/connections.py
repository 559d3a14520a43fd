"""Connections to the database of votes: SQLite in WAL with synchronous=FULL, or PostgreSQL."""

import contextlib
import ipaddress
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool, QueuePool

from mallowmix.data.optional_packages import optional_package
from mallowmix.errors import FileError, Option, OptionError
from mallowmix.readers.sql import without_password

# seconds for a lock or a connection; an error never shows the values of a statement: they may be
# secrets
_WAIT = 5.0
# a reader changes nothing, not even the mode of the journal; what is deleted is overwritten
_WRITING = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")


def database_url(text: str) -> sa.URL:
    """`votes.db` or `postgresql://…` as a URL that SQLAlchemy knows.

    An address that cannot be read is refused, and a database that ends with the process.
    """
    try:
        url = (
            sa.make_url(text)
            if "://" in text
            else sa.URL.create("sqlite", database=str(Path(text)))
        )
        _check_host(url, text)
    except (ArgumentError, ValueError):
        raise _wrong_votes(" is not an address that can be read: give ") from None
    if ":memory:" in text or url.query.get("mode") == "memory":
        raise _wrong_votes(" would keep the votes in memory, and lose them all at the end: give ")
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database:
        return url
    raise OptionError(
        Option("votes"),
        f" names a {url.drivername!r} database; mallowmix keeps votes in SQLite (a file) or "
        "postgresql://.",
        option="votes",
        value=shown(url),
        expected="a file, or postgresql://user@host/database",
    )


def _check_host(url: sa.URL, text: str) -> None:
    """Raise a ValueError where no host or port can be called so: waiting for it is in vain."""
    host = url.host or ""
    if re.search(r"[\[\]\s]", host):
        raise ValueError("no name of a host")
    if host and f"[{host}]" in text:
        ipaddress.IPv6Address(host)  # brackets are for these alone
    if url.port is not None and not 0 < url.port < 2**16:
        raise ValueError("no port")


def _wrong_votes(about: str) -> OptionError:
    expected = "a file, or postgresql://user@host/database"
    return OptionError(
        Option("votes"),
        f"{about}{expected}.",
        option="votes",
        value="***",  # it may hold a password
        expected=expected,
    )


def shown(url: sa.URL) -> str:
    """Return the database for messages and logs, without the password."""
    return (
        str(url.database)
        if url.drivername == "sqlite"
        else without_password(url.render_as_string(hide_password=True))
    )


def sql_engine(url: sa.URL, *, writing: bool) -> sa.Engine:
    """Return an engine for the one writer, or for readers, which see what is committed."""
    if url.drivername == "sqlite":
        return _sqlite(url, writing=writing)
    optional_package("psycopg", "PostgreSQL")
    options: dict[str, Any] = {"hide_parameters": True} | (
        {} if writing else {"isolation_level": "AUTOCOMMIT"}
    )
    arguments = {
        "connect_timeout": 3,
        "options": "-c statement_timeout=20000 -c lock_timeout=10000",
    }
    return sa.create_engine(
        url,
        connect_args=arguments,
        poolclass=QueuePool,
        pool_size=4,
        pool_timeout=_WAIT,
        pool_pre_ping=True,
        **options,
    )


def _sqlite(url: sa.URL, *, writing: bool) -> sa.Engine:
    folder = Path(url.database or "").parent
    if not folder.is_dir():
        raise FileError(f"{url.database}: there is no folder {folder}; make it first.")
    if writing:
        _create(Path(url.database or ""))
    pool = NullPool if writing else QueuePool
    sizes: dict[str, Any] = {"hide_parameters": True} | (
        {} if writing else {"pool_size": 8, "max_overflow": 8}
    )
    # never made by opening it: a file that was deleted must not come back empty
    path = Path(url.database or "").absolute()
    address = f"{path.as_uri()}?mode=rw"

    def opened() -> sqlite3.Connection:
        if not writing and path.exists() and path.stat().st_size == 0:
            # SQLite would delete the log of an empty file, and the votes that are still in it
            raise sqlite3.OperationalError("the file is empty")
        return sqlite3.connect(address, uri=True, timeout=_WAIT, check_same_thread=False)

    engine = sa.create_engine(
        url,
        poolclass=pool,
        creator=opened,
        **sizes,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection, _record):
        connection.isolation_level = None  # transactions are begun below, not by the driver
        for pragma in (*(_WRITING if writing else ()), f"busy_timeout={int(1000 * _WAIT)}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection):
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _create(path: Path) -> None:
    """Make an empty file that nobody else may read; one that is there stays as it is."""
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise FileError(f"{path} cannot be made: {error.strerror}.") from None
