"""Personal rankings, alone: one of the models that the predictor pools.

A user holds one ranking for all answers, drawn from a mixture of Mallows models; answers follow it
with errors at a small rate, so that users who contradict themselves can be fitted (unlike
`peers.amp_em`). Learnt by Monte-Carlo EM (`learn.rankings`), from groups of users.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import check_at_least
from mallowmix.learn.rankings.rankings_em import FIRST_ERROR_RATE, fit_personal_rankings
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.model.permutations import sigma_of
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.peers.fitted_predictor import FittedPredictor, of_member
from mallowmix.peers.required_data import need_comparisons

_FIRST_PHI = 0.7


@dataclass(frozen=True)
class PersonalRankings:
    """Mixture of K Mallows components; each user draws one ranking and follows it, with errors.

    Needs comparisons, which may contradict each other; assumes that all answers of a user follow
    one ranking.

    Parameters
    ----------
    n_rounds, n_sweeps : int
        Rounds of EM, and sweeps of each user's chain in a round.
    """

    n_rounds: int = 30
    n_sweeps: int = 2
    name: str = "personal rankings with errors"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedPredictor:
        """Learn from comparisons (or from those that rankings imply)."""
        check_at_least("n_components", n_components, 1)
        data = need_comparisons(self, data)
        blocks, K = make_blocks(data), n_components
        means = initial_means(blocks, data.n_items, K, seed)
        sigma = sigma_of(np.argsort(-means, axis=1, kind="stable"))
        start = RankingsModel(
            sigma, np.full(K, _FIRST_PHI), np.full(K, 1 / K), FIRST_ERROR_RATE, data.items
        )
        model = fit_personal_rankings(
            blocks,
            start,
            ThreadEngine(),
            n_rounds=self.n_rounds,
            n_sweeps=self.n_sweeps,
            seed=seed,
        )
        settings = (("error_rate", model.error_rate),)
        return of_member(model, data.items, -model.sigma.astype(np.float64), settings)
