"""Vertex hunters on planted simplices."""

import numpy as np
import pytest

from mallowmix.learn.spectral.corners import CORNER_FINDERS, smoothed_spa

ALL = pytest.mark.parametrize("hunter", sorted(CORNER_FINDERS))
SMOOTHED = pytest.mark.parametrize("hunter", ["projections", "spa"])


def simplex(K, seed, copies=30, inside=300):
    """Corners in K − 1 dimensions, `copies` rows on each, and a cloud of their mixtures, in a
    random order.
    """
    random = np.random.default_rng(seed)
    corners = random.standard_normal((K, K - 1))
    corners -= corners.mean(axis=0)
    corners *= 3 / np.abs(np.linalg.svd(corners)[1]).min()  # no flat simplex
    rows = np.concatenate(
        [np.repeat(corners, copies, axis=0), random.dirichlet(np.ones(K), inside) @ corners]
    )
    return corners, random.permutation(rows)


def sorted_rows(points):
    return points[np.lexsort(points.T[::-1])]


@pytest.mark.slow
@ALL
@pytest.mark.parametrize("K", [2, 3, 5, 8])
def test_corners_that_many_rows_share_are_found_exactly(hunter, K):
    corners, rows = simplex(K, seed=K)
    np.testing.assert_allclose(
        sorted_rows(CORNER_FINDERS[hunter](rows, K, 0)), sorted_rows(corners), atol=1e-9
    )


@SMOOTHED
def test_noise_moves_the_corners_by_less_than_itself(hunter):
    corners, rows = simplex(4, seed=1, copies=60)
    noisy = rows + 0.1 * np.random.default_rng(0).standard_normal(rows.shape)
    found = CORNER_FINDERS[hunter](noisy, 4, 0)
    distance = np.linalg.norm(corners[:, None] - found, axis=2)
    assert sorted(distance.argmin(axis=1)) == [0, 1, 2, 3]
    # single extreme rows lie at three or four standard deviations: see the next test
    assert distance.min(axis=1).max() < 0.35


def test_smoothing_beats_the_single_most_extreme_row(monkeypatch):
    import mallowmix.learn.spectral.corners as vertices

    def mean_distance():
        off = []
        for seed in range(10):
            corners, rows = simplex(4, seed, copies=60)
            found = smoothed_spa(
                rows + 0.2 * np.random.default_rng(seed).standard_normal(rows.shape), 4
            )
            off.append(np.linalg.norm(corners[:, None] - found, axis=2).min(axis=1).mean())
        return np.mean(off)

    smoothed = mean_distance()
    monkeypatch.setattr(vertices, "_SMOOTH", 1)
    assert smoothed < 0.8 * mean_distance()


@ALL
def test_as_many_rows_as_corners(hunter):
    """Two items make one pair and two rows: each is a corner, none is smoothed away."""
    rows = np.array([[1.5], [-0.5]])
    np.testing.assert_allclose(sorted_rows(CORNER_FINDERS[hunter](rows, 2, 0)), [[-0.5], [1.5]])


@ALL
def test_fewer_different_rows_than_corners_still_give_finite_corners(hunter):
    rows = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    found = CORNER_FINDERS[hunter](rows, 3, 0)
    assert found.shape == (3, 2) and np.isfinite(found).all()
    assert np.isfinite(CORNER_FINDERS[hunter](np.zeros((10, 2)), 3, 0)).all()


@pytest.mark.slow
@ALL
def test_the_same_seed_gives_the_same_corners(hunter):
    _, rows = simplex(5, seed=3)
    assert (
        CORNER_FINDERS[hunter](rows, 5, 7).tobytes()
        == CORNER_FINDERS[hunter](rows.copy(), 5, 7).tobytes()
    )
