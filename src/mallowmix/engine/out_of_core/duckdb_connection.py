"""A connection to DuckDB, and its errors in words."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mallowmix.data.optional_packages import optional_package
from mallowmix.errors import FileError, Option


def connect(memory: int = 10**9, n_jobs: int = 1, folder: Path | None = None) -> Any:
    """Open a DuckDB connection.

    Parameters
    ----------
    memory : int
        Bytes that it may use.
    n_jobs : int
        How many threads.
    folder : Path, optional
        Where it writes what does not fit into memory.

    Raises
    ------
    MissingPackageError
        Without DuckDB.
    """
    con = _duckdb().connect()
    con.execute(
        f"SET memory_limit='{memory // 10**6}MB'; SET threads={n_jobs}; "
        "SET preserve_insertion_order=false"
    )
    if folder is not None:
        con.execute(f"SET temp_directory={quoted(str(folder))}")
    return con


@contextmanager
def explain_duckdb_errors(files: tuple[Path, ...]) -> Iterator[None]:
    """Turn DuckDB's errors into a FileError: a file vanished or is damaged, the disk is full."""
    duckdb_error = _duckdb().Error
    try:
        yield
    except duckdb_error as error:
        gone = [file for file in files if not file.exists()]
        if gone:
            raise FileError(
                f"{gone[0]} vanished while it was read: bring it back, and run again."
            ) from None
        if "No space left" in str(error) or "max_temp_directory_size" in str(error):
            raise FileError(
                "The disk is full: name a folder on a larger one with ",
                Option("cache"),
                f" ({first_line(error)})",
            ) from None
        raise FileError(f"The shards cannot be read: {first_line(error)}") from None


def _duckdb() -> Any:
    return optional_package("duckdb", "Keeping comparisons on disk")


def first_line(error: Exception) -> str:
    """The first line of an error's message, as a sentence."""
    return str(error).strip().splitlines()[0].rstrip(".") + "."


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
