"""Files, folders and patterns of file names; the ending of a path decides which reader it needs."""

import glob
import re
from os import PathLike
from pathlib import Path

from mallowmix.errors import FileError, Option, OptionError
from mallowmix.readers.compressed import decompression_errors, open_bytes, unpacked_name
from mallowmix.readers.csv_files import open_csv
from mallowmix.readers.excel_files import ENDINGS as EXCEL
from mallowmix.readers.excel_files import open_excel
from mallowmix.readers.folders import parquet_files
from mallowmix.readers.inputs import Input, joined_inputs, missing_file
from mallowmix.readers.json_files import ENDINGS as JSON
from mallowmix.readers.json_files import open_json
from mallowmix.readers.json_lines import ENDINGS as JSON_LINES
from mallowmix.readers.json_lines import open_json_lines
from mallowmix.readers.movielens import is_movielens
from mallowmix.readers.parquet_files import open_parquet
from mallowmix.readers.preflib import is_preflib
from mallowmix.readers.sql import ABOUT_QUERY, is_database, open_database
from mallowmix.readers.text_format import DELIMITERS, TextFormat

READABLE = (
    ".csv, .tsv, .jsonl, .json (each also with .gz or .zst), .parquet, a folder of .parquet files, "
    ".xlsx, .sqlite, .duckdb, PrefLib's .soc, "
    ".soi, .toc, .toi, and MovieLens' .mat and .dat"
)
_AS_IT_IS = TextFormat()


def open_path(
    source: str | PathLike[str],
    query: str | None = None,
    text: TextFormat = _AS_IT_IS,
    *,
    any_ending: bool = False,
) -> Input:
    """Open a file, a folder of Parquet files, or all files that match a pattern, as one table.

    Parameters
    ----------
    source : path
        The file, the folder, or a pattern such as votes-*.parquet.
    query : str
        A SELECT, where the file is a database.
    text : TextFormat
        How a text file is written.
    any_ending : bool
        Whether a file whose ending is not known is opened, by its first bytes.

    Returns
    -------
    Input
    """
    path = Path(source)
    if path.is_dir():
        files = parquet_files(path, can_be_read, READABLE)
        return joined_inputs([open_parquet(file) for file in files], str(path))
    if not path.exists() and glob.has_magic(str(source)):
        opened = [_open_file(file, query, text, any_ending) for file in matching(path)]
        return joined_inputs(opened, str(path))
    return _open_file(path, query, text, any_ending)


def _open_file(path: Path, query: str | None, text: TextFormat, any_ending: bool) -> Input:
    if not path.exists():
        raise missing_file(path)
    kind = _kind(path) or (_kind_by_content(path) if any_ending else None)
    if kind == "database":
        return open_database(path, query)
    if query is not None:
        raise OptionError(
            f"{path} is not a database: ",
            *ABOUT_QUERY,
            option="query",
            value=query,
            expected="left out, unless the source is a database",
        )
    if kind == "text":
        return open_csv(path, text)
    if kind == "excel":
        return open_excel(path, header=text.header)
    _check_no_text_option(text, path)
    if kind is not None:
        return {"jsonl": open_json_lines, "json": open_json, "parquet": open_parquet}[kind](path)
    raise FileError(
        f"{path}: the ending {path.suffix!r} does not tell what it is; mallowmix reads {READABLE}."
        " A table with any other ending is read if you say what it holds, as in ",
        Option("format", "comparisons"),
        ".",
    )


_KINDS = {
    "text": tuple(DELIMITERS),
    "jsonl": JSON_LINES,
    "json": JSON,
    "excel": EXCEL,
    "parquet": (".parquet",),
}


def _kind(path: Path) -> str | None:
    """Return the kind of file that the ending tells."""
    if is_database(path):
        return "database"
    packed = ("text", "jsonl", "json")
    for kind, endings in _KINDS.items():
        name = unpacked_name(path) if kind in packed else path.name.lower()
        if name.endswith(endings):
            return kind
    return None


def can_be_read(path: Path) -> bool:
    """Return whether the name tells that `read_comparisons` can read the file."""
    return _kind(path) is not None or is_preflib(path) or is_movielens(path)


def _kind_by_content(path: Path) -> str:
    """Return the kind of file that the first bytes tell; text where they tell nothing."""
    with decompression_errors(path), open_bytes(path) as file:
        start = file.read(1000)
    for magic, kind in ((b"PAR1", "parquet"), (b"PK\3\4", "excel"), (b"SQLite", "database")):
        if start.startswith(magic):
            return kind
    first = start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return {b"{": "jsonl", b"[": "json"}.get(first, "text")


def _check_no_text_option(text: TextFormat, path: Path) -> None:
    if text.given is not None:
        name, value = text.given
        raise OptionError(
            Option(name),
            f" is for text files (.csv, .tsv); {path} is none.",
            option=name,
            value=value,
            expected="left out, unless the source is a text file",
        )


def matching(pattern: Path) -> list[Path]:
    """Return the files that match a pattern, sorted by name."""
    anchor = Path(pattern.anchor) if pattern.anchor else Path()
    files = sorted(anchor.glob(str(pattern.relative_to(anchor) if pattern.anchor else pattern)))
    found = [file for file in files if file.is_file() and not re.match(r"[._]", file.name)]
    if not found:
        raise FileError(f"No file fits {pattern}: check the folder and the pattern.")
    return found
