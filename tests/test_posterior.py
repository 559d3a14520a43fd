"""A model as people are seen through it: calibrated columns and prior, and the weighing of one
taste alone against a mixture.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logsumexp

import mallowmix as mm
from mallowmix.engine import Block
from mallowmix.infer import exact_weights
from mallowmix.infer.collapsed_variational import (
    MAX_EXTRAPOLATION,
    extrapolate,
    fold_in,
    gather_rows,
    vertex_posterior,
)
from mallowmix.infer.prepared_model import prepare, prepare_members
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fitted_model import FittedModel
from oracles import every_assignment, log_marginal

TWO = mm.M4([[0, 1, 2, 3, 4, 5], [5, 2, 4, 1, 3, 0]], [0.3, 0.4], [0.7, 0.4], list("abcdef"))
THREE = mm.M4(
    [[0, 1, 2, 3], [3, 2, 0, 1], [1, 3, 2, 0]], [0.2, 0.4, 0.3], [0.3, 0.5, 0.2], list("abcd")
)


def block_of(comparisons):
    return Block(
        0,
        comparisons.n_items,
        comparisons.starts(),
        comparisons.pair.astype(np.int32),
        comparisons.weight,
        comparisons.user_weight,
    )


def tokens(comparisons, m):
    rows = np.flatnonzero(comparisons.user == m)
    times = comparisons.weight[rows].astype(int)
    return list(
        zip(
            np.repeat(comparisons.winner[rows], times),
            np.repeat(comparisons.loser[rows], times),
            strict=True,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("vertex", [0.05, 0.5, 0.9])
def test_one_alone_against_a_mixture(vertex):
    """Log odds beside the exact ones, log v Σ a_k Π β − log (1 − v) p(w), by the sum over all
    assignments of components.

    Filtering errs by about a tenth of a nat at six comparisons, either way.
    """
    model = FittedModel(THREE, calibration=Calibration(vertex_share=vertex))
    comparisons = mm.Comparisons.from_codes(
        *THREE.sample(30, 6, seed=1).comparisons.__dict__.values()
    )
    single = np.array(
        [
            np.log(
                THREE.share
                @ np.prod([THREE.beta()[:, i, j] for i, j in tokens(comparisons, m)], axis=0)
            )
            for m in range(30)
        ]
    )
    mixed = np.array(
        [every_assignment(tokens(comparisons, m), THREE.beta(), THREE.alpha) for m in range(30)]
    )
    exact = np.log(vertex) - np.log1p(-vertex) + single - mixed
    found = []
    for m in range(30):
        block = block_of(comparisons.take_users([m]))
        _, at_vertex = vertex_posterior(block, prepare(model), block.weight)
        found.append(np.log(at_vertex[0]) - np.log1p(-at_vertex[0]))
    gap = np.array(found) - exact
    assert np.abs(gap).max() < 0.5 and abs(gap.mean()) < 0.1
    assert np.abs(expit(found) - expit(exact)).max() < 0.1


def test_the_evidence_of_a_mixture_follows_the_integral():
    """K = 2 and 60 comparisons: beside the integral over θ."""
    model = FittedModel(TWO, calibration=Calibration(vertex_share=0.5))
    comparisons = TWO.sample(25, 60, seed=3).comparisons
    prepared, gaps, values = prepare(model), [], []
    for m in range(25):
        block = block_of(comparisons.take_users([m]))
        single, at_vertex = vertex_posterior(block, prepared, block.weight)
        rows = comparisons.user == m
        alone = TWO.share * np.exp(
            np.log(TWO.beta()[:, comparisons.winner[rows], comparisons.loser[rows]])
            @ comparisons.weight[rows]
        )
        np.testing.assert_allclose(single[0], alone / alone.sum(), rtol=1e-9)
        exact = log_marginal(TWO, comparisons, m)
        odds = np.log(alone.sum()) - exact
        if abs(odds) < 25:
            gaps.append(np.log(at_vertex[0] / (1 - at_vertex[0])) - odds)
            values.append(exact)
    assert len(gaps) > 15 and np.abs(gaps).max() < 0.6 and abs(np.mean(gaps)) < 0.1
    assert np.std(values) > 1


def test_people_of_one_taste_are_seen():
    model = FittedModel(TWO, calibration=Calibration(vertex_share=0.5))
    prepared = prepare(model)
    for prior, least, most in (("vertices", 0.7, 1), (np.full((20, 2), 0.5), 0, 0.2)):
        block = block_of(TWO.sample(20, 150, prior=prior, seed=1).comparisons)
        _, at_vertex = vertex_posterior(block, prepared, block.weight)
        assert least <= np.median(at_vertex) <= most


def test_no_comparisons_leave_the_prior():
    empty = mm.Comparisons.from_codes([], [], [], None, TWO.items, ["u"])
    for calibration in (
        Calibration(vertex_share=0.3),
        Calibration(vertex_share=1.0, spam_share=0.2),
        Calibration(prior_scale=5),
    ):
        prepared = prepare(FittedModel(TWO, calibration=calibration))
        theta, moving = fold_in(block_of(empty), prepared)
        np.testing.assert_allclose(theta[0], prepared.prior_mean, rtol=1e-12)
        assert moving == 0
    prepared = prepare(FittedModel(TWO, calibration=Calibration(vertex_share=0.3)))
    _, at_vertex = vertex_posterior(block_of(empty), prepared, np.empty(0))
    np.testing.assert_allclose(at_vertex, [0.3], rtol=1e-9)


def test_a_prepared_model_holds_the_calibration():
    prepared = prepare(
        FittedModel(
            TWO,
            calibration=Calibration(
                likelihood_weight=0.4, prior_scale=3, vertex_share=0.25, spam_share=0.2
            ),
        )
    )
    assert (prepared.likelihood_weight, prepared.vertex_share, prepared.beta.shape) == (
        0.4,
        0.25,
        (36, 3),
    )
    np.testing.assert_allclose(prepared.beta[:, 2], 0.5)
    np.testing.assert_allclose(prepared.alpha, [2.1, 1.2, 3.3 / 4])  # spam has a fifth of the whole
    np.testing.assert_allclose(prepared.prior_mean, [0.8 * 7 / 11, 0.8 * 4 / 11, 0.2])
    np.testing.assert_allclose(prepared.beta[1, :2], TWO.beta()[:, 0, 1])
    certain = prepare(replace(TWO, phi=[0.0, 0.0]))
    assert certain.beta.min() == 1e-4 and certain.beta.max() == 1 - 1e-4


def test_views_share_one_calibration():
    other = FittedModel(
        replace(TWO, phi=np.array([0.1, 0.2])), calibration=Calibration(spam_share=0.5)
    )
    model = FittedModel(
        TWO, ensemble=Ensemble((other,)), calibration=Calibration(likelihood_weight=0.3)
    )
    assert [
        (prepared.likelihood_weight, len(prepared.alpha)) for prepared in prepare_members(model)
    ] == [(0.3, 2), (0.3, 2)]
    np.testing.assert_allclose(prepare_members(model)[1].beta[1], other.beta()[:, 0, 1])


def test_rows_that_are_not_given_are_not_looked_at():
    comparisons = TWO.sample(5, 20, seed=1).comparisons
    block, prepared = block_of(comparisons), prepare(TWO)
    told = np.where(np.arange(len(block.pair)) % 3 == 0, 0.0, block.weight)
    rows = told > 0
    fewer = mm.Comparisons.from_codes(
        comparisons.user[rows],
        comparisons.winner[rows],
        comparisons.loser[rows],
        told[rows],
        TWO.items,
        range(5),
    )
    assert (
        fold_in(block, prepared, told)[0].tolist() == fold_in(block_of(fewer), prepared)[0].tolist()
    )


def test_an_extrapolation_lands_where_a_geometric_sequence_ends():
    """x_n = c + ρⁿ d along one line: r = (ρ − 1) d, v = (ρ − 1)² d, a = 1 / (1 − ρ), and x₀ + 2a r
    + a² v = c at once.
    """
    c, d, rho = np.array([0.5, 0.3, 0.2]), np.array([0.1, -0.06, -0.04]), 0.8
    points = [c + rho**n * d for n in range(3)]
    extrapolate(*points, np.zeros(3), MAX_EXTRAPOLATION)
    np.testing.assert_allclose(points[0], c, rtol=1e-12)
    points = [c + 0.99**n * d for n in range(3)]  # a is held at 8
    extrapolate(*points, np.zeros(3), MAX_EXTRAPOLATION)
    assert 0 < (points[0] - c)[0] < 0.99**2 * 0.1
    # would go below nothing
    points = [np.array([0.2, 0.8]), np.array([0.12, 0.88]), np.array([0.05, 0.95])]
    extrapolate(*points, np.zeros(2), MAX_EXTRAPOLATION)
    assert points[0][0] == pytest.approx(0.005)


def test_gathering():
    b, w, beta = np.empty((4, 2)), np.empty(4), np.arange(10.0).reshape(5, 2)
    pair, weight = np.array([4, 0, 3, 1], np.int32), np.array([1.0, 0.0, 2.5, 1.0])
    assert gather_rows(0, 3, pair, weight, beta, b, w) == 2
    assert b[:2].tolist() == [[8, 9], [6, 7]] and w[:2].tolist() == [1.0, 2.5]


def test_means_over_nodes_do_not_underflow():
    """Σ m L θ / Σ m L, by logarithms; the likelihood of 3,000 answers is no number above 0."""
    prepared = prepare(TWO)
    theta, log_mass = exact_weights._nodes(prepared.alpha)
    pair = np.resize([1, 8, 13, 31], 3000).astype(np.int32)
    block = Block(0, 6, np.array([0, 3000]), pair, np.ones(3000), np.ones(1))
    log_p = log_mass + np.log(theta @ prepared.beta[pair].T).sum(axis=1)
    exact = np.exp(log_p - logsumexp(log_p)) @ theta
    assert exact_weights.quadrature_means(block, prepared)[0] == pytest.approx(exact)


def test_with_all_of_the_prior_at_vertices_weights_are_probabilities_of_components():
    beta = np.array([[0.5, 0.5], [0.7, 0.4], [0.3, 0.6], [0.5, 0.5]])
    alpha = np.array([0.6, 1.4])
    prepared = prepare(mm.M4.from_orders(["ab", "ba"], 0.5, alpha))
    prepared = prepared._replace(beta=beta, vertex_share=1 - 1e-14)
    block = Block(0, 2, np.array([0, 3]), np.array([1, 2, 1], np.int32), np.ones(3), np.ones(1))
    single = alpha * beta[1] ** 2 * beta[2]
    assert fold_in(block, prepared)[0][0] == pytest.approx(single / single.sum())


def test_users_whose_weights_still_move_are_counted():
    votes = TWO.sample(7, 30, seed=1).comparisons
    block, prepared = block_of(votes), prepare(TWO)
    assert fold_in(block, prepared, max_iter=1)[1] == 7
    assert fold_in(block, prepared, max_iter=10_000)[1] == 0


@pytest.mark.parametrize("K", [1, 2, 3])
def test_weights_by_quadrature_are_those_of_one_answer(K):
    """E θ_k given one comparison: (α_k + p_k) / (α_0 + 1), p_k its probability of component k."""
    model = mm.M4(THREE.sigma[:K], THREE.phi[:K], THREE.alpha[:K], list("abcd"))
    found = mm.weights(model, [("ann", "c", "a")], method="quadrature")
    prepared = prepare(model)
    p = prepared.alpha * prepared.beta[2 * 4 + 0]
    exact = (prepared.alpha + p / p.sum()) / (prepared.alpha.sum() + 1)
    assert found.theta[0] == pytest.approx(exact)
