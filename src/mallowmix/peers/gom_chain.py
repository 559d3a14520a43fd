"""A chain of the grade of membership model, which can be continued.

It begins at groups of users; `gom_moves` has what a sweep does.
"""

from typing import Any, NamedTuple

import numpy as np

from mallowmix.engine import Engine, reduce_step
from mallowmix.numerics.randomness import Step, as_key, generator
from mallowmix.peers.choice_sums import sums_of_choices
from mallowmix.peers.gom_moves import State, move_components, sweep_choices, walk_alpha
from mallowmix.peers.stages import Stages
from mallowmix.typing import Array

_HOST = Step.GOM_PARAMETERS
_AWAY = 0.5  # of the first z are drawn at random, the others are the user's group


class PosteriorDraws(NamedTuple):
    """Draws of one chain.

    Attributes
    ----------
    scores : ndarray, shape (S, K, Q)
        log p with mean 0.
    share : ndarray, shape (S, K)
        Mean weights of users.
    alpha, log_likelihood : ndarray, shape (S,)
    accepted : float
        The acceptance rate of Metropolis–Hastings.
    """

    scores: Array
    share: Array
    alpha: Array
    log_likelihood: Array
    accepted: float


class MembershipChain:
    """A chain at some state; burn-in and draws continue it.

    Parameters
    ----------
    blocks : list of Stages
        The choices.
    engine : Engine
        Runs over the blocks.
    held : ndarray, shape (M, K)
        The initialisation: 1 for the group of each user, else 0.
    Q : int
        Items.
    shape : float
        b of the Gamma prior behind the components.
    alpha : float, optional
        Fixed; drawn too where it is None.
    seed, number : int
        The number is that of the chain.
    """

    def __init__(
        self,
        blocks: list[Stages],
        engine: Engine,
        held: Array,
        Q: int,
        *,
        shape: float,
        alpha: float | None,
        seed: int,
        number: int,
    ) -> None:
        self.blocks, self.engine, self.shape, self.number = blocks, engine, shape, number
        self.random, self.key = generator(seed, _HOST, number), as_key(seed)
        self.lam = _start(blocks, engine, held, Q, shape)
        self.moves_alpha = alpha is None
        self.alpha = 1.0 / held.shape[1] if alpha is None else alpha
        self.state: Any = [_state(block, held, self.random) for block in blocks]
        self.sweeps, self._taken, self._tried = 0, 0, 0

    def burn(self, n_sweeps: int) -> None:
        """Sweeps that are not kept; α stays for the first half of them.

        First come the components: groups of people look like a tiny α.
        """
        for sweep in range(n_sweeps):
            self._sweep(moves_alpha=sweep >= n_sweeps // 2)

    def draw(self, n_draws: int, thin: int) -> PosteriorDraws:
        """Continue the chain by ``n_draws * thin`` sweeps, of which every last one is kept."""
        self._taken, self._tried, kept = 0, 0, []
        for sweep in range(n_draws * thin):
            theta, value = self._sweep()
            if sweep % thin == thin - 1:
                log_lam = np.log(self.lam)
                scores = log_lam - log_lam.mean(axis=1, keepdims=True)
                kept.append((scores, theta / theta.sum(), self.alpha, value))
        scores, share, alphas, values = (np.array(column) for column in zip(*kept, strict=True))
        return PosteriorDraws(scores, share, alphas, values, self._taken / max(self._tried, 1))

    def _sweep(self, *, moves_alpha: bool = True) -> tuple[Array, float]:
        """New choices, components and α; Σ E θ over users, and the log-likelihood."""
        random, (K, Q) = self.random, self.lam.shape
        sent = (self.lam, self.alpha, self.number + 64 * self.sweeps, self.key)
        (chosen, rate, waited, log_left, theta, value), self.state = self.engine.reduce(
            sweep_choices, self.blocks, sent, self.state
        )
        if self.sweeps % 2:
            lam = random.standard_gamma(chosen + self.shape) / (waited + 1.0)
        else:
            lam, moved = move_components(
                self.engine, self.state, self.lam, chosen + self.shape, rate, log_left, random
            )
            self._taken, self._tried = self._taken + int(moved.sum()), self._tried + K
        # Σ λ: the choices do not depend on it
        self.lam = lam * (random.standard_gamma(self.shape * Q, K) / lam.sum(axis=1))[:, None]
        if self.moves_alpha and moves_alpha:
            self.alpha = walk_alpha(self.alpha, self.state, random)
        self.sweeps += 1
        return theta, value


def _start(blocks: list[Stages], engine: Engine, held: Array, Q: int, shape: float) -> Array:
    """(K, Q) λ after a few MM steps on the groups."""
    p = np.full((held.shape[1], Q), 1.0 / Q)
    for _ in range(5):
        (chosen, rate), _ = engine.reduce(_counted, blocks, (held, p))
        p = (chosen + 0.5) / (rate + 0.5 * Q)
        p = p / p.sum(axis=1, keepdims=True)
    return p * Q * shape


@reduce_step("grade of membership counts")
def _counted(
    block: Stages, broadcast: tuple[Array, Array], _: Any
) -> tuple[tuple[Array, Array], None]:
    held, p = broadcast
    share = (
        held[block.first_user : block.first_user + len(block.user_weight)][block.user]
        * block.weight[:, None]
    )
    return sums_of_choices(block.starts, block.item, block.n_choices, share, p), None


def _state(block: Stages, held: Array, random: Any) -> State:
    """Rankings repeated by weight, the last one for the fraction; half of z at the user's group."""
    times = np.ceil(block.weight).astype(np.int64)
    which = np.repeat(np.arange(len(times)), times)
    last = np.r_[which[1:] != which[:-1], True] if len(which) else np.zeros(0, bool)
    weight = np.where(last, block.weight[which] - times[which] + 1, 1.0)
    lengths = np.diff(block.starts)[which]
    starts = np.r_[0, np.cumsum(lengths)].astype(np.int64)
    entries = np.repeat(block.starts[which] - starts[:-1], lengths) + np.arange(starts[-1])
    stages = Stages(
        block.first_user,
        block.user[which],
        weight,
        starts,
        block.item[entries],
        block.n_choices[which],
        block.user_weight,
    )
    z = np.repeat(held.argmax(axis=1)[block.first_user + stages.user], stages.n_choices).astype(
        np.int8
    )
    z = np.where(
        random.random(len(z)) < _AWAY, random.integers(0, held.shape[1], len(z)), z
    ).astype(np.int8)
    counts = np.zeros((len(block.user_weight), held.shape[1]))
    np.add.at(
        counts, (np.repeat(stages.user, stages.n_choices), z), np.repeat(weight, stages.n_choices)
    )
    return State(stages, z, counts)
