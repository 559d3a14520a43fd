"""Rankings and comparisons as sequences of choices among the items left (Luce, Plackett).

A comparison is a ranking of two. A ranking of n items without ties has n − 1 choices; where it ends
in a tie (a top-k list), the choices stop before the tie. A tie elsewhere is an error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.rankings import Rankings
from mallowmix.engine.blocks import InMemory
from mallowmix.errors import DataError
from mallowmix.typing import Array

_PEOPLE = 1024


@dataclass(frozen=True, eq=False)
class Stages(InMemory):
    """Choices of consecutive users.

    Ranking n lists item[starts[n]:starts[n+1]], best first; its first `n_choices[n]` are choices.
    """

    first_user: int
    user: NDArray[np.int64]  # (N,) from 0 in the block
    weight: Array  # (N,)
    starts: NDArray[np.int64]
    item: NDArray[np.int32]
    n_choices: NDArray[np.int64]
    user_weight: Array


def make_stages(data: Comparisons | Rankings, name: str) -> list[Stages]:
    """Blocks of users with their choices; `name` is that of the system, for messages."""
    if isinstance(data, Comparisons):
        item = np.stack([data.winner, data.loser], axis=1).ravel()
        starts, n_choices = (
            2 * np.arange(len(data) + 1, dtype=np.int64),
            np.ones(len(data), np.int64),
        )
    elif isinstance(data, Rankings):
        item, starts, n_choices = data.item, data.starts, _choices(data, name)
    else:
        raise DataError(
            f"{name} learns from rankings or comparisons; this is a {type(data).__name__}."
        )
    return [
        _part(data, first, item, starts, n_choices) for first in range(0, data.n_users, _PEOPLE)
    ]


def _part(
    data: Any,
    first: int,
    item: NDArray[np.int32],
    starts: NDArray[np.int64],
    n_choices: NDArray[np.int64],
) -> Stages:
    last = min(first + _PEOPLE, data.n_users)
    low, high = np.searchsorted(data.user, [first, last]).tolist()
    entries = slice(starts[low], starts[high])
    user, weight = data.user[low:high].astype(np.int64) - first, np.array(data.weight[low:high])
    return Stages(
        first,
        user,
        weight,
        starts[low : high + 1] - starts[low],
        item[entries],
        n_choices[low:high],
        data.user_weight[first:last],
    )


def _choices(data: Rankings, name: str) -> NDArray[np.int64]:
    """How many choices each ranking holds: one per position except the last."""
    top = data.position[data.starts[1:] - 1]  # the last position of each, from 0
    # entries before the last position
    alone = np.bincount(data.ranking, data.position < top[data.ranking], len(data)).astype(np.int64)
    tied = np.flatnonzero(alone != top)
    if len(tied):
        who = data.users.tolist()[data.user[tied[0]]]
        others = f" (and {len(tied) - 1:,} more)" if len(tied) > 1 else ""
        raise DataError(
            f"The ranking of user {who!r}{others} has a tie before its end; "
            f"{name} needs choices of one thing at a time. "
            "Break such ties, or use a system for comparisons (Rankings.comparisons)."
        )
    return top.astype(np.int64)
