"""A table from any source, before its form is known: column names, and their reader."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mallowmix.data.near_file import did_you_mean_file
from mallowmix.data.row_checks import Where
from mallowmix.errors import DataError, DataWarning, FileError, Option, Part

Take = Callable[[Mapping[str, Any]], dict[str, Any]]
MOST_COLUMNS = 100_000  # more than this is no table of choices, whatever it is called


class Input(NamedTuple):
    """A table whose columns are read on demand.

    Attributes
    ----------
    title : str
        The name of the source, which begins messages about it.
    names : list
        The names of the columns.
    take : callable
        Reads columns: {role: name} to {role: column}.
    where : callable
        Row number to text that locates the row, as in "votes.csv line 7".
    notes : sequence of DataWarning
        What was found out about a file; complete when its columns were taken.
    objects : callable or None
        Reads the rows as they are in JSON, nested objects and all.
    headed : bool
        Whether the names are the first line of a file, which might be data instead.
    """

    title: str
    names: list[Any]
    take: Take
    where: Where
    notes: Sequence[DataWarning] = ()
    objects: Callable[[], list[dict[str, Any]]] | None = None
    headed: bool = False


def derived_input(source: Input, columns: Mapping[str, Any], rows: Sequence[int]) -> Input:
    """Make a table of new columns; `rows` are the rows of `source` that they come from."""

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        return {ours: columns[theirs] for ours, theirs in picked.items()}

    return Input(source.title, list(columns), take, lambda row: source.where(int(rows[row])))


class FilePart(NamedTuple):
    """Columns of one of several files, and the file."""

    columns: dict[str, Any]
    source: Input


def check_width(title: str, n_columns: int) -> None:
    """Refuse a table with too many columns."""
    if n_columns > MOST_COLUMNS:
        raise FileError(
            f"{title} has {n_columns:,} columns, where at most {MOST_COLUMNS:,} are read: is it "
            "turned on its side? "
            "Give one row for each choice, rating or ranking."
        )


def joined_inputs(parts: list[Input], title: str) -> Input:
    """Concatenate files to one table; their columns must have the same types."""
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    starts: list[int] = []

    def take(picked: Mapping[str, Any]) -> dict[str, Any]:
        taken = [FilePart(part.take(_present(part, picked, parts)), part) for part in parts]
        starts[:] = np.cumsum(
            [0, *(len(next(iter(part.columns.values()))) for part in taken)]
        ).tolist()
        return {ours: _one_column(ours, taken) for ours in picked}

    def where(row: int) -> str:
        number = int(np.searchsorted(starts, row, side="right")) - 1
        return parts[number].where(row - starts[number])

    notes = tuple(note for part in parts for note in part.notes)
    return Input(title, names, take, where, notes)


def _present(part: Input, picked: Mapping[str, Any], parts: list[Input]) -> Mapping[str, Any]:
    """Check that a part has every column that is picked."""
    for ours, theirs in picked.items():
        if theirs not in part.names:
            other = next(each for each in parts if theirs in each.names)
            advice = "weights, or none" if ours == "weight" else "the same columns"
            raise DataError(
                f"{part.title} has no column {theirs!r}, but {other.title} has: give every file "
                f"{advice}."
            )
    return picked


def _one_column(name: str, parts: list[FilePart]) -> pa.ChunkedArray:
    """Concatenate a column of the parts; empty parts do not determine its type."""
    filled = [part for part in parts if len(part.columns[name])]
    if not filled:
        return parts[0].columns[name]
    first = filled[0].columns[name]
    for part in filled:
        if part.columns[name].type != first.type and name not in NUMBERS:
            raise DataError(
                f"{part.source.title} holds the {name} as {part.columns[name].type}, but "
                f"{filled[0].source.title} as "
                f"{first.type}: write the files with one type."
            )
    columns = [as_number_column(part.columns[name], first.type) for part in filled]
    return pa.chunked_array(
        [chunk for column in columns for chunk in column.chunks], type=first.type
    )


# what is no label: its type may differ from file to file
NUMBERS = ("weight", "rating", "rank", "clicked")


def as_number_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column to the given type."""
    return column if column.type == kind else column.cast(kind)


