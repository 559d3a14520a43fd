"""A mixture of Gaussian utilities, alone: one of the models that the predictor pools.

A user holds component k with probability π_k and has utilities u ~ N(s_k, V Vᵀ + Ψ); answers are
logistic in u_i − u_j. Learnt by EM (`learn.utilities`), with as many factors as predict best.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import check_at_least
from mallowmix.learn.utilities.initial_loadings import initial_utilities
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.learn.utilities.utilities_em import learn_utilities
from mallowmix.learn.utilities.utilities_pass import as_utilities_model
from mallowmix.peers.fitted_predictor import FittedPredictor, of_member
from mallowmix.peers.required_data import need_comparisons
from mallowmix.peers.validation import NEW_ITEMS, HoldOut, loss, trials

_LEAST_GAIN = 0.0002  # for which more factors are tried


@dataclass(frozen=True)
class GaussianUtilities:
    """A mixture of K Gaussians of utilities; each user has utilities of their own.

    Needs comparisons, some of each user; assumes that a user's utilities lie around one of K means,
    with a covariance that all components share.

    Parameters
    ----------
    n_factors : sequence of int
        Candidates for the number of factors, from few to many; it is chosen on training users, and
        beyond the last candidate the number doubles while that helps.
    n_rounds : int
        Of EM.
    hold_out : HoldOut
        What is held out of the training users by whom this is chosen.
    """

    n_factors: Sequence[int] = (0, 1, 2, 4, 8)
    n_rounds: int = 16
    hold_out: HoldOut = NEW_ITEMS
    name: str = "mixture of Gaussian utilities"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedPredictor:
        """Learn from comparisons."""
        check_at_least("n_components", n_components, 1)
        check_at_least("n_rounds", self.n_rounds, 1)
        data = need_comparisons(self, data)
        with threadpool_limits(1):  # threads are ours, over blocks of users
            r = self.chosen_factors(data, n_components, seed)
            return self._learnt(data, n_components, r, seed)

    def chosen_factors(self, data: Comparisons, K: int, seed: int) -> int:
        """How many factors, learnt on some training users, predict the others best."""
        held = trials(data, seed, self.hold_out)
        best, least = 0, np.inf
        for r in self._numbers():
            if r >= max(data.n_items, 1):
                break
            fits = [self._learnt(each.train, min(K, each.train.n_users), r, seed) for each in held]
            scores = [loss(fit, *each[1:]) for fit, each in zip(fits, held, strict=True)]
            now = float(np.nan_to_num(np.nanmean(scores), nan=np.inf))
            if now < least - _LEAST_GAIN:
                best, least = r, now
            elif r > 1:
                break
        return best

    def _numbers(self) -> itertools.chain[int]:
        last = max(self.n_factors)
        return itertools.chain(self.n_factors, (max(last, 1) * 2**n for n in itertools.count(1)))

    def _learnt(self, data: Comparisons, K: int, r: int, seed: int) -> FittedPredictor:
        blocks, engine = make_blocks(data), ThreadEngine()
        start = initial_utilities(blocks, data.n_items, engine)
        first = start.parameters(initial_means(blocks, data.n_items, K, seed), r)
        model = as_utilities_model(
            learn_utilities(blocks, first, engine, self.n_rounds), data.items
        )
        return of_member(model, data.items, model.means, (("factors", r),))
