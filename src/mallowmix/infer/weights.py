"""How much of each component a user follows: the posterior mean of θ, or a mode."""

import warnings
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Block, Engine, make_blocks, map_step, reduce_step
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import (
    FitWarning,
    Option,
    OptionError,
    check_at_least,
    check_choice,
    check_count,
)
from mallowmix.infer.collapsed_variational import (
    MAX_EXTRAPOLATION,
    extrapolate,
    fold_in,
    gather_rows,
)
from mallowmix.infer.exact_weights import check_quadrature, gibbs_means, quadrature_means
from mallowmix.infer.prepared_model import PreparedModel, prepare
from mallowmix.infer.user_results import Weights
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.fitted_model import names_in
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.compiled import compiled
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array

Estimate = Literal["mean", "map"]
WeightsMethod = Literal["variational", "gibbs", "quadrature"]


def weights(
    model: ComponentModel,
    comparisons: ComparisonsLike,
    *,
    estimate: Estimate = "mean",
    method: WeightsMethod = "variational",
    n_sweeps: int = 10_000,
    seed: int = 0,
    unknown_items: Literal["error", "drop"] = "error",
    max_iter: int = 1000,
    tol: float = 1e-6,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> Weights:
    """Infer the weights of known or new users over the components.

    Parameters
    ----------
    model : FittedModel or M4
        The components and the prior, used with its calibration.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        Those of the users; comparisons from `store_comparisons` are read block by block.
    estimate : {"mean", "map"}
        The posterior mean, or the mode by EM, θ_k ∝ α_k + Σ_n w_n
        r_nk with r_nk ∝ β_(w_n),k θ_k, which is the mode of log-ratios of θ (that of θ itself
        lies on the edge whenever an α is below 1). The mean predicts better; the mode is a little
        faster and more certain.
    method : {"variational", "gibbs", "quadrature"}
        How the mean is found. "variational" is fast and always gives the same number, but an
        approximation (`infer.collapsed_variational`; its error is in docs/people.md);
        "quadrature" is exact, for at most three components; "gibbs" is for any number, with an
        error that shrinks with `n_sweeps` (`infer.exact_weights`).
    n_sweeps, seed : int
        Of "gibbs".
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    max_iter, tol : int, float
        Repeated until no weight moves by more than `tol`.
    n_jobs, engine
        As in `fit`.

    Returns
    -------
    Weights
        (M, K), one row a user, rows sum to one; `to_frame` gives them with labels. A user without
        comparisons gets the prior mean; `weight_intervals` adds intervals.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=20)
    >>> mine = [("me", "ceviche", "lasagne"), ("me", "tabbouleh", "pizza")]
    >>> mm.weights(dishes.model, mine).shape
    (1, 3)
    """
    check_model(model)
    data = as_comparisons(comparisons).with_items(model.items, unknown_items=unknown_items)
    theta = infer_weights(
        model,
        data,
        estimate=estimate,
        method=method,
        n_sweeps=n_sweeps,
        seed=seed,
        max_iter=max_iter,
        tol=tol,
        n_jobs=n_jobs,
        engine=engine,
    )
    return Weights(data.users, theta, data.frame_kind, names_in(model))


def infer_weights(
    model: ComponentModel,
    comparisons: Comparisons,
    *,
    estimate: Estimate = "mean",
    method: WeightsMethod = "variational",
    n_sweeps: int = 10_000,
    seed: int = 0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> Array:
    """(M, K) the weights alone, for comparisons of the model's items (`weights`)."""
    check_count("max_iter", max_iter, 1)
    check_at_least("tol", tol, 0)
    check_choice("estimate", estimate, get_args(Estimate))
    check_choice("method", method, get_args(WeightsMethod))
    prepared = prepare(model)
    if method != "variational":
        _check_exact(estimate, method, n_sweeps, len(prepared.alpha))
        exact = (prepared, method, n_sweeps, as_key(seed))
        with using(engine, n_jobs) as run:
            return _of_components(run.map(_exact_weights, make_blocks(comparisons), exact), model)
    broadcast = (prepared, estimate, max_iter, float(tol))
    with using(engine, n_jobs) as run:
        moving, parts = run.reduce(_weights, make_blocks(comparisons), broadcast)
    if moving:
        warnings.warn(
            FitWarning(
                f"The weights of {moving} of {comparisons.n_users} users still moved by more than ",
                Option("tol", tol),
                f" after {max_iter} steps; raise ",
                Option("max_iter"),
                " or ",
                Option("tol"),
                ".",
            ),
            stacklevel=3,
        )
    return _of_components(parts, model)


def _check_exact(estimate: Estimate, method: WeightsMethod, n_sweeps: int, K: int) -> None:
    if estimate != "mean":
        raise OptionError(
            option="method", value=method, expected="left out with the estimate 'map'"
        )
    check_count("n_sweeps", n_sweeps, 1)
    if method == "quadrature":
        check_quadrature(K)


def _of_components(parts: Sequence[Array], model: ComponentModel) -> Array:
    """(M, K) without spam's weight, rows summing to one."""
    K = model.n_components
    theta = np.concatenate([np.empty((0, K)), *(part[:, :K] for part in parts)])
    return theta / theta.sum(axis=1, keepdims=True)


@map_step("exact weights")
def _exact_weights(
    block: Block, broadcast: tuple[PreparedModel, WeightsMethod, int, np.uint64]
) -> Array:
    prepared, method, n_sweeps, key = broadcast
    if method == "quadrature":
        return quadrature_means(block, prepared)
    return gibbs_means(block, prepared, n_sweeps, key)


@reduce_step("weights")
def _weights(
    block: Block, broadcast: tuple[PreparedModel, Estimate, int, float], _: None
) -> tuple[int, Array]:
    """How many users did not converge, and the weights of all users."""
    prepared, estimate, max_iter, tol = broadcast
    if estimate == "map":
        theta, moving = _modes(
            block.starts,
            block.pair,
            block.weight,
            prepared.beta,
            prepared.alpha,
            prepared.likelihood_weight,
            prepared.prior_mean,
            max_iter,
            tol,
        )
    else:
        theta, moving = fold_in(block, prepared, max_iter=max_iter, tol=tol)
    return moving, theta


@compiled(fastmath={"contract", "reassoc"})
def _modes(starts, pair, weight, beta, alpha, likelihood_weight, prior_mean, max_iter, tol):
    """θ ∝ α + e Σ_n weight_n r_n, r_nk ∝ β_(w_n),k θ_k, of all users; and how many still moved."""
    M, K = len(starts) - 1, len(alpha)
    thetas, n_moving, nothing = np.empty((M, K)), 0, np.zeros(K)
    longest = np.diff(starts).max() if M else 0
    b, w, once, twice = np.empty((longest, K)), np.empty(longest), np.empty(K), np.empty(K)
    for m in range(M):
        n = gather_rows(starts[m], starts[m + 1], pair, weight, beta, b, w)
        thetas[m] = prior_mean
        moving, left, most, last = n > 0, max_iter, MAX_EXTRAPOLATION, np.inf
        while moving and left > 0:
            change = _em_step(b[:n], w[:n], likelihood_weight, alpha, thetas[m], once)
            most, last, moving = (
                most if change < last else max(0.5 * most, 1.0),
                change,
                change > tol,
            )
            if moving and left > 1:
                moving = _em_step(b[:n], w[:n], likelihood_weight, alpha, once, twice) > tol
                extrapolate(thetas[m], once, twice, nothing, most if moving and left > 2 else 1.0)
                thetas[m] /= thetas[m].sum()
            else:
                thetas[m] = once
            left -= 2
        n_moving += moving
    return thetas, n_moving


@compiled(fastmath={"contract", "reassoc"})
def _em_step(b, w, likelihood_weight, alpha, theta, new):
    """The next θ of one user, and the largest change."""
    K, total, change = len(alpha), 0.0, 0.0
    new[:] = 0.0
    for n in range(len(b)):
        p = 0.0
        for k in range(K):
            p += b[n, k] * theta[k]
        scale = likelihood_weight * w[n] / p
        for k in range(K):
            new[k] += scale * b[n, k]
    for k in range(K):
        new[k] = alpha[k] + new[k] * theta[k]
        total += new[k]
    for k in range(K):
        new[k] /= total
        change = max(change, abs(new[k] - theta[k]))
    return change
