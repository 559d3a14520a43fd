"""Settings chosen on training people: some are held out, part of what they chose is told, and the rest is foretold."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import make_blocks
from mallowmix.infer.heldout.completion import Split, split_block
from mallowmix.numerics.randomness import as_key, generator
from mallowmix.peers.interface import Fitted

_STEP = 120
_PEOPLE = 128  # people asked at a time: each brings pairs of their own
# of a table of people by pairs: fewer people are asked at a time where theirs are many
_CELLS = 1 << 22
_MOST = 600  # people who validate
Array = NDArray[np.float64]
Setting = TypeVar("Setting")


class Trial(NamedTuple):
    """People to learn from, and others with what is told and what is asked of them."""

    train: Comparisons
    told: Comparisons
    asked: Comparisons


def trial(comparisons: Comparisons, seed: int, most: int | None = None) -> Trial:
    """Two thirds of the people to learn from; half of the items (or, where that leaves too little, of the comparisons) told.

    most : so many people, at random, are enough
    """
    order = generator(seed, _STEP).permutation(comparisons.n_users)[:most]
    cut = max(1, len(order) * 2 // 3)
    others = np.sort(order[cut:][:_MOST]) if cut < len(order) else order
    told, asked = deal(comparisons.take_users(others), "auto", 0.5, seed)
    return Trial(comparisons.take_users(np.sort(order[:cut])), told, asked)


def deal(
    people: Comparisons, split: Split | str, given: float, seed: int
) -> tuple[Comparisons, Comparisons]:
    """What is told and what is asked of people, a function of the seed and their numbers alone.

    "auto": items are dealt, unless less than a tenth of the comparisons would then be told or asked; then comparisons are.
    """
    if split == "auto":
        parts = deal(people, "items", given, seed)
        few = min(part.n_comparisons for part in parts) < 0.1 * people.n_comparisons
        return deal(people, "comparisons", given, seed) if few else parts
    key = as_key(seed)
    weights = [split_block(block, given, split, key) for block in make_blocks(people)]  # type: ignore[arg-type]
    told, asked = (
        np.concatenate([np.zeros(0), *(pair[side] for pair in weights)]) for side in (0, 1)
    )
    return with_weights(people, told), with_weights(people, asked)


def with_weights(comparisons: Comparisons, weight: Array) -> Comparisons:
    """The same people with these weights of their rows; rows of weight 0 go."""
    keep = weight > 0
    columns = {name: getattr(comparisons, name)[keep] for name in ("user", "winner", "loser")}
    return replace(comparisons, **columns, weight=weight[keep])


def foretold(
    fitted: Fitted, told: Comparisons, asked: Comparisons, *, by_name: bool = False
) -> Array:
    """(rows of asked,) the probability of what each person chose, given what is told of them.

    by_name : the peer knows these people and takes their names
    """
    p, items = np.empty(len(asked)), asked.items.tolist()
    starts = asked.starts()
    for first, last in _together(starts, len(items)):
        rows = slice(starts[first], starts[last])
        low, high = (
            np.minimum(asked.winner[rows], asked.loser[rows]),
            np.maximum(asked.winner[rows], asked.loser[rows]),
        )
        codes, place = np.unique(low.astype(np.int64) * len(items) + high, return_inverse=True)
        pairs = [(items[code // len(items)], items[code % len(items)]) for code in codes.tolist()]
        people = (
            told.users[first:last].tolist() if by_name else told.take_users(np.arange(first, last))
        )
        table = fitted.predict_proba(people, pairs)
        low_wins = table[asked.user[rows] - first, place]
        p[rows] = np.where(asked.winner[rows] == low, low_wins, 1 - low_wins)
    return np.clip(p, 1e-12, 1 - 1e-12)


def _together(starts: NDArray[np.int64], n_items: int) -> list[tuple[int, int]]:
    """Runs of people, of whom somebody is asked something: 128, or so few that the table of them by their pairs stays small."""
    runs, first, n_users = [], 0, len(starts) - 1
    while first < n_users:
        last = min(first + _PEOPLE, n_users)
        while (
            last > first + 1
            and (last - first) * min(starts[last] - starts[first], n_items * (n_items - 1) // 2)
            > _CELLS
        ):
            last = first + (last - first) // 2
        runs += [(first, last)] if starts[last] > starts[first] else []
        first = last
    return runs


def loss(fitted: Fitted, told: Comparisons, asked: Comparisons) -> float:
    """Log-loss a comparison, mean over people."""
    p, n = foretold(fitted, told, asked), asked.per_user()
    total = np.bincount(asked.user, -asked.weight * np.log(p), asked.n_users)
    return float(np.mean(total[n > 0] / n[n > 0])) if n.any() else float("nan")


def best(
    settings: Iterable[Setting],
    fitted: Callable[[Setting], Fitted],
    told: Comparisons,
    asked: Comparisons,
) -> Setting:
    """The setting with the least loss; the first of equals (or where nothing is asked)."""
    scored = [
        (loss(fitted(setting), told, asked), n, setting) for n, setting in enumerate(settings)
    ]
    return min(scored, key=lambda entry: (np.nan_to_num(entry[0], nan=np.inf), entry[1]))[2]
