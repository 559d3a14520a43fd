"""Draws of a person's weights: against quadrature, in coverage by simulation, and what must hold
exactly.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import binom, dirichlet

import mallowmix as mm
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.gibbs_draws import pieces, weight_draws
from mallowmix.infer.prepared_model import prepare
from mallowmix.model.calibration import Calibration
from mallowmix.model.fitted_model import FittedModel
from planted import blocks_of

TWO = mm.M4([[0, 1, 2, 3, 4, 5], [5, 2, 4, 1, 3, 0]], [0.3, 0.4], [0.7, 0.4], list("abcdef"))
THREE = mm.M4(
    [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3], [3, 4, 1, 2, 0]],
    [0.2, 0.4, 0.3],
    [0.6, 0.9, 1.2],
    list("abcde"),
)
NOBODY = mm.Comparisons.from_codes([], [], [], None, list("abcdef"), ["someone"])
NONE, HALF, FIFTH = (
    Calibration(),
    Calibration(likelihood_weight=0.5, prior_scale=2),
    Calibration(likelihood_weight=0.2),
)


def powers(model, comparisons, m):
    """(rows, K) probabilities of user m's comparisons, and the power of each."""
    rows = comparisons.user == m
    return (
        model.beta()[:, comparisons.winner[rows], comparisons.loser[rows]].T,
        comparisons.weight[rows] * model.calibration.likelihood_weight,
    )


def line_posterior(model, comparisons, m, n=4000):
    """K = 2: points θ_1 of equal prior mass, and their posterior mass."""
    a, b = model.alpha * model.calibration.prior_scale
    t = beta_distribution.ppf((np.arange(n) + 0.5) / n, a, b)
    probability, x = powers(model, comparisons, m)
    mass = np.exp(
        (np.log(np.outer(t, probability[:, 0]) + np.outer(1 - t, probability[:, 1])) * x).sum(
            axis=1
        )
    )
    return t, mass / mass.sum()


def triangle_posterior(model, comparisons, m, n=160):
    """K = 3: a midpoint grid with the Dirichlet as a stick: θ_1 ~ Beta(α_1, α_2 + α_3), the rest
    divided by Beta(α_2, α_3).
    """
    a = model.alpha * model.calibration.prior_scale
    middle = (np.arange(n) + 0.5) / n
    first, share = (
        g.ravel()
        for g in np.meshgrid(
            beta_distribution.ppf(middle, a[0], a[1] + a[2]),
            beta_distribution.ppf(middle, a[1], a[2]),
            indexing="ij",
        )
    )
    theta = np.column_stack([first, (1 - first) * share, (1 - first) * (1 - share)])
    probability, x = powers(model, comparisons, m)
    mass = np.exp(np.log(theta @ probability.T) @ x)
    return theta, mass / mass.sum()


@pytest.mark.slow
@pytest.mark.parametrize("calibration", [NONE, HALF, FIFTH], ids=str)
@pytest.mark.parametrize("per_user", [6, 60])
def test_two_components_against_quadrature(calibration, per_user):
    """Where the 5, 25, 50, 75, 95% points of 4000 draws fall in the exact distribution, for 8
    people.

    Draws are correlated: counted as 1500 independent ones, a deviation has a standard deviation of
    at most .013, and .07 is five
    of them: a false alarm in one of 50,000 runs, were the seed free.
    """
    model = FittedModel(TWO, calibration=calibration)
    comparisons = TWO.sample(8, per_user, seed=1).comparisons
    draws = weight_draws(model, comparisons, 4000)[:, :, 0]
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    for m in range(8):
        t, mass = line_posterior(model, comparisons, m)
        found = np.interp(np.quantile(draws[m], levels), t, np.cumsum(mass))
        np.testing.assert_allclose(found, levels, atol=0.07)
        assert abs(draws[m].mean() - mass @ t) < 0.02


