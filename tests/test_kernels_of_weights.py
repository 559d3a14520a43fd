"""Kernels of users' weights, each against its definition in NumPy: steps to means and modes,
extrapolation, filtering, tempered proposals.
"""

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

from mallowmix.infer.assumed_density import _absorb, _filtered, log_marginal
from mallowmix.infer.collapsed_variational import (
    MAX_EXTRAPOLATION,
    _collapsed,
    _responsibilities,
    extrapolate,
    gather_rows,
)
from mallowmix.infer.tempered_draws import _propose, _take, _two, tempered_moves
from mallowmix.infer.weights import _em_step, _modes

ALPHA = np.array([0.4, 1.1, 0.7])
BETA = np.array([[0.9, 0.2, 0.5], [0.3, 0.6, 0.8], [0.5, 0.95, 0.1], [0.25, 0.4, 0.7]])
WEIGHT = np.array([1.0, 0.5, 2.0, 3.0])
E = 0.6  # the likelihood weight


def _next_counts(r, counts):
    """(r, counts) after a step: a token leaves out itself, or its weight where that is less."""
    others = counts - E * np.minimum(WEIGHT, 1.0)[:, None] * r
    r = BETA * np.maximum(others, 0.0)
    r /= r.sum(axis=1, keepdims=True)
    return r, ALPHA + E * WEIGHT @ r


def test_a_step_of_counts_leaves_every_token_out_of_its_own():
    old = np.array([1.3, 2.0, 1.5])
    r = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]])
    expected_r, expected = _next_counts(r, old)
    new, now = np.empty(3), r.copy()
    change = _responsibilities(BETA, WEIGHT, E, ALPHA, now, old, new)
    assert now == pytest.approx(expected_r) and new == pytest.approx(expected)
    assert change == pytest.approx(np.abs(expected - old).max() / expected.sum())


def test_no_count_of_other_tokens_is_below_zero():
    """Where rounding, or an extrapolation, left a component less than the token itself."""
    old, r = np.array([0.1, 2.0, 2.0]), np.tile([1.0, 0.0, 0.0], (4, 1))
    now, new = r.copy(), np.empty(3)
    _responsibilities(BETA, WEIGHT, E, ALPHA, now, old, new)
    assert np.all(now[[0, 2, 3], 0] == 0) and np.all(now >= 0)
    assert new == pytest.approx(_next_counts(r, old)[1])


@pytest.mark.parametrize("most", [1.0, 1.5, 8.0])
def test_extrapolation_is_squarem_within_its_bounds(most):
    start, once, twice = np.array([1.0, 4.0]), np.array([1.4, 3.4]), np.array([1.6, 3.2])
    step, change = once - start, twice - 2 * once + start
    a = min(max(np.linalg.norm(step) / np.linalg.norm(change), 1.0), most)
    found, least = start.copy(), np.array([0.5, 0.1])
    extrapolate(found, once, twice, least, most)
    far = start + 2 * a * step + a**2 * change
    assert found == pytest.approx(np.maximum(far, least + 0.1 * (twice - least)))
    if most == 1.0:
        assert found == pytest.approx(twice)


def test_extrapolation_keeps_a_tenth_of_what_is_above_the_least():
    start, once, twice = np.array([9.0, 1.0]), np.array([5.0, 1.0]), np.array([1.5, 1.0])
    extrapolate(start, once, twice, np.array([0.5, 0.5]), 8.0)
    assert start == pytest.approx([0.5 + 0.1 * (1.5 - 0.5), 1.0])  # the line goes far below 0


def test_extrapolation_of_what_stands_still_stays():
    start = np.array([2.0, 3.0])
    extrapolate(start, start.copy(), start.copy(), np.zeros(2), 8.0)
    assert start.tolist() == [2.0, 3.0]


def _counts_after(max_iter, tol=0.0):
    starts, pair = np.array([0, 4, 4]), np.arange(4, dtype=np.int32)
    counts = np.full((2, 3), np.nan)
    room = np.empty((4, 3)), np.empty(4), np.full((4, 3), np.nan), np.empty(3), np.empty(3)
    moving = _collapsed(starts, pair, WEIGHT, BETA, ALPHA, E, max_iter, tol, counts, *room)
    return counts, moving


@pytest.mark.parametrize("n_steps", [1, 2])
def test_a_few_steps_of_counts_are_plain_ones(n_steps):
    """One step from the prior and then so many more; somebody without rows keeps the prior."""
    r, counts = _next_counts(np.zeros((4, 3)), ALPHA)
    for _ in range(n_steps):
        r, counts = _next_counts(r, counts)
    found, moving = _counts_after(n_steps)
    assert found[0] == pytest.approx(counts) and found[1].tolist() == ALPHA.tolist()
    assert moving == 1


