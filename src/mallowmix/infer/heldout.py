"""Held-out likelihood: how well a model foretells part of a person's comparisons when told the rest."""

from dataclasses import dataclass
from typing import Any, Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.comparisons import Comparisons
from mallowmix.engine import Block, LocalEngine, make_blocks
from mallowmix.errors import DataError, OptionError, check_at_least, check_choice
from mallowmix.model import M4
from mallowmix.randomness import as_key, philox, uniforms

FLOOR = 1e-4  # least β: at φ = 0 a comparison against every reference ranking would have probability 0
_STEP, _GIBBS = 60, 61
Array = NDArray[np.float64]
Split = Literal["comparisons", "items"]


@dataclass(frozen=True)
class Heldout:
    """Log-likelihood per held-out comparison (a coin has −log 2), its standard error, and how much it rests on.

    The standard error is clustered: a person's comparisons stand or fall together. n_users counts people with something held out.
    """

    log_likelihood_per_comparison: float
    standard_error: float
    n_comparisons: float
    n_users: int


def completion(
    model: M4,
    comparisons: Comparisons,
    *,
    given: float = 0.5,
    seed: int = 0,
    split: Split = "comparisons",
    sweeps: int = 200,
    jobs: int | None = None,
) -> Heldout:
    """Foretell part of each person's comparisons from the rest of them.

    given : the part that the model is told, between 0 and 1
    split : "comparisons" deals a person's comparisons out at random, one by one; "items" deals out the items, tells the
        comparisons among the given ones and asks for those among the others, so that nothing asked about was told of
    sweeps : Gibbs sweeps that average θ, after half as many that do not count; the noise that they leave lowers the answer, by
        .0005 on MovieLens (100 films, 10 components) with 200 of them, by .003 with 60

    Each comparison has the probability Σ_k β_(w),k E[θ_k | given], with β kept in [10⁻⁴, 1 − 10⁻⁴]. The expectation is by Gibbs
    sampling: the variational one of `weights` is good enough for a person, but costs .01 to .02 nats here where little is told.
    What is told depends on the seed and the person's number alone. `user_weight` plays no part.
    """
    check_choice("split", split, ("comparisons", "items"))
    check_at_least("sweeps", sweeps, 1)
    if not 0 <= given < 1:
        raise OptionError(f"given is {given}; it must be at least 0 and below 1, so that something is left to foretell.")
    comparisons = comparisons.with_items(model.items)
    beta = np.clip(model.beta(), FLOOR, 1 - FLOOR).reshape(model.n_components, -1).T  # (Q², K)
    broadcast = (np.ascontiguousarray(beta), model.alpha, float(given), split, sweeps, as_key(seed))
    _, people = LocalEngine(jobs).reduce(_score, make_blocks(comparisons), broadcast)
    scores = np.concatenate([np.empty((0, 2)), *people])
    return _summary(scores[scores[:, 1] > 0], given)


def _summary(scores: Array, given: float) -> Heldout:
    """The mean over comparisons, a ratio of sums over people: s.e.² = M/(M−1) Σ_m (s_m − r n_m)² / (Σ n_m)²."""
    if not len(scores):
        raise DataError(f"Nothing is held out: nobody has enough comparisons to be told {given:g} of them. Lower given.")
    s, n, M = scores[:, 0], scores[:, 1], len(scores)
    mean = float(s.sum() / n.sum())
    spread = np.sqrt(np.sum((s - mean * n) ** 2) * M / (M - 1)) / n.sum() if M > 1 else np.nan
    return Heldout(mean, float(spread), float(n.sum()), M)


def _score(block: Block, broadcast: tuple[Array, Array, float, Split, int, np.uint64], _: Any) -> tuple[None, Array]:
    """(users, 2) each person's summed log-likelihood of what is held out, and how much that is."""
    beta, alpha, given, split, sweeps, key = broadcast
    told, asked = split_block(block, given, split, key)
    theta = _posterior_means(block.starts, block.pair, told, beta, alpha, sweeps, block.first_user, key)
    return None, _log_likelihoods(block.starts, block.pair, asked, beta, theta)


def split_block(block: Block, given: float, split: Split, key: np.uint64) -> tuple[Array, Array]:
    """How much of each row's weight is told, and how much is asked."""
    if split == "comparisons":
        told = _deal_comparisons(block.starts, block.weight, given, block.first_user, key)
        return told, block.weight - told
    side = _deal_items(block.starts, block.pair, block.n_items, given, block.first_user, key)
    return block.weight * (side == 1), block.weight * (side == 0)


