"""When chains stop, and what single kernels draw: by definition, without a whole fit."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, roots_jacobi

from mallowmix.engine import Block
from mallowmix.infer.posterior import posterior_intervals, split_evidence, split_moves
from mallowmix.infer.posterior.person_spread import QuantityIntervals
from mallowmix.learn.spectral import monte_carlo_em as em
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.signed_moment import _random_sums

KEY = np.uint64(7)
TEN = MallowsComponents(np.tile(np.arange(5), (2, 1)), np.array([0.5, 0.5]))  # ten positions


def cycles(monkeypatch, moved, noise=np.inf, **limits):
    """The gains of all cycles, where so many positions move in each; and so much noise is left."""
    gains, left, shown = [], iter(moved), []

    class Run:
        components, alpha, chains = TEN, np.ones(2), ()

        def __init__(self, *_):
            pass

        def cycle(self, gain):
            gains.append(gain)
            return next(left)

        def noise(self, gain):
            assert gain == gains[-1]
            return noise if np.isscalar(noise) else noise[len(gains) - 1]

        def outcome(self, moved):
            return em.MonteCarlo(TEN, np.ones(2), [], moved)

    monkeypatch.setattr(em, "_Run", Run)
    least = {"min_burn_in": 1, "max_burn_in": 6, "min_average": 1, "max_average": 9}
    named = {"sweeps": 1, "seed": 0, "progress": lambda *given: shown.append(given)}
    found = em.monte_carlo_em([], TEN, np.ones(2), [], None, **named, **least | limits)
    assert found.moved == moved[: len(gains)] and len(shown) == len(gains)
    burnt = [done for step, done, _ in shown if step == "burn in"]
    assert burnt == list(range(1, len(burnt) + 1))
    return gains[: len(burnt)], gains[len(burnt) :]


def test_burn_in_ends_when_few_positions_move_and_no_fewer_than_before(monkeypatch):
    assert len(cycles(monkeypatch, [9, 6, 5, 2, 0, 0])[0]) == 5  # ever fewer, until none
    assert len(cycles(monkeypatch, [9, 2, 2, 0])[0]) == 3  # 2 < 0.3 · 10, and as many as before
    assert len(cycles(monkeypatch, [9, 9, 9, 9, 9, 9, 0])[0]) == 6  # the most
    assert len(cycles(monkeypatch, [0, 0, 0, 0], min_burn_in=3)[0]) == 3
    assert len(cycles(monkeypatch, [0, 0])[0]) == 1


def test_draws_are_averaged_until_no_more_than_one_position_in_fifty_moves(monkeypatch):
    burn_in, average = cycles(monkeypatch, [0, 3, 2, 1, 1, 1, 1, 1, 1, 1], max_average=9)
    assert burn_in == [1.0]
    assert average == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 0.15, 0.15, 0.15])
    assert len(cycles(monkeypatch, [0, 1, 0, 0])[1]) == 2
    assert len(cycles(monkeypatch, [0, 0, 1, 0, 9])[1]) == 1
    assert len(cycles(monkeypatch, [0, 0, 1, 0, 9], min_average=3)[1]) == 3


def test_averaging_ends_sooner_where_nothing_moves_in_two_cycles(monkeypatch):
    assert len(cycles(monkeypatch, [0, 3, 0, 0, 0], min_average=5)[1]) == 3
    assert len(cycles(monkeypatch, [0, 0, 0, 0, 0], min_average=3)[1]) == 2  # burn-in is not one
    fixed = {"move_sigma": False, "min_average": 3}  # then nothing could move
    assert len(cycles(monkeypatch, [0, 0, 0, 0, 0], **fixed)[1]) == 3


def test_averaging_ends_where_rankings_move_by_chance_alone(monkeypatch):
    """Four cycles move at least nine tenths as many as the four before them."""
    falling = [9, 9, 8, 7, 6, 5, 4, 3, 3, 3, 3, 3]
    limits = {"max_burn_in": 1, "min_average": 1, "max_average": 11}
    # of 9, 8, 7, 6, 5, 4, 3, 3, 3, 3, 3 sums of four are 13 after 26, 12 after 22, 12 after 18
    assert len(cycles(monkeypatch, falling, **limits)[1]) == 11
    steady = [9, 9, 5, 5, 5, 5, 5, 5, 5, 4, 4, 4]
    assert len(cycles(monkeypatch, steady, **limits)[1]) == 9
    assert len(cycles(monkeypatch, steady, **limits | {"min_average": 10})[1]) == 10
    assert em._by_chance([9, 4, 4, 4, 4, 4, 4, 4, 4]) and em._by_chance([9, *[10] * 4, *[9] * 4])
    assert not em._by_chance([4] * 8) and not em._by_chance([9, *[10] * 4, 9, 9, 9, 8])


def test_it_ends_wherever_draws_leave_little_to_chance(monkeypatch):
    moving, limits = [9] * 20, {"min_burn_in": 6, "min_average": 9, "tol": 0.5}
    assert cycles(monkeypatch, moving, [9, 0.6, 0.5, 0], **limits) == ([1.0] * 3, [])
    late = [9.0] * 8 + [0.4]
    assert cycles(monkeypatch, moving, late, **limits)[1] == pytest.approx([1, 1 / 2, 1 / 3])
    assert len(cycles(monkeypatch, moving, 0.6, **limits)[1]) == 9


def test_noise_is_what_a_cycle_gained_a_position_in_units_of_its_weight():
    run = object.__new__(em._Run)
    run.size, run.gained, run.passes, run.least_passes = 10, 3.0, 4, 4
    assert run.noise(1.0) == pytest.approx(0.3) and run.noise(0.25) == pytest.approx(1.2)
    run.passes = 3  # too few for φ and α
    assert run.noise(1.0) == np.inf


def test_user_weights_below_one_make_nats_smaller():
    """A weight of a tenth for everybody: a tenth. Two copies of a person are two people."""
    rows = (np.array([0, 2, 3]), np.array([1, 2, 1], np.int32), np.array([1.0, 1.0, 2.0]))

    def factor(*weights):
        return em.smaller_by_weights([Block(0, 3, *rows, np.array(weights), None)])

    assert factor(0.1, 0.1) == pytest.approx(0.1) and factor(2.0, 2.0) == 1
    assert factor(1.0, 0.5) == pytest.approx((2 + 2 * 0.25) / (2 + 2 * 0.5))
    assert factor(0.0, 1.0) == 1 and em.smaller_by_weights([Block(0, 3, *rows, np.zeros(2))]) == 0


def test_random_signs_have_the_weight_as_their_variance():
    """One sign a token, and a part of one; of more than 64, the normal limit."""
    n = 4000
    for weight, variance, fourth in ((2.5, 2.25, None), (100.0, 100.0, 3e4), (64.0, 64.0, None)):
        sums = _random_sums(np.array([0, n]), np.full(n, weight), KEY, 0)
        assert np.mean(sums) == pytest.approx(0, abs=5 * np.sqrt(variance / n))
        assert np.var(sums) == pytest.approx(variance, rel=5 * np.sqrt(2 / n))
        if fourth:
            assert np.mean(sums.astype(float) ** 4) == pytest.approx(fourth, rel=0.3)
    two = _random_sums(np.array([0, n]), np.full(n, 2.5), KEY, 0)
    values, counts = np.unique(two, return_counts=True)
    assert values.tolist() == [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]
    assert counts / n == pytest.approx([1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 8, 1 / 8], abs=0.04)


def test_positions_are_rounded_outwards_within_the_ranking():
    each = [np.array(x) for x in ([0.4, 1.6], [-0.3, 1.2], [0.7, 2.4], [0.2, 1.5], [0.5, 1.9])]
    found = posterior_intervals._rounded(QuantityIntervals(*each, np.ones(2)), 3)
    assert found.low.tolist() == [0, 1] and found.high.tolist() == [1, 2]
    assert found.model_low.tolist() == [0, 1] and found.model_high.tolist() == [1, 2]
    assert found.estimate.tolist() == [0.4, 1.6]


def test_two_components_are_drawn_from_their_posterior_with_splits_left_out():
    """Two items, so that β = 1 / (1 + φ) or φ / (1 + φ), against a sum over a grid.

    Draws are correlated: each bound is five standard errors of a tenth of them.
    """
    wins, losses = np.array([4, 0, 3, 1]), np.array([1, 3, 0, 1])  # of item 0, by user
    phi_prior, alpha_prior, total = np.array([1.5, 2.0]), np.array([0.2, 0.7]), 2.0
    reference, log_crowd_phi = np.array([0, 1]), np.log(0.6)
    phis = (np.arange(24) + 0.5) / 24
    logits = np.linspace(-4, 4, 41)
    shares, prior = expit(logits), phis ** (phi_prior[0] - 1) * (1 - phis) ** (phi_prior[1] - 1)
    posterior = np.empty((2, 2, 24, 24, 41))  # σ of both: is item 0 last?
    for at, share in enumerate(shares):
        alpha = total * np.array([share, 1 - share])
        x, weight = roots_jacobi(8, alpha[1] - 1, alpha[0] - 1)
        r, weight = (x + 1) / 2, weight / weight.sum()
        density = np.exp(-0.5 * np.sum(((np.log(alpha) - alpha_prior[0]) / alpha_prior[1]) ** 2))
        for one, two in product(range(2), repeat=2):
            b1, b2 = (1 / (1 + phis) if last == 0 else phis / (1 + phis) for last in (one, two))
            p = r[:, None, None] * b1[:, None] + (1 - r)[:, None, None] * b2
            users = [np.tensordot(weight, p ** wins[m] * (1 - p) ** losses[m], 1) for m in range(4)]
            crowd = np.exp(log_crowd_phi * (one + two))
            posterior[one, two, :, :, at] = np.prod(users, axis=0) * crowd * density
    posterior *= prior[:, None, None] * prior[:, None]
    posterior /= posterior.sum()

    answers = [(1, w) for w in wins] + [(2, n) for n in losses]
    pair = np.array([code for m in range(4) for code, _ in (answers[m], answers[m + 4])])
    power = np.array([float(n) for m in range(4) for _, n in (answers[m], answers[m + 4])])
    starts = np.arange(0, 9, 2)
    rows = (starts, pair, power, split_evidence.answer_counts(starts, power))
    theta, beta = np.full((4, 2), 0.5), np.full((4, 2), 0.5)
    sigma, phi, alpha = np.array([[0, 1], [1, 0]]), np.array([0.5, 0.5]), np.array([1.0, 1.0])
    draws = []
    for step in range(6000):
        split_moves.move_split(
            rows, theta, beta, sigma, phi, alpha, np.array([0, 1]), reference, log_crowd_phi,
            phi_prior, alpha_prior, np.array([1.0, 1.5, 1.5]), 8, 1.0, KEY, step,
        )  # fmt: skip
        draws.append([*sigma[:, 0], *phi, alpha[0] / alpha.sum(), sigma[0, 0] * sigma[1, 0]])
    assert alpha.sum() == pytest.approx(total) and theta.sum(axis=1) == pytest.approx(np.ones(4))
    axes = (np.arange(2), np.arange(2), phis, phis, shares)
    exact = []
    for n, values in enumerate(axes):
        margin = posterior.sum(axis=tuple(each for each in range(5) if each != n))
        exact.append((margin @ values, margin @ values**2))
    both = posterior[1, 1].sum()
    for (first, second), found in zip([*exact, (both, both)], np.transpose(draws), strict=True):
        bound = 5 * np.sqrt((second - first**2) / 600)
        assert np.mean(found) == pytest.approx(first, abs=bound)
        assert np.mean(found**2) == pytest.approx(second, abs=2 * bound)


def test_all_rankings_are_as_likely_before_where_the_crowd_has_none():
    state = np.uint64(3)
    for n in range(20):
        sigma = np.array([[0, 1, 2, 3], [3, 1, 0, 2]])
        given = (n % 2 == 0, n % 4 // 2, sigma, 1.0, np.arange(4), 0.0)
        state, found = split_moves._propose_rankings(np.uint64(state), *given)
        assert found in (0.0, -np.inf)
