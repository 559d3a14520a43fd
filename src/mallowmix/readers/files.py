"""Files and folders: which reader a path needs, told by its ending, and what the operating system says of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from mallowmix.comparisons import Comparisons
from mallowmix.errors import DataError, FileError
from mallowmix.readers.csv_files import DELIMITERS, read_csv
from mallowmix.readers.parquet_files import read_parquet
from mallowmix.readers.tables import Found, Policies, to_comparisons

READABLE = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, or a folder of .parquet files"


def read_path(source: str | PathLike[str], columns: Mapping[str, Any] | None, policies: Policies) -> Comparisons:
    """Comparisons from a CSV or Parquet file, or from a folder of Parquet files."""
    path = Path(source)
    with _speaking_of(path):
        return to_comparisons(_find(path, columns), policies)


def read_columns(path: Path, columns: Mapping[str, Any] | None) -> Found:
    """The columns of such a file under our names, as they stand there."""
    with _speaking_of(path):
        return _find(path, columns)


def _find(path: Path, columns: Mapping[str, Any] | None) -> Found:
    if path.is_dir():
        return read_parquet(_parquet_files(path), columns)
    if not path.exists():
        raise FileError(f"There is no file {path}: check the name and the folder.")
    name = path.name.lower()
    if name.removesuffix(".gz").endswith(tuple(DELIMITERS)):
        return read_csv(path, columns)
    if name.endswith(".parquet"):
        return read_parquet([path], columns)
    raise FileError(f"{path}: the ending {path.suffix!r} does not tell what it is; mallowmix reads {READABLE}.")


def _parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder by name; hidden ones and those that start with _ are notes of whoever wrote it."""
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() == ".parquet" and file.name[0] not in "._")
    if not files:
        raise FileError(f"{folder} is a folder without .parquet files in it: name a file, or a folder that has some.")
    return files


@contextmanager
def _speaking_of(path: Path) -> Iterator[None]:
    """Every error names the path; what the operating system refuses is said in its own words."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except DataError as error:
        message = str(error)
        raise DataError(message if message.startswith(str(path)) else f"{path}: {message}") from None
