"""Held-out likelihood: how well a model foretells people's comparisons, by the method of one's choice."""

import inspect
from collections.abc import Callable
from typing import Any, Literal

from mallowmix.data.comparisons import Comparisons
from mallowmix.data.text import joined
from mallowmix.engine import Engine
from mallowmix.engine.selection import EngineName
from mallowmix.errors import OptionError, check_choice
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_scores import Heldout as Heldout
from mallowmix.infer.heldout.heldout_scores import Progress
from mallowmix.infer.heldout.importance import importance
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.model.m4 import M4

METHODS: dict[str, Callable[..., Heldout]] = {
    "left-to-right": left_to_right,
    "importance": importance,
    "completion": completion,
}
_COMMON = ("include_mu", "seed", "n_jobs", "progress", "engine")


def heldout(
    model: M4,
    comparisons: Comparisons,
    method: Literal["left-to-right", "importance", "completion"] = "left-to-right",
    *,
    include_mu: bool = False,
    unknown_items: Literal["error", "drop"] = "error",
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    engine: EngineName | Engine | None = None,
    **options: Any,
) -> Heldout:
    """Log-likelihood per comparison of people whom the model was not fitted to.

    method : "left-to-right" and "importance" find the likelihood of all of a person's comparisons together,
        p(w) = ∫ Π_n (Σ_k θ_k β_(w_n),k) Dir(θ; α) dθ, the one by a filter of particles, whose cost grows no faster than the
        comparisons do, the other by draws of θ, better for few comparisons; "completion" tells the model part of them and asks
        for the rest
    include_mu : add Σ weight · log μ, the choice of pairs, with μ estimated from the pair counts of these comparisons; it cancels
        between models and is left out unless asked for. Not with "completion"
    unknown_items : "error", or "drop" the comparisons of items that the model does not know
    progress : called with (step, done, total)
    engine : as in `fit`; comparisons from `store_comparisons` are read block by block (not with include_mu)
    options : those of the method: `mallowmix.infer.heldout.left_to_right.left_to_right`, `mallowmix.infer.heldout.importance.importance`,
        `mallowmix.completion`

    The prior is the model's Dirichlet. β is kept in [10⁻⁴, 1 − 10⁻⁴], so that rankings followed without fail (φ = 0) give finite
    numbers. People without comparisons do not count. The standard error is over people; that of the method alone is
    `details["monte_carlo_error"]` (not with "completion").
    """
    check_choice("method", method, tuple(METHODS))
    if include_mu and not isinstance(comparisons, Comparisons):
        raise OptionError(
            "include_mu needs the comparisons in memory: leave it out; it cancels between models."
        )
    _check_options(method, options)
    comparisons = comparisons.with_items(model.items, unknown_items=unknown_items)
    if method == "completion":
        if include_mu:
            raise OptionError(
                "include_mu goes with the methods left-to-right and importance; completion is about β alone."
            )
        return completion(model, comparisons, seed=seed, n_jobs=n_jobs, engine=engine, **options)
    options |= {"include_mu": include_mu, "progress": progress}
    return METHODS[method](model, comparisons, seed=seed, n_jobs=n_jobs, engine=engine, **options)


def _check_options(method: str, options: dict[str, Any]) -> None:
    """Raise an OptionError for an option that the method does not have."""
    for name in options:
        if name not in _options_of(method):
            others = [f"{other!r}" for other in METHODS if name in _options_of(other)]
            has = (
                f"it goes with {joined(others)}"
                if others
                else f"it has {', '.join(_options_of(method))}"
            )
            raise OptionError(f"{name} is no option of the method {method!r}; {has}.")


def _options_of(method: str) -> list[str]:
    parameters = inspect.signature(METHODS[method]).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in _COMMON]
