"""DDP, data-dependent projections (Ding et al., ICML 2013).

A row is a corner if no row elsewhere projects further along it. With C the rows' inner products (E
itself, for ordered pairs), row i is a corner when C_ii − C_ij ≥ γ/2 for every j outside its ball,
C_ii − 2C_ij + C_jj ≥ ζ/2. A row inside the simplex is a mean of corners, one of which projects at
least as far along it. Corners in each other's balls are one vertex. Nothing is random.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from mallowmix.errors import FitError, Option
from mallowmix.learn.paper.fast_anchor_words import furthest_rows
from mallowmix.learn.paper.neighbourhoods import Distances
from mallowmix.learn.paper.pair_moments import Moments
from mallowmix.typing import Array

_ENTRIES = 4_000_000  # of C held at a time
_MOST = 2000  # corners at most, those by the widest margin
_LOWERED = 12  # how often ζ is halved until there are K vertices
# ζ unless given: a part of the largest distances, from so many rows
_PART, _QUANTILE, _ROWS = (0.3, 0.999, 256)
Gram = Callable[[NDArray[np.int64]], Array]  # indices of rows → their rows of C


def corner_rows(
    gram: Gram, own: Array, K: int, zeta: float, gamma: float = 0.0
) -> list[NDArray[np.int64]]:
    """Find up to K vertices among the rows of a matrix.

    ζ is halved until there are K vertices.

    Parameters
    ----------
    gram : callable
        From indices of rows to those rows of C.
    own : (n,) array
        The diagonal of C.
    K : int
        How many vertices.
    zeta, gamma : float
        ζ, how far rows must lie apart to count as different; γ, the least margin of a corner.

    Returns
    -------
    list of arrays of int
        The corners of each vertex, the widest margin first; vertices with many corners first. Fewer
        than K where no ζ shows so many.
    """
    found: list[NDArray[np.int64]] = []
    for _ in range(_LOWERED):
        margin = margins(gram, own, zeta)
        corners = np.argsort(-margin, kind="stable")[
            : min(_MOST, np.count_nonzero(margin > max(gamma / 2, 0)))
        ]
        found = _vertices(corners, gram, own, zeta)[:K] if len(corners) else found
        if len(found) == K:
            break
        zeta /= 2
    return found


def margins(gram: Gram, own: Array, zeta: float) -> Array:
    """(n,) the margin of each row: min over j outside its ball of C_ii − C_ij, else C_ii."""
    out = np.empty(len(own))
    for chunk in _chunks(len(own)):
        rows = gram(chunk)
        outside = own[chunk, None] - 2 * rows + own >= zeta / 2
        nearest = np.where(outside, own[chunk, None] - rows, np.inf).min(axis=1)
        out[chunk] = np.where(np.isfinite(nearest), nearest, own[chunk])
    return out


def _vertices(
    corners: NDArray[np.int64], gram: Gram, own: Array, zeta: float
) -> list[NDArray[np.int64]]:
    """Connected corners are one vertex."""
    C = np.concatenate([gram(part)[:, corners] for part in _parts(corners)])
    near = own[corners, None] - 2 * C + own[corners] < zeta / 2
    n, label = connected_components(near | near.T, directed=False)
    return sorted((corners[label == c] for c in range(n)), key=lambda members: -len(members))


def ddp(rows: Array, K: int, seed: int = 0) -> Array:
    """(K, K−1) corners of a cloud by data-dependent projections; nothing is random.

    Of each vertex the corner furthest along their mean; the furthest rows where the cloud shows
    fewer than K vertices.
    """
    centred = rows - rows.mean(axis=0)
    own = np.einsum("ij,ij->i", centred, centred)
    some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _ROWS)).astype(np.int64))
    apart = own[some, None] - 2 * centred[some] @ centred.T + own
    zeta = max(_PART * float(np.quantile(apart, _QUANTILE)), 1e-12)
    found = corner_rows(lambda wanted: centred[wanted] @ centred.T, own, K, zeta)
    if len(found) < K:
        return rows[furthest_rows(rows, K)]
    return np.stack(
        [
            rows[members[np.argmax(centred[members] @ centred[members].sum(axis=0))]]
            for members in found
        ]
    )


def ddp_pairs(
    E: Moments, candidates: NDArray[np.int64], K: int, *, zeta: float | None = None
) -> NDArray[np.int64]:
    """Novel pairs by data-dependent projections of the candidate rows of E.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    candidates : (n,) array of int
        Codes of the pairs to choose from.
    K : int
        How many.
    zeta : float, optional
        ζ; 0.3 × the 99.9% quantile of distances unless given.

    Returns
    -------
    (K,) array of int
        Codes of ordered pairs.

    Raises
    ------
    FitError
        Where there are fewer than K vertices.
    """
    zeta = Distances(E, candidates).auto_zeta() if zeta is None else zeta
    own = E.diagonal()[candidates]
    found = corner_rows(lambda wanted: E.rows(candidates[wanted])[:, candidates], own, K, zeta)
    if len(found) < K:
        raise FitError(
            f"Data-dependent projections show {len(found)} of the {K} vertices: lower ",
            Option("n_components"),
            ", add people, or choose other vertices with ",
            Option("novel_pairs", "projections"),
            " or ",
            Option("novel_pairs", "fast-anchor-words"),
            ".",
        )
    return candidates[[members[0] for members in found]]  # the widest margin of each vertex


def _chunks(n: int) -> list[NDArray[np.int64]]:
    return np.array_split(np.arange(n), max(1, -(-n * n // _ENTRIES)))


def _parts(corners: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return np.array_split(corners, max(1, len(corners) // 64))
