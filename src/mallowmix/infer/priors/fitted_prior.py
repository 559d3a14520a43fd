"""The prior of users' weights, learnt from users at hand with the components held fixed.

Four kinds. "dirichlet": α by Monte-Carlo EM (`dirichlet_prior`). "vertices": each user holds one
component (a mixture of Mallows models); shares by EM, exactly. "both": a share of the users hold
one component and the others are drawn from a Dirichlet (`vertex_prior`). "discrete": any
distribution on finitely many points (`discrete_prior`).
"""

import warnings
from dataclasses import replace
from functools import partial
from typing import Literal, overload

import numpy as np

from mallowmix.engine import Block, Engine, make_blocks, map_step, parallel_sum
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons_in_memory
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import (
    DataError,
    FitWarning,
    OptionError,
    check_choice,
    check_count,
)
from mallowmix.infer.prepared_model import PreparedModel, prepare, prepare_components
from mallowmix.infer.priors.dirichlet_prior import check_converged, dirichlet_path
from mallowmix.infer.priors.discrete_prior import DiscretePrior, fit_discrete
from mallowmix.infer.priors.vertex_prior import fit_both
from mallowmix.learn.spectral.user_sample import sample_users, sampled_share
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.m4 import M4
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.compiled import compiled
from mallowmix.typing import Array

KINDS = ("dirichlet", "vertices", "discrete", "both")
Kind = Literal["dirichlet", "vertices", "discrete", "both"]
# users of whom "both" is learnt: each has some hundred draws of θ in memory
_USERS = 3000


