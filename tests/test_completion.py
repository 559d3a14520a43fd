"""Document completion: against quadrature over θ, models whose answer is known, and plain counting
of what is told and asked.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from mallowmix.data.comparisons import Comparisons
from mallowmix.engine import make_blocks
from mallowmix.errors import DataError, OptionError
from mallowmix.infer.heldout.completion import completion
from mallowmix.infer.heldout.held_out_rows import split_block_rows
from mallowmix.infer.heldout.heldout_options import CompletionOptions
from mallowmix.model import least_beta
from mallowmix.model.m4 import M4
from mallowmix.numerics.randomness import as_key
from oracles import chi_square_p

TWO = M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 0.5], alpha=[0.4, 0.9])


def told_and_asked(comparisons, *, given=0.5, split="comparisons", seed=0):
    """Each row's weight told and asked, over all blocks."""
    parts = [
        split_block_rows(block, given, split, as_key(seed)) for block in make_blocks(comparisons)
    ]
    return np.concatenate([known for known, _ in parts]), np.concatenate(
        [wanted for _, wanted in parts]
    )


def quadrature(model, known: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> float:
    """Σ log p(w | told) for two components, θ = (t, 1 − t), by integrals over t; t = s^(1/α₁) and
    its mirror are smooth.
    """
    beta, (a, b) = model.beta(), model.alpha

    def likelihood(t):
        return math.prod(t * beta[0, i, j] + (1 - t) * beta[1, i, j] for i, j in known)

    def integral(f):
        # t < ½: ds = a t^(a−1) dt
        left = quad(lambda s: f(s ** (1 / a)) * (1 - s ** (1 / a)) ** (b - 1) / a, 0, 0.5**a)[0]
        right = quad(lambda s: f(1 - s ** (1 / b)) * (1 - s ** (1 / b)) ** (a - 1) / b, 0, 0.5**b)[
            0
        ]
        return left + right

    whole = integral(likelihood)
    return sum(
        math.log(
            integral(
                lambda t, i=i, j=j: likelihood(t) * (t * beta[0, i, j] + (1 - t) * beta[1, i, j])
            )
            / whole
        )
        for i, j in wanted
    )


@pytest.mark.slow
@pytest.mark.parametrize("given", [0.0, 0.3, 0.7])
def test_two_components_agree_with_quadrature(given):
    """Collapsed inference is off by .005 on a dozen people, by less than .002 on 200; the plain
    variational mean by .013.
    """
    comparisons = TWO.sample(200, 8, seed=3).comparisons
    known, wanted = told_and_asked(comparisons, given=given)
    total = 0.0
    for m in range(comparisons.n_users):
        words = [[], []]
        for row in np.flatnonzero(comparisons.user == m):
            for side, weight in enumerate((known[row], wanted[row])):
                words[side] += [(comparisons.winner[row], comparisons.loser[row])] * round(weight)
        total += quadrature(TWO, *words)
    found = completion(TWO, comparisons, CompletionOptions(given=given))
    assert found.n_comparisons == wanted.sum()
    assert found.log_likelihood_per_comparison == pytest.approx(
        total / wanted.sum(), abs=2e-3 if given else 1e-9
    )


@pytest.mark.parametrize("split", ["comparisons", "items"])
def test_a_coin_has_minus_log_2(split):
    coin = M4.from_orders([list("abcd"), list("bdac")], phi=1.0)
    found = completion(coin, TWO.sample(20, 10, seed=0).comparisons, CompletionOptions(split=split))
    assert found.log_likelihood_per_comparison == pytest.approx(-math.log(2), abs=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)


def test_the_true_model_beats_wrong_ones():
    """500 people × 10 comparisons; the paired gaps below are .02 to .3, their standard errors below
    .01.
    """
    sample = TWO.sample(500, 20, seed=5).comparisons
    truth = completion(TWO, sample).log_likelihood_per_comparison
    wrong_order = M4.from_orders([list("bcda"), list("cdab")], phi=[0.3, 0.5], alpha=[0.4, 0.9])
    wrong_phi = M4(TWO.sigma, [0.01, 0.01], TWO.alpha, TWO.items)
    one_ranking = M4.from_orders([list("dcba")], phi=0.7)
    for other in (wrong_order, wrong_phi, one_ranking):
        assert completion(other, sample).log_likelihood_per_comparison < truth - 0.01


def test_one_component_needs_nothing_given_and_its_standard_error_is_clustered():
    model = M4.from_orders([list("abc")], phi=0.4)
    comparisons = model.sample(40, [1 + m % 7 for m in range(40)], seed=1).comparisons
    _, wanted = told_and_asked(comparisons)
    log_p = np.log(model.beta()[0, comparisons.winner, comparisons.loser])
    sums = [float((wanted * log_p)[comparisons.user == m].sum()) for m in range(40)]
    counts = [float(wanted[comparisons.user == m].sum()) for m in range(40)]
    people = [(s, n) for s, n in zip(sums, counts, strict=True) if n]
    mean = sum(s for s, _ in people) / sum(n for _, n in people)
    variance = (
        sum((s - mean * n) ** 2 for s, n in people)
        * len(people)
        / (len(people) - 1)
        / sum(n for _, n in people) ** 2
    )
    found = completion(model, comparisons)
    assert found.log_likelihood_per_comparison == pytest.approx(mean)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert (found.n_comparisons, found.n_users) == (sum(counts), len(people))


@pytest.mark.slow
def test_the_standard_error_is_the_spread_between_populations():
    """The spread of 200 answers has a relative error of 5%, so 25% fails by chance less than once
    in 10⁵.
    """
    found = [
        completion(TWO, TWO.sample(60, 8, seed=s).comparisons, seed=s, n_jobs=1) for s in range(200)
    ]
    spread = np.std([one.log_likelihood_per_comparison for one in found])
    assert np.mean([one.standard_error for one in found]) == pytest.approx(spread, rel=0.25)


def test_certain_rankings_do_not_give_minus_infinity():
    certain = M4.from_orders([list("ab")], phi=0.0)
    against = Comparisons.from_arrays(["u"] * 4, ["b"] * 4, ["a"] * 4)
    assert completion(certain, against).log_likelihood_per_comparison == pytest.approx(
        math.log(least_beta.INFERENCE)
    )
    # one person: not known
    assert (
        completion(certain, against).standard_error != completion(certain, against).standard_error
    )


@pytest.mark.parametrize("given", [0.0, 0.25, 0.5, 0.9])
def test_comparisons_are_split_whole_and_into_the_right_number(given):
    weights = [1, 3, 2, 1, 1, 0.5, 2.5, 1]
    comparisons = Comparisons.from_arrays(
        list("uuuuuvvw"), list("abcadabc"), list("bcadcbca"), weights
    )
    for seed in range(20):
        known, wanted = told_and_asked(comparisons, given=given, seed=seed)
        np.testing.assert_allclose(known + wanted, comparisons.weight)
        units = [np.ceil(known[comparisons.user == m]).sum() for m in range(3)]
        for count, n in zip(units, (8, 4, 1), strict=True):  # ½ and 2½ make 1 + 3 pieces
            assert math.floor(given * n) <= count <= math.ceil(given * n) + (n == 4)


def test_every_comparison_is_given_equally_often_and_the_odd_one_by_chance():
    """Five comparisons at ½: each is told in half of 3000 people. Each p-value fails by chance once
    in 10⁴.
    """
    n = 3000
    user = np.repeat(np.arange(n), 5)
    comparisons = Comparisons.from_arrays(
        user, np.tile(list("abcde"), n), np.tile(list("bcdea"), n)
    )
    known, _ = told_and_asked(comparisons)
    sizes = known.reshape(n, 5).sum(axis=1)
    assert set(sizes) == {2, 3}
    assert chi_square_p([np.sum(sizes == 2), np.sum(sizes == 3)], [0.5, 0.5]) > 1e-4
    assert chi_square_p(known.reshape(n, 5).sum(axis=0), [0.2] * 5) > 1e-4


def test_items_are_either_given_or_held_out():
    comparisons = M4.from_orders([list("abcdefgh")], phi=0.6).sample(50, 40, seed=2).comparisons
    known, wanted = told_and_asked(comparisons, split="items", given=0.5)
    for m in range(comparisons.n_users):
        rows = comparisons.user == m
        sides = [
            set(np.r_[comparisons.winner[rows & (part > 0)], comparisons.loser[rows & (part > 0)]])
            for part in (known, wanted)
        ]
        assert not sides[0] & sides[1]
        assert max(map(len, sides)) <= 4, "half of the eight items on each side"
        between = rows & (known == 0) & (wanted == 0)
        for row in np.flatnonzero(between):
            pair = {comparisons.winner[row], comparisons.loser[row]}
            assert not pair <= sides[0] and not pair <= sides[1]
    assert known.sum() > 0 and wanted.sum() > 0


def test_every_item_is_given_equally_often():
    """One ranking of four items by each of 2000 people: two items are given, so one comparison is
    told. Fails once in 10⁴.
    """
    n = 2000
    winner, loser = list("aaabbc"), list("bcdcdd")
    comparisons = Comparisons.from_arrays(
        np.repeat(np.arange(n), 6), np.tile(winner, n), np.tile(loser, n)
    )
    known, wanted = told_and_asked(comparisons, split="items")
    assert (known.reshape(n, 6).sum(axis=1) == 1).all() and (
        wanted.reshape(n, 6).sum(axis=1) == 1
    ).all()
    assert chi_square_p(known.reshape(n, 6).sum(axis=0), [1 / 6] * 6) > 1e-4


def test_threads_weights_and_the_order_of_items_do_not_matter():
    comparisons = TWO.sample(200, 10, seed=6).comparisons
    one = completion(TWO, comparisons, n_jobs=1)
    assert completion(TWO, comparisons, n_jobs=3) == one
    heavy = Comparisons.from_codes(
        comparisons.user,
        comparisons.winner,
        comparisons.loser,
        comparisons.weight,
        comparisons.items,
        comparisons.users,
        np.arange(200.0),
    )
    assert completion(TWO, heavy) == one
    assert completion(TWO, comparisons, seed=1) != one
    turned = M4.from_orders([list("abcd"), list("dcba")], TWO.phi, TWO.alpha, items=list("dbca"))
    other = completion(turned, comparisons)
    assert (
        abs(other.log_likelihood_per_comparison - one.log_likelihood_per_comparison)
        < 4 * one.standard_error
    )


def test_what_cannot_be_asked():
    comparisons = TWO.sample(5, 4, seed=0).comparisons
    with pytest.raises(OptionError, match=r"given is 1\.0; it must be at least 0 and below 1"):
        completion(TWO, comparisons, CompletionOptions(given=1.0))
    with pytest.raises(
        OptionError, match="split is 'films'; it must be one of 'comparisons', 'items'"
    ):
        completion(TWO, comparisons, CompletionOptions(split="films"))
    alone = Comparisons.from_arrays(["u"], ["a"], ["b"])
    with pytest.raises(DataError, match="Nothing is held out: nobody has enough comparisons"):
        completion(M4.from_orders([list("ab")], 0.1), alone, CompletionOptions(split="items"))
    with pytest.raises(DataError, match="items are unknown"):
        completion(M4.from_orders([list("ab")], 0.1), comparisons)
