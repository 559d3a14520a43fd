"""How a user's own comparisons weigh the members of a predictor against each other.

The weights that stacking learns are those of a user at random. Whether *this* user makes a new draw
for each answer (mixed membership) or has something of their own (utilities, a ranking) shows in
their comparisons: each is predicted from the user's others, by both kinds of model, and

    x = Σ log p(answer | the others; utilities) − Σ log p(answer | the others; mixed membership)

is the evidence for something of their own. With γ_c from the predictor, the odds of the members of
that kind against the mixed-membership member are multiplied by exp(γ_c x).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mallowmix.engine import Block
from mallowmix.infer.collapsed_variational import PREDICTION_STEPS, PREDICTION_TOL, fold_in
from mallowmix.infer.pair_queries import Queries
from mallowmix.infer.prepared_model import PreparedModel, prepare_components
from mallowmix.infer.utilities_prediction import probabilities_and_left_out
from mallowmix.infer.without_numba.predictions_arrays import mixed_left_out
from mallowmix.model.predictor import CalibratedModel, Member, Predictor
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.numerics.compiled import compiled, unwritable
from mallowmix.numerics.small_work import is_small
from mallowmix.numerics.work_arrays import empty
from mallowmix.typing import Array

MOST_EVIDENCE = 20.0  # in nats, beyond which more changes nothing
_LEAST = 1e-4  # of a probability


def utilities_left_out(block: Block, model: UtilitiesModel) -> Array:
    """Sum each user's log-probabilities of comparisons, each predicted from the user's others.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    model : UtilitiesModel
        The model.

    Returns
    -------
    (M,) array
    """
    none = Queries.same_for_all(block.n_users, np.empty(0, np.int64))
    return probabilities_and_left_out(block, model, none)[1]


def mixed_membership_left_out(
    block: Block, prepared: PreparedModel, theta: Array | None = None
) -> Array:
    """Sum each user's log-probabilities of comparisons, each predicted from the user's others.

    With θ ∝ α + n, where n counts answers by component, an answer's own part of n is taken out.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    prepared : PreparedModel
        The components, with their calibration.
    theta : (M, K) array, optional
        The users' weights, where they were inferred already.

    Returns
    -------
    (M,) array
    """
    if theta is None:
        theta, _ = fold_in(block, prepared, max_iter=PREDICTION_STEPS, tol=PREDICTION_TOL)
    if is_small(len(block.pair) * theta.shape[1]):
        return mixed_left_out(block, prepared, theta, _LEAST)
    rows, out = (block.starts - block.starts[0], block.pair, block.weight), np.zeros(block.n_users)
    rows = map(unwritable, rows)
    _left_out(*rows, prepared.beta, prepared.alpha.sum(), prepared.likelihood_weight, theta, out)
    return out


@compiled
def _left_out(starts, pair, weight, beta, alpha, likelihood_weight, theta, out):
    K = theta.shape[1]
    own = empty(K)
    for m in range(len(out)):
        total = alpha
        for row in range(starts[m], starts[m + 1]):
            total += likelihood_weight * weight[row]
        for row in range(starts[m], starts[m + 1]):
            w, scale, rest, p = likelihood_weight * weight[row], 0.0, 0.0, 0.0
            for k in range(K):
                own[k] = theta[m, k] * beta[pair[row], k]
                scale += own[k]
            for k in range(K):
                others = max(theta[m, k] * total - own[k] * w / scale, 0.0)
                rest += others
                p += others * beta[pair[row], k]
            out[m] += weight[row] * np.log(min(max(p / max(rest, 1e-300), _LEAST), 1.0))


def own_evidence(block: Block, own: UtilitiesModel, mixed: CalibratedModel) -> Array:
    """(M,) x, the evidence that a user has utilities of their own, within ± `MOST_EVIDENCE`.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    own : UtilitiesModel
        The model of people with utilities of their own.
    mixed : CalibratedModel
        Components that are mixed for each answer.
    """
    prepared = prepare_components(mixed.model, mixed.calibration)
    return bounded(utilities_left_out(block, own) - mixed_membership_left_out(block, prepared))


def bounded(x: Array) -> Array:
    """Evidence within ± `MOST_EVIDENCE`."""
    return np.clip(x, -MOST_EVIDENCE, MOST_EVIDENCE)


def weighed_by_evidence(
    weights: Array, is_mixed: NDArray[np.bool_], gamma: Array, x: Array
) -> Array:
    """Weigh the members for each user.

    Parameters
    ----------
    weights : (3, J) array
        The weights for a user at random.
    is_mixed : (J,) array of bool
        From `are_mixed`.
    gamma : (3,) array
        γ.
    x : (M,) array
        The users' evidence for something of their own.

    Returns
    -------
    (M, 3, J) array
        Each row adds up to 1.
    """
    factor = np.exp(x[:, None] * gamma)[..., None]  # (M, 3, 1)
    raised = weights * np.where(is_mixed, 1.0, factor)
    return raised / raised.sum(axis=2, keepdims=True)


def user_weights(block: Block, predictor: Predictor) -> Array:
    """(M, 3, J) the weights of the predictor's members for each user.

    Parameters
    ----------
    block : Block
        The users' comparisons.
    predictor : Predictor
        Members, their weights for a user at random, and γ.
    """
    compared = evidence_members(predictor)
    x = None if compared is None else own_evidence(block, *compared)
    return weights_by_evidence(predictor, x, block.n_users)


def weights_by_evidence(predictor: Predictor, x: Array | None, n_users: int) -> Array:
    """(M, 3, J) the same, of users with the evidence `x`; None where it does not count."""
    weights = predictor.weights
    if x is None:
        return np.broadcast_to(weights, (n_users, *weights.shape))
    return weighed_by_evidence(weights, are_mixed(predictor.members), predictor.evidence_weights, x)


def evidence_members(predictor: Predictor) -> tuple[UtilitiesModel, CalibratedModel] | None:
    """The two members that a user's comparisons are predicted by; None if they do not count."""
    if not predictor.evidence_weights.any():
        return None
    return compared_members(predictor.members, predictor.weights)


def are_mixed(members: Sequence[Member]) -> NDArray[np.bool_]:
    """(J,) which members mix components anew for each answer."""
    return np.array([isinstance(each, CalibratedModel) for each in members])


def compared_members(
    members: Sequence[Member], weights: Array
) -> tuple[UtilitiesModel, CalibratedModel] | None:
    """The utilities with the largest weight and the mixed-membership member, if there are both."""
    order = [members[j] for j in np.argsort(-weights.sum(axis=0), kind="stable")]
    own = next((each for each in order if isinstance(each, UtilitiesModel)), None)
    mixed = next((each for each in order if isinstance(each, CalibratedModel)), None)
    return None if own is None or mixed is None else (own, mixed)
