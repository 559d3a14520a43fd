"""The most informative question to a user: the pair whose answer says most about their weights.

The information of every open pair is first computed roughly, in single precision and with a
polynomial for the entropy, to 2 · 10⁻⁴; only those that could still be the best are computed
exactly. The result is that of computing all exactly.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import make_blocks
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.errors import DataError, check_at_least
from mallowmix.infer.gibbs_draws import draw
from mallowmix.infer.prepared_model import prepare
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array

_PAIRS = 1 << 14  # computed together
# the largest error of the rough information: twice 7.6e-5 for the polynomial, the rest for
# single precision
_OFF = 2e-4
# A minimax fit of the entropy on w ∈ [0.02, 1], that is p ∈ [10⁻⁴, 1 − 10⁻⁴], but for its
# constant −0.000556, which cancels.
_C1, _C2, _C3, _C4, _C5, _C6 = np.array(
    [0.04487399, 1.55471812, -2.20704851, 2.47162701, -1.60897666, 0.43858431], np.float32
)


@dataclass(frozen=True)
class Question:
    """A pair of items to compare.

    Attributes
    ----------
    first, second : labels
        The items.
    information : float
        The mutual information of the answer and θ, in nats, at most log 2.
    probability : float
        How probable it is that the first is preferred.
    """

    first: object
    second: object
    information: float
    probability: float


def next_pair(
    model: ComponentModel,
    comparisons: ComparisonsLike,
    *,
    n_best: int = 1,
    n_draws: int = 200,
    answered: Iterable[tuple[object, object]] = (),
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
) -> list[Question]:
    """Choose the most informative questions to one user, best first.

    The information is I(answer; θ) = H(E p) − E H(p), with p = Σ_k θ_k β_(i,j),k and θ drawn from
    the posterior.

    Parameters
    ----------
    model : FittedModel or M4
        The model.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        Those of one user so far (``comparisons.of("u17")``); may be empty, with that user.
    n_best : int
        How many questions at most.
    n_draws : int
        How many draws of θ the information is averaged over.
    answered : iterable of two labels
        Further pairs not to ask, in either order: those that were skipped, for instance.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    seed : int
        The same seed gives the same questions.

    Returns
    -------
    list of Question
        Empty when every pair has been answered.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20, per_user=5)
    >>> one = dishes.comparisons.take_users([0])
    >>> [question.information > 0 for question in mm.next_pair(dishes.model, one, n_best=2)]
    [True, True]
    """
    comparisons = as_comparisons(comparisons)
    check_at_least("n_best", n_best, 1)
    check_at_least("n_draws", n_draws, 2)
    if comparisons.n_users != 1:
        raise DataError(
            f"The next pair is for one user; these are comparisons of {comparisons.n_users}. "
            "Take one with .of(user)."
        )
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    prepared, Q, items = prepare(model), model.n_items, model.items.tolist()
    (block,) = make_blocks(comparisons)
    theta = draw(block, prepared, n_draws, as_key(seed))[0]  # (S, K)
    low, high = np.nonzero(_open(comparisons, answered, model))
    codes = low * Q + high
    best, gains = most_informative(theta, prepared.beta, codes, n_best)
    chance = prepared.beta[codes[best]] @ theta.mean(axis=0)
    return [
        Question(items[low[n]], items[high[n]], float(bits), float(p))
        for n, bits, p in zip(best, gains, chance, strict=True)
    ]


def most_informative(
    theta: Array,
    beta: Array,
    codes: NDArray[np.int64],
    n_best: int = 1,
    narrow: NDArray[np.float32] | None = None,
) -> tuple[NDArray[np.int64], Array]:
    """The most informative of some pairs, best first; equal ones in the given order.

    Parameters
    ----------
    theta : (S, K) array
        Draws of one user's weights.
    beta : (Q², K) array
        Probabilities of ordered pairs, from 10⁻⁴ to 1 − 10⁻⁴ (`infer.prepared_model.prepare`).
    codes : (P,) array of int
        The pairs, as i · Q + j.
    n_best : int
        How many.
    narrow : (Q², K) array of float32, optional
        `beta` in single precision, where the caller keeps it for the next call.

    Returns
    -------
    best, information : two arrays
        Which of `codes`, and the information of each in nats.
    """
    near = np.arange(len(codes))
    if len(codes) > n_best:
        narrow = beta.astype(np.float32) if narrow is None else narrow
        rough = rough_information(theta, narrow, codes)
        near = np.flatnonzero(rough >= np.partition(rough, -n_best)[-n_best] - 2 * _OFF)
    gains = np.empty(len(near))
    for rows in (slice(n, n + _PAIRS) for n in range(0, len(near), _PAIRS)):
        gains[rows] = information(theta @ beta[codes[near[rows]]].T)
    best = np.argsort(-np.round(gains, 12), kind="stable")[:n_best]
    return near[best], gains[best]


def rough_information(theta: Array, narrow: NDArray[np.float32], codes: NDArray[np.int64]) -> Array:
    """(P,) the information of each pair to 2 · 10⁻⁴; `narrow` is β (Q², K) in single precision."""
    return _rough_information(np.ascontiguousarray(theta.T, np.float32), narrow, codes)


def information(p: Array) -> Array:
    """(P,) the information of each pair, from its probabilities (S, P) under draws of θ."""
    return np.maximum(_entropy(p.mean(axis=0)) - _entropy(p).mean(axis=0), 0.0)


def _entropy(p: Array) -> Array:
    return -(xlogy(p, p) + xlogy(1 - p, 1 - p))


@nb.njit(cache=True, nogil=True, fastmath=True)
def _rough_information(theta, beta, codes):
    """(P,) H(E p) − E H(p) for θ (K, S), with a polynomial in w = 2 √(p (1 − p)) for H(p)."""
    K, S = theta.shape
    out, p, one = np.empty(len(codes)), np.empty(S, np.float32), np.float32(1)
    for n in range(len(codes)):
        b = beta[codes[n]]
        p[:] = 0
        for k in range(0, K - 3, 4):  # four components at a time: p is read and written less often
            b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
            for s in range(S):
                p[s] += (
                    b0 * theta[k, s]
                    + b1 * theta[k + 1, s]
                    + b2 * theta[k + 2, s]
                    + b3 * theta[k + 3, s]
                )
        for k in range(K - K % 4, K):
            for s in range(S):
                p[s] += b[k] * theta[k, s]
        mean, entropy = np.float32(0), np.float32(0)
        for s in range(S):
            w = np.float32(2) * np.sqrt(p[s] * (one - p[s]))
            mean += p[s]
            entropy += _C1 * w + w * w * (_C2 + w * (_C3 + w * (_C4 + w * (_C5 + w * _C6))))
        m = mean / np.float32(S)
        w = np.float32(2) * np.sqrt(m * (one - m))
        out[n] = (
            _C1 * w
            + w * w * (_C2 + w * (_C3 + w * (_C4 + w * (_C5 + w * _C6))))
            - entropy / np.float32(S)
        )
    return out


def _open(
    comparisons: Comparisons, answered: Iterable[tuple[object, object]], model: ComponentModel
) -> NDArray[np.bool_]:
    """(Q, Q) above the diagonal: the pairs that the user has neither answered nor skipped."""
    seen = np.zeros((model.n_items, model.n_items), bool)
    seen[comparisons.winner, comparisons.loser] = True
    for first, second in answered:
        seen[model.item_number(first), model.item_number(second)] = True
    return np.triu(~(seen | seen.T), 1)
