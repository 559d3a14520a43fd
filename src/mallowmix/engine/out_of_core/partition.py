"""Rows sorted by user and pair: partitioned by ranges of users, then each part sorted in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.ranking_ids import merged_ranked_rows

MOST_PARTS = 512  # files open at a time
_SORTING = 6  # bytes in memory for each byte of keys while a part is sorted
WHOLE = 255  # up to this whole weight a row's weight is held in one byte


class Plan(NamedTuple):
    """How users are cut into parts, and the type of their keys; sorted rows do not depend on it."""

    n_parts: int
    users_a_part: int
    key: type


class Merged(NamedTuple):
    """Sorted rows of one part, repeated ones merged."""

    lengths: NDArray[np.int64]  # rows of each user
    pair: NDArray[np.int64]
    weight: NDArray[np.float64]
    ranking_id: NDArray[np.int32] | None = None


def plan_parts(
    n_rows: int, n_users: int, n_items: int, memory: int, *, weighted: bool, ranked: bool = False
) -> Plan:
    """Plan as few parts as memory allows, but enough for keys of 32 bits where 512 parts suffice.

    Parameters
    ----------
    n_rows, n_users, n_items : int
        Sizes of the data.
    memory : int
        Bytes for sorting one part.
    weighted, ranked : bool
        Whether rows have weights, and ranking ids.
    """
    bytes_a_row = 8 + 8 * weighted + 24 * ranked
    parts = max(1, -(-n_rows * bytes_a_row * _SORTING // memory))
    narrow = -(-n_users * n_items**2 // 2**32)
    most = MOST_PARTS // (1 + ranked)  # a third file for each part
    parts = min(max(parts, narrow if narrow <= most else 1), most, n_users)
    users_a_part = -(-n_users // parts)
    key = np.uint32 if users_a_part * n_items**2 <= 2**32 else np.uint64
    return Plan(-(-n_users // users_a_part), users_a_part, key)


def write_parts(batches: Any, plan: Plan, folder: Path) -> None:
    """Append every batch's rows to the files of their parts.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        Columns: part, key and, where there are some, weight and ranking_id.
    plan : Plan
        The parts.
    folder : Path
        Where the files go, called after their column and part.
    """
    files: dict[str, list[Any]] = {}
    try:
        for batch in batches:
            part = batch.column(0).to_numpy()
            order = np.argsort(part, kind="stable")
            edges = np.searchsorted(part[order], np.arange(plan.n_parts + 1))
            for name in batch.schema.names[1:]:
                if name not in files:
                    paths = [folder / f"{name}-{p:03}" for p in range(plan.n_parts)]
                    files[name] = [path.open("wb") for path in paths]
                _append(batch.column(name).to_numpy()[order], edges, files[name])
    finally:
        for file in (file for column in files.values() for file in column):
            file.close()


def _append(values: NDArray[Any], edges: NDArray[np.intp], files: list[Any]) -> None:
    for p, file in enumerate(files):
        if edges[p] < edges[p + 1]:
            file.write(values[edges[p] : edges[p + 1]].data)


def merged_parts(
    plan: Plan, n_users: int, n_items: int, folder: Path, *, weighted: bool, ranked: bool = False
) -> Iterator[Merged]:
    """Sort part after part; the files of a part are removed afterwards.

    Parameters
    ----------
    plan : Plan
        The parts.
    n_users, n_items : int
        M and Q.
    folder : Path
        Where `write_parts` wrote.
    weighted, ranked : bool
        Whether rows have weights, and ranking ids.
    """
    for p in range(plan.n_parts):
        count = min(plan.users_a_part, n_users - p * plan.users_a_part)
        key = np.fromfile(folder / f"key-{p:03}", plan.key)
        weight = np.fromfile(folder / f"weight-{p:03}", np.float64) if weighted else None
        ids = None
        if ranked:
            given = np.fromfile(folder / f"ranking_id-{p:03}", np.int64)
            key, merged, ids = merged_ranked_rows(key.astype(np.int64), weight, given, n_items)
        else:
            key, merged = merge(key, weight)
        user, pair = np.divmod(key, key.dtype.type(n_items**2))
        counts = np.bincount(user.astype(np.int64), minlength=count)
        yield Merged(counts, pair.astype(np.int64), merged, ids)
        for file in folder.glob(f"*-{p:03}"):
            file.unlink()


def merge(
    key: NDArray[Any], weight: NDArray[np.float64] | None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Keys ascending, each once, and their total weights, or counts where there are none.

    Equal keys are added up in the order of their weights, so that the sum depends on nothing else.
    """
    if weight is None:
        key.sort()
    else:
        order = np.lexsort((weight, key))
        key, weight = key[order], weight[order]
    first = (
        np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        if len(key)
        else np.zeros(0, np.intp)
    )
    if weight is None:
        return key[first], np.diff(np.append(first, len(key))).astype(np.float64)
    return key[first], np.add.reduceat(weight, first) if len(key) else weight
