"""The prior of people's weights, learnt from people at hand with the components held fixed.

Four kinds. "dirichlet": α by Monte-Carlo EM, started from the moments of θ in closed form and
refined by Minka's fixed point. "vertices": everybody holds one component (a mixture of Mallows
models); shares by EM, exactly. "both": a share of the people hold one component and the others
are drawn from a Dirichlet (`vertex_prior`). "discrete": any distribution on finitely many points
(`discrete_prior`).
"""

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numba as nb
import numpy as np
from numpy.typing import NDArray

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import (
    Block,
    Engine,
    ThreadEngine,
    make_blocks,
    map_step,
    parallel_sum,
    reduce_step,
)
from mallowmix.errors import (
    DataError,
    FitWarning,
    Option,
    OptionError,
    check_at_least,
    check_choice,
)
from mallowmix.infer.prepared_model import PreparedModel, prepare, prepare_components
from mallowmix.infer.priors.discrete_prior import DiscretePrior, fit_discrete
from mallowmix.infer.priors.vertex_prior import fit_both
from mallowmix.learn.spectral.user_sample import sample_users, sampled_share
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.m4 import M4
from mallowmix.numerics.dirichlet import (
    LEAST_ALPHA,
    dirichlet_from_moments,
    polya_slopes,
    polya_step,
)
from mallowmix.numerics.randomness import Step, as_key
from mallowmix.numerics.token_gibbs import count_tokens, sweep_tokens, token_count, user_stream
from mallowmix.typing import Array

KINDS = ("dirichlet", "vertices", "discrete", "both")
Kind = Literal["dirichlet", "vertices", "discrete", "both"]
_STEP = int(Step.PRIOR_SWEEP)
_SWEEPS, _FIXED_POINT = 3, 10  # Gibbs sweeps and steps for α in a cycle
_PEOPLE = (
    3000  # from so many the two parts are told apart: each has some hundred draws of θ in memory
)
# log α that still moves so much between the two halves of the averaged cycles has not settled
_DRIFT = 0.2


class PriorChain(NamedTuple):
    """A block's state: the component of each token, and everybody's tokens in each component."""

    z: NDArray[np.int16]
    counts: Array  # (M, K)
    weight: Array  # (M,) how much each person counts


