"""MovieLens from the user's folder; else fetched once and kept, where pooch is installed."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import FileError, Option, Part
from mallowmix.readers.movielens import VARIABLE, Ratings, read_movielens

# all ratings, in the split that the paper uses
MOVIELENS_URL = "http://www.cs.toronto.edu/~rsalakhu/code_BPMF/moviedata.mat"
MOVIELENS_SHA256 = "5ca12bb5fc2c08a1a564c5bfe9a1582ee13905139f5ea71eb0a590b1942b80ca"
_HOW: tuple[Part, ...] = (
    "Name a folder that has moviedata.mat, or MovieLens 1M's ratings.dat, with ",
    Option("data"),
    f" or with {VARIABLE}",
)


def read_films(data: Path | None) -> Ratings:
    """Read the ratings of MovieLens.

    Parameters
    ----------
    data : Path, optional
        The folder; where it is None, the one that MALLOWMIX_DATA names, or else they are fetched.

    Returns
    -------
    Ratings
        All ratings.
    """
    return read_movielens(data if data is not None or os.environ.get(VARIABLE) else _fetched())


def most_rated(ratings: Ratings, n_items: int) -> NDArray[np.int64]:
    """The films with the most ratings.

    Parameters
    ----------
    ratings : Ratings
        All ratings.
    n_items : int
        How many films.

    Returns
    -------
    (n_items,) array of int
        Their numbers; equal counts go in the order of the numbers as text.
    """
    items, counts = np.unique(ratings.item, return_counts=True)
    return items[np.lexsort((items.astype(str), -counts))[:n_items]]


def _fetched() -> Path:
    """Where pooch keeps the file, checked by its SHA-256."""
    try:
        import pooch  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FileError(
            "No folder with MovieLens ratings was named. ",
            *_HOW,
            f"; or install pooch, and they are fetched from {MOVIELENS_URL}.",
        ) from None
    try:
        known = f"sha256:{MOVIELENS_SHA256}"
        return Path(pooch.retrieve(MOVIELENS_URL, known_hash=known, fname="moviedata.mat"))
    except Exception as error:  # pooch raises whatever its downloader raises
        reason = str(error).splitlines()[0]
        raise FileError(
            f"MovieLens could not be fetched from {MOVIELENS_URL} ({reason}). ", *_HOW, "."
        ) from None
