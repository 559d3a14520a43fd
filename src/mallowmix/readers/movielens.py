"""MovieLens ratings, from GroupLens' `ratings.dat` or from `moviedata.mat`, as in the paper."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.errors import FileError, Option, Part
from mallowmix.readers.mat_files import read_mat
from mallowmix.readers.rating_forms import comparisons_from_ratings, reading_of_ratings
from mallowmix.readers.reading import Reading, ReadOptions, Ties

VARIABLE = "MALLOWMIX_DATA"
_FILES = ("moviedata.mat", "ratings.dat")  # the first that is there is read
_FOLDERS = (".", "ml-1m")
_TOP_ITEMS = 200
_LINE = re.compile(r"\d+::\d+::\d+(\.\d+)?::\d+")
_HOW: tuple[Part, ...] = (
    "mallowmix does not carry the ratings: get MovieLens 1M from grouplens.org, unpack it, "
    "and name "
    "its folder with ",
    Option("data"),
    f" or with the environment variable {VARIABLE}.",
)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings as columns, one row for each.

    Attributes
    ----------
    user, item : (n,) int64
        The numbers of user and movie.
    rating : (n,) float64
        How many stars.
    train : (n,) bool
        Whether the rating belongs to the training part; True for all where the file has no split.
    titles : mapping
        Movie number to title, empty without a `movies.dat`.
    """

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: NDArray[np.float64]
    train: NDArray[np.bool_]
    titles: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        people, things = len(np.unique(self.user)), len(np.unique(self.item))
        return f"Ratings({len(self):,} ratings of {things:,} items by {people:,} users)"


def read_movielens(data: str | os.PathLike[str] | None = None) -> Ratings:
    """Read the ratings in a folder or a file.

    A folder is searched for `moviedata.mat` (`train_vec` and `probe_vec`, each user, movie, stars),
    then for `ratings.dat` (`user::movie::stars::time`), then in its subfolder `ml-1m`. Titles come
    from a `movies.dat` beside the file.

    Parameters
    ----------
    data : path or None
        The folder or file; None reads the folder in the environment variable MALLOWMIX_DATA.

    Returns
    -------
    Ratings
    """
    file = _find(data)
    try:
        user, item, rating, train = (
            _read_mat(file) if file.suffix.lower() == ".mat" else _read_dat(file)
        )
        titles = _read_titles(file.with_name("movies.dat"))
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}.") from None
    return Ratings(user, item, rating, train, titles)


def movielens_comparisons(
    ratings: Ratings, n_items: int = 200, *, titles: bool = False, ties: Ties = "drop"
) -> Comparisons:
    """Make comparisons of the most rated movies, by all users.

    Parameters
    ----------
    ratings : Ratings
        As `read_movielens` gives them.
    n_items : int
        How many movies.
    titles : bool
        Whether items are called by their titles instead of their numbers.
    ties : {"drop", "half", "error"}
        What to do with equal ratings.

    Returns
    -------
    Comparisons
    """
    names = (
        [ratings.titles.get(i, str(i)) for i in ratings.item.tolist()] if titles else ratings.item
    )
    return comparisons_from_ratings(
        ratings.user, names, ratings.rating, top_items=n_items, ties=ties
    )


def first_users(comparisons: Comparisons, n_first: int = 4000) -> tuple[Comparisons, Comparisons]:
    """Split users into those numbered up to `n_first` and the others.

    The paper learns from the first 4000 and tests on the others.
    """
    first = np.array([int(name) <= n_first for name in text_of(comparisons.users)])
    return comparisons.take_users(first), comparisons.take_users(~first)


def is_movielens(path: Path) -> bool:
    """Return whether the file's name is one of MovieLens."""
    return path.suffix.lower() == ".mat" or path.name.lower() == "ratings.dat"


def read_movielens_file(path: Path, options: ReadOptions) -> Reading:
    """Read comparisons of the most rated movies (200, or `top_items`), by title if known."""
    ratings = read_movielens(path)
    titles = (
        [ratings.titles.get(number, str(number)) for number in ratings.item.tolist()]
        if ratings.titles
        else ratings.item
    )
    options = replace(options, top_items=options.top_items or _TOP_ITEMS)
    return reading_of_ratings(ratings.user, titles, ratings.rating, options, "movielens", {})


