"""A mixture of Gaussian utilities, alone: one of the models that the predictor pools.

A user holds component k with probability π_k and has utilities u ~ N(s_k, Σ); answers are logistic
in u_i − u_j. Learnt by EM (`learn.utilities`), which is stopped where it predicts best: with Q²
numbers to learn, the maximum of the likelihood predicts worse than earlier points of the path.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.labels import Labels
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import check_at_least
from mallowmix.learn.utilities.initial_means import initial_means
from mallowmix.learn.utilities.utilities_em import UtilitiesRound, first_parameters, utilities_path
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.peers.fitted_predictor import FittedPredictor, of_member
from mallowmix.peers.required_data import need_comparisons
from mallowmix.peers.validation import NEW_ITEMS, HoldOut, loss, trials

_FIRST_LOOK, _APART = 1, 1.35  # rounds, and how many times more to the next look
_PATIENCE, _LEAST_GAIN = 2, 0.0002  # looks without such a gain, after which EM stops


@dataclass(frozen=True)
class GaussianUtilities:
    """A mixture of K Gaussians of utilities; each user has utilities of their own.

    Needs comparisons, some of each user; assumes that a user's utilities lie around one of K means,
    with a covariance that all components share.

    Parameters
    ----------
    max_rounds : int
        Of EM, at most; how many is chosen on training users.
    hold_out : HoldOut
        What is held out of the training users by whom this is chosen.
    """

    max_rounds: int = 200
    hold_out: HoldOut = NEW_ITEMS
    name: str = "mixture of Gaussian utilities"
    needs: Literal["comparisons", "ratings", "rankings"] = "comparisons"

    def fit(self, data: Comparisons, n_components: int, *, seed: int = 0) -> FittedPredictor:
        """Learn from comparisons."""
        check_at_least("n_components", n_components, 1)
        check_at_least("max_rounds", self.max_rounds, 1)
        data = need_comparisons(self, data)
        with threadpool_limits(1):  # threads are ours, over blocks of users
            rounds = self.chosen_rounds(data, n_components, seed)
            last = _after(self._path(data, n_components, seed), rounds)
        return _fitted(last, data.items)

    def chosen_rounds(self, data: Comparisons, K: int, seed: int) -> int:
        """How many rounds of EM on some training users predict the others best."""
        held = trials(data, seed, self.hold_out)
        paths = [self._path(each.train, min(K, each.train.n_users), seed) for each in held]
        looks, losses, done = [], [], 0
        for look in _looks(self.max_rounds):
            models = [_fitted(_after(path, look - done), data.items) for path in paths]
            scores = [loss(model, *each[1:]) for model, each in zip(models, held, strict=True)]
            looks.append(look)
            losses.append(float(np.nan_to_num(np.nanmean(scores), nan=np.inf)))
            done = look
            if np.min(losses[-_PATIENCE:]) > min(losses[:-_PATIENCE], default=np.inf) - _LEAST_GAIN:
                break
        return looks[int(np.argmin(losses))]

    def _path(self, data: Comparisons, K: int, seed: int) -> Iterator[UtilitiesRound]:
        blocks = make_blocks(data)
        start = first_parameters(initial_means(blocks, data.n_items, K, seed))
        return utilities_path(blocks, start, ThreadEngine(), max_rounds=self.max_rounds)


def _looks(most: int) -> Iterator[int]:
    """Numbers of rounds at which the path is looked at."""
    look = min(_FIRST_LOOK, most)
    while look < most:
        yield look
        look = max(look + 1, round(_APART * look))
    yield most


def _after(path: Iterator[UtilitiesRound], n_rounds: int) -> UtilitiesRound:
    """The point of the path so many rounds further on."""
    return next(islice(path, n_rounds - 1, None))


def _fitted(found: UtilitiesRound, items: Labels) -> FittedPredictor:
    shares = np.exp(found.parameters.log_shares)
    means, covariance = found.parameters.means, found.parameters.covariance
    model = UtilitiesModel(means, covariance, shares / shares.sum(), items)
    return of_member(model, items, model.means, (("rounds", found.n_rounds),))
