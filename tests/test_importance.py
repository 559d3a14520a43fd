"""Importance sampling and annealing: against the sum over all assignments, quadrature over θ, and
the particle filter.
"""

import math

import numpy as np
import pytest

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.heldout.annealing import anneal
from mallowmix.infer.heldout.heldout_options import ImportanceOptions, LeftToRightOptions
from mallowmix.infer.heldout.heldout_scores import floored_beta
from mallowmix.infer.heldout.importance import importance
from mallowmix.infer.heldout.left_to_right import left_to_right
from mallowmix.model import least_beta
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import draw_log_dirichlet
from oracles import every_assignment, log_marginal
from planted import planted, tiny_population

TWO = M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 0.5], alpha=[0.4, 0.9])
THREE = planted(5, 3, phi=0.1, alpha=[0.3, 0.5, 0.2], seed=1)
# nobody has so many effective draws: everybody is annealed
ALL = {"min_ess": 1e9, "n_draws": 4, "max_draws": 4}


def words_of(people, m):
    rows = np.flatnonzero(people.user == m)
    return [(people.winner[r], people.loser[r]) for r in rows for _ in range(int(people.weight[r]))]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, ALL])
def test_three_components_agree_with_the_sum_over_all_assignments(options):
    """Six people with seven comparisons. Five Monte-Carlo errors and a little; fails by chance once
    in 10⁵.
    """
    people = THREE.sample(6, 7, seed=3).comparisons
    exact = (
        sum(every_assignment(words_of(people, m), THREE.beta(), THREE.alpha) for m in range(6)) / 42
    )
    found = importance(THREE, people, ImportanceOptions(n_particles=2000, **options))
    assert found.log_likelihood_per_comparison == pytest.approx(
        exact, abs=5 * found.details["monte_carlo_error"] + 5e-4
    )
    assert found.details["monte_carlo_error"] < 5e-3
    assert found.details["annealed"] == (6 if options else 0)


@pytest.mark.parametrize("options", [{"n_draws": 16_000}, ALL])
def test_fractions_agree_with_quadrature(options):
    """Weights like 2.5 enter as powers of a comparison's probability."""
    people = tiny_population(3, fractions=True)
    exact = sum(log_marginal(TWO, people, m) for m in range(5)) / people.n_comparisons
    found = importance(TWO, people, ImportanceOptions(n_particles=2000, **options))
    assert found.log_likelihood_per_comparison == pytest.approx(
        exact, abs=5 * found.details["monte_carlo_error"] + 5e-4
    )
    assert found.details["monte_carlo_error"] < 2e-3


@pytest.mark.slow
def test_annealing_is_right_on_average():
    """The mean of 200 estimates of p over p, 20 comparisons of one person: five standard errors are
    left once in 10⁶.
    """
    people = TWO.sample(1, 20, seed=8).comparisons
    beta = floored_beta(TWO)
    runs = [
        anneal(people.pair, people.weight, beta, TWO.alpha, 30, np.uint64(7919 * i))[0]
        for i in range(200)
    ]
    ratio = np.exp(np.array(runs) - log_marginal(TWO, people, 0))
    error = ratio.std() / math.sqrt(200)
    assert error < 0.05
    # the powers are chosen from the particles, which leaves a bias of order 1/30
    assert abs(ratio.mean() - 1) < 5 * error + 0.01


@pytest.mark.slow
def test_filter_draws_and_annealing_agree_on_long_lists():
    """K = 10, 300 comparisons, 10 people: within five of the Monte-Carlo errors that they state and
    their noise bias.
    """
    model = planted(50, 10, phi=0.4, alpha=0.2, seed=1)
    people = model.sample(10, 300, seed=2).comparisons
    filtered = left_to_right(model, people, LeftToRightOptions(n_particles=256))
    drawn = importance(model, people)
    annealed = importance(model, people, ImportanceOptions(**ALL))
    assert drawn.details["annealed"] < 10 == annealed.details["annealed"]
    for other in (drawn, annealed):
        error = math.hypot(*(one.details["monte_carlo_error"] for one in (filtered, other)))
        gap = other.log_likelihood_per_comparison - filtered.log_likelihood_per_comparison
        assert error < 8e-4
        assert abs(gap) < 5 * error + filtered.details["noise_bias"]


