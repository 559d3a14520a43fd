"""What error to expect at this size: the same people asked the same pairs, answering as the model says, and learnt from anew."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mallowmix.assess.intervals.user_scores import Smooth, maximise_likelihood, one_step
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.update import update
from mallowmix.model.fitted_model import AnyModel, FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import match_components
from mallowmix.model.sampling import draw_weights
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array

_STEP = Step.SIMULATED_ERROR
_AS_SAID = 8  # errors of the size that is said, which those of simulations are put beside
_WIDEST = 3.0  # beyond that the data is too little for any interval


@dataclass(frozen=True)
class ExpectedError:
    """The mean error of a model learnt from data like this, if the model were true.

    kendall : of each component, the fraction of pairs in the wrong order
    phi, share : mean absolute errors over components
    """

    kendall: tuple[float, ...]
    phi: float
    share: float
    n_simulations: int


def expected_error(
    model: AnyModel,
    comparisons: Comparisons,
    n_simulations: int = 5,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> ExpectedError:
    """Draw everybody's answers anew from the model, learn on from it with `update`, and compare.

    Who was asked what, and how often, stays as it was. Starting at the truth leaves out the errors of a start from nothing.
    """
    distances, phis, shares = [], [], []
    for n in range(n_simulations):
        found = _learn_on(model, draw_again(model, comparisons, seed=seed, draw=n), seed, n_jobs)
        matching = match_components(found.sigma, model.sigma)
        distances.append(matching.kendall)
        phis.append(np.abs(found.phi[matching.found] - model.phi).mean())
        shares.append(np.abs(found.share[matching.found] - model.share).mean())
        if progress:
            progress("simulations", n + 1, n_simulations)
    mean = np.mean(distances, axis=0)
    return ExpectedError(
        tuple(mean.tolist()), float(np.mean(phis)), float(np.mean(shares)), n_simulations
    )


class Simulated(NamedTuple):
    """What learning the rankings too does to logit φ: its bias, the error of that, and how much wider it spreads."""

    bias: float
    error: float
    widening: float


def simulate_phi(
    model: AnyModel,
    smooth: Smooth,
    comparisons: Comparisons,
    n_simulations: int = 8,
    *,
    part: float = 1.0,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Simulated:
    """How far logit φ comes out from the φ that data is drawn with anew, over simulations and components (most often too small).

    part : how many of the people that the model was learnt from the comparisons are of; its own bias is so much smaller, and it
        is the model's that is given

    The model's φ and α have such biases themselves, and nearer to the truth the bias of φ is larger. So half as many simulations
    go first, and the others are drawn with what those show taken off φ and α (an iterated bootstrap).

    The widening is that of the spread about the mean of each round, in standard errors that take the rankings for known: from 1
    to 3, and drawn towards 1 as eight more errors of that size would do.
    """
    first, eta = max(1, n_simulations // 2), smooth.eta
    errors, scaled = [], []
    for n in range(first + n_simulations):
        if n == first:
            eta = eta - part * np.repeat(np.mean(errors, axis=(0, 2)), model.n_components)
        error, standard_error = _simulate(model, eta, comparisons, n, seed, n_jobs)
        errors.append(error)
        scaled.append(error[0] / standard_error)
        if progress:
            progress("bias", n + 1, first + n_simulations)
    means = np.mean(errors[first:], axis=2)[:, 0]
    widening = _widening([np.array(scaled[:first]), np.array(scaled[first:])])
    return Simulated(
        part * float(means.mean()),
        part * float(np.std(means, ddof=1) / np.sqrt(n_simulations)),
        widening,
    )


def _widening(rounds: list[Array]) -> float:
    """How much wider errors spread, each in its own standard errors, than these say."""
    size = sum(z.size for z in rounds)
    spread = (
        sum(float(np.sum((z - z.mean()) ** 2)) for z in rounds) * size / max(size - len(rounds), 1)
    )
    return float(np.clip(np.sqrt((spread + _AS_SAID) / (size + _AS_SAID)), 1.0, _WIDEST))


def _simulate(
    model: AnyModel, eta: Array, comparisons: Comparisons, draw: int, seed: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """Learnt from data drawn at η: (2, K) errors of logit φ and log α, and (K,) standard errors of the former."""
    K = model.n_components
    truth = M4(model.sigma, expit(eta[:K]), np.exp(eta[K:]), model.items)
    votes = draw_again(truth, comparisons, seed=seed, draw=draw)
    found = _learn_on(truth, votes, seed, n_jobs)
    settled = maximise_likelihood(
        found, make_blocks(votes), ThreadEngine(n_jobs), steps=2, sweeps=60, seed=seed
    )
    order = match_components(found.sigma, truth.sigma).found
    # (M, 2K) what each person adds to η̂
    influence = one_step(settled, votes.user_weight[:, None] * settled.scores)
    standard_error = np.sqrt(np.sum(influence[:, order] ** 2, axis=0))  # logit φ comes first in η
    return settled.eta.reshape(2, K)[:, order] - eta.reshape(2, K), standard_error


def _learn_on(model: AnyModel, votes: Comparisons, seed: int, n_jobs: int | None) -> FittedModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return update(model, votes, seed=seed, n_jobs=n_jobs)


def draw_again(
    model: AnyModel, comparisons: Comparisons, *, seed: int = 0, draw: int = 0
) -> Comparisons:
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
    low, high = (
        np.minimum(votes.winner, votes.loser)[rows],
        np.maximum(votes.winner, votes.loser)[rows],
    )
    first = v < model.beta()[taste, low, high]
    winner, loser = np.where(first, low, high), np.where(first, high, low)
    return Comparisons.from_codes(
        votes.user[rows], winner, loser, weight, votes.items, votes.users, votes.user_weight
    )
