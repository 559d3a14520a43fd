"""Intervals for positions, dispersions, shares and win rates, by a bootstrap over users."""

from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from mallowmix.assess.intervals.interval_estimates import Intervals
from mallowmix.assess.intervals.little_bootstraps import (
    comparisons_of_blocks,
    draw_positions,
    draw_subsets,
    is_large,
)
from mallowmix.assess.intervals.other_optima import (
    number_of_draws,
    other_optima,
    with_other_optima,
)
from mallowmix.assess.intervals.replicates import (
    Replicates,
    counter,
    many,
    replicate_rankings,
    replicate_start,
    replicate_weights,
)
from mallowmix.assess.intervals.score_sums import sum_scores
from mallowmix.assess.simulated_error import Simulated, simulate_phi
from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine, ThreadEngine, make_blocks
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.out_of_core.stored_blocks import StoredComparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import Option, OptionError, check_count, check_level
from mallowmix.learn.spectral.user_sample import sampled_share
from mallowmix.learn.spectral.user_scores import maximise_likelihood, one_step, phi_and_share
from mallowmix.model.fit_options import SpectralOptions
from mallowmix.model.fit_report import FitReport
from mallowmix.model.fitted_model import AnyModel, FittedModel, as_fitted
from mallowmix.model.pair_model import check_model
from mallowmix.numerics.randomness import Step, as_key, generator
from mallowmix.typing import Array, Progress

_STEP = Step.PHI_BIAS
_SIMULATIONS = 4  # of b people: their error is b/n times as large for all n


def intervals(
    model: AnyModel,
    comparisons: ComparisonsLike,
    n_replicates: int = 100,
    level: float = 0.9,
    *,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    engine: EngineName | Engine | None = None,
) -> Intervals:
    """Intervals for the position of every item in every component, for φ, shares and win rates.

    Parameters
    ----------
    model : AnyModel
    comparisons : Comparisons, or whatever `read_comparisons` takes
        Those that the model was learnt from; those from `store_comparisons` are read block by
        block.
    n_replicates : int
        How many times users are weighted anew.
    level : float
        How often an interval should hold the truth.
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not know.
    seed : int
    n_jobs : int, optional
    progress : callable, optional
    engine : str or Engine, optional
        As in `fit`.

    Returns
    -------
    Intervals

    Notes
    -----
    A replicate gives every user a weight drawn from the exponential distribution (the Bayesian
    bootstrap): nothing is copied. Its rankings come from a few passes of Monte-Carlo EM that start
    at the model's. Its φ and α come from one Newton step with the users' weighted scores,
    η* = η̂ + I⁻¹ Σ (u_m − 1) s_m (`learn.spectral.user_scores`): warm-started passes would stop
    short of the maximum where weights are uncertain. η̂ maximises the marginal likelihood given the
    model's rankings; the model's own φ and α may be up to a standard error away. Rankings that were
    chosen to fit make φ too small, and less certain than it would be if they were known. Simulation
    finds by how much: the bias is subtracted (with its own error) and the spread widened. The
    intervals hold for the components that the model is about: what all replicates share, such as
    two components taken for one, shows in none of them.

    Components that the fit calls unstable (``model.report.unstable``) are learnt anew instead, from
    other initialisations with people weighted at random (`assess.intervals.other_optima`): their
    intervals are as wide as such models differ. Of K = 1 there is one optimum.

    From 200,000 comparisons of 4,000 users on, samples of the users are bootstrapped, not all of
    them; beyond 20,000 users or 6 million comparisons most are not kept in memory. φ and shares are
    bootstrapped by two passes that add up scores (`assess.intervals.score_sums`): of all users up
    to 6 million comparisons, else of users who made 4 million, as many as `fit` learns φ from.
    Positions come from bootstraps of five samples of 1,000 to 10,000 users, scaled to all users and
    rounded outwards (`assess.intervals.little_bootstraps`). The bias of φ is simulated for one
    sample of b users; for n it is b/n of that.

    Measured (docs/posterior.md), 90% intervals of positions and win rates reach their level;
    those of φ and the shares nearly do.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes()
    >>> found = mm.intervals(dishes.model, dishes.comparisons.take_users(range(100)), 20)
    >>> found.position_low.shape
    (3, 16)
    >>> bool((found.position_low <= found.position).all())
    True
    """
    check_model(model)
    comparisons = as_comparisons(comparisons)
    fitted = as_fitted(model)
    check_request(fitted, n_replicates, level)
    seed = int(as_key(seed))
    data = comparisons.with_items(model.items, unknown_items=unknown_items)
    unstable = [k - 1 for k in fitted.report.unstable] if model.n_components > 1 else []
    n_draws = number_of_draws(level, n_replicates)
    with using(engine, n_jobs) as run, threadpool_limits(1):  # as in `fit`
        if len(unstable) == model.n_components:
            draws = None
        elif is_large(data):
            draws = _of_sums(model, data, n_replicates, seed, run, progress)
        else:
            draws = _of_all_users(model, _in_memory(data), n_replicates, seed, run, progress)
        if draws is None or unstable:
            others = _anew(model, data, n_draws, seed, run, progress)
            draws = with_other_optima(draws, others, unstable, n_replicates)
    return Intervals(
        level,
        model.items,
        model.sigma,
        model.phi,
        model.share,
        draws,
        refined=_is_refined(fitted.report),
        unstable=tuple(k + 1 for k in unstable),
        component_names=fitted.component_names,
        frame_kind=comparisons.frame_kind,
    )


