"""What someone will choose: the probability of any pair, a person's whole ranking with how sure it is, and the population's."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import text_of
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.errors import DataError, check_at_least, check_level
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.gibbs_draws import draw, pieces, without_spam
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array

Pairs = Iterable[tuple[object, object]]
_PEOPLE = 500  # looked at together


@dataclass(frozen=True)
class RankedItem:
    """One line of a ranking: the item, its place (1 is best), how likely it wins against another, and the range of its places."""

    item: object
    rank: int
    wins: float
    low: int
    high: int


def predict(
    model: ComponentModel,
    comparisons: Comparisons | None,
    pairs: Pairs,
    *,
    unknown_items: Literal["error", "drop"] = "error",
    n_jobs: int | None = None,
) -> Array:
    """(M, n) the probability that each person prefers the first of each pair to the second.

    comparisons : what is known of the people, one row of the answer each; None asks for the population, one row
    pairs : couples of item labels

    Σ_k β_(i,j),k E[θ_k | what the person chose]: averaged over what is not known of θ, and over the model's further fits, with
    its calibration. The two orders of a pair add up to one.
    """
    codes = pair_codes(model, pairs)
    if comparisons is None:
        return np.mean(
            [prepared.prior_mean @ prepared.beta[codes].T for prepared in prepare_members(model)],
            axis=0,
        )[None]
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    parts = ThreadEngine(n_jobs).map(
        _probabilities, make_blocks(comparisons), (prepare_members(model), codes)
    )
    return np.concatenate([np.empty((0, len(codes))), *parts])


def predict_each(
    model: ComponentModel,
    comparisons: Comparisons,
    users: Sequence[object],
    pairs: Sequence[tuple[object, object]],
    *,
    unknown_items: Literal["error", "drop"] = "error",
    n_jobs: int | None = None,
) -> tuple[Array, NDArray[np.bool_]]:
    """(n,) the probability that `users[n]` prefers the first of `pairs[n]`, and whether anything is known of that person.

    Of whom there are no comparisons, the population's probability is given.
    """
    codes, items = pair_codes(model, pairs), model.items.tolist()
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    number = {text: m for m, text in enumerate(text_of(comparisons.users))}
    person = np.array([number.get(str(user), -1) for user in users], np.int64)
    known = np.r_[comparisons.per_user() > 0, False][person]
    out = np.empty(len(person))
    for rows in _by_person(person):
        wanted, column = np.unique(codes[rows], return_inverse=True)
        couples = [(items[code // model.n_items], items[code % model.n_items]) for code in wanted]
        people = np.unique(person[rows])
        known_rows = None if people[0] < 0 else comparisons.take_users(people)
        out[rows] = predict(model, known_rows, couples, n_jobs=n_jobs)[
            np.searchsorted(people, person[rows]), column
        ]
    return out, known


def _by_person(person: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows of some people at a time, of those unknown (−1) first: a table of all people by all pairs may be large."""
    order = np.argsort(person, kind="stable")
    starts = (
        np.flatnonzero(np.r_[True, np.diff(person[order]) > 0])
        if len(order)
        else np.empty(0, np.int64)
    )
    first = int(len(order) > 0 and person[order[0]] < 0)
    edges = [0, *starts[first::_PEOPLE].tolist(), len(order)]
    for start, end in pairwise(edges):
        if end > start:
            yield order[start:end]


def pair_codes(model: ComponentModel, pairs: Pairs) -> NDArray[np.int64]:
    """(n,) each couple of labels as first · Q + second."""
    number = {str(item): i for i, item in enumerate(model.items.tolist())}
    codes = []
    for n, pair in enumerate(pairs, 1):
        first, second = (_found(number, label, n) for label in _two(pair, n))
        if first == second:
            raise DataError(f"Pair {n} compares {pair[0]!r} with itself: give two different items.")
        codes.append(first * model.n_items + second)
    return np.array(codes, np.int64)


def _two(pair: Any, n: int) -> Sequence[object]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise DataError(f"Pair {n} is {pair!r}; it must be two items, as in ('tea', 'coffee').")
    return pair


def _found(number: dict[str, int], label: object, n: int) -> int:
    try:
        return number[str(label)]
    except KeyError:
        raise DataError(
            f"Pair {n}: the model has no item {label!r}; it has {len(number)} others. "
            "Correct the name, or leave the pair out."
        ) from None


