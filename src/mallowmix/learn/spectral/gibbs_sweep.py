"""Gibbs sweeps: the component of each token and the weights of each user, drawn anew."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, reduce_step
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, log_gamma_draw
from mallowmix.numerics.token_gibbs import count_tokens, sweep_tokens, token_count, user_stream
from mallowmix.typing import Array

_STEP = int(Step.GIBBS_SWEEP)
MAX_TOKENS = 4096  # users with more tokens than this count as having so many, for α alone
_FEW = 6.0  # comparisons of a user that count in the first draw: with 12, users look too pure


class Chain(NamedTuple):
    """A block's state: the component of each token, and its users' weights, drawn in every pass."""

    z: NDArray[np.integer]  # of the smallest integer type that holds K − 1
    theta: Array  # (users, K)


def new_chains(blocks: list[Block], theta: list[Array]) -> list[Chain]:
    """Chains whose first pass will draw every token's component from the given weights.

    Parameters
    ----------
    blocks : list of Block
        The users; a row of weight 2.5 has three tokens, of 1, 1 and ½.
    theta : list of (users, K) arrays
        Weights of each block's users.
    """
    small = np.min_scalar_type(theta[0].shape[1] - 1) if theta else np.uint8
    return [
        Chain(np.zeros(int(np.ceil(block.weight).sum()), small), weights)
        for block, weights in zip(blocks, theta, strict=True)
    ]


@reduce_step("Gibbs sweep")
def gibbs_step(
    block: Block, broadcast: Any, chain: Chain
) -> tuple[tuple[Array, float, float], Chain]:
    """Sweep a block: the histogram of tokens, Σ θ² and Σ u_m; and its new chain."""
    beta, alpha, sweeps, sweep, key, n_sizes = broadcast
    z = chain.z.copy()
    rows = (block.starts, block.pair, block.weight)
    theta, tokens = _swept(*rows, beta, alpha, z, chain.theta, sweeps, sweep, key, block.first_user)
    squares = float(block.user_weight @ np.sum(theta**2, axis=1))
    return (_histogram(tokens, block, n_sizes), squares, float(block.user_weight.sum())), Chain(
        z, theta
    )


def swept_chains(
    blocks: list[Block], beta: Array, alpha: Array, sweeps: int, key: np.uint64
) -> list[Chain]:
    """Chains from a new initialisation: a user's first sweep draws all tokens by the same shares.

    Of user m they are ∝ α_k exp(c_m Σ log β_(w),k), the sum over the user's comparisons: as if m
    followed one component, with c_m so small that only few comparisons count. From the prior's
    shares, users look too mixed for twice as many sweeps.

    Parameters
    ----------
    blocks : list of Block
        The users.
    beta : (Q², K) array
        β of every ordered pair, none of them 0.
    alpha : (K,) array
        The prior.
    sweeps : int
        How many Gibbs sweeps.
    key : uint64
        Of the random numbers (`as_key`).
    """
    log_beta = np.log(beta)
    rows = [(block.starts, block.pair, block.weight) for block in blocks]
    chains = new_chains(blocks, [_first_shares(*each, log_beta, alpha) for each in rows])
    drawn = (
        _swept(*each, beta, alpha, chain.z, chain.theta, sweeps, 0, key, block.first_user)
        for block, each, chain in zip(blocks, rows, chains, strict=True)
    )
    return [Chain(chain.z, theta) for chain, (theta, _) in zip(chains, drawn, strict=True)]


def most_tokens(block: Block) -> float:
    """The most comparisons of one user."""
    return float(block.per_user().max(initial=0))


def _histogram(tokens: Array, block: Block, n_sizes: int = MAX_TOKENS) -> Array:
    """(K + 1, sizes) how many users have each number of tokens, in each component and in all."""
    all_tokens = np.column_stack([tokens, tokens.sum(axis=1)])
    sizes = np.minimum(np.rint(all_tokens), n_sizes - 1).astype(np.int64)
    K1 = all_tokens.shape[1]
    flat = (sizes + np.arange(K1) * n_sizes).ravel()
    counts = np.bincount(flat, np.repeat(block.user_weight, K1), K1 * n_sizes)
    return np.asarray(counts, np.float64).reshape(K1, n_sizes)


@compiled
def _first_shares(starts, pair, weight, log_beta, alpha):
    """(M, K) the shares of each user's first draw."""
    M, K = len(starts) - 1, len(alpha)
    shares, score = np.empty((M, K)), np.empty(K)
    for m in range(M):
        n, top, total = 0.0, -np.inf, 0.0
        for k in range(K):
            score[k] = 0.0
        for row in range(starts[m], starts[m + 1]):
            n += weight[row]
            for k in range(K):
                score[k] += weight[row] * log_beta[pair[row], k]
        for k in range(K):
            score[k] = np.log(alpha[k]) + score[k] * _FEW / max(n, _FEW)
            top = max(top, score[k])
        for k in range(K):
            shares[m, k] = np.exp(score[k] - top)
            total += shares[m, k]
        for k in range(K):
            shares[m, k] /= total
    return shares


def _swept(
    starts: NDArray[np.int64],
    pair: NDArray[np.int32],
    weight: Array,
    beta: Array,
    alpha: Array,
    z: NDArray[np.integer],
    *draws: Any,
) -> tuple[Array, Array]:
    """(users, K) θ, and tokens by component, after `_sweep`, which changes z."""
    shape, K = (len(starts) - 1, len(alpha)), len(alpha)
    drawn, tokens = np.empty(shape), np.empty(shape)
    _sweep(starts, pair, weight, beta, alpha, z, *draws, np.empty(K), np.empty(K), drawn, tokens)
    return drawn, tokens


@compiled(fastmath=True)
def _sweep(
    starts,
    pair,
    weight,
    beta,
    alpha,
    z,
    theta,
    sweeps,
    sweep,
    key,
    first_user,
    n,
    p,
    drawn,
    tokens,
):
    """Gibbs sweeps over users' tokens, then θ ~ Dirichlet(α + n); n and p are work space."""
    # one Philox word keys a user's stream in each pass; the very first sweep draws by the given θ
    K = len(alpha)
    first = 0  # token of the user
    for m in range(len(starts) - 1):
        state = user_stream(key, first_user + m, _STEP, sweep)
        rows = slice(starts[m], starts[m + 1])
        codes, w = pair[rows], weight[rows]
        own = z[first : first + token_count(w)]
        first += len(own)
        for k in range(K):
            n[k] = alpha[k]
        if sweep > 0:
            count_tokens(w, 1.0, own, n)
        for s in range(sweeps):
            fresh = sweep == 0 and s == 0
            share = theta[m] if fresh else n
            state = sweep_tokens(codes, w, 1.0, beta, share, fresh, own, n, p, state)
        top = -np.inf
        for k in range(K):
            tokens[m, k] = n[k] - alpha[k] if n[k] > alpha[k] else 0.0
            state, p[k] = log_gamma_draw(state, n[k] if n[k] > 1e-6 else 1e-6)
            top = p[k] if p[k] > top else top
        total = 0.0
        for k in range(K):
            drawn[m, k] = np.exp(p[k] - top)
            total += drawn[m, k]
        for k in range(K):
            drawn[m, k] /= total
