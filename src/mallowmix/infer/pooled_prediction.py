"""Predictions of a `Predictor`: posterior predictive probabilities of its members, pooled."""

import numpy as np

from mallowmix.engine import Block
from mallowmix.infer.collapsed_variational import PREDICTION_STEPS, PREDICTION_TOL, fold_in
from mallowmix.infer.member_evidence import (
    bounded,
    evidence_members,
    left_out_given,
    mixed_membership_left_out,
    weights_by_evidence,
)
from mallowmix.infer.pair_queries import Queries, query_categories
from mallowmix.infer.prepared_model import PreparedModel, prepare_components
from mallowmix.infer.rankings_posterior import rankings_probabilities
from mallowmix.infer.utilities_posterior import predict_given, utilities_probabilities
from mallowmix.learn.utilities.conditioned_utilities import condition
from mallowmix.model.predictor import CalibratedModel, Member, Predictor
from mallowmix.model.rankings_model import RankingsModel
from mallowmix.model.utilities_model import UtilitiesModel
from mallowmix.typing import Array


def member_probabilities(block: Block, member: Member, queries: Queries) -> Array:
    """Predict queried pairs with one member.

    Parameters
    ----------
    block : Block
        The users' given comparisons.
    member : CalibratedModel, UtilitiesModel or RankingsModel
        The member.
    queries : Queries
        The pairs to predict.

    Returns
    -------
    (n,) array
        The probability that each query's user prefers the pair's first item.
    """
    if isinstance(member, UtilitiesModel):
        return utilities_probabilities(block, member, queries)
    if isinstance(member, RankingsModel):
        return rankings_probabilities(block, member, queries)
    return mixed_membership_probabilities(
        block, prepare_components(member.model, member.calibration), queries
    )


def mixed_membership_probabilities(
    block: Block, prepared: PreparedModel, queries: Queries
) -> Array:
    """Predict queried pairs with components that are mixed for each answer: Σ_k E[θ_k] β_k.

    Parameters
    ----------
    block, queries
        As in `member_probabilities`.
    prepared : PreparedModel
        The components, with their calibration.

    Returns
    -------
    (n,) array
    """
    theta, _ = fold_in(block, prepared, max_iter=PREDICTION_STEPS, tol=PREDICTION_TOL)
    return _mixed(theta, prepared, queries)


def _mixed(theta: Array, prepared: PreparedModel, queries: Queries) -> Array:
    """Σ_k θ_k β_k of each query."""
    return np.einsum("nk,nk->n", theta[queries.users()], prepared.beta[queries.pair])


def predictor_probabilities(block: Block, predictor: Predictor, queries: Queries) -> Array:
    """Predict queried pairs with all members, pooled by their weights for each user.

    Parameters
    ----------
    block, queries
        As in `member_probabilities`.
    predictor : Predictor
        Members and weights.

    Returns
    -------
    (n,) array
    """
    compared, parts, left_out = evidence_members(predictor), [], {}
    for member in predictor.members:
        if compared is not None and any(member is each for each in compared):
            found, left_out[id(member)] = _predicted_and_left_out(block, member, queries)
        else:
            found = member_probabilities(block, member, queries)
        parts.append(found)
    x = bounded(np.subtract(*(left_out[id(each)] for each in compared))) if compared else None
    weights = weights_by_evidence(predictor, x, block.n_users)
    weights = weights[queries.users(), query_categories(block, queries)]
    return np.einsum("nj,nj->n", np.column_stack(parts), weights)


def _predicted_and_left_out(block: Block, member: Member, queries: Queries) -> tuple[Array, Array]:
    """Probabilities of the queries, and each user's sum for the evidence, from one inference."""
    if isinstance(member, UtilitiesModel):
        out, sums = np.empty(len(queries.pair)), np.zeros(block.n_users)
        for given in condition(block, member):
            predict_given(given, member, queries, out)
            sums[given.users] = left_out_given(given, block)
        return out, sums
    assert isinstance(member, CalibratedModel)
    prepared = prepare_components(member.model, member.calibration)
    theta, _ = fold_in(block, prepared, max_iter=PREDICTION_STEPS, tol=PREDICTION_TOL)
    sums = mixed_membership_left_out(block, prepared, theta)
    return _mixed(theta, prepared, queries), sums


def population_table(member: Member) -> Array:
    """(Q, Q) one member's probability that a user without comparisons prefers the row's item."""
    if not isinstance(member, CalibratedModel):
        return member.population_probabilities()
    prepared = prepare_components(member.model, member.calibration)
    Q = len(member.model.items)
    return (prepared.beta @ prepared.prior_mean).reshape(Q, Q)


def predictor_population(predictor: Predictor) -> Array:
    """(Q, Q) the pool's probability that a user without comparisons prefers the row's item.

    The weights are those of pairs with no item that the user has compared before.
    """
    tables = np.array([population_table(member) for member in predictor.members])
    return np.einsum("j,jab->ab", predictor.weights[0], tables)