@nb.njit(cache=True, nogil=True)
def _wanted(n, given, key, user):
    """So many as n · given, rounded up or down at random so that it is right on average."""
    coin, _ = uniforms(key, _STEP, user, 0, 1)
    return int(np.floor(n * given + coin))


@nb.njit(cache=True, nogil=True)
def _deal_comparisons(starts, weight, given, first_user, key):
    """Selection sampling: each unit of weight is taken with probability (still wanted) / (still to come)."""
    told = np.zeros(len(weight))
    for m in range(len(starts) - 1):
        left = 0
        for row in range(starts[m], starts[m + 1]):
            left += int(np.ceil(weight[row]))
        wanted, token = _wanted(left, given, key, first_user + m), 0
        for row in range(starts[m], starts[m + 1]):
            rest = weight[row]
            while rest > 0:
                u, _ = uniforms(key, _STEP, first_user + m, token, 0)
                piece = min(1.0, rest)
                if u * left < wanted:
                    told[row] += piece
                    wanted -= 1
                rest -= piece
                left -= 1
                token += 1
    return told


@nb.njit(cache=True, nogil=True)
def _deal_items(starts, pair, n_items, given, first_user, key):
    """Of each row: 1 if both items are given, 0 if neither is, −1 if one is. A person's items are dealt in their order."""
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
                u, _ = uniforms(key, _STEP, first_user + m, item, 2)
                is_given[item] = u * left < wanted
                wanted -= is_given[item]
                left -= 1
        for row in range(starts[m], starts[m + 1]):
            i, j = is_given[pair[row] // n_items], is_given[pair[row] % n_items]
            if i == j:
                side[row] = i
    return side


@nb.njit(cache=True, nogil=True, inline="always")
def _next(state):
    """splitmix64: a new state and a uniform on [0, 1)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    x = state
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return state, (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True, nogil=True)
def _posterior_means(starts, pair, told, beta, alpha, sweeps, first_user, key):
    """E[θ | told] by collapsed Gibbs, p(z = k | rest) ∝ β_(w),k (α_k + n_k), averaging each draw's p and not the draw itself.

    E θ_k = (α_k + E n_k) / (α₀ + n); a row of weight w is w tokens with one component, pieces of at most 1 each.
    """
    K, M = len(alpha), len(starts) - 1
    theta = np.empty((M, K))
    n, p, total_p = np.empty(K), np.empty(K), np.empty(K)
    for m in range(M):
        x0, x1, _, _ = philox(0, first_user + m, _GIBBS, 0, key)
        state = (x0 << np.uint64(32)) | x1
        first, last = starts[m], starts[m + 1]
        weight, rows = _units(told, first, last)
        z = np.zeros(len(rows), np.int64)
        n[:], total_p[:] = alpha, 0.0
        for sweep in range(-1 - sweeps // 2, sweeps):  # the first sweep adds tokens one by one
            for t in range(len(rows)):
                w, code, total = weight[t], pair[rows[t]], 0.0
                if sweep > -1 - sweeps // 2:
                    n[z[t]] -= w
                for k in range(K):
                    p[k] = beta[code, k] * n[k]
                    total += p[k]
                if sweep >= 0:
                    for k in range(K):
                        total_p[k] += w * p[k] / total
                state, u = _next(state)
                u *= total
                k = 0
                while k < K - 1 and u >= p[k]:
                    u -= p[k]
                    k += 1
                z[t] = k
                n[k] += w
        theta[m] = (alpha + total_p / sweeps) / (alpha.sum() + weight.sum())
    return theta


@nb.njit(cache=True, nogil=True)
def _units(told, first, last):
    """What is told of a person as tokens of weight 1 at most: the weight and the row of each."""
    count = 0
    for row in range(first, last):
        count += int(np.ceil(told[row]))
    weight, rows, t = np.empty(count), np.empty(count, np.int64), 0
    for row in range(first, last):
        rest = told[row]
        while rest > 0:
            weight[t], rows[t] = min(1.0, rest), row
            rest -= weight[t]
            t += 1
    return weight, rows


@nb.njit(cache=True, nogil=True)
def _log_likelihoods(starts, pair, asked, beta, theta):
    out = np.zeros((len(starts) - 1, 2))
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            if asked[row] > 0:
                p = 0.0
                for k in range(theta.shape[1]):
                    p += theta[m, k] * beta[pair[row], k]
                out[m, 0] += asked[row] * np.log(p)  # Σ w log Σ_k θ_k β_(w),k
                out[m, 1] += asked[row]
    return out
