"""Draws of a user's state, and what answers to pairs are under them.

A state is what a model holds of a user: weights over components, utilities, or a ranking. Each
draw s gives a pair the probability p_s that its first item is preferred. `moments` gives the mean
of p_s and of its entropy H(p_s) over the draws; `rough_moments` is faster and off by at most
`ROUGH_ERROR`.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mallowmix.learn.utilities.laplace_arrays import logistic_of
from mallowmix.numerics.compiled import compiled
from mallowmix.typing import Array

Codes: TypeAlias = NDArray[np.int64]  # pairs, as i · Q + j
Moments: TypeAlias = tuple[Array, Array]  # (P,) mean p, and (P,) mean H(p)

# the largest error of a rough entropy, and so of two of them twice this: 7.6e-5 for the
# polynomial, the rest for single precision
ROUGH_ERROR = 1e-4
_PAIRS = 1 << 14  # computed together
_WIDEST = 300.0  # of a utility from the mean of all: its exponential stays finite
# A minimax fit of the entropy on w ∈ [0.02, 1], that is p ∈ [10⁻⁴, 1 − 10⁻⁴].
_C0, _C1, _C2, _C3, _C4, _C5, _C6 = np.array(
    [-0.000556, 0.04487399, 1.55471812, -2.20704851, 2.47162701, -1.60897666, 0.43858431],
    np.float32,
)


def entropy(p: Array) -> Array:
    """H(p) in nats."""
    from scipy.special import xlogy  # here, as SciPy is slow to import

    return -(xlogy(p, p) + xlogy(1 - p, 1 - p))


def win_rates(table: Array) -> Array:
    """(…, Q) the mean over the others of P(i preferred to j), from tables (…, Q, Q)."""
    Q = table.shape[-1]
    own = np.einsum("...ii->...i", table)
    return (table.sum(axis=-1) - own) / max(Q - 1, 1)


class WeightDraws(NamedTuple):
    """Draws of weights over components: p = Σ_k θ_k β_k.

    Attributes
    ----------
    theta : (S, K) array
        The drawn weights.
    beta : (Q², K) array
        Probabilities of ordered pairs, from 10⁻⁴ to 1 − 10⁻⁴ (`infer.prepared_model.prepare`).
    narrow : (Q², K) array of float32
        `beta` in single precision.
    """

    theta: Array
    beta: Array
    narrow: NDArray[np.float32]

    def thinned(self, step: int) -> "WeightDraws":
        """One draw in `step`."""
        return self._replace(theta=self.theta[::step])

    def moments(self, codes: Codes) -> Moments:
        """(P,) the means of p and of H(p)."""
        mean, rest = np.empty(len(codes)), np.empty(len(codes))
        for rows in (slice(n, n + _PAIRS) for n in range(0, len(codes), _PAIRS)):
            p = self.theta @ self.beta[codes[rows]].T
            mean[rows], rest[rows] = p.mean(axis=0), entropy(p).mean(axis=0)
        return mean, rest

    def rough_moments(self, codes: Codes) -> Moments:
        """The same in single precision, with a polynomial for H."""
        return _weight_moments(np.ascontiguousarray(self.theta.T, np.float32), self.narrow, codes)

    def win_rates(self) -> Array:
        """(S, Q) the mean over the others of P(i preferred to j), in each draw."""
        Q = int(np.sqrt(len(self.beta)))
        tables = np.moveaxis(self.beta.reshape(Q, Q, -1), 2, 0)
        return self.theta @ win_rates(tables)


class UtilityDraws(NamedTuple):
    """Draws of utilities: p = 1 / (1 + exp(u_j − u_i)).

    Attributes
    ----------
    utilities : (S, Q) array
        The drawn utilities.
    """

    utilities: Array

    def thinned(self, step: int) -> "UtilityDraws":
        """One draw in `step`."""
        return UtilityDraws(self.utilities[::step])

    def moments(self, codes: Codes) -> Moments:
        """(P,) the means of p and of H(p)."""
        centred = self.utilities - self.utilities.mean(axis=1, keepdims=True)
        u = np.ascontiguousarray(np.clip(centred, -_WIDEST, _WIDEST).T)
        return _utility_moments(u, np.exp(u), codes)

    rough_moments = moments

    def win_rates(self) -> Array:
        """(S, Q) the mean over the others of P(i preferred to j), in each draw."""
        return np.array([win_rates(logistic_of(u[:, None] - u)) for u in self.utilities])


class RankingDraws(NamedTuple):
    """Draws of rankings: p = 1 − ε where the first item is above the second, else ε.

    Attributes
    ----------
    position : (S, Q) array of int
        The drawn positions, 0 is best.
    error_rate : float
        ε.
    """

    position: NDArray[np.int64]
    error_rate: float

    def thinned(self, step: int) -> "RankingDraws":
        """One draw in `step`."""
        return self._replace(position=self.position[::step])

    def moments(self, codes: Codes) -> Moments:
        """(P,) the means of p and of H(p), which is the same in all draws."""
        above = _above(np.ascontiguousarray(self.position.T), codes)
        e = self.error_rate
        return e + (1 - 2 * e) * above, np.full(len(codes), entropy(np.array(e)))

    rough_moments = moments

    def win_rates(self) -> Array:
        """(S, Q) the mean over the others of P(i preferred to j), in each draw."""
        e, Q = self.error_rate, self.position.shape[1]
        return e + (1 - 2 * e) * (Q - 1 - self.position) / max(Q - 1, 1)


StateDraws: TypeAlias = WeightDraws | UtilityDraws | RankingDraws


@compiled(fastmath=True)
def rough_entropy(p):
    """H(p) of single numbers to 10⁻⁴, by a polynomial in w = 2 √(p (1 − p))."""
    w = np.float32(2) * np.sqrt(p * (np.float32(1) - p))
    return _C0 + _C1 * w + w * w * (_C2 + w * (_C3 + w * (_C4 + w * (_C5 + w * _C6))))


@compiled(fastmath=True)
def rough_entropies(p):
    """(P,) `rough_entropy` of each number."""
    out = np.empty(len(p))
    for n in range(len(p)):
        out[n] = rough_entropy(np.float32(p[n]))
    return out


@compiled(fastmath=True)
def _weight_moments(theta, beta, codes):
    """The means of p and of the rough H(p), for θ (K, S)."""
    K, S = theta.shape
    means, rest, p = np.empty(len(codes)), np.empty(len(codes)), np.empty(S, np.float32)
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
        mean, total = np.float32(0), np.float32(0)
        for s in range(S):
            mean += p[s]
            total += rough_entropy(p[s])
        means[n], rest[n] = mean / np.float32(S), total / np.float32(S)
    return means, rest


@compiled(fastmath=True)
def _utility_moments(u, powers, codes):
    """The means of p and of H(p) = log(eᵘⁱ + eᵘʲ) − p u_i − (1 − p) u_j, for u (Q, S)."""
    Q, S = u.shape
    means, rest = np.empty(len(codes)), np.empty(len(codes))
    for n in range(len(codes)):
        i, j = codes[n] // Q, codes[n] % Q
        mean, total = 0.0, 0.0
        for s in range(S):
            both = powers[i, s] + powers[j, s]
            p = powers[i, s] / both
            mean += p
            total += np.log(both) - u[j, s] - p * (u[i, s] - u[j, s])
        means[n], rest[n] = mean / S, total / S
    return means, rest


@compiled
def _above(position, codes):
    """(P,) the share of draws in which the pair's first item is above the second; (Q, S) given."""
    Q, S = position.shape
    out = np.empty(len(codes))
    for n in range(len(codes)):
        i, j = codes[n] // Q, codes[n] % Q
        count = 0
        for s in range(S):
            count += position[i, s] < position[j, s]
        out[n] = count / S
    return out
