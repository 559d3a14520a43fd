"""How much each user counts: the comparisons of one order are not independent."""

import os
from dataclasses import replace

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, Option, check_choice
from mallowmix.numerics.compiled import compiled
from mallowmix.readers.reading import PerUser

ROW_BYTES = 24  # user, winner, loser, weight, ranking_id
_PART_OF_MEMORY = 0.5


def with_user_weights(comparisons: Comparisons, per_user: PerUser = "comparisons") -> Comparisons:
    """Set how much every user counts in learning (`user_weight`).

    A user's own weights over the components are inferred from all their comparisons in any case.

    Parameters
    ----------
    comparisons : Comparisons
        Made of ratings or rankings.
    per_user : {"comparisons", "ratings", "equal"}
        With "comparisons" each comparison counts one: a user with 500 ratings counts 125,000.
        With "ratings" a user who ordered n items counts n − 1, the fewest comparisons that
        determine such an order. With "equal" all users count the same, the mean of n − 1.

    Returns
    -------
    Comparisons
        With new user weights.
    """
    check_choice("per_user", per_user, ("comparisons", "ratings", "equal"))
    if per_user == "comparisons":
        return comparisons
    links = np.maximum(
        _things(comparisons.starts(), comparisons.winner, comparisons.loser, comparisons.n_items)
        - 1,
        0,
    )
    made = comparisons.per_user()
    active = made > 0
    mean = links[active].mean() if active.any() else 1.0
    target = links if per_user == "ratings" else np.full(len(links), mean)
    weight = np.ones(len(links))
    weight[active] = target[active] / made[active]
    return replace(comparisons, user_weight=weight * comparisons.user_weight)


@compiled
def _things(starts, winner, loser, n_items):
    """Count the different items that each user compared."""
    seen, count = np.full(n_items, -1, np.int64), np.zeros(len(starts) - 1, np.int64)
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            for thing in (winner[row], loser[row]):
                if seen[thing] != m:
                    seen[thing] = m
                    count[m] += 1
    return count


def check_fits_memory(n_rows: int) -> None:
    """Refuse, before anything is allocated, comparisons over half of the machine's memory."""
    room = memory_bytes() * _PART_OF_MEMORY
    if n_rows * ROW_BYTES > room:
        raise DataError(
            f"This makes {n_rows:,} comparisons, {n_rows * ROW_BYTES / 1e9:,.1f} GB: more than "
            "half of "
            "this machine's memory. Keep the most rated things with ",
            Option("top_items", 200),
            ", for example, or fewer users.",
        )


def memory_bytes() -> float:
    """Return the size of the machine's memory; infinite where the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
