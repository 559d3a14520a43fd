"""Left-to-right: against the sum over all assignments of components, quadrature over θ, and models
whose answer is known.
"""

import math

import numpy as np
import pytest

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import make_blocks
from mallowmix.errors import DataError, FitWarning, OptionError
from mallowmix.infer.heldout.heldout_options import LeftToRightOptions
from mallowmix.infer.heldout.heldout_scores import floored_beta
from mallowmix.infer.heldout.left_to_right import FORMS, _two_runs, left_to_right
from mallowmix.model import least_beta
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key
from oracles import every_assignment, log_marginal
from planted import planted, tiny_population

THREE = planted(5, 3, phi=0.1, alpha=[0.3, 0.5, 0.2], seed=1)
TWO = M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 0.5], alpha=[0.4, 0.9])
WORDS = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 0), (4, 2), (2, 4)]


def copies(words, n_people, model=THREE) -> Comparisons:
    """So many people with the same comparisons."""
    winner, loser = zip(*words, strict=True)
    user = np.repeat(np.arange(n_people), len(words))
    return Comparisons.from_codes(
        user,
        np.tile(winner, n_people),
        np.tile(loser, n_people),
        None,
        model.items,
        range(n_people),
    )


def estimates(form, *, particles, n_people=400, moves=2) -> np.ndarray:
    """Independent estimates of log p of the seven comparisons, less the exact value."""
    broadcast = (particles, floored_beta(THREE), THREE.alpha, FORMS.index(form), moves, as_key(5))
    runs = np.concatenate(
        [_two_runs(block, broadcast) for block in make_blocks(copies(WORDS, n_people))]
    )
    return runs.ravel() - every_assignment(WORDS, THREE.beta(), THREE.alpha)


@pytest.mark.parametrize("moves", [0, 2])
@pytest.mark.parametrize("form", ["filter", "mean-of-products"])
def test_two_forms_are_right_on_average(form, moves):
    """The mean of 800 estimates of p over p is 1 with a standard error of about .02; five of them
    are left by chance once in 10⁶.

    A biased form would show: a filter that forgets to weigh is off by .2 and more (the next test).
    """
    ratio = np.exp(estimates(form, particles=10, moves=moves))
    error = ratio.std() / math.sqrt(len(ratio))
    assert error < 0.05
    assert abs(ratio.mean() - 1) < 5 * error


def test_the_product_of_means_stays_biased_however_many_particles():
    """The bias depends on the order, which each person has of their own: three of them, two runs
    each, differences below .02.

    Methods that are right have a Monte-Carlo error of .01 here; .05 is beyond chance.
    """
    few, many = (
        estimates("product-of-means", particles=R, n_people=3).reshape(3, 2)
        for R in (5_000, 40_000)
    )
    assert np.abs(many[:, 0] - many[:, 1]).max() < 0.02
    assert np.abs(many.mean(axis=1)).max() > 0.3, "nats, over seven comparisons"
    np.testing.assert_allclose(few, many, atol=0.05)
    for form in ("filter", "mean-of-products"):
        assert np.abs(estimates(form, particles=20_000, n_people=3)).max() < 0.05


@pytest.mark.slow
def test_resampling_with_moves_beats_both_plain_forms_on_long_lists():
    """K = 10, 300 comparisons: the filter is within .002 a comparison, the product of means off by
    .01 and more.
    """
    model = planted(50, 10, phi=0.3, alpha=0.1, seed=1)
    people = model.sample(8, 300, seed=2).comparisons
    truth = left_to_right(
        model, people, LeftToRightOptions(n_particles=512)
    ).log_likelihood_per_comparison
    found = {
        form: left_to_right(
            model, people, LeftToRightOptions(form=form, n_particles=128, tol=1)
        ).log_likelihood_per_comparison
        - truth
        for form in FORMS
    }
    assert abs(found["filter"]) < 0.002
    assert found["product-of-means"] < -0.01
    assert abs(found["filter"]) < abs(found["mean-of-products"]) < 0.01


