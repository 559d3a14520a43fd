"""Held-out likelihood: how well a model predicts users' comparisons, by one of three methods."""

from dataclasses import replace
from typing import Literal

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import Engine
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName
from mallowmix.errors import Option, OptionError, check_flag
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_options import (
    CompletionOptions,
    HeldoutMethod,
    HeldoutOptions,
    ImportanceOptions,
    as_heldout_options,
)
from mallowmix.infer.heldout.heldout_scores import Heldout
from mallowmix.infer.heldout.importance import importance
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.infer.heldout.scored_on import Questions, ScoredOn, people_of
from mallowmix.model.component_model import ComponentModel
from mallowmix.model.pair_model import check_model
from mallowmix.typing import Progress


def heldout(
    model: ComponentModel,
    comparisons: ComparisonsLike,
    method: HeldoutMethod | HeldoutOptions = "left-to-right",
    *,
    include_mu: bool = False,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
    progress: Progress | None = None,
) -> Heldout:
    """Log-likelihood per comparison of users; the result says whether the model has seen them.

    Parameters
    ----------
    model : FittedModel or M4
        The model.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        The users; comparisons from `store_comparisons` are read block by block.
    method : {"left-to-right", "importance", "completion"}, or options of one of them
        "left-to-right" and "importance" find the likelihood of all of a user's comparisons
        together, p(w) = ∫ Π_n (Σ_k θ_k β_(w_n),k) Dir(θ; α) dθ, the one by a filter of particles,
        the other by draws of θ, better for few comparisons; "completion" gives the model a part
        of them and predicts the rest. To set options, give `LeftToRightOptions`,
        `ImportanceOptions` or `CompletionOptions`.
    include_mu : bool
        Add Σ weight · log μ, the choice of pairs, with μ estimated from the pair counts of these
        comparisons; it cancels between models. Not with "completion".
    unknown_items : {"error", "drop"}
        What to do with comparisons of items that the model does not have.
    seed, n_jobs, engine, progress
        As in `fit`.

    Returns
    -------
    Heldout
        The log-likelihood per comparison (a coin has −log 2) with its standard error over users;
        that of the method alone is ``details["monte_carlo_error"]`` (not with "completion").
        `scored_on` says on whom and on which questions, and `to_frame()` has each user's own score.

    Notes
    -----
    The prior is the model's Dirichlet. β is kept away from 0 and 1 (`model.least_beta`), so that a
    dispersion of 0 gives finite numbers. Users without comparisons do not count.

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=50)
    >>> found = mm.heldout(dishes.model, dishes.comparisons, "completion")
    >>> found.n_users
    50
    >>> found.to_frame().column_names
    ['user', 'n_comparisons', 'log_likelihood', 'log_likelihood_per_comparison']
    """
    check_model(model)
    check_flag("include_mu", include_mu)
    comparisons = as_comparisons(comparisons)
    options = as_heldout_options(method)
    if include_mu and not isinstance(comparisons, Comparisons):
        raise OptionError(
            Option("include_mu"),
            " needs the comparisons in memory: leave it out; it cancels between models.",
            option="include_mu",
            value=include_mu,
            expected="False",
        )
    by = options.split if isinstance(options, CompletionOptions) else "all"
    scored_on = ScoredOn(people_of(model, comparisons), Questions(by))
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    users, kind = comparisons.users, comparisons.frame_kind
    if isinstance(options, CompletionOptions):
        if include_mu:
            raise OptionError(
                Option("include_mu"),
                " is no option of ",
                Option("method", "completion"),
                ", which is about β alone; it goes with 'left-to-right' and 'importance'.",
                option="include_mu",
                value=include_mu,
                expected="False",
            )
        found = completion(model, comparisons, options, seed=seed, n_jobs=n_jobs, engine=engine)
        return replace(found, scored_on=scored_on, users=users, frame_kind=kind)
    score = importance if isinstance(options, ImportanceOptions) else left_to_right
    found = score(
        model,
        comparisons,
        options,  # type: ignore[arg-type]
        include_mu=include_mu,
        seed=seed,
        n_jobs=n_jobs,
        engine=engine,
        progress=progress,
    )
    return replace(found, scored_on=scored_on, users=users, frame_kind=kind)
