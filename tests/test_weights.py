"""A person's weights: against the exact posterior mean by quadrature, and exact properties."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, roots_jacobi

import mallowmix as mm
from mallowmix.errors import DataError, FitWarning, OptionError
from mallowmix.infer.weights import weights
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import FittedModel

TWO = mm.M4([[0, 1, 2, 3, 4, 5], [5, 2, 4, 1, 3, 0]], [0.3, 0.4], [0.7, 0.4], list("abcdef"))


def posterior_mean(model, comparisons, m, n_nodes=120):
    """E[θ | comparisons of user m] for K = 2: Gauss–Jacobi quadrature with the Dirichlet prior as
    its weight function.
    """
    a, b = model.alpha
    x, node_weight = roots_jacobi(n_nodes, b - 1, a - 1)  # ∫ (1−x)^{b−1} (1+x)^{a−1} …
    theta = (1 + x) / 2
    rows = comparisons.user == m
    first, second = model.beta()[:, comparisons.winner[rows], comparisons.loser[rows]]
    log = (
        np.log(np.outer(theta, first) + np.outer(1 - theta, second)) * comparisons.weight[rows]
    ).sum(axis=1)
    mass = node_weight * np.exp(log - log.max())
    return np.array([mass @ theta, mass @ (1 - theta)]) / mass.sum()


@pytest.mark.parametrize(
    ("per_user", "worst", "mean"), [(5, 0.067, 0.0085), (50, 0.034, 0.0082), (400, 0.0097, 0.0024)]
)
def test_close_to_the_exact_posterior_mean(per_user, worst, mean):
    """The fixed point is an approximation: its error (largest and mean over 100 people) shrinks as
    comparisons come in.
    """
    comparisons = TWO.sample(100, per_user, seed=1).comparisons
    exact = np.array([posterior_mean(TWO, comparisons, m) for m in range(100)])
    error = np.abs(weights(TWO, comparisons) - exact)[:, 0]
    assert error.max() < worst
    assert error.mean() < mean


THREE = mm.M4(
    [[0, 1, 2, 3, 4, 5], [5, 2, 4, 1, 3, 0], [2, 0, 5, 3, 1, 4]],
    [0.3, 0.4, 0.35],
    [0.7, 0.4, 0.1],
    list("abcdef"),
)


def enumerated_mean(model, comparisons, m, vertex_share=0.0):
    """E[θ | comparisons of user m] as a sum over the components of all tokens, z in K^n: its
    likelihood is Π β_(w_n),z_n times the Dirichlet-multinomial of z, its mean (α + n_z)/(α₀ + n).
    """
    rows = comparisons.user == m
    tokens = model.beta()[:, comparisons.winner[rows], comparisons.loser[rows]].T
    tokens = np.repeat(tokens, comparisons.weight[rows].astype(int), axis=0)
    alpha, total, mean = model.alpha, 0.0, np.zeros(model.n_components)
    for z in product(range(model.n_components), repeat=len(tokens)):
        n = np.bincount(np.array(z, int), minlength=model.n_components)
        p = np.prod([token[k] for token, k in zip(tokens, z, strict=True)])
        p *= np.exp(gammaln(alpha.sum()) - gammaln(alpha.sum() + len(z)))
        p *= np.exp((gammaln(alpha + n) - gammaln(alpha)).sum())
        total, mean = total + p, mean + p * (alpha + n) / (alpha.sum() + len(z))
    single = model.share * np.prod(tokens, axis=0)
    mean, total = (1 - vertex_share) * mean, (1 - vertex_share) * total
    return (mean + vertex_share * single) / (total + vertex_share * single.sum())


@pytest.mark.slow
@pytest.mark.parametrize("vertex_share", [0.0, 0.4])
def test_quadrature_is_exact_for_three_components(vertex_share):
    comparisons = THREE.sample(6, [6, 5, 4, 1, 0, 6], seed=2).comparisons
    model = FittedModel(THREE, calibration=Calibration(vertex_share=vertex_share))
    found = weights(model, comparisons, method="quadrature")
    for m in range(6):
        expected = enumerated_mean(THREE, comparisons, m, vertex_share)
        np.testing.assert_allclose(found[m], expected, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("per_user", "likelihood_weight"), [(5, 1), (50, 1), (400, 1), (30, 0.3)])
def test_quadrature_is_exact_for_two_components(per_user, likelihood_weight):
    comparisons = TWO.sample(20, per_user, seed=1).comparisons
    tempered = replace(comparisons, weight=likelihood_weight * comparisons.weight)
    exact = np.array([posterior_mean(TWO, tempered, m) for m in range(20)])
    calibration = Calibration(likelihood_weight=likelihood_weight)
    model = FittedModel(TWO, calibration=calibration)
    found = weights(model, comparisons, method="quadrature")
    np.testing.assert_allclose(found, exact, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood_weight", [1.0, 0.3])
def test_gibbs_comes_near_the_exact_mean(likelihood_weight):
    """200,000 sweeps, or 20,000 draws where powers are not whole, against quadrature."""
    comparisons = THREE.sample(10, 12, seed=3).comparisons
    calibration = Calibration(likelihood_weight=likelihood_weight)
    model = FittedModel(THREE, calibration=calibration)
    exact = weights(model, comparisons, method="quadrature")
    n_sweeps = 200_000 if likelihood_weight == 1 else 20_000
    options = {"method": "gibbs", "n_sweeps": n_sweeps}
    found = weights(model, comparisons, **options)
    assert np.abs(found - exact).max() < 0.02
    assert found.tolist() == weights(model, comparisons, **options).tolist()
    alone = weights(model, comparisons.take_users([7]), **options)
    assert found[7].tolist() == alone[0].tolist()
    assert found.tolist() != weights(model, comparisons, seed=1, **options).tolist()


def test_methods_that_do_not_fit_are_refused():
    comparisons = TWO.sample(3, 5, seed=1).comparisons
    four = mm.M4([TWO.sigma[0]] * 4, [0.1] * 4, [0.1] * 4, TWO.items)
    spam = FittedModel(THREE, calibration=Calibration(spam_share=0.1))
    for model in (four, spam):
        with pytest.raises(OptionError, match=r'more than 3 components.*method="gibbs"'):
            weights(model, comparisons, method="quadrature")
    with pytest.raises(OptionError) as caught:
        weights(TWO, comparisons, method="gibbs", estimate="map")
    assert caught.value.option == "method"
    with pytest.raises(OptionError, match="method is 'exact'"):
        weights(TWO, comparisons, method="exact")


def test_the_quadrature_has_converged():
    comparisons = TWO.sample(20, 400, seed=1).comparisons
    for m in range(20):
        np.testing.assert_allclose(
            posterior_mean(TWO, comparisons, m), posterior_mean(TWO, comparisons, m, 200), atol=1e-9
        )


@pytest.mark.slow
def test_the_fixed_point_holds():
    """r_n ∝ β_(w_n) (α + Σ of the other tokens' r), E θ ∝ α + Σ r: what the docstring says, solved
    token by token.
    """
    comparisons = TWO.sample(20, 30, seed=2).comparisons
    found = weights(TWO, comparisons, tol=1e-13, max_iter=100_000)
    beta = TWO.beta()
    for m in range(20):
        rows = np.flatnonzero(comparisons.user == m)
        tokens = np.repeat(
            beta[:, comparisons.winner[rows], comparisons.loser[rows]].T,
            comparisons.weight[rows].astype(int),
            0,
        )
        r = np.zeros((len(tokens), 2))
        for _ in range(3000):
            r = tokens * (TWO.alpha + r.sum(axis=0) - r)
            r /= r.sum(axis=1, keepdims=True)
        expected = TWO.alpha + r.sum(axis=0)
        np.testing.assert_allclose(found[m], expected / expected.sum(), rtol=1e-8)


@pytest.mark.slow
def test_the_mode_of_log_ratios():
    """No point near it has a higher Σ w log Σ θβ + Σ α log θ, the log posterior of log θ_1/θ_2; it
    is found to 1e-6.
    """
    comparisons = TWO.sample(20, 30, seed=2).comparisons
    found = weights(TWO, comparisons, estimate="map", tol=1e-10, max_iter=100_000)
    theta = np.linspace(1e-6, 1 - 1e-6, 200_001)
    for m in range(20):
        rows = comparisons.user == m
        first, second = TWO.beta()[:, comparisons.winner[rows], comparisons.loser[rows]]
        value = TWO.alpha[0] * np.log(theta) + TWO.alpha[1] * np.log1p(-theta)
        for a, b, w in zip(first, second, comparisons.weight[rows], strict=True):
            value += w * np.log(theta * a + (1 - theta) * b)
        assert abs(theta[value.argmax()] - found[m, 0]) < 1e-5


def test_people_who_hold_one_component_alone():
    """With vertex = 1 the posterior is that of a mixture model: a_k Π β_(w_n),k, exactly; evidence
    is a power.
    """
    comparisons = TWO.sample(20, 8, seed=2).comparisons
    model = FittedModel(TWO, calibration=Calibration(likelihood_weight=0.5, vertex_share=1))
    found = weights(model, comparisons)
    beta = TWO.beta()
    for m in range(20):
        rows = comparisons.user == m
        likelihood = np.prod(
            beta[:, comparisons.winner[rows], comparisons.loser[rows]]
            ** (0.5 * comparisons.weight[rows]),
            axis=1,
        )
        np.testing.assert_allclose(
            found[m], TWO.share * likelihood / (TWO.share @ likelihood), rtol=1e-9
        )


def test_spam_is_a_third_component_of_coin_flips():
    """As the same model with a φ = 1 component of that share, whose weight is then left out."""
    comparisons = TWO.sample(20, 30, seed=2).comparisons
    three = mm.M4(
        [*TWO.sigma, TWO.sigma[0]], [*TWO.phi, 1.0], [*TWO.alpha, TWO.alpha.sum() / 4], TWO.items
    )
    expected = weights(three, comparisons)[:, :2]
    found = weights(FittedModel(TWO, calibration=Calibration(spam_share=0.2)), comparisons)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


def test_a_prior_of_both_kinds_lies_between_them():
    comparisons = TWO.sample(20, 8, seed=2).comparisons
    single, both, mixed = (
        weights(FittedModel(TWO, calibration=Calibration(vertex_share=v)), comparisons)[:, 0]
        for v in (1, 0.5, 0)
    )
    assert np.all(
        (both >= np.minimum(single, mixed) - 1e-12) & (both <= np.maximum(single, mixed) + 1e-12)
    )
    assert np.abs(both - mixed).max() > 0.01 and np.abs(both - single).max() > 0.01


def test_evidence_and_scale_do_what_they_say():
    comparisons = TWO.sample(20, 30, seed=2).comparisons
    plain, prior = weights(TWO, comparisons), TWO.share
    for calibration in (Calibration(likelihood_weight=0.1), Calibration(prior_scale=10)):
        shrunk = weights(FittedModel(TWO, calibration=calibration), comparisons)
        np.testing.assert_allclose(shrunk.sum(axis=1), 1)
        assert np.abs(shrunk - prior).mean() < 0.8 * np.abs(plain - prior).mean()
    # evidence is what a row's weight would be
    thirded = replace(comparisons, weight=comparisons.weight / 3)
    trusted = FittedModel(TWO, calibration=Calibration(likelihood_weight=1 / 3))
    np.testing.assert_allclose(weights(trusted, comparisons), weights(TWO, thirded), atol=0.02)


def test_people_of_one_taste_are_separated():
    vertices = TWO.sample(60, 100, prior="vertices", seed=3)
    found = weights(TWO, vertices.comparisons)
    assert (found.argmax(axis=1) == vertices.theta.argmax(axis=1)).all()
    assert found.max(axis=1).min() > 0.8


def test_rows_sum_to_one_and_are_positive():
    model = mm.M4(
        [np.random.default_rng(k).permutation(9) for k in range(5)],
        [0, 0.1, 0.5, 0.9, 1.0],
        [0.01, 0.1, 1, 2, 5],
        range(9),
    )
    found = weights(model, model.sample(80, 25, seed=1).comparisons)
    assert found.shape == (80, 5)
    assert (found > 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


def test_someone_without_comparisons_gets_the_prior_mean():
    comparisons = TWO.sample(4, [3, 0, 5, 0], seed=1).comparisons
    found = weights(TWO, comparisons)
    for m in (1, 3):
        np.testing.assert_allclose(found[m], TWO.share, atol=1e-15)
    assert weights(TWO, comparisons.take_users([])).shape == (0, 2)


def test_one_component_takes_everything():
    model = mm.M4([[0, 1, 2]], [0.2], [0.3], "abc")
    assert weights(model, model.sample(5, 4).comparisons).tolist() == [[1.0]] * 5


def test_many_small_alphas_do_not_underflow():
    """1000 components of α = 1e-4 and one comparison: exp ψ(γ) is below the smallest float for all
    of them.
    """
    random = np.random.default_rng(0)
    model = mm.M4(
        [random.permutation(4) for _ in range(1000)],
        np.full(1000, 0.1),
        np.full(1000, 1e-4),
        "abcd",
    )
    found = weights(model, mm.Comparisons.from_arrays(["u"], ["a"], ["d"]))[0]
    likely = model.sigma[:, 0] < model.sigma[:, 3]
    assert found[likely].sum() > 0.9


@pytest.mark.slow
@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(0, 99))
def test_integer_weights_are_repeats_and_user_weight_plays_no_part(times, seed):
    random = np.random.default_rng(seed)
    winner = random.integers(0, 6, len(times))
    loser = (winner + random.integers(1, 6, len(times))) % 6
    items = np.array(list("abcdef"))
    users = np.array(["u", "v"])[random.integers(0, 2, len(times))]
    once = mm.Comparisons.from_arrays(users, items[winner], items[loser], times)
    repeated = mm.Comparisons.from_arrays(
        *(np.repeat(column, times) for column in (users, items[winner], items[loser]))
    )
    heavy = mm.Comparisons.from_arrays(
        users, items[winner], items[loser], times, user_weight={"u": 7.0, "v": 0.5}
    )
    found = weights(TWO, once)
    assert found.tolist() == weights(TWO, repeated).tolist()
    assert found.tolist() == weights(TWO, heavy).tolist()


def test_each_person_for_themselves_on_any_number_of_threads():
    comparisons = TWO.sample(70, 20, seed=4).comparisons
    found = weights(TWO, comparisons, n_jobs=1)
    assert found.tobytes() == weights(TWO, comparisons, n_jobs=3).tobytes()
    for m in (0, 33, 69):
        assert found[m].tolist() == weights(TWO, comparisons.take_users([m]))[0].tolist()


def test_unknown_items_are_listed_or_dropped():
    votes = mm.Comparisons.from_arrays(list("uuuv"), ["a", "b", "x", "y"], ["b", "c", "a", "z"])
    with pytest.raises(
        DataError, match=r"3 of the 6 items are unknown: 'x', 'y', 'z'\. .*unknown_items=\"drop\""
    ):
        weights(TWO, votes)
    found = weights(TWO, votes, unknown_items="drop")
    known = mm.Comparisons.from_arrays(["u", "u"], ["a", "b"], ["b", "c"])
    np.testing.assert_allclose(found[0], weights(TWO, known)[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], TWO.share)  # nothing known is left of v
    with pytest.raises(
        OptionError, match="unknown_items is 'keep'; it must be one of 'error', 'drop'"
    ):
        weights(TWO, votes, unknown_items="keep")


def test_items_are_matched_by_name():
    """The same votes with items in another order, as a reader would number them when one is
    missing.
    """
    votes = mm.Comparisons.from_arrays(list("uuu"), ["f", "e", "f"], ["b", "c", "e"])
    assert votes.items.tolist() == ["b", "c", "e", "f"]
    codes = mm.Comparisons.from_codes([0, 0, 0], [5, 4, 5], [1, 2, 4], None, list("abcdef"), ["u"])
    assert weights(TWO, votes).tolist() == weights(TWO, codes).tolist()


def test_a_comparison_that_every_component_rules_out_says_nothing():
    model = mm.M4([[0, 1, 2], [0, 2, 1]], [0.0, 0.0], [0.6, 0.2], "abc")
    impossible = mm.Comparisons.from_arrays(["u"], ["b"], ["a"])
    np.testing.assert_allclose(weights(model, impossible), [[0.75, 0.25]], atol=0.2)
    assert np.isfinite(weights(model, impossible)).all()


def test_it_says_when_it_stops_too_early():
    comparisons = TWO.sample(30, 50, seed=5).comparisons
    with pytest.warns(
        FitWarning,
        match=r"The weights of \d+ of 30 users still moved by more than tol=1e-06 after 2 "
        r"steps; raise",
    ):
        weights(TWO, comparisons, max_iter=2)
    with pytest.raises(OptionError, match="max_iter is 0; it must be at least 1"):
        weights(TWO, comparisons, max_iter=0)
