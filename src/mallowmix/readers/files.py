"""Files, folders and patterns of file names; the ending of a path decides which reader it needs."""

import glob
import re
from os import PathLike
from pathlib import Path

from mallowmix.errors import FileError, OptionError
from mallowmix.readers.compressed import unpacked_name
from mallowmix.readers.csv_files import DELIMITERS, open_csv
from mallowmix.readers.inputs import Input, joined_inputs, missing_file
from mallowmix.readers.json_lines import ENDINGS as JSON_LINES
from mallowmix.readers.json_lines import open_json_lines
from mallowmix.readers.parquet_files import open_parquet
from mallowmix.readers.sql import ABOUT_QUERY, is_database, open_database

READABLE = (
    ".csv, .tsv, .jsonl (each also with .gz or .zst), .parquet, a folder of .parquet files, "
    ".sqlite, .duckdb, PrefLib's .soc, "
    ".soi, .toc, .toi, and MovieLens' .mat and .dat"
)


def open_path(source: str | PathLike[str], query: str | None = None) -> Input:
    """Open a file, a folder of Parquet files, or all files that match a pattern, as one table.

    Parameters
    ----------
    source : path
        The file, the folder, or a pattern such as votes-*.parquet.
    query : str
        A SELECT, where the file is a database.

    Returns
    -------
    Input
    """
    path = Path(source)
    if path.is_dir():
        return joined_inputs([open_parquet(file) for file in _parquet_files(path)], str(path))
    if not path.exists() and glob.has_magic(str(source)):
        return joined_inputs([_open_file(file, query) for file in matching(path)], str(path))
    return _open_file(path, query)


def _open_file(path: Path, query: str | None) -> Input:
    if not path.exists():
        raise missing_file(path)
    if is_database(path):
        return open_database(path, query)
    if query is not None:
        raise OptionError(
            f"{path} is not a database: ",
            *ABOUT_QUERY,
            option="query",
            value=query,
            expected="left out, unless the source is a database",
        )
    if unpacked_name(path).endswith(tuple(DELIMITERS)):
        return open_csv(path)
    if unpacked_name(path).endswith(JSON_LINES):
        return open_json_lines(path)
    if path.name.lower().endswith(".parquet"):
        return open_parquet(path)
    raise FileError(
        f"{path}: the ending {path.suffix!r} does not tell what it is; mallowmix reads {READABLE}."
    )


def matching(pattern: Path) -> list[Path]:
    """Return the files that match a pattern, sorted by name."""
    anchor = Path(pattern.anchor) if pattern.anchor else Path()
    files = sorted(anchor.glob(str(pattern.relative_to(anchor) if pattern.anchor else pattern)))
    found = [file for file in files if file.is_file() and not re.match(r"[._]", file.name)]
    if not found:
        raise FileError(f"No file fits {pattern}: check the folder and the pattern.")
    return found


def _parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder by name; those that begin with . or _ are metadata."""
    files = sorted(
        file
        for file in folder.iterdir()
        if file.suffix.lower() == ".parquet" and file.name[0] not in "._"
    )
    if not files:
        raise FileError(
            f"{folder} is a folder without .parquet files in it: name a file, or a folder that "
            "has some."
        )
    return files
