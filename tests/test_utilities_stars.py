"""Utilities read as stars: against the joint normal written out, and EM against the likelihood."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import mallowmix as mm
from mallowmix.data.ratings import rating_table
from mallowmix.errors import DataError
from mallowmix.model.predictor import CalibratedModel, Predictor
from mallowmix.paper.table2.star_profiles import StarProfiles, predict_stars
from mallowmix.paper.table2.utilities_stars import (
    _expected,
    learnt_on_stars,
    normal_em,
    utilities_covariance,
)

ITEMS = ["a", "b", "c", "d"]


def some_ratings(n_users=40, seed=0):
    random = np.random.default_rng(seed)
    stars = random.multivariate_normal(np.full(4, 3.0), np.full((4, 4), 0.4) + np.eye(4), n_users)
    seen = [(m, i) for m in range(n_users) for i in random.permutation(4)[: 2 + m % 3]]
    rows = [(m, ITEMS[i], float(np.clip(np.rint(stars[m, i]), 1, 5))) for m, i in seen]
    return rating_table(tuple(zip(*rows, strict=True)), scale=[1, 2, 3, 4, 5])


def log_posterior(table, prior, strength, c, K, noise):
    """Of the ratings, user by user, and of K under the inverse-Wishart prior, without constants."""
    total, starts = 0.0, table.starts()
    for m in range(table.n_users):
        rows = slice(starts[m], starts[m + 1])
        J = table.item[rows]
        S = K[np.ix_(J, J)] + noise * np.eye(len(J))
        total += multivariate_normal(c[J], S).logpdf(table.rating[rows])
    return total - 0.5 * strength * (np.trace(prior @ np.linalg.inv(K)) + np.linalg.slogdet(K)[1])


def test_expected_moments_are_those_of_the_conditional_normal():
    table, random = some_ratings(3), np.random.default_rng(1)
    root = random.normal(size=(4, 4))
    K, c, noise = root @ root.T, np.array([3.0, 2.5, 3.5, 3.0]), 0.7
    moment = np.zeros((4, 4))
    squares = 0.0
    for m in range(3):
        rows = slice(table.starts()[m], table.starts()[m + 1])
        H = np.eye(4)[table.item[rows]]  # which films are seen
        gain = K @ H.T @ np.linalg.inv(H @ K @ H.T + noise * np.eye(len(H)))
        mean = gain @ (table.rating[rows] - H @ c)
        cov = K - gain @ H @ K
        moment += np.outer(mean, mean) + cov
        squares += np.sum((table.rating[rows] - H @ (c + mean)) ** 2) + np.trace(H @ cov @ H.T)
    data = (table.starts(), table.item.astype(np.int64), table.rating)
    found = _expected(*data, c, K, noise)
    assert found[0] == pytest.approx(moment) and found[3] == pytest.approx(squares)
    assert found[2] == pytest.approx(np.bincount(table.item, minlength=4))


def test_no_round_of_em_lowers_the_posterior():
    table, strength, c = some_ratings(200), 20.0, np.full(4, 3.0)
    prior = 0.5 * np.eye(4) + 0.1
    scores = [
        log_posterior(table, prior, strength, *normal_em(table, c, prior, strength, n))
        for n in (0, 1, 2, 3, 5, 10, 20)
    ]
    assert np.all(np.diff(scores) > 0)


def test_what_is_learnt_on_stars_predicts_as_the_normal_that_was_learnt():
    """In units of the noise, since a prediction has a fixed one."""
    table = some_ratings(200)
    begin = StarProfiles(np.full(4, 3.0), np.eye(4) + 0.1, 0.5, 0.1)
    learnt = learnt_on_stars(table, begin, 20.0, 5)
    prior = 0.5 * (np.eye(4) + 0.1) + 0.1
    c, K, noise = normal_em(table, begin.center, prior, 20.0, 5)
    J = table.item[: table.starts()[1]]
    i = next(i for i in range(4) if i not in J)
    by_hand = c[i] + K[i, J] @ np.linalg.solve(
        K[np.ix_(J, J)] + noise * np.eye(len(J)), table.rating[: len(J)] - c[J]
    )
    found = predict_stars(learnt, table, np.array([0]), np.array([i]))
    assert found[0] == pytest.approx(np.clip(by_hand, 1, 5))


def test_the_covariance_is_that_of_utilities_drawn_from_the_model():
    random = np.random.default_rng(3)
    means, V = np.array([[2.0, 0, 0, -2], [-2, 1, 0, 1]]), random.normal(size=(4, 1))
    model = mm.UtilitiesModel(
        means, V, np.array([0.5, 1, 1, 2.0]), np.array([0.3, 0.7]), np.array(ITEMS)
    )
    predictor = Predictor((model,), np.ones((3, 1)))
    k = (random.random(200_000) < 0.7).astype(int)
    noise = random.normal(size=(len(k), 4)) * np.sqrt(model.variances)
    u = means[k] + random.normal(size=(len(k), 1)) @ V.T + noise
    drawn = np.cov(u.T)
    drawn *= 4 / np.trace(drawn)
    assert utilities_covariance(predictor, np.array(ITEMS)) == pytest.approx(drawn, abs=0.02)
    backwards = utilities_covariance(predictor, np.array(ITEMS[::-1]))
    assert backwards == pytest.approx(drawn[::-1, ::-1], abs=0.02)


def test_a_predictor_without_utilities_is_refused():
    model = mm.random_model(4, 2)
    with pytest.raises(DataError, match="no Gaussian utilities"):
        utilities_covariance(Predictor((CalibratedModel(model),), np.ones((3, 1))), model.items)
