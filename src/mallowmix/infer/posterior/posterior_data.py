"""What the posterior is drawn from: the comparisons of some users, by user and by pair."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array


class PosteriorData(NamedTuple):
    """Rows of the sampled users twice: in the order of users, and in the order of pairs.

    Attributes
    ----------
    n_items : int
        Q.
    starts : (M + 1,) array of int64
        Rows of the m-th user are starts[m]:starts[m+1] of `pair` and `power`.
    pair : (rows,) array of int64
        Codes winner · Q + loser.
    power : (rows,) array
        The row's weight times the likelihood weight.
    pair_starts : (Q² + 1,) array of int64
        Rows of the pair c are pair_starts[c]:pair_starts[c+1] of `row_user` and `row_power`.
    row_user : (rows,) array of int64
        The user of each row, in the order of pairs.
    row_power : (rows,) array
        The power of each row, in the order of pairs.
    whole : bool
        Whether all powers are whole numbers.
    """

    n_items: int
    starts: NDArray[np.int64]
    pair: NDArray[np.int64]
    power: Array
    pair_starts: NDArray[np.int64]
    row_user: NDArray[np.int64]
    row_power: Array
    whole: bool

    @property
    def n_users(self) -> int:
        """M, users counted as often as they were sampled."""
        return len(self.starts) - 1


def sampled_users(user_weight: Array, max_users: int, seed: int) -> NDArray[np.int64]:
    """Numbers of users, each as often as the user weight says; at most `max_users` of them.

    A user of weight 3 is three users with the same comparisons. Weights that are not whole, and
    users beyond the bound, are sampled systematically in a random order, by weight.

    Parameters
    ----------
    user_weight : (M,) array
        How often each user counts.
    max_users : int
        The bound.
    seed : int
        Of the sample.

    Returns
    -------
    (n,) array of int
        Ascending.
    """
    total = float(user_weight.sum())
    n = min(max_users, max(1, round(total)))
    random = generator(seed, Step.POSTERIOR_USERS)
    order, first = random.permutation(len(user_weight)), random.random()
    edges = np.cumsum(user_weight[order])
    points = (first + np.arange(n)) * (edges[-1] / n)
    picked = np.searchsorted(edges, np.minimum(points, np.nextafter(edges[-1], 0)), side="right")
    return np.sort(order[picked])


def posterior_data(
    comparisons: Comparisons, users: NDArray[np.int64], likelihood_weight: float
) -> PosteriorData:
    """Arrange the rows of some users.

    Parameters
    ----------
    comparisons : Comparisons
        Of all users.
    users : (n,) array of int
        From `sampled_users`.
    likelihood_weight : float
        What the weight of every row is multiplied with.
    """
    Q, first = comparisons.n_items, comparisons.starts()
    lengths = np.diff(first)[users]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.repeat(first[users] - starts[:-1], lengths) + np.arange(starts[-1])
    pair = comparisons.winner[rows].astype(np.int64) * Q + comparisons.loser[rows]
    power = comparisons.weight[rows] * likelihood_weight
    by_pair = np.argsort(pair, kind="stable")
    pair_starts = np.searchsorted(pair[by_pair], np.arange(Q * Q + 1)).astype(np.int64)
    user = np.repeat(np.arange(len(users), dtype=np.int64), lengths)
    whole = bool(np.all(power == np.floor(power)))
    return PosteriorData(Q, starts, pair, power, pair_starts, user[by_pair], power[by_pair], whole)
