"""Bradley–Terry components: each has a score for every item instead of a ranking.

β_(i,j),k = 1 / (1 + exp(s_kj − s_ki)). They are more flexible than Mallows components: the distance
between neighbours in the ranking is learnt. The users' weights, the prior and the number of
components come from a Mallows fit; a few EM steps then move the components alone.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, make_blocks
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents, beta_table
from mallowmix.learn.spectral.variational_em import expected_counts
from mallowmix.model import least_beta
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.dispersion import phi_of_counts
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.typing import Array

RIDGE = 0.5  # prior precision of a score: log-odds beyond ±3 or so need data
_N_ITER = 12  # EM steps
_NEWTON = 25  # steps of Newton's method for one component


def learn_scores(
    model: FittedModel, comparisons: Comparisons, engine: Engine, *, ridge: float = RIDGE
) -> FittedModel:
    """Learn Bradley–Terry scores, beginning with a model's Mallows components.

    Parameters
    ----------
    model : FittedModel
        A Mallows fit of the same comparisons.
    comparisons : Comparisons
        What users preferred.
    engine : Engine
        Where the passes run.
    ridge : float
        Prior precision of a score.

    Returns
    -------
    FittedModel
        The model with scores; components stay in their order.
    """
    blocks, Q, K = make_blocks(comparisons), model.n_items, model.n_components
    least = least_beta.EXPECTED_COUNTS
    table = beta_table(MallowsComponents(np.array(model.sigma), np.array(model.phi)), least)
    scores, counts, gamma = np.zeros((K, Q)), np.zeros((Q * Q, K)), None
    for _ in range(_N_ITER):
        counts, gamma = expected_counts(blocks, table, model.alpha, engine, gamma)
        wins = [counts[:, k].reshape(Q, Q) for k in range(K)]
        scores = np.stack([best_scores(wins[k], ridge, scores[k]) for k in range(K)])
        beta = np.clip(expit(scores[:, :, None] - scores[:, None, :]), least, 1 - least)
        table = beta.reshape(K, -1).T
    learnt = BradleyTerryModel(scores, model.alpha, model.items)
    phi = [
        phi_of_counts(counts[:, k].reshape(Q, Q), learnt.sigma[k], floor=least) for k in range(K)
    ]
    m4 = M4(learnt.sigma, np.array(phi), model.alpha, model.items)
    return replace(model, m4=m4, bradley_terry=learnt)


def best_scores(wins: Array, ridge: float, start: Array | None = None) -> Array:
    """The scores that maximise Σ wins_ij log expit(s_i − s_j) − ridge/2 Σ s_i², by Newton's method.

    Parameters
    ----------
    wins : (Q, Q) array
        How often i was preferred to j.
    ridge : float
        Prior precision of a score.
    start : (Q,) array, optional
        Where to begin; zeros unless given.

    Returns
    -------
    (Q,) array
        Scores that sum to zero.
    """
    Q = len(wins)
    scores, games = np.zeros(Q) if start is None else start, wins + wins.T
    for _ in range(_NEWTON):
        p = expit(scores[:, None] - scores[None, :])
        gradient = (wins - games * p).sum(axis=1) - ridge * scores
        information = games * p * p.T  # p_ij p_ji
        hessian = np.diag(information.sum(axis=1) + ridge) - information
        step = cho_solve(cho_factor(hessian), gradient)
        scores = scores + step / max(1.0, np.abs(step).max() / 2)  # never more than 2 at once
        if np.abs(step).max() < 1e-8:
            break
    return scores