def test_draws_are_doubled_until_enough_are_effective():
    people = planted(20, 4, phi=0.3, alpha=0.2).sample(30, 60, seed=1).comparisons
    model = planted(20, 4, phi=0.3, alpha=0.2)
    few = importance(model, people, ImportanceOptions(n_draws=100, min_ess=5, n_particles=4))
    more = importance(model, people, ImportanceOptions(n_draws=100, min_ess=60, n_particles=4))
    assert few.details["draws"] < more.details["draws"] <= 16_000
    for found, least in ((few, 5), (more, 60)):
        assert least <= found.details["least_ess"] <= found.details["median_ess"]
        assert found.details["annealed"] < 30


@pytest.mark.parametrize("options", [{}, ALL])
def test_one_component_and_a_coin_are_exact(options):
    model = M4.from_orders([list("abcd")], phi=0.4)
    people = TWO.sample(20, 6, seed=1).comparisons
    log_p = np.log(model.beta()[0, people.winner, people.loser]) @ people.weight
    assert importance(
        model, people, ImportanceOptions(**options)
    ).log_likelihood_per_comparison == pytest.approx(log_p / 120, abs=1e-9)
    coin = M4.from_orders([list("abcd"), list("bdac")], phi=1.0)
    found = importance(coin, people, ImportanceOptions(**options))
    # of draws from anywhere but the prior; annealing has none here
    noise = 5 * found.details["monte_carlo_error"]
    assert found.log_likelihood_per_comparison == pytest.approx(-math.log(2), abs=noise + 1e-9)
    assert noise < (1e-9 if options else 0.02)


def test_certain_rankings_do_not_give_minus_infinity():
    certain = M4.from_orders([list("ab")], phi=0.0)
    against = Comparisons.from_arrays(["u"] * 4, ["b"] * 4, ["a"] * 4)
    for options in ({}, ALL):
        found = importance(certain, against, ImportanceOptions(**options))
        assert found.log_likelihood_per_comparison == pytest.approx(math.log(least_beta.INFERENCE))


def test_threads_row_order_and_weights_do_not_matter():
    people = tiny_population(3, M=40)
    model = M4.from_orders([list("abcd"), list("dbca")], 0.3, [0.5, 0.2])
    rows = np.repeat(np.arange(len(people)), people.weight.astype(int))
    rows = np.random.default_rng(0).permutation(rows)
    again = Comparisons.from_codes(
        people.user[rows], people.winner[rows], people.loser[rows], None, people.items, people.users
    )
    for options in (
        ImportanceOptions(n_draws=200),
        ImportanceOptions(n_particles=16, **ALL),
    ):
        one = importance(model, people, options, n_jobs=1)
        assert importance(model, people, options, n_jobs=2) == one
        assert importance(model, again, options) == one
        assert importance(model, people, options, seed=1) != one


def test_people_without_comparisons_do_not_count():
    people = Comparisons.from_codes([1, 1, 3], [0, 1, 0], [1, 2, 3], None, list("abcd"), range(5))
    found = importance(TWO, people)
    assert (found.n_users, found.n_comparisons, found.details["annealed"]) == (2, 3, 0)
    with pytest.raises(DataError, match="Nothing is held out: nobody has any comparison"):
        importance(TWO, Comparisons.from_codes([], [], [], None, list("abcd"), []))


def test_what_cannot_be_asked():
    for options, message in (
        ({"n_draws": 3}, "n_draws is 3; it must be at least 4"),
        ({"max_draws": 5}, "max_draws is 5; it must be at least 2000"),
        ({"min_ess": 0}, "min_ess is 0; it must be at least 1"),
        ({"n_particles": 1}, "n_particles is 1; it must be at least 2"),
    ):
        with pytest.raises(OptionError, match=message):
            ImportanceOptions(**options)


@pytest.mark.slow
def test_dirichlet_draws_have_their_means_and_sum_to_one():
    """20,000 draws: a mean is off by .0035 at most (one standard error), .02 by chance never."""
    shape, out, total, state = np.array([0.2, 1.0, 0.6]), np.empty(3), np.zeros(3), np.uint64(3)
    for _ in range(20_000):
        state = draw_log_dirichlet(np.uint64(state), shape, out)
        assert np.exp(out).sum() == pytest.approx(1)
        total += np.exp(out) / 20_000
    np.testing.assert_allclose(total, shape / shape.sum(), atol=0.02)