@overload
def fit_prior(
    model: AnyModel,
    comparisons: ComparisonsLike,
    kind: Literal["discrete"],
    *,
    unknown_items: Literal["error", "drop"] = ...,
    n_cycles: int = ...,
    n_points: int = ...,
    seed: int = ...,
    n_jobs: int | None = ...,
    engine: EngineName | Engine | None = ...,
) -> DiscretePrior: ...
@overload
def fit_prior(
    model: AnyModel,
    comparisons: ComparisonsLike,
    kind: Literal["dirichlet", "vertices", "both"] = ...,
    *,
    unknown_items: Literal["error", "drop"] = ...,
    n_cycles: int = ...,
    n_points: int = ...,
    seed: int = ...,
    n_jobs: int | None = ...,
    engine: EngineName | Engine | None = ...,
) -> FittedModel: ...
def fit_prior(
    model: AnyModel,
    comparisons: ComparisonsLike,
    kind: Kind = "dirichlet",
    *,
    unknown_items: Literal["error", "drop"] = "error",
    n_cycles: int = 60,
    n_points: int = 300,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> FittedModel | DiscretePrior:
    """Learn the prior of users' weights; the components stay fixed.

    Parameters
    ----------
    model : FittedModel or M4
        The components, and the prior to begin with.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        In memory, those of the users to learn from, who count by `user_weight`; many users are
        sampled, as in `fit`, for "dirichlet" and "both".
    kind : {"dirichlet", "vertices", "both", "discrete"}
        "dirichlet" gives a new `alpha` and no vertex part; "vertices" sets
        `calibration.vertex_share` to 1 and `alpha` to the shares (times the old sum); "both" gives
        `alpha` and `calibration.vertex_share`; "discrete" gives a `DiscretePrior`.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    n_cycles : int
        Gibbs cycles of "dirichlet" and "both"; the result is the mean over the last two thirds.
    n_points : int
        How many points "discrete" may have.
    seed, n_jobs, engine
        As in `fit`.

    Returns
    -------
    FittedModel or DiscretePrior
        The model with the new prior. Its likelihood weight stays, the scale of the prior becomes
        1, and the members of its ensemble get their own `alpha`.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=100)
    >>> mm.fit_prior(dishes.model, dishes.comparisons, "vertices").calibration.vertex_share
    1.0
    """
    check_model(model)
    comparisons = as_comparisons_in_memory(comparisons, "A prior")
    check_choice("kind", kind, KINDS)
    check_count("n_cycles", n_cycles, 6)
    if kind != "discrete":  # which has a bound of its own
        check_count("n_points", n_points, 1)
    fitted = as_fitted(model)
    if fitted.calibration.spam_share > 0:
        raise OptionError(
            "The model's calibration has a spam component, which is no part of a prior: "
            "fit the prior first, then calibrate.",
            option="calibration",
            value=fitted.calibration,
            expected="without a spam component",
        )
    comparisons = comparisons.with_items(fitted.items, unknown_items=unknown_items)
    blocks = make_blocks(comparisons)
    if not comparisons.user_weight[comparisons.user].any():
        raise DataError(
            "Nobody has a comparison of the model's items that counts: "
            "a prior is learnt from people, so add some."
        )
    with using(engine, n_jobs) as run:
        if kind == "discrete":
            return fit_discrete(prepare(fitted), blocks, run, n_points=n_points, seed=seed)
        found = [
            _refit(member, fitted.calibration, blocks, run, kind, n_cycles, seed)
            for member in fitted.members
        ]
    own, vertex_share = found[0]
    members = (_with_alpha(m, a) for m, (a, _) in zip(fitted.ensemble, found[1:], strict=True))
    bt = fitted.bradley_terry
    return replace(
        fitted,
        m4=replace(fitted.m4, alpha=own),
        bradley_terry=None if bt is None else replace(bt, alpha=own),
        calibration=replace(fitted.calibration, prior_scale=1.0, vertex_share=vertex_share),
        ensemble=Ensemble(tuple(members)),
    )


def _with_alpha(member: M4 | BradleyTerryModel, alpha: Array) -> M4 | BradleyTerryModel:
    return replace(member, alpha=alpha)


def _refit(
    member: M4 | BradleyTerryModel,
    calibration: Calibration,
    blocks: list[Block],
    engine: Engine,
    kind: str,
    n_cycles: int,
    seed: int,
) -> tuple[Array, float]:
    """α and the share of users at a vertex, for one member's components."""
    prepared = prepare_components(member, calibration)
    if kind == "vertices":
        shares = np.maximum(_shares(prepared, blocks, engine), 1e-9)
        return member.alpha.sum() * shares, 1.0
    share = sampled_share(sum(float(block.weight.sum()) for block in blocks))
    sample = [sample_users(block, share, seed) for block in blocks]
    path = dirichlet_path(prepared, sample, engine, n_cycles, seed)
    alpha = np.exp(path.mean(axis=0))
    if kind != "both":
        check_converged(path)
        return alpha, 0.0
    n_users = sum(block.n_users for block in blocks)
    few = [sample_users(block, min(share, _USERS / n_users), seed) for block in blocks]
    return fit_both(prepared._replace(alpha=alpha), few, engine, seed=seed)


# ---- vertices: a mixture of Mallows models ----


def _shares(
    prepared: PreparedModel,
    blocks: list[Block],
    engine: Engine,
    max_iter: int = 10_000,
    tol: float = 1e-9,
) -> Array:
    """EM for the shares: a_k ← mean over users of Pr(k | comparisons) ∝ a_k Π_n β_(w_n),k^e."""
    likelihood = engine.map(_vertex_likelihood, blocks, prepared)
    users = [(part, block.user_weight) for part, block in zip(likelihood, blocks, strict=True)]
    share = np.full(len(prepared.alpha), 1 / len(prepared.alpha))
    for _ in range(max_iter):
        total = parallel_sum(partial(_responsibility, share=share), users, engine.n_jobs)
        new = total / total.sum()
        if np.max(np.abs(new - share)) < tol:
            return new
        share = new
    warnings.warn(
        FitWarning(f"The shares still moved by more than {tol:g} after {max_iter} steps."),
        stacklevel=4,
    )
    return share


@map_step("likelihood of vertices")
def _vertex_likelihood(block: Block, prepared: PreparedModel) -> Array:
    """(M, K) the likelihood of each user under each component alone, the best one 1."""
    log_p = _single(
        block.starts, block.pair, block.weight, np.log(prepared.beta), prepared.likelihood_weight
    )
    return np.exp(log_p - log_p.max(axis=1, keepdims=True))


def _responsibility(users: tuple[Array, Array], share: Array) -> Array:
    r = users[0] * share
    return users[1] @ (r / r.sum(axis=1, keepdims=True))


@compiled
def _single(starts, pair, weight, log_beta, likelihood_weight):
    """(M, K) e Σ_n weight_n log β_(w_n),k."""
    out = np.zeros((len(starts) - 1, log_beta.shape[1]))
    for m in range(len(out)):
        for row in range(starts[m], starts[m + 1]):
            out[m] += likelihood_weight * weight[row] * log_beta[pair[row]]
    return out
