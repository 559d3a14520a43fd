"""Which rows of E count as the same point: balls of radius ζ, found one row at a time.

A W × W array of distances is never held.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mallowmix.errors import check_choice
from mallowmix.learn.paper.pair_moments import Moments
from mallowmix.numerics.randomness import Step, generator

Metric = Literal["moment", "euclidean", "projected"]
METRICS: tuple[Metric, ...] = get_args(Metric)
_STEP = Step.DISTANCES
_CHUNK = 64  # rows of E held at a time
_DIRECTIONS = 512  # a distance projected on so many is right to 1/√1024, 3%, either way
_AUTO_ROWS = 256  # rows whose distances make up the quantile of zeta="auto"


class Distances:
    """Distances between candidate rows of E.

    Parameters
    ----------
    E : Moments
        The co-occurrence of ordered pairs.
    candidates : (n,) array of int
        Codes of the rows.
    metric : {"moment", "euclidean", "projected"}
        "moment" is E_ii − 2E_ij + E_jj, in population (B̄_i − B̄_j) R̄ (B̄_i − B̄_j)ᵀ, a *squared*
        distance: rows are near below ζ/2. "euclidean" is ‖E_i − E_j‖ over all columns seen in both
        halves, as in the definition of the solid angle: rows are near below ζ. "projected"
        estimates the same by the mean of ((E_i − E_j) d)² over random directions d, which is much
        faster where there are many pairs.
    seed : int
        Of the random directions.
    """

    def __init__(
        self, E: Moments, candidates: NDArray[np.int64], metric: Metric = "moment", *, seed: int = 0
    ) -> None:
        check_choice("metric", metric, METRICS)
        self.E, self.candidates, self.metric = E, candidates, metric
        self._seen = (
            self._projections(seed) if metric == "projected" else np.empty((0, 0), np.float32)
        )
        self._own = E.diagonal()[candidates] if metric == "moment" else self._squared_norms()

    def between(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """(len(indices), len(candidates)) distances from some candidates, by index, to all."""
        apart = self._own[indices, None] - 2 * self._products(indices) + self._own
        return apart if self.metric == "moment" else np.sqrt(np.maximum(apart, 0))

    def _products(self, indices: NDArray[np.int64]) -> NDArray[np.floating]:
        """(len(indices), len(candidates)) E_ij, or the inner products E_i · E_j of rows."""
        if self.metric == "projected":
            return self._seen[indices] @ self._seen.T
        rows = self.E.rows(self.candidates[indices])
        if self.metric == "moment":
            return rows[:, self.candidates]
        return self.E.apply(np.ascontiguousarray(rows.T))[self.candidates].T

    def threshold(self, zeta: float) -> float:
        """Rows nearer than this are neighbours."""
        return zeta / 2 if self.metric == "moment" else zeta

    def auto_zeta(self) -> float:
        """0.3 × the 99.9% quantile of the distances from up to 256 rows, evenly spread, to all.

        The quantile estimates the distance between two corners. A tenth of it is often less than
        the noise between two rows at the same corner (Q = 30, K = 4, N = 100, M = 20,000: exact
        recovery in 7 of 10 seeds, with three tenths in 10 of 10).
        """
        n = len(self.candidates)
        indices = np.unique(np.linspace(0, n - 1, min(n, _AUTO_ROWS)).astype(np.int64))
        distances = np.concatenate([self.between(part).ravel() for part in _chunks(indices)])
        return max(0.3 * float(np.quantile(distances, 0.999)), 1e-12)

    def _projections(self, seed: int) -> NDArray[np.float32]:
        """(len(candidates), S) E d / √S for S isotropic directions d."""
        seen = np.empty((len(self.candidates), _DIRECTIONS), np.float32)
        for start in range(0, _DIRECTIONS, _CHUNK):
            D = generator(seed, _STEP, start).standard_normal((len(self.E.counts), _CHUNK))
            seen[:, start : start + _CHUNK] = self.E.apply(D)[self.candidates] / np.sqrt(
                _DIRECTIONS
            )
        return seen

    def _squared_norms(self) -> NDArray[np.float64]:
        if self.metric == "projected":
            return np.einsum("ij,ij->i", self._seen, self._seen)
        present = self.E.present  # the columns that `apply` uses
        return np.concatenate(
            [
                np.sum(self.E.rows(part)[:, present] ** 2, axis=1)
                for part in _chunks(self.candidates)
            ]
        )


class Balls:
    """ζ-balls of candidates, each found when it is first needed and stored as bits.

    Parameters
    ----------
    distances : Distances
        Between candidates.
    zeta : float
        ζ.
    """

    def __init__(self, distances: Distances, zeta: float) -> None:
        self.distances, self.zeta = distances, zeta
        n = len(distances.candidates)
        self._slot = np.full(n, -1, np.int64)  # which row of _bits holds a candidate's ball
        self._bits = np.empty((0, -(-n // 8)), np.uint8)

    def of(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        """(len(indices), n/8) the ball of each as packed bits (`is_in`); a row is in its own."""
        self.find(indices)
        return self._bits[self._slot[indices]]

    def find(self, indices: NDArray[np.int64]) -> None:
        """Find the balls that are not known yet, many in one pass over the comparisons."""
        new = np.unique(indices[self._slot[indices] < 0])
        if not len(new):
            return
        near = self.distances.threshold(self.zeta)
        found = [self._bits]
        for part in _chunks(new):
            inside = self.distances.between(part) < near
            inside[np.arange(len(part)), part] = True
            found.append(np.packbits(inside, axis=1))
        self._slot[new] = len(self._bits) + np.arange(len(new))
        self._bits = np.concatenate(found)

    @property
    def n_found(self) -> int:
        """How many balls were found so far."""
        return len(self._bits)


def is_in(bits: NDArray[np.uint8], indices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the candidate indices[r] is in the set of bits[r], for every row r."""
    byte = bits[np.arange(len(indices)), indices // 8]
    return (byte >> (7 - indices % 8)) & 1 > 0


def _chunks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