@pytest.mark.parametrize("calibration", [NONE, FIFTH], ids=str)
def test_three_components_against_a_grid(calibration):
    """Means, spreads and correlations of θ, and the ends of the intervals, beside a grid of 25,600
    points (as above).
    """
    model = FittedModel(THREE, calibration=calibration)
    comparisons = THREE.sample(5, 40, seed=2).comparisons
    draws, found = (
        weight_draws(model, comparisons, 4000),
        mm.weight_intervals(model, comparisons, n_draws=4000),
    )
    for m in range(5):
        theta, mass = triangle_posterior(model, comparisons, m)
        np.testing.assert_allclose(draws[m].mean(axis=0), mass @ theta, atol=0.02)
        exact = np.cov(theta.T, aweights=mass, ddof=0)
        np.testing.assert_allclose(np.cov(draws[m].T), exact, atol=0.12 * np.trace(exact))
        for k in range(3):
            order = np.argsort(theta[:, k])
            ends = np.interp(
                [found.low[m, k], found.high[m, k]], theta[order, k], np.cumsum(mass[order])
            )
            np.testing.assert_allclose(ends, [0.05, 0.95], atol=0.04)


@pytest.mark.slow
def test_many_components_against_importance_sampling():
    """K = 6 with small α, where chains could stick: means beside 400,000 weighted draws from the
    prior.
    """
    random = np.random.default_rng(0)
    model = mm.M4(
        [random.permutation(8) for _ in range(6)], np.full(6, 0.3), np.full(6, 0.15), range(8)
    )
    comparisons = model.sample(4, 12, seed=1).comparisons
    theta = random.dirichlet(model.alpha, 400_000)
    for calibration in (NONE, Calibration(likelihood_weight=0.4)):
        draws = weight_draws(FittedModel(model, calibration=calibration), comparisons, 6000)
        for m in range(4):
            probability, x = powers(FittedModel(model, calibration=calibration), comparisons, m)
            weight = np.exp(np.log(theta @ probability.T + 1e-300) @ x)
            np.testing.assert_allclose(
                draws[m].mean(axis=0), weight @ theta / weight.sum(), atol=0.035
            )


@pytest.mark.slow
def test_intervals_cover_as_they_say():
    """90% intervals of 600 people drawn from the prior: calibrated exactly, so hits are
    Binomial(600, .9) for one component.

    Quantiles of 400 draws add little. The band holds all but 1e-4 of that distribution: the
    false-alarm rate, were the seed free.
    """
    people = TWO.sample(600, 25, seed=3)
    found = mm.weight_intervals(TWO, people.comparisons)
    hits = np.sum(
        (found.low[:, 0] <= people.theta[:, 0]) & (people.theta[:, 0] <= found.high[:, 0])
    )
    assert binom.ppf(0.5e-4, 600, 0.9) <= hits <= binom.ppf(1 - 0.5e-4, 600, 0.9)
    narrow = mm.weight_intervals(TWO, people.comparisons, level=0.5)
    hits = np.sum(
        (narrow.low[:, 0] <= people.theta[:, 0]) & (people.theta[:, 0] <= narrow.high[:, 0])
    )
    assert binom.ppf(0.5e-4, 600, 0.5) <= hits <= binom.ppf(1 - 0.5e-4, 600, 0.5)
    assert np.all(narrow.high - narrow.low < found.high - found.low)


def test_the_mean_is_that_of_weights():
    comparisons = TWO.sample(20, 10, seed=1).comparisons
    assert (
        mm.weight_intervals(TWO, comparisons).mean.tolist() == mm.weights(TWO, comparisons).tolist()
    )


