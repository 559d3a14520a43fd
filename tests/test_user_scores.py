"""Users' scores and Newton's steps: small cases that are known exactly."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2

from mallowmix.engine import Block, ThreadEngine
from mallowmix.learn.spectral import marginal_maximum
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.user_scores import (
    Smooth,
    information_of,
    newton_step,
    one_step,
    phi_and_share,
    smooth_at,
)
from mallowmix.model.mallows import beta_matrix

RNG = np.random.default_rng(2)
ROOT = RNG.normal(size=(4, 6))
SHOWN = ROOT @ ROOT.T
SIGMA = np.array([[0, 1, 2, 3], [3, 1, 0, 2]])


def block_of(pairs, weight, users):
    """People with as many rows each."""
    starts = np.linspace(0, len(pairs), users + 1).astype(np.int64)
    return Block(0, 4, starts, np.array(pairs, np.int32), np.array(weight), np.ones(users), None)


@pytest.mark.parametrize(("part", "kept"), [(0.5, 0.5), (0.0, 0.1), (-1.0, 0.1), (3.0, 1.0)])
def test_information_is_between_a_tenth_and_all_of_what_is_shown(part, kept):
    """And symmetric: what differs between the two orders of the stretches is noise."""
    skew = np.triu(RNG.normal(size=(4, 4)), 1)
    assert information_of(part * SHOWN + skew - skew.T, SHOWN) == pytest.approx(
        kept * SHOWN, abs=1e-6
    )


def test_a_newton_step_solves_with_the_information_and_is_at_most_half_a_unit():
    smooth = Smooth(np.array([1.0, -1.0, 0.5, 0.0]), np.empty(0), np.diag([2.0, 4.0, 1.0, 1.0]))
    slope = np.array([0.4, -0.8, 3.0, -3.0])
    assert newton_step(smooth, slope) == pytest.approx([1.2, -1.2, 1.0, -0.5])
    assert one_step(smooth, slope[None]) == pytest.approx(np.array([[0.2, -0.2, 3.0, -3.0]]))
    assert smooth.phi == pytest.approx(expit([1.0, -1.0]))
    assert smooth.alpha == pytest.approx(np.exp([0.5, 0.0]))
    far = smooth._replace(eta=np.array([30.0, -30.0, 0.0, 0.0]))
    assert far.phi == pytest.approx([1 - 1e-4, 1e-4])  # where information would vanish
    phi, share = phi_and_share(smooth.eta[None])
    assert phi[0] == pytest.approx(expit([1.0, -1.0]))
    assert share[0] == pytest.approx(np.exp([0.5, 0]) / np.exp([0.5, 0]).sum())
    large = phi_and_share(np.array([[0.0, 0.0, 800.0, 801.0]]))[1]  # e⁸⁰⁰ is no number
    assert large[0] == pytest.approx(expit([-1.0, 1.0]))


def test_the_score_of_one_component_is_the_derivative_of_its_likelihood():
    pairs, weight = [1, 2, 14, 9], [1.0, 2.5, 1.0, 0.5]  # ordered pairs of items, i · 4 + j
    block = block_of(pairs, weight, 1)
    at = smooth_at(
        SIGMA[:1], np.array([0.4]), np.array([0.7]), [block], ThreadEngine(1), sweeps=4, seed=0
    )

    def likelihood(x):
        return float(np.log(beta_matrix(SIGMA[0], float(expit(x))).ravel()[pairs]) @ weight)

    slope = (likelihood(logit(0.4) + 1e-5) - likelihood(logit(0.4) - 1e-5)) / 2e-5
    assert at.eta == pytest.approx([logit(0.4), np.log(0.7)])
    assert at.scores[0] == pytest.approx([slope, 0.0], rel=1e-5)  # α says nothing of one


def test_the_score_of_one_comparison_is_known():
    """p(w) = Σ_k α_k β_k / A: its derivatives in logit φ are exact, in log α means of draws."""
    alpha, phi, users = np.array([0.6, 1.4]), np.array([0.3, 0.5]), 400
    block = block_of([1] * users, np.ones(users), users)
    at = smooth_at(SIGMA, phi, alpha, [block], ThreadEngine(1), sweeps=20, seed=1)

    def likelihood(eta):
        beta = [beta_matrix(row, p)[0, 1] for row, p in zip(SIGMA, expit(eta[:2]), strict=True)]
        weights = np.exp(eta[2:]) / np.exp(eta[2:]).sum()
        return float(np.log(weights @ beta))

    steps = 1e-5 * np.eye(4)
    exact = [(likelihood(at.eta + h) - likelihood(at.eta - h)) / 2e-5 for h in steps]
    assert at.scores[:, :2] == pytest.approx(np.tile(exact[:2], (users, 1)), rel=1e-4)
    error = 5 * at.scores[:, 2:].std(axis=0) / np.sqrt(users)
    assert np.all(np.abs(at.scores[:, 2:].mean(axis=0) - exact[2:]) < error)


@pytest.mark.parametrize("far", [1, 4])
@pytest.mark.parametrize(("near", "n_fine"), [([0.6] * 9, 3), ([0.6, 0.6, 0.5], 2), ([0.5] * 9, 1)])
def test_coarse_steps_end_near_the_maximum_and_fine_ones_follow(far, near, n_fine, monkeypatch):
    """At most three, until one corrects mere noise; the last two are averaged."""
    distances = iter([9.0] * (far - 1) + near)
    sweeps, places = [], iter(np.linspace(-0.4, 0.4, 9))

    def at(sigma, phi, alpha, blocks, engine, **given):
        sweeps.append(given["sweeps"])
        return Smooth(np.r_[logit(phi), np.log(alpha)], np.zeros((1, 2)), np.eye(2))

    path = []

    def step(smooth, slope):
        path.append(np.array([next(places), 0.0]))
        return path[-1]

    monkeypatch.setattr(marginal_maximum, "smooth_at", at)
    monkeypatch.setattr(marginal_maximum, "newton_step", step)
    monkeypatch.setattr(marginal_maximum, "score_distance", lambda *_: next(distances))
    start = MallowsComponents(SIGMA[:1], np.array([0.5]))
    block = block_of([1], [1.0], 1)
    found = marginal_maximum._ascend(start, np.ones(1), [block], ThreadEngine(1), 0)
    assert sweeps == [20] * far + [120] * n_fine
    last = path[-2:] if n_fine > 1 else path[-1:]
    assert found.components.phi == pytest.approx(expit(np.mean(last, axis=0)[:1]))
    assert len(found.distances) == far + n_fine


@pytest.mark.parametrize(("distances", "steps"), [([3.0, 2.2, 2.1], 3), ([2.2] * 12, 12)])
def test_without_fine_steps_the_first_near_step_is_the_last(distances, steps, monkeypatch):
    """Near is what a sample is by chance, 2.15 for two parameters; the last step says φ."""
    seen, told = [], iter(distances)

    def at(*_, sweeps, **__):
        seen.append(sweeps)
        return Smooth(np.zeros(2), np.zeros((1, 2)), np.eye(2))

    monkeypatch.setattr(marginal_maximum, "smooth_at", at)
    monkeypatch.setattr(marginal_maximum, "newton_step", lambda *_: np.array([len(seen), 0.0]))
    monkeypatch.setattr(marginal_maximum, "score_distance", lambda *_: next(told))
    start, block = MallowsComponents(SIGMA[:1], np.array([0.5])), block_of([1], [1.0], 1)
    found = marginal_maximum._ascend(start, np.ones(1), [block], ThreadEngine(1), 0, fine=False)
    assert seen == [20] * steps and found.distances == tuple(distances)
    assert found.components.phi == pytest.approx(np.minimum(expit([steps]), 1 - 1e-4))


@pytest.mark.parametrize(("of_all", "moves"), [(0.9, False), (1.1, True)])
def test_all_users_decide_where_a_sample_of_them_is_far(of_all, moves, monkeypatch):
    """A sample's distance of 1.4 is no more than chance for two parameters, 2.2 is."""
    monkeypatch.setattr(marginal_maximum, "_ENOUGH", 1)
    monkeypatch.setattr(
        marginal_maximum,
        "smooth_at",
        lambda sigma, phi, alpha, *_, **__: Smooth(
            np.r_[logit(phi), np.log(alpha)], np.zeros((1, 2)), np.eye(2)
        ),
    )
    monkeypatch.setattr(marginal_maximum, "newton_step", lambda *_: np.array([0.3, 0.0]))
    start, blocks = MallowsComponents(SIGMA[:1], np.array([0.5])), [block_of([1, 2], [1.0, 1.0], 1)]
    distances = iter([1.4])
    monkeypatch.setattr(marginal_maximum, "score_distance", lambda *_: next(distances))
    engine, alpha = ThreadEngine(1), np.ones(1)
    near = marginal_maximum.marginal_maximum(start, alpha, blocks, engine, seed=0)
    assert near.distances == (1.4,) and near.components is start
    distances = iter([2.2, of_all, *[0.1] * 9])
    found = marginal_maximum.marginal_maximum(start, alpha, blocks, engine, seed=0)
    assert (len(found.distances) > 1) == moves
    assert np.array_equal(found.components.phi, start.phi) != moves


@pytest.mark.parametrize("n_parameters", [8, 20, 40])
def test_a_sample_is_far_by_chance_once_in_a_hundred(n_parameters):
    """The square of the distance is χ² / p."""
    far = marginal_maximum.far_by_chance(n_parameters)
    assert chi2.sf(n_parameters * far**2, n_parameters) == pytest.approx(0.01)
