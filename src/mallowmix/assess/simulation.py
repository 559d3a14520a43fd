"""What error to expect at this size: the same people asked the same pairs, answering as the model says, and learnt from anew."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mallowmix.assess.scores import Smooth, settle
from mallowmix.comparisons import Comparisons
from mallowmix.engine import LocalEngine, make_blocks
from mallowmix.errors import MallowmixWarning
from mallowmix.learn.update import update
from mallowmix.model import M4
from mallowmix.randomness import generator
from mallowmix.rankings import match_components
from mallowmix.sampling import draw_weights

_STEP = 104


@dataclass(frozen=True)
class ExpectedError:
    """The mean error of a model learnt from data like this, if the model were true.

    kendall : of each component, the fraction of pairs in the wrong order
    phi, share : mean absolute errors over components
    """

    kendall: tuple[float, ...]
    phi: float
    share: float
    simulations: int


def expected_error(
    model: M4,
    comparisons: Comparisons,
    simulations: int = 5,
    *,
    seed: int = 0,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> ExpectedError:
    """Draw everybody's answers anew from the model, learn on from it with `update`, and compare.

    Who was asked what, and how often, stays as it was. Starting at the truth leaves out the errors of a start from nothing.
    """
    distances, phis, shares = [], [], []
    for n in range(simulations):
        found = _learn_on(model, draw_again(model, comparisons, seed=seed, draw=n), seed, jobs)
        matching = match_components(found.sigma, model.sigma)
        distances.append(matching.kendall)
        phis.append(np.abs(found.phi[matching.found] - model.phi).mean())
        shares.append(np.abs(found.share[matching.found] - model.share).mean())
        if progress:
            progress("simulations", n + 1, simulations)
    mean = np.mean(distances, axis=0)
    return ExpectedError(tuple(mean.tolist()), float(np.mean(phis)), float(np.mean(shares)), simulations)


def phi_bias(
    model: M4,
    smooth: Smooth,
    comparisons: Comparisons,
    simulations: int = 8,
    *,
    seed: int = 0,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[float, float]:
    """How much too large logit φ comes out when the rankings are learnt too (most often it is too small), and the error of that.

    The mean over simulations and components of what is learnt from data drawn anew, less the φ that it was drawn with.
    """
    truth, errors = M4(model.sigma, smooth.phi, smooth.alpha, model.items), []
    for n in range(simulations):
        votes = draw_again(truth, comparisons, seed=seed, draw=n)
        found = _learn_on(truth, votes, seed, jobs)
        settled = settle(found, make_blocks(votes), LocalEngine(jobs), steps=2, sweeps=60, seed=seed)
        order = match_components(found.sigma, truth.sigma).found
        errors.append(np.mean(settled.eta[order] - smooth.eta[: len(order)]))  # logit φ comes first in η
        if progress:
            progress("bias", n + 1, simulations)
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(simulations))


def _learn_on(model: M4, votes: Comparisons, seed: int, jobs: int | None) -> M4:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return update(model, votes, seed=seed, jobs=jobs)


def draw_again(model: M4, comparisons: Comparisons, *, seed: int = 0, draw: int = 0) -> Comparisons:
    """The same people asked the same pairs as often, with weights drawn from the prior and answers from the model.

    A row of weight 2.5 stands for three answers, of weights 1, 1 and ½.
    """
    votes = comparisons.with_items(model.items)
    copies = np.ceil(votes.weight).astype(np.int64)
    rows = np.repeat(np.arange(len(votes)), copies)
    weight = np.ones(len(rows))
    weight[np.cumsum(copies) - 1] = votes.weight - (copies - 1)
    random = generator(seed, _STEP, draw)
    theta = draw_weights(model.alpha, votes.n_users, seed=int(random.integers(2**63)))
    u, v = random.random((2, len(rows)))
    taste = (u[:, None] >= np.cumsum(theta, axis=1)[votes.user[rows], :-1]).sum(axis=1)
    low, high = np.minimum(votes.winner, votes.loser)[rows], np.maximum(votes.winner, votes.loser)[rows]
    first = v < model.beta()[taste, low, high]
    winner, loser = np.where(first, low, high), np.where(first, high, low)
    return Comparisons.from_codes(votes.user[rows], winner, loser, weight, votes.items, votes.users, votes.user_weight)
