"""The flat arrays of stored comparisons: some entries of one, read or mapped."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import FileError

_TYPES = {
    "starts": np.int64,
    "weight": np.uint8,
    "other_rows": np.int64,
    "other_weights": np.float64,
    "pairs": np.float64,
    "ranking_id": np.int32,
}


def pair_type(n_items: int) -> type:
    """16 bits where all pair codes fit, else 32."""
    return np.uint16 if n_items <= 256 else np.int32


def read_array(
    folder: str | Path, name: str, first: int = 0, last: int | None = None, dtype: Any = None
) -> NDArray[Any]:
    """Read some entries of one of the flat arrays.

    Parameters
    ----------
    folder : str or Path
        Of stored comparisons.
    name : str
        Of the array.
    first, last : int
        The entries first:last; up to the end unless given.
    dtype : optional
        The type where the name does not determine it.
    """
    dtype = np.dtype(dtype or _TYPES[name])
    count = -1 if last is None else last - first
    try:
        found = np.fromfile(Path(folder) / name, dtype, count, offset=first * dtype.itemsize)
    except OSError as error:
        raise _lacking(folder, name, error.strerror) from None
    if last is not None and len(found) < count:
        raise FileError(
            f"{folder} is damaged: its array {name} ends too early. Remove the folder, and run "
            "again."
        )
    return found


def mapped_array(folder: str | Path, name: str) -> NDArray[Any]:
    """One of the flat arrays as a memory map."""
    try:
        return np.memmap(Path(folder) / name, _TYPES[name], "r")
    except (OSError, ValueError) as error:  # not there, or empty
        raise _lacking(folder, name, error) from None


def _lacking(folder: str | Path, name: str, reason: object) -> FileError:
    if not Path(folder).is_dir():
        return FileError(
            f"{folder} is not there: keep it, on a disk that all workers see under the same name, "
            "and run again."
        )
    return FileError(
        f"{folder} lacks its array {name} ({reason}): remove the folder, and run again."
    )


def read_weights(folder: str | Path, first: int, last: int) -> NDArray[np.float64]:
    """The weights of some rows."""
    weight = read_array(folder, "weight", first, last).astype(np.float64)
    if not weight.all():
        a, b = np.searchsorted(mapped_array(folder, "other_rows"), (first, last)).tolist()
        weight[read_array(folder, "other_rows", a, b) - first] = read_array(
            folder, "other_weights", a, b
        )
    return weight
