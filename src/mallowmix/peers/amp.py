"""AMP: rankings drawn from a Mallows model among those that agree with a user's comparisons.

Lu and Boutilier (2011). Items are inserted in the order of the reference, as in repeated insertion
(RIM). What the comparisons imply about the items already inserted leaves positions l … h for the
next one, and among these position j of t has probability ∝ φ^(t − j); there is always one left. The
draw is not exact, but its weight is known, w = Π_t Σ_{j = l … h} φ^(t − j) / (1 + φ + … + φ^t), and
the mean of w is the probability that a ranking agrees with the comparisons at all. For preferences
between ordered groups (top-k lists, say) all weights are equal, and the draw is exact.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.errors import DataError
from mallowmix.model.permutations import as_permutations
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, philox, splitmix
from mallowmix.typing import Array

STEP = int(Step.AMP)


def closure(pairs: ArrayLike, n_items: int) -> NDArray[np.bool_]:
    """The transitive closure of comparisons.

    Parameters
    ----------
    pairs : array_like of int, shape (n, 2)
        (winner, loser).
    n_items : int

    Returns
    -------
    ndarray of bool, shape (Q, Q)
        ``above[i, j]`` where i must be above j.

    Raises
    ------
    DataError
        Where the comparisons contradict each other.
    """
    above = np.zeros((n_items, n_items), np.bool_)
    for i, j in np.asarray(pairs, np.int64).reshape(-1, 2):
        above[i, j] = True
    close(above, np.arange(n_items))
    if above.diagonal().any():
        i = int(np.argmax(above.diagonal()))
        raise DataError(
            f"The comparisons contradict themselves: item number {i} is, by way of others, "
            "above itself."
        )
    return above


def draw_consistent(
    order: ArrayLike, phi: float, above: NDArray[np.bool_], size: int, *, seed: int = 0
) -> tuple[NDArray[np.int32], Array]:
    """Draw rankings that agree with given comparisons.

    Parameters
    ----------
    order : array_like of int, shape (Q,)
        The reference, best item first.
    phi : float
    above : ndarray of bool, shape (Q, Q)
        A transitive closure (`closure`).
    size : int
    seed : int

    Returns
    -------
    orders : ndarray of int, shape (size, Q)
        Best item first.
    log_weight : ndarray, shape (size,)
        Logs of the importance weights.
    """
    reference = as_permutations(order, "order")
    orders, log_weight = np.empty((size, len(reference)), np.int32), np.empty(size)
    _draw_many(reference, tables(len(reference), phi), above, as_key(seed), orders, log_weight)
    return orders, log_weight


def tables(n_items: int, phi: float) -> Array:
    """(Q + 1,) S_0 … S_Q with S_g = 1 + φ + … + φ^(g−1), from which draws follow."""
    return np.r_[0.0, np.cumsum(max(phi, 1e-9) ** np.arange(n_items))]


@compiled
def close(above, among):
    """The transitive closure, in place, of a relation between the items of `among` (Warshall)."""
    for b in among:
        for a in among:
            if above[a, b]:
                for c in among:
                    if above[b, c]:
                        above[a, c] = True


@compiled
def insert(reference, S, above, state, order):
    """One draw into `order`; the new state of the stream and the log weight. S as from `tables`."""
    phi, log_weight = S[2] - S[1] if len(S) > 2 else 0.0, 0.0
    for t in range(len(reference)):
        item, low, high = reference[t], 0, t
        for r in range(t):
            if above[order[r], item]:
                low = r + 1
            elif above[item, order[r]]:
                high = r
                break
        state, u = splitmix(state)
        steps = high - low + 1  # positions high, high − 1, …, low: ∝ 1, φ, φ², …
        log_weight += (t - high) * np.log(phi) + np.log(S[steps] / S[t + 1]) if t > 0 else 0.0
        target, back = u * S[steps], 0
        while back < steps - 1 and S[back + 1] <= target:
            back += 1
        position = high - back
        for r in range(t, position, -1):
            order[r] = order[r - 1]
        order[position] = item
    return state, log_weight


@compiled
def _draw_many(reference, S, above, key, orders, log_weight):
    for s in range(len(orders)):
        x0, x1, _, _ = philox(0, s, STEP, 0, key)
        _, log_weight[s] = insert(reference, S, above, (x0 << np.uint64(32)) | x1, orders[s])


@compiled
def take_in(first, last, pair, above, among):
    """Write a user's comparisons and what they imply into `above`, their items into `among`.

    Returns how many items there are.
    """
    Q, n = above.shape[0], 0
    for row in range(first, last):
        i, j = pair[row] // Q, pair[row] % Q
        above[i, j] = True
        for item in (i, j):
            known = False
            for a in range(n):
                known = known or among[a] == item
            if not known:
                among[n] = item
                n += 1
    close(above, among[:n])
    return n


@compiled
def clear(above, among):
    """Reset what a user's comparisons wrote."""
    for i in among:
        for j in among:
            above[i, j] = False


@compiled
def find_cycles(starts, pair, Q):
    """(M,) whose comparisons contain a cycle."""
    above, among, cyclic = (
        np.zeros((Q, Q), np.bool_),
        np.empty(Q, np.int64),
        np.zeros(len(starts) - 1, np.bool_),
    )
    for m in range(len(starts) - 1):
        n = take_in(starts[m], starts[m + 1], pair, above, among)
        for i in among[:n]:
            cyclic[m] |= above[i, i]
        clear(above, among[:n])
    return cyclic


@compiled
def weighted_draws(order, S, log_share, above, user, step, draw, key, orders, log_w, log_p):
    """Draws for one user and all components.

    Writes log (a_k w_s / S) of each draw and log a_k p(comparisons | k); returns log p of all.
    """
    K, n_draws = log_w.shape
    for k in range(K):
        for s in range(n_draws):
            x0, x1, _, _ = philox(k * n_draws + s, user, step, draw, key)
            _, log_w[k, s] = insert(order[k], S[k], above, (x0 << np.uint64(32)) | x1, orders[k, s])
            log_w[k, s] += log_share[k] - np.log(n_draws)
        log_p[k] = _log_sum(log_w[k])
    return _log_sum(log_p)


@compiled
def _log_sum(x):
    """Log Σ exp x."""
    top, total = x[0], 0.0
    for i in range(1, len(x)):
        top = max(top, x[i])
    for i in range(len(x)):
        total += np.exp(x[i] - top)
    return top + np.log(total)
