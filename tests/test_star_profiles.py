"""Star profiles: predictions against the joint normal, weights by folds, the ridge regression."""

from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from film_ratings import N_FILMS, write_moviedata
from mallowmix.data.ratings import rating_table
from mallowmix.paper.table2.fold_weights import fold_weights
from mallowmix.paper.table2.ratings_split import read_ratings_split
from mallowmix.paper.table2.star_profiles import (
    RATING_NOISE,
    StarProfiles,
    predict_stars,
    ridge,
)


@pytest.mark.slow
def test_star_profiles_predict_as_the_conditional_mean_of_the_joint_normal():
    """Against the covariance of all ratings of one person written out, on random numbers."""
    random = np.random.default_rng(0)
    table = rating_table(
        (np.repeat([1, 2], 4), np.tile([1, 2, 3, 4], 2)[:8], random.integers(1, 6, 8)),
        scale=[1, 2, 3, 4, 5],
    )
    S = random.normal(size=(4, 2))
    profiles = StarProfiles(np.array([3.0, 3.2, 2.8, 3.1]), S @ S.T, 0.1, 0.05)
    joint = 0.1 * S @ S.T + 0.05 + RATING_NOISE * np.eye(4)
    given = replace(table, user=table.user[1:], item=table.item[1:], level=table.level[1:])
    rest = table.rating[1:4] - profiles.center[1:]
    by_hand = 3.0 + joint[0, 1:] @ np.linalg.inv(joint[1:, 1:]) @ rest
    found = predict_stars(profiles, given, np.array([0, -1, 1]), np.array([0, 2, -1]))
    assert found[0] == pytest.approx(np.clip(by_hand, 1, 5))
    # nobody we know; a film that we do not know
    assert found[1] == pytest.approx(2.8) and found[2] == pytest.approx(3.025)


def test_weights_elsewhere_do_not_see_the_rating_itself(tmp_path):
    """Turn the ratings of one fold upside down: the weights that stand beside that fold's ratings
    do not change.
    """
    train = read_ratings_split(write_moviedata(tmp_path), N_FILMS).train
    table = rating_table(train, scale=[1, 2, 3, 4, 5])
    model = mm.M4.from_orders(
        [list(map(str, range(10, 10 + N_FILMS))), list(map(str, range(9 + N_FILMS, 9, -1)))],
        0.5,
        [0.5, 0.5],
    )
    before = fold_weights(model, table, mm.Calibration(0.03, 4.0))
    turned = replace(
        table, level=np.where(before.fold == 3, 4 - table.level, table.level).astype(np.int32)
    )
    after = fold_weights(model, turned, mm.Calibration(0.03, 4.0))
    same = before.fold == 3
    assert np.array_equal(before.elsewhere[same], after.elsewhere[same])
    assert not np.allclose(before.elsewhere[~same], after.elsewhere[~same])


def test_ridge_against_stacked_least_squares():
    random = np.random.default_rng(4)
    X, y = random.normal(size=(20, 3)), random.normal(size=20)
    stacked = np.vstack([np.column_stack([X, np.ones(20)]), np.diag(np.sqrt([7.0, 7, 7, 2]))])
    by_lstsq = np.linalg.lstsq(stacked, np.r_[y, np.zeros(4)], rcond=None)[0]
    assert ridge(X, y, 7.0) == pytest.approx(by_lstsq)
