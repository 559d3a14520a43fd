"""Which kind of member a user's own comparisons speak for: against predictions from the others."""

from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import Block
from mallowmix.infer.member_evidence import (
    MOST_EVIDENCE,
    compared_members,
    mixed_membership_left_out,
    own_evidence,
    user_weights,
    utilities_left_out,
    weighed_by_evidence,
)
from mallowmix.infer.pair_queries import Queries, query_categories
from mallowmix.infer.pooled_prediction import (
    member_probabilities,
    mixed_membership_probabilities,
    predictor_probabilities,
)
from mallowmix.infer.prepared_model import prepare_components
from mallowmix.infer.utilities_prediction import from_the_others, utilities_probabilities
from mallowmix.model.calibration import Calibration
from mallowmix.model.predictor import CalibratedModel, Predictor

ITEMS = list("abcdef")
OWN = mm.UtilitiesModel(
    [[1.0, 0.6, 0.2, -0.2, -0.6, -1.0], [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]],
    0.8 * np.array([[1.0, -1, 1, -1, 1, -1]]).T,
    np.full(6, 0.7),
    [0.6, 0.4],
    ITEMS,
)
M4 = mm.M4([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]], [0.5, 0.6], [0.4, 0.4], ITEMS)
MIXED = CalibratedModel(M4, Calibration(likelihood_weight=0.8))


def block_of(rows: list[tuple[int, int]]) -> Block:
    pair = np.array([i * 6 + j for i, j in rows], np.int32)
    return Block(0, 6, np.array([0, len(pair)]), pair, np.ones(len(pair)), np.ones(1))


def left_out_by_hand(rows, predict):
    """Σ log p(row | the other rows), each row really taken out."""
    total = 0.0
    for n, (i, j) in enumerate(rows):
        others = block_of(rows[:n] + rows[n + 1 :])
        (p,) = predict(others, Queries.same_for_all(1, np.array([i * 6 + j])))
        total += np.log(p)
    return total


ROWS = [(0, 1), (2, 1), (0, 3), (4, 3), (0, 5), (2, 5), (1, 4), (5, 3)]


def test_utilities_without_one_answer_against_taking_it_out():
    found = utilities_left_out(block_of(ROWS), OWN)[0]
    exact = left_out_by_hand(ROWS, lambda block, asked: utilities_probabilities(block, OWN, asked))
    assert abs(found - exact) < 0.03 * abs(exact)


def test_mixed_membership_without_one_answer_against_taking_it_out():
    prepared = prepare_components(MIXED.model, MIXED.calibration)
    found = mixed_membership_left_out(block_of(ROWS), prepared)[0]
    exact = left_out_by_hand(
        ROWS, lambda block, asked: mixed_membership_probabilities(block, prepared, asked)
    )
    assert abs(found - exact) < 0.08 * abs(exact)  # the others' components are not found anew


def test_evidence_tells_the_two_kinds_of_people_apart():
    """40 people of each kind; a fixed draw, so nothing fails by chance."""
    random = np.random.default_rng(0)
    pairs = [(i, j) for i in range(6) for j in range(i)]
    root = np.linalg.cholesky(4 * OWN.covariance())
    table = M4.beta()

    def evidence(answer):
        rows = [(i, j) if random.random() < answer(i, j) else (j, i) for i, j in pairs]
        return float(own_evidence(block_of(rows * 2), OWN, MIXED)[0])

    def own():
        u = root @ random.standard_normal(6)
        return evidence(lambda i, j: 1 / (1 + np.exp(u[j] - u[i])))

    def mixed():
        theta = random.dirichlet([2.0, 2.0])
        return evidence(lambda i, j: theta @ table[:, i, j])

    assert np.mean([own() for _ in range(40)]) > 0.5
    assert np.mean([own() for _ in range(40)]) > np.mean([mixed() for _ in range(40)]) + 1


def test_odds_are_multiplied():
    weights = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])
    is_mixed = np.array([False, False, True])
    found = weighed_by_evidence(weights, is_mixed, np.array([1.0, 0.5, 0.0]), np.array([0.0, 2.0]))
    assert np.allclose(found[0], weights)
    assert np.allclose(found.sum(axis=2), 1)
    odds = found[1, :, 0] / found[1, :, 2]
    assert np.allclose(odds, weights[:, 0] / weights[:, 2] * np.exp([2.0, 1.0, 0.0]))