def test_two_components_agree_with_quadrature():
    """Twelve people; the Monte-Carlo error is .0004 a comparison at most, so .002 is left by chance
    once in 10⁵.
    """
    people = TWO.sample(12, 9, seed=3).comparisons
    exact = sum(log_marginal(TWO, people, m) for m in range(12)) / people.n_comparisons
    found = left_to_right(TWO, people, LeftToRightOptions(n_particles=1024))
    assert found.log_likelihood_per_comparison == pytest.approx(exact, abs=2e-3)
    assert found.details["monte_carlo_error"] < 6e-4
    assert (found.n_users, found.n_comparisons) == (12, 108)


def test_the_monte_carlo_error_is_the_spread_between_seeds():
    """The spread of 60 seeds is known within 9%, each stated error (one of 40 people) within 11%;
    40% is beyond chance.
    """
    people = TWO.sample(40, 12, seed=4).comparisons
    found = [
        left_to_right(TWO, people, LeftToRightOptions(tol=1), seed=seed, n_jobs=1)
        for seed in range(60)
    ]
    spread = np.std([one.log_likelihood_per_comparison for one in found])
    stated = np.sqrt(np.mean([one.details["monte_carlo_error"] ** 2 for one in found]))
    assert stated == pytest.approx(spread, rel=0.4)


@pytest.mark.parametrize("form", FORMS)
def test_one_component_and_a_coin_are_exact(form):
    model = M4.from_orders([list("abcd")], phi=0.4)
    people = TWO.sample(20, 6, seed=1).comparisons
    log_p = np.log(model.beta()[0, people.winner, people.loser]) @ people.weight
    assert left_to_right(
        model, people, LeftToRightOptions(form=form)
    ).log_likelihood_per_comparison == pytest.approx(log_p / 120, abs=1e-12)
    coin = M4.from_orders([list("abcd"), list("bdac")], phi=1.0)
    found = left_to_right(coin, people, LeftToRightOptions(form=form))
    assert found.log_likelihood_per_comparison == pytest.approx(-math.log(2), abs=1e-12)
    assert found.details["difference"] < 1e-12 and found.standard_error < 1e-9


def test_certain_rankings_do_not_give_minus_infinity():
    certain = M4.from_orders([list("ab")], phi=0.0)
    against = Comparisons.from_arrays(["u"] * 4, ["b"] * 4, ["a"] * 4)
    found = left_to_right(certain, against)
    assert found.log_likelihood_per_comparison == pytest.approx(math.log(least_beta.INFERENCE))
    assert math.isnan(found.standard_error), "one person: not known"


def test_particles_are_doubled_until_two_runs_agree():
    people = THREE.sample(10, 20, seed=0).comparisons
    easy, hard = (
        left_to_right(THREE, people, LeftToRightOptions(n_particles=4, tol=tol))
        for tol in (1.0, 0.002)
    )
    assert easy.details["particles"] == 4 < hard.details["particles"]
    assert max(hard.details["difference"], hard.details["noise_bias"]) < 0.002
    with pytest.warns(
        FitWarning,
        match=r"With 8 particles two runs differ by .* raise max_particles, n_moves or tol",
    ):
        few = left_to_right(
            THREE, people, LeftToRightOptions(n_particles=4, max_particles=8, tol=1e-6)
        )
    assert few.details["particles"] == 8


def test_few_comparisons_may_have_many_particles():
    with pytest.warns(FitWarning, match="With 65536 particles"):
        found = left_to_right(
            THREE, copies(WORDS, 1), LeftToRightOptions(n_particles=1024, tol=1e-9)
        )
    assert found.details["particles"] == 65_536


