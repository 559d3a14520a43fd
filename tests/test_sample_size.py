"""Theorem 2's M and P, corrected: each step against brute force, none of which shares its code."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import mallowmix as mm
from mallowmix.model.population_moments import population_moments
from mallowmix.numerics.dirichlet import dirichlet_moments
from mallowmix.paper.theory.sample_size import (
    mean_error,
    noise_perturbation,
    projections_for_share,
    row_error,
    sample_size,
    users_for_error,
)
from mallowmix.paper.theory.theorem2 import theorem2

THREE = mm.M4.from_orders(["abcd", "dcba", "bdac"], phi=0.05, alpha=0.1)
MOMENTS = population_moments(THREE.beta(), *dirichlet_moments(THREE.alpha))


def exact_parts():
    """The vector p = Ba and the matrix g = BRBᵀ over the ordered pairs, from their definitions."""
    B = THREE.ranking_matrix()
    B = B[B.sum(axis=1) > 0]
    a, total = THREE.share, THREE.alpha.sum()
    R = (total * np.outer(a, a) + np.diag(a)) / (total + 1)
    return B @ a, B @ R @ B.T


@pytest.mark.parametrize("share", [1e-4, 0.1, 0.5])
def test_rows_are_within_the_error_whatever_the_errors_of_the_means(share):
    """Means off by ±t, the worst signs for each row among 200 draws and the systematic ones."""
    p, g = exact_parts()
    E, W, t = g / np.outer(p, p), len(p), share * p.min()
    random = np.random.default_rng(0)
    signs = [(random.choice([-1, 1], (W, W)), *random.choice([-1, 1], (2, W))) for _ in range(200)]
    signs += [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    worst = 0.0
    for of_g, of_u, of_v in signs:
        estimate = (g + t * of_g) / np.outer(p + t * of_u, p + t * of_v)
        worst = max(worst, np.linalg.norm(estimate - E, axis=1).max())
    assert 0.05 * row_error(t, p.min(), W) < worst <= row_error(t, p.min(), W)


def test_the_error_of_means_is_the_inverse():
    for error in (1e-6, 0.1, 3.0):
        t = mean_error(error, 0.05, 12)
        assert row_error(t, 0.05, 12) == pytest.approx(error)
    assert mean_error(1e9, 0.05, 12) == 0.025


@pytest.mark.slow
def test_so_many_users_leave_so_small_an_error():
    """20 populations of the M for δ = .5 and a wide error: rows of Ê, from counts written out."""
    p, g = exact_parts()
    E, W, N, error = g / np.outer(p, p), len(p), 20, 20.0
    M = int(users_for_error(error, p.min(), W, 0.5))
    B = THREE.ranking_matrix()
    B = B[B.sum(axis=1) > 0]
    random, failed = np.random.default_rng(1), 0
    for _ in range(20):
        mixed = random.dirichlet(THREE.alpha, M) @ B.T
        halves = [
            random.multinomial(N // 2, mixed / mixed.sum(axis=1, keepdims=True)) for _ in "ab"
        ]
        first, second = (half / (N / 2) for half in halves)
        estimate = (first.T @ second / M) / np.outer(first.mean(axis=0), second.mean(axis=0))
        failed += np.linalg.norm(estimate - E, axis=1).max() > error
    assert failed / 20 <= 0.5


def test_solid_angles_move_no_more_than_the_bound_says():
    """Rows at random, each moved by e in a random direction; angles by 200,000 directions."""
    random = np.random.default_rng(2)
    rows, error = random.normal(size=(6, 5)), 0.002
    distance = min(np.linalg.norm(a - b) for i, a in enumerate(rows) for b in rows[:i])
    noise = random.normal(size=rows.shape)
    moved = rows + error * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    directions = random.normal(size=(5, 200_000))
    before, after = ((part @ directions).argmax(axis=0) for part in (rows, moved))
    change = max(abs((before == i).mean() - (after == i).mean()) for i in range(6))
    bound = noise_perturbation(error, distance, 6)
    assert 0 < change <= bound < 1
    grid = np.linspace(1e-6, 1, 100_000)
    by_hand = 6 * (math.sqrt(2 / math.pi) * grid / distance + np.exp(-(grid**2) / 8 / error**2))
    assert bound == pytest.approx(by_hand.min(), rel=1e-3)
    assert noise_perturbation(0, 1, 6) == 0 and noise_perturbation(1, 0, 6) == 1


@pytest.mark.parametrize(("q", "W"), [(0.3, 12), (0.05, 380)])
def test_projections_by_the_binomial_distribution(q, W):
    P = projections_for_share(q, W, 0.05)
    for angle in (q / 3, 2 * q / 3, q, 0.5):
        inside = binom.cdf(math.ceil((angle + q / 8) * P) - 1, P, angle)
        inside -= binom.cdf(math.floor((angle - q / 8) * P), P, angle)
        assert 1 - inside <= 0.05 / W
    assert math.ceil(32 * math.log(2 * W / 0.05) / q**2) == P


def test_the_printed_number_of_users_falls_to_one_and_the_corrected_does_not():
    """With N → ∞ a person shows θ itself, and fewer than K people a moment of rank below K."""
    found = sample_size(MOMENTS, 0.05, 0.0)
    printed = [theorem2(MOMENTS, 0.05, N).n_users for N in (100, 10**12, 10**30)]
    assert printed[0] > printed[1] >= printed[2] == 1
    assert found.n_users > 1e6 and math.isfinite(found.n_users)
    theta = np.random.default_rng(3).dirichlet(THREE.alpha, 2)
    assert np.linalg.matrix_rank(theta.T @ theta) < 3


def test_less_room_needs_more_people():
    limit = theorem2(MOMENTS, 0.05, 10).lambda_corrected
    sizes = [sample_size(MOMENTS, 0.05, share * limit) for share in (0, 0.5, 0.9, 0.99)]
    users = [size.n_users for size in sizes]
    assert users == sorted(users) and users[0] < users[-1] < math.inf
    assert [size.row_error for size in sizes] == sorted((s.row_error for s in sizes), reverse=True)
    assert sample_size(MOMENTS, 0.05, 1.01 * limit).n_users == math.inf
    tighter = sample_size(MOMENTS, 0.05, 0.0, delta=0.001)
    assert tighter.n_users > users[0] and tighter.n_projections > sizes[0].n_projections


def test_rows_within_the_error_give_all_rankings():
    """The conclusion itself: rows at the corners moved by e, regressed by brute force over a fine
    grid of weights, put every pair in its order in every component.
    """
    size = sample_size(MOMENTS, 0.05, 0.0)
    random = np.random.default_rng(4)
    B_bar, Y = MOMENTS.B_bar, MOMENTS.Y
    E = B_bar @ Y

    def moved(rows, most):
        noise = random.normal(size=rows.shape)
        return rows + most * noise / np.linalg.norm(noise, axis=1, keepdims=True)

    corners = moved(Y, size.radius + 3 * size.row_error)
    rows = moved(E, size.row_error)
    steps = np.linspace(0, 1, 201)
    grid = np.array([(x, y, 1 - x - y) for x in steps for y in steps if x + y <= 1 + 1e-12])
    p, _ = exact_parts()
    found = np.array([grid[np.linalg.norm(r - grid @ corners, axis=1).argmin()] for r in rows])
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    row_of = {pair: number for number, pair in enumerate(pairs)}
    for k in range(3):
        for i, j in pairs:
            above = p[row_of[i, j]] * found[row_of[i, j], k]
            below = p[row_of[j, i]] * found[row_of[j, i], k]
            assert (above > below) == (THREE.sigma[k, i] < THREE.sigma[k, j])


def test_wrong_arguments():
    for wrong in ({"phi": 1.0}, {"lam": -0.1}, {"delta": 0.0}):
        given = {"phi": 0.05, "lam": 0.0} | wrong
        with pytest.raises(mm.errors.OptionError):
            sample_size(MOMENTS, **given)