def as_numbers(values: Any, where: Where, name: str, advice: str, *more: Part) -> pa.ChunkedArray:
    """Convert a column of numbers, or of their text, to float64; errors name a row, and advise."""
    if not isinstance(values, pa.ChunkedArray):
        values = _as_chunks(list(values), where, name, advice, *more)
    try:
        return values.cast(pa.float64())
    except pa.ArrowException:
        row = _first_wrong(values)
        raise _no_number(values[row].as_py(), where(row), name, advice, *more) from None


def _as_chunks(
    listed: list[Any], where: Where, name: str, advice: str, *more: Part
) -> pa.ChunkedArray:
    """Convert a list to a column; numbers and their text may be mixed."""
    try:
        return pa.chunked_array([pa.array(listed, from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    for row, value in enumerate(listed):
        if not _is_number(value):
            raise _no_number(value, where(row), name, advice, *more)
    numbers = [None if value is None else float(value) for value in listed]
    return pa.chunked_array([pa.array(numbers, pa.float64())])


def _first_wrong(column: pa.ChunkedArray) -> int:
    """Return the first row that is no number, by halving: what comes before it can be cast."""
    low, high = 0, len(column)  # rows before low are numbers, one before high is not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(pa.float64())
            low = middle
        except pa.ArrowException:
            high = middle
    return low


def _no_number(value: Any, where: str, name: str, advice: str, *more: Part) -> DataError:
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d+,\d+\s*", value):
        more = (" If the comma is a decimal point, pass ", Option("decimal", ","), ".")
    return DataError(f"{where}: the {name} {_short(value)} is not a number. {advice}", *more)


def as_weights(values: Any, where: Where) -> pa.ChunkedArray:
    """Convert a column of weights to float64."""
    return as_numbers(values, where, "weight", "Weights are counts of at least 0.")


def _is_number(value: Any) -> bool:
    try:
        pa.scalar(value).cast(pa.float64())
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[-1]


def missing_file(path: Path) -> FileError:
    """Return the error for a file that is not there, or a link that leads nowhere."""
    if path.is_symlink():
        return FileError(
            f"{path} is a link that leads to no file: it leads to itself, or what it led to is "
            "gone; name the file itself."
        )
    near = did_you_mean_file(path)
    return FileError(f"There is no file {path}: check the name and the folder.{near}")


def unreadable_text(path: Path, what: str, error: OSError | UnicodeDecodeError) -> FileError:
    """Return the error for a small text file that could not be read.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        What it should hold, to be read after "save".
    error : OSError or UnicodeDecodeError
        What was raised.
    """
    if isinstance(error, FileNotFoundError):
        return missing_file(path)
    if isinstance(error, IsADirectoryError):
        return FileError(f"{path} is a folder: give the name of a file.")
    if isinstance(error, OSError):
        return FileError(f"{path} cannot be read: {error.strerror or error}.")
    return FileError(f"{path} is not text in UTF-8: save {what} as CSV in UTF-8.")


@contextmanager
def error_context(title: str) -> Iterator[None]:
    """Prefix errors with the title of their source; errors of the system become a FileError."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{title} cannot be read: {error.strerror or error}.") from None
    except DataError as error:
        first = error.parts[0]
        named = isinstance(first, str) and first.startswith(title)
        raise DataError(*(() if named else (f"{title}: ",)), *error.parts) from None


@contextmanager
def expected_shape(title: str, tool: str) -> Iterator[None]:
    """Turn what goes wrong in nested objects of another shape into a DataError."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(
            f"{title} is not as {tool} exports it: {type(error).__name__} ({error})."
        ) from None
