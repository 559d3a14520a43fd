"""How many components the data shows: eigenvalues of the signed moment above the edge of its noise."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block, LocalEngine
from mallowmix.learn.signed import PairStatistics, SignedMoment, Subspace, leading_subspace

_MARGIN = 1.03
_NULLS = 2


class RankEstimate(NamedTuple):
    """K = 1 + the number of eigenvalues above the edge, and how clear the cut is."""

    n_components: int
    values: NDArray[np.float64]
    edge: float
    subspace: Subspace

    def words(self) -> str:
        """How sure one can be, in a sentence."""
        k, above = self.n_components, self.values / self.edge
        over = (
            f"eigenvalue {k - 1} is {above[k - 2]:.2f} times the noise edge" if k > 1 else "no eigenvalue is above the noise edge"
        )
        under = f", the next {above[k - 1]:.2f} times" if k - 1 < len(above) else ""
        sure = k == 1 or (above[k - 2] > 1.15 and (k - 1 >= len(above) or above[k - 1] < 1 / _MARGIN))
        return f"{k} components: {over}{under}; the cut is {'clear' if sure else 'not clear, try one more and one fewer'}."


def noise_edge(blocks: list[Block], pairs: PairStatistics, engine: LocalEngine, *, seed: int = 0) -> float:
    """The largest eigenvalue that people without any shared taste would give: every token's sign drawn at random, twice.

    For equally active people this is the Marchenko–Pastur edge ((1 + √(P/M))² − 1) / (n − 1); it also holds for unequal ones.
    """
    tops = [
        leading_subspace(
            SignedMoment(blocks, pairs, engine, null_key=seed + 1 + draw), 1, extra=11, max_passes=10, tol=1e-3, seed=seed
        )
        for draw in range(_NULLS)
    ]
    return _MARGIN * max(float(np.mean([top.values[0] for top in tops])), 1e-300)


def estimate_rank(
    blocks: list[Block], pairs: PairStatistics, engine: LocalEngine, *, most: int = 32, seed: int = 0
) -> RankEstimate:
    """Count the eigenvalues above the noise edge, looking at up to `most` of them."""
    edge = noise_edge(blocks, pairs, engine, seed=seed)
    A = SignedMoment(blocks, pairs, engine)
    subspace = leading_subspace(A, min(most, len(pairs.share)), max_passes=12, tol=1e-3, seed=seed)
    return RankEstimate(1 + int(np.count_nonzero(subspace.values[:most] > edge)), subspace.values[:most], edge, subspace)