def test_someone_without_comparisons_gets_the_prior():
    """The mean is the prior's, the ends are its quantiles (400 draws: sd .015 in probability, five
    of them), and it is said.
    """
    comparisons = TWO.sample(4, [3, 0, 5, 0], seed=1).comparisons
    found = mm.weight_intervals(TWO, comparisons)
    assert found.is_prior.tolist() == [False, True, False, True]
    assert found.n_comparisons.tolist() == [3, 0, 5, 0]
    np.testing.assert_allclose(found.mean[[1, 3]], [TWO.share] * 2)
    ends = beta_distribution.cdf([found.low[1, 0], found.high[1, 0]], *TWO.alpha)
    np.testing.assert_allclose(ends, [0.05, 0.95], atol=0.05)
    assert found.low[1].tolist() == found.low[3].tolist()
    dropped = mm.weight_intervals(
        TWO, mm.Comparisons.from_arrays(["u"], ["x"], ["y"]), unknown_items="drop"
    )
    assert dropped.is_prior.all() and dropped.users.tolist() == ["u"]
    with pytest.raises(DataError, match="2 of the 2 items are unknown: 'x', 'y'"):
        mm.weight_intervals(TWO, mm.Comparisons.from_arrays(["u"], ["x"], ["y"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "calibration", [NONE, FIFTH, Calibration(vertex_share=0.4, spam_share=0.1)], ids=str
)
def test_each_person_for_themselves(calibration):
    """The same bytes whoever else is there, in whatever order, on any number of threads, under any
    name.
    """
    model = FittedModel(TWO, calibration=calibration)
    comparisons = TWO.sample(70, 8, seed=4).comparisons
    draws = weight_draws(model, comparisons, 20, n_jobs=1)
    assert draws.tobytes() == weight_draws(model, comparisons, 20, n_jobs=3).tobytes()
    some = [69, 0, 33]
    assert draws[some].tobytes() == weight_draws(model, comparisons.take_users(some), 20).tobytes()
    table = comparisons.to_arrow().to_pydict()
    shuffled = np.random.default_rng(0).permutation(len(comparisons))
    again = mm.Comparisons.from_arrays(
        *(np.array(table[name])[shuffled] for name in ("user", "winner", "loser", "weight"))
    )
    assert again == comparisons and draws.tobytes() == weight_draws(model, again, 20).tobytes()
    found = mm.weight_intervals(model, comparisons, n_draws=20, n_jobs=2)
    alone = mm.weight_intervals(model, comparisons.take_users([33]), n_draws=20)
    assert (
        found.low[33].tolist() == alone.low[0].tolist()
        and found.high[33].tolist() == alone.high[0].tolist()
    )
    assert draws.tobytes() != weight_draws(model, comparisons, 20, seed=1).tobytes()


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=8),
    st.integers(0, 99),
    st.sampled_from([NONE, FIFTH]),
)
def test_integer_weights_are_repeats_and_user_weight_plays_no_part(times, seed, calibration):
    random = np.random.default_rng(seed)
    winner = random.integers(0, 6, len(times))
    loser = (winner + random.integers(1, 6, len(times))) % 6
    items = np.array(list("abcdef"))
    columns = np.full(len(times), "u"), items[winner], items[loser]
    once = mm.Comparisons.from_arrays(*columns, times, user_weight={"u": 7.0})
    repeated = mm.Comparisons.from_arrays(*(np.repeat(column, times) for column in columns))
    model = FittedModel(TWO, calibration=calibration)
    assert weight_draws(model, once, 15).tolist() == weight_draws(model, repeated, 15).tolist()


def test_half_weights_are_half_evidence():
    """A row of weight ½ and evidence ½ are the same power: the same chain, started from another
    state.
    """
    comparisons = TWO.sample(3, 40, seed=5).comparisons
    half = replace(comparisons, weight=comparisons.weight / 2)
    one = weight_draws(TWO, half, 3000).mean(axis=1)
    other = weight_draws(
        FittedModel(TWO, calibration=Calibration(likelihood_weight=0.5)), comparisons, 3000
    ).mean(axis=1)
    np.testing.assert_allclose(one, other, atol=0.03)


def test_vertices_alone():
    """With vertex = 1 every draw is a vertex, as often as a_k Π β says. 2000 draws: five standard
    deviations are .056.
    """
    model = FittedModel(TWO, calibration=Calibration(vertex_share=1))
    comparisons = TWO.sample(6, 4, seed=2).comparisons
    draws = weight_draws(model, comparisons, 2000)
    assert set(np.unique(draws)) == {0.0, 1.0}
    for m in range(6):
        probability, x = powers(model, comparisons, m)
        likelihood = TWO.share * np.prod(probability ** x[:, None], axis=0)
        np.testing.assert_allclose(draws[m].mean(axis=0), likelihood / likelihood.sum(), atol=0.056)


def test_vertices_and_mixtures():
    """Nothing known, vertex = .3: that part of the draws is a vertex, by the shares; 4000 draws,
    five deviations are .04.
    """
    draws = weight_draws(FittedModel(TWO, calibration=Calibration(vertex_share=0.3)), NOBODY, 4000)[
        0
    ]
    single = (draws == 1).any(axis=1)
    assert abs(single.mean() - 0.3) < 0.04
    assert abs(draws[single][:, 0].mean() - TWO.share[0]) < 0.08
    assert abs(draws[~single][:, 0].mean() - TWO.share[0]) < 0.04


