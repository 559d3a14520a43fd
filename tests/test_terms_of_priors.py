"""Terms that random changes showed no quick test to notice: mixtures with single components, spam,
keys of users, defaults, the information of two stretches.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution

import mallowmix as mm
from mallowmix.engine import Block
from mallowmix.infer.exact_weights import gibbs_means
from mallowmix.infer.heldout.scored_on import hard_questions
from mallowmix.infer.prepared_model import prepare_components
from mallowmix.infer.priors.vertex_prior import make_draws
from mallowmix.learn.spectral import user_scores
from mallowmix.model.calibration import Calibration
from mallowmix.numerics.randomness import as_key

MODEL = mm.M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 0.5], alpha=[0.7, 0.4])


def votes(n_users=6, per_user=5, seed=1):
    return MODEL.sample(n_users, per_user, seed=seed).comparisons


def one_block(data, first_user=0):
    pair = data.pair.astype(np.int32)
    return Block(first_user, 4, data.starts(), pair, data.weight, data.user_weight)


def test_weights_by_gibbs_where_some_people_hold_one_component():
    """E θ under v Σ a_k δ_k + (1 − v) Dirichlet(α), by quadrature; 20,000 sweeps are within .02."""
    v, data = 0.4, votes()
    prepared = prepare_components(MODEL, Calibration(vertex_share=v))
    found = gibbs_means(one_block(data), prepared, 20_000, as_key(3))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    prior, share = beta_distribution(*MODEL.alpha), MODEL.alpha / MODEL.alpha.sum()
    for m in range(data.n_users):
        rows = data.user == m
        b = prepared.beta[data.pair[rows]]

        def likelihood(t, b=b, w=data.weight[rows]):
            return float(np.prod((t * b[:, 0] + (1 - t) * b[:, 1]) ** w))

        mixed = [
            quad(lambda t, n=n: t**n * likelihood(t) * prior.pdf(t), 0, 1, limit=200)[0]
            for n in (0, 1)
        ]
        single = v * share * np.array([likelihood(1.0), likelihood(0.0)])
        exact = (single[0] + (1 - v) * mixed[1]) / (single.sum() + (1 - v) * mixed[0])
        assert found[m, 0] == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("spam", [0.0, 0.2])
def test_spam_is_the_last_component_and_says_so(spam):
    prepared = prepare_components(MODEL, Calibration(spam_share=spam))
    assert prepared.has_spam == (spam > 0) and len(prepared.alpha) == 2 + (spam > 0)
    assert prepared.prior_mean[-1] == pytest.approx(spam if spam else 0.4 / 1.1)


def test_draws_for_a_prior_are_those_of_the_user_whatever_the_block():
    prepared, data = prepare_components(MODEL, Calibration()), votes()
    asked = (prepared, 7, as_key(5))
    own = make_draws(one_block(data.take_users(np.arange(3, 6)), 3), asked)
    for one, other in zip(make_draws(one_block(data), asked), own, strict=True):
        np.testing.assert_allclose(np.asarray(one)[3:], other, rtol=1e-9)


def test_rankings_too_short_to_hold_out_two_items_are_asked_like_votes():
    short = mm.Rankings.from_orders([["a", "b"]] * 30 + [["a", "b", "c"]]).comparisons()
    assert short.ranking_id is not None
    assert hard_questions(short) == ("touching", pytest.approx(2 / 3))
    long = mm.Rankings.from_orders([list("abcdef"), list("fedcba")]).comparisons()
    assert hard_questions(long) == ("items", 0.5)


def test_default_priors_are_those_of_the_page():
    priors = mm.PosteriorPriors()
    assert priors.phi == priors.crowd_phi == (2.0, 1.0)
    assert (priors.alpha_median, priors.alpha_spread, priors.rankings) == (0.3, 1.5, "uniform")


def test_information_takes_one_score_from_each_stretch():
    """Σ u (a bᵀ + b aᵀ) / 2, so that the noise of neither stretch is squared."""
    random = np.random.default_rng(2)
    x, e, people = random.normal(size=(40, 3)), 0.3 * random.normal(size=(40, 3)), np.ones(40)
    people[:5] = 2.0
    halves = np.stack([x + e, x - e], axis=1)
    exact = sum(
        u * (np.outer(a, b) + np.outer(b, a)) / 2 for u, (a, b) in zip(people, halves, strict=True)
    )
    np.testing.assert_allclose(user_scores._information(halves, people), exact, rtol=1e-6)
