"""Document completion: how well a model predicts part of a user's comparisons given the rest."""

import numpy as np
from numpy.typing import NDArray

from mallowmix.data.splits import SplitBy, split_rows
from mallowmix.engine import Block, Engine, make_blocks, map_step
from mallowmix.engine.conversion import ComparisonsLike, as_comparisons
from mallowmix.engine.selection import EngineName, using
from mallowmix.errors import Option
from mallowmix.infer.collapsed_variational import fold_in
from mallowmix.infer.heldout.heldout_options import CompletionOptions
from mallowmix.infer.heldout.heldout_scores import Heldout, summary
from mallowmix.infer.prepared_model import PreparedModel, prepare_members
from mallowmix.model.component_model import ComponentModel
from mallowmix.numerics.randomness import as_key
from mallowmix.typing import Array

_STEPS, _TOL = 300, 1e-4  # of the fold-in: further steps change a prediction by less than .0001


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
def _score(block: Block, broadcast: tuple[list[PreparedModel], float, SplitBy, np.uint64]) -> Array:
    """(users, 2) the summed log-likelihood of what is held out of each user, and how much."""
    fits, given, split, key = broadcast
    known, wanted = split_block_rows(block, given, split, key)
    rows = np.flatnonzero(wanted > 0)
    user = block.users_of_rows()[rows]
    log_p = np.log(predicted(block, fits, known, user, block.pair[rows]))
    sums = [
        np.bincount(user, value * wanted[rows], block.n_users)
        for value in (log_p, np.ones(len(rows)))
    ]
    return np.column_stack(sums).astype(np.float64)


def split_block_rows(
    block: Block, given: float, by: SplitBy, key: np.uint64
) -> tuple[Array, Array]:
    """How much of each row's weight is given, and how much is held out, as `split_rows`."""
    rows = (block.starts, block.pair, block.weight, block.n_items)
    return split_rows(*rows, by, given, block.first_user, key)


def predicted(
    block: Block,
    members: list[PreparedModel],
    given: Array,
    user: NDArray[np.integer],
    pair: NDArray[np.int32],
) -> Array:
    """The probability of ordered pairs for users of a block: the members' mean of Σ_k θ_k β_(w),k.

    Parameters
    ----------
    block : Block
        The users.
    members : list of PreparedModel
        The models to average over.
    given : (rows,) array
        How much of each row is given.
    user, pair : (n,) arrays
        Whose probability of which ordered pair.
    """
    total = np.zeros(len(pair))
    for prepared in members:
        theta, _ = fold_in(block, prepared, given, max_iter=_STEPS, tol=_TOL)
        total += np.einsum("nk,nk->n", theta[user], prepared.beta[pair])
    return total / len(members)