def _find(path: str | os.PathLike[str] | None) -> Path:
    """Return the file to read."""
    named = path if path is not None else os.environ.get(VARIABLE)
    if not named:
        raise FileError("No folder with MovieLens ratings was named. ", *_HOW)
    path = Path(named)
    if path.is_file():
        if path.suffix.lower() not in (".mat", ".dat"):
            raise FileError(
                f"{path}: the ending {path.suffix!r} is neither .mat nor .dat; name "
                "moviedata.mat or ratings.dat."
            )
        return path
    found = [
        path / folder / name
        for folder in _FOLDERS
        for name in _FILES
        if (path / folder / name).is_file()
    ]
    if not found:
        what = (
            "has neither moviedata.mat nor ratings.dat in it" if path.is_dir() else "is not there"
        )
        raise FileError(f"{path} {what}. ", *_HOW)
    return found[0]


def _read_mat(file: Path) -> tuple[NDArray[Any], ...]:
    found = read_mat(file, ("train_vec", "probe_vec"))
    parts = [_three_columns(found, name, file) for name in ("train_vec", "probe_vec")]
    rows = np.concatenate(parts)
    _check_finite(rows, file)
    train = np.repeat([True, False], [len(part) for part in parts])
    return rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], train


def _three_columns(found: Mapping[str, Any], name: str, file: Path) -> NDArray[np.float64]:
    if name not in found:
        raise FileError(
            f"{file} has no variable {name}: it needs train_vec and probe_vec, each with the "
            "columns user, movie, stars."
        )
    values = np.asarray(found[name])
    if values.ndim != 2 or values.shape[1] != 3 or values.dtype.kind not in "iuf":
        raise FileError(
            f"{file}: {name} has the shape {values.shape}; it must have three columns of numbers: "
            "user, movie, stars."
        )
    return values.astype(np.float64)


def _check_finite(rows: NDArray[np.float64], file: Path) -> None:
    bad = ~np.isfinite(rows).all(axis=1) | (rows[:, :2] != np.floor(rows[:, :2])).any(axis=1)
    if bad.any():
        raise FileError(
            f"{file}: rating {np.argmax(bad) + 1} lacks a number; user and movie must be whole, "
            "stars finite."
        )


def _read_dat(file: Path) -> tuple[NDArray[Any], ...]:
    """Read user::movie::stars::time; split at single colons, every other field is empty."""
    names = ["user", "gap1", "item", "gap2", "rating", "gap3", "time"]
    types = {"user": pa.int64(), "item": pa.int64(), "rating": pa.float64(), "time": pa.int64()}
    if not file.stat().st_size:
        raise FileError(f"{file} is empty: each line must read user::movie::stars::time.")
    try:
        table = pa_csv.read_csv(
            file,
            read_options=pa_csv.ReadOptions(column_names=names),
            parse_options=pa_csv.ParseOptions(delimiter=":", quote_char=False),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: types.get(name, pa.null()) for name in names}, null_values=[""]
            ),
        )
    except pa.ArrowException as error:
        raise _explained(file, str(error)) from None
    if any(table.column(name).null_count for name in types):
        raise _explained(file, "a number is missing")
    user, item, rating = (table.column(name).to_numpy() for name in ("user", "item", "rating"))
    return user, item, rating, np.ones(len(user), bool)


def _explained(file: Path, reason: str) -> FileError:
    """Name the first line that does not fit the format."""
    with file.open(encoding="latin-1") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip() and not _LINE.fullmatch(line.strip()):
                shown = line.strip()[:40]
                return FileError(
                    f"{file} line {number}: {shown!r} does not read user::movie::stars::time, as "
                    "in 1::1193::5::978300760."
                )
    return FileError(
        f"{file} cannot be read as lines of user::movie::stars::time: {reason.splitlines()[0]}."
    )


def _read_titles(file: Path) -> dict[int, str]:
    """Read number to title from lines `number::title::genres`; empty without such a file."""
    if not file.is_file():
        return {}
    titles = {}
    with file.open(encoding="latin-1") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.rstrip("\r\n").split("::")
            if len(fields) < 3 or not fields[0].isdecimal():
                raise FileError(
                    f"{file} line {number}: {line.strip()[:40]!r} does not read "
                    "number::title::genres."
                )
            titles[int(fields[0])] = "::".join(fields[1:-1])
    return titles
