"""Collapsed variational inference of a few users' weights by NumPy, all users in one step.

The same iteration as `infer.collapsed_variational`, where a kernel takes users one by one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.typing import Array


class _Users(NamedTuple):
    """Rows of users, each filled up to the longest with rows of weight 0.

    Attributes
    ----------
    beta : (K, M, n) array
        β of the rows.
    weight : (M, n) array
        What a row counts for, times the likelihood weight.
    own : (M, n) array
        What one token of the row counts for, which it leaves out of its own.
    """

    beta: Array
    weight: Array
    own: Array

    def of(self, users: NDArray[np.intp]) -> "_Users":
        """Some of the users."""
        return _Users(self.beta[:, users], self.weight[users], self.own[users])


def collapsed_counts(
    block: Block,
    weight: Array,
    beta: Array,
    alpha: Array,
    likelihood_weight: float,
    max_iter: int,
    tol: float,
    most: float,
) -> tuple[Array, int]:
    """Compute α + e Σ_n weight_n r_n of all users of a block.

    Parameters
    ----------
    block : Block
        The users.
    weight : (rows,) array
        How much of each row is given.
    beta, alpha, likelihood_weight
        As in `PreparedModel`.
    max_iter, tol, most
        Of the iteration, as in `collapsed_variational`.

    Returns
    -------
    counts, n_moving : (M, K) array, int
        And how many users did not converge.
    """
    users = _padded(block, weight, beta, likelihood_weight)
    counts = np.tile(alpha[:, None], block.n_users)  # (K, M), as all arrays of users here
    left_out = np.zeros_like(users.beta)  # of each row: r
    counts, left_out, _ = _step(users, alpha, counts, left_out)
    answer, moving = counts.copy(), np.flatnonzero((users.weight > 0).any(axis=1))
    users, counts, left_out = users.of(moving), counts[:, moving], left_out[:, moving]
    furthest, last = np.full(len(moving), most), np.full(len(moving), np.inf)
    for left in range(max_iter, 0, -2):
        once, left_out, change = _step(users, alpha, counts, left_out)
        furthest = np.where(change < last, furthest, np.maximum(0.5 * furthest, 1.0))
        last = change
        answer[:, moving] = once
        going = np.flatnonzero(change > tol)
        moving, furthest, last = moving[going], furthest[going], last[going]
        users, counts, once = users.of(going), counts[:, going], once[:, going]
        left_out = left_out[:, going]
        if left == 1 or not len(moving):
            break
        twice, left_out, change = _step(users, alpha, once, left_out)
        going = change > tol
        far = np.where(going & (left > 2), furthest, 1.0)
        answer[:, moving] = counts = _extrapolated(counts, once, twice, alpha, far)
        moving, furthest, last = moving[going], furthest[going], last[going]
        users, counts = users.of(np.flatnonzero(going)), counts[:, going]
        left_out = left_out[:, going]
    return np.ascontiguousarray(answer.T), len(moving)


def _padded(block: Block, weight: Array, beta: Array, likelihood_weight: float) -> _Users:
    user, n = block.users_of_rows(), np.diff(block.starts)
    at = np.arange(len(user)) - np.repeat(block.starts[:-1] - block.starts[0], n)
    shape = block.n_users, int(n.max(initial=0))
    rows, tokens = np.ones((beta.shape[1], *shape)), np.zeros(shape)
    rows[:, user, at], tokens[user, at] = beta[block.pair].T, weight
    return _Users(rows, likelihood_weight * tokens, likelihood_weight * np.minimum(tokens, 1.0))


def _step(users: _Users, alpha: Array, old: Array, r: Array) -> tuple[Array, Array, Array]:
    """New counts and r from the old ones, and the largest relative change of each user."""
    r = users.beta * np.maximum(old[:, :, None] - users.own * r, 0.0)
    r /= r.sum(axis=0)
    new = alpha[:, None] + (users.weight * r).sum(axis=2)
    return new, r, np.abs(new - old).max(axis=0) / new.sum(axis=0)


def _extrapolated(start: Array, once: Array, twice: Array, alpha: Array, most: Array) -> Array:
    """SQUAREM of all users, as in `collapsed_variational.extrapolate`."""
    first = once - start
    second = twice - once - first
    rr, vv = (first * first).sum(axis=0), (second * second).sum(axis=0)
    a = np.minimum(np.maximum(np.sqrt(rr / np.maximum(vv, 1e-300)), 1.0), most)
    far = start + 2 * a * first + a * a * second
    return np.maximum(far, alpha[:, None] + 0.1 * (twice - alpha[:, None]))
