"""The users by whom numbers of components are compared: a sample, its folds, what is held out.

Which questions are asked of test users is decided where all scores of new users have it from
(`infer.heldout.scored_on.hard_questions`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.row_limits import limit_rows
from mallowmix.data.splits import HeldOutBy, split_comparisons, split_users
from mallowmix.engine import Block, Engine
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.infer.pair_queries import Queries
from mallowmix.learn.spectral.user_sample import sampled_comparisons
from mallowmix.numerics.randomness import Step, child_seed
from mallowmix.typing import Array

# of more comparisons a sample of the users is taken, and no more than so many of each user
ENOUGH_COMPARISONS, _ENOUGH_USERS = 100_000, 1000
_PER_USER, _HELD_OUT_PER_USER = 150, 75
# test users are split as often as their comparisons go into so many: which questions are asked
# decides less then, and where there are few, to predict takes little time beside learning
_ENOUGH_FOR_ONE_SPLIT, _MOST_SPLITS = 20_000, 4


class HeldOutSplit(NamedTuple):
    """One split of the comparisons of a fold's test users.

    Attributes
    ----------
    given : Block
        What is given of them.
    held_out : Queries
        What is not.
    weight : (pairs,) array
        How often each held-out comparison was made.
    """

    given: Block
    held_out: Queries
    weight: Array


class ChoiceFold(NamedTuple):
    """One fold.

    Attributes
    ----------
    train : Comparisons
        Of the users to learn from.
    test : (n,) array of int
        The numbers of the users who are predicted.
    splits : tuple of HeldOutSplit
        Of their comparisons: several, drawn independently, where there are few.
    """

    train: Comparisons
    test: NDArray[np.int64]
    splits: tuple[HeldOutSplit, ...]


def users_for_choice(
    comparisons: Comparisons | StoredComparisons, engine: Engine, seed: int
) -> Comparisons:
    """Take the users by whom numbers of components are compared: all, or a sample of many.

    Parameters
    ----------
    comparisons : Comparisons or StoredComparisons
        All users.
    engine : Engine
        Where the pass over all users runs.
    seed : int
        Of the sample.

    Returns
    -------
    Comparisons
        Users who have comparisons and a weight.
    """
    M, n = comparisons.n_users, comparisons.n_comparisons
    wanted = max(ENOUGH_COMPARISONS / min(n / max(M, 1), _PER_USER), _ENOUGH_USERS)
    share = min(1.0, wanted / max(M, 1)) if n > ENOUGH_COMPARISONS else 1.0
    own = child_seed(seed, Step.CHOICE_USERS)
    return sampled_comparisons(comparisons, share, own, engine, ranked=True)


def make_choice_folds(
    users: Comparisons, questions: tuple[HeldOutBy, float], n_folds: int, seed: int
) -> list[ChoiceFold]:
    """Split the users into folds, and the comparisons of each fold's users.

    Parameters
    ----------
    users : Comparisons
        From `users_for_choice`.
    questions : (split, given)
        What is held out of test users (`infer.heldout.scored_on.hard_questions`).
    n_folds : int
        How many parts.
    seed : int
        Of the folds and of what is held out.
    """
    most = _PER_USER if users.n_comparisons > ENOUGH_COMPARISONS else None
    fold = split_users(users.n_users, n_folds, seed=seed)
    return [_trial(users, fold == f, questions, most, seed) for f in range(n_folds)]


def _trial(
    users: Comparisons,
    tested: NDArray[np.bool_],
    questions: tuple[HeldOutBy, float],
    most: int | None,
    seed: int,
) -> ChoiceFold:
    train, test = users.take_users(~tested), users.take_users(tested)
    if most is not None:
        train = limit_rows(train, most, Step.THIN_TRAIN, seed)
    n_splits = int(np.clip(_ENOUGH_FOR_ONE_SPLIT // users.n_comparisons, 1, _MOST_SPLITS))
    own = (child_seed(seed, Step.CHOICE_SPLITS, number) for number in range(1, n_splits))
    splits = tuple(_split(test, questions, most, each) for each in (seed, *own))
    return ChoiceFold(train, np.flatnonzero(tested), splits)


def _split(
    test: Comparisons, questions: tuple[HeldOutBy, float], most: int | None, seed: int
) -> HeldOutSplit:
    given, held_out = split_comparisons(test, *questions, seed)
    if most is not None:
        given = limit_rows(given, most, Step.THIN_GIVEN, seed)
        held_out = limit_rows(held_out, _HELD_OUT_PER_USER, Step.THIN_HELD_OUT, seed)
    block = Block(
        0, test.n_items, given.starts(), given.pair.astype(np.int32), given.weight,
        given.user_weight,
    )  # fmt: skip
    queries = Queries(held_out.starts(), held_out.pair.astype(np.int64))
    return HeldOutSplit(block, queries, held_out.weight)
