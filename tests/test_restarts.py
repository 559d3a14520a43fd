"""Several initialisations: the better optimum is taken, and what other optima do not share is named
unstable.
"""

from dataclasses import replace

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.errors import DataError
from mallowmix.learn.spectral import estimator, refinement, restarts
from mallowmix.learn.spectral.estimator import fit_spectral
from mallowmix.learn.spectral.fit_state import new_fit_state
from mallowmix.learn.spectral.mallows_mstep import MallowsComponents
from mallowmix.learn.spectral.monte_carlo_em import MonteCarlo
from mallowmix.learn.spectral.restarts import MOST_RESTARTS, optimum_distances, try_restarts
from mallowmix.learn.spectral.split_merge import halves_by_user, predicted_halves
from mallowmix.model.model_file import dumps, loads
from planted import blocks_of, planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")
TRUTH = planted(10, 2, 0.2, 0.1, seed=1)
VOTES = TRUTH.sample(200, 20, seed=1).comparisons


def state():
    blocks, engine = blocks_of(VOTES)
    return new_fit_state(VOTES, blocks, engine, 0, None)


def model_of(sigma):
    return MonteCarlo(MallowsComponents(np.array(sigma, np.int32), TRUTH.phi), TRUTH.alpha, [], [])


GOOD = model_of(TRUTH.sigma)
BAD = model_of([TRUTH.sigma[0], TRUTH.sigma[0]])  # one of the rankings twice


def test_the_sums_of_users_are_those_of_all():
    users = halves_by_user(*_arguments(GOOD), seed=3).sum(axis=0)
    assert users[0] / users[1] == pytest.approx(predicted_halves(*_arguments(GOOD), seed=3))


def _arguments(model):
    blocks, engine = blocks_of(VOTES)
    return blocks, model.components, model.alpha, engine


def test_a_clearly_better_optimum_is_taken_and_an_equal_one_is_not():
    seeds = []

    def restart(part):
        seeds.append(part.seed)
        return GOOD

    assert try_restarts(state(), lambda part: BAD, restart).best == 1
    assert len(set(seeds)) == MOST_RESTARTS  # none of them ends where the first did
    tried = try_restarts(state(), lambda part: GOOD, restart)
    assert tried.best == 0 and len(tried.models) == 3  # two that agree are enough
    assert try_restarts(state(), lambda part: GOOD, lambda part: BAD).best == 0


def test_what_an_equally_good_model_orders_differently_is_unstable():
    """Component 2 upside down predicts far worse, so it is no witness; the same model is none."""
    tried = try_restarts(state(), lambda part: GOOD, lambda part: GOOD)
    assert optimum_distances(GOOD, tried).tolist() == [0, 0]
    upside = model_of([TRUTH.sigma[0], 9 - TRUTH.sigma[1]])
    assert optimum_distances(GOOD, tried._replace(models=[upside])).tolist() == [0, 0]
    assert optimum_distances(upside, tried).tolist() == [0, 1]


@pytest.mark.slow
def test_planted_components_are_stable_and_keep_their_bytes(monkeypatch):
    """The first initialisation stays where others end at the same optimum."""
    votes = TRUTH.sample(300, 40, seed=2).comparisons
    with_restarts, for_a_fold = fit_spectral(votes, 2), fit_spectral(votes, 2, shown=False)
    monkeypatch.setattr(
        estimator, "refine", lambda *given, initialise, **how: refinement.refine(*given, **how)
    )
    without = fit_spectral(votes, 2)
    assert with_restarts.report.unstable == ()
    assert np.array_equal(with_restarts.sigma, without.sigma)
    assert np.array_equal(with_restarts.phi, without.phi)
    assert np.array_equal(with_restarts.alpha, without.alpha)
    # a model that only predicts has the same rankings, and φ within a standard error or two
    assert np.array_equal(with_restarts.sigma, for_a_fold.sigma)
    assert for_a_fold.phi == pytest.approx(with_restarts.phi, abs=0.03)
    assert not for_a_fold.report.notes and for_a_fold.report.spectral.noise_edge is None


@pytest.mark.slow
def test_components_beyond_those_planted_are_unstable_and_saved_as_such():
    few = planted(12, 1, 0.5, 1.0).sample(60, 15, seed=0).comparisons
    model = mm.fit(few, 4, predictor=False)
    trace = model.report.spectral
    worst = np.maximum(trace.half_distances, trace.optimum_distances)
    assert model.report.unstable == tuple(np.flatnonzero(worst > 0.1) + 1) != ()
    assert loads(dumps(model)).report.unstable == model.report.unstable
    assert "unstable" not in replace(model.report, unstable=()).to_dict()


def test_a_report_without_the_field_is_read():
    assert mm.FitReport.from_dict({"method": "spectral"}).unstable == ()


def test_split_items_says_that_it_needs_comparisons_in_memory():
    class Stored:
        """Comparisons that are not in memory."""

    with pytest.raises(DataError, match="needs Comparisons in memory, and was given Stored"):
        mm.split_items(Stored())  # type: ignore[arg-type]


@pytest.mark.parametrize(("errors", "clearly"), [(1.5, False), (3.0, True)])
def test_clearly_better_is_by_two_standard_errors(errors, clearly, monkeypatch):
    monkeypatch.setattr(restarts, "_gains", lambda _, models, base: [(errors, 1.0)] * len(models))
    assert (try_restarts(state(), lambda part: GOOD, lambda part: GOOD).best > 0) == clearly


@pytest.mark.parametrize(("errors", "as_good"), [(-1.5, True), (-3.0, False)])
def test_as_good_is_less_than_two_standard_errors_worse(errors, as_good, monkeypatch):
    monkeypatch.setattr(restarts, "_gains", lambda _, models, base: [(errors, 1.0)] * len(models))
    found = optimum_distances(GOOD, restarts.Restarts(state(), [BAD], 0))
    assert (found.max() > 0) == as_good


def test_other_initialisations_of_many_users_are_tried_on_some(monkeypatch):
    monkeypatch.setattr(restarts, "_ENOUGH", 1000)
    part = try_restarts(state(), lambda part: GOOD, lambda part: GOOD).part
    users = sum(block.n_users for block in part.blocks)
    assert 20 <= users <= 80  # 200 people gave 20 answers each; a quarter of them, ± 5 σ
    assert sum(block.weight.sum() for block in part.blocks) == 20 * users


@pytest.mark.parametrize(("gain", "clearly"), [(0.5e-4, False), (1.5e-4, True)])
def test_a_better_optimum_brings_a_ten_thousandth_of_log_likelihood(gain, clearly, monkeypatch):
    monkeypatch.setattr(restarts, "_gains", lambda _, models, base: [(gain, 0.0)] * len(models))
    assert (try_restarts(state(), lambda part: GOOD, lambda part: GOOD).best > 0) == clearly
