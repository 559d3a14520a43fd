"""Settings chosen on training users: some are held out, half of their data is given."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import split_comparisons
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.interface import FittedPeer
from mallowmix.typing import Array

_STEP = Step.VALIDATION
_USERS = 128  # predicted at a time: each brings pairs of their own
# of a table of users by pairs: fewer users at a time where theirs are many
_CELLS = 1 << 22
_MOST = 600  # users who validate
Setting = TypeVar("Setting")


class Trial(NamedTuple):
    """Users to learn from, and others with what is given and what is held out."""

    train: Comparisons
    given: Comparisons
    held_out: Comparisons


def trial(comparisons: Comparisons, seed: int, most: int | None = None) -> Trial:
    """Split training users for validation.

    Two thirds of the users are learnt from. Of the others half of the items are given (of the
    comparisons, where that leaves too little).

    Parameters
    ----------
    comparisons : Comparisons
    seed : int
    most : int, optional
        So many users, at random, are enough.

    Returns
    -------
    Trial
    """
    order = generator(seed, _STEP).permutation(comparisons.n_users)[:most]
    cut = max(1, len(order) * 2 // 3)
    others = np.sort(order[cut:][:_MOST]) if cut < len(order) else order
    given, held_out = split_comparisons(comparisons.take_users(others), "auto", 0.5, seed)
    return Trial(comparisons.take_users(np.sort(order[:cut])), given, held_out)


def predicted_rows(
    fitted: FittedPeer, given: Comparisons, held_out: Comparisons, *, by_name: bool = False
) -> Array:
    """Predict the held-out comparisons of users from those given.

    Parameters
    ----------
    fitted : FittedPeer
    given, held_out : Comparisons
        Of the same users.
    by_name : bool
        The peer knows these users and takes their names.

    Returns
    -------
    ndarray, shape (n,)
        The probability of the outcome in each row of `held_out`.
    """
    p, items = np.empty(len(held_out)), held_out.items.tolist()
    starts = held_out.starts()
    for first, last in _together(starts, len(items)):
        rows = slice(starts[first], starts[last])
        low, high = (
            np.minimum(held_out.winner[rows], held_out.loser[rows]),
            np.maximum(held_out.winner[rows], held_out.loser[rows]),
        )
        codes, column = np.unique(low.astype(np.int64) * len(items) + high, return_inverse=True)
        pairs = [(items[code // len(items)], items[code % len(items)]) for code in codes.tolist()]
        people = (
            given.users[first:last].tolist()
            if by_name
            else given.take_users(np.arange(first, last))
        )
        table = fitted.predict_proba(people, pairs)
        low_wins = table[held_out.user[rows] - first, column]
        p[rows] = np.where(held_out.winner[rows] == low, low_wins, 1 - low_wins)
    return np.clip(p, 1e-12, 1 - 1e-12)


def _together(starts: NDArray[np.int64], n_items: int) -> list[tuple[int, int]]:
    """Runs of users with held-out rows: 128, or so few that their table by pairs stays small."""
    runs, first, n_users = [], 0, len(starts) - 1
    while first < n_users:
        last = min(first + _USERS, n_users)
        while (
            last > first + 1
            and (last - first) * min(starts[last] - starts[first], n_items * (n_items - 1) // 2)
            > _CELLS
        ):
            last = first + (last - first) // 2
        runs += [(first, last)] if starts[last] > starts[first] else []
        first = last
    return runs


def loss(fitted: FittedPeer, given: Comparisons, held_out: Comparisons) -> float:
    """Log-loss per comparison, mean over users."""
    p, n = predicted_rows(fitted, given, held_out), held_out.per_user()
    total = np.bincount(held_out.user, -held_out.weight * np.log(p), held_out.n_users)
    return float(np.mean(total[n > 0] / n[n > 0])) if n.any() else float("nan")


def best(
    settings: Iterable[Setting],
    fitted: Callable[[Setting], FittedPeer],
    given: Comparisons,
    held_out: Comparisons,
) -> Setting:
    """The setting with the least loss; the first of equals (or where nothing is held out)."""
    scored = [
        (loss(fitted(setting), given, held_out), n, setting) for n, setting in enumerate(settings)
    ]
    return min(scored, key=lambda entry: (np.nan_to_num(entry[0], nan=np.inf), entry[1]))[2]
