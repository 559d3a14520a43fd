"""Lemma 2: E = B̄ R̄ B̄ᵀ, the co-occurrence of ordered pairs.

E is an operator that one multiplies by; the W × W matrix is never held.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, ThreadEngine, make_blocks, reduce_step
from mallowmix.learn.paper.halves import Halves, split_block
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array


class Moments(Protocol):
    """E for Algorithms 2 and 3; rows and columns are the Q² codes of ordered pairs."""

    n_items: int
    counts: Array  # (Q²,) how often each ordered pair was seen
    # (Q²,) pairs seen in both halves: the rows of E that can be estimated
    present: NDArray[np.bool_]

    def apply(self, D: Array) -> Array:
        """E D, for D of shape (Q², P)."""
        ...

    def rows(self, pairs: Sequence[int] | NDArray[np.int64]) -> Array:
        """(len(pairs), Q²) rows of E, made symmetric: (E + Eᵀ) / 2."""
        ...

    def diagonal(self) -> Array:
        """(Q²,) the diagonal of E."""
        ...


class ModelMoments:
    """E of a known model: B̄ = diag(Ba)⁻¹ B diag(a), R̄ = diag(a)⁻¹ R diag(a)⁻¹, E = B̄ R̄ B̄ᵀ.

    Parameters
    ----------
    B : (Q², K) array_like
        The ranking matrix.
    a, R : (K,) and (K, K) array_like
        First and second moment of the weights.
    """

    def __init__(self, B: ArrayLike, a: ArrayLike, R: ArrayLike) -> None:
        B, a, R = np.asarray(B, np.float64), np.asarray(a, np.float64), np.asarray(R, np.float64)
        self.n_items = round(len(B) ** 0.5)
        self.counts = B @ a
        self.present = self.counts > 0
        self.Bbar = B * a * _inverse(self.counts)[:, None]
        self.Rbar = R / np.outer(a, a)

    def apply(self, D: Array) -> Array:
        return self.Bbar @ (self.Rbar @ (self.Bbar.T @ D))

    def rows(self, pairs: Sequence[int] | NDArray[np.int64]) -> Array:
        return self.Bbar[pairs] @ self.Rbar @ self.Bbar.T

    def diagonal(self) -> Array:
        return np.einsum("ik,kl,il->i", self.Bbar, self.Rbar, self.Bbar)


class HalfMoments:
    """Ê = c · X̃' X̃ᵀ from two halves of all users' comparisons.

    X̃ and X̃' are the row-stochastic counts of the halves. The paper's c is M. Here
    c = (Σn_m)(Σn'_m) / Σ n_m n'_m, which is M when all users make equally many comparisons and
    keeps Ê consistent when they do not. A user counts `user_weight` times.

    Parameters
    ----------
    comparisons : Comparisons
        What users preferred.
    seed : int
        Of the split into halves.
    engine : Engine, optional
        Where the passes run; threads unless given.
    """

    def __init__(
        self, comparisons: Comparisons, *, seed: int = 0, engine: Engine | None = None
    ) -> None:
        self.engine = engine or ThreadEngine()
        self.n_items = comparisons.n_items
        self._blocks = make_blocks(comparisons)
        sums, self._halves = self.engine.reduce(_halve, self._blocks, as_key(seed))
        first, second, together, products = sums
        self.counts = first + second
        self.present = (first > 0) & (second > 0)
        self.half_counts = np.minimum(first, second)
        self._inverse = _inverse(first), _inverse(second)
        # c; 0 where nobody is in both halves
        self.scale = first.sum() * second.sum() / products if products else 0.0
        self._together = together

    def apply(self, D: Array) -> Array:
        """½ (Ê + Êᵀ) D: E is symmetric, and the mean has about half the variance of either."""
        one, two = (inverse * self.present for inverse in self._inverse)
        (forth, back), _ = self.engine.reduce(
            _apply, self._blocks, (D * one[:, None], D * two[:, None]), self._halves
        )
        return self.scale / 2 * (two[:, None] * forth + one[:, None] * back)

    def rows(self, pairs: Sequence[int] | NDArray[np.int64]) -> Array:
        """Rows of ½ (Ê + Êᵀ); of Ê or Êᵀ alone where a pair was seen in one half only."""
        pairs, slot = np.unique(np.asarray(pairs, np.int64), return_inverse=True)
        (forth, back), _ = self.engine.reduce(_cross_rows, self._blocks, pairs, self._halves)
        one, two = self._inverse
        has_forth, has_back = np.outer(one[pairs] > 0, two > 0), np.outer(two[pairs] > 0, one > 0)
        forth *= self.scale * one[pairs, None] * two  # X̃ of the wanted rows with X̃' of all
        back *= self.scale * two[pairs, None] * one  # X̃' of the wanted rows with X̃ of all
        forth += back
        forth /= np.maximum(1, has_forth.astype(np.int8) + has_back)
        return forth[slot]

    def diagonal(self) -> Array:
        return self.scale * self._together * self._inverse[0] * self._inverse[1]


def _inverse(counts: Array) -> Array:
    return np.divide(1.0, counts, out=np.zeros_like(counts, dtype=np.float64), where=counts > 0)


@reduce_step("halves")
def _halve(
    block: Block, key: np.uint64, _: None
) -> tuple[tuple[Array, Array, Array, float], Halves]:
    halves = split_block(block, key)
    return _count(block.starts, block.pair, *halves, block.user_weight, block.n_items**2), halves


@reduce_step("pair moment")
def _apply(
    block: Block, D: tuple[Array, Array], halves: Halves
) -> tuple[tuple[Array, Array], Halves]:
    return _multiply(block.starts, block.pair, *halves, block.user_weight, *D), halves


@reduce_step("rows of the pair moment")
def _cross_rows(
    block: Block, pairs: NDArray[np.int64], halves: Halves
) -> tuple[tuple[Array, Array], Halves]:
    slot = np.full(block.n_items**2, -1, np.int64)
    slot[pairs] = np.arange(len(pairs))
    return _cross(block.starts, block.pair, *halves, block.user_weight, slot, len(pairs)), halves


@compiled
def _count(starts, pair, first, second, user_weight, n_pairs):
    """Row sums of X and X', Σ_m X_im X'_im for the diagonal, and Σ_m n_m n'_m."""
    one, two, together = np.zeros(n_pairs), np.zeros(n_pairs), np.zeros(n_pairs)
    products = 0.0
    for m in range(len(starts) - 1):
        n_one, n_two = 0.0, 0.0
        for row in range(starts[m], starts[m + 1]):
            one[pair[row]] += user_weight[m] * first[row]
            two[pair[row]] += user_weight[m] * second[row]
            together[pair[row]] += user_weight[m] * first[row] * second[row]
            n_one += first[row]
            n_two += second[row]
        products += user_weight[m] * n_one * n_two
    return one, two, together, products


@compiled(inline="always")
def _add(total, factor, values):
    for p in range(len(total)):
        total[p] += factor * values[p]


@compiled
def _multiply(starts, pair, first, second, user_weight, D_first, D_second):
    """Σ_m X'_m (X_mᵀ D) and Σ_m X_m (X'_mᵀ D'), in one pass over the rows."""
    forth, back = np.zeros_like(D_first), np.zeros_like(D_first)
    P = D_first.shape[1]
    inner, inner_back = np.empty(P), np.empty(P)
    for m in range(len(starts) - 1):
        inner[:] = 0.0
        inner_back[:] = 0.0
        for row in range(starts[m], starts[m + 1]):
            if first[row] > 0:
                _add(inner, first[row], D_first[pair[row]])
            if second[row] > 0:
                _add(inner_back, second[row], D_second[pair[row]])
        inner *= user_weight[m]
        inner_back *= user_weight[m]
        for row in range(starts[m], starts[m + 1]):
            if second[row] > 0:
                _add(forth[pair[row]], second[row], inner)
            if first[row] > 0:
                _add(back[pair[row]], first[row], inner_back)
    return forth, back


@compiled
def _cross(starts, pair, first, second, user_weight, slot, n_rows):
    """Rows `slot >= 0` of X X'ᵀ and of X' Xᵀ."""
    forth, back = np.zeros((n_rows, len(slot))), np.zeros((n_rows, len(slot)))
    for m in range(len(starts) - 1):
        for row in range(starts[m], starts[m + 1]):
            r = slot[pair[row]]
            if r >= 0:
                x, y = user_weight[m] * first[row], user_weight[m] * second[row]
                for other in range(starts[m], starts[m + 1]):
                    forth[r, pair[other]] += x * second[other]
                    back[r, pair[other]] += y * first[other]
    return forth, back