@overload
def fit_prior(
    model: AnyModel,
    comparisons: Comparisons,
    kind: Literal["discrete"],
    *,
    unknown_items: Literal["error", "drop"] = ...,
    n_cycles: int = ...,
    n_points: int = ...,
    seed: int = ...,
    n_jobs: int | None = ...,
) -> DiscretePrior: ...
@overload
def fit_prior(
    model: AnyModel,
    comparisons: Comparisons,
    kind: Literal["dirichlet", "vertices", "both"] = ...,
    *,
    unknown_items: Literal["error", "drop"] = ...,
    n_cycles: int = ...,
    n_points: int = ...,
    seed: int = ...,
    n_jobs: int | None = ...,
) -> FittedModel: ...
def fit_prior(
    model: AnyModel,
    comparisons: Comparisons,
    kind: Kind = "dirichlet",
    *,
    unknown_items: Literal["error", "drop"] = "error",
    n_cycles: int = 60,
    n_points: int = 300,
    seed: int = 0,
    n_jobs: int | None = None,
) -> FittedModel | DiscretePrior:
    """The model with a prior learnt from these people; its columns stay as they are.

    kind : "dirichlet" gives a new `alpha` and no vertex part; "vertices" sets
    `calibration.vertex_share` to 1 and `alpha` to the shares
        (times the old sum); "both" gives `alpha` and `calibration.vertex_share`; "discrete" gives
        a `DiscretePrior` instead of a model
    n_cycles : Gibbs cycles of "dirichlet" and "both"; the answer is the mean over the last two
    thirds of them
    n_points : how many points "discrete" may have

    The calibration's likelihood weight holds (a comparison counts e) and its scale becomes 1,
    being part of what is learnt. Further fits (`model.ensemble`) get an `alpha` of their own.
    People count by `user_weight`; many people are sampled, as in `fit`, for the two kinds that
    need Gibbs sweeps.
    """
    check_choice("kind", kind, KINDS)
    check_at_least("n_cycles", n_cycles, 6)
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
    blocks, engine = make_blocks(comparisons), ThreadEngine(n_jobs)
    if not comparisons.user_weight[comparisons.user].any():
        raise DataError(
            "Nobody has a comparison of the model's items that counts: a prior is learnt from people, so add some."
        )
    if kind == "discrete":
        return fit_discrete(prepare(fitted), blocks, engine, n_points=n_points, seed=seed)
    found = [
        _refit(member, fitted.calibration, blocks, engine, kind, n_cycles, seed)
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
    path = _monte_carlo(prepared, sample, engine, n_cycles, seed)
    alpha = np.exp(path.mean(axis=0))
    if kind != "both":
        _check_converged(path)
        return alpha, 0.0
    n_users = sum(block.n_users for block in blocks)
    few = [sample_users(block, min(share, _PEOPLE / n_users), seed) for block in blocks]
    return fit_both(prepared._replace(alpha=alpha), few, engine, seed=seed)


# ---- vertices: a mixture of Mallows models
# --------------------------------------------------------------------------------


def _shares(
    prepared: PreparedModel,
    blocks: list[Block],
    engine: Engine,
    max_iter: int = 10_000,
    tol: float = 1e-9,
) -> Array:
    """EM for the shares: a_k ← mean over people of Pr(k | comparisons) ∝ a_k Π_n β_(w_n),k^e."""
    likelihood = engine.map(_vertex_likelihood, blocks, prepared)
    people = [(part, block.user_weight) for part, block in zip(likelihood, blocks, strict=True)]
    share = np.full(len(prepared.alpha), 1 / len(prepared.alpha))
    for _ in range(max_iter):
        total = parallel_sum(partial(_responsibility, share=share), people, engine.n_jobs)
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
    """(M, K) everybody's likelihood under each component alone, the best one 1."""
    log_p = _single(
        block.starts, block.pair, block.weight, np.log(prepared.beta), prepared.likelihood_weight
    )
    return np.exp(log_p - log_p.max(axis=1, keepdims=True))


def _responsibility(person: tuple[Array, Array], share: Array) -> Array:
    r = person[0] * share
    return person[1] @ (r / r.sum(axis=1, keepdims=True))


@nb.njit(cache=True, nogil=True)
def _single(starts, pair, weight, log_beta, likelihood_weight):
    """(M, K) e Σ_n weight_n log β_(w_n),k."""
    out = np.zeros((len(starts) - 1, log_beta.shape[1]))
    for m in range(len(out)):
        for row in range(starts[m], starts[m + 1]):
            out[m] += likelihood_weight * weight[row] * log_beta[pair[row]]
    return out


# ---- Dirichlet
# ------------------------------------------------------------------------------------------------------------


def _monte_carlo(
    prepared: PreparedModel, blocks: list[Block], engine: Engine, n_cycles: int, seed: int
) -> Array:
    """Alternate: sweep over tokens given α, then move α given the tokens. Gives log α of the last two thirds of the cycles."""
    # a start from which the chains mix
    alpha = np.maximum(prepared.share, 0.01) * np.clip(prepared.alpha.sum(), 0.5, 50.0)
    chains, path, key = None, [], as_key(seed)
    for cycle in range(n_cycles):
        (moments, total), chains = engine.reduce(
            _sweep_block, blocks, (prepared._replace(alpha=alpha), cycle, key), chains
        )
        if cycle == 0:
            alpha = np.maximum(
                dirichlet_from_moments(moments[0] / total, moments[1:] / total), LEAST_ALPHA
            )
        alpha = _moved(alpha, chains, engine)
        path.append(np.log(alpha))
    return np.array(path[n_cycles // 3 :])


def _check_converged(path: Array) -> None:
    half = len(path) // 2
    drift = np.abs(path[half:].mean(axis=0) - path[:half].mean(axis=0))
    # an α at its floor: its logarithm means nothing
    drift = drift[path.mean(axis=0) > np.log(10 * LEAST_ALPHA)]
    if np.any(drift > _DRIFT):
        warnings.warn(
            FitWarning(
                f"The prior still moved after {3 * len(path) // 2} cycles "
                f"(log alpha by {drift.max():.2f}); raise ",
                Option("n_cycles"),
                ".",
            ),
            stacklevel=4,
        )


def _moved(alpha: Array, chains: list[PriorChain], engine: Engine) -> Array:
    """Steps of Minka's fixed point α_k ← α_k Σ_m (ψ(n_mk + α_k) − ψ(α_k)) / Σ_m (ψ(n_m + α₀) − ψ(α₀))."""
    for _ in range(_FIXED_POINT):
        slopes = parallel_sum(partial(_chain_slopes, alpha=alpha), chains, engine.n_jobs)
        alpha = polya_step(alpha, slopes)
    return alpha


def _chain_slopes(chain: PriorChain, alpha: Array) -> Array:
    return polya_slopes(chain.counts, chain.weight, alpha)


@reduce_step("Gibbs sweep of a prior")
def _sweep_block(
    block: Block, broadcast: tuple[PreparedModel, int, np.uint64], chain: PriorChain | None
) -> tuple[Any, PriorChain]:
    """Moments of θ (its mean, then θθᵀ) summed over people, and the sum of their weights."""
    prepared, cycle, key = broadcast
    z = np.zeros(int(np.ceil(block.weight).sum()), np.int16) if chain is None else chain.z.copy()
    data = (
        block.starts,
        block.pair,
        block.weight,
        prepared.beta,
        prepared.alpha,
        prepared.likelihood_weight,
    )
    counts = _sweep(*data, z, _SWEEPS if cycle else 10 * _SWEEPS, cycle, block.first_user, key)
    sums = (_moments(counts, prepared.alpha, block.user_weight), float(block.user_weight.sum()))
    return sums, PriorChain(z, counts, block.user_weight)


def _moments(counts: Array, alpha: Array, weight: Array) -> Array:
    """(K + 1, K) Σ_m E θ and Σ_m E θθᵀ of θ ~ Dirichlet(g), g = α + n_m: E θθᵀ = (g gᵀ + diag g) / (g₀ (g₀ + 1))."""
    g = alpha + counts
    g0 = g.sum(axis=1)
    scaled = g * (weight / (g0 * (g0 + 1)))[:, None]
    return np.vstack([(weight / g0) @ g, scaled.T @ g + np.diag(scaled.sum(axis=0))])


@nb.njit(cache=True, nogil=True)
def _sweep(starts, pair, weight, beta, alpha, likelihood_weight, z, sweeps, cycle, first_user, key):
    """(M, K) tokens after Gibbs sweeps in which every token counts the likelihood weight; a row of 2.5 has three."""
    M, K = len(starts) - 1, len(alpha)
    counts, n, p, first = np.zeros((M, K)), np.empty(K), np.empty(K), 0
    for m in range(M):
        state = user_stream(key, first_user + m, _STEP, cycle)
        rows = slice(starts[m], starts[m + 1])
        codes, w = pair[rows], weight[rows]
        own = z[first : first + token_count(w)]
        first += len(own)
        n[:] = alpha
        if cycle > 0:
            count_tokens(w, likelihood_weight, own, n)
        for s in range(sweeps):
            fresh = cycle == 0 and s == 0
            state = sweep_tokens(codes, w, likelihood_weight, beta, n, fresh, own, n, p, state)
        for k in range(K):
            counts[m, k] = n[k] - alpha[k] if n[k] - alpha[k] > 1e-9 else 0.0
    return counts
