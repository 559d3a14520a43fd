"""Users with one ranking each, drawn from a Mallows component: posteriors and predictions by AMP.

    P(i over j | given) = Σ_k r_k P_k(i above j | given),      r_k ∝ a_k p(given | k).

All users share the same random draws, so that a user is predicted alike, alone or among others. A
probability that is estimated from few draws (E effective ones) is shrunk towards β:
(E p + β) / (E + 1). A user whose comparisons contain a cycle cannot have one ranking; their weights
come from independent comparisons.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.labels import Labels
from mallowmix.engine import Block, ThreadEngine, make_blocks, map_step
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.pair_model import Pairs
from mallowmix.model.permutations import order_of
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import Step
from mallowmix.peers.amp import clear, find_cycles, tables, take_in, weighted_draws
from mallowmix.peers.component_mixture import of_model, pair_numbers
from mallowmix.peers.required_data import known_comparisons
from mallowmix.typing import Array

_STEP = int(Step.AMP_USERS)


@dataclass(frozen=True, eq=False)
class FittedOneRanking:
    """Mallows components, one for each user, and one ranking for each user.

    Attributes
    ----------
    model : FittedModel
        With all prior mass at the vertices.
    n_draws : int, optional
        Rankings for each user and component; 400, fewer for many items, unless given.
    settings : tuple of (str, float)
        What was chosen by validation.
    """

    model: FittedModel
    n_draws: int | None = None
    settings: tuple[tuple[str, float], ...] = ()

    @property
    def items(self) -> Labels:
        """The items' labels."""
        return self.model.items

    @property
    def components(self) -> Array:
        """(K, Q) how often each item wins, on average over opponents, by component."""
        return of_model(self.model).components

    @property
    def draws(self) -> int:
        """How many draws: 400 up to 30 items, 60 at least."""
        return self.n_draws or max(60, min(400, 400_000 // self.model.n_items**2))

    def weights(self, people: Any) -> Array:
        """(M, K) the probability that each user belongs to each component."""
        return self._over(people, np.zeros(0, np.int64), np.zeros(0, np.int64))[0]

    def predict_proba(self, people: Any, pairs: Pairs) -> Array:
        """(M, n) the probability that each user, new or not, prefers the first of each pair."""
        return self._over(people, *pair_numbers(self.items, pairs))[1]

    def _over(
        self, people: Any, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[Array, Array]:
        people = known_comparisons(people).with_items(self.items, unknown_items="drop")
        model = self.model
        S = np.stack([tables(model.n_items, phi) for phi in model.phi])
        sent = _Sent(
            prepare(model), order_of(model.sigma), S, np.log(model.share), first, second, self.draws
        )
        parts = ThreadEngine().map(_infer, make_blocks(people), sent)
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )


class _Sent(NamedTuple):
    prepared: PreparedModel
    order: NDArray[np.int32]
    S: Array
    log_share: Array
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    n_draws: int


@map_step("AMP weights")
def _infer(block: Block, sent: _Sent) -> tuple[Array, Array]:
    """(M, K) posterior of the component, (M, n) probabilities of pairs."""
    beta = sent.prepared.beta[sent.first * block.n_items + sent.second]  # (n, K)
    cyclic = find_cycles(block.starts, block.pair, block.n_items)
    model = (sent.order, sent.S, sent.log_share, beta, sent.first, sent.second, sent.n_draws)
    held, p = _predict_rows(block.starts, block.pair, cyclic, *model)
    if cyclic.any():
        other = fold_in(block, sent.prepared)[0]
        held[cyclic], p[cyclic] = other[cyclic], (other @ beta.T)[cyclic]
    return (held, p)


@compiled
def _predict_rows(starts, pair, cyclic, order, S, log_share, beta, first, second, n_draws):
    M, (K, Q), n = len(starts) - 1, order.shape, len(first)
    held, p = np.zeros((M, K)), np.zeros((M, n))
    above, among, position = (
        np.zeros((Q, Q), np.bool_),
        np.empty(Q, np.int64),
        np.empty(Q, np.int64),
    )
    orders, log_w, log_p, wins = (
        np.empty((K, n_draws, Q), np.int32),
        np.empty((K, n_draws)),
        np.empty(K),
        np.empty(n),
    )
    for m in range(M):
        if cyclic[m]:
            continue
        size = take_in(starts[m], starts[m + 1], pair, above, among)
        total = weighted_draws(
            order, S, log_share, above, 0, _STEP, 0, np.uint64(0), orders, log_w, log_p
        )
        for k in range(K):
            held[m, k] = np.exp(log_p[k] - total)
            squares = 0.0
            for a in range(n):
                wins[a] = 0.0
            for s in range(n_draws if held[m, k] > 1e-9 else 0):
                share = np.exp(log_w[k, s] - log_p[k])
                squares += share * share
                for r in range(Q):
                    position[orders[k, s, r]] = r
                for a in range(n):
                    wins[a] += share * (position[first[a]] < position[second[a]])
            effective = 1.0 / squares if squares > 0 else 0.0
            for a in range(n):
                p[m, a] += held[m, k] * (effective * wins[a] + beta[a, k]) / (effective + 1.0)
        clear(above, among[:size])
    return held, p
