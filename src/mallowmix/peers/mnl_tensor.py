"""Mixture of BTL (MNL) models from pairwise moments (Oh and Shah, NIPS 2014).

Each user belongs to one component and compares some pairs; s = ±1 says which item of the pair won,
and m_k(p) = E[s | pair p, component k] = 2β_p,k − 1. Over two or three different pairs of one user

    M2(p, q) = Σ_k a_k m_k(p) m_k(q),
    M3(p, q, r) = Σ_k a_k m_k(p) m_k(q) m_k(r),      p, q, r different.

1. M2 completed to rank K from its entries off the diagonal (alternating least squares): M2 = B Bᵀ,
   without ever forming it (`peers.pair_completion`).
2. M3 = Σ H_abc B_pa B_qb B_rc, the small H by least squares over triples of different pairs.
3. H = Σ_k a_k^(−½) v_k ⊗ v_k ⊗ v_k with v_k orthonormal, by the power method;
   m_k = a_k^(−½) B v_k.
4. Scores of each component from β_k = (1 + m_k) / 2 by RankCentrality.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, ThreadEngine, make_blocks, reduce_step
from mallowmix.errors import FitError
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import FittedModel, with_scores
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step, as_key, uniforms
from mallowmix.peers.btl import em_bradley_terry
from mallowmix.peers.component_mixture import FittedMixture, of_model
from mallowmix.peers.mallows_mixture import at_vertices, shares
from mallowmix.peers.pair_completion import UserMoments, complete, person_means
from mallowmix.peers.rank_centrality import rank_centrality
from mallowmix.peers.required_data import need_comparisons
from mallowmix.peers.tensor_power import tensor_power
from mallowmix.typing import Array

_STEP = int(Step.TRIPLES)
_INSTEAD = "Use the mixture of Bradley–Terry components by EM (mixture-bt)."


@dataclass(frozen=True)
class MixtureOfMNL:
    """Mixture of K Bradley–Terry (MNL) models, one for each user, by tensor decomposition.

    Needs comparisons of three or more different pairs per user, by many users; assumes K types of
    users whose tables of pairs are linearly independent.

    Parameters
    ----------
    most_triples : int
        Triples of pairs of one user that go into the third moment; more are thinned at random.
    polish : int
        Iterations of EM afterwards; with 0, the result is the method's own.
    """

    most_triples: int = 300
    polish: int = 0
    name: str = "mixture of BTL by tensors"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedMixture:
        """Learn from comparisons."""
        data = need_comparisons(self, data)
        model = self.learnt(data, n_components, seed)
        if self.polish:
            scores = em_bradley_terry(
                model.components, make_blocks(data), ThreadEngine(), self.polish
            )
            model = at_vertices(with_scores(scores, model))
        return of_model(model)

    def learnt(self, data: Comparisons, K: int, seed: int) -> FittedModel:
        """The four steps."""
        blocks, engine = make_blocks(data), ThreadEngine()
        B = complete(UserMoments(blocks), K, _INSTEAD)
        (normal, right), _ = engine.reduce(_triples, blocks, (B, self.most_triples, as_key(seed)))
        values, vectors = tensor_power(_tensor(_solved(normal, right), K), K, seed=seed)
        if np.any(values <= 0):
            raise FitError(
                f"The third moment shows fewer than {K} components. "
                f"Ask for fewer, or give more people. {_INSTEAD}"
            )
        m = np.clip(values[:, None] * (vectors @ B.T), -0.98, 0.98)  # (K, P)
        scores = np.stack([rank_centrality(_table(row, data.n_items)) for row in m])
        found = with_scores(BradleyTerryModel(scores, shares(values**-2.0), data.items))
        return at_vertices(replace(found, report=FitReport(method=self.name)))


def _table(m: Array, Q: int) -> Array:
    """(Q, Q) β from m of the unordered pairs: the lower number wins with (1 + m) / 2."""
    beta = np.zeros((Q, Q))
    beta[np.triu_indices(Q, 1)] = (1 + m) / 2
    return beta + np.tril(1 - beta.T, -1)


@reduce_step("moments of triples")
def _triples(
    block: Block, broadcast: tuple[Array, int, np.uint64], _: Any
) -> tuple[tuple[Array, Array], None]:
    B, most, key = broadcast
    mean, _seen = person_means(block)
    return _third_moment(
        mean.indptr, mean.indices, mean.data, block.user_weight, B, most, block.first_user, key
    ), None


def monomials(K: int) -> NDArray[np.int64]:
    """(D, 3) the entries a ≤ b ≤ c of a symmetric tensor."""
    return np.array(
        [(a, b, c) for a in range(K) for b in range(a, K) for c in range(b, K)], np.int64
    )


def _solved(normal: Array, right: Array) -> Array:
    scale = np.trace(normal) / len(normal)
    return np.linalg.solve(normal + 1e-9 * max(scale, 1e-300) * np.eye(len(normal)), right)


def _tensor(entries: Array, K: int) -> Array:
    """(K, K, K) the symmetric tensor with these entries a ≤ b ≤ c."""
    H = np.zeros((K, K, K))
    for value, (a, b, c) in zip(entries, monomials(K), strict=True):
        for turn in ((a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)):
            H[turn] = value
    return H


@compiled
def _third_moment(starts, pair, mean, user_weight, B, most, first_user, key):
    """Normal equations of H over triples of different pairs of a user.

    Features Σ_turns B_pa B_qb B_rc, target s_p s_q s_r.
    """
    K = B.shape[1]
    D = K * (K + 1) * (K + 2) // 6
    normal, right, f = np.zeros((D, D)), np.zeros(D), np.empty(D)
    for m in range(len(starts) - 1):
        first, n = starts[m], starts[m + 1] - starts[m]
        if n < 3:
            continue
        every = n * (n - 1) * (n - 2) // 6
        if every <= most:
            for x in range(n):
                for y in range(x + 1, n):
                    for z in range(y + 1, n):
                        _add(
                            first + x,
                            first + y,
                            first + z,
                            pair,
                            mean,
                            user_weight[m],
                            B,
                            f,
                            normal,
                            right,
                        )
        else:
            for t in range(most):  # each stands for every / most triples
                u, v = uniforms(key, _STEP, first_user + m, t, 0)
                w, _ = uniforms(key, _STEP, first_user + m, t, 1)
                x, y, z = int(u * n), int(v * (n - 1)), int(w * (n - 2))
                y += y >= x
                low, high = min(x, y), max(x, y)
                z += z >= low
                z += z >= high
                _add(
                    first + x,
                    first + y,
                    first + z,
                    pair,
                    mean,
                    user_weight[m] * every / most,
                    B,
                    f,
                    normal,
                    right,
                )
    return normal, right


@compiled
def _add(x, y, z, pair, mean, weight, B, f, normal, right):
    K, d = B.shape[1], 0
    P, R, S = B[pair[x]], B[pair[y]], B[pair[z]]
    for a in range(K):
        for b in range(a, K):
            for c in range(b, K):
                if a == b and b == c:
                    f[d] = P[a] * R[a] * S[a]
                elif a == b:
                    f[d] = P[a] * R[a] * S[c] + P[a] * R[c] * S[a] + P[c] * R[a] * S[a]
                elif b == c:
                    f[d] = P[a] * R[b] * S[b] + P[b] * R[a] * S[b] + P[b] * R[b] * S[a]
                else:
                    f[d] = P[a] * (R[b] * S[c] + R[c] * S[b]) + P[b] * (R[a] * S[c] + R[c] * S[a])
                    f[d] += P[c] * (R[a] * S[b] + R[b] * S[a])
                d += 1
    target = weight * mean[x] * mean[y] * mean[z]
    for i in range(d):
        right[i] += target * f[i]
        for j in range(d):
            normal[i, j] += weight * f[i] * f[j]