def test_spam_is_drawn_and_then_left_out():
    model = FittedModel(TWO, calibration=Calibration(spam_share=0.5, vertex_share=0.5))
    comparisons = TWO.sample(3, 3, seed=1).comparisons
    draws, found = weight_draws(model, comparisons, 50), mm.weight_intervals(model, comparisons)
    assert draws.shape == (3, 50, 3) and found.low.shape == (3, 2)
    np.testing.assert_allclose(draws.sum(axis=2), 1)
    # two weights that sum to one
    np.testing.assert_allclose(found.low[:, 0], 1 - found.high[:, 1], atol=1e-12)
    assert np.all(found.low <= found.high) and np.all((found.low >= 0) & (found.high <= 1))


def test_one_component_and_two_items():
    one = mm.M4([[0, 1]], [0.2], [0.5], "ab")
    votes = mm.Comparisons.from_arrays(["u", "u"], ["a", "b"], ["b", "a"], [1, 0.5])
    for calibration in (NONE, FIFTH, Calibration(vertex_share=0.5)):
        found = mm.weight_intervals(FittedModel(one, calibration=calibration), votes)
        assert (found.mean.tolist(), found.low.tolist(), found.high.tolist()) == (
            [[1.0]],
            [[1.0]],
            [[1.0]],
        )
    two = mm.M4([[0, 1], [1, 0]], [0.0, 0.0], [1.0, 1.0], "ab")
    draws = weight_draws(two, mm.Comparisons.from_arrays(["u"], ["a"], ["b"], [3]), 4000)[0]
    assert abs(draws[:, 0].mean() - 0.8) < 0.02  # Beta(4, 1), but for the floor of β
    assert mm.weight_intervals(TWO, TWO.sample(2, 3).comparisons.take_users([])).mean.shape == (
        0,
        2,
    )


def test_tiny_alphas_do_not_underflow():
    random = np.random.default_rng(0)
    model = mm.M4(
        [random.permutation(4) for _ in range(50)], np.full(50, 0.1), np.full(50, 1e-4), "abcd"
    )
    votes = mm.Comparisons.from_arrays(["u", "u"], ["a", "a"], ["d", "c"], [2, 0.5])
    for calibration in (NONE, FIFTH):
        draws = weight_draws(FittedModel(model, calibration=calibration), votes, 50)
        assert np.isfinite(draws).all()
        np.testing.assert_allclose(draws.sum(axis=2), 1)


def test_the_prior_alone_is_a_dirichlet():
    """Means and variances of 4000 independent draws; five standard errors."""
    draws = weight_draws(THREE, NOBODY.with_items(THREE.items), 4000)[0]
    prior = dirichlet(THREE.alpha)
    np.testing.assert_allclose(
        draws.mean(axis=0), prior.mean(), atol=5 * (prior.var().max() / 4000) ** 0.5
    )
    np.testing.assert_allclose(draws.var(axis=0), prior.var(), rtol=0.12)


def test_pieces_make_up_the_block():
    blocks, _ = blocks_of(TWO.sample(9000, 2, seed=1).comparisons)
    block = blocks[3]
    parts = [part for _, part in pieces(block)]
    assert len(parts) > 1 and [first for first, _ in pieces(block)] == [
        n * 256 for n in range(len(parts))
    ]
    assert np.concatenate([part.pair for part in parts]).tolist() == block.pair.tolist()
    assert (
        sum(part.n_users for part in parts) == block.n_users
        and parts[1].first_user == block.first_user + 256
    )
    assert all(part.starts[0] == 0 and part.starts[-1] == len(part.pair) for part in parts)


def test_messages():
    comparisons = TWO.sample(2, 3).comparisons
    with pytest.raises(OptionError, match=r"level is 1; it must be between 0 and 1, as in 0\.9"):
        mm.weight_intervals(TWO, comparisons, level=1)
    with pytest.raises(OptionError, match="n_draws is 5; it must be at least 10"):
        mm.weight_intervals(TWO, comparisons, n_draws=5)
    assert prepare(TWO).prior_mean.tolist() == TWO.share.tolist()
