"""DDP, FastAnchorWords, RecoverL2 and RecoverKL: on exact moments, against slow twins, and what
they say when they cannot.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

import mallowmix as mm
from mallowmix.errors import FitError, OptionError
from mallowmix.learn.paper.components_from_topics import components_from_topics
from mallowmix.learn.paper.ddp import corner_rows, ddp_pairs, margins
from mallowmix.learn.paper.fast_anchor_words import anchor_pairs, furthest_rows
from mallowmix.learn.paper.pair_moments import ModelMoments
from mallowmix.learn.paper.recover import mixture_weights, recover
from mallowmix.model.fit_options import ProjectionsOptions
from mallowmix.model.permutations import match_components
from mallowmix.model.separability import separability
from mallowmix.numerics.dirichlet import dirichlet_moments
from tests.planted import error, planted

pytestmark = pytest.mark.filterwarnings("ignore::mallowmix.errors.MallowmixWarning")


def exact(phi=0.0, seed=0, Q=12, K=3):
    """A separable model and its E."""
    truth = next(
        m
        for m in (planted(Q, K, phi, 0.1, seed=s) for s in range(seed, 100))
        if separability(m.beta()) < 0.05
    )
    return truth, ModelMoments(truth.ranking_matrix(), *dirichlet_moments(truth.alpha))


def hunted(E, K, vertices):
    candidates = np.flatnonzero(E.present)
    return ddp_pairs(E, candidates, K) if vertices == "ddp" else anchor_pairs(E, candidates, K)


@pytest.mark.parametrize("vertices", ["ddp", "fast-anchor-words"])
def test_exact_moments_give_pairs_that_one_component_alone_follows(vertices):
    truth, E = exact()
    pairs = hunted(E, 3, vertices)
    beta = truth.beta().reshape(3, -1)[:, pairs]  # (K, pairs)
    assert sorted(beta.argmax(axis=0)) == [0, 1, 2]
    np.testing.assert_allclose(np.sort(beta, axis=0)[-2], 0, atol=1e-12)


@pytest.mark.parametrize("vertices", ["ddp", "fast-anchor-words"])
@pytest.mark.parametrize("divergence", ["l2", "kl"])
def test_exact_moments_give_back_the_model(vertices, divergence):
    truth, E = exact()
    B, a, R = recover(E, hunted(E, 3, vertices), divergence, tol=1e-9, max_iter=3000)
    match = match_components(components_from_topics(B).sigma, truth.sigma)
    assert not match.kendall.any()
    np.testing.assert_allclose(B[:, match.found], truth.ranking_matrix()[:, match.truth], atol=2e-4)
    exact_a, exact_R = dirichlet_moments(truth.alpha)
    np.testing.assert_allclose(a[match.found], exact_a[match.truth], atol=0.01)
    np.testing.assert_allclose(
        R[np.ix_(match.found, match.found)], exact_R[np.ix_(match.truth, match.truth)], atol=0.01
    )


def test_each_divergence_is_least_where_it_is_asked_for():
    """With pairs that are not novel, rows are no exact mixtures, and the two answers differ."""
    truth = planted(6, 3, 0.4, 0.3, seed=1)
    E = ModelMoments(truth.ranking_matrix(), *dirichlet_moments(truth.alpha))
    anchors = np.flatnonzero(E.present)[[0, 11]]
    p = E.counts / E.counts.sum()
    Qbar = E.rows(np.arange(len(p))) * p
    Qbar = Qbar[p > 0] / Qbar[p > 0].sum(axis=1, keepdims=True)
    A = E.rows(anchors) * p
    A /= A.sum(axis=1, keepdims=True)
    squares, kl = {}, {}
    for name in ("l2", "kl"):
        found = recover(E, anchors, name, tol=1e-10, max_iter=5000)
        weights = found.B[p > 0] * found.a
        c = weights / weights.sum(axis=1, keepdims=True)
        mixed = np.maximum(c @ A, 1e-300)
        squares[name] = np.sum((Qbar - mixed) ** 2)
        kl[name] = np.sum(np.where(Qbar > 0, Qbar * np.log(np.maximum(Qbar, 1e-300) / mixed), 0.0))
    assert squares["l2"] < squares["kl"] - 1e-9 and kl["kl"] < kl["l2"] - 1e-9


def test_margins_and_balls_match_their_definition():
    points = np.random.default_rng(0).normal(size=(30, 3))
    C = points @ points.T
    found = margins(lambda places: C[places], np.diag(C), 1.0)
    for i in range(30):
        outside = [j for j in range(30) if C[i, i] - 2 * C[i, j] + C[j, j] >= 0.5]
        assert found[i] == pytest.approx(min(C[i, i] - C[i, j] for j in outside))


def test_ddp_halves_its_radius_until_there_are_enough_vertices():
    """Three corners, two of them near each other: a wide ball takes these for one."""
    corners = np.array([[1.0, -0.3], [1.0, 0.3], [-1.0, 0.0]])
    C = np.repeat(corners, 4, axis=0) @ np.repeat(corners, 4, axis=0).T
    found = corner_rows(lambda wanted: C[wanted], np.diag(C), 3, zeta=2.0)
    assert sorted((members // 4).tolist() for members in found) == [[0] * 4, [1] * 4, [2] * 4]


def test_ddp_says_when_the_data_shows_fewer_vertices():
    _, E = exact(Q=4, K=2)
    with pytest.raises(FitError, match=r"show \d of the 9 vertices: lower n_components"):
        ddp_pairs(E, np.flatnonzero(E.present), 9, zeta=50.0)


def test_the_second_pass_repairs_a_bad_first_corner():
    """The row furthest from 0 lies just inside a long edge: the greedy walk takes it, the second
    pass lets it go again.
    """
    points = np.array([[10.0, 0.0], [10.0, 8.0], [2.0, 4.0], [10.5, 7.5]])
    chosen = furthest_rows(points, 3)

    def area(places):
        return abs(np.linalg.det(points[places[1:]] - points[places[0]]))

    assert area(chosen) == max(
        area([a, b, c]) for a in range(4) for b in range(a) for c in range(b)
    )


@pytest.mark.parametrize("unexpected", [False, True])
def test_kl_weights_match_a_general_optimiser(unexpected):
    """Also where a row has mass that no anchor expects, which no weights can help: the rest
    decides.
    """
    random = np.random.default_rng(1)
    A = random.dirichlet(np.ones(12), 3)
    rows = random.dirichlet(np.ones(12), 5)
    if unexpected:
        A[:, :4] = 0
        A /= A.sum(axis=1, keepdims=True)
    found = mixture_weights(rows, A, tol=1e-8, max_iter=20_000)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for q, c in zip(rows, found, strict=True):

        def divergence(z, q=q):
            w = np.exp(z - z.max())
            return -q @ np.log(w / w.sum() @ A + 1e-9)

        best = min(
            minimize(divergence, start, method="BFGS").fun
            for start in np.vstack([np.zeros(3), np.eye(3)])
        )
        assert -q @ np.log(c @ A + 1e-9) <= best + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("novel_pairs", ["projections", "ddp", "fast-anchor-words"])
@pytest.mark.parametrize("regression", ["algorithm-3", "l2", "kl"])
def test_all_can_be_chosen_in_fit_and_the_model_says_so(novel_pairs, regression):
    """Q = 10, K = 2, φ = .1, 2000 people of 50 comparisons; fixed data and seed."""
    truth = planted(10, 2, 0.1, 0.1, seed=2)
    votes = truth.sample(2000, 50, seed=2).comparisons
    options = ProjectionsOptions(
        novel_pairs=novel_pairs, regression=regression, min_count=0.2, zeta="auto"
    )
    model = mm.fit(votes, 2, method=options, predictor=False)
    assert error(model, truth) < 0.05
    assert model.report.options == options
    assert len(model.report.projections.novel_pairs) == 2
    assert bool(model.report.projections.solid_angles) == (novel_pairs == "projections")


def test_names_that_there_are_not():
    votes = planted(5, 2).sample(50, 10, seed=1).comparisons
    with pytest.raises(
        OptionError,
        match="novel_pairs is 'corners'; it must be one of 'projections', 'ddp', "
        "'fast-anchor-words'",
    ):
        mm.fit(votes, 2, method=ProjectionsOptions(novel_pairs="corners"), predictor=False)
    with pytest.raises(
        OptionError, match="regression is 'l1'; it must be one of 'algorithm-3', 'l2', 'kl'"
    ):
        mm.fit(votes, 2, method=ProjectionsOptions(regression="l1"), predictor=False)
