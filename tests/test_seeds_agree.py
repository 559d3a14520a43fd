"""Agreement between seeds is counted by component, and unstable components apart."""

from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from benchmarks.seeds_agree import STAND_IN, agreement, data_of


def model_of(sigma, phi, unstable=()):
    m4 = mm.M4(sigma, phi, [0.6, 0.3], ["a", "b", "c", "d"])
    fitted = mm.fit(m4.sample(20, 10, seed=0).comparisons, 1, predictor=False)
    return replace(fitted, m4=m4, report=replace(fitted.report, unstable=unstable))


@pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
def test_what_lies_inside_is_counted_by_component():
    sigma = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])

    class Found:
        position_low = np.array([[0, 0, 2, 3], [3, 2, 1, 0]])
        position_high = np.array([[1, 1, 2, 3], [3, 2, 1, 0]])
        phi_low, phi_high = np.array([0.2, 0.2]), np.array([0.4, 0.4])
        share_low, share_high = np.array([0.6, 0.2]), np.array([0.7, 0.4])

    first = model_of(sigma, [0.3, 0.3], unstable=(2,))
    turned = model_of(sigma[::-1], [0.3, 0.5])  # its first component is the other's second
    swapped = model_of([[1, 0, 2, 3], [3, 2, 0, 1]], [0.3, 0.3])
    found = agreement([first, first, turned, swapped], Found)
    assert found["components"] == [2, 2, 2, 2]
    assert found["unstable components of seed 0"] == [2]
    # the first component: a and b may change places, a phi of .5 is outside
    assert found["stable"]["position"] == 1.0
    assert found["stable"]["phi"] == pytest.approx(2 / 3)
    assert found["stable"]["share"] == pytest.approx(2 / 3)
    # the second: two of four positions moved in one of three models
    assert found["unstable"]["position"] == pytest.approx(10 / 12)


def test_the_stand_in_is_one_ranking_a_person(tmp_path):
    data = data_of("rankings", tmp_path)
    assert (data.n_users, data.n_items) == (STAND_IN.M, STAND_IN.Q)
    assert np.array_equal(np.bincount(data.user, data.weight), np.full(STAND_IN.M, 45.0))
