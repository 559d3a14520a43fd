"""People of a planted model as Parquet shards, written one after the other.

Only a shard and all users' weights are ever held.

A row is made by a random person, so the rows of one person lie in all shards, as they do in a log
of votes.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import mallowmix as mm
from mallowmix.model.mallows import gap_probabilities

ROWS_A_SHARD = 5_000_000


def write_shards(
    folder: Path,
    truth: mm.M4,
    n_users: int,
    n_comparisons: int,
    *,
    seed: int = 0,
    rows: int = ROWS_A_SHARD,
) -> int:
    """Write so many comparisons of so many people into votes-0000.parquet, …; the bytes written."""
    folder.mkdir(parents=True, exist_ok=True)
    upto = np.cumsum(truth_weights(truth, n_users, seed), axis=1, dtype=np.float32)
    items = pa.array([str(item) for item in truth.items])
    for number, first in enumerate(range(0, n_comparisons, rows)):
        random = np.random.default_rng([seed, 1, number])
        user, winner, loser = draw_rows(truth, upto, min(rows, n_comparisons - first), random)
        columns = {
            "user": pa.array(user),
            "winner": pa.DictionaryArray.from_arrays(pa.array(winner), items),
            "loser": pa.DictionaryArray.from_arrays(pa.array(loser), items),
        }
        pq.write_table(
            pa.table(columns), folder / f"votes-{number:04}.parquet", row_group_size=1 << 20
        )
    return sum(file.stat().st_size for file in folder.glob("*.parquet"))


def truth_weights(truth: mm.M4, n_users: int, seed: int) -> np.ndarray:
    """(users, K) all users' weights."""
    draws = np.random.default_rng([seed, 0]).standard_gamma(
        truth.alpha, (n_users, truth.n_components)
    )
    return (draws / draws.sum(axis=1, keepdims=True)).astype(np.float32)


def draw_rows(
    truth: mm.M4, upto: np.ndarray, n: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Users, winners and losers of n comparisons.

    A random person, one of their components, two random items.
    """
    K, Q = truth.sigma.shape
    user = random.integers(0, len(upto), n)
    u, z = random.random(n, np.float32) * upto[user, -1], np.zeros(n, np.int64)
    for k in range(K - 1):
        z += u >= upto[user, k]
    i = random.integers(0, Q, n, dtype=np.int32)
    j = (i + random.integers(1, Q, n, dtype=np.int32)) % Q
    by_gap = np.stack(
        [
            np.concatenate([t.lose[:0:-1], t.win])
            for t in (gap_probabilities(Q, phi) for phi in truth.phi)
        ]
    )
    first_wins = random.random(n) < by_gap[z, truth.sigma[z, j] - truth.sigma[z, i] + Q - 1]
    return (
        user,
        np.where(first_wins, i, j).astype(np.int32),
        np.where(first_wins, j, i).astype(np.int32),
    )
