"""The question that tells most about a person: the pair whose answer carries most information on their weights."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from mallowmix.comparisons import Comparisons
from mallowmix.engine import make_blocks
from mallowmix.errors import DataError, check_at_least
from mallowmix.infer.draws import draw
from mallowmix.infer.posterior import lens
from mallowmix.model import M4
from mallowmix.randomness import as_key

Array = NDArray[np.float64]
_PAIRS = 1 << 14  # looked at together


@dataclass(frozen=True)
class Question:
    """Two items to ask about, what the answer tells of θ (in nats, at most log 2), and the chance that the first is preferred."""

    first: object
    second: object
    information: float
    probability: float


def next_pair(
    model: M4,
    comparisons: Comparisons,
    *,
    n_best: int = 1,
    n_draws: int = 200,
    answered: Iterable[tuple[object, object]] = (),
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
) -> list[Question]:
    """What to ask one person next, the most telling first: at most `n_best` questions, none that they have answered.

    comparisons : those of one person (`votes.of("u17")`); of nobody yet: an empty one with that user
    answered : further pairs not to ask, in either order: those skipped as "can't decide", say

    The information is I(answer; θ) = H(E p) − E H(p), with p = Σ_k θ_k β_(i,j),k and θ drawn from the posterior. An empty list
    says that every pair has been answered.
    """
    check_at_least("n_best", n_best, 1)
    check_at_least("n_draws", n_draws, 2)
    if comparisons.n_users != 1:
        raise DataError(f"next_pair asks one person; these are comparisons of {comparisons.n_users}. Take one with .of(user).")
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    view, Q, items = lens(model), model.n_items, model.items.tolist()
    (block,) = make_blocks(comparisons)
    theta = draw(block, view, n_draws, as_key(seed))[0]  # (S, K)
    low, high = np.nonzero(_open(comparisons, answered, model))
    told = np.empty(len(low))
    for rows in (slice(n, n + _PAIRS) for n in range(0, len(low), _PAIRS)):
        told[rows] = information(theta @ view.beta[low[rows] * Q + high[rows]].T)
    best = np.argsort(-np.round(told, 12), kind="stable")[:n_best]
    chance = view.beta[low[best] * Q + high[best]] @ theta.mean(axis=0)
    return [Question(items[low[n]], items[high[n]], float(told[n]), float(p)) for n, p in zip(best, chance, strict=True)]


def information(p: Array) -> Array:
    """(P,) what the answer to each question tells, from (S, P) its probability under draws of θ."""
    return np.maximum(_entropy(p.mean(axis=0)) - _entropy(p).mean(axis=0), 0.0)


def _entropy(p: Array) -> Array:
    return -(xlogy(p, p) + xlogy(1 - p, 1 - p))


def _open(comparisons: Comparisons, answered: Iterable[tuple[object, object]], model: M4) -> NDArray[np.bool_]:
    """(Q, Q) above the diagonal: the pairs that the person has neither answered nor passed over."""
    seen = np.zeros((model.n_items, model.n_items), bool)
    seen[comparisons.winner, comparisons.loser] = True
    for first, second in answered:
        seen[model.item_number(first), model.item_number(second)] = True
    return np.triu(~(seen | seen.T), 1)
