"""Kernels that make the pairs of items with different values, user by user."""

import numpy as np

from mallowmix.numerics.compiled import compiled


@compiled
def count_rated_pairs(starts, stars, half):
    """Count the rows that each user makes, and all tied pairs."""
    rows, n_ties = np.zeros(len(starts) - 1, np.int64), 0
    for m in range(len(starts) - 1):
        tied, run = 0, 0  # `run`: how many before it are equal, in sorted order
        own = np.sort(stars[starts[m] : starts[m + 1]])
        for a in range(1, len(own)):
            run = run + 1 if own[a] == own[a - 1] else 0
            tied += run
        n = len(own)
        rows[m] = n * (n - 1) // 2 - tied + (2 * tied if half else 0)
        n_ties += tied
    return rows, n_ties


@compiled
def make_pairs(starts, things, stars, first_row, half):
    """Fill user, winner, loser and weight of every comparison, sorted by item within a user."""
    n_rows = first_row[-1]
    user, winner, loser = (
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
    )
    weight = np.ones(n_rows)
    for m in range(len(starts) - 1):
        row = first_row[m]
        if first_row[m + 1] == row:
            continue
        for a in range(starts[m], starts[m + 1]):
            for b in range(starts[m], starts[m + 1]):
                tied = half and a != b and stars[a] == stars[b]
                if stars[a] > stars[b] or tied:
                    user[row], winner[row], loser[row] = m, things[a], things[b]
                    weight[row] = 0.5 if tied else 1.0
                    row += 1
    return user, winner, loser, weight
