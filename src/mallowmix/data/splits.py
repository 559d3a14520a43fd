"""Splits of users, of items and of comparisons: functions of the data and the seed alone.

What is *given* of a user is what a model may look at; what is *held out* is what it must predict.
"""

from numbers import Real
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.tie_halves import tie_halves
from mallowmix.errors import DataError, OptionError
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, generator, uniforms
from mallowmix.numerics.token_gibbs import token_count
from mallowmix.typing import Array

SplitBy: TypeAlias = Literal["comparisons", "items"]
HeldOutBy: TypeAlias = Literal["comparisons", "items", "touching"]
_COMPLETION, _HALVES, _ITEM_HALVES = (
    int(Step.COMPLETION),
    int(Step.HALVES),
    int(Step.ITEM_HALVES),
)
_LEAST_PART = 0.1  # of the comparisons must be given, and held out, or items are not what is split


# ---- users ----


def split_users(n_users: int, n_parts: int, *, seed: int, draw: int = 0) -> NDArray[np.int64]:
    """(M,) the part of each user, 0 … n_parts − 1, at random; parts differ by one user at most."""
    part = np.empty(n_users, np.int64)
    part[generator(seed, Step.FOLDS, draw).permutation(n_users)] = np.arange(n_users) % n_parts
    return part


def counted_users(comparisons: Comparisons) -> Comparisons:
    """Without users who have no comparison or the weight 0, who make parts look larger."""
    counts = (comparisons.user_weight > 0) & (comparisons.per_user() > 0)
    return comparisons if counts.all() else comparisons.take_users(counts)


# ---- a user's comparisons ----


def check_given(given: float) -> None:
    """Raise an OptionError unless something is left to predict."""
    if not isinstance(given, Real) or not 0 <= given < 1:
        raise OptionError(
            option="given",
            value=given,
            expected="at least 0 and below 1, so that something is left to predict",
        )


def split_comparisons(
    comparisons: Comparisons, by: HeldOutBy | Literal["auto"], given: float, seed: int
) -> tuple[Comparisons, Comparisons]:
    """What is given and what is held out of every user's comparisons.

    Parameters
    ----------
    comparisons : Comparisons
        All comparisons.
    by : {"comparisons", "items", "touching", "auto"}
        "comparisons" splits a user's comparisons one by one; "items" splits the items:
        comparisons among the given ones are given, those among the others held out, the rest left
        out; with "touching" the rest is held out too; "auto" is by items, unless less than a tenth
        of the comparisons would then be given or held out.
    given : float
        The part that is given, from 0 to less than 1.
    seed : int
        The split of a user depends on the seed and the user's number alone.

    Returns
    -------
    given, held_out : two Comparisons
        Of the same users and items.
    """
    if by == "auto":
        parts = split_comparisons(comparisons, "items", given, seed)
        few = min(part.n_comparisons for part in parts) < _LEAST_PART * comparisons.n_comparisons
        return split_comparisons(comparisons, "comparisons", given, seed) if few else parts
    rows = (comparisons.starts(), comparisons.pair, comparisons.weight, comparisons.n_items)
    parts = split_rows(*rows, by, given, 0, as_key(seed))
    return comparisons.with_weights(parts[0]), comparisons.with_weights(parts[1])


def split_rows(
    starts: NDArray[np.int64],
    pair: NDArray[np.integer],
    weight: Array,
    n_items: int,
    by: HeldOutBy,
    given: float,
    first_user: int,
    key: np.uint64,
) -> tuple[Array, Array]:
    """How much of each row's weight is given, and how much is held out.

    Parameters
    ----------
    starts, pair, weight : arrays
        Rows of users, as in `engine.blocks.Block`.
    n_items : int
        Q.
    by : {"comparisons", "items", "touching"}
        What is split.
    given : float
        The part that is given.
    first_user : int
        The number of the first of these users among all users.
    key : uint64
        The key of the random numbers (`numerics.randomness.as_key`).

    Returns
    -------
    given, held_out : two (rows,) arrays
    """
    if by == "comparisons":
        kept = _given_comparisons(starts, weight, given, first_user, key)
        return kept, weight - kept
    side = _given_items(starts, pair, n_items, given, first_user, key)
    held_out = side != 1 if by == "touching" else side == 0
    return weight * (side == 1), weight * held_out


@compiled
def _wanted(n, given, key, user):
    """A share `given` of n, rounded up or down at random so that it is right on average."""
    coin, _ = uniforms(key, _COMPLETION, user, 0, 1)
    return int(np.floor(n * given + coin))


@compiled
def _given_comparisons(starts, weight, given, first_user, key):
    kept = np.zeros(len(weight))
    for m in range(len(starts) - 1):
        rows, user = slice(starts[m], starts[m + 1]), first_user + m
        n = token_count(weight[rows])
        take(weight[rows], n, _wanted(n, given, key, user), kept[rows], key, _COMPLETION, user)
    return kept