def test_the_third_step_of_counts_begins_from_an_extrapolation():
    r, first = _next_counts(np.zeros((4, 3)), ALPHA)
    r, once = _next_counts(r, first)
    r, twice = _next_counts(r, once)
    extrapolate(first, once, twice, ALPHA, MAX_EXTRAPOLATION)
    assert not np.allclose(first, twice, rtol=1e-3)
    assert _counts_after(3)[0][0] == pytest.approx(_next_counts(r, first)[1])


def test_counts_stop_as_soon_as_they_move_less_than_asked():
    """The change of each step is a part of the sum of the counts."""
    r, counts = _next_counts(np.zeros((4, 3)), ALPHA)
    changes = []
    for _ in range(2):
        r, new = _next_counts(r, counts)
        changes.append(np.abs(new - counts).max() / new.sum())
        counts = new
    assert changes[1] < changes[0]
    assert _counts_after(50, 1.01 * changes[0])[1] == 0
    assert _counts_after(1, 0.99 * changes[0])[1] == 1
    assert _counts_after(2, 1.01 * changes[1])[1] == 0
    assert _counts_after(2, 0.99 * changes[1])[1] == 1
    _, counts = _next_counts(np.zeros((4, 3)), ALPHA)
    stopped = _counts_after(50, 1.01 * changes[0])[0][0]
    assert np.abs(stopped - counts).max() / stopped.sum() == pytest.approx(changes[0])


def _next_mode(theta):
    r = BETA * theta
    r *= (E * WEIGHT / r.sum(axis=1))[:, None]
    new = ALPHA + r.sum(axis=0)
    return new / new.sum()


def test_a_step_to_the_mode():
    theta, new = np.array([0.2, 0.5, 0.3]), np.empty(3)
    change = _em_step(BETA, WEIGHT, E, ALPHA, theta, new)
    assert new == pytest.approx(_next_mode(theta))
    assert change == pytest.approx(np.abs(new - theta).max())


def _modes_after(max_iter, tol=0.0):
    starts, pair, prior_mean = (
        np.array([0, 0, 4]),
        np.arange(4, dtype=np.int32),
        ALPHA / ALPHA.sum(),
    )
    return _modes(starts, pair, WEIGHT, BETA, ALPHA, E, prior_mean, max_iter, tol)


def test_the_first_steps_to_a_mode_are_plain_ones_and_the_third_is_not():
    prior_mean = ALPHA / ALPHA.sum()
    once = _next_mode(prior_mean)
    twice = _next_mode(once)
    for n_steps, expected in ((1, once), (2, twice)):
        found, moving = _modes_after(n_steps)
        assert found[1] == pytest.approx(expected) and found[0] == pytest.approx(prior_mean)
        assert moving == 1
    far = prior_mean.copy()
    extrapolate(far, once, twice, np.zeros(3), MAX_EXTRAPOLATION)
    third = _next_mode(far / far.sum())
    assert _modes_after(3)[0][1] == pytest.approx(third)
    change = np.abs(twice - once).max()
    assert _modes_after(2, 1.01 * change)[1] == 0 and _modes_after(2, 0.99 * change)[1] == 1


def test_rows_of_weight_zero_are_left_out():
    b, w = np.empty((4, 3)), np.empty(4)
    weight = np.array([9.0, 0.0, 2.0, 0.5])
    assert gather_rows(1, 4, np.array([0, 1, 3, 2]), weight, BETA, b, w) == 2
    assert w[:2].tolist() == [2.0, 0.5] and b[:2].tolist() == BETA[[3, 2]].tolist()


def test_a_whole_token_moves_a_dirichlet_to_the_moments_of_its_mixture():
    """θ given the token is Dirichlet(γ + e_k) with probability w_k: its means, its variances."""
    gamma, b = np.array([0.6, 1.5, 2.2]), np.array([0.8, 0.3, 0.55])
    p = gamma @ b / gamma.sum()
    w = gamma * b / gamma.sum() / p
    parts, total = gamma + np.eye(3), gamma.sum() + 1
    mean = w @ (parts / total)
    variance = w @ (parts * (parts + 1) / (total * (total + 1))) - mean**2
    found = gamma.copy()
    assert _absorb(b, 1.0, found) == pytest.approx(np.log(p))
    assert found / found.sum() == pytest.approx(mean)
    share = found / found.sum()
    assert (share * (1 - share)).sum() / (found.sum() + 1) == pytest.approx(variance.sum())