def check_request(model: FittedModel, n_replicates: int, level: float) -> None:
    """Refuse, before any work, a request that `intervals` cannot fulfil.

    Raises
    ------
    OptionError
        For too few replicates, a level outside (0, 1), or Bradley–Terry components.
    """
    check_count("n_replicates", n_replicates, 10)
    check_level(level)
    if model.bradley_terry is not None:
        raise OptionError(
            "The model has Bradley–Terry components; intervals are for Mallows components. "
            "Fit it with ",
            Option("components", "mallows", "fit"),
            ".",
            option="components",
            value="bradley-terry",
            expected="'mallows'",
        )


def _is_refined(report: FitReport) -> bool:
    """Whether the model was brought to the maximum of the likelihood."""
    options = report.options
    full = isinstance(options, SpectralOptions) and options.refine == "full"
    return full or report.method == "update"


def _in_memory(data: Comparisons | StoredComparisons) -> Comparisons:
    """The comparisons in memory, wherever they are stored: the users are few."""
    if isinstance(data, Comparisons):
        return data
    return comparisons_of_blocks(
        [block.load() for block in make_blocks(data)], data.items, data.users
    )


def _anew(
    model: AnyModel,
    data: Comparisons | StoredComparisons,
    n_draws: int,
    seed: int,
    run: Engine,
    progress: Progress | None,
) -> Replicates:
    """Models of other people from other initialisations: of all people, or of samples of many."""
    large = is_large(data)
    parts = draw_subsets(data, make_blocks(data), run, seed=seed) if large else [_in_memory(data)]
    advance = counter(progress, n_draws - 1, "other optima")
    return other_optima(model, parts, n_draws, seed=seed, n_jobs=run.n_jobs, advance=advance)


def _of_all_users(
    model: AnyModel,
    data: Comparisons,
    n_replicates: int,
    seed: int,
    run: Engine,
    progress: Progress | None,
) -> Replicates:
    """The Bayesian bootstrap: η* = η̂ + I⁻¹ Σ_m w_m (u_m − 1) s_m, less the bias of logit φ."""
    advance = counter(progress, n_replicates)
    start = replicate_start(model, data, run, seed=seed)
    smooth = maximise_likelihood(model, start.blocks, run, seed=seed)
    simulated = simulate_phi(model, smooth, data, seed=seed, n_jobs=run.n_jobs, progress=progress)
    u = replicate_weights(n_replicates, data.n_users, seed=seed)
    sigma = many(
        lambda r: replicate_rankings(start, smooth, u[r], seed=seed, draw=r),
        range(n_replicates),
        run.n_jobs,
        advance,
    )
    steps = one_step(smooth, (u - 1) * start.people @ smooth.scores)
    return Replicates(np.array(sigma), *phi_and_share(_moved(smooth.eta, steps, simulated, seed)))


def _moved(eta: Array, steps: Array, simulated: Simulated, seed: int) -> Array:
    """η̂ and the replicates' steps (R, 2K); logit φ wider, and less the bias, by simulation."""
    K, bias = (
        steps.shape[1] // 2,
        simulated.bias + simulated.error * generator(seed, _STEP).standard_normal((len(steps), 1)),
    )
    return eta + np.c_[simulated.widening * steps[:, :K] - bias, steps[:, K:]]


def _of_sums(
    model: AnyModel,
    data: Comparisons | StoredComparisons,
    n_replicates: int,
    seed: int,
    run: Engine,
    progress: Progress | None,
) -> Replicates:
    """The same of many users: φ and shares from sums over them, positions from samples of them."""
    blocks = make_blocks(data)
    subsets = draw_subsets(data, blocks, run, seed=seed)
    near = maximise_likelihood(model, make_blocks(subsets[0]), ThreadEngine(run.n_jobs), seed=seed)
    share = sampled_share(data.n_comparisons)
    smooth, steps = sum_scores(model.sigma, near, blocks, n_replicates, run, share=share, seed=seed)
    sigma = draw_positions(
        model,
        smooth,
        subsets,
        data.n_users,
        n_replicates,
        seed=seed,
        n_jobs=run.n_jobs,
        progress=progress,
    )
    part = subsets[0].n_users / data.n_users  # b/n
    simulated = simulate_phi(
        model,
        smooth,
        subsets[0],
        _SIMULATIONS,
        part=part,
        seed=seed,
        n_jobs=run.n_jobs,
        progress=progress,
    )
    return Replicates(sigma, *phi_and_share(_moved(smooth.eta, steps, simulated, seed)))
