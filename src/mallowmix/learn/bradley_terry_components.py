"""Bradley–Terry columns: each component a score for every item, β_(i,j),k = 1 / (1 + exp(s_kj − s_ki)), in place of a ranking.

They bend where Mallows columns are rigid: the distance between neighbours in the ranking is learnt. The people, the prior and the
number of components come from a Mallows fit; a few EM steps then move the columns alone.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, make_blocks
from mallowmix.learn.spectral.mallows_mstep import Columns, beta_table, fit_column_phi
from mallowmix.learn.spectral.variational_em import FLOOR, expected_counts
from mallowmix.model.m4 import M4
from mallowmix.model.permutations import sigma_of

RIDGE = 0.5  # prior precision of a score: log-odds beyond ±3 or so need evidence
_N_ITER = 12  # EM steps
_NEWTON = 25  # steps of the maximum for one component
Array = NDArray[np.float64]


def with_scores(model: M4, comparisons: Comparisons, engine: Engine, *, ridge: float = RIDGE) -> M4:
    """The model with Bradley–Terry columns learnt from its Mallows columns on; components stay in their order."""
    blocks, Q, K = make_blocks(comparisons), model.n_items, model.n_components
    table = beta_table(Columns(np.array(model.sigma), np.array(model.phi)), FLOOR)
    scores, counts, gamma = np.zeros((K, Q)), np.zeros((Q * Q, K)), None
    for _ in range(_N_ITER):
        counts, gamma = expected_counts(blocks, table, model.alpha, engine, gamma)
        scores = np.stack(
            [best_scores(counts[:, k].reshape(Q, Q), ridge, scores[k]) for k in range(K)]
        )
        table = (
            np.clip(expit(scores[:, :, None] - scores[:, None, :]), FLOOR, 1 - FLOOR)
            .reshape(K, -1)
            .T
        )
    sigma = sigma_of(np.argsort(-scores, axis=1, kind="stable"))
    phi = [fit_column_phi(counts[:, k].reshape(Q, Q), sigma[k], floor=FLOOR) for k in range(K)]
    return dataclasses.replace(model, sigma=sigma, phi=np.array(phi), scores=scores)


def best_scores(wins: Array, ridge: float, start: Array | None = None) -> Array:
    """(Q,) the scores that maximise Σ wins_ij log expit(s_i − s_j) − ridge/2 Σ s_i², by Newton's method; they sum to zero."""
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
