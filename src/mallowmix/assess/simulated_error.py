"""The error to expect at this size, by simulation.

The same users compare the same pairs, their choices are drawn from the model, and a model is learnt
from them.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, ThreadEngine, make_blocks
from mallowmix.engine.selection import EngineName
from mallowmix.errors import MallowmixWarning
from mallowmix.fitting.update import refine_from, update
from mallowmix.learn.spectral.user_scores import Smooth, maximise_likelihood, one_step
from mallowmix.model.fitted_model import AnyModel, FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import match_components
from mallowmix.model.sampling import draw_weights
from mallowmix.numerics.randomness import Step, generator
from mallowmix.typing import Array, Progress

_STEP = Step.SIMULATED_ERROR
_PRIOR_ERRORS = 8  # of the nominal size, added to those of simulations
_SWEEPS = 30  # behind a score: their noise is some hundredths of its variance over people
_WIDEST = 3.0  # beyond that the data is too little for any interval


@dataclass(frozen=True)
class ExpectedError:
    """The mean error of a model learnt from data like this, if the model were true.

    Attributes
    ----------
    kendall : tuple of float
        For each component, the fraction of pairs in the wrong order.
    phi, share : float
        Mean absolute errors over components.
    n_simulations : int
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
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> ExpectedError:
    """Draw all choices anew from the model, learn from them with `update`, and compare.

    Which pairs each user compares, and how often, stays as it was. Starting at the truth leaves out
    the errors of the initialisation.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons
        Those that the model was learnt from.
    n_simulations : int
    seed : int
    n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    ExpectedError
    """
    distances, phis, shares = [], [], []
    for n in range(n_simulations):
        data = draw_again(model, comparisons, seed=seed, draw=n)
        found = _learn_on(model, data, seed, n_jobs, engine)
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
    """What learning the rankings too does to logit φ.

    Attributes
    ----------
    bias, error : float
        The bias of logit φ, and the standard error of that.
    widening : float
        How many times wider logit φ spreads than with known rankings.
    """

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
    progress: Progress | None = None,
) -> Simulated:
    """Simulate the bias and the spread of logit φ when rankings are learnt from the same data.

    The model's φ and α have such biases themselves, and nearer to the truth the bias of φ is
    larger. So half as many simulations go first, and the others are drawn with what those show
    taken off φ and α (an iterated bootstrap). φ comes out too small most often.

    The widening is that of the spread about the mean of each round, in standard errors that take
    the rankings for known: from 1 to 3, shrunk towards 1 as eight more errors of that size would
    do.

    Parameters
    ----------
    model : AnyModel
    smooth : Smooth
        η̂, where simulations start.
    comparisons : Comparisons
    n_simulations : int
    part : float
        The fraction of the model's users that the comparisons are of. The model's own bias, which
        is returned, is smaller by this factor.
    seed : int
    n_jobs : int, optional
    progress : callable, optional

    Returns
    -------
    Simulated
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
    """How much wider errors spread than their own standard errors."""
    size = sum(z.size for z in rounds)
    spread = (
        sum(float(np.sum((z - z.mean()) ** 2)) for z in rounds) * size / max(size - len(rounds), 1)
    )
    return float(np.clip(np.sqrt((spread + _PRIOR_ERRORS) / (size + _PRIOR_ERRORS)), 1.0, _WIDEST))


def _simulate(
    model: AnyModel, eta: Array, comparisons: Comparisons, draw: int, seed: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """Learn from draws at η: (2, K) errors of logit φ and log α, (K,) s.e. of logit φ."""
    K = model.n_components
    truth = M4(model.sigma, expit(eta[:K]), np.exp(eta[K:]), model.items)
    data = draw_again(truth, comparisons, seed=seed, draw=draw)
    engine = ThreadEngine(n_jobs)
    # its φ and α are taken to the maximum below
    found = refine_from(FittedModel(truth), data, seed, engine, shown=False)
    at_maximum = maximise_likelihood(
        found, make_blocks(data), engine, steps=2, sweeps=_SWEEPS, seed=seed
    )
    order = match_components(found.sigma, truth.sigma).found
    # (M, 2K) what each person adds to η̂
    influence = one_step(at_maximum, data.user_weight[:, None] * at_maximum.scores)
    standard_error = np.sqrt(np.sum(influence[:, order] ** 2, axis=0))  # logit φ comes first in η
    return at_maximum.eta.reshape(2, K)[:, order] - eta.reshape(2, K), standard_error


def _learn_on(
    model: AnyModel,
    data: Comparisons,
    seed: int,
    n_jobs: int | None,
    engine: EngineName | Engine | None = None,
) -> FittedModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return update(model, data, seed=seed, n_jobs=n_jobs, engine=engine)


def draw_again(
    model: AnyModel, comparisons: Comparisons, *, seed: int = 0, draw: int = 0
) -> Comparisons:
    """Draw new choices for the same users and pairs: weights from the prior, then choices.

    A row of weight 2.5 stands for three choices, of weights 1, 1 and ½.
    """
    data = comparisons.with_items(model.items)
    copies = np.ceil(data.weight).astype(np.int64)
    rows = np.repeat(np.arange(len(data)), copies)
    weight = np.ones(len(rows))
    weight[np.cumsum(copies) - 1] = data.weight - (copies - 1)
    random = generator(seed, _STEP, draw)
    theta = draw_weights(model.alpha, data.n_users, seed=int(random.integers(2**63)))
    u, v = random.random((2, len(rows)))
    component = (u[:, None] >= np.cumsum(theta, axis=1)[data.user[rows], :-1]).sum(axis=1)
    low, high = (
        np.minimum(data.winner, data.loser)[rows],
        np.maximum(data.winner, data.loser)[rows],
    )
    first = v < model.beta()[component, low, high]
    winner, loser = np.where(first, low, high), np.where(first, high, low)
    return Comparisons.from_codes(
        data.user[rows], winner, loser, weight, data.items, data.users, data.user_weight
    )
