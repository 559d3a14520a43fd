"""Rows of comparisons as numbers of users and items: checked, sorted, and equal ones merged."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError, Option

_NO_NUMBERS = (
    "Users are taken by their numbers, from 0, or by a mask of all users; by their labels take "
    "those of comparisons with .of(label, …)."
)


def merged_rows(
    key: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sort row keys and add the weights of equal ones, in an order independent of the input's.

    Parameters
    ----------
    key : (n,) array of int
        One number for each row, equal where user, winner and loser are.
    weight : (n,) array of float or None
        The weights of the rows; None where each is 1. Rows of weight 0 are left out.

    Returns
    -------
    key, weight : two arrays
        The different keys, ascending, and the sums of their weights.
    """
    if weight is None:
        key = np.sort(key)
    else:
        order = np.lexsort((weight, key))
        key, weight = key[order], weight[order]
        key, weight = key[weight > 0], weight[weight > 0]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, np.int64)
    if weight is None:
        return key[first], np.diff(np.r_[first, len(key)]).astype(np.float64)
    return key[first], np.add.reduceat(weight, first) if len(key) else weight


def checked_codes(name: str, values: ArrayLike, count: int) -> NDArray[np.int64]:
    """Numbers of users or items as int64; a DataError unless each is from 0 to count − 1."""
    codes = np.asarray(values)
    if codes.ndim != 1 or (len(codes) and codes.dtype.kind not in "iu"):
        raise DataError(f"The {name} numbers must be a list of whole numbers from 0.")
    codes = codes.astype(np.int64)
    if len(codes) and not 0 <= codes.min() <= codes.max() < count:
        wrong = codes[(codes < 0) | (codes >= count)][0]
        raise DataError(
            f"The {name} number {wrong} points to no label; there are {count}, numbered from 0."
        )
    return codes


def check_row_codes(
    user: NDArray[Any], winner: NDArray[Any], loser: NDArray[Any], weight: NDArray[Any] | None
) -> None:
    """Raise a DataError for unequal lengths, self-pairs, and weights that are not at least 0."""
    lengths = [len(column) for column in (user, winner, loser, weight) if column is not None]
    if len(set(lengths)) > 1:
        raise DataError(
            f"user, winner, loser and weight have {', '.join(map(str, lengths))} rows; "
            "they must be equally long."
        )
    if np.any(winner == loser):
        raise DataError(
            f"Row {np.argmax(winner == loser) + 1} compares a thing with itself. Drop such rows."
        )
    if weight is not None and not np.all(np.isfinite(weight) & (weight >= 0)):
        raise DataError(
            "A weight is negative or not a finite number. Weights are counts of at least 0."
        )


def chosen_users(numbers: Iterable[int] | NDArray[Any], count: int) -> NDArray[np.int64]:
    """Numbers of users, each once, from a list of them or from a mask of all `count` users."""
    try:
        chosen = np.array(numbers if isinstance(numbers, np.ndarray) else list(numbers))
    except TypeError:
        raise DataError(_NO_NUMBERS) from None
    if chosen.dtype != bool:
        if chosen.ndim != 1 or (len(chosen) and chosen.dtype.kind not in "iu"):
            raise DataError(_NO_NUMBERS)
        ordered = np.sort(chosen)
        if (ordered[1:] == ordered[:-1]).any():
            raise DataError(
                "A user is named twice; give each once, and how much each counts with ",
                Option("user_weight"),
                ".",
            )
        return checked_codes("user", chosen, count)
    if chosen.shape != (count,):
        raise DataError(
            f"The mask has {len(chosen)} entries for {count} users; there must be one each."
        )
    return np.flatnonzero(chosen)
