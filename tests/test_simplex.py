"""Least squares on the simplex against bisection, enumeration of faces, and scipy."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from mallowmix.errors import FitWarning
from mallowmix.numerics.simplex_regression import (
    clip_to_psd,
    project_to_simplex,
    simplex_least_squares,
)
from oracles import simplex_minimum, simplex_point

numbers = st.floats(-100, 100)
points = st.integers(1, 6).flatmap(
    lambda K: st.lists(st.lists(numbers, min_size=K, max_size=K), min_size=1, max_size=5)
)


@given(points)
def test_projection_to_the_simplex_is_the_nearest_point(rows):
    found = project_to_simplex(np.array(rows))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (found >= 0).all()
    np.testing.assert_allclose(found, [simplex_point(row) for row in rows], atol=1e-10)


def test_projection_leaves_points_of_the_simplex_where_they_are():
    inside = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    np.testing.assert_allclose(project_to_simplex(inside), inside, atol=1e-15)


def value(G, c, b):
    return 0.5 * b @ G @ b - b @ c


def problem(seed, K, condition):
    """A Gram matrix with eigenvalues from 1 to 1/condition (0 for inf), and ten right-hand sides,
    some beyond the simplex.
    """
    random = np.random.default_rng(seed)
    U = np.linalg.qr(random.standard_normal((K, K)))[0]
    values = (
        np.geomspace(1, 1 / condition, K) if np.isfinite(condition) else np.r_[np.zeros(K - 1), 1.0]
    )
    return (U * values) @ U.T, random.standard_normal((10, K))


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([1, 10, 1e4, 1e10, np.inf]))
def test_the_objective_is_within_tol_of_its_least_value(seed, K, condition):
    """The duality gap bounds what is left: no point of any face is better by more than tol times
    the mean of G's diagonal.
    """
    G, C = problem(seed, K, condition)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        B = simplex_least_squares(G, C, tol=1e-5)
    np.testing.assert_allclose(B.sum(axis=1), 1, atol=1e-12)
    assert (B >= 0).all()
    gradient = B @ G - C
    assert (
        (B * gradient).sum(axis=1) - gradient.min(axis=1) <= 1e-5 * np.mean(np.diag(G)) + 1e-14
    ).all()
    for b, c in zip(B, C, strict=True):
        least = simplex_minimum(G, c)
        assert least - 1e-9 <= value(G, c, b) <= least + 1e-5 * np.mean(np.diag(G)) + 1e-9


@pytest.mark.parametrize("K", [2, 4, 8])
def test_the_minimiser_is_that_of_a_general_solver(K):
    G, C = problem(K, K, 20)
    B = simplex_least_squares(G, C, tol=1e-13)
    for b, c in zip(B, C, strict=True):
        other = minimize(
            lambda x, c=c: value(G, c, x),
            np.full(K, 1 / K),
            jac=lambda x, c=c: G @ x - c,
            bounds=[(0, 1)] * K,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        ).x
        np.testing.assert_allclose(b, other, atol=1e-5)


def test_a_point_inside_is_found_exactly():
    """Where c = G b for b on the simplex, b itself is the answer."""
    G, _ = problem(3, 4, 10)
    b = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    np.testing.assert_allclose(simplex_least_squares(G, b @ G, tol=1e-14), b, atol=1e-6)


def test_one_component_takes_everything():
    assert simplex_least_squares(np.array([[3.0]]), np.array([[5.0], [-1.0]])).tolist() == [
        [1.0],
        [1.0],
    ]


def test_without_a_gram_matrix_the_largest_entry_takes_everything():
    """G = 0, as after clipping a negative one: the objective is linear, and its least value is at a
    corner.
    """
    C = np.array([[1.0, 3.0, 2.0], [1e-8, 0.0, -5.0]])
    assert simplex_least_squares(np.zeros((3, 3)), C).tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("size", [1e6, 1e150, 1e300])
def test_projection_of_far_points_is_exact(size):
    assert project_to_simplex(np.array([[size, -size, 0.0], [size, size, 0.0]])).tolist() == [
        [1, 0, 0],
        [0.5, 0.5, 0],
    ]


def test_no_information_leaves_the_middle():
    assert simplex_least_squares(np.zeros((2, 2)), np.zeros((1, 2))).tolist() == [[0.5, 0.5]]


def test_many_rows_at_once_are_the_rows_one_by_one():
    G, C = problem(1, 5, 50)
    together = simplex_least_squares(G, C, tol=1e-12)
    apart = np.concatenate([simplex_least_squares(G, c[None], tol=1e-12) for c in C])
    np.testing.assert_allclose(together, apart, atol=1e-6)


def test_it_says_when_it_stops_too_early():
    G, C = problem(5, 5, 1e10)
    with pytest.warns(
        FitWarning,
        match=r"stopped after 20 steps with \d+ of 10 rows not within tol=1e-12; raise tol, or",
    ):
        B = simplex_least_squares(G, C, tol=1e-12, max_iter=20)
    np.testing.assert_allclose(B.sum(axis=1), 1)


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_clipping_gives_the_nearest_matrix_without_negative_eigenvalues(seed, K):
    """Nearest: A is psd, A − S is psd and orthogonal to A (the conditions of a projection to the
    cone), S the symmetric part.
    """
    G = np.random.default_rng(seed).standard_normal((K, K))
    S, A = (G + G.T) / 2, clip_to_psd(G)
    np.testing.assert_allclose(A, A.T, atol=1e-12)
    assert np.linalg.eigvalsh(A)[0] > -1e-12
    assert np.linalg.eigvalsh(A - S)[0] > -1e-12
    assert np.sum(A * (A - S)) == pytest.approx(0, abs=1e-10)
