"""k-means against scikit-learn's, which takes the same steps with the same random numbers."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mallowmix.numerics.k_means import k_means


@pytest.mark.parametrize("seed", range(8))
def test_clusters_are_those_of_scikit_learn(seed):
    """Points of a few groups, half of the time of no group, some of them without weight."""
    random = np.random.default_rng(seed)
    K, apart = int(random.integers(2, 7)), 3.0 * (seed % 2)
    centres = apart * random.standard_normal((K, 3))
    points = centres[random.integers(0, K, 300)] + random.standard_normal((300, 3))
    weight = random.integers(0, 40, 300).astype(float)
    expected = KMeans(K, n_init=3, random_state=seed).fit(points, sample_weight=weight).labels_
    assert k_means(points, weight, K, seed=seed).tolist() == expected.tolist()


def test_an_empty_cluster_takes_the_farthest_point():
    """Six points in two places, and one far away, which the third cluster gets in the end."""
    points = np.repeat([[0.0], [1.0], [50.0]], [3, 3, 1], axis=0)
    for seed in range(5):
        label = k_means(points, np.ones(7), 3, seed=seed)
        assert len(set(label[:3])) == len(set(label[3:6])) == 1 and len(set(label)) == 3


def test_points_that_coincide_leave_clusters_empty():
    assert set(k_means(np.zeros((5, 2)), np.ones(5), 3, seed=0)) == {0}
