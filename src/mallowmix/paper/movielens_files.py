"""MovieLens from where the user has it; else fetched once and kept, where pooch is installed and there is a network."""

import os
from pathlib import Path

from mallowmix.errors import FileError
from mallowmix.readers.movielens import VARIABLE, Ratings, read_movielens

# all ratings, in the split that the paper uses
URL = "http://www.cs.toronto.edu/~rsalakhu/code_BPMF/moviedata.mat"
SHA256 = "5ca12bb5fc2c08a1a564c5bfe9a1582ee13905139f5ea71eb0a590b1942b80ca"
_HOW = f"Name a folder that has moviedata.mat, or MovieLens 1M's ratings.dat, with --data or with {VARIABLE}"


def read_films(data: Path | None) -> Ratings:
    """The ratings in the named folder, or in the one that MALLOWMIX_DATA names, or fetched."""
    return read_movielens(data if data is not None or os.environ.get(VARIABLE) else _fetched())


def _fetched() -> Path:
    """Where pooch keeps the file, checked by its SHA-256."""
    try:
        import pooch  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FileError(
            f"No folder with MovieLens ratings was named. {_HOW}; or install pooch, and they are fetched from {URL}."
        ) from None
    try:
        return Path(pooch.retrieve(URL, known_hash=f"sha256:{SHA256}", fname="moviedata.mat"))
    except Exception as error:  # no network, no such page, another file: pooch lets through what its downloader raises
        raise FileError(
            f"MovieLens could not be fetched from {URL} ({str(error).splitlines()[0]}). {_HOW}."
        ) from None
