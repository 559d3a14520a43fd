"""Settings chosen on training users: some are held out, and part of their data is given.

What is held out of them (`HoldOut`) is like what will be predicted of the test users, so that every
system is tuned for the task that is scored.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.splits import HeldOutBy, split_comparisons, split_users
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.interface import FittedPeer, PredictsRows
from mallowmix.typing import Array

_STEP = Step.VALIDATION
_USERS = 128  # predicted at a time: each brings pairs of their own
# of a table of users by pairs: fewer users at a time where theirs are many
_CELLS = 1 << 22
_MOST = 600  # users who validate
_MANY = 300  # of whom one trial is enough; of fewer, each third of the users validates in turn
_SOME = 0.1  # of the held-out comparisons: so many of a kind make it part of the task
_LEAST_GIVEN, _MOST_GIVEN = 0.05, 0.95
LIKELIHOOD_WEIGHTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.06, 0.03)
"""Candidates for what one comparison counts for; 1 is right where they are independent."""
Setting = TypeVar("Setting")
_LEAST_GAIN = 1e-5  # of an end over its neighbour: what is gained beyond is nothing
_MOST_TRIALS = 60


class HoldOut(NamedTuple):
    """What is held out of a user who is predicted.

    Attributes
    ----------
    by : {"auto", "items", "touching", "comparisons"}
        As in `mallowmix.data.splits.split_comparisons`.
    given : float
        The part of a user's items (or comparisons) that is given.
    """

    by: HeldOutBy | Literal["auto"] = "auto"
    given: float = 0.5


NEW_ITEMS = HoldOut()


def hold_out_of(given: Comparisons, held_out: Comparisons) -> HoldOut:
    """Describe a split that was made elsewhere, so that settings are chosen on similar ones.

    Parameters
    ----------
    given, held_out : Comparisons
        Of the same users and items.

    Returns
    -------
    HoldOut
        "comparisons" where most held-out pairs are of two items that are also in the user's given
        comparisons; "touching" where a tenth of them or more have one such item; else "items". The
        part that is given is the mean over users.
    """
    M, Q = held_out.n_users, held_out.n_items
    known, other = np.zeros((2, M, Q), bool)
    for part, seen in ((given, known), (held_out, other)):
        seen[part.user, part.winner] = seen[part.user, part.loser] = True
    n_known = known[held_out.user, held_out.winner] * 1 + known[held_out.user, held_out.loser]
    shares = np.bincount(n_known, held_out.weight, 3) / max(held_out.n_comparisons, 1e-300)
    asked = other.any(axis=1)
    if shares[2] > 0.5:
        n, rest = given.per_user()[asked], held_out.per_user()[asked]
        return HoldOut("comparisons", _part(n / (n + rest)))
    items = known[asked].sum(axis=1) / (known | other)[asked].sum(axis=1)
    return HoldOut("touching" if shares[1] >= _SOME else "items", _part(items))


def _part(shares: Array) -> float:
    return float(np.clip(shares.mean(), _LEAST_GIVEN, _MOST_GIVEN)) if shares.any() else 0.0


class Trial(NamedTuple):
    """Users to learn from, and others with what is given and what is held out."""

    train: Comparisons
    given: Comparisons
    held_out: Comparisons


def trial(
    comparisons: Comparisons, seed: int, most: int | None = None, hold_out: HoldOut = NEW_ITEMS
) -> Trial:
    """Split training users for validation.

    Two thirds of the users are learnt from; part of the comparisons of the others is given.

    Parameters
    ----------
    comparisons : Comparisons
    seed : int
    most : int, optional
        So many users, at random, are enough.
    hold_out : HoldOut
        What is held out of the others; half of the items unless given (of the comparisons, where
        that leaves too little).

    Returns
    -------
    Trial
    """
    order = generator(seed, _STEP).permutation(comparisons.n_users)[:most]
    cut = max(1, len(order) * 2 // 3)
    others = np.sort(order[cut:][:_MOST]) if cut < len(order) else order
    return _trial(comparisons, np.sort(order[:cut]), others, hold_out, seed)


def trials(comparisons: Comparisons, seed: int, hold_out: HoldOut = NEW_ITEMS) -> list[Trial]:
    """Split training users for validation; where they are few, each third validates in turn.

    Parameters
    ----------
    comparisons, seed, hold_out
        As in `trial`.

    Returns
    -------
    list of Trial
        One or three.
    """
    M = comparisons.n_users
    if M < 3:
        return [trial(comparisons, seed, None, hold_out)]
    part = split_users(M, 3, seed=seed)
    return [
        _trial(
            comparisons,
            np.flatnonzero(part != third),
            np.flatnonzero(part == third)[:_MOST],
            hold_out,
            seed,
        )
        for third in range(1 if M >= 3 * _MANY else 3)
    ]


def _trial(
    comparisons: Comparisons,
    learners: NDArray[np.int64],
    others: NDArray[np.int64],
    hold_out: HoldOut,
    seed: int,
) -> Trial:
    judges = comparisons.take_users(others)
    given, held_out = split_comparisons(judges, hold_out.by, hold_out.given, seed)
    return Trial(comparisons.take_users(learners), given, held_out)


def predicted_rows(
    fitted: Any, given: Comparisons, held_out: Comparisons, *, by_name: bool = False
) -> Array:
    """Predict the held-out comparisons of users from those given.

    Parameters
    ----------
    fitted : UserPredictor
        A fitted peer, or whatever else has `predict_proba`.
    given, held_out : Comparisons
        Of the same users.
    by_name : bool
        The peer knows these users and takes their names.

    Returns
    -------
    ndarray, shape (n,)
        The probability of the outcome in each row of `held_out`.
    """
    if isinstance(fitted, PredictsRows):
        return np.clip(fitted.predict_rows(given, held_out), 1e-12, 1 - 1e-12)
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


def loss(fitted: Any, given: Comparisons, held_out: Comparisons) -> float:
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


def best_of_growing(
    candidates: Iterable[float],
    loss_of: Callable[[float], float],
    below: Callable[[float], float],
    above: Callable[[float], float],
) -> float:
    """The number with the least loss, among candidates that grow while the best is at an end.

    Parameters
    ----------
    candidates : iterable of float
        Where to begin.
    loss_of : callable
        The loss of a candidate.
    below, above : callable
        The next candidate past the least one, and past the largest.

    Returns
    -------
    float
        A candidate with worse ones on both sides; or an end beyond which the loss hardly changes
        (by less than 10⁻⁵ from its neighbour).

    Examples
    --------
    >>> best_of_growing((4.0, 8.0), lambda x: (x - 1) ** 2, lambda x: x / 2, lambda x: 2 * x)
    1.0
    """
    losses = {value: loss_of(value) for value in sorted(set(candidates))}
    while len(losses) < _MOST_TRIALS:
        values = sorted(losses)
        chosen = min(values, key=lambda value: np.nan_to_num(losses[value], nan=np.inf))
        if chosen not in (values[0], values[-1]):
            return chosen
        neighbour = values[1] if chosen == values[0] else values[-2]
        if len(values) > 1 and not losses[neighbour] - losses[chosen] >= _LEAST_GAIN:
            return chosen
        further = below(chosen) if chosen == values[0] else above(chosen)
        losses[further] = loss_of(further)
    return min(losses, key=losses.__getitem__)


def half_odds(share: float) -> float:
    """The share with half the odds, the next one below among candidates between 0 and 1."""
    return share / (2 - share)  # o/2 with o = s/(1−s)


def double_odds(share: float) -> float:
    """The share with twice the odds, the next one above among candidates between 0 and 1."""
    return 2 * share / (1 + share)
