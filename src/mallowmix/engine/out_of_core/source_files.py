"""The files that comparisons are stored from, and their columns."""

import glob
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from mallowmix.engine.out_of_core.duckdb_connection import connect, first_line, quoted
from mallowmix.errors import DataError, FileError, MallowmixError, check_choice
from mallowmix.readers.compressed import check_compressed
from mallowmix.readers.csv_quotes import misplaced_quotes
from mallowmix.readers.files import matching
from mallowmix.readers.folders import parquet_files
from mallowmix.readers.headers import check_columns, pick_columns
from mallowmix.readers.inputs import missing_file
from mallowmix.readers.parquet_batches import check_parquet, parquet_names
from mallowmix.readers.plain import COMPARISONS
from mallowmix.readers.sql import without_password
from mallowmix.readers.text_format import find_dialect

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_READABLE = ".parquet, .csv and .tsv (these two also with .gz)"


@dataclass(frozen=True)
class Source:
    """Files of one kind that hold user, winner, loser and perhaps weight and ranking_id.

    Attributes
    ----------
    files : tuple of Path
        The files.
    columns : mapping of str to str
        From the names user, winner, loser, weight, ranking_id to those in the files.
    self_pairs, missing : {"error", "drop"}
        As in `read_comparisons`.
    """

    files: tuple[Path, ...]
    columns: Mapping[str, str]
    self_pairs: str = "error"
    missing: str = "error"

    @property
    def relation(self) -> str:
        """The files as SQL reads them, with the name of each row's file."""
        names = "[" + ", ".join(quoted(str(file)) for file in self.files) + "]"
        kind = _kind(self.files[0])
        if kind == ".parquet":
            return f"read_parquet({names}, filename=true, union_by_name=true)"
        return (
            f"read_csv({names}, filename=true, all_varchar=true, header=true, "
            f"delim={quoted(find_dialect(self.files[0]).separator)}, nullstr='', "
            "quote='\"', escape='\"')"
        )

    @property
    def is_text(self) -> bool:
        """Whether the files are CSV or TSV."""
        return _kind(self.files[0]) != ".parquet"

    def identity(self) -> dict[str, Any]:
        """What a cache must have been made from: files with sizes and times, columns, policies."""
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

    def check_files(self) -> None:
        """Raise a FileError for what DuckDB would not see.

        A file unpacks to more than it may, or a quote joins rows.
        """
        for file in self.files:
            if self.is_text:
                check_compressed(file)
                _check_quotes(file)
            else:
                check_parquet(file, list(self.columns.values()))

    def nbytes(self) -> int:
        """The bytes of all files."""
        return sum(file.stat().st_size for file in self.files)


def find_source(
    paths: Any,
    columns: Mapping[str, Any] | None = None,
    self_pairs: str = "error",
    missing: str = "error",
) -> Source:
    """Find the files that a path, a folder, a pattern or a list of these names.

    Parameters
    ----------
    paths : str, Path or list of these
        What `store_comparisons` was given.
    columns, self_pairs, missing
        As in `read_comparisons`.

    Raises
    ------
    FileError
        Where a file is missing, or of another kind than the first.
    DataError
        Where a file has other columns than the first.
    """
    check_choice("self_pairs", self_pairs, ("error", "drop"))
    check_choice("missing", missing, ("error", "drop"))
    check_columns(columns, COMPARISONS.all)
    given = list(paths) if isinstance(paths, list | tuple) else [paths]
    if not given or not all(isinstance(path, str | PathLike) for path in given):
        raise DataError(
            "Comparisons are stored from files: give a path, a pattern such as 'votes-*.csv' or a "
            "list of paths; what is in memory goes to fit as it is."
        )
    addresses = [path for path in given if isinstance(path, str) and "://" in path]
    if addresses:
        raise _other_kind(without_password(addresses[0]))
    files = tuple(dict.fromkeys(file for path in given for file in _files(Path(path))))
    for file in files:
        if not file.is_file():
            raise missing_file(file)
        if _kind(file) != _kind(files[0]):
            raise FileError(f"{file} is of another kind than {files[0]}: give files of one kind.")
    picked = [_picked(file, columns) for file in files]
    for file, other in zip(files, picked, strict=True):
        if other != picked[0]:
            raise DataError(
                f"{file} has other columns than {files[0]}: give every file the same columns."
            )
    return Source(files, picked[0], self_pairs, missing)


def _check_quotes(file: Path) -> None:
    """Refuse every quote that stands wrong: nobody knows how another reader takes it."""
    misplaced = misplaced_quotes(find_dialect(file))
    if misplaced:
        raise FileError(f"{misplaced}: write a quote inside of quotes twice.")


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return parquet_files(path, lambda file: _ending(file) is not None, _READABLE)
    return matching(path) if not path.exists() and glob.has_magic(str(path)) else [path]


def _ending(file: Path) -> str | None:
    name = file.name.lower()
    return next((each for each in (".parquet", *_TEXT) if name.endswith(each)), None)


def _kind(file: Path) -> str:
    ending = _ending(file)
    if ending is None:
        raise _other_kind(str(file))
    return ending


def _other_kind(title: str) -> FileError:
    return FileError(
        f"{title}: from disk, mallowmix reads {_READABLE}. "
        "Write the comparisons as one of these first."
    )


def _picked(file: Path, columns: Mapping[str, Any] | None) -> dict[str, str]:
    try:
        if _kind(file) == ".parquet":
            names = parquet_names(file)
        else:
            found = (
                connect()
                .execute(f"DESCRIBE SELECT * FROM {Source((file,), {}).relation}")
                .fetchall()
            )
            names = [row[0] for row in found if row[0] != "filename"]
    except MallowmixError:
        raise
    except Exception as error:
        if _kind(file) != ".parquet":
            _check_quotes(file)  # they may be the reason
        raise FileError(f"{file} cannot be read: {first_line(error)}") from None
    return pick_columns(names, COMPARISONS, columns, str(file))
