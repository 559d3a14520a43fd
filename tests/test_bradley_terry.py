"""Bradley–Terry components: the scores against choices of a general optimiser, and on people who
have such components.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import mallowmix as mm
from mallowmix.engine import ThreadEngine
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.heldout.completion import completion
from mallowmix.learn.bradley_terry_components import best_scores, learn_scores
from mallowmix.model.fitted_model import as_fitted
from mallowmix.model.permutations import match_components


def planted_scores(seed=0, K=2, Q=8):
    """A model of Bradley–Terry components with one far favourite each: no Mallows component has
    that form.
    """
    random = np.random.default_rng(seed)
    scores = (
        np.stack([np.r_[4.0, np.linspace(1, -1, Q - 1)][random.permutation(Q)] for _ in range(K)])
        - 0.5
    )
    return mm.BradleyTerryModel(scores, np.full(K, 0.2), [f"i{n}" for n in range(Q)])


@pytest.mark.parametrize("ridge", [0.01, 1.0, 30.0])
def test_scores_are_the_maximum(ridge):
    wins = np.random.default_rng(1).integers(0, 9, (6, 6)) * (1 - np.eye(6))

    def loss(s):
        return -np.sum(wins * np.log(expit(s[:, None] - s[None]))) + ridge / 2 * s @ s

    expected = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-8}).x
    found = best_scores(wins, ridge)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert abs(found.sum()) < 1e-8
    np.testing.assert_allclose(best_scores(wins, ridge, start=np.arange(6.0)), found, atol=1e-7)


def test_nothing_won_is_nothing_learnt():
    assert best_scores(np.zeros((4, 4)), 1.0).tolist() == [0] * 4
    always = np.zeros((3, 3))
    always[0, 1] = always[0, 2] = 1e6  # one item that always wins stays finite
    assert np.isfinite(best_scores(always, 0.5)).all()


def test_beta_is_that_of_the_scores():
    model = planted_scores()
    np.testing.assert_allclose(
        model.beta()[1, 2, 3], expit(model.scores[1, 2] - model.scores[1, 3])
    )
    np.testing.assert_allclose(model.beta() + model.beta().transpose(0, 2, 1), 1)
    with pytest.raises(
        DataError,
        match=r"scores must hold finite numbers, one row a component; got the shape \(2, 8, 1\)",
    ):
        replace(model, scores=np.zeros((2, 8, 1)))
    with pytest.raises(DataError, match=r"There are 7 items to be named, but items .* \(8,\)"):
        replace(model, scores=np.zeros((2, 7)))
    with pytest.raises(DataError, match="alpha must hold 3 finite numbers above 0"):
        replace(model, scores=np.zeros((3, 8)))
    with pytest.raises(DataError, match="scores must hold finite numbers"):
        replace(model, scores=np.full((2, 8), np.nan))


@pytest.mark.slow
def test_planted_scores_are_found_and_predict_better_than_mallows_components():
    """One population: scores within .35 (the variational step sharpens them), and new people
    predicted better by .002 or more.
    """
    truth = planted_scores()
    votes, new = (
        truth.sample(600, 60, seed=1).comparisons,
        truth.sample(600, 60, seed=2).comparisons,
    )
    rigid, found = (
        mm.fit(votes, 2, predictor=False),
        mm.fit(votes, 2, components="bradley-terry", predictor=False),
    )
    match = match_components(found.sigma, truth.sigma)
    scores = found.bradley_terry.scores
    assert np.abs(scores[match.found] - truth.scores[match.truth]).mean() < 0.35
    before, after = (
        completion(model, new).log_likelihood_per_comparison for model in (rigid, found)
    )
    assert after > before + 0.002
    assert found.report.components == "bradley-terry" and rigid.report.components == "mallows"
    assert (np.argsort(-scores, axis=1, kind="stable") == found.order).all()


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_threads():
    votes = planted_scores().sample(300, 30, seed=1).comparisons
    model = mm.fit(votes, 2, predictor=False)
    one, three = (learn_scores(model, votes, ThreadEngine(n_jobs)) for n_jobs in (1, 3))
    assert one.bradley_terry.scores.tobytes() == three.bradley_terry.scores.tobytes()


def test_an_unknown_kind():
    with pytest.raises(
        OptionError, match="components is 'logit'; it must be one of 'mallows', 'bradley-terry'"
    ):
        mm.fit(planted_scores().sample(50, 10).comparisons, 2, components="logit", predictor=False)


def test_scores_as_a_fitted_model_have_the_nearest_dispersions():
    """Mallows probabilities as scores: along a ranking of three their log-odds are nearly those of
    the same φ.
    """
    mallows = mm.M4.from_orders(["abc", "cab"], [0.2, 0.6])
    beta = mallows.beta()
    # log-odds of neighbours in the ranking, added up from the last item
    scores = np.zeros((2, 3))
    for k, order in enumerate(mallows.order):
        for r in (1, 0):
            i, j = order[r], order[r + 1]
            scores[k, i] = scores[k, j] + np.log(beta[k, i, j] / beta[k, j, i])
    fitted = as_fitted(mm.BradleyTerryModel(scores, mallows.alpha, mallows.items))
    assert (fitted.sigma == mallows.sigma).all()
    np.testing.assert_allclose(fitted.phi, mallows.phi, atol=0.05)
    assert fitted.beta()[0, 0, 1] == pytest.approx(beta[0, 0, 1])
