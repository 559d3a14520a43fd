"""The number of components that a system predicts best with, chosen on training users."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.data.rankings import Rankings
from mallowmix.data.ratings import rating_table
from mallowmix.errors import MallowmixError
from mallowmix.numerics.randomness import Step, generator
from mallowmix.peers.interface import Peer, rmse
from mallowmix.peers.required_data import known_comparisons
from mallowmix.peers.validation import NEW_ITEMS, HoldOut, loss, trials

_HELD_OUT = 0.2  # of the ratings
_MOST = 40  # components, beyond which none are tried


class Candidates(NamedTuple):
    """Numbers of components to choose from.

    Attributes
    ----------
    values : tuple of int
    further : bool
        Whether larger ones are tried as long as the largest is the best: each is the sum of the
        two largest before it.
    """

    values: tuple[int, ...]
    further: bool = False


def has_components(peer: Peer) -> bool:
    """Whether the number of components makes a difference to a system."""
    return getattr(peer, "has_components", True)


def component_losses(
    peer: Peer,
    data: Any,
    candidates: Candidates,
    *,
    seed: int = 0,
    hold_out: HoldOut = NEW_ITEMS,
) -> dict[int, float]:
    """How well a system predicts training users from whom it was not learnt, by K.

    Parameters
    ----------
    peer : Peer
        A system with its options.
    data : Comparisons, Rankings, or ratings
        Of training users, as in `Peer.fit`.
    candidates : Candidates
        Numbers of components.
    seed : int
        Of the splits and the fits.
    hold_out : HoldOut
        What is held out of the users who validate.

    Returns
    -------
    dict
        For each candidate that could be fitted the log-loss per comparison, mean over users (the
        root mean squared error, for systems that learn from ratings).

    Raises
    ------
    MallowmixError
        Why the last one failed, where all do.
    """
    judged = _by_ratings if peer.needs == "ratings" else _by_comparisons
    score, losses = judged(peer, data, seed, hold_out), {}
    failed = _add_losses(losses, candidates.values, score)
    if not losses and failed is not None:
        raise failed
    while candidates.further and len(losses) > 1 and _largest_is_best(losses):
        if _add_losses(losses, [sum(sorted(losses)[-2:])], score):
            break
    return losses


def _add_losses(
    losses: dict[int, float], candidates: Sequence[int], score: Callable[[int], float]
) -> MallowmixError | None:
    """Add the loss of each candidate that can be fitted; why the last one failed that did."""
    failed = None
    for K in candidates:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                losses[K] = score(K)
        except MallowmixError as error:  # too many components for so few users, say
            failed = error
    return failed


def _largest_is_best(losses: dict[int, float]) -> bool:
    return best_components(losses) == max(losses) < _MOST


def best_components(losses: dict[int, float]) -> int:
    """The number of components with the least loss; of equals the smallest."""
    return min(losses, key=lambda K: (np.nan_to_num(losses[K], nan=np.inf), K))


def _by_comparisons(peer: Peer, data: Any, seed: int, hold_out: HoldOut) -> Callable[[int], float]:
    """The log-loss of a number of components, by trials of training users."""
    held = trials(known_comparisons(data), seed, hold_out)
    learnt = [_of_users(data, each.train) for each in held]

    def score(K: int) -> float:
        fits = [peer.fit(each, K, seed=seed) for each in learnt]
        losses = [loss(fitted, *each[1:]) for fitted, each in zip(fits, held, strict=True)]
        return float(np.nanmean(losses))

    return score


def _of_users(data: Any, train: Comparisons) -> Any:
    """The data of these users, in the form that it has."""
    if not isinstance(data, Rankings):
        return train
    number = {text: m for m, text in enumerate(text_of(data.users))}
    return data.take_users([number[text] for text in text_of(train.users)])


def _by_ratings(peer: Peer, data: Any, seed: int, _: HoldOut) -> Callable[[int], float]:
    """The error of a number of components on a fifth of the ratings, held out at random."""
    table = rating_table(data)
    held = generator(seed, Step.VALIDATION).random(len(table)) < _HELD_OUT
    users, items = table.users[table.user], table.items[table.item]
    kept = users[~held].tolist(), items[~held].tolist(), table.rating[~held]

    def score(K: int) -> float:
        fitted: Any = peer.fit(kept, K, seed=seed)
        return rmse(fitted.predict(users[held].tolist(), items[held].tolist()), table.rating[held])

    return score
