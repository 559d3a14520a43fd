"""Draws of weights: the rule of acceptance, what spam leaves, and what is said of them."""

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.engine import Block
from mallowmix.errors import FitWarning
from mallowmix.infer import rank_items, user_explanation
from mallowmix.infer.gibbs_draws import draw
from mallowmix.infer.prepared_model import prepare
from mallowmix.infer.tempered_draws import _log_ratio
from mallowmix.infer.user_explanation import _mixture_sentence
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import FittedModel


@pytest.mark.parametrize("by_tokens", [False, True])
def test_a_proposal_is_accepted_by_the_ratio_of_likelihoods(by_tokens):
    """Π (p'/p)^x; with tokens taken, what proposed them is taken out, (θ' / θ) of each but x."""
    rng = np.random.default_rng(3)
    bi, bj, rest = rng.uniform(0.1, 0.9, (3, 6))
    x, taken = np.array([0.5, 0.5, 1.0, 2.0, 0.3, 0.3]), np.array([0, 1, -1, 0, -1, 1])
    taken = taken if by_tokens else np.full(6, -1)
    old, new = np.array([0.3, 0.2]), np.array([0.1, 0.4])
    before = 0.5 * rest + old[0] * bi + old[1] * bj
    after = 0.5 * rest + new[0] * bi + new[1] * bj
    found = _log_ratio(bi, bj, x, taken, old, new, before, by_tokens)
    exact = (x - by_tokens) @ np.log(after / before)
    for t in np.flatnonzero(taken >= 0):
        exact += (1 - x[t]) * np.log(new[taken[t]] / old[taken[t]])
    assert found == pytest.approx(exact)


def test_draws_of_win_rates_leave_spam_out():
    m4 = mm.M4.from_orders(["abc", "cba"], 0.3, 0.6)
    prepared = prepare(FittedModel(m4, calibration=Calibration(spam_share=0.2)))
    block = Block(0, 3, np.array([0, 2]), np.array([1, 2], np.int32), np.ones(2), np.ones(1))
    rates = np.array([[0.9, 0.5, 0.1], [0.1, 0.5, 0.9], [0.5, 0.5, 0.5]])
    found = rank_items._drawn_wins(block, prepared, rates, 20, np.uint64(1))
    theta = draw(block, prepared, 20, np.uint64(1))
    assert prepared.has_spam and theta.shape == (1, 20, 3)
    people = theta[..., :2] / theta[..., :2].sum(axis=2, keepdims=True)
    assert found == pytest.approx(people @ rates[:2])


def test_a_mixture_is_said_by_its_largest_parts():
    names = ("spicy", "mild", "sweet")
    said = _mixture_sentence(np.array([0.25, 0.4, 0.35]), names)
    assert said.startswith("A mixture of")
    assert said.index("(mild), 40%") < said.index("(sweet), 35%") < said.index("(spicy), 25%")
    assert _mixture_sentence(np.array([0.01, 0.98, 0.01]), names).startswith("Mostly")


@pytest.mark.parametrize("estimate", ["map", "mean"])
def test_all_users_whose_weights_still_move_are_counted(estimate):
    model = mm.M4.from_orders(["abcd", "dbca"], 0.4, [0.6, 0.3])
    votes = model.sample(5, 12, seed=2).comparisons
    with pytest.warns(FitWarning, match="The weights of 5 of 5 users") as found:
        mm.weights(model, votes, estimate=estimate, max_iter=1, tol=1e-9)
    assert found[0].filename == __file__  # the line that asked


def test_ends_of_an_explanation_are_quantiles_of_drawn_differences(monkeypatch):
    """Widened to hold the estimate."""
    rng = np.random.default_rng(4)
    own, drawn, mixed = (
        np.array([0.9, 0.5, 0.1]),
        rng.uniform(size=(40, 3)),
        rng.uniform(size=(40, 3)),
    )
    theta, rates = np.ones(1), np.array([0.2, 0.4, 0.6])
    monkeypatch.setattr(user_explanation, "_own_rates", lambda *_: (own, drawn))
    monkeypatch.setattr(user_explanation, "_mixture_rates", lambda *_: (theta, rates, mixed))
    model = mm.M4.from_orders(["abc"], phi=0.5)
    found = mm.explain_user(model, [("ann", "a", "b")], level=0.8)
    low, high = np.quantile(drawn - mixed, [0.1, 0.9], axis=0)
    for i, line in enumerate(found.lines):
        assert line.item == "abc"[i] and line.difference == pytest.approx(own[i] - rates[i])
        assert line.low == pytest.approx(min(low[i], own[i] - rates[i]))
        assert line.high == pytest.approx(max(high[i], own[i] - rates[i]))


@pytest.mark.parametrize(("n_draws", "each"), [(10, 10), (12, 10), (51, 26)])
def test_members_share_the_draws_and_have_ten_at_least(n_draws, each, monkeypatch):
    asked, drawn = [], rank_items._drawn_wins

    def made(block, prepared, rates, n, key):
        asked.append(n)
        return drawn(block, prepared, rates, n, key)

    monkeypatch.setattr(rank_items, "_drawn_wins", made)
    m4 = mm.M4.from_orders(["abc", "cba"], 0.3, 0.6)
    model = FittedModel(m4, ensemble=Ensemble((m4,)))  # two members with the model itself
    mm.rank(model, [("ann", "a", "b")], n_draws=n_draws, n_jobs=1)
    assert asked == [each, each]


def test_scales_of_ratings_may_be_below_one():
    ratings = {"user": ["me"] * 3, "item": ["a", "b", "c"], "rating": [5, 4, 1]}
    model, target = mm.M4.from_orders(["abcd"], 0.4), (["me"], ["d"])
    found = mm.predict_ratings(model, ratings, target, a=0.5, b=0.0, c=0.5)
    assert np.isfinite(found.mean[0])
