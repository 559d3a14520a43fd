"""Two initialisations from the spectral embedding: corners among the pairs, clusters of users."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.sparse import csr_array

from mallowmix.data.comparison_arrays import sums_between
from mallowmix.engine import Block, Engine, map_step, reduce_step
from mallowmix.learn.spectral.corners import CORNER_FINDERS
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.signed_moment import count_by_cluster
from mallowmix.learn.spectral.subspace import PairStatistics, Subspace
from mallowmix.model.dispersion import phi_of_counts, phi_of_curve
from mallowmix.model.permutations import sigma_of
from mallowmix.numerics.dirichlet import concentration_of_corners
from mallowmix.numerics.k_means import k_means
from mallowmix.numerics.kemeny import borda_order, insertion_search
from mallowmix.typing import Array


class Initialisation(NamedTuple):
    """Components and prior with which refinement begins."""

    name: str
    components: MallowsComponents
    alpha: Array  # (K,)


def embed_pairs(subspace: Subspace, pairs: PairStatistics, rank: int) -> Array:
    """(P, K−1) F = U √Λ / √μ: where each pair lies, in units of its own standard deviation.

    Parameters
    ----------
    subspace : Subspace
        Leading eigenpairs of the signed moment.
    pairs : PairStatistics
        Of the same data.
    rank : int
        K − 1.
    """
    values = np.sqrt(np.maximum(subspace.values[:rank], 0))
    return subspace.vectors[:, :rank] * values / np.sqrt(pairs.share)[:, None]


def initialise_from_pairs(
    F: Array, pairs: PairStatistics, n_items: int, *, corners: str = "spa", seed: int = 0
) -> Initialisation:
    """Find corners, which are novel pairs; write every pair as their mixture; rank items by wins.

    Parameters
    ----------
    F : (P, K−1) array
        From `embed_pairs`.
    pairs : PairStatistics
        Of the same data.
    n_items : int
        Q.
    corners : str
        A name of `CORNER_FINDERS`.
    seed : int
        Of random directions.

    Returns
    -------
    Initialisation
        φ is fitted to the β of the mixtures, α to the corners.
    """
    K = F.shape[1] + 1
    often = pairs.count >= 0.2 * np.median(pairs.count[pairs.count > 0])
    plus, minus = np.sqrt((1 - pairs.win) / pairs.win), -np.sqrt(pairs.win / (1 - pairs.win))
    rows = np.concatenate([F[often] * plus[often, None], F[often] * minus[often, None]])
    found = CORNER_FINDERS[corners](rows, K, seed)
    share = vertex_shares(found)
    beta = mixed_beta(F, pairs.win, found, share)
    sigma, phi = np.empty((K, n_items), np.int32), np.empty(K)
    for k in range(K):
        sigma[k] = sigma_of(borda_order(_square(np.clip(beta[:, k], 0, 1), n_items)))
        phi[k] = phi_of_curve(_square(beta[:, k], n_items), sigma[k])
    return Initialisation(
        "pairs", MallowsComponents(sigma, phi), concentration_of_corners(found, share) * share
    )


def _square(beta: Array, n_items: int) -> Array:
    """(Q, Q) from one number for each unordered pair; the other direction is its complement."""
    low, high = np.triu_indices(n_items, 1)
    wins = np.full((n_items, n_items), 0.5)
    wins[low, high], wins[high, low] = beta, 1 - beta
    return wins


def vertex_shares(vertices: Array) -> Array:
    """(K,) shares a ≥ 0 with Σ a_k v_k = 0 and Σ a_k = 1, by least squares; none below 0.2/K."""
    K = len(vertices)
    scale = max(float(np.abs(vertices).max()), 1e-300)
    system = np.vstack([vertices.T / scale, np.ones(K)])
    share, _ = nnls(system, np.r_[np.zeros(vertices.shape[1]), 1.0])
    share = np.maximum(share / max(share.sum(), 1e-300), 0.2 / K)
    return share / share.sum()


def mixed_beta(F: Array, win: Array, vertices: Array, share: Array) -> Array:
    """(P, K) β from Σ_k a_k v_k β_k = √(q(1−q)) F and Σ_k a_k β_k = q, not clipped to [0, 1].

    These are K equations for the K numbers of a pair.

    Parameters
    ----------
    F : (P, K−1) array
        From `embed_pairs`.
    win : (P,) array
        q, how often the lower-numbered item wins.
    vertices : (K, K−1) array
        The corners v.
    share : (K,) array
        a, from `vertex_shares`.
    """
    system = np.vstack([(share[:, None] * vertices).T, share])  # (K, K)
    right = np.column_stack([F * np.sqrt(win * (1 - win))[:, None], win])  # (P, K)
    return np.linalg.lstsq(system, right.T, rcond=1e-10)[0].T.astype(np.float64)


def initialise_from_users(
    blocks: list[Block],
    subspace: Subspace,
    pairs: PairStatistics,
    rank: int,
    engine: Engine,
    *,
    seed: int = 0,
) -> Initialisation:
    """Cluster users by the whitened mean embedding of their comparisons; rank items in each.

    Parameters
    ----------
    blocks : list of Block
        The users.
    subspace : Subspace
        Leading eigenpairs of the signed moment.
    pairs : PairStatistics
        Of the same data.
    rank : int
        K − 1.
    engine : Engine
        Where the passes run.
    seed : int
        Of k-means.

    Returns
    -------
    Initialisation
        σ and φ from the counts of each cluster, α from their sizes.
    """
    K, Q = rank + 1, blocks[0].n_items
    parts = engine.map(
        _embed_step, blocks, (pairs, np.ascontiguousarray(subspace.vectors[:, :rank]))
    )
    embedding, n = np.concatenate([e for e, _ in parts]), np.concatenate([n for _, n in parts])
    embedding = embedding / np.sqrt(np.maximum(subspace.values[:rank], 1e-12))
    user_weight = np.concatenate([block.user_weight for block in blocks])
    label = cluster_users(embedding, n, user_weight, K, seed=seed)
    edges = np.cumsum([0, *(block.n_users for block in blocks)])
    counts, _ = engine.reduce(_cluster_step, blocks, K, [label[a:b] for a, b in pairwise(edges)])
    wins = counts.reshape(K, Q, Q)
    sigma = np.stack([sigma_of(insertion_search(table, borda_order(table))) for table in wins])
    phi = np.array([phi_of_counts(table, row) for table, row in zip(wins, sigma, strict=True)])
    share = np.bincount(label[label >= 0], user_weight[label >= 0], K)
    share = np.maximum(share / max(float(share.sum()), 1e-300), 0.2 / K)
    return Initialisation("people", MallowsComponents(sigma, phi), share / share.sum())


def cluster_users(
    embedding: Array, n: Array, user_weight: Array, K: int, *, seed: int = 0
) -> NDArray[np.int64]:
    """Cluster users by k-means.

    Parameters
    ----------
    embedding : (M, K−1) array
        Where each user lies.
    n : (M,) array
        Comparisons of each user, of which up to 300 count.
    user_weight : (M,) array
        How often each user counts.
    K : int
        How many clusters.
    seed : int
        Of k-means.

    Returns
    -------
    (M,) array of int
        The cluster of each user; −1 for those of weight 0 or with too few comparisons.
    """
    active = (n >= min(float(np.median(n)), 50.0)) & (user_weight > 0)
    if np.count_nonzero(active) < K:
        active = n > 0
    n_clusters = min(K, int(np.count_nonzero(active)))
    weight = user_weight[active] * np.minimum(n[active], 300)
    label = np.full(len(n), -1)
    label[active] = k_means(embedding[active], weight, n_clusters, seed=seed % 2**32)
    return label


@map_step("embed users")
def _embed_step(block: Block, broadcast: tuple[PairStatistics, Array]) -> tuple[Array, Array]:
    pairs, U = broadcast
    return _embed(block.starts, block.pair, block.weight, pairs.index, pairs.value, U)


def _embed(
    starts: NDArray[np.int64],
    pair: NDArray[np.int32],
    weight: Array,
    index: NDArray[np.int32],
    value: Array,
    U: Array,
) -> tuple[Array, Array]:
    """(M, K−1) the mean of w x U_p over each user's rows; and (M,) their comparisons."""
    M, n = len(starts) - 1, sums_between(starts, weight)
    rows = csr_array((weight * value[pair], index[pair], starts), shape=(M, len(U)))
    return rows @ U / np.where(n > 0, n, 1)[:, None], n


@reduce_step("count pairs by cluster")
def _cluster_step(
    block: Block, K: int, label: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    return count_by_cluster(block, label, K), label