def test_a_part_of_a_token_moves_the_moments_a_part_of_the_way():
    gamma, b, x = np.array([0.6, 1.5]), np.array([0.8, 0.3]), 0.25
    whole, part = gamma.copy(), gamma.copy()
    _absorb(b, 1.0, whole)
    _absorb(b, x, part)
    before, after = gamma / gamma.sum(), whole / whole.sum()
    assert part / part.sum() == pytest.approx(before + x * (after - before))

    def square(g):  # Σ E θ_k²
        return float((g * (g + 1)).sum() / (g.sum() * (g.sum() + 1)))

    assert square(part) == pytest.approx(square(gamma) + x * (square(whole) - square(gamma)))


def test_a_component_alone_grows_by_what_it_takes():
    gamma = np.array([2.0])
    assert _absorb(np.array([0.3]), 0.5, gamma) == pytest.approx(0.5 * np.log(0.3))
    assert gamma == pytest.approx([2.5])


def test_tokens_are_filtered_one_by_one_and_a_rest_counts_as_a_part():
    b, x, alpha = BETA[:, :2].copy(), np.array([2.5, 0.0, 1.0, 0.5]), np.array([0.5, 0.9])
    order = np.array([2, 0, 3, 1])

    def by_hand(rows):
        gamma, total = alpha.copy(), 0.0
        for t in rows:
            parts = [1.0] * int(x[t]) + [x[t] % 1] * bool(x[t] % 1)
            for part in parts:
                total += _absorb(b[t], part, gamma)
        return total

    assert _filtered(b, x, alpha, order, False) == pytest.approx(by_hand(order))
    assert _filtered(b, x, alpha, order, True) == pytest.approx(by_hand(order[::-1]))
    up = np.argsort(np.abs(b - 0.5).max(axis=1))  # from the nearest to a coin
    assert len(set(np.abs(b - 0.5).max(axis=1))) == 4
    mean = (by_hand(up) + by_hand(up[::-1])) / 2
    assert log_marginal(b, x, alpha) == pytest.approx(mean, rel=1e-12)


def test_two_components_are_any_two():
    state, count = np.uint64(5), np.zeros((4, 4))
    for _ in range(6000):
        state, i, j = _two(np.uint64(state), 4)
        count[i, j] += 1
    assert np.all(np.diag(count) == 0)
    assert np.abs(count[~np.eye(4, dtype=bool)] - 500).max() < 5 * np.sqrt(500)


def test_tokens_are_taken_by_their_probability():
    """Of the first, of the second, or of another component."""
    n, old, b = 20_000, np.array([0.2, 0.3]), (0.6, 0.5)
    likelihood = np.full(n, old[0] * b[0] + old[1] * b[1] + 0.5 * 0.4)
    taken = np.empty(n, np.int64)
    _take(np.uint64(3), np.full(n, b[0]), np.full(n, b[1]), old, likelihood, taken)
    share = [np.mean(taken == which) for which in (0, 1, -1)]
    assert share == pytest.approx([0.12 / 0.47, 0.15 / 0.47, 0.2 / 0.47], abs=0.02)


def test_a_common_weight_is_divided_by_a_beta_of_what_each_took():
    x, taken = np.array([0.5, 2.0, 0.7, 4.0]), np.array([0, 1, 0, -1])
    old, new, state = np.array([0.15, 0.35]), np.empty(2), np.uint64(9)
    share = []
    for _ in range(4000):
        state = _propose(np.uint64(state), 0.8, 1.7, x, taken, old, new)
        assert new.sum() == pytest.approx(0.5)
        share.append(new[0] / 0.5)
    law = beta_distribution(0.8 + 1.2, 1.7 + 2.0)
    assert np.mean(share) == pytest.approx(law.mean(), abs=5 * law.std() / np.sqrt(4000))
    assert np.var(share) == pytest.approx(law.var(), rel=0.15)


def test_moves_of_weights_leave_their_posterior_as_it_is():
    """Three components, powers of a half and of two: the mean of θ, by a sum over a grid."""
    columns, x = np.ascontiguousarray(BETA[:3].T), np.array([0.5, 2.0, 1.5])
    alpha = np.array([1.2, 1.6, 1.1])

    at = (np.arange(120) + 0.5) / 120
    theta = np.array([(u, v, 1 - u - v) for u in at for v in at if u + v < 1])
    density = np.prod(theta ** (alpha - 1), axis=1) * np.prod((theta @ columns) ** x, axis=1)
    means = density @ theta / density.sum()
    state, theta, mean, n = np.uint64(1), alpha / alpha.sum(), np.zeros(3), 6000
    for _ in range(n):
        state = tempered_moves(np.uint64(state), columns, x, alpha, theta)
        assert theta.sum() == pytest.approx(1.0)
        mean += theta / n
    assert mean == pytest.approx(means, abs=0.015)
    alone = np.ones(1)
    assert (
        tempered_moves(np.uint64(state), columns[:1], x, alpha[:1], alone) == state
        and alone[0] == 1.0
    )