@map_step("predict pairs")
def _probabilities(block: Block, broadcast: tuple[list[PreparedModel], NDArray[np.int64]]) -> Array:
    fits, codes = broadcast
    return np.mean(
        [fold_in(block, prepared)[0] @ prepared.beta[codes].T for prepared in fits], axis=0
    )


def rank(
    model: ComponentModel,
    comparisons: Comparisons | None = None,
    *,
    n_top: int | None = None,
    level: float = 0.9,
    n_draws: int = 200,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
) -> list[list[RankedItem]]:
    """Everybody's whole ranking, best first: items by the probability that they win against another item, taken at random.

    comparisons : what is known of the people, one ranking each; None asks for the population's
    n_top : so many items of each ranking
    level : how probable it is that an item's place lies from `low` to `high`, over what is not known of θ. The model itself is
        taken for certain (for that, see `intervals`); the population's θ is its mean, so its places have no range
    """
    check_level(level)
    check_at_least("n_draws", n_draws, 10)
    if n_top is not None:
        check_at_least("n_top", n_top, 1)
    fits = [(prepared, _win_rates(prepared, model.n_items)) for prepared in prepare_members(model)]
    if comparisons is None:
        wins = np.mean([prepared.prior_mean @ rates for prepared, rates in fits], axis=0)
        places = _places(wins[None])[0]
        return [_ranking(model, wins, places, places, n_top)]
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    broadcast = (fits, level, max(10, -(-n_draws // len(fits))), as_key(seed))
    parts = ThreadEngine(n_jobs).map(_rank, make_blocks(comparisons), broadcast)
    return [_ranking(model, wins, low, high, n_top) for part in parts for wins, low, high in part]


@map_step("rank items")
def _rank(
    block: Block, broadcast: tuple[list[tuple[PreparedModel, Array]], float, int, np.uint64]
) -> Array:
    """(M, 3, Q) everybody's mean win probabilities, and the ends of each item's places."""
    fits, level, n_draws, key = broadcast
    means = np.mean(
        [fold_in(block, prepared)[0] @ rates for prepared, rates in fits], axis=0
    )  # (M, Q)
    out = np.stack([means, *[_places(means)] * 2], axis=1)  # an interval holds the item's own place
    for first, part in pieces(block):
        # (people, S, Q) each
        wins = [_drawn_wins(part, prepared, rates, n_draws, key) for prepared, rates in fits]
        for m in range(part.n_users):
            places = np.concatenate([_places(each[m]) for each in wins])
            low = np.quantile(places, (1 - level) / 2, axis=0, method="lower")
            high = np.quantile(places, (1 + level) / 2, axis=0, method="higher")
            _, own, _ = out[first + m]
            out[first + m, 1:] = np.minimum(low, own), np.maximum(high, own)
    return out


def _drawn_wins(
    block: Block, prepared: PreparedModel, rates: Array, n_draws: int, key: np.uint64
) -> Array:
    """(M, S, Q) win probabilities under draws of θ. Spam tells no item from another, so it is left out."""
    K = len(prepared.alpha) - prepared.has_spam
    return without_spam(draw(block, prepared, n_draws, key), prepared.share[:K]) @ rates[:K]


def _win_rates(prepared: PreparedModel, n_items: int) -> Array:
    """(K, Q) the mean over the others of P(i preferred to j) in each component."""
    table = prepared.beta.reshape(n_items, n_items, -1)  # (Q, Q, K)
    # without the item itself
    total = table.sum(axis=1) - table[np.arange(n_items), np.arange(n_items)]
    return total.T / max(n_items - 1, 1)


def _places(wins: Array) -> Array:
    """(rows, Q) places from 1, most wins first; equal ones in the order of the items."""
    order = np.argsort(-np.round(wins, 12), axis=1, kind="stable")
    places = np.empty(wins.shape)
    np.put_along_axis(places, order, np.arange(1.0, wins.shape[1] + 1)[None], axis=1)
    return places


def _ranking(
    model: ComponentModel, wins: Array, low: Array, high: Array, n_top: int | None
) -> list[RankedItem]:
    items = model.items.tolist()
    order = np.argsort(-np.round(wins, 12), kind="stable")[:n_top]
    return [
        RankedItem(items[i], n, float(wins[i]), int(low[i]), int(high[i]))
        for n, i in enumerate(order, 1)
    ]