def test_someone_who_likes_one_item_above_all_is_followed():
    """Four components agree that f is worst; this person puts f over all others, ten times over."""
    weights = np.tile([0.05, 0.95], (3, 1))
    m4 = mm.M4([[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 4, 5]], [0.5, 0.6], [0.4, 0.4], ITEMS)
    members = (OWN, CalibratedModel(m4))
    rows = [(5, j) for j in range(5)] * 2 + [(0, 1), (1, 2), (2, 3), (3, 4)] * 2
    asked = Queries.same_for_all(1, np.array([5 * 6 + j for j in range(5)]))
    plain = predictor_probabilities(block_of(rows), Predictor(members, weights), asked)
    weighed = Predictor(members, weights, None, np.ones(3))
    found = predictor_probabilities(block_of(rows), weighed, asked)
    assert plain.max() < 0.5 < found.min()
    assert user_weights(block_of(rows), weighed)[0, :, 0].min() > 0.9


def test_one_inference_of_each_user_gives_the_same_numbers_as_one_for_each_use():
    """To the last bit; of several users, with a member beside the two that are compared."""
    pair = np.array([i * 6 + j for i, j in ROWS + ROWS[:3]], np.int32)
    starts = np.array([0, len(ROWS), len(ROWS), len(pair)])
    block = Block(0, 6, starts, pair, np.ones(len(pair)), np.ones(3))
    wide = replace(OWN, variances=np.full(6, 4.0))
    members, gamma = (wide, OWN, MIXED), np.array([1.0, 0.5, 0.25])
    predictor = Predictor(members, np.tile([0.1, 0.4, 0.5], (3, 1)), None, gamma)
    asked = Queries.same_for_all(3, np.array([1, 8, 21, 33]))
    table = np.column_stack([member_probabilities(block, each, asked) for each in members])
    weights = user_weights(block, predictor)[asked.users(), query_categories(block, asked)]
    expected = np.einsum("nj,nj->n", table, weights)
    assert np.array_equal(predictor_probabilities(block, predictor, asked), expected)
    assert np.ptp(weights[:, 2]) > 0.01


def test_without_answers_the_weights_are_those_of_anybody():
    weights = np.tile([0.3, 0.7], (3, 1))
    predictor = Predictor((OWN, MIXED), weights, None, np.ones(3))
    assert np.allclose(user_weights(block_of([]), predictor), weights)


def test_evidence_is_bounded():
    rows = [(5, 0)] * 400
    assert abs(own_evidence(block_of(rows), OWN, MIXED)[0]) <= MOST_EVIDENCE


@pytest.mark.parametrize("wrong", [[1.0, 1.0], [1.0, -1.0, 0.0]])
def test_wrong_evidence_weights_are_refused(wrong):
    with pytest.raises(mm.errors.DataError, match="evidence weights"):
        Predictor((OWN,), np.ones((3, 1)), None, np.array(wrong))


@pytest.mark.parametrize(("mean", "variance"), [(0.3, 1.7), (-1.0, 0.2), (2.0, 5.0)])
def test_an_only_answer_that_is_left_out_leaves_the_prior(mean, variance):
    """The mode and the curvature with it are found by Newton's method; the rest is the prior."""
    for weight in (1.0, 2.5):
        gap = mean
        for _ in range(50):
            p = 1 / (1 + np.exp(-gap))
            slope = weight * (1 - p) - (gap - mean) / variance
            gap += slope / (weight * p * (1 - p) + 1 / variance)
        p = 1 / (1 + np.exp(-gap))
        after = 1 / (1 / variance + weight * p * (1 - p))
        found = from_the_others(gap, after, weight)
        before = 1 / (1 + np.exp(-mean / np.sqrt(1 + np.pi * variance / 8)))
        assert found == pytest.approx(np.array([[before]]))


def test_an_only_answer_is_predicted_by_the_prior_of_mixed_membership():
    """Where θ is α and the answer's own part, nothing but α is left without it."""
    prepared = prepare_components(replace(M4, alpha=np.array([0.3, 0.6])), MIXED.calibration)
    theta, beta = np.full(2, 0.5), prepared.beta[1, :2]
    for _ in range(500):
        counts = prepared.alpha + 0.8 * theta * beta / (theta @ beta)
        theta = counts / counts.sum()
    found = mixed_membership_left_out(block_of([(0, 1)]), prepared, theta[None])
    assert found == pytest.approx(np.log(prepared.beta[1] @ prepared.alpha / prepared.alpha.sum()))


def test_the_utilities_with_the_largest_weight_are_compared():
    other = replace(OWN, variances=np.full(6, 0.9))
    for weights, found in (([0.2, 0.5, 0.3], other), ([0.4, 0.1, 0.5], OWN)):
        assert compared_members((OWN, other, MIXED), np.tile(weights, (3, 1))) == (found, MIXED)
    assert compared_members((OWN, other), np.full((3, 2), 0.5)) is None
