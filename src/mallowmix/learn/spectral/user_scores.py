"""Each user's score: the derivative of their marginal log-likelihood in logit φ_k and log α_k.

By Fisher's identity it is the posterior mean, over which component each comparison followed, of the
derivative of the complete log-likelihood. Gibbs sampling gives that mean twice, from two stretches
of one chain, so that products of the two are free of its noise: Σ_m s_m s_mᵀ is the information
about (φ, α) that the data holds when the weights of users are unknown.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mallowmix.data.comparison_arrays import sums_between
from mallowmix.engine import Block, Engine, map_step
from mallowmix.model import least_beta
from mallowmix.model.fitted_model import AnyModel
from mallowmix.model.mallows import beta_matrix
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.randomness import Step, as_key, child_seed, splitmix
from mallowmix.numerics.special import digamma
from mallowmix.numerics.token_gibbs import component_at, user_stream
from mallowmix.typing import Array, Positions

_STEP, _BURN = int(Step.USER_SCORES), 30
_H = 1e-3  # step of the numerical derivative in logit φ
_LEAST, _MOST = 1e-4, 1 - 1e-4  # of φ
_FARTHEST = 0.5  # of a step in logit φ or log α
_NOISE = 0.1  # the information is at least this part of what both stretches together show


class Smooth(NamedTuple):
    """The smooth parameters of a model, with their scores and information.

    Attributes
    ----------
    eta : ndarray, shape (2K,)
        (logit φ, log α).
    scores : ndarray, shape (M, 2K)
        Of each user, there.
    information : ndarray, shape (2K, 2K)
    """

    eta: Array
    scores: Array
    information: Array

    @property
    def phi(self) -> Array:
        """(K,) dispersions."""
        return _logistic(self.eta[: len(self.eta) // 2])

    @property
    def alpha(self) -> Array:
        """(K,) parameters of the prior."""
        return np.exp(self.eta[len(self.eta) // 2 :])


def maximise_likelihood(
    model: AnyModel,
    blocks: list[Block],
    engine: Engine,
    *,
    steps: int = 3,
    sweeps: int = 80,
    seed: int = 0,
) -> Smooth:
    """Newton steps in φ and α to the maximum of the marginal likelihood, rankings held fixed.

    The model is nearly there; where weights are uncertain, Monte-Carlo EM stops a little short of
    it.

    Parameters
    ----------
    model : AnyModel
    blocks : list of Block
    engine : Engine
    steps : int
        Newton steps.
    sweeps : int
        Gibbs sweeps that a score is averaged over.
    seed : int

    Returns
    -------
    Smooth
    """
    people = np.concatenate([block.user_weight for block in blocks])
    found = smooth_at(model.sigma, model.phi, model.alpha, blocks, engine, sweeps=sweeps, seed=seed)
    for n in range(steps):
        near = found._replace(eta=newton_step(found, people @ found.scores))
        found = smooth_at(
            model.sigma,
            near.phi,
            near.alpha,
            blocks,
            engine,
            sweeps=sweeps,
            seed=child_seed(seed, Step.SCORE_PASS, n),
        )
    return found


def newton_step(smooth: Smooth, slope: Array) -> Array:
    """(2K,) η + I⁻¹ Σ_m w_m s_m, no coordinate farther than half a unit.

    Parameters
    ----------
    smooth : Smooth
        η and the information there.
    slope : ndarray, shape (2K,)
        Σ_m w_m s_m.
    """
    return smooth.eta + np.clip(one_step(smooth, slope[None])[0], -_FARTHEST, _FARTHEST)


def one_step(smooth: Smooth, total: Array) -> Array:
    """(R, 2K) steps from η̂ of reweighted users, I⁻¹ Σ_m w_m (u_m − 1) s_m, from (R, 2K) sums."""
    return np.asarray(np.linalg.solve(smooth.information, total.T).T, np.float64)


def phi_and_share(eta: Array) -> tuple[Array, Array]:
    """(R, K) dispersions and shares of many η (R, 2K)."""
    K = eta.shape[1] // 2
    alpha = np.exp(eta[:, K:] - eta[:, K:].max(axis=1, keepdims=True))
    return expit(eta[:, :K]), alpha / alpha.sum(axis=1, keepdims=True)


def smooth_at(
    sigma: Positions,
    phi: Array,
    alpha: Array,
    blocks: list[Block],
    engine: Engine,
    *,
    sweeps: int,
    seed: int,
) -> Smooth:
    """Scores and information at given parameters.

    Parameters
    ----------
    sigma : ndarray of int, shape (K, Q)
    phi, alpha : ndarray, shape (K,)
    blocks : list of Block
    engine : Engine
    sweeps, seed : int

    Returns
    -------
    Smooth
    """
    phi = np.clip(phi, _LEAST, _MOST)
    eta = np.r_[np.log(phi / (1 - phi)), np.log(alpha)]
    parts = engine.map(_score, blocks, score_inputs(sigma, eta, alpha, sweeps=sweeps, seed=seed))
    halves = np.concatenate(parts)  # (M, 2, 2K)
    people = np.concatenate([block.user_weight for block in blocks])
    return Smooth(eta, halves.mean(axis=1), _information(halves, people))


def score_inputs(
    sigma: Positions, eta: Array, alpha: Array, *, sweeps: int, seed: int
) -> tuple[Any, ...]:
    """What `block_scores` needs: tables of β and its derivative, α, sweeps, and the key."""
    return (
        *_tables(sigma, eta[: len(alpha)]),
        np.asarray(alpha, np.float64),
        max(sweeps // 2, 1),
        as_key(seed),
    )


def _logistic(x: Array) -> Array:
    return np.clip(1 / (1 + np.exp(-x)), _LEAST, _MOST)


def _tables(sigma: Positions, logit: Array) -> tuple[Array, Array]:
    """(Q², K) β and d log β / d logit φ."""
    beta, slope = [], []
    for row, x in zip(sigma, logit, strict=True):
        low, middle, high = (
            np.clip(
                beta_matrix(row, float(_logistic(x + h))),
                least_beta.INFERENCE,
                1 - least_beta.INFERENCE,
            )
            for h in (-_H, 0, _H)
        )
        beta.append(middle.ravel())
        slope.append((np.log(high) - np.log(low)).ravel() / (2 * _H))
    return np.ascontiguousarray(np.array(beta).T), np.ascontiguousarray(np.array(slope).T)


def _information(halves: Array, people: Array) -> Array:
    """Σ u (a bᵀ + b aᵀ) / 2, from both stretches."""
    a, b = halves[:, 0], halves[:, 1]
    mean = (a + b) / 2
    return information_of((a * people[:, None]).T @ b, (mean * people[:, None]).T @ mean)


def information_of(cross: Array, shown: Array) -> Array:
    """The symmetric part of Σ u a bᵀ, bounded so that it can be inverted.

    It is kept between a tenth and all of `shown`, what the means of both stretches show.
    """
    shown = shown + 1e-9 * np.eye(len(shown))
    values, vectors = np.linalg.eigh(shown)
    values = np.maximum(values, 1e-8 * values.max())
    root, inverse = vectors * np.sqrt(values), vectors / np.sqrt(values)  # shown = root rootᵀ
    part, turn = np.linalg.eigh(inverse.T @ (cross + cross.T) / 2 @ inverse)
    side = root @ turn
    return (side * np.clip(part, _NOISE, 1.0)) @ side.T


@map_step("scores of users")
def _score(block: Block, broadcast: Any) -> Array:
    return block_scores(block, broadcast)


def block_scores(block: Block, broadcast: Any) -> Array:
    """(M, 2, 2K) the scores of a block, from each stretch."""
    beta, slope, alpha, sweeps, key = broadcast
    rows = (block.starts, block.pair, block.weight)
    return _scores_of_rows(*rows, beta, slope, alpha, sweeps, block.first_user, key)


def _scores_of_rows(
    starts: NDArray[np.int64],
    pair: NDArray[np.int32],
    weight: Array,
    beta: Array,
    slope: Array,
    alpha: Array,
    sweeps: int,
    first_user: int,
    key: np.uint64,
) -> Array:
    """(M, 2, 2K) means over each stretch of `sweeps` sweeps; α₀ is Σ α_k.

    d/d logit φ_k = Σ w p(z = k) d log β_(w),k / d logit φ_k,
    d/d log α_k = α_k (ψ(α₀) − ψ(α₀ + n) + ψ(n_k) − ψ(α_k)).
    """
    K = len(alpha)
    at_alpha = np.array([digamma.interpreted(float(x)) for x in (*alpha, alpha.sum())])
    most = int(sums_between(starts, np.ceil(weight)).max(initial=0))
    room = np.empty(most, np.int64), np.empty(K), np.empty(K)
    out, rows = np.zeros((len(starts) - 1, 2, 2 * K)), (starts, pair, weight)
    inputs = (beta, slope, unwritable(alpha), at_alpha, sweeps, first_user, key)
    _add_scores(*rows, *inputs, *room, out)
    out[:, :, K:] *= alpha
    out /= sweeps
    return out


@compiled
def _add_scores(
    starts, pair, weight, beta, slope, alpha, at_alpha, sweeps, first_user, key, z, n, p, out
):  # fmt: skip
    """Sum what the scores are means of, that of α without its factor α_k, over a stretch's sweeps.

    p(z = k | rest) ∝ β_(w),k n_k with n_k = α_k + tokens in k. `at_alpha` has all ψ(α_k), then
    ψ(α₀). The rest is work space.
    """
    K = len(alpha)
    for m in range(len(starts) - 1):
        state = user_stream(key, first_user + m, _STEP, 0)
        for k in range(K):
            n[k] = alpha[k]
        for sweep in range(-_BURN, 2 * sweeps):
            half, t = (0 if sweep < sweeps else 1), 0
            for row in range(starts[m], starts[m + 1]):
                rest, code = weight[row], pair[row]
                while rest > 0:
                    w = rest if rest < 1.0 else 1.0
                    rest -= w
                    if sweep > -_BURN:
                        n[z[t]] -= w
                    total = 0.0
                    for k in range(K):
                        p[k] = beta[code, k] * n[k]
                        total += p[k]
                    if sweep >= 0:
                        for k in range(K):
                            out[m, half, k] += w * p[k] / total * slope[code, k]
                    state, u = splitmix(state)
                    z[t] = component_at(p, total, u)
                    n[z[t]] += w
                    t += 1
            if sweep >= 0:
                total = 0.0
                for k in range(K):
                    total += n[k]
                base = at_alpha[K] - digamma(total)
                for k in range(K):
                    out[m, half, K + k] += base + digamma(n[k]) - at_alpha[k]
