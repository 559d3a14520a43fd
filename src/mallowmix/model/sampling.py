"""The generative process of M4: users' weights, then a pair, a component and a winner each time."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.errors import (
    DataError,
    Option,
    OptionError,
    check_at_least,
    check_choice,
    check_count,
)
from mallowmix.numerics.randomness import Step, as_key, generator, uniform_pairs

_THETA, _TOKENS = int(Step.WEIGHTS), int(Step.COMPARISONS)
_AT_ONCE = 1 << 16  # tokens that are drawn side by side


class Sample(NamedTuple):
    """A drawn population: its comparisons, and the (M, K) weights θ that they were drawn from."""

    comparisons: Comparisons
    theta: NDArray[np.float64]


def draw_population(
    beta: NDArray[np.float64],
    alpha: NDArray[np.float64],
    items: Labels,
    n_users: int,
    per_user: int | ArrayLike,
    *,
    mu: ArrayLike | None = None,
    prior: str | ArrayLike = "dirichlet",
    seed: int = 0,
) -> Sample:
    """Draw θ_m and then N comparisons for each of M users.

    Parameters
    ----------
    beta : (K, Q, Q) array
        beta[k, i, j] is the probability that component k prefers i to j.
    alpha : (K,) array
        Parameters of the prior.
    items : (Q,) labels
        The items.
    n_users, per_user, mu, prior, seed
        As in `ComponentModel.sample`.

    Returns
    -------
    Sample
    """
    check_count("n_users", n_users, 1)
    counts = _counts(per_user, n_users)
    low, high = np.triu_indices(len(items), 1)
    cumulative = np.cumsum(pair_distribution(mu, len(items)))
    theta = draw_weights(alpha, n_users, prior, seed=seed)
    starts = np.r_[0, np.cumsum(counts)]
    winner, loser = _draw_tokens(starts, theta, beta, cumulative, low, high, as_key(seed))
    width = len(str(n_users))
    # zero-padded: numbering and text sort alike
    users = [f"u{m:0{width}d}" for m in range(1, n_users + 1)]
    return Sample(
        Comparisons.from_codes(
            np.repeat(np.arange(n_users), counts), winner, loser, None, items, users
        ),
        theta,
    )


def draw_weights(
    alpha: ArrayLike, n_users: int, prior: str | ArrayLike = "dirichlet", *, seed: int = 0
) -> NDArray[np.float64]:
    """(M, K) weights drawn from the prior (see `draw_population`)."""
    alpha = np.asarray(alpha, np.float64)
    random = generator(seed, _THETA)
    if isinstance(prior, str):
        check_choice("prior", prior, ("dirichlet", "vertices", "logistic-normal"))
        if prior == "dirichlet":
            return _dirichlet(alpha, n_users, random, generator(seed, _THETA, 1))
        if prior == "vertices":
            return np.eye(len(alpha))[random.choice(len(alpha), n_users, p=alpha / alpha.sum())]
        logits = np.log(alpha) + random.standard_normal((n_users, len(alpha)))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)
    theta = np.array(prior, np.float64)
    if (
        theta.shape != (n_users, len(alpha))
        or np.any(theta < 0)
        or not np.allclose(theta.sum(axis=1), 1)
    ):
        raise DataError(
            Option("prior"),
            f" must be {n_users} rows of {len(alpha)} weights that sum to one; "
            f"got shape {theta.shape}.",
        )
    return theta


def _dirichlet(
    alpha: NDArray[np.float64],
    size: int,
    gammas: np.random.Generator,
    uniforms: np.random.Generator,
) -> NDArray[np.float64]:
    """Dirichlet draws in logarithms, Gamma(α) = Gamma(α+1) U^{1/α}: never 0/0 for small α.

    Two streams, so that the first users drawn are the same however many follow.
    """
    shape = (size, len(alpha))
    logs = (
        np.log(gammas.standard_gamma(alpha + 1, shape)) + np.log(1 - uniforms.random(shape)) / alpha
    )
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _counts(per_user: int | ArrayLike, n_users: int) -> NDArray[np.int64]:
    expected = f"one whole number, or one for each of the {n_users} users"
    try:
        counts = np.asarray(per_user)
        counts = counts if counts.dtype.kind in "iu" else counts.astype(np.float64)
    except (TypeError, ValueError):
        raise OptionError(option="per_user", value=per_user, expected=expected) from None
    if counts.shape not in ((), (n_users,)) or not np.all(counts == np.floor(counts)):
        raise OptionError(option="per_user", value=per_user, expected=expected)
    check_at_least("per_user", counts.min(), 0)
    if not counts.any():
        raise OptionError(option="per_user", value=0, expected="above 0 for at least one user")
    return np.broadcast_to(counts.astype(np.int64), n_users)


def pair_distribution(mu: ArrayLike | None, n_items: int) -> NDArray[np.float64]:
    """μ of the unordered pairs, in the order of `np.triu_indices(Q, 1)`; sums to one."""
    if n_items < 2:
        raise DataError("One item alone cannot be compared with anything; give at least two.")
    matrix = np.ones((n_items, n_items)) if mu is None else np.asarray(mu, np.float64)
    if (
        matrix.shape != (n_items, n_items)
        or not np.allclose(matrix, matrix.T)
        or np.any(matrix < 0)
        or not np.isfinite(matrix).all()
    ):
        raise DataError(
            Option("mu"),
            f" must be a symmetric ({n_items}, {n_items}) matrix of finite numbers of at least 0; "
            f"got shape {matrix.shape}.",
        )
    weights = matrix[np.triu_indices(n_items, 1)]
    if not weights.any():
        raise DataError(Option("mu"), " is 0 for every pair; it must be above 0 for some pair.")
    return weights / weights.sum()


def _draw_tokens(
    starts: NDArray[np.int64],
    theta: NDArray[np.float64],
    beta: NDArray[np.float64],
    cumulative: NDArray[np.float64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    key: np.uint64,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The winner and the loser of each token."""
    winner, loser = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    for first in range(0, int(starts[-1]), _AT_ONCE):
        token = np.arange(first, min(first + _AT_ONCE, int(starts[-1])))
        user = np.searchsorted(starts, token, "right") - 1
        number = token - starts[user]
        u, v = uniform_pairs(key, _TOKENS, user, number, 0)
        pair = np.searchsorted(cumulative, u * cumulative[-1], "right").clip(max=len(low) - 1)
        component = _component(theta[user], v)
        chance, _ = uniform_pairs(key, _TOKENS, user, number, 1)
        i, j = low[pair], high[pair]
        won = chance < beta[component, i, j]
        winner[token], loser[token] = np.where(won, i, j), np.where(won, j, i)
    return winner, loser


def _component(theta: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) the first component whose running sum of weights is above v, or the last one."""
    below = np.cumsum(theta[:, :-1], axis=1)
    return np.sum(v[:, None] >= below, axis=1)
