"""Document completion: how well a model predicts part of a user's comparisons given the rest."""

import numpy as np

from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import Option
from mallowmix.infer.heldout.held_out_rows import HeldOutTask, held_out_rows
from mallowmix.infer.heldout.heldout_options import CompletionOptions
from mallowmix.infer.heldout.heldout_scores import Heldout, summary
from mallowmix.infer.prepared_model import prepare_members
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array


def completion(
    model: ComponentModel,
    comparisons: ComparisonsLike,
    options: CompletionOptions | None = None,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    engine: EngineName | Engine | None = None,
) -> Heldout:
    """Predict part of each user's comparisons from the rest of them.

    Each comparison has the probability Σ_k β_(w),k E[θ_k | given], with β kept away from 0 and 1
    and the model's calibration, averaged over its ensemble. What is given depends on the seed and
    the user's number alone. `user_weight` is not used.

    Parameters
    ----------
    model : FittedModel or M4
        The model.
    comparisons : Comparisons, or whatever `read_comparisons` takes
        The users.
    options : CompletionOptions, optional
        How much is given, and what is split.
    seed, n_jobs, engine
        As in `fit`.

    Returns
    -------
    Heldout

    Examples
    --------
    >>> import mallowmix as mm
    >>> dishes = mm.load_dishes(n_users=50)
    >>> found = mm.heldout(dishes.model, dishes.comparisons, "completion")
    >>> found.log_likelihood_per_comparison > -0.693  # a coin
    True
    """
    comparisons = as_comparisons(comparisons)
    chosen = options or CompletionOptions()
    comparisons = comparisons.with_items(model.items)
    broadcast = (prepare_members(model), float(chosen.given), chosen.split, as_key(seed))
    with using(engine, n_jobs) as run:
        scores = run.map(_score, make_blocks(comparisons), broadcast)
    reason = (
        f"nobody has enough comparisons to be given {chosen.given:g} of them. Lower ",
        Option("given"),
        ".",
    )
    return summary(np.concatenate([np.empty((0, 2)), *scores]), reason)


@map_step("completion")
def _score(block: Block, broadcast: HeldOutTask) -> Array:
    """(users, 2) the summed log-likelihood of what is held out of each user, and how much."""
    rows = held_out_rows(block, broadcast)
    return rows._replace(user=rows.user - block.first_user).per_user(block.n_users)
