"""Two estimates of the log-likelihood of users' comparisons, and what a setting loses by them.

Document completion: half of a user's comparisons, at random, predicted from the other half.
Left-to-right: all of a user's comparisons together.
"""

import warnings

import numpy as np
from scipy.special import logsumexp

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import MallowmixWarning
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.heldout_options import LeftToRightOptions
from mallowmix.infer.heldout.heldout_scores import NOBODY, Heldout, floored_beta, summary
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.model.component_model import ComponentModel
from mallowmix.paper.experiment import Request
from mallowmix.paper.figure4.movielens_split import ScoredUsers

_PARTICLES = 128  # of left-to-right, at most


def scored_by(
    method: str,
    model: ComponentModel,
    users: ScoredUsers,
    request: Request,
    *,
    at_vertices: bool = False,
) -> Heldout:
    """Score a model.

    Parameters
    ----------
    method : {"completion", "left-to-right"}
        By all users, or by their subset.
    model : FittedModel, M4 or TableModel
        The components and their prior.
    users : ScoredUsers
        The users.
    request : Request
        The number of threads, and the progress.
    at_vertices : bool
        Whether a user has one component, so that left-to-right needs no particles.

    Returns
    -------
    Heldout
        The log-likelihood per comparison and its standard error.
    """
    if method == "completion":
        return completion(model, users.users, n_jobs=request.n_jobs)
    if at_vertices:
        return vertex_likelihood(model, users.subset)
    options = LeftToRightOptions(max_particles=_PARTICLES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MallowmixWarning)
        return left_to_right(
            model, users.subset, options, n_jobs=request.n_jobs, progress=request.progress
        )


def vertex_likelihood(model: ComponentModel, comparisons: Comparisons) -> Heldout:
    """The exact likelihood of all of a user's comparisons where every user has one component.

    It is log Σ_k a_k Π_n β_(w_n),k, which needs no particles.

    Parameters
    ----------
    model : FittedModel or M4
        The components and their shares.
    comparisons : Comparisons
        The held-out users.

    Returns
    -------
    Heldout
        The log-likelihood per comparison and its standard error.
    """
    comparisons = comparisons.with_items(model.items)
    log_p = np.log(floored_beta(model))[comparisons.pair] * comparisons.weight[:, None]
    by_component = [
        np.bincount(comparisons.user, column, comparisons.n_users) for column in log_p.T
    ]
    joint = np.stack(by_component, axis=1) + np.log(model.share)  # (M, K)
    likelihood = np.asarray(logsumexp(joint, axis=1))
    return summary(np.column_stack([likelihood, comparisons.per_user()]), NOBODY)
