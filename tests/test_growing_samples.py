"""Refinement begins with some of very many users, and initialisations are judged by some."""

import numpy as np
import pytest

from mallowmix.learn.spectral import estimator, refinement
from mallowmix.learn.spectral.estimator import fit_spectral
from mallowmix.learn.spectral.fit_state import new_fit_state, some_of
from mallowmix.numerics.randomness import Step
from planted import blocks_of, error, planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
TRUTH = planted(12, 3, 0.3, 0.1, seed=2)
VOTES = TRUTH.sample(1500, 20, seed=2).comparisons  # 30,000


def new_state(progress=None):
    blocks, engine = blocks_of(VOTES)
    return new_fit_state(VOTES, blocks, engine, 0, progress)


def users(state):
    return sum(block.n_users for block in state.blocks)


def test_a_sample_has_about_as_many_comparisons_as_are_enough():
    state = new_state(lambda *_: None)
    some = some_of(state, 6000, Step.EARLY_USERS)
    assert abs(users(some) - 300) < 80  # 5 σ of 1,500 users drawn with probability 1/5
    assert sum(block.weight.sum() for block in some.blocks) == 20 * users(some)
    assert some.progress is None and some.pairs is state.pairs
    other = some_of(state, 6000, Step.RESTART_USERS)
    assert [b.pair.tolist() for b in some.blocks] != [b.pair.tolist() for b in other.blocks]


@pytest.mark.parametrize(
    ("enough", "from_times", "all_users"),
    [(15_000, 2.0, True), (14_999, 2.0, False), (30_000, 1.0, True), (29_999, 1.0, False)],
)
def test_a_sample_is_drawn_where_it_saves_enough(enough, from_times, all_users):
    state = new_state()
    found = some_of(state, enough, Step.EARLY_USERS, from_times=from_times)
    assert (found is state) == all_users


def test_a_fit_that_begins_with_some_users_ends_as_one_with_all(monkeypatch):
    seen = []
    whole = fit_spectral(VOTES, 3)

    def cycles(state, first, min_burn_in, least_passes=6, _cycles=refinement._cycles):
        seen.append((users(state), (min_burn_in, least_passes)))
        assert sum(map(len, first.gamma)) == users(state)  # weights are of the same users
        return _cycles(state, first, min_burn_in, least_passes)

    monkeypatch.setattr(refinement, "_EARLY", 6000)
    monkeypatch.setattr(refinement, "_cycles", cycles)
    grown = fit_spectral(VOTES, 3)
    (early, first), (late, second) = seen[:2]
    assert early < 400 and late == 1500 and (first, second) == ((4, 6), (1, 4))
    np.testing.assert_array_equal(grown.sigma, whole.sigma)
    np.testing.assert_allclose(grown.phi, whole.phi, atol=0.02)
    np.testing.assert_allclose(grown.alpha, whole.alpha, atol=0.02)
    assert error(grown, TRUTH) == 0
    shown, expected = grown.report.spectral, whole.report.spectral
    assert len(shown.moved) > 4  # of both parts
    assert shown.noise_edge == expected.noise_edge > 0  # of all users
    # of all users, too: the iteration goes on with them from the vectors of some
    state = new_state()
    begun = estimator._subspace(some_of(state, 6000, Step.EARLY_USERS), 3).vectors
    assert shown.spectrum == tuple(estimator._subspace(state, 3, begun).values.tolist())
    np.testing.assert_allclose(shown.spectrum[:2], expected.spectrum[:2], rtol=1e-6)
    assert shown.initialisation and shown.elbo


def test_initialisations_are_judged_by_some_users_and_the_better_one_goes_on_with_all(monkeypatch):
    asked = []

    def steps(state, first, _steps=estimator.first_steps):
        asked.append((first.name, users(state)))
        return _steps(state, first)

    monkeypatch.setattr(estimator, "_ENOUGH_TO_JUDGE", 6000)
    monkeypatch.setattr(estimator, "first_steps", steps)
    found = fit_spectral(VOTES, 3)
    (_, few), (_, as_few), (name, everyone) = asked
    assert few == as_few < 400 and everyone == 1500
    assert name == found.report.spectral.initialisation
    assert dict(found.report.spectral.elbo)[name] == max(dict(found.report.spectral.elbo).values())
