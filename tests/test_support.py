"""Two halves of the people: hardly apart where the data is rich, far apart where a ranking is
noise.
"""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import ThreadEngine, make_blocks
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.stability import half_distances
from mallowmix.model.permutations import kendall
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def distances(model, votes, theta, n_jobs=2):
    blocks = make_blocks(votes)
    parts = [theta[block.first_user : block.first_user + block.n_users] for block in blocks]
    return half_distances(
        blocks, MallowsComponents(model.sigma, model.phi), parts, ThreadEngine(n_jobs)
    )


def test_rich_data_leaves_the_truth_where_it_is():
    truth = planted(20, 2, 0.1, 0.3, seed=0)
    votes, theta = truth.sample(1000, 100, seed=0)
    assert distances(truth, votes, theta).tolist() == [0, 0]


def test_a_component_that_nobody_follows_is_far_apart_and_the_others_are_not():
    """The third ranking is noise: everybody is said to follow it by a tenth, but it never decided
    anything.
    """
    truth = planted(20, 3, 0.3, 0.3, seed=1)
    votes, theta = truth.sample(400, 60, prior=np.tile([0.5, 0.5, 0.0], (400, 1)), seed=1)
    found = distances(truth, votes, theta * 0.9 + [0, 0, 0.1])
    assert found[2] > 0.1 > 0.05 > max(found[:2]), found


def test_the_distance_is_that_of_two_separate_polishes():
    """The slow twin: the two halves as data of their own, each polished by its own pass."""
    from mallowmix.paper.oracle import _ascend

    truth = planted(20, 2, 0.6, 0.3, seed=2)
    votes, theta = truth.sample(300, 20, seed=2)
    start = MallowsComponents(truth.sigma, truth.phi)
    halves = []
    for odd in (0, 1):
        people = np.arange(300) % 2 == odd
        part = make_blocks(votes.take_users(people))
        halves.append(_ascend(part, theta[people], start, ThreadEngine(), max_rounds=1))
    expected = [kendall(a, b) for a, b in zip(halves[0].sigma, halves[1].sigma, strict=True)]
    assert min(expected) > 0
    assert distances(truth, votes, theta).tolist() == expected


@pytest.mark.slow
def test_the_distance_is_a_few_times_the_error():
    """Six populations with noisy rankings. Sets of ten other seeds gave ratios of 5.6, 5.9 and 4.9;
    the seeds are fixed.
    """
    errors, apart = [], []
    for seed in range(6):
        truth = planted(20, 2, 0.6, 0.3, seed=seed)
        votes, theta = truth.sample(150, 60, seed=seed)
        found = mm.fit(votes, 2, predictor=False)
        swap = kendall(found.sigma[0], truth.sigma[0]) > kendall(found.sigma[0], truth.sigma[1])
        theta = theta[:, ::-1] if swap else theta
        errors += [
            kendall(a, b)
            for a, b in zip(found.sigma, truth.sigma[::-1] if swap else truth.sigma, strict=True)
        ]
        apart += distances(found, votes, np.ascontiguousarray(theta)).tolist()
    assert 2 < np.mean(apart) / np.mean(errors) < 10


def test_the_number_of_threads_does_not_matter():
    truth = planted(20, 2, 0.6, 0.3, seed=3)
    votes, theta = truth.sample(100, 30, seed=3)
    assert np.array_equal(distances(truth, votes, theta, 1), distances(truth, votes, theta, 2))