def test_threads_row_order_and_weights_do_not_matter():
    people = tiny_population(3, M=40)
    model = M4.from_orders([list("abcd"), list("dbca")], 0.3, [0.5, 0.2])
    one = left_to_right(model, people, LeftToRightOptions(tol=1), n_jobs=1)
    assert left_to_right(model, people, LeftToRightOptions(tol=1), n_jobs=2) == one
    rows = np.repeat(np.arange(len(people)), people.weight.astype(int))
    rows = np.random.default_rng(0).permutation(rows)
    again = Comparisons.from_codes(
        people.user[rows], people.winner[rows], people.loser[rows], None, people.items, people.users
    )
    assert left_to_right(model, again, LeftToRightOptions(tol=1)) == one
    assert left_to_right(model, people, LeftToRightOptions(tol=1), seed=1) != one


def test_a_fraction_counts_as_such():
    """One component: v log β. Weights of .999 give nearly what weights of 1 do (the same tokens,
    random numbers and order).
    """
    model = M4.from_orders([list("abcd")], phi=0.4)
    people = tiny_population(1, fractions=True)
    log_p = np.log(model.beta()[0, people.winner, people.loser]) @ people.weight
    assert left_to_right(model, people).log_likelihood_per_comparison == pytest.approx(
        log_p / people.n_comparisons, abs=1e-12
    )
    whole = TWO.sample(30, 5, seed=2).comparisons
    whole = Comparisons.from_codes(
        whole.user, whole.winner, whole.loser, np.ones(len(whole)), whole.items, whole.users
    )
    nearly = Comparisons.from_codes(
        whole.user, whole.winner, whole.loser, 0.999 * whole.weight, whole.items, whole.users
    )
    a, b = (
        left_to_right(
            TWO, c, LeftToRightOptions(n_particles=512, tol=1)
        ).log_likelihood_per_comparison
        for c in (whole, nearly)
    )
    assert a == pytest.approx(b, abs=2e-3) and a != b


def test_mu_is_added_on_request():
    """Σ weight log μ, with μ counted by a dictionary."""
    people = tiny_population(2)
    counts: dict = {}
    for i, j, w in zip(people.winner, people.loser, people.weight, strict=True):
        counts[frozenset((i, j))] = counts.get(frozenset((i, j)), 0) + w
    total = sum(counts.values())
    log_mu = sum(n * math.log(n / total) for n in counts.values())
    model = M4.from_orders([list("abcd"), list("dbca")], 0.3, 0.5)
    plain, whole = (
        left_to_right(model, people, LeftToRightOptions(tol=1), include_mu=mu)
        for mu in (False, True)
    )
    gain = whole.log_likelihood_per_comparison - plain.log_likelihood_per_comparison
    assert gain * total == pytest.approx(log_mu)
    assert whole.standard_error != plain.standard_error


def test_people_without_comparisons_do_not_count():
    people = Comparisons.from_codes([1, 1, 3], [0, 1, 0], [1, 2, 3], None, list("abcd"), range(5))
    found = left_to_right(TWO, people, LeftToRightOptions(n_particles=256))
    assert (found.n_users, found.n_comparisons) == (2, 3)
    nobody = Comparisons.from_codes([], [], [], None, list("abcd"), [])
    with pytest.raises(
        DataError, match="Nothing is held out: nobody has any comparison of the model's items"
    ):
        left_to_right(TWO, nobody)


def test_what_cannot_be_asked():
    for options, message in (
        (
            {"form": "mean"},
            "form is 'mean'; it must be one of 'filter', 'mean-of-products', 'product-of-means'",
        ),
        ({"n_particles": 0}, "n_particles is 0; it must be at least 1"),
        ({"n_moves": -1}, "n_moves is -1; it must be at least 0"),
        ({"tol": 0}, "tol is 0; it must be above 0"),
        (
            {"max_particles": 8},
            "max_particles is 8; it must be at least 32. Raise it, or lower n_particles",
        ),
    ):
        with pytest.raises(OptionError, match=message):
            LeftToRightOptions(**options)