@compiled
def _given_items(starts, pair, n_items, given, first_user, key):
    """Of each row: 1 if both items are given, 0 if neither is, −1 if one is."""
    side = np.full(len(pair), -1, np.int8)
    seen, is_given = np.full(n_items, -1, np.int64), np.zeros(n_items, np.bool_)
    for m in range(len(starts) - 1):
        left = 0
        for row in range(starts[m], starts[m + 1]):
            for item in (pair[row] // n_items, pair[row] % n_items):
                left += seen[item] != m
                seen[item] = m
        wanted = _wanted(left, given, key, first_user + m)
        for item in range(n_items):
            if seen[item] == m:
                u, _ = uniforms(key, _COMPLETION, first_user + m, item, 2)
                is_given[item] = u * left < wanted
                wanted -= is_given[item]
                left -= 1
        for row in range(starts[m], starts[m + 1]):
            i, j = is_given[pair[row] // n_items], is_given[pair[row] % n_items]
            if i == j:
                side[row] = i
    return side


# ---- two halves ----


def first_half(
    starts: NDArray[np.int64],
    pair: NDArray[np.integer],
    weight: Array,
    n_items: int,
    first_user: int,
    key: np.uint64,
) -> Array:
    """How much of each row's weight is in the first half of its user's comparisons (Lemma 2).

    The sizes differ by one at most, and chance decides which half gets the odd one. A row of
    weight w stands for w comparisons, each of which falls in either half by itself; a fractional
    rest goes as one piece, and the two halves of a tie go together (then sizes may differ by
    more).
    """
    first = np.zeros(len(weight))
    _halve(starts, weight, first_user, key, first)
    ties = tie_halves(starts, pair, weight, n_items)
    if ties is not None:  # they are one answer, and must not be found in both halves
        _join_ties(starts, pair, n_items, ties, first)
    return first


@compiled
def _halve(starts, weight, first_user, key, first):
    for m in range(len(starts) - 1):
        rows, user = slice(starts[m], starts[m + 1]), first_user + m
        n = token_count(weight[rows])
        coin, _ = uniforms(key, _HALVES, user, 0, 1)
        wanted = n // 2 + (1 if n % 2 == 1 and coin < 0.5 else 0)
        take(weight[rows], n, wanted, first[rows], key, _HALVES, user)


@compiled
def _join_ties(starts, pair, n_items, ties, first):
    """The halves of a tie go where its later row's half went.

    Where a pair is tied in several rankings, the rows of either order stand in the order of these.
    """
    for m in range(len(starts) - 1):
        mine, tied, earlier = pair[starts[m] : starts[m + 1]], ties[starts[m] : starts[m + 1]], 0
        for row in range(starts[m], starts[m + 1]):
            winner, loser = pair[row] // n_items, pair[row] % n_items
            if row > starts[m] and pair[row] != pair[row - 1]:
                earlier = 0  # ties of this pair in the rows before this one
            if ties[row] > 0 and winner < loser:
                other = np.searchsorted(mine, loser * n_items + winner)
                left = earlier
                while left > 0 or not tied[other] > 0:
                    left -= tied[other] > 0
                    other += 1
                other += starts[m]
                earlier += 1
                whole = np.floor(first[row])
                first[row] = whole + (first[other] - np.floor(first[other]))


def split_items(comparisons: Comparisons, *, seed: int = 0) -> tuple[Comparisons, Comparisons]:
    """Split the comparisons into two halves that share no item of the same user.

    Comparisons that come from one user's ratings or ranking share items, and so are not
    independent: tea over milk and milk over water say that tea is over water. Comparisons from
    the two halves share no item of the same user. Each of a user's items goes to either half with
    probability ½, by itself: about half of the comparisons remain.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred.
    seed : int
        The same seed gives the same split.

    Returns
    -------
    tuple of two Comparisons
        The two halves.

    Examples
    --------
    >>> import mallowmix as mm
    >>> one, other = mm.split_items(mm.load_dishes(n_users=50).comparisons, seed=1)
    >>> one.n_users == other.n_users == 50
    True
    """
    if not isinstance(comparisons, Comparisons):
        raise DataError(
            f"The split of items needs Comparisons in memory, and was given "
            f"{type(comparisons).__name__}: read the comparisons of a part of the users first."
        )
    side = _item_sides(comparisons.user, comparisons.winner, comparisons.loser, as_key(seed))
    first, second = (np.where(side == half, comparisons.weight, 0.0) for half in (0, 1))
    return comparisons.with_weights(first), comparisons.with_weights(second)


@compiled
def _item_sides(user, winner, loser, key):
    """Of each row: the half that both its items are in, or −1."""
    side = np.full(len(user), -1, np.int8)
    for row in range(len(user)):
        u, _ = uniforms(key, _ITEM_HALVES, user[row], winner[row], 0)
        v, _ = uniforms(key, _ITEM_HALVES, user[row], loser[row], 0)
        if (u < 0.5) == (v < 0.5):
            side[row] = 0 if u < 0.5 else 1
    return side


# ---- selection ----


@compiled(inline="always")
def take(weight, left, wanted, taken, key, step, user):
    """Selection sampling: take each piece with probability (still wanted) / (still left)."""
    token = 0
    for row in range(len(weight)):
        rest = weight[row]
        while rest > 0:
            u, _ = uniforms(key, step, user, token, 0)
            piece = rest if rest < 1.0 else 1.0
            if u * left < wanted:
                taken[row] += piece
                wanted -= 1
            rest -= piece
            left -= 1
            token += 1
